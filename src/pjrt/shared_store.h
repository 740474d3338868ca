// The key-value store of a job, for plugins.
#pragma once

#include <farcall/program/processes.h>

#include "pjrt/c_api.h"

namespace farcall::pjrt {

// Makes the new client use the store of the job, in which clients of several processes find each
// other. Keys begin with "pjrt/". The job must outlive the client.
void share_store(Processes& job, ClientCreate& args);

}  // namespace farcall::pjrt
