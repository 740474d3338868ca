// The tiles of a cluster: their rows, columns and number, and which steps each of them runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/native/kernels/clusters/cluster_draft.h"

namespace farcall::native {

class TileSizes {
 public:
  explicit TileSizes(ClusterDraft& draft) : draft_(draft) {}

  // For separate loops. Sets `last_read` of all registers.
  void choose();
  // For machine code, before its runs are found: tiles have one row only if they will have one in
  // the end, for these have fewer steps.
  void choose_before_code();
  // The final ones, for the runs.
  void choose_for_code();

  // The bytes of operands and results per element of a tile.
  int64_t width_of_bases() const;
  // At most so many bytes of a thread's memory are used by a tile of machine code that is made
  // later; 0 if no more than by separate loops.
  size_t memory_of_code() const;

 private:
  template <class F>
  void for_each_in_thread_memory(const F& f) const;
  int64_t width_in_thread_memory() const;
  bool has_free_columns() const;
  bool has_free_rows() const;
  int64_t most_rows_of_code() const;
  int64_t rows_of_code() const;
  int64_t bytes_per_element();
  int64_t elements_in_cache();
  int64_t whole_units(int64_t tile) const;
  bool makes_elements() const;
  void choose_for_columns(int64_t tile);

  ClusterDraft& draft_;
  ClusterPlan& plan_ = *draft_.plan;
  const Domain& domain_ = draft_.steps.domain;
  const std::vector<TileRegister>& registers_ = draft_.steps.registers;
  const std::vector<TileDraft>& drafts_ = draft_.steps.drafts;
  int64_t least_rows_ = 1;  // of a tile of machine code
};

// Sets the phases of the steps for tiles whose sizes are known.
void choose_phases(ClusterDraft& draft);

}  // namespace farcall::native
