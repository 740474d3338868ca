#include <farcall/core/type_text.h>
#include <farcall/ops/promotion.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/element_text.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/placement.h>

namespace farcall {
namespace {

// Nodes of the lattice: the dtypes by number, then the three weak types.
constexpr size_t kWeakInt = kNumDTypes, kWeakFloat = kNumDTypes + 1, kWeakComplex = kNumDTypes + 2;
constexpr size_t kNumNodes = kNumDTypes + 3;
using NodeSet = std::bitset<kNumNodes>;

constexpr size_t node(DType dtype) { return static_cast<size_t>(dtype); }

// Edges lead from a type to the next larger ones. Source: "Type promotion semantics" in the
// documentation of JAX; narrow floats and integers below eight bits are promoted with weak types
// only.
const std::vector<std::pair<size_t, std::vector<size_t>>>& edges() {
  using enum DType;
  static const auto* list = new std::vector<std::pair<size_t, std::vector<size_t>>>{
      {node(kBool), {kWeakInt}},
      {kWeakInt,
       {node(kUInt8), node(kInt8), node(kInt4), node(kUInt4), node(kInt2), node(kUInt2),
        node(kInt1), node(kUInt1)}},
      {node(kUInt8), {node(kInt16), node(kUInt16)}},
      {node(kUInt16), {node(kInt32), node(kUInt32)}},
      {node(kUInt32), {node(kInt64), node(kUInt64)}},
      {node(kUInt64), {kWeakFloat}},
      {node(kInt8), {node(kInt16)}},
      {node(kInt16), {node(kInt32)}},
      {node(kInt32), {node(kInt64)}},
      {node(kInt64), {kWeakFloat}},
      {kWeakFloat,
       {node(kFloat16), node(kBFloat16), node(kFloat8E5M2), node(kFloat8E4M3FN),
        node(kFloat8E4M3B11FNUZ), node(kFloat8E5M2FNUZ), node(kFloat8E4M3FNUZ), node(kFloat8E4M3),
        node(kFloat8E3M4), node(kFloat8E8M0FNU), node(kFloat4E2M1FN), kWeakComplex}},
      {node(kFloat16), {node(kFloat32)}},
      {node(kBFloat16), {node(kFloat32)}},
      {node(kFloat32), {node(kFloat64), node(kComplex64)}},
      {node(kFloat64), {node(kComplex128)}},
      {kWeakComplex, {node(kComplex64)}},
      {node(kComplex64), {node(kComplex128)}},
  };
  return *list;
}

// For each node, all nodes that it can be promoted to, including itself.
const std::array<NodeSet, kNumNodes>& reachable() {
  static const auto* sets = [] {
    auto* made = new std::array<NodeSet, kNumNodes>;
    for (size_t i = 0; i < kNumNodes; ++i) (*made)[i].set(i);
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, targets] : edges()) {
        const NodeSet before = (*made)[from];
        for (const size_t to : targets) (*made)[from] |= (*made)[to];
        changed = changed || before != (*made)[from];
      }
    }
    return made;
  }();
  return *sets;
}

// The node of a type. `strong`: ignores weak types.
size_t node_of(ShapeDtype type, bool strong) {
  if (strong || !type.weak_type()) return node(type.dtype());
  if (is_complex(type.dtype())) return kWeakComplex;
  if (is_floating(type.dtype())) return kWeakFloat;
  return type.dtype() == DType::kBool ? node(DType::kBool) : kWeakInt;
}

PromotedDType dtype_of_node(size_t node, std::span<const ShapeDtype> types) {
  if (node == kWeakFloat) return {default_float(), true};
  if (node == kWeakComplex) return {default_complex(), true};
  if (node != kWeakInt) return {static_cast<DType>(node), false};
  for (const ShapeDtype& type : types) {
    if (type.dtype() == DType::kInt64) return {DType::kInt64, true};
  }
  return {default_int(), true};
}

// With kEnableX64 off, 64-bit integers come from 64-bit operands alone, not from uint32 and a
// signed integer.
PromotedDType without_new_64_bits(PromotedDType to, std::span<const ShapeDtype> types) {
  const bool is_new = to.dtype == DType::kInt64 && !is_x64() &&
                      std::ranges::find(types, DType::kInt64, &ShapeDtype::dtype) == types.end();
  return is_new ? PromotedDType{DType::kInt32, to.weak_type} : to;
}

// The least node that all types can be promoted to. Raises if there is none.
size_t join(std::span<const ShapeDtype> types, bool strong) {
  NodeSet common = NodeSet().set();
  for (const ShapeDtype& type : types) {
    if (!type.is_token()) {
      common &= reachable()[node_of(type, strong)];
      continue;
    }
    invalid_argument("a token has no elements to compute with");
  }
  for (size_t i = 0; i < kNumNodes; ++i) {
    if (common[i] && reachable()[i] == common) return i;
  }
  const std::string text = types_to_string(types);
  if (std::ranges::any_of(types, is_key, &ShapeDtype::dtype)) {
    throw TypeError(
        fmt::format("operands ({}) have no common dtype: random keys are not numbers; use "
                    "random.key_data to get their words",
                    text));
  }
  invalid_argument(
      fmt::format("operands ({}) have no common dtype: narrow types are not promoted to one "
                  "another. Convert them with astype first",
                  text));
}

template <class T>
Array typed_scalar(T value, DType dtype, bool weak_type) {
  // Converts through text, because C++ lacks some of the types. The cost does not matter for
  // scalars.
  const ShapeDtype type(dtype, {}, weak_type);
  Storage storage = Storage::allocate(type.nbytes());
  parse_element(dtype, format_element(dtype_of<T>(), &value), storage.data());
  return Array(type, std::move(storage));
}

// Raises OverflowError unless the integer fits into int32 or into this dtype.
void check_fits(int64_t value, const DTypeInfo& info) {
  if (info.bits == 64 || value == static_cast<int32_t>(value)) return;
  const bool is_unsigned = info.kind == DTypeKind::kUnsigned;
  if (is_unsigned && value >= 0 && value >> info.bits == 0) return;
  throw OverflowError(fmt::format(
      "the number {} does not fit into {}; convert the other operand to a larger integer first",
      value, info.name));
}

Array from_number(const ScalarNode::Number& number, PromotedDType to) {
  const auto* integer = std::get_if<int64_t>(&number);
  if (!integer && !is_floating(to.dtype) && !is_complex(to.dtype)) return {};
  if (to.weak_type) return {};
  if (integer && is_integer(to.dtype)) {
    // Wraps around, like the conversion of an integer array. Numbers that fit neither int32 nor the
    // dtype raise an error.
    const auto& info = dtype_info(to.dtype);
    check_fits(*integer, info);
    const int unused = 64 - info.bits;
    const uint64_t top = static_cast<uint64_t>(*integer) << unused;
    if (info.kind == DTypeKind::kUnsigned) return typed_scalar(top >> unused, to.dtype, false);
    return typed_scalar(static_cast<int64_t>(top) >> unused, to.dtype, false);
  }
  const auto make = [&](auto value) {
    const ShapeDtype type(to.dtype, {}, to.weak_type);
    Storage storage = Storage::allocate(type.nbytes());
    std::memcpy(storage.data(), &value, sizeof(value));
    return Array(type, std::move(storage));
  };
  if (const auto* complex = std::get_if<std::complex<double>>(&number)) {
    if (to.dtype == DType::kComplex64) return make(std::complex<float>(*complex));
    if (to.dtype == DType::kComplex128) return make(*complex);
    return {};
  }
  const double real = integer ? static_cast<double>(*integer) : std::get<double>(number);
  switch (to.dtype) {
    case DType::kFloat32:
      return make(static_cast<float>(real));
    case DType::kFloat64:
      return make(real);
    case DType::kComplex64:
      return make(std::complex<float>(static_cast<float>(real)));
    case DType::kComplex128:
      return make(std::complex<double>(real));
    default:
      return {};
  }
}

}  // namespace

namespace {

// 0 for bool, 1 for integers, 2 for floats, 3 for complex numbers. Strict promotion allows a
// host-language number with arrays of its kind or of a higher one.
int kind_of(DType dtype) {
  if (is_complex(dtype)) return 3;
  if (is_floating(dtype)) return 2;
  return dtype == DType::kBool ? 0 : 1;
}

// For numpy_dtype_promotion="strict": raises unless all arrays have one dtype and the numbers fit
// into it.
void check_strict(std::span<const ShapeDtype> types) {
  const auto strong = std::ranges::find(types, false, &ShapeDtype::weak_type);
  if (strong == types.end()) return;
  const bool is_allowed = std::ranges::all_of(types, [&](ShapeDtype type) {
    if (!type.weak_type()) return type.dtype() == strong->dtype();
    return strong->dtype() != DType::kBool && kind_of(type.dtype()) <= kind_of(strong->dtype());
  });
  if (is_allowed) return;
  invalid_argument(
      fmt::format("operands ({}) have different dtypes, and the flag numpy_dtype_promotion "
                  "is \"strict\". Convert them with astype first",
                  types_to_string(types)));
}

}  // namespace

PromotedDType promote_types(std::span<const ShapeDtype> types) {
  // The common case: one dtype is promoted to itself.
  const auto is_like_first = [&](ShapeDtype type) {
    return type.dtype() == types[0].dtype() && type.weak_type() == types[0].weak_type();
  };
  if (!types.empty() && !types[0].is_token() && std::ranges::all_of(types, is_like_first)) {
    return {types[0].dtype(), types[0].weak_type() && types[0].dtype() != DType::kBool};
  }
  if (is_on(Flag::kNumpyDtypePromotion)) check_strict(types);
  // Weak types alone are promoted like arrays of their dtypes; the result stays weak.
  if (std::ranges::all_of(types, &ShapeDtype::weak_type)) {
    const DType dtype = dtype_of_node(join(types, /*strong=*/true), types).dtype;
    return without_new_64_bits({dtype, dtype != DType::kBool}, types);
  }
  return without_new_64_bits(dtype_of_node(join(types, /*strong=*/false), types), types);
}

PromotedDType promote_to_inexact(std::span<const ShapeDtype> types) {
  const PromotedDType to = promote_types(types);
  const bool is_exact = to.dtype == DType::kBool || is_integer(to.dtype);
  if (!is_exact) return to;
  return {byte_width(to.dtype) == 8 ? default_float() : DType::kFloat32, to.weak_type};
}

Array convert(const Array& x, PromotedDType to) {
  // A strongly typed scalar of this dtype already holds the exact value.
  const bool is_there = x.dtype() == to.dtype && !x.type().weak_type();
  const auto* scalar = is_there ? nullptr : dynamic_cast<const ScalarNode*>(&x.node());
  if (scalar) {
    if (Array exact = from_number(scalar->number(), to); !exact.is_null()) return exact;
  }
  return lax::convert_element_type(x, to.dtype, to.weak_type);
}

Array widened(const Array& x, DType preferred) {
  const auto is_whole = [](DType dtype) { return is_integer(dtype) || dtype == DType::kBool; };
  const bool is_wider = dtype_info(x.dtype()).bits <= dtype_info(preferred).bits &&
                        (!is_whole(preferred) || is_whole(x.dtype()));
  return is_wider ? lax::convert_element_type(x, preferred) : x;
}

Array strengthen(const Array& x) {
  if (!x.type().weak_type()) return x;
  if (x.is_concrete()) return with_type(x, x.type().strengthened());
  return lax::convert_element_type(x, x.dtype());
}

}  // namespace farcall
