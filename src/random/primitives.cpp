// The primitives on keys. A key is a pair of 32-bit words. All random bits are the hash
// threefry2x32 of the key and a counter, so each element depends only on the key and on its
// position.
#include "random/primitives.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include <farcall/primitives/random.h>
#include <farcall/random/random.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"
#include "random/checks.h"

namespace farcall {
namespace {

ShapeDtype check_keys(std::span<const ShapeDtype> inputs) {
  check_operand_count(inputs, 1);
  if (!is_key(inputs[0].dtype())) {
    throw TypeError(fmt::format("takes keys of dtype {}; got {}", dtype_name(DType::kThreefryKey),
                                inputs[0].to_string()));
  }
  return inputs[0];
}

DType unsigned_of(int64_t bit_width) {
  switch (bit_width) {
    case 8:
      return DType::kUInt8;
    case 16:
      return DType::kUInt16;
    case 32:
      return DType::kUInt32;
    case 64:
      return DType::kUInt64;
    default:
      invalid_argument(fmt::format("bit_width must be 8, 16, 32 or 64, got {}", bit_width));
  }
}

std::vector<ShapeDtype> bits_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<RandomBitsParams>(params);
  const ShapeDtype keys = check_keys(inputs);
  return {{unsigned_of(p.bit_width), joined<Shape>(keys.shape(), p.shape)}};
}

std::vector<ShapeDtype> split_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const ShapeDtype keys = check_keys(inputs);
  return {keys.with_shape(joined<Shape>(keys.shape(), params_as<RandomSplitParams>(params).shape))};
}

std::vector<ShapeDtype> fold_in_rule(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 2);
  check_keys(inputs.first(1));
  if (inputs[1].dtype() != DType::kUInt32) {
    invalid_argument(fmt::format("data must be u32, got {}", inputs[1].to_string()));
  }
  return {{inputs[0].dtype(), elementwise_shape(inputs)}};
}

std::vector<ShapeDtype> threefry_rule(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 4);
  for (const ShapeDtype& input : inputs) {
    if (input.dtype() == DType::kUInt32) continue;
    throw TypeError(fmt::format("takes uint32; got {}", types_to_string(inputs)));
  }
  const ShapeDtype result(DType::kUInt32, elementwise_shape(inputs));
  return {result, result};
}

// 20 rounds of an addition, a rotation and an exclusive or, plus the additions of the key.
int64_t hash_flops(std::span<const ShapeDtype>, std::span<const ShapeDtype> outputs,
                   const Params*) {
  constexpr int64_t kOperations = 75;
  return outputs[0].size() * kOperations;
}

// The dimensions of the keys come first in the result.
const TransformRules kKeyRules = {.batch = same_axis_batch};
const TransformRules kElementwiseRules = {.batch = batch_elementwise};

const Primitive kBits = {.name = "random_bits",
                         .type_rule = bits_rule,
                         .parse = parse_params<RandomBitsParams>,
                         .flops = hash_flops,
                         .rules = &kKeyRules};
FARCALL_REGISTER_PRIMITIVE(kBits);
const Primitive kSplit = {.name = "random_split",
                          .type_rule = split_rule,
                          .parse = parse_params<RandomSplitParams>,
                          .flops = hash_flops,
                          .rules = &kKeyRules};
FARCALL_REGISTER_PRIMITIVE(kSplit);
const Primitive kFoldIn = {.name = "random_fold_in",
                           .type_rule = fold_in_rule,
                           .flops = hash_flops,
                           .rules = &kElementwiseRules};
FARCALL_REGISTER_PRIMITIVE(kFoldIn);
const Primitive kThreefry = {.name = "threefry2x32",
                             .type_rule = threefry_rule,
                             .flops = hash_flops,
                             .rules = &kElementwiseRules};
FARCALL_REGISTER_PRIMITIVE(kThreefry);

std::vector<int64_t> to_vector(std::span<const int64_t> shape) {
  return {shape.begin(), shape.end()};
}

}  // namespace

namespace random {

Array random_bits(const Array& keys, int64_t bit_width, std::span<const int64_t> shape) {
  return bind_one(kBits, make_params(RandomBitsParams{bit_width, to_vector(shape)}), {&keys, 1});
}
Array random_split(const Array& keys, std::span<const int64_t> shape) {
  return bind_one(kSplit, make_params(RandomSplitParams{to_vector(shape)}), {&keys, 1});
}
Array random_fold_in(const Array& keys, const Array& data) {
  return bind_one(kFoldIn, nullptr, std::array{keys, data});
}

std::pair<Array, Array> threefry2x32(const Array& key1, const Array& key2, const Array& x1,
                                     const Array& x2) {
  const std::vector<Array> words =
      bind_primitive(kThreefry, nullptr, std::array{key1, key2, x1, x2});
  return {words[0], words[1]};
}

}  // namespace random
}  // namespace farcall
