// The primitives random_wrap and random_unwrap, which change only the type.
#include "ops/internal/key_words.h"

#include <algorithm>

#include <fmt/format.h>

#include <farcall/primitives/random.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/rules.h>

#include "core/internal/joined.h"
#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

constexpr int64_t kWords = 2;  // of a key

std::vector<ShapeDtype> wrap_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const std::string& impl = params_as<RandomWrapParams>(params).impl;
  if (impl != "fry") invalid_argument(fmt::format("impl must be \"fry\", got \"{}\"", impl));
  const ShapeDtype words = inputs[0];
  if (words.dtype() != DType::kUInt32 || words.rank() == 0 || words.shape().back() != kWords) {
    throw TypeError(fmt::format(
        "the words of keys are an array of uint32 whose last dimension has size {}; got {}", kWords,
        words.to_string()));
  }
  return {{DType::kThreefryKey, words.shape().first(words.rank() - 1)}};
}

std::vector<ShapeDtype> unwrap_rule(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 1);
  if (!is_key(inputs[0].dtype())) {
    throw TypeError(fmt::format("takes keys of dtype {}; got {}", dtype_name(DType::kThreefryKey),
                                inputs[0].to_string()));
  }
  return {key_words_type(inputs[0])};
}

BatchResults wrap_batch(const BatchCall& call) {
  const Array in_front = move_axis(call.inputs[0], call.axes[0], 0, call.axis.size);
  return {bind_primitive(call.primitive, call.params, {&in_front, 1}), {0}};
}

const TransformRules kWrapRules = {.batch = wrap_batch};
// The dimensions of the keys come first in the result.
const TransformRules kUnwrapRules = {.batch = same_axis_batch};

const Primitive kWrap = {.name = "random_wrap",
                         .type_rule = wrap_rule,
                         .parse = parse_params<RandomWrapParams>,
                         .flops = no_flops,
                         .rules = &kWrapRules};
FARCALL_REGISTER_PRIMITIVE(kWrap);
const Primitive kUnwrap = {
    .name = "random_unwrap", .type_rule = unwrap_rule, .flops = no_flops, .rules = &kUnwrapRules};
FARCALL_REGISTER_PRIMITIVE(kUnwrap);

}  // namespace

ShapeDtype key_words_type(ShapeDtype type) {
  if (!is_key(type.dtype())) return type;
  return {DType::kUInt32, joined<Shape>(type.shape(), {&kWords, 1})};
}

std::vector<ShapeDtype> key_words_types(std::span<const ShapeDtype> types) {
  std::vector<ShapeDtype> words(types.size());
  std::ranges::transform(types, words.begin(), key_words_type);
  return words;
}

bool has_keys(std::span<const ShapeDtype> types) {
  return std::ranges::any_of(types, is_key, &ShapeDtype::dtype);
}

Array wrap_key_words(const Array& words) {
  return bind_one(kWrap, make_params(RandomWrapParams{}), {&words, 1});
}

Array unwrap_key_words(const Array& keys) { return bind_one(kUnwrap, nullptr, {&keys, 1}); }

}  // namespace farcall
