// Principal components of 1,797 scans of handwritten digits, with no Python in the process. Two
// foreign functions, rms_norm and svd (examples/handlers), are called from one compiled program.
//
//   digits_pca <digits.csv.gz> [picture.png]
//
// The scans come with scikit-learn: <its folder>/datasets/data/digits.csv.gz.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <farcall/farcall.h>
#include <farcall/ffi.h>

#include "digits.h"
#include "picture.h"

namespace fnp = farcall::numpy;
using farcall::Array;

FARCALL_DECLARE_HANDLER(rms_norm);
FARCALL_DECLARE_HANDLER(svd);

// ---- the program ----

// Components, the scans' coordinates on them, and the variance that each explains.
std::tuple<Array, Array, Array> pca(const Array& scans) {
  const int64_t rows = scans.shape()[0];
  Array x = farcall::ffi_call("rms_norm", scans.type(), {scans}, {{"eps", 1e-6}});
  x = x - fnp::mean(x, 0);
  const farcall::FfiCall svd("svd",
                             {x.type(), {x.dtype(), {kPixels}}, {x.dtype(), {kPixels, kPixels}}});
  const std::vector<Array> usv = svd({x});
  const Array &u = usv[0], &s = usv[1], &vt = usv[2];
  return {vt, u * s, s * s / static_cast<float>(rows - 1)};
}

// ---- the check ----

// The variances once more in plain C++: eigenvalues of the covariance by Jacobi's rotations.
std::vector<double> plain_variances(const std::vector<float>& scans) {
  constexpr size_t n = kPixels;
  const size_t rows = scans.size() / n;
  std::vector<double> x(scans.begin(), scans.end()), mean(n), a(n * n);
  for (size_t row = 0; row < rows; ++row) {
    double* const scan = &x[row * n];
    const double scale = 1 / std::sqrt(std::inner_product(scan, scan + n, scan, 0.0) / n + 1e-6);
    for (size_t i = 0; i < n; ++i) mean[i] += (scan[i] *= scale) / static_cast<double>(rows);
  }
  for (size_t row = 0; row < rows; ++row) {
    const double* const scan = &x[row * n];
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        a[i * n + j] += (scan[i] - mean[i]) * (scan[j] - mean[j]) / static_cast<double>(rows - 1);
      }
    }
  }
  for (int sweep = 0; sweep < 12; ++sweep) {
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        const double angle = 0.5 * std::atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]);
        const double c = std::cos(angle), s = std::sin(angle);
        const auto rotate = [&](double& at_p, double& at_q) {
          const double was_p = at_p;
          at_p = c * was_p - s * at_q;
          at_q = s * was_p + c * at_q;
        };
        for (size_t i = 0; i < n; ++i) rotate(a[i * n + p], a[i * n + q]);
        for (size_t i = 0; i < n; ++i) rotate(a[p * n + i], a[q * n + i]);
      }
    }
  }
  std::vector<double> variances(n);
  for (size_t i = 0; i < n; ++i) variances[i] = a[i * n + i];
  std::sort(variances.rbegin(), variances.rend());
  return variances;
}

double relative_error(std::span<const float> got, std::span<const double> want) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(difference / size);
}

// ---- the picture ----

// Left: each component's share of the variance, and their sum. Right: the scans on the first two.
void draw(const std::string& path, const Digits& digits, std::span<const float> scores,
          std::span<const float> variance) {
  constexpr Color kColors[] = {{.12, .47, .71}, {1., .50, .05},  {.17, .63, .17}, {.84, .15, .16},
                               {.58, .40, .74}, {.55, .34, .29}, {.89, .47, .76}, {.50, .50, .50},
                               {.74, .74, .13}, {.09, .75, .81}};
  constexpr Color kAxis = {.3, .3, .3}, kGrid = {.9, .9, .9};
  constexpr double kTop = 30, kBottom = 690, kLeft = 40, kStep = 8.5;
  Picture picture(1400, 720);

  const double total = std::accumulate(variance.begin(), variance.end(), 0.0);
  const auto height = [&](double share) { return kBottom - share * (kBottom - kTop); };
  const double right = kLeft + kStep * static_cast<double>(variance.size());
  for (int i = 1; i <= 10; ++i)
    picture.line(kLeft, height(.1 * i), right, height(.1 * i), 1, kGrid);
  double sum = 0;
  for (size_t i = 0; i < variance.size(); ++i) {
    const double share = variance[i] / total, x = kLeft + kStep * (static_cast<double>(i) + 0.5);
    picture.rectangle(x - 3, height(share), x + 3, kBottom, {.62, .72, .85});
    if (i > 0) picture.line(x - kStep, height(sum), x, height(sum + share), 3, {.12, .23, .39});
    sum += share;
  }
  picture.line(kLeft, kTop, kLeft, kBottom, 1, kAxis);
  picture.line(kLeft, kBottom, right, kBottom, 1, kAxis);

  // A scan is shown where no other one is near, and is a dot elsewhere.
  struct Point {
    double x, y;
  };
  std::vector<Point> shown;
  for (const bool is_dots : {true, false}) {
    for (size_t i = 0; i < digits.labels.size(); ++i) {
      const Point at = {1015 + 85. * scores[i * kPixels], 360 - 78. * scores[i * kPixels + 1]};
      const Color color = kColors[static_cast<size_t>(digits.labels[i]) % 10];
      if (is_dots) {
        picture.disc(at.x, at.y, 2.5, color, 0.5);
        continue;
      }
      const auto is_near = [&](Point p) { return std::hypot(p.x - at.x, p.y - at.y) < 40; };
      if (std::any_of(shown.begin(), shown.end(), is_near)) continue;
      picture.rectangle(at.x - 15, at.y - 15, at.x + 15, at.y + 15, {1, 1, 1}, 0.85);
      picture.scan(at.x, at.y, 3.5, std::span(digits.scans).subspan(i * kPixels, kPixels), color);
      shown.push_back(at);
    }
  }
  picture.write(path);
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

int main(int argc, char** argv) try {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: digits_pca <digits.csv.gz> [picture.png]\n");
    return 2;
  }
  const std::string picture = argc == 3 ? argv[2] : "digits_pca.png";
  const Digits digits = read_digits(argv[1]);
  const auto rows = static_cast<int64_t>(digits.labels.size());
  const int64_t shape[] = {rows, kPixels};
  const Array scans = Array::of<float>(digits.scans, shape);
  std::printf("scans: %lld of 8 x 8 pixels, as %s\n", static_cast<long long>(rows),
              scans.type().to_string().c_str());

  farcall::register_ffi_target("rms_norm", rms_norm);
  farcall::register_ffi_target("svd", svd);
  std::printf("foreign functions: rms_norm and svd, linked in\n");

  const auto compiled = farcall::jit(pca, {.name = "pca"});
  auto start = std::chrono::steady_clock::now();
  const auto [components, scores, variance] = compiled(scans);
  const double first = milliseconds_since(start);
  double later = first;
  for (int i = 0; i < 5; ++i) {
    start = std::chrono::steady_clock::now();
    compiled(scans);
    later = std::min(later, milliseconds_since(start));
  }
  std::printf("pca: components %s, coordinates %s, variance %s\n",
              components.type().to_string().c_str(), scores.type().to_string().c_str(),
              variance.type().to_string().c_str());
  std::printf("time: first call %.1f ms, later calls %.1f ms\n", first, later);

  const auto variances = variance.values<float>();
  const double total = std::accumulate(variances.begin(), variances.end(), 0.0);
  std::printf("variance explained by the first components:");
  for (int i = 0; i < 5; ++i) std::printf(" %.1f %% ", 100 * variances[i] / total);

  const double error = relative_error(variances, plain_variances(digits.scans));
  std::printf("\nrelative error against plain C++ in double precision: %.1e\n", error);

  try {
    farcall::ffi_call("rms_norm", scans.type(), {fnp::astype(scans, farcall::DType::kInt32)});
  } catch (const farcall::FfiError& mistake) {
    std::printf("a mistake reads: %s\n", mistake.what());
  }

  draw(picture, digits, scores.values<float>(), variances);
  std::printf("picture: %s\n", picture.c_str());
  if (!(error < 1e-3)) throw std::runtime_error("the results differ from those of plain C++");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "digits_pca: %s\n", error.what());
  return 1;
}
