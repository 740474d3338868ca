// A classifier of handwritten digits with no Python in the process, trained with a layer whose
// kernels are foreign both ways (examples/handlers/rms_norm_layer.cpp). They are called from a
// compiled loop, in gradients that are taken scan by scan: long ones are cut, lest a single scan
// lead a step astray.
//
//   digits_classifier <digits.csv.gz> [picture.png]
//
// The scans come with scikit-learn: <its folder>/datasets/data/digits.csv.gz.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include <farcall/farcall.h>
#include <farcall/ffi.h>

#include "digits.h"
#include "picture.h"

namespace fc = farcall;
namespace fnp = farcall::numpy;
using farcall::Array;

FARCALL_DECLARE_HANDLER(rms_norm_forward);
FARCALL_DECLARE_HANDLER(rms_norm_backward);

constexpr int64_t kHidden = 96, kBatch = 64, kEpochs = 25, kDigits = 10;
constexpr double kLongestGradient = 1, kRate = 6e-3, kDecay = 0.3;

// ---- the foreign layer ----

void define_layer() {
  fc::register_ffi_target("rms_norm_forward", rms_norm_forward);
  fc::register_ffi_target("rms_norm_backward", rms_norm_backward);
  fc::define_target("rms_norm_forward",
                    {.shape = fc::shape_signature("[..., n] -> [..., n], [...]"),
                     .vmap_method = "broadcast_all"});
  fc::define_target("rms_norm_backward",
                    {.shape = fc::shape_signature("[..., n], [...], [..., n] -> [..., n]"),
                     .vmap_method = "broadcast_all"});
}

using Kept = std::pair<Array, Array>;  // the result and the factors of its rows

std::pair<Array, Kept> rms_norm_kept(const Array& x) {
  const std::vector<Array> y_scale = fc::call_defined("rms_norm_forward", {x});
  return {y_scale[0], {y_scale[0], y_scale[1]}};
}

Array rms_norm_cotangent(const Kept& kept, const Array& cotangent) {
  return fc::call_defined("rms_norm_backward", {kept.first, kept.second, cotangent})[0];
}

const auto rms_norm = fc::custom_vjp([](const Array& x) { return rms_norm_kept(x).first; },
                                     rms_norm_kept, rms_norm_cotangent, {.name = "rms_norm"});

Array rms_norm_formula(const Array& x) {
  return x * fc::lax::rsqrt(fnp::mean(x * x, -1, /*keepdims=*/true) + 1e-6);
}

// ---- the classifier ----

struct Weights {
  Array inner, gain, shift, outer;
};
FARCALL_TREE(Weights, inner, gain, shift, outer);

Weights initial(std::mt19937& random) {
  std::normal_distribution<float> normal;
  const auto matrix = [&](int64_t rows, int64_t columns) {
    std::vector<float> values(static_cast<size_t>(rows * columns));
    for (float& value : values) value = normal(random) / std::sqrt(static_cast<float>(rows));
    const int64_t shape[] = {rows, columns};
    return Array::of<float>(values, shape);
  };
  const fc::Shape hidden{kHidden};
  return {matrix(kPixels, kHidden), fnp::ones(hidden), fnp::zeros(hidden),
          matrix(kHidden, kDigits)};
}

Array gelu(const Array& x) {
  return x * (0.5 * (1 + fnp::tanh(0.7978845608 * (x + 0.044715 * x * x * x))));
}

Array log_softmax(const Array& x) {
  const Array shifted = x - fnp::max(x, -1, /*keepdims=*/true);
  return shifted - fnp::log(fnp::sum(fnp::exp(shifted), -1, /*keepdims=*/true));
}

// For each digit the logarithm of its probability.
template <class Norm>
Array scores(const Weights& weights, const Array& scan, const Norm& norm) {
  const Array hidden = norm(fnp::matmul(scan, weights.inner)) * weights.gain + weights.shift;
  return log_softmax(fnp::matmul(gelu(hidden), weights.outer));
}

Array loss(const Weights& weights, const Array& scan, const Array& label) {
  return -fnp::take(scores(weights, scan, rms_norm), label, 0);
}

// The mean loss, and for each scan the digits' probabilities.
std::pair<Array, Array> evaluate(const Weights& weights, const Array& scans, const Array& labels) {
  const Array each = scores(weights, scans, rms_norm);
  const Array column = fnp::reshape(labels, fc::Shape{-1, 1});
  return {-fnp::mean(fnp::take_along_axis(each, column, 1)), fnp::exp(each)};
}

// ---- training ----

struct State {
  Weights weights, first, second;  // the second and third are Adam's moments
  Array step;
};
FARCALL_TREE(State, weights, first, second, step);

// What is measured at each step, one entry for each scan of its batch.
struct Measured {
  Array losses, lengths;
};
FARCALL_TREE(Measured, losses, lengths);

// The mean of the scans' gradients, long ones cut.
std::pair<Weights, Measured> batch_gradient(const Weights& weights, const Array& scans,
                                            const Array& labels) {
  const auto by_scan = fc::vmap(fc::value_and_grad(loss), {.in_axes = {std::nullopt, 0, 0}});
  const auto [losses, gradients] = by_scan(weights, scans, labels);
  Array squares = 1e-12;
  for (const Array& part : fc::tree::leaves(gradients)) {
    squares = squares + fnp::sum(fnp::reshape(part * part, {kBatch, -1}), 1);
  }
  const Array lengths = fnp::sqrt(squares);
  const Array share = fnp::minimum(1, kLongestGradient / lengths) / kBatch;
  const auto mean = [&](const Array& part) { return fnp::tensordot(share, part, {0}, {0}); };
  return {fc::tree::map(mean, gradients), {losses, lengths}};
}

State adam(const State& state, const Weights& gradient, const Array& rate) {
  const auto mix = [](double keep) {
    return [keep](const Array& a, const Array& b) { return keep * a + (1 - keep) * b; };
  };
  const auto square = [](const Array& g) { return g * g; };
  const Array bias_1 = 1 - fnp::power(0.9, state.step), bias_2 = 1 - fnp::power(0.99, state.step);
  const Weights first = fc::tree::map(mix(0.9), state.first, gradient);
  const Weights second = fc::tree::map(mix(0.99), state.second, fc::tree::map(square, gradient));
  const auto update = [&](const Array& w, const Array& m, const Array& v) {
    return w - rate * (m / bias_1 / (fnp::sqrt(v / bias_2) + 1e-8) + kDecay * w);
  };
  return {fc::tree::map(update, state.weights, first, second), first, second, state.step + 1};
}

// One pass over the scans: a step for each row of indices in `batches`.
std::pair<State, Measured> train(const State& state, const Array& scans, const Array& labels,
                                 const Array& batches, const Array& rates) {
  const auto step = [&](const State& before, const std::pair<Array, Array>& batch_and_rate) {
    const auto& [batch, rate] = batch_and_rate;
    const auto [gradient, measured] =
        batch_gradient(before.weights, fnp::take(scans, batch, 0), fnp::take(labels, batch, 0));
    return std::pair(adam(before, gradient, rate), measured);
  };
  return fc::lax::scan(step, state, std::pair(batches, rates));
}

// ---- the data ----

struct Part {
  std::vector<float> scans;  // values from 0 to 16
  std::vector<int> labels;

  size_t size() const { return labels.size(); }
  Array scan_array() const {
    const int64_t shape[] = {static_cast<int64_t>(size()), kPixels};
    return Array::of<float>(scans, shape) / 16;
  }
  Array label_array() const {
    const int64_t shape[] = {static_cast<int64_t>(size())};
    return Array::of<int>(labels, shape);
  }
};

// A quarter of the scans of each digit is for the test.
std::pair<Part, Part> split(const Digits& digits, std::mt19937& random) {
  std::vector<size_t> order(digits.labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::array<size_t, kDigits> total{}, taken{};
  for (const int label : digits.labels) ++total[static_cast<size_t>(label)];
  Part training, test;
  for (const size_t i : order) {
    const auto digit = static_cast<size_t>(digits.labels[i]);
    Part& part = 4 * ++taken[digit] <= total[digit] ? test : training;
    const auto scan = std::span(digits.scans).subspan(i * kPixels, kPixels);
    part.scans.insert(part.scans.end(), scan.begin(), scan.end());
    part.labels.push_back(digits.labels[i]);
  }
  return {std::move(training), std::move(test)};
}

// ---- the course of the training ----

struct Epoch {
  double train_loss, test_loss, accuracy, share_cut;
};

size_t most_probable(std::span<const float> probabilities) {
  return static_cast<size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

double accuracy_of(const Array& probabilities, const std::vector<int>& labels) {
  const auto all = probabilities.values<float>();
  int hits = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    hits += most_probable(all.subspan(i * kDigits, kDigits)) == static_cast<size_t>(labels[i]);
  }
  return hits / static_cast<double>(labels.size());
}

// A line that is written over again and again, where there is a terminal.
void show_progress(int64_t epoch, const Epoch& now) {
  if (!isatty(STDERR_FILENO)) return;
  constexpr int64_t kWidth = 30;
  const auto done = static_cast<size_t>(kWidth * epoch / kEpochs);
  std::fprintf(stderr, "\r[%s%s] epoch %lld of %lld, loss %.3f, accuracy %.1f %%%s",
               std::string(done, '#').c_str(), std::string(kWidth - done, '.').c_str(),
               static_cast<long long>(epoch), static_cast<long long>(kEpochs), now.train_loss,
               100 * now.accuracy, epoch == kEpochs ? "\n" : "");
}

struct Fitted {
  std::vector<Epoch> course;
  Array probabilities;  // of the test scans
};

Fitted fit(const Part& training, const Part& test, std::mt19937& random) {
  const auto train_epoch = fc::jit(train, {.name = "train", .donate_argnums = {0}});
  const auto compiled_evaluate = fc::jit(evaluate, {.name = "evaluate"});
  const Array scans = training.scan_array(), labels = training.label_array();
  const Array test_scans = test.scan_array(), test_labels = test.label_array();

  const auto zeros = [](const Weights& weights) {
    return fc::tree::map([](const Array& w) { return fnp::zeros_like(w); }, weights);
  };
  const Weights weights = initial(random);
  State state{weights, zeros(weights), zeros(weights), Array::scalar(1.f)};
  const auto steps = static_cast<int64_t>(training.size()) / kBatch;
  const int64_t batches_shape[] = {steps, kBatch}, rates_shape[] = {steps};
  std::vector<int> order(training.size());
  std::iota(order.begin(), order.end(), 0);
  Fitted fitted;
  for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<float> rates;
    for (int64_t i = 0; i < steps; ++i) {
      const double done = static_cast<double>((epoch - 1) * steps + i) / (kEpochs * steps);
      rates.push_back(static_cast<float>(kRate * std::pow(std::cos(std::acos(0) * done), 2)));
    }
    const auto batches = std::span<const int>(order).first(static_cast<size_t>(steps * kBatch));
    const auto [next, measured] =
        train_epoch(state, scans, labels, Array::of<int>(batches, batches_shape),
                    Array::of<float>(rates, rates_shape));
    state = next;
    const auto [test_loss, probabilities] =
        compiled_evaluate(state.weights, test_scans, test_labels);
    const auto lengths = measured.lengths.values<float>();
    const auto num_cut =
        std::ranges::count_if(lengths, [](float length) { return length > kLongestGradient; });
    fitted.course.push_back({fnp::mean(measured.losses).item<float>(), test_loss.item<float>(),
                             accuracy_of(probabilities, test.labels),
                             static_cast<double>(num_cut) / static_cast<double>(lengths.size())});
    fitted.probabilities = probabilities;
    show_progress(epoch, fitted.course.back());
  }
  return fitted;
}

// The gradient through the kernels against the same without them: the largest relative difference.
double check_gradient(const Weights& weights, const Part& part) {
  const Array scans = part.scan_array();
  const Array labels = fnp::reshape(part.label_array(), fc::Shape{-1, 1});
  const auto gradient = [&](const auto& norm) {
    const auto mean_loss = [&](const Weights& at) {
      return -fnp::mean(fnp::take_along_axis(scores(at, scans, norm), labels, 1));
    };
    return fc::tree::leaves(fc::jit(fc::grad(mean_loss))(weights));
  };
  const auto kernels = gradient(rms_norm), formula = gradient(rms_norm_formula);
  double largest = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Array difference = kernels[i] - formula[i];
    const Array ratio = fnp::sum(difference * difference) / fnp::sum(formula[i] * formula[i]);
    largest = std::max(largest, std::sqrt(static_cast<double>(ratio.item<float>())));
  }
  return largest;
}

// ---- the picture ----

constexpr Color kInk = {.12, .23, .39}, kFaint = {.62, .72, .85}, kWrong = {.77, .31, .32},
                kGrid = {.9, .9, .9}, kAxis = {.3, .3, .3};

std::string percent(double share, int decimals) {
  char text[16];
  std::snprintf(text, sizeof text, "%.*f%%", decimals, 100 * share);
  return text;
}

void centred(Picture& picture, double x, double y, double zoom, const std::string& text,
             Color color) {
  picture.text(x - Picture::width_of(text, zoom) / 2, y, zoom, text, color);
}

// A plot of numbers by epoch. `heights` maps them to 0 (bottom) and 1 (top).
struct Plot {
  Picture& picture;
  double top;
  static constexpr double kLeft = 70, kRight = 420, kHeight = 150;

  double y_of(double height) const { return top + kHeight * (1 - std::clamp(height, 0., 1.)); }
  void frame(const std::string& title) const {
    picture.text(kLeft, top - 22, 1.8, title, kInk);
    picture.line(kLeft, top, kLeft, top + kHeight, 1, kAxis);
    picture.line(kLeft, top + kHeight, kRight, top + kHeight, 1, kAxis);
  }
  void tick(double height, const std::string& text) const {
    picture.line(kLeft, y_of(height), kRight, y_of(height), 1, kGrid);
    picture.text(kLeft - 8 - Picture::width_of(text, 1.4), y_of(height), 1.4, text, kAxis);
  }
  void curve(std::span<const double> heights, Color color) const {
    const double step = (kRight - kLeft) / static_cast<double>(heights.size());
    for (size_t i = 1; i < heights.size(); ++i) {
      const double x = kLeft + step * (static_cast<double>(i) + 0.5);
      picture.line(x - step, y_of(heights[i - 1]), x, y_of(heights[i]), 2.5, color);
    }
  }
};

template <class F>
std::vector<double> heights_of(std::span<const Epoch> course, const F& height) {
  std::vector<double> heights;
  std::ranges::transform(course, std::back_inserter(heights), height);
  return heights;
}

void draw_course(Picture& picture, std::span<const Epoch> course) {
  const Plot losses{picture, 60}, accuracy{picture, 280}, cut{picture, 500};
  const auto of_loss = [](double loss) { return (std::log10(loss) + 3) / 3.5; };
  for (const auto& [loss, text] :
       {std::pair(0.001, "0.001"), {0.01, "0.01"}, {0.1, "0.1"}, {1, "1"}})
    losses.tick(of_loss(loss), text);
  losses.curve(heights_of(course, [&](const Epoch& e) { return of_loss(e.train_loss); }), kFaint);
  losses.curve(heights_of(course, [&](const Epoch& e) { return of_loss(e.test_loss); }), kInk);
  losses.frame("loss");
  picture.text(300, 70, 1.6, "training", kFaint);
  picture.text(300, 88, 1.6, "test", kInk);

  const auto of_accuracy = [](double share) { return (share - 0.9) / 0.1; };
  for (const int share : {90, 92, 94, 96, 98, 100})
    accuracy.tick(of_accuracy(share / 100.), percent(share / 100., 0));
  accuracy.curve(heights_of(course, [&](const Epoch& e) { return of_accuracy(e.accuracy); }), kInk);
  accuracy.frame("accuracy on the test scans: " + percent(course.back().accuracy, 1));

  const double most = std::ranges::max(course, {}, &Epoch::share_cut).share_cut + 1e-9;
  for (const double share : {0., most / 2, most}) cut.tick(share / most, percent(share, 0));
  cut.curve(heights_of(course, [&](const Epoch& e) { return e.share_cut / most; }), kWrong);
  cut.frame("gradients that were cut");
  centred(picture, 245, 668, 1.6, "epoch 1 to " + std::to_string(course.size()), kAxis);
}

void draw_confusions(Picture& picture, const Part& test, std::span<const size_t> predicted) {
  constexpr double kLeft = 510, kTop = 90, kCell = 52;
  std::array<std::array<int, kDigits>, kDigits> counts{};
  int mistakes = 0;
  for (size_t i = 0; i < test.size(); ++i) {
    const auto label = static_cast<size_t>(test.labels[i]);
    ++counts[label][predicted[i]];
    mistakes += label != predicted[i];
  }
  picture.text(
      kLeft, 38, 1.8,
      std::to_string(test.size()) + " test scans, " + std::to_string(mistakes) + " mistakes", kInk);
  for (size_t row = 0; row < kDigits; ++row) {
    const double offset = kCell * static_cast<double>(row), y = kTop + offset;
    centred(picture, kLeft - 16, y + kCell / 2, 1.8, std::to_string(row), kAxis);
    centred(picture, kLeft + offset + kCell / 2, kTop - 16, 1.8, std::to_string(row), kAxis);
    for (size_t column = 0; column < kDigits; ++column) {
      const double x = kLeft + kCell * static_cast<double>(column);
      picture.rectangle(x, y, x + kCell - 2, y + kCell - 2, {.96, .96, .96});
      const int count = counts[row][column];
      if (count == 0) continue;
      if (row == column) picture.rectangle(x, y, x + kCell - 2, y + kCell - 2, kFaint);
      if (row != column) picture.rectangle(x, y, x + kCell - 2, y + kCell - 2, {.96, .75, .72});
      centred(picture, x + kCell / 2, y + kCell / 2, 1.8, std::to_string(count), kInk);
    }
  }
  centred(picture, kLeft + 5 * kCell, kTop + 10 * kCell + 22, 1.8,
          "rows: digits, columns: taken for", kAxis);
}

// The scans whose digits were given the least probability.
void draw_hardest(Picture& picture, const Part& test, std::span<const float> probabilities,
                  std::span<const size_t> predicted) {
  const auto certainty = [&](size_t i) {
    return probabilities[i * kDigits + static_cast<size_t>(test.labels[i])];
  };
  std::vector<size_t> order(test.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, certainty);
  picture.text(1080, 38, 1.8, "the hardest scans, with what they were taken for", kInk);
  for (size_t place = 0; place < 30; ++place) {
    const size_t i = order[place];
    const double x = 1130 + 105 * static_cast<double>(place % 6);
    const double y = 120 + 118 * static_cast<double>(place / 6);
    const auto label = static_cast<size_t>(test.labels[i]);
    const bool is_right = predicted[i] == label;
    picture.scan(x, y, 9, std::span(test.scans).subspan(i * kPixels, kPixels), {0, 0, 0});
    const Color color = is_right ? kFaint : kWrong;
    for (const double side : {-38., 38.}) {
      picture.line(x + side, y - 38, x + side, y + 38, 1.5, color);
      picture.line(x - 38, y + side, x + 38, y + side, 1.5, color);
    }
    const double share = probabilities[i * kDigits + predicted[i]];
    const std::string text = std::to_string(predicted[i]) + " " + percent(share, 0);
    centred(picture, x, y + 52, 1.5, is_right ? text : text + " is " + std::to_string(label),
            is_right ? kInk : kWrong);
  }
}

void draw(const std::string& path, const Fitted& fitted, const Part& test) {
  const auto probabilities = fitted.probabilities.values<float>();
  std::vector<size_t> predicted;
  for (size_t i = 0; i < test.size(); ++i) {
    predicted.push_back(most_probable(probabilities.subspan(i * kDigits, kDigits)));
  }
  Picture picture(1730, 700);
  draw_course(picture, fitted.course);
  draw_confusions(picture, test, predicted);
  draw_hardest(picture, test, probabilities, predicted);
  picture.write(path);
}

int main(int argc, char** argv) try {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: digits_classifier <digits.csv.gz> [picture.png]\n");
    return 2;
  }
  const std::string picture = argc == 3 ? argv[2] : "digits_classifier.png";
  std::mt19937 random(0);
  const auto [training, test] = split(read_digits(argv[1]), random);
  std::printf("scans: %zu for training, %zu for the test\n", training.size(), test.size());

  define_layer();
  std::printf("foreign functions: rms_norm_forward and rms_norm_backward, linked in\n");
  const double error = check_gradient(initial(random), training);
  std::printf("gradient through the kernels against the formula: relative difference %.1e\n",
              error);

  const auto start = std::chrono::steady_clock::now();
  const Fitted fitted = fit(training, test, random);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const int64_t epoch :
       {int64_t{1}, int64_t{2}, int64_t{5}, int64_t{10}, int64_t{15}, kEpochs}) {
    const Epoch& at = fitted.course[static_cast<size_t>(epoch) - 1];
    std::printf("epoch %3lld: loss %.4f, on test scans %.4f, accuracy %.2f %%\n",
                static_cast<long long>(epoch), at.train_loss, at.test_loss, 100 * at.accuracy);
  }
  const auto steps = kEpochs * (static_cast<int64_t>(training.size()) / kBatch);
  std::printf("time: %.2f s for %lld steps, %.0f scans' gradients a second\n", seconds.count(),
              static_cast<long long>(steps), static_cast<double>(steps * kBatch) / seconds.count());

  draw(picture, fitted, test);
  std::printf("picture: %s\n", picture.c_str());
  if (!(error < 1e-5) || fitted.course.back().accuracy < 0.96) {
    throw std::runtime_error("the gradient is wrong, or the accuracy is below 96 %");
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "digits_classifier: %s\n", error.what());
  return 1;
}
