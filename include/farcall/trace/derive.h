// Transformations of whole programs, for primitives that hold programs: calls, loops, branches.
// Results are kept with the program, so that deriving the same thing again gives the same program.
#pragma once

#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/program.h>
#include <farcall/trace/rules.h>

namespace farcall {

// Forward mode. Inputs: those of the program, then the tangents of the inputs that vary. Outputs:
// those of the program, then the tangents of those outputs that vary. Outputs named by `force` vary
// whether they would or not.
struct ProgramJvp {
  ProgramPtr program;
  std::vector<bool> varies;  // by output
};
FARCALL_API ProgramJvp jvp_program(const ProgramPtr& program, const std::vector<bool>& varies,
                                   const std::vector<bool>& force = {});

// Batching. Inputs have their batch dimension where `axes` says; outputs have it in front, or none
// where that is possible and `force` does not ask for one.
struct ProgramBatch {
  ProgramPtr program;
  std::vector<bool> is_batched;  // by output
};
FARCALL_API ProgramBatch batch_program(const ProgramPtr& program, const BatchAxis& axis,
                                       std::vector<int64_t> axes,
                                       const std::vector<bool>& force = {});

// What can be computed from the known inputs, and the rest. `known`: known inputs to known outputs
// (those with is_unknown false) and then residuals. `unknown`: residuals, then unknown inputs, to
// unknown outputs. Outputs named by `force` are unknown whether they would or not.
struct ProgramSplit {
  ProgramPtr known, unknown;
  std::vector<bool> is_unknown;  // by output
  size_t num_residuals = 0;
};
FARCALL_API ProgramSplit split_program(const ProgramPtr& program,
                                       const std::vector<bool>& is_unknown,
                                       const std::vector<bool>& force = {});

// The transpose of a program that is linear in some inputs. Inputs: the others, then the cotangents
// of the outputs that have one. Outputs: the cotangents of those linear inputs that have one, or of
// all if `all`, zeros included.
struct ProgramTranspose {
  ProgramPtr program;
  std::vector<bool> has_cotangent;  // by input
};
FARCALL_API ProgramTranspose transpose_program(const ProgramPtr& program,
                                               const std::vector<bool>& is_linear,
                                               const std::vector<bool>& has_cotangent,
                                               bool all = false);

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
// The reverse: one item for each flag, from the one list or the other.
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
// Null where the flag is false, and the items in order elsewhere.
FARCALL_API std::vector<Array> scatter_arrays(const std::vector<bool>& flags,
                                              std::span<const Array> items);
// Which arrays are not null.
FARCALL_API std::vector<bool> present(std::span<const Array> arrays);

}  // namespace farcall
