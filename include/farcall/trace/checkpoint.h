// Checkpoints: calls that reverse mode recomputes instead of keeping their intermediate values.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>

namespace farcall {

// Which intermediate values are kept anyway: results of the operations that the policy selects,
// also inside nested jitted functions, but not inside loops and branches. Results of operations
// with effects, loops and branches among them, are always kept, so that no effect happens twice.
//   nothing_saveable                  nothing
//   everything_saveable               all, as if there were no checkpoint
//   dots_saveable                     products of matrices, and convolutions
//   dots_with_no_batch_dims_saveable  products of matrices that have no batch dimensions
//   save_only_these_names             values that checkpoint_name tagged with one of `names`
//   save_any_names_but_these          values that checkpoint_name tagged with another name
//   save_anything_except_these_names  all values except those tagged with one of `names`
struct SavePolicy {
  std::string name = "nothing_saveable";
  std::vector<std::string> names = {};
};

// Keeps what either policy keeps. Its name joins theirs by " or ".
FARCALL_API SavePolicy save_from_both(const SavePolicy& first, const SavePolicy& second);

struct CheckpointOptions {
  std::string name = {};  // of the program
  bool prevent_cse = true;
  SavePolicy policy = {};
};
// Records `function` and calls it as a checkpoint. Raises INVALID_ARGUMENT for an unknown policy.
FARCALL_API std::vector<Array> checkpoint(const FlatFunction& function,
                                          std::span<const Array> inputs,
                                          const CheckpointOptions& options = {});

// Returns `x`, tagged with a name that policies refer to.
FARCALL_API Array checkpoint_name(const Array& x, const std::string& name);

}  // namespace farcall
