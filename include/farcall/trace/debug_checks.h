// The flags debug_nans and debug_infs: results that hold a nan or an infinity are errors that name
// the equation.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/export.h>
#include <farcall/program/program.h>
#include <farcall/trace/array.h>

namespace farcall {

// A result holds what a flag forbids; Python sees a FloatingPointError.
class FARCALL_API FloatingPointError : public Error {
 public:
  explicit FloatingPointError(std::string message);
  ~FloatingPointError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// Whether results are looked at on this thread.
inline bool checks_results() { return is_on(Flag::kDebugNans) || is_on(Flag::kDebugInfs); }

// Raises FloatingPointError for a result that holds a forbidden number. A program of more than one
// equation is then run again, one equation after the other and with its effects, and the first
// equation with such a result is named, in loops and branches too.
FARCALL_API void check_results(const Program& program, std::span<const Array> inputs,
                               std::span<const Array> results);
// The same for results of one operation on the spot.
FARCALL_API void check_results(std::string_view operation, std::span<const Array> results);

// How a primitive that holds programs runs them one by one: calls `run` for each, in order, with
// its operands. Programs that are called with the operands of the equation need none.
using RunProgram =
    std::function<std::vector<Array>(const Program& program, std::span<const Array> inputs)>;
using StepRule = void (*)(const Params* params, std::span<const Array> operands,
                          const RunProgram& run);
// By the name of the primitive; set when the library is loaded.
FARCALL_API void set_step_rule(std::string_view primitive, StepRule rule);

}  // namespace farcall
