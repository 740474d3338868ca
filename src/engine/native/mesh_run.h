// Runs on a grid of devices: one thread per place; the threads meet in collectives.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/program/sharding.h>

namespace farcall::native {

// The places of a grid, row-major, and the process of each.
struct Places {
  size_t count = 1;
  std::vector<int> processes;  // by place; empty if all belong to this process
  std::vector<size_t> own;     // the places of this process
  bool is_own(size_t place) const { return processes.empty() || processes[place] == process; }
  int process = 0;  // this process
};

// Calls work(number) for each place of this process concurrently: for the first place on the
// calling thread, for each other one on its own thread. When all have ended, raises the error of
// the place with the lowest number, if any. If a place fails or the calling thread is interrupted,
// the others stop at their next collective, loop or long kernel.
void run_on_mesh(const Places& places, const std::function<void(size_t number)>& work);

// Sets the axes of the grid on which the program that this thread compiles will run.
class PlannedAxes {
 public:
  explicit PlannedAxes(std::span<const MeshAxis> axes);
  ~PlannedAxes();
  PlannedAxes(const PlannedAxes&) = delete;
  PlannedAxes& operator=(const PlannedAxes&) = delete;

 private:
  std::span<const MeshAxis> previous_;
};

// The meetings of one collective, in order.
enum class MeetingPhase { kMeet, kMeetAgain, kPart };

// For each place, its group: the places of the planned grid that differ from it in the given axes
// only.
class Groups {
 public:
  // Raises TypeError for an axis that is not planned. `name` is the collective's.
  Groups(std::string_view name, std::span<const std::string> axes);

  size_t size() const { return size_; }
  // The position of this thread's place in its group; the first axis varies slowest.
  size_t position() const;
  // Whether place `to` needs the data of place `from`; both are positions in the group.
  using Needs = std::function<bool(size_t from, size_t to)>;
  // Waits until all places of the group have called this for the same collective. Returns the data
  // of each place, by position: `nbytes` bytes, possibly null if `needs` says that this place does
  // not need them. Data is exchanged with places of other processes. Raises StoppedError if the run
  // is stopped, FAILED_PRECONDITION if places deadlock, and the errors of Processes::exchange.
  std::vector<const void*> meet(const void* mine, size_t nbytes, const Needs& needs = {}) const;
  // Whether all places belong to this process.
  bool are_in_this_process() const;
  // Same as meet(), after it and before part(), in one process: the data of meet() is no longer
  // read after that.
  std::vector<const void*> meet_again(const void* mine) const;
  // Waits until all places of the group have called this: their data is no longer read after that.
  void part() const;

 private:
  std::vector<const void*> wait_for_group(MeetingPhase phase, const void* mine) const;
  void fetch(std::span<const void*> brought, const void* mine, size_t nbytes,
             const Needs& needs) const;

  std::string name_;
  size_t size_ = 1;
  uint64_t axes_ = 0;                         // a bit for each axis
  std::vector<size_t> position_;              // by place
  std::vector<std::vector<size_t>> members_;  // by place: the group's places, by position
};

}  // namespace farcall::native
