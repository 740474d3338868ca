// The transformation rules of primitives: derivatives compared with finite differences, transposes
// with derivatives, batches with loops.
#include <complex>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/record.h>

#include "arrays.h"
#include "rule_cases.h"

namespace farcall {
namespace {

using testing::rule_cases;
using testing::RuleCase;
using C = std::complex<double>;
using Arrays = std::vector<Array>;

std::vector<C> numbers(const Array& x) {
  return testing::values<C>(lax::convert_element_type(x, DType::kComplex128));
}

void expect_near(const Array& found, const Array& wanted, double tolerance) {
  ASSERT_EQ(found.type().strengthened(), wanted.type().strengthened());
  const auto a = numbers(found), b = numbers(wanted);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE(std::abs(a[i] - b[i]), tolerance * (1 + std::abs(b[i])))
        << "element " << i << ": " << a[i] << ", wanted " << b[i];
  }
}

// Tangents for `arrays`; null for those without a tangent and where the bit of `mask` is zero.
Arrays directions(const Arrays& arrays, double phase, unsigned mask = ~0u) {
  Arrays result;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const ShapeDtype type = arrays[i].type().strengthened();
    if (!has_tangent(type) || !(mask >> i & 1)) {
      result.emplace_back();
      continue;
    }
    std::vector<C> values;
    for (int64_t k = 0; k < type.size(); ++k) {
      values.emplace_back(std::sin(phase + 1.7 * static_cast<double>(k) + static_cast<double>(i)),
                          std::cos(2 * phase + 2.3 * static_cast<double>(k)));
    }
    const Array array = Array::of<C>(values, type.shape());
    result.push_back(is_complex(type.dtype()) ? array : lax::real(array));
  }
  return result;
}

Arrays moved(const Arrays& arrays, const Arrays& along, double step) {
  Arrays result;
  for (size_t i = 0; i < arrays.size(); ++i) {
    result.push_back(
        along[i].is_null()
            ? arrays[i]
            : lax::add(arrays[i], lax::mul(along[i], lax::convert_element_type(Array::scalar(step),
                                                                               along[i].dtype()))));
  }
  return result;
}

// Compares the tangents of `function` at `at` with finite differences.
void expect_derivative(const FlatFunction& function, const Arrays& at, const Arrays& along,
                       double tolerance) {
  constexpr double kStep = 1e-5;
  const JvpResults found = jvp(function, at, along);
  const Arrays values = function(at), up = function(moved(at, along, kStep)),
               down = function(moved(at, along, -kStep));
  ASSERT_EQ(found.primals.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    expect_near(found.primals[i], values[i], 0);
    if (!has_tangent(values[i].type())) {
      EXPECT_TRUE(found.tangents[i].is_null());
      continue;
    }
    const Array scale = lax::convert_element_type(Array::scalar(0.5 / kStep), values[i].dtype());
    expect_near(instantiate(found.tangents[i], values[i].type()),
                lax::mul(lax::sub(up[i], down[i]), scale), tolerance);
  }
}

// All nonempty sets of operands that may vary, as bit masks.
std::vector<unsigned> varying_sets(const RuleCase& rule_case) {
  std::vector<unsigned> sets;
  for (unsigned mask = 1; mask < 1u << rule_case.operands.size(); ++mask) {
    bool has_tangents = true;
    for (size_t i = 0; i < rule_case.operands.size(); ++i) {
      if (!(mask >> i & 1)) continue;
      has_tangents =
          has_tangents && i >= rule_case.first_varying && has_tangent(rule_case.operands[i].type());
    }
    if (has_tangents) sets.push_back(mask);
  }
  return sets;
}

TEST(Rules, TangentsAreThoseOfDifferences) {
  for (const RuleCase& rule_case : rule_cases()) {
    if (!rule_case.is_smooth) continue;
    for (const unsigned mask : varying_sets(rule_case)) {
      SCOPED_TRACE(rule_case.description() + " varying " + std::to_string(mask));
      expect_derivative(rule_case, rule_case.operands, directions(rule_case.operands, 0.4, mask),
                        1e-7);
    }
  }
}

TEST(Rules, SecondTangentsAreThoseOfDifferences) {
  for (const RuleCase& rule_case : rule_cases()) {
    if (!rule_case.is_smooth || !rule_case.is_smooth_twice) continue;
    for (const unsigned mask : varying_sets(rule_case)) {
      SCOPED_TRACE(rule_case.description() + " varying " + std::to_string(mask));
      const Arrays along = directions(rule_case.operands, 0.4, mask);
      const FlatFunction derivative = [&](std::span<const Array> inputs) {
        JvpResults found = jvp(rule_case, inputs, along);
        if (found.tangents[0].is_null()) found.tangents[0] = Array::scalar(0.0);
        return found.tangents;
      };
      expect_derivative(derivative, rule_case.operands, directions(rule_case.operands, 1.1, mask),
                        1e-6);
    }
  }
}

// The real part of the sum of products: the pairing that defines transposes.
double pairing(const Arrays& x, const Arrays& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].is_null() || y[i].is_null()) continue;
    EXPECT_EQ(x[i].type(), y[i].type());
    const auto a = numbers(x[i]), b = numbers(y[i]);
    for (size_t k = 0; k < a.size(); ++k) sum += (a[k] * b[k]).real();
  }
  return sum;
}

std::vector<bool> flags_of(unsigned mask, size_t count) {
  std::vector<bool> flags;
  for (size_t i = 0; i < count; ++i) flags.push_back(mask >> i & 1);
  return flags;
}

// The cotangents of the operands in `mask` for fixed cotangents of the results; 0 for the others.
FlatFunction gradient_of(const RuleCase& rule_case, unsigned mask) {
  return [&rule_case, mask](std::span<const Array> inputs) {
    const std::vector<bool> varies = flags_of(mask, inputs.size());
    const Linearized linearized = linearize(rule_case, inputs, varies);
    Arrays found = linearized.derivative->transpose(directions(linearized.outputs, 0.9));
    for (size_t i = 0; i < found.size(); ++i) {
      found[i] = varies[i] ? instantiate(found[i], inputs[i].type()) : Array::scalar(0.0);
    }
    return found;
  };
}

void expect_transpose(const RuleCase& rule_case, unsigned mask) {
  const std::vector<bool> varies = flags_of(mask, rule_case.operands.size());
  const Arrays along = directions(rule_case.operands, 0.4, mask);
  const JvpResults forward = jvp(rule_case, rule_case.operands, along);
  const Linearized linearized = linearize(rule_case, rule_case.operands, varies);
  const Arrays tangents = (*linearized.derivative)(along);
  for (size_t i = 0; i < tangents.size(); ++i) {
    ASSERT_EQ(tangents[i].is_null(), forward.tangents[i].is_null());
    if (!tangents[i].is_null()) expect_near(tangents[i], forward.tangents[i], 1e-14);
  }
  const Arrays back = directions(linearized.outputs, 2.3);
  const Arrays cotangents = linearized.derivative->transpose(back);
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (!varies[i]) {
      EXPECT_TRUE(cotangents[i].is_null());
    } else if (!cotangents[i].is_null()) {
      EXPECT_EQ(cotangents[i].type(), rule_case.operands[i].type().strengthened());
    }
  }
  const double wanted = pairing(tangents, back);
  EXPECT_NEAR(pairing(along, cotangents), wanted, 1e-12 * (1 + std::abs(wanted)));
}

TEST(Rules, TransposesPairAsTheDerivativesDo) {
  for (const RuleCase& rule_case : rule_cases()) {
    for (const unsigned mask : varying_sets(rule_case)) {
      SCOPED_TRACE(rule_case.description() + " varying " + std::to_string(mask));
      expect_transpose(rule_case, mask);
    }
  }
}

TEST(Rules, RecordedDerivativesAreTheEagerOnes) {
  for (const RuleCase& rule_case : rule_cases()) {
    for (const unsigned mask : varying_sets(rule_case)) {
      SCOPED_TRACE(rule_case.description() + " varying " + std::to_string(mask));
      const FlatFunction gradient = gradient_of(rule_case, mask);
      const Arrays eager = gradient(rule_case.operands);
      const Arrays recorded =
          evaluate(*record(gradient, types_of(rule_case.operands)), rule_case.operands);
      for (size_t i = 0; i < eager.size(); ++i) expect_near(recorded[i], eager[i], 1e-14);
    }
  }
}

// ---- batching

constexpr int64_t kSize = 3;

// A variation of the case's operand i, for element b of a batch.
Array variant(const RuleCase& rule_case, size_t i, int64_t b) {
  const Array& x = rule_case.operands[i];
  if (b == 0) return x;
  if (x.dtype() == DType::kBool) return b == 1 ? lax::bitwise_not(x) : x;
  if (is_integer(x.dtype()) || i < rule_case.first_varying) {
    return lax::add(x, lax::convert_element_type(Array::scalar(b), x.dtype()));
  }
  const double factor = 1 - 0.04 * static_cast<double>(b);
  return lax::mul(x, lax::convert_element_type(Array::scalar(factor), x.dtype()));
}

Array stack(const Arrays& elements, int64_t axis) {
  Arrays expanded;
  for (const Array& element : elements) expanded.push_back(lax::expand_dims(element, {&axis, 1}));
  return lax::concatenate(expanded, axis);
}

Array element_of(const Array& x, int64_t b) {
  Shape starts(x.rank(), 0), limits = testing::shape(x);
  starts[0] = b;
  limits[0] = b + 1;
  return lax::squeeze(lax::slice(x, starts, limits), Shape{0});
}

// Advances to the next combination of axes, each from kNotBatched to the operand's rank; false
// after the last.
bool next_axes(std::vector<int64_t>& axes, const Arrays& operands) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (++axes[i] <= static_cast<int64_t>(operands[i].rank())) return true;
    axes[i] = kNotBatched;
  }
  return false;
}

void expect_batch(const RuleCase& rule_case, const std::vector<int64_t>& axes) {
  Arrays inputs;
  std::vector<Arrays> elements(kSize, rule_case.operands);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] == kNotBatched) {
      inputs.push_back(rule_case.operands[i]);
      continue;
    }
    Arrays variants;
    for (int64_t b = 0; b < kSize; ++b) {
      variants.push_back(variant(rule_case, i, b));
      elements[b][i] = variants.back();
    }
    inputs.push_back(stack(variants, axes[i]));
  }
  const BatchAxis axis{kSize, ""};
  const Arrays found = batched_in_front(batch(rule_case, inputs, axes, axis), axis);
  for (int64_t b = 0; b < kSize; ++b) {
    const Arrays wanted = rule_case(elements[b]);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      expect_near(element_of(found[i], b), wanted[i], 1e-12);
    }
  }
}

TEST(Rules, BatchesAreLoops) {
  for (const RuleCase& rule_case : rule_cases()) {
    std::vector<int64_t> axes(rule_case.operands.size(), kNotBatched);
    while (next_axes(axes, rule_case.operands)) {
      SCOPED_TRACE(rule_case.description() + " batched at " + shape_to_string(axes));
      expect_batch(rule_case, axes);
    }
  }
}

TEST(Rules, BatchesOfDerivativesAreLoops) {
  for (const RuleCase& rule_case : rule_cases()) {
    const auto sets = varying_sets(rule_case);
    if (sets.empty()) continue;
    SCOPED_TRACE(rule_case.description());
    const FlatFunction gradient = gradient_of(rule_case, sets.back());
    Arrays inputs;
    std::vector<Arrays> elements(kSize);
    for (size_t i = 0; i < rule_case.operands.size(); ++i) {
      Arrays variants;
      for (int64_t b = 0; b < kSize; ++b) {
        variants.push_back(variant(rule_case, i, b));
        elements[b].push_back(variants.back());
      }
      inputs.push_back(stack(variants, 0));
    }
    const BatchAxis axis{kSize, ""};
    const Arrays found = batched_in_front(
        batch(gradient, inputs, std::vector<int64_t>(inputs.size(), 0), axis), axis);
    for (int64_t b = 0; b < kSize; ++b) {
      const Arrays wanted = gradient(elements[b]);
      for (size_t i = 0; i < wanted.size(); ++i) {
        expect_near(element_of(found[i], b), wanted[i], 1e-12);
      }
    }
  }
}

// ---- the table of cases

TEST(Rules, EveryElementwisePrimitiveHasACase) {
  std::set<std::string> tried;
  for (const RuleCase& rule_case : rule_cases()) tried.insert(rule_case.primitive);
#define FARCALL_UNARY(function, primitive, ...) EXPECT_TRUE(tried.contains(primitive)) << primitive;
#define FARCALL_BINARY(function, primitive, ...) \
  EXPECT_TRUE(tried.contains(primitive)) << primitive;
#include <farcall/ops/elementwise_list.h>
}

TEST(Rules, EveryPrimitiveCanBeBatchedOrHasAReason) {
  const std::map<std::string_view, std::string_view> reasons = {
      {"create_token", "takes no operands"},
      {"iota", "takes no operands"},
      {"platform_index", "takes no operands"},
  };
  for (const Primitive* primitive : all_primitives()) {
    const bool has_rule = primitive->rules && (primitive->rules->batch || primitive->rules->rebind);
    EXPECT_NE(has_rule, reasons.contains(primitive->name)) << primitive->name;
  }
}

}  // namespace
}  // namespace farcall
