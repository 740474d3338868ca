#include "start.h"

#include <mpi.h>

#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>

namespace farcall::mpi {
namespace {

struct Stages {
  std::promise<int> started;  // the level of thread support
  std::promise<void> may_end, ended;
  std::future<int> level = started.get_future();
};
// Never freed: the thread may outlive everything else.
Stages* stages = nullptr;

void run(Stages& own) {
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);  // ends the process if it fails
  own.started.set_value(level);
  own.may_end.get_future().wait();
  MPI_Finalize();
  own.ended.set_value();
}

}  // namespace

int start_mpi(double timeout_seconds) {
  using Clock = std::chrono::steady_clock;
  if (stages == nullptr) {  // else a call before has not waited long enough
    stages = new Stages;
    std::thread(run, std::ref(*stages)).detach();
  }
  const auto begin = Clock::now();
  while (stages->level.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    check_interrupt();
    if (std::chrono::duration<double>(Clock::now() - begin).count() <= timeout_seconds) continue;
    throw Error(ErrorCode::kDeadlineExceeded,
                fmt::format("distributed.initialize: not all processes of the job have called "
                            "initialize() within {} s",
                            timeout_seconds));
  }
  return stages->level.get();
}

void finish_mpi() noexcept {
  std::future<void> ended = stages->ended.get_future();
  stages->may_end.set_value();
  ended.wait();
}

}  // namespace farcall::mpi
