// Profiles: what ran, when and how long, as a table and as a trace for chrome://tracing or
// https://ui.perfetto.dev.
//
//   farcall::Profile profile("trace.json");
//   f(x);
//   profile.stop();  // writes the file; the destructor does so too
//
// A profile records tracing, compilation and runs of programs in all threads. With the native
// engine it also records each equation that runs: clusters, foreign calls, callbacks, products,
// copies, and loops with their number of steps. The trace shows only the first steps of a loop; the
// table counts all. Without a profile, a run costs one read of a flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/device.h>
#include <farcall/program/program.h>

namespace farcall {

// All events of one name.
struct ProfileRow {
  std::string name;      // "ffi_call rms_norm", "cluster(mul, add, tanh)", "scan"
  std::string category;  // foreign_call, callback, cluster, product, loop, branch, copy, operation,
                         // run, compile or trace
  int64_t calls = 0;
  double seconds = 0;       // including what ran inside
  double self_seconds = 0;  // excluding what ran inside
  int64_t bytes = 0;        // of operands and results, summed over all calls
};

// Records from construction until stop(). Only one profile may record at a time.
class FARCALL_API Profile {
 public:
  // `path`: the file for the trace; empty: none. Raises FAILED_PRECONDITION while another profile
  // records, and INVALID_ARGUMENT if the file cannot be written there.
  explicit Profile(std::string path = {});
  // Stops. If the file cannot be written, sends a warning (core/message.h).
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Ends the recording and writes the file; does nothing the second time. Unfinished runs of other
  // threads are not included. Raises UNAVAILABLE if the file cannot be written.
  void stop();
  // Call the functions below after stop(); before it they return no events.

  // The rows in descending order of self_seconds.
  std::vector<ProfileRow> rows() const;
  // The rows as a table. The share is self_seconds divided by the time of all runs.
  std::string to_text() const;
  // Trace events in JSON (the Trace Event Format of Chrome).
  std::string to_json() const;

  struct Recording;

 private:
  std::string path_;
  std::shared_ptr<Recording> recording_;
  bool is_stopped_ = false;
};

namespace detail {

FARCALL_API extern std::atomic<bool> profiling;

// One run of an equation of a program, or of a copy that was made for it.
struct ProfileEvent {
  const Program* program;
  uint32_t equation;
  bool is_copy;
  int64_t begin, end;  // ns
  int64_t steps;       // of a loop; -1: not a loop
};

// The events of one run of a program on one thread. The destructor adds them to the recording.
class FARCALL_API ProfiledRun {
 public:
  ProfiledRun(const Device& device, ProgramPtr program);
  ~ProfiledRun();
  ProfiledRun(const ProfiledRun&) = delete;
  ProfiledRun& operator=(const ProfiledRun&) = delete;

  static int64_t now();  // ns
  // The event's program must be passed to add_totals(). Beyond a limit, events are only counted.
  void add(const ProfileEvent& event);

  struct Total {
    uint32_t equation = 0;
    bool is_copy = false;
    int64_t calls = 0, nanoseconds = 0, self = 0;
  };
  void add_totals(const ProgramPtr& program, std::vector<Total> totals);

  // The time of all finished equations, added by the caller, and of runs that callbacks of this run
  // made. In nanoseconds.
  int64_t inside = 0;

 private:
  struct OfProgram {
    ProgramPtr program;
    std::vector<Total> totals;
  };
  friend struct farcall::Profile::Recording;

  std::shared_ptr<Profile::Recording> recording_;  // null if it has ended
  ProfiledRun* outer_;                             // the enclosing run on this thread; may be null
  const Device& device_;
  ProgramPtr program_;
  int64_t begin_;
  std::vector<ProfileEvent> events_;
  std::vector<OfProgram> programs_;
  int64_t num_dropped_ = 0;
};

}  // namespace detail

inline bool is_profiling() { return detail::profiling.load(std::memory_order_relaxed); }

// An event with its own name that lasts as long as the scope: a step of compiling.
class FARCALL_API ProfileScope {
 public:
  // `category` must outlive the scope.
  ProfileScope(std::string_view category, std::string_view name) {
    if (is_profiling()) [[unlikely]]
      begin(category, name);
  }
  ~ProfileScope() {
    if (begin_ != 0) [[unlikely]]
      end();
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  void begin(std::string_view category, std::string_view name);
  void end();

  std::string_view category_;
  std::string name_;
  int64_t begin_ = 0;
};

}  // namespace farcall
