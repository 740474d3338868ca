// Calls that reverse mode runs again, in place of keeping what they computed on the way.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>

namespace farcall {

// What may be kept nevertheless: results of the operations that a policy names, those of jitted
// functions inside too, but not those inside loops and branches.
//   nothing_saveable                  nothing
//   everything_saveable               all, as if there were no checkpoint
//   dots_saveable                     products of matrices, and convolutions
//   dots_with_no_batch_dims_saveable  products of matrices that have no batch dimensions
//   save_only_these_names             what checkpoint_name gave one of `names`
//   save_any_names_but_these          what checkpoint_name gave another name
//   save_anything_except_these_names  all but what checkpoint_name gave one of these names
struct SavePolicy {
  std::string name = "nothing_saveable";
  std::vector<std::string> names = {};
};

struct CheckpointOptions {
  std::string name = {};  // of the program
  bool prevent_cse = true;
  SavePolicy policy = {};
};
// Calls `function`, recorded first, as a checkpoint. Raises INVALID_ARGUMENT for a policy that
// there is not.
FARCALL_API std::vector<Array> checkpoint(const FlatFunction& function,
                                          std::span<const Array> inputs,
                                          const CheckpointOptions& options = {});

// `x` itself, under a name that policies refer to.
FARCALL_API Array checkpoint_name(const Array& x, const std::string& name);

}  // namespace farcall
