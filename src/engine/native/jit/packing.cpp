#include "engine/native/jit/packing.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include <farcall/program/walk.h>

#include "engine/native/jit/elementwise.h"
#include "engine/native/jit/encode.h"

namespace farcall::native::jit {
namespace {

// The most elements of an array with several in a register: alone, and in programs with products,
// whose operands are longer.
constexpr int64_t kMostLanes = 64, kMostLanesWithProducts = 256;

// The sizes and widths of the arrays in programs. Larger arrays stay in memory.
struct ArraySizes {
  std::set<int64_t> sizes;
  std::set<size_t> widths;
  bool has_products = false;

  void add(const Program& program) {
    for_each_program(program, [this](const Program& each) {
      for (const ShapeDtype& type : each.variable_types) {
        if (type.is_token() || type.size() <= 1 || type.size() > kMostLanesWithProducts) continue;
        sizes.insert(type.size());
        if (type.dtype() != DType::kBool) widths.insert(byte_width(type.dtype()));
      }
      const auto is_product = [](const Equation& equation) {
        return equation.primitive->kind == PrimitiveKind::kProduct;
      };
      has_products = has_products || std::ranges::any_of(each.equations, is_product);
    });
  }
};

}  // namespace

RegType Packing::reg_type_of(ShapeDtype type) const {
  return reg_type(type.dtype(), lanes_of(type), mask_width);
}

size_t Packing::num_parts(ShapeDtype type) const {
  const int64_t each = lanes_of(type);
  return static_cast<size_t>((type.size() + each - 1) / each);
}

int Packing::part_bytes(ShapeDtype type, size_t part) const {
  const int64_t each = lanes_of(type);
  const int64_t left = type.size() - static_cast<int64_t>(part) * each;
  return static_cast<int>(std::min(left, each) * static_cast<int64_t>(byte_width(type.dtype())));
}

bool Packing::holds(ShapeDtype type) const {
  return !type.is_token() && is_held(type.dtype()) && fits(type);
}

void Packing::check(ShapeDtype type) const {
  if (type.is_token()) throw Refusal{"a token"};
  check_dtype(type.dtype());
  if (!fits(type)) throw Refusal{fmt::format("an array of {} elements", type.size())};
}

std::vector<Packing> packings_of(std::initializer_list<const Program*> programs) {
  ArraySizes found;
  for (const Program* program : programs) found.add(*program);
  if (found.sizes.empty() || found.widths.size() != 1) return {};
  if (found.sizes.size() > 1 && !found.has_products) return {};
  const auto width = static_cast<int>(*found.widths.begin());
  if (width != 4 && width != 8) return {};
  Packing packing{.mask_width = width,
                  .most_elements = found.has_products ? kMostLanesWithProducts : kMostLanes};
  const int64_t largest = *found.sizes.rbegin();
  if (largest > packing.most_elements) return {};
  const int most = processor().vector_bytes / width, least = 16 / width;
  packing.lanes =
      std::clamp(static_cast<int>(std::bit_ceil(static_cast<uint64_t>(largest))), least, most);
  std::vector<Packing> packings{packing};
  // With whole registers only, slices and concatenations of arrays move registers.
  int64_t divisor = most;
  for (const int64_t size : found.sizes) divisor = std::gcd(divisor, size);
  if (divisor >= least && divisor < packing.lanes) {
    packing.lanes = static_cast<int>(divisor);
    packings.push_back(packing);
  }
  return packings;
}

Arg offset(Builder& builder, Arg address, int64_t bytes) {
  if (bytes == 0) return address;
  return builder.add(Op::kAdd, general(8), {address, Arg::number(bytes)});
}

Value load(Builder& builder, const Packing& packing, ShapeDtype type, Arg address, LoadTime time) {
  if (type.dtype() == DType::kBool && packing.lanes_of(type) > 1) {
    throw Refusal{"several bools at a time"};
  }
  Value value{type, {}, {}};
  int64_t at = 0;
  for (size_t part = 0; part < packing.num_parts(type); ++part) {
    const int bytes = packing.part_bytes(type, part);
    Inst inst{.op = Op::kLoad,
              .bytes = static_cast<uint8_t>(bytes),
              .type = packing.reg_type_of(type),
              .args = {offset(builder, address, at)}};
    if (time == LoadTime::kOnce) {
      value.parts.push_back(builder.add(inst));
    } else {
      inst.dest = builder.new_reg(inst.type);
      builder.effect(inst);
      value.parts.push_back(Arg::reg(inst.dest));
    }
    at += bytes;
  }
  return value;
}

void store(Builder& builder, const Packing& packing, const Value& value, Arg address) {
  const ShapeDtype type = value.type;
  if (type.dtype() == DType::kBool && packing.lanes_of(type) > 1) {
    throw Refusal{"several bools at a time"};
  }
  int64_t at = 0;
  for (size_t part = 0; part < value.parts.size(); ++part) {
    const int bytes = packing.part_bytes(type, part);
    builder.store(offset(builder, address, at), packing.reg_type_of(type), bytes,
                  value.parts[part]);
    at += bytes;
  }
}

}  // namespace farcall::native::jit
