// Transformations of whole programs, for primitives that hold programs: calls, loops, branches.
// Results are cached with the program: the same derivation returns the same program.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/program.h>
#include <farcall/trace/rules.h>

namespace farcall {

// Forward mode. Inputs: those of the program, then the tangents of the inputs that vary. Outputs:
// those of the program, then the tangents of those outputs that vary. Outputs in `force` always
// count as varying.
struct ProgramJvp {
  ProgramPtr program;
  std::vector<bool> varies;  // by output
};
FARCALL_API ProgramJvp jvp_program(const ProgramPtr& program, const std::vector<bool>& varies,
                                   const std::vector<bool>& force = {});

// Batching. `axes` gives the batch dimensions of the inputs. Outputs have batch dimension 0, or
// none if that is possible and `force` does not ask for one.
struct ProgramBatch {
  ProgramPtr program;
  std::vector<bool> is_batched;  // by output
};
FARCALL_API ProgramBatch batch_program(const ProgramPtr& program, const BatchAxis& axis,
                                       std::vector<int64_t> axes,
                                       const std::vector<bool>& force = {});

// Partial evaluation: the part that can be computed from the known inputs, and the rest. `known`
// maps the known inputs to the known outputs (is_unknown is false), then the residuals. `unknown`
// maps the residuals, then the unknown inputs, to the unknown outputs. Outputs in `force` always
// count as unknown.
struct ProgramPartialEval {
  ProgramPtr known, unknown;
  std::vector<bool> is_unknown;  // by output
  size_t num_residuals = 0;
};
FARCALL_API ProgramPartialEval partial_eval_program(const ProgramPtr& program,
                                                    const std::vector<bool>& is_unknown,
                                                    const std::vector<bool>& force = {});

// The transpose of a program that is linear in some inputs. Inputs: the inputs that are not linear,
// then the cotangents of the outputs that have one. Outputs: the cotangents of the linear inputs
// that have one, or a zero where `wanted`, which is empty or has a flag for each input.
struct ProgramTranspose {
  ProgramPtr program;
  std::vector<bool> has_cotangent;  // by input
};
FARCALL_API ProgramTranspose transpose_program(const ProgramPtr& program,
                                               const std::vector<bool>& is_linear,
                                               const std::vector<bool>& has_cotangent,
                                               const std::vector<bool>& wanted = {});

// The items of `items` whose flag is `wanted`.
template <class T>
std::vector<T> select(std::span<const T> items, const std::vector<bool>& flags,
                      bool wanted = true) {
  std::vector<T> result;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == wanted) result.push_back(items[i]);
  }
  return result;
}
// The reverse: one item for each flag, from `if_true` or `if_false`.
template <class T>
std::vector<T> merge(const std::vector<bool>& flags, std::span<const T> if_true,
                     std::span<const T> if_false) {
  std::vector<T> result;
  size_t next_true = 0, next_false = 0;
  for (const bool flag : flags) {
    result.push_back(flag ? if_true[next_true++] : if_false[next_false++]);
  }
  return result;
}
// One array for each flag: the next item if the flag is true, else null.
FARCALL_API std::vector<Array> scatter_arrays(const std::vector<bool>& flags,
                                              std::span<const Array> items);
// Which arrays are not null.
FARCALL_API std::vector<bool> present(std::span<const Array> arrays);

// Rules of a primitive that runs `program` on its operands. They derive the program; `run` applies
// the result.
using ProgramRunner =
    std::function<std::vector<Array>(const ProgramPtr& program, std::span<const Array> operands)>;
FARCALL_API JvpResults jvp_of_call(const JvpCall& call, const ProgramPtr& program,
                                   const ProgramRunner& run);
FARCALL_API BatchResults batch_of_call(const BatchCall& call, const ProgramPtr& program,
                                       const ProgramRunner& run);

}  // namespace farcall
