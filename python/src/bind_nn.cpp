// farcall.nn: activations, normalization, attention, initializers.
#include "bind.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/nn/activations.h>
#include <farcall/nn/attention.h>
#include <farcall/nn/initializers.h>
#include <farcall/nn/normalization.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {

// How standardize computes the variance: "fast" or "stable".
struct VarianceAlgorithm {
  bool is_two_pass;
};
template <>
struct Argument<VarianceAlgorithm> {
  static VarianceAlgorithm from(nb::handle object, ArgumentPlace place) {
    return {index_of_word(object, place, {"fast", "stable"}) == 1};
  }
};

namespace {

using OptionalArray = std::optional<Array>;
using numpy::Axes;

void bind_activations(nb::module_& module) {
  const std::pair<const char*, Array (*)(const Array&)> unary[] = {
      {"hard_sigmoid", nn::hard_sigmoid},
      {"hard_silu", nn::hard_silu},
      {"hard_tanh", nn::hard_tanh},
      {"log1mexp", nn::log1mexp},
      {"log_sigmoid", nn::log_sigmoid},
      {"mish", nn::mish},
      {"relu", nn::relu},
      {"relu6", nn::relu6},
      {"selu", nn::selu},
      {"sigmoid", nn::sigmoid},
      {"silu", nn::silu},
      {"soft_sign", nn::soft_sign},
      {"softplus", nn::softplus},
      {"sparse_plus", nn::sparse_plus},
      {"sparse_sigmoid", nn::sparse_sigmoid},
      {"identity", [](const Array& x) { return x; }},
  };
  for (const auto& [name, function] : unary) def_function(module, name, function, {"x"});
  def_function(module, "celu", nn::celu, {"x", {"alpha", 1.0}});
  def_function(module, "elu", nn::elu, {"x", {"alpha", 1.0}});
  def_function(module, "gelu", nn::gelu, {"x", {"approximate", true}});
  def_function(module, "glu", nn::glu, {"x", {"axis", -1}});
  def_function(module, "leaky_relu", nn::leaky_relu, {"x", {"negative_slope", 1e-2}});
  def_function(module, "squareplus", nn::squareplus, {"x", {"b", 4}});
}

void bind_along_axes(nb::module_& module) {
  def_function(module, "softmax", nn::softmax, {"x", {"axis", -1}, {"where", nb::none()}});
  def_function(module, "log_softmax", nn::log_softmax, {"x", {"axis", -1}, {"where", nb::none()}});
  def_function(module, "logsumexp",
               [](const Array& x, const Axes& axes, const OptionalArray& b, bool keepdims,
                  bool return_sign, const OptionalArray& where) {
                 const nn::LogSumExpOptions options{b, keepdims, where};
                 if (!return_sign) return to_python(nn::logsumexp(x, axes, options));
                 const auto [logarithm, sign] = nn::signed_logsumexp(x, axes, options);
                 return to_python(std::pair(logarithm, sign));
               },
               {"a",
                {"axis", nb::none()},
                {"b", nb::none()},
                {"keepdims", false},
                {"return_sign", false},
                {"where", nb::none()}});
  def_function(module, "logmeanexp", nn::logmeanexp,
               {"x", {"axis", nb::none()}, {"where", nb::none()}, {"keepdims", false}});
  def_function<1>(
      module, "standardize",
      [](const Array& x, const Axes& axes, const OptionalArray& mean, const OptionalArray& variance,
         const Array& epsilon, const OptionalArray& where, VarianceAlgorithm algorithm) {
        return nn::standardize(x, axes, {mean, variance, epsilon, where, algorithm.is_two_pass});
      },
      {"x",
       {"axis", -1},
       {"mean", nb::none()},
       {"variance", nb::none()},
       {"epsilon", 1e-5},
       {"where", nb::none()},
       {"algorithm", "fast"}});
  def_function<2>(module, "one_hot", nn::one_hot,
                  {"x", "num_classes", {"dtype", nb::none()}, {"axis", -1}});
}

// ---- attention

using Window = std::pair<int64_t, int64_t>;

// A single number applies to both sides.
std::optional<Window> to_window(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  const auto sizes = to_sizes(object, "dot_product_attention: argument local_window_size");
  if (sizes.size() == 1 && !PySequence_Check(object.ptr())) return Window(sizes[0], sizes[0]);
  if (sizes.size() == 2) return Window(sizes[0], sizes[1]);
  invalid_argument(
      fmt::format("dot_product_attention: local_window_size must be one or two whole "
                  "numbers, got {}",
                  repr_of(object)));
}

nb::object attend(const Array& query, const Array& key, const Array& value,
                  const OptionalArray& bias, const OptionalArray& mask, std::optional<double> scale,
                  bool is_causal, const OptionalArray& query_lengths,
                  const OptionalArray& key_lengths, nb::handle window,
                  const std::optional<std::string>& implementation, bool return_residual) {
  if (implementation && implementation != "xla") {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("dot_product_attention: implementation must be None or 'xla', got '{}'",
                            *implementation));
  }
  const nn::Attention result =
      nn::attention(query, key, value,
                    {bias, mask, scale, is_causal, query_lengths, key_lengths, to_window(window)});
  if (!return_residual) return to_python(result.output);
  return to_python(std::pair(result.output, result.residual));
}

void bind_attention(nb::module_& module) {
  def_function<7>(module, "dot_product_attention", attend,
                  {"query",
                   "key",
                   "value",
                   {"bias", nb::none()},
                   {"mask", nb::none()},
                   {"scale", nb::none()},
                   {"is_causal", false},
                   {"query_seq_lengths", nb::none()},
                   {"key_value_seq_lengths", nb::none()},
                   {"local_window_size", nb::none()},
                   {"implementation", nb::none()},
                   {"return_residual", false}});
}

// ---- initializers: in Python, functions of key, shape and dtype

using nn::initializers::FanAxes;
using nn::initializers::Initializer;
using Sizes = std::vector<int64_t>;

nb::object to_function(const Initializer& init) {
  return nb::cpp_function(
      [init](nb::handle key, nb::handle shape, nb::handle dtype) {
        return wrap_object(init(to_array(key, "initializer: argument key"),
                                to_sizes(shape, "initializer: shape"), to_dtype(dtype)));
      },
      nb::arg().none(), nb::arg().none(), nb::arg().none());
}

void bind_initializers(nb::module_& module) {
  namespace init = nn::initializers;
  def_function(module, "_constant",
               [](const Array& value) { return to_function(init::constant(value)); }, {"value"});
  def_function(module, "_uniform",
               [](const Array& scale) { return to_function(init::uniform(scale)); }, {"scale"});
  def_function(module, "_normal",
               [](const Array& stddev) { return to_function(init::normal(stddev)); }, {"stddev"});
  def_function(module, "_truncated_normal",
               [](const Array& stddev, const Array& lower, const Array& upper) {
                 return to_function(init::truncated_normal(stddev, DType::kFloat32, lower, upper));
               },
               {"stddev", "lower", "upper"});
  def_function(module, "_variance_scaling",
               [](const Array& scale, const std::string& mode, const std::string& distribution,
                  const Sizes& in_axis, const Sizes& out_axis, const Sizes& batch_axis) {
                 const FanAxes axes{in_axis, out_axis, batch_axis};
                 return to_function(init::variance_scaling(scale, mode, distribution, axes));
               },
               {"scale", "mode", "distribution", "in_axis", "out_axis", "batch_axis"});
  def_function(module, "_orthogonal",
               [](const Array& scale, int64_t column_axis) {
                 return to_function(init::orthogonal(scale, column_axis));
               },
               {"scale", "column_axis"});
  def_function(module, "_delta_orthogonal",
               [](const Array& scale, int64_t column_axis) {
                 return to_function(init::delta_orthogonal(scale, column_axis));
               },
               {"scale", "column_axis"});
}

}  // namespace

void bind_nn(nb::module_& module) {
  bind_activations(module);
  bind_along_axes(module);
  bind_attention(module);
  bind_initializers(module);
}

}  // namespace farcall::python
