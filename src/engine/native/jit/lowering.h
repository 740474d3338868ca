// The translation of one loop (lower.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <farcall/primitives/control_flow.h>
#include <farcall/program/program.h>

#include "engine/native/jit/builder.h"
#include "engine/native/jit/calls.h"
#include "engine/native/jit/elements.h"
#include "engine/native/jit/packing.h"
#include "engine/native/jit/places.h"
#include "engine/native/jit/products.h"

namespace farcall::native::jit {

using Values = std::vector<Value>;

class Lowering {
 public:
  explicit Lowering(Packing packing)
      : packing_(packing), calls_(b_, packing_, places_), products_(packing_, calls_) {}

  Code scan(const ScanParams& scan);
  Code while_loop(const WhileParams& loop);

 private:
  // A carry: its registers, or its place in memory.
  struct Carried {
    Value value;
    std::vector<Reg> regs;
  };

  // ---- memory
  Arg pointer(size_t number) {
    return b_.add(Op::kPointer, general(8), {}, static_cast<int64_t>(number));
  }
  Value load(ShapeDtype type, Arg address) {
    check_room();
    return jit::load(b_, packing_, type, address);
  }
  // An array that nobody changes while it is at this address; it stays in memory if it is large.
  Value invariant(ShapeDtype type, Arg address);
  Value constant(ShapeDtype type, const Storage& storage);
  // The same value with its elements in registers.
  Value in_registers(Value value);
  void store_all(const Value& value, Arg address);
  void check_room();

  // ---- programs
  Values run(const Program& program, std::span<const Value> inputs);
  Values run(const Program& program, const Equation& equation, std::span<const Value> inputs);
  // Without a call of the kernel. No value, and no instructions with effects, if that is
  // impossible.
  bool computes_in_registers(const Program& cluster) const;
  std::optional<Value> run_inline(const Program& program, const Equation& equation,
                                  std::span<const Value> inputs);
  Value run_in_registers(const Program& program, const Equation& equation,
                         std::span<const Value> inputs);
  Value run_elementwise(const Program& program, const Equation& equation,
                        std::span<const Value> inputs);
  Values run_scan(const ScanParams& scan, std::span<const Value> inputs);
  Values run_while(const WhileParams& loop, std::span<const Value> inputs);
  Values run_cond(const CondParams& cond, std::span<const Value> inputs);
  // `used`: the places of other results.
  Value result_like(const Value& value, std::unordered_set<size_t>& used);
  // Copies an array, which may be in registers, to a place, and returns the place's new version.
  Value copied(const Value& value, const Value& place);
  void assign(std::span<const Value> results, Values values);
  // A while loop over `carries`. `after_step` adds instructions after each step.
  void loop_while(std::vector<Carried>& carries, const WhileParams& loop,
                  std::span<const Value> condition_consts, std::span<const Value> body_consts,
                  const std::function<void()>& after_step);
  void loop_count(std::vector<Carried>& carries, Arg count, const std::function<Values()>& body);
  std::vector<Carried> begin_carries(std::span<const Value> initial);
  Carried begin_carry(const Value& initial);
  // The carry `number` of the whole loop, which may stay in memory: its input of `body` and the
  // numbers of its pointers.
  Carried begin_outer_carry(const Program& body, size_t input, size_t initial, size_t result);
  void end_step(std::vector<Carried>& carries, std::vector<Value> results);
  // After a loop, before which places had these versions. Raises Refusal if a step changes others
  // than those of the carries.
  void end_loop(const std::vector<Carried>& carries, const std::vector<uint32_t>& before);
  Arg part_of(const Value& value, size_t part, int lanes);

  Code finish();

  const Packing packing_;
  Builder b_;
  Places places_;
  Calls calls_;
  Products products_;
  std::vector<InPlace> in_place_;
  size_t num_equations_ = 0;
  // Operations in registers or at positions; calls of kernels, and why the first one is needed.
  size_t num_inline_ = 0, num_calls_ = 0;
  std::string why_call_;
};

}  // namespace farcall::native::jit
