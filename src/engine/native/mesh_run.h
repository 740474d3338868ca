// Runs on a grid of devices: one thread for each place, which meet in collectives.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/program/sharding.h>

namespace farcall::native {

// The places of a grid, row-major, and to which process each belongs.
struct Places {
  size_t count = 1;
  std::vector<int> processes;  // by place; empty where all are this one's
  std::vector<size_t> own;     // those of this process
  bool is_own(size_t place) const { return processes.empty() || processes[place] == process; }
  int process = 0;  // this one
};

// Calls work(number) for each place of this process, at the same time: for the first on the
// calling thread, for each other one on a thread of its own. The first error, by the number of the
// place, is raised here when all have ended: where one place fails or the calling thread is
// interrupted, the others stop at their next collective, loop or long kernel.
void run_on_mesh(const Places& places, const std::function<void(size_t number)>& work);

// The axes of the grid that the program which is compiled on this thread will run on.
class PlannedAxes {
 public:
  explicit PlannedAxes(std::span<const MeshAxis> axes);
  ~PlannedAxes();
  PlannedAxes(const PlannedAxes&) = delete;
  PlannedAxes& operator=(const PlannedAxes&) = delete;

 private:
  std::span<const MeshAxis> previous_;
};

// The places of the planned grid that differ in some axes only, for each place.
class Groups {
 public:
  // Raises INVALID_ARGUMENT for an axis that is not planned. `name` is the collective's.
  Groups(std::string_view name, std::span<const std::string> axes);

  size_t size() const { return size_; }
  // Of this thread's place in its group; the first axis counts slowest.
  size_t position() const;
  // Whether a place needs what another one of its group brings, by their positions.
  using Needs = std::function<bool(size_t from, size_t to)>;
  // Waits until all places of the group have called this for the same collective; returns what
  // each brought, by position: `nbytes` bytes, or where `needs` says that this place does not need
  // them, perhaps null. What places of other processes bring is sent. Raises StoppedError when the
  // run is stopped, FAILED_PRECONDITION when places wait for each other in vain, and as
  // Processes::exchange does.
  std::vector<const void*> meet(const void* mine, size_t nbytes, const Needs& needs = {}) const;
  // Waits until all places have called this: what they brought is no longer read.
  void part() const;

 private:
  void fetch(std::span<const void*> brought, const void* mine, size_t nbytes,
             const Needs& needs) const;

  std::string name_;
  size_t size_ = 1;
  uint64_t axes_ = 0;                         // a bit for each
  std::vector<size_t> position_;              // by place
  std::vector<std::vector<size_t>> members_;  // by place: the group's places, by position
};

}  // namespace farcall::native
