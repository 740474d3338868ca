// The memory of a cluster's registers.
#pragma once

#include "engine/native/kernels/clusters/cluster_draft.h"

namespace farcall::native {

// Gives registers offsets in the memory of a run or of a thread, and sets the sizes of the two.
// Phases and `last_read` are set.
void place_registers(ClusterDraft& draft);

}  // namespace farcall::native
