// Shared by the primitives that hold programs: rearranging inputs and outputs, and fixed-point
// iteration over a loop's carry.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <farcall/primitives/control_flow.h>
#include <farcall/program/program.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>
#include <farcall/trace/varying.h>

namespace farcall::control {

using Order = std::vector<int64_t>;
inline constexpr int64_t kUnused = -1;

// Appends begin, begin + 1, … (`count` numbers).
void append_range(Order& order, size_t begin, size_t count);

template <class T>
void append(std::vector<T>& all, std::span<const T> more) {
  all.insert(all.end(), more.begin(), more.end());
}

template <class T>
std::vector<T> concat(std::span<const T> a, std::span<const T> b) {
  std::vector<T> all(a.begin(), a.end());
  append(all, b);
  return all;
}

template <class T>
std::vector<T> in_order(std::span<const T> items, const Order& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (const int64_t i : order) result.push_back(items[static_cast<size_t>(i)]);
  return result;
}

// The same equations with other inputs and outputs; cached with the program. Input i of the result
// is input inputs[i] of `program`; each input must occur exactly once. For kUnused it is an unused
// input of the next type in `unused`. Output i of the result is output outputs[i].
ProgramPtr rearrange(const ProgramPtr& program, const Order& inputs, const Order& outputs,
                     std::span<const ShapeDtype> unused = {});

// Programs of functions with the same operands. Each program takes all arrays that any of the
// functions captured, then the operands.
struct SharedPrograms {
  std::vector<ProgramPtr> programs;
  std::vector<Array> captured;
};
SharedPrograms share_captured(std::span<const Recording> recordings);

// Applies a recorded program to its captured arrays and to other operands.
FlatFunction as_function(const Recording& recording);

// Derives a loop's body repeatedly until the flags of the carry are a fixed point. `carry` has one
// flag (varies, is batched, is unknown) for each carried value; flags are only set, never cleared.
// `derive(carry)` returns a struct whose member `flags` has the flags of the body's outputs, the
// carry first.
template <class Derive, class Flags>
auto until_stable(std::vector<bool>& carry, const Derive& derive, Flags flags) {
  for (;;) {
    auto derived = derive(carry);
    bool has_changed = false;
    for (size_t i = 0; i < carry.size(); ++i) {
      if (!(derived.*flags)[i] || carry[i]) continue;
      carry[i] = has_changed = true;
    }
    if (!has_changed) return derived;
  }
}

// Adds the axes over which the first results of the program vary to those of the carry. Returns
// false if there are no new ones.
bool widen(AxisSets& carry, const Program& program);

// Batches by a loop with one application for each element, so that elements whose loop has ended,
// or that take another branch, have no effects. Raises INVALID_ARGUMENT for ordered callbacks
// without a vmap_method, and UNIMPLEMENTED for collectives over the axis. `where` names the program
// with the effects: "the loop".
BatchResults batch_with_effects(const BatchCall& call, std::string_view where);

// The flags [begin, begin + count).
std::vector<bool> flags_of(const std::vector<bool>& flags, size_t begin, size_t count);
size_t count_of(const std::vector<bool>& flags);
std::vector<bool> operator!(std::vector<bool> flags);
std::vector<bool> operator+(std::vector<bool> a, const std::vector<bool>& b);

// The primals, then the tangents that are not null.
std::vector<Array> with_tangents(const JvpCall& call);

// ---- type rules ----

// Raises unless the types are equal, ignoring weak types. `what` and `other` describe them in the
// message.
void check_same_types(std::span<const ShapeDtype> types, std::span<const ShapeDtype> others,
                      std::string_view what, std::string_view other);
// Remove the leading dimension of a type, and add one.
ShapeDtype slice_of(ShapeDtype type);
ShapeDtype stack_of(ShapeDtype type, int64_t length);

// ---- the primitives ----

std::vector<Array> bind_scan(ScanParams params, std::span<const Array> operands);
std::vector<Array> bind_while(WhileParams params, std::span<const Array> operands);
std::vector<Array> bind_cond(CondParams params, std::span<const Array> operands);

// Divides the steps of a scan that has no carry and makes foreign calls.
PartitionResults scan_partition(const PartitionCall& call);

}  // namespace farcall::control
