// Machine code for the steps of a cluster: consecutive operations on whole tiles become one step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/native/jit/tiles.h"
#include "engine/native/kernels/clusters/cluster_steps.h"

namespace farcall::native {

// Steps that run as one loop.
struct CodedRun {
  std::vector<size_t> steps;      // in order
  std::vector<size_t> registers;  // by value of `code`
  jit::TileRun code;
  std::optional<size_t> parts_of_sum{};  // the register for the parts of code.sum
};

// Groups steps whose phases are known. Steps that only repeat elements for coded steps are left
// out: coded steps read the element. The sum of a row may be part of the run that computes its
// elements. `row_size`: the elements of a row; 0 if code must not go by rows. Sets `last_read` of
// all registers.
std::vector<CodedRun> find_coded_runs(ClusterSteps& steps, int64_t row_size);

// Adds the pointers: values that memory holds before the run, or after it. Assumes that `last_read`
// is set.
void find_pointers(const ClusterSteps& steps, CodedRun& run);

}  // namespace farcall::native
