// Machine code for the steps of a cluster: consecutive operations on whole tiles become one step.
#pragma once

#include <vector>

#include "engine/native/jit/tiles.h"
#include "engine/native/kernels/clusters/cluster_steps.h"

namespace farcall::native {

// Steps that run as one loop.
struct CodedRun {
  std::vector<size_t> steps;      // in order
  std::vector<size_t> registers;  // by value of `code`
  jit::TileRun code;
};

// Groups steps whose phases are known. Steps that only repeat elements for coded steps are left
// out: coded steps read the element. `has_one_row`: tiles have a single row. Sets `last_read` of
// all registers.
std::vector<CodedRun> find_coded_runs(ClusterSteps& steps, bool has_one_row);

// Adds the pointers: values that memory holds before the run, or after it. Assumes that `last_read`
// is set.
void find_pointers(const ClusterSteps& steps, CodedRun& run);

}  // namespace farcall::native
