// Functions of the array library, called from C++: what test_array_library_bits.py calls from
// Python. One line per result: name, type and bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/farcall.h>

namespace {

namespace fc = farcall;
namespace lax = farcall::lax;
namespace nn = farcall::nn;
namespace np = farcall::numpy;
using fc::Array;

// The x with x^3 = y for y > 0, and its derivative.
Array cube_root(const Array& y) {
  return lax::custom_root([y](const Array& x) { return x * x * x - y; }, np::ones_like(y),
                          [](const auto& f, const Array& guess) {
                            Array x = guess;
                            for (int i = 0; i < 5; ++i) x = x - f(x) / (3 * x * x);
                            return x;
                          },
                          [](const auto& g, const Array& y) { return y / g(np::ones_like(y)); });
}
Array slope_of_cube_root(const Array& y) {
  return fc::grad([](const Array& y) { return np::sum(cube_root(y)); })(y);
}

std::vector<std::pair<const char*, Array>> results() {
  // Multiples of 1/8 from -11/8 to 11/8, none twice in a row.
  const Array n = np::arange(0, 24);
  const Array x = np::reshape(np::astype((n * 37 % 23) - 11, fc::DType::kFloat32) / 8.0, {4, 6});
  const Array y = np::absolute(np::transpose(x)) + 0.5;  // [6, 4]
  const Array v = np::ravel(x);
  const Array square = np::matmul(x, y);  // [4, 4]
  const Array symmetric = np::matmul(x, np::transpose(x)) + np::eye(4);
  const Array key = fc::random::key(7);
  const Array image = np::reshape(v, {1, 2, 3, 4}), weights = np::reshape(y, {3, 2, 2, 2});
  return {
      // arithmetic
      {"round", np::round(x, 1)},
      {"fmod", np::fmod(x, 0.3)},
      {"float_power", np::float_power(y, 1.7)},
      {"heaviside", np::heaviside(x, 0.5)},
      {"nextafter", np::nextafter(x, 1)},
      {"logaddexp", np::logaddexp(x, 0.25)},
      {"sinc", np::sinc(x)},
      {"cbrt", np::cbrt(x)},
      {"frexp", np::frexp(x).exponent},
      {"isclose", np::isclose(x, np::round(x, 1))},
      {"nan_to_num", np::nan_to_num(np::log(x))},
      // reductions
      {"mean", np::mean(x, 0)},
      {"var", np::var(x, 1)},
      {"std", np::std(x)},
      {"average", np::average(x, 0, np::arange(0, 4)).mean},
      {"nanmean", np::nanmean(np::sqrt(x), 1)},
      {"ptp", np::ptp(x, 1)},
      {"median", np::median(x, 1)},
      {"quantile", np::quantile(x, 0.3, {.axes = 0})},
      {"cumsum", np::cumsum(x, 1)},
      {"vector_norm", np::linalg::vector_norm(x, 1, false, 3.0)},
      {"matrix_norm", np::linalg::matrix_norm(x)},
      // order
      {"sort", np::sort(x, 0)},
      {"argsort", np::argsort(x, 1)},
      {"lexsort", np::lexsort({v, np::round(v)})},
      {"partition", np::partition(x, 2)},
      {"searchsorted", np::searchsorted(np::sort(v), x)},
      {"digitize", np::digitize(x, np::arange(-1, 2))},
      {"unique", np::unique(np::round(v), 5).values},
      {"top_k", lax::top_k(x, 3, 1).values},
      {"approx_min_k", lax::approx_min_k(x, 2).indices},
      // shapes and places
      {"rot90", np::rot90(x)},
      {"roll", np::roll(x, 2, 1)},
      {"tile", lax::tile(x, {1, 2})},
      {"collapse", lax::collapse(image, 1, 3)},
      {"index_take", lax::index_take(x, {np::arange(0, 3)}, {1})},
      {"repeat", np::repeat(x, np::arange(0, 4), 0)},
      {"insert", np::insert(x, {1}, 9, 0)},
      {"delete", np::delete_(x, {2}, 1)},
      {"compress", np::compress(np::arange(0, 4) > 1, x, 0)},
      {"tril", np::tril(x)},
      {"pad", np::pad(x, {{1, 2}, {0, 3}}, "reflect")},
      {"diff", np::diff(x)},
      {"trapezoid", np::trapezoid(x)},
      {"interp", np::interp(x, np::arange(-2, 3), np::arange(0, 5))},
      {"view", np::view(x, fc::DType::kUInt16)},
      {"byteswap", np::byteswap(x)},
      {"reduce_xor", lax::reduce_xor(np::reshape(n, {4, 6}), {0})},
      // products
      {"einsum", np::einsum("ij,jk->ki", {x, y})},
      {"kron", np::kron(x, y)},
      {"tensordot", np::tensordot(x, y, 1)},
      {"convolve", np::convolve(v, np::arange(1, 4))},
      {"batch_matmul", lax::batch_matmul(lax::broadcast(x, {2}), lax::broadcast(y, {2}))},
      {"ragged_dot", lax::ragged_dot(y, lax::broadcast(square, {2}), Array::of<int32_t>({2, 3}))},
      {"conv", lax::conv_general_dilated(image, weights, lax::PaddingKind::kSame,
                                         {.window_strides = {1, 2}})},
      {"reduce_window",
       lax::reduce_window(x, 0.0F, lax::WindowReduction::kSum, {.window_dimensions = {2, 3}})},
      {"fft", np::fft::fft(x)},
      {"polyval", np::polyval(np::arange(1, 4), x)},
      {"polyint", np::polyint(v)},
      {"custom_root", cube_root(y)},
      {"slope_of_custom_root", slope_of_cube_root(y)},
      {"segment_sum", fc::ops::segment_sum(v, n % 5, {.num_segments = 5})},
      // linear algebra
      {"cholesky", fc::linalg::cholesky(symmetric)},
      {"solve", np::linalg::solve(symmetric, np::transpose(y))},
      {"det", np::linalg::det(symmetric)},
      {"pinv", np::linalg::pinv(x)},
      {"singular_values", fc::linalg::singular_values(x, {{0, 2}})},
      {"expm", fc::scipy::linalg::expm(square / 8.0)},
      {"toeplitz", fc::linalg::toeplitz(v)},
      // networks
      {"gelu", nn::gelu(x)},
      {"mish", nn::mish(x)},
      {"selu", nn::selu(x)},
      {"glu", nn::glu(x)},
      {"softmax", nn::softmax(x)},
      {"log_softmax", nn::log_softmax(x, 0)},
      {"logsumexp", nn::logsumexp(x, 1)},
      {"standardize", nn::standardize(x)},
      {"one_hot", nn::one_hot(n % 7, 7)},
      // distributions and random numbers
      {"norm.logcdf", fc::stats::norm::logcdf(x)},
      {"gamma.logpdf", fc::stats::gamma::logpdf(y, 2.5)},
      {"normal", fc::random::normal(key, {5})},
      {"randint", fc::random::randint(key, {5}, 0, 1000)},
      {"gamma", fc::random::gamma(key, 1.5, {{5}})},
      {"permutation", fc::random::permutation(key, 12)},
      {"categorical", fc::random::categorical(key, x)},
  };
}

}  // namespace

// The lines, in memory that lives until the next call.
extern "C" __attribute__((visibility("default"))) const char* array_library_bits() {
  static std::string lines;
  lines.clear();
  for (const auto& [name, array] : results()) {
    lines += fmt::format("{} {}{} ", name, fc::dtype_name(array.dtype()),
                         fc::shape_to_string(array.shape()));
    const auto* bytes = static_cast<const unsigned char*>(array.storage().data());
    for (size_t i = 0; i < array.type().nbytes(); ++i) lines += fmt::format("{:02x}", bytes[i]);
    lines += '\n';
  }
  return lines.c_str();
}
