#include "engine/native/jit/calls.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/interrupt.h>

#include "engine/native/jit/allocate.h"
#include "engine/native/jit/elementwise.h"
#include "engine/native/jit/encode.h"
#include "engine/native/jit/indexing.h"
#include "engine/native/kernel.h"

namespace farcall::native::jit {
namespace {

// Kernels check for interrupts after more operations or elements than these.
constexpr int64_t kMostFlops = int64_t{1} << 18, kMostRead = int64_t{1} << 16;
// The elements of a result. Programs with larger ones take their time in kernels anyway.
constexpr int64_t kMostElements = 1024;
// The elements of a result with one element in each register. Programs with larger ones are faster
// with kernels.
constexpr int64_t kMostSingleElements = 16;
// The weights of a call, and of each operation of its kernel, in the count of what runs between two
// checks for interrupts.
constexpr int64_t kWeightOfCall = 64, kWeightOfOperation = 4;

// What the code calls: `operands` are the addresses of the operands and of the results, and then
// that of the scratch.
void run_kernel(const void* const*, void*, int64_t operands, int64_t extra) noexcept {
  const auto& kernel = *std::bit_cast<const Kernel*>(extra);
  auto* const* const addresses = std::bit_cast<void* const*>(operands);
  try {
    kernel.run({addresses + 1, addresses[0], kernel.data.get()});
  } catch (...) {
    keep_interrupt();
  }
}

void run_copy(const void* const*, void*, int64_t operands, int64_t nbytes) noexcept {
  auto* const* const addresses = std::bit_cast<void* const*>(operands);
  std::memcpy(addresses[0], addresses[1], static_cast<size_t>(nbytes));
}

}  // namespace

Arg Calls::place(size_t nbytes) {
  const Arg made = offset(builder_, builder_.add(Op::kWorkspace, general(8), {}), used_);
  const auto bytes = static_cast<int64_t>(nbytes);
  used_ += (bytes + kStackAlignment - 1) / kStackAlignment * kStackAlignment;
  most_ = std::max(most_, used_);
  if (most_ > kMostWorkspaceBytes) throw Refusal{"arrays that are too large"};
  return made;
}

Value Calls::new_array(ShapeDtype type) { return places_.add(type, place(type.nbytes())); }

Arg Calls::Temporary::address_of(const Value& value) {
  if (const auto address = calls_.places_.address_of(value)) return *address;
  calls_.packing_.check(value.type);
  const Arg made = place(value.type.nbytes());
  store(calls_.builder_, calls_.packing_, value, made);
  return made;
}

Arg Calls::list_of(Temporary& temporary, std::span<const Arg> addresses) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(void*));
  const Arg list = temporary.place(addresses.size() * sizeof(void*));
  for (size_t i = 0; i < addresses.size(); ++i) {
    builder_.store(offset(builder_, list, static_cast<int64_t>(i) * kWidth), general(8), kWidth,
                   addresses[i]);
  }
  return list;
}

void Calls::copy(Arg to, Arg from, size_t nbytes) {
  Temporary temporary(*this);
  const Arg addresses[] = {to, from};
  builder_.effect({.op = Op::kKernel,
                   .args = {list_of(temporary, addresses)},
                   .imm = std::bit_cast<int64_t>(&run_copy),
                   .extra = static_cast<int64_t>(nbytes)});
}

std::vector<Value> Calls::add(const Program& program, const Equation& equation,
                              std::span<const Value> inputs) {
  const std::string_view name = equation.primitive->name;
  const auto is_first = [&](const Value& input) {
    return input.place && input.place->number == inputs[0].place->number;
  };
  const bool changes_first = trait_of_kernel(name) == KernelTrait::kUpdatesFirstInput &&
                             inputs[0].place && equation.outputs.size() == 1 &&
                             std::ranges::none_of(inputs.subspan(1), is_first);
  std::vector<ShapeDtype> types, results;
  for (const uint32_t output : equation.outputs) results.push_back(program.variable_types[output]);
  for (const Value& input : inputs) types.push_back(input.type);
  const auto check_size = [](ShapeDtype type, int64_t most) {
    if (type.is_token()) throw Refusal{"a token"};
    check_dtype(type.dtype());
    if (type.size() == 0 || type.size() > most) {
      throw Refusal{fmt::format("an array of {} elements", type.size())};
    }
  };
  for (size_t i = is_indexing(equation) ? 1 : 0; i < types.size(); ++i) {
    check_size(types[i], kMostRead);
  }
  for (const ShapeDtype& type : results) {
    if (!changes_first) check_size(type, kMostElements);
  }
  const int64_t flops = program.cost(equation).flops;
  if (flops > kMostFlops) throw Refusal{"a large operation"};
  const FoundKernel found = find_kernel(name);
  if (!found) throw Refusal{std::string(name)};
  auto kernel = std::make_shared<const Kernel>(found(types, results, equation.params.get()));
  if (!kernel->run) throw Refusal{std::string(name)};

  std::vector<std::optional<Value>> arrays;  // the results that stay in memory
  for (const ShapeDtype& type : results) {
    const bool are_bools = type.dtype() == DType::kBool && packing_.lanes_of(type) > 1;
    const bool are_many = packing_.lanes == 1 && type.size() > kMostSingleElements;
    if (packing_.fits(type) && !are_bools && !are_many) {
      arrays.emplace_back();
    } else {
      arrays.push_back(changes_first ? inputs[0] : new_array(type));
    }
  }
  Temporary temporary(*this);
  std::vector<Arg> addresses{temporary.place(kernel->scratch_bytes)};
  for (const Value& input : inputs) addresses.push_back(temporary.address_of(input));
  for (size_t i = 0; i < results.size(); ++i) {
    addresses.push_back(arrays[i] ? *places_.address_of(*arrays[i])
                                  : temporary.place(results[i].nbytes()));
  }
  builder_.effect({.op = Op::kKernel,
                   .args = {list_of(temporary, addresses)},
                   .imm = std::bit_cast<int64_t>(&run_kernel),
                   .extra = std::bit_cast<int64_t>(kernel.get())});
  builder_.effect({.op = Op::kCountDown, .imm = kWeightOfCall + kWeightOfOperation * flops});
  kernels_.push_back(std::move(kernel));
  std::vector<Value> made;
  for (size_t i = 0; i < results.size(); ++i) {
    const Arg address = addresses[1 + inputs.size() + i];
    made.push_back(arrays[i] ? places_.changed(*arrays[i])
                             : load(builder_, packing_, results[i], address, LoadTime::kHere));
  }
  return made;
}

}  // namespace farcall::native::jit
