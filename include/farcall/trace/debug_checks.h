// The flags debug_nans and debug_infs: a nan or an infinity in a result is an error that names the
// equation.
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

// A result holds a value that a flag forbids. Becomes a FloatingPointError in Python.
class FARCALL_API FloatingPointError : public Error {
 public:
  explicit FloatingPointError(std::string message);
  ~FloatingPointError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// Whether results are checked on this thread.
inline bool checks_results() { return is_on(Flag::kDebugNans) || is_on(Flag::kDebugInfs); }

// Raises FloatingPointError for a result that holds a forbidden value. To find the equation, a
// program of more than one equation is run again, one equation at a time and with its effects, also
// inside loops and branches. The error names the first equation with such a result.
FARCALL_API void check_results(const Program& program, std::span<const Array> inputs,
                               std::span<const Array> results);
// The same for the results of one operation that was run directly.
FARCALL_API void check_results(std::string_view operation, std::span<const Array> results);

// How a primitive that holds programs runs them: calls `run` for each program, in order, with its
// operands. A primitive that calls one program with the operands of the equation needs no rule.
using RunProgram =
    std::function<std::vector<Array>(const Program& program, std::span<const Array> inputs)>;
using StepRule = void (*)(const Params* params, std::span<const Array> operands,
                          const RunProgram& run);
// Registers the rule for a kind of primitive; called when the library is loaded.
FARCALL_API void set_step_rule(PrimitiveKind kind, StepRule rule);

}  // namespace farcall
