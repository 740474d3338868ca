// The translation of one loop (lower.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <farcall/primitives/control_flow.h>
#include <farcall/program/program.h>

#include "engine/native/jit/builder.h"
#include "engine/native/jit/elements.h"
#include "engine/native/jit/packing.h"
#include "engine/native/jit/places.h"
#include "engine/native/jit/products.h"

namespace farcall::native::jit {

using Values = std::vector<Value>;

class Lowering {
 public:
  explicit Lowering(Packing packing) : packing_(packing), products_(packing_) {}

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
  Value run_in_registers(const Program& program, const Equation& equation,
                         std::span<const Value> inputs);
  Value run_elementwise(const Program& program, const Equation& equation,
                        std::span<const Value> inputs);
  Values run_scan(const ScanParams& scan, std::span<const Value> inputs);
  Values run_while(const WhileParams& loop, std::span<const Value> inputs);
  Values run_cond(const CondParams& cond, std::span<const Value> inputs);
  Value result_like(const Value& value);
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
  Products products_;
  Places places_;
  std::vector<InPlace> in_place_;
  size_t num_equations_ = 0;
};

}  // namespace farcall::native::jit
