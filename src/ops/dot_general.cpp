// dot_general: the product of two arrays over chosen dimensions.
#include <farcall/primitives/dot_general.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/register.h"
#include "ops/type_rules.h"

namespace farcall {
namespace {

void check_dimensions(ShapeDtype lhs, ShapeDtype rhs, std::span<const int64_t> left,
                      std::span<const int64_t> right, std::string_view what) {
  if (left.size() != right.size()) {
    type_error(fmt::format("{} dimensions {} and {} differ in number", what, shape_to_string(left),
                           shape_to_string(right)));
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] < 0 || left[i] >= static_cast<int64_t>(lhs.rank()) || right[i] < 0 ||
        right[i] >= static_cast<int64_t>(rhs.rank())) {
      type_error(fmt::format("{} dimensions {} of {} and {} of {} are out of range", what, left[i],
                             lhs.to_string(), right[i], rhs.to_string()));
    }
    if (lhs.shape()[left[i]] != rhs.shape()[right[i]]) {
      type_error(
          fmt::format("{} dimensions must agree in size: dimension {} of {} is {}, dimension "
                      "{} of {} is {}",
                      what, left[i], lhs.to_string(), lhs.shape()[left[i]], right[i],
                      rhs.to_string(), rhs.shape()[right[i]]));
    }
  }
}

// Marks the dimensions used; raises for one named twice.
std::vector<bool> used(size_t rank, std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<bool> marks(rank, false);
  for (const auto dimensions : {a, b}) {
    for (const int64_t dimension : dimensions) {
      if (marks[dimension]) type_error(fmt::format("dimension {} is named twice", dimension));
      marks[dimension] = true;
    }
  }
  return marks;
}

std::vector<ShapeDtype> dot_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 2);
  const auto& p = params_as<DotGeneralParams>(params);
  const ShapeDtype lhs = inputs[0], rhs = inputs[1];
  check_dimensions(lhs, rhs, p.lhs_contracting, p.rhs_contracting, "contracting");
  check_dimensions(lhs, rhs, p.lhs_batch, p.rhs_batch, "batch");
  Shape shape;
  for (const int64_t dimension : p.lhs_batch) shape.push_back(lhs.shape()[dimension]);
  const auto lhs_used = used(lhs.rank(), p.lhs_contracting, p.lhs_batch);
  const auto rhs_used = used(rhs.rank(), p.rhs_contracting, p.rhs_batch);
  for (size_t i = 0; i < lhs.rank(); ++i) {
    if (!lhs_used[i]) shape.push_back(lhs.shape()[i]);
  }
  for (size_t i = 0; i < rhs.rank(); ++i) {
    if (!rhs_used[i]) shape.push_back(rhs.shape()[i]);
  }
  const ShapeDtype type = common_dtype(inputs, shape);
  if (type.is_token()) type_error(fmt::format("is not defined for {}", describe(inputs)));
  return {type};
}

int64_t dot_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                  const Params* params) {
  int64_t contracted = 1;
  for (const int64_t dimension : params_as<DotGeneralParams>(params).lhs_contracting) {
    contracted *= inputs[0].shape()[dimension];
  }
  return 2 * outputs[0].size() * contracted;
}

const Primitive kDotGeneral = {.name = "dot_general",
                               .type_rule = dot_rule,
                               .parse = parse_params<DotGeneralParams>,
                               .flops = dot_flops};
FARCALL_REGISTER_PRIMITIVE(kDotGeneral);

}  // namespace

namespace lax {

Array dot_general(const Array& lhs, const Array& rhs, std::span<const int64_t> lhs_contracting,
                  std::span<const int64_t> rhs_contracting, std::span<const int64_t> lhs_batch,
                  std::span<const int64_t> rhs_batch) {
  const auto copy = [](std::span<const int64_t> v) {
    return std::vector<int64_t>(v.begin(), v.end());
  };
  const Array operands[] = {lhs, rhs};
  return bind_one(kDotGeneral,
                  make_params(DotGeneralParams{copy(lhs_contracting), copy(rhs_contracting),
                                               copy(lhs_batch), copy(rhs_batch)}),
                  operands);
}

}  // namespace lax
}  // namespace farcall
