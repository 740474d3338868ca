#include "engine/native/jit/loop_code.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <farcall/core/interrupt.h>
#include <farcall/core/sizes.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/program/walk.h>

#include "engine/native/jit/at_once.h"
#include "engine/native/jit/encode.h"
#include "engine/native/jit/lower.h"

namespace farcall::native::jit {
namespace {

// A loop is translated after this many equations. Running one takes about 5 ns, translating one
// about 1 µs.
int64_t worth() { return makes_code_at_once() ? 0 : 20000; }

int64_t weight_of(const Params* params) {
  if (const auto* scan = try_params<ScanParams>(params)) {
    return 1 + nesting_of(*scan->jaxpr).num_equations;
  }
  const auto& loop = params_as<WhileParams>(params);
  return 1 + nesting_of(*loop.cond_jaxpr).num_equations +
         nesting_of(*loop.body_jaxpr).num_equations;
}

}  // namespace

LoopCode::LoopCode(const Equation& equation)
    : operation_(equation.primitive->name),
      where_(equation.where),
      params_(*equation.params),
      weight_(weight_of(&params_)) {}

bool LoopCode::make_if_worth(int64_t steps) const {
  if (is_made_.load(std::memory_order_acquire)) return entry_.load(std::memory_order_acquire);
  const int64_t more = saturated_product(steps, weight_);
  if (saturated_sum(work_.fetch_add(std::min(more, worth())), more) < worth()) return false;
  make();
  return entry_.load(std::memory_order_acquire);
}

int64_t LoopCode::steps_until_worth() const {
  if (is_made_.load(std::memory_order_acquire) || !jit_loops()) return INT64_MAX;
  const int64_t left = worth() - work_.load(std::memory_order_relaxed);
  return std::max<int64_t>(left / weight_, 0) + 1;
}

void LoopCode::make() const {
  const std::lock_guard lock(making_);
  if (is_made_) return;
  why_not_ = make_code();
  entry_.store(memory_.data(), std::memory_order_release);
  is_made_.store(true, std::memory_order_release);
}

// Returns the reason if there is no code; empty on success.
std::string LoopCode::make_code() const {
  if (processor().vector_bytes == 0)
    return "the processor has no AVX2, or FARCALL_ISA turns it off";
  Code code;
  try {
    const auto* scan = try_params<ScanParams>(&params_);
    code = scan ? lower_scan(*scan) : lower_while(params_as<WhileParams>(&params_));
  } catch (const Refusal& refusal) {
    return refusal.why;
  }
  const std::vector<std::byte> bytes = encode(code);
  if (bytes.empty()) return "too many operations";
  memory_ = ExecutableMemory(bytes);
  kernels_ = std::move(code.kernels);
  in_place_ = std::move(code.in_place);
  return memory_.data() ? "" : "the operating system does not allow executable memory";
}

LoopReport LoopCode::report() const {
  if (!jit_loops()) return {std::string(operation_), "the flag jit_loops is off", where_};
  make();
  return {std::string(operation_), why_not_, where_};
}

size_t LoopCode::nbytes() const {
  return is_made_.load(std::memory_order_acquire) ? memory_.nbytes() : 0;
}

int64_t LoopCode::run(void* const* pointers, int64_t steps) const {
  for (const auto& [initial, result, nbytes] : in_place_) {
    if (pointers[result] != pointers[initial]) {
      std::memcpy(pointers[result], pointers[initial], nbytes);
    }
  }
  Frame frame{pointers, steps};
  const auto entry = std::bit_cast<Entry>(entry_.load(std::memory_order_relaxed));
  entry(&frame);
  rethrow_kept_interrupt();
  return frame.count;
}

}  // namespace farcall::native::jit
