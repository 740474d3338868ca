// Profiles: what ran, when and for how long, as a trace that chrome://tracing and
// https://ui.perfetto.dev show, and as a table.
//
//   farcall::Profile profile("trace.json");
//   f(x);
//   profile.stop();  // writes the file; so does the end of its life
//
// Recorded are programs that are traced, compiled and run, in every thread, and, with the native
// engine, each equation of what runs: clusters, foreign calls, callbacks, products, copies, loops
// with their number of steps. Of a loop the first steps are shown one by one; the table counts all.
// While nothing records, a run reads one flag.
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
  double seconds = 0;       // with what ran inside
  double self_seconds = 0;  // without
  int64_t bytes = 0;        // of operands and results, in all calls
};

// Records from its making until stop(). There is one at a time.
class FARCALL_API Profile {
 public:
  // `path`: where the trace goes; empty: nowhere. Raises FAILED_PRECONDITION while another profile
  // records, and what opening the file for writing raises.
  explicit Profile(std::string path = {});
  // Stops. A file that cannot be written is a warning (core/message.h).
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Ends the recording and writes the file; does nothing the second time. Runs that are under way
  // in other threads are left out. Raises what writing the file raises.
  void stop();
  // The rest is for after stop(), before which there is nothing.
  // By time, the longest first.
  std::vector<ProfileRow> rows() const;
  // The rows as a table of text; the share is that of self_seconds in the time of all runs.
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

// One equation of a program, or a copy that was made for it, as it ran once.
struct ProfileEvent {
  const Program* program;
  uint32_t equation;
  bool is_copy;
  int64_t begin, end;  // ns
  int64_t steps;       // of a loop; -1: it is none
};

// What one run adds, as seen by an engine on one thread; handed over when it ends.
class FARCALL_API ProfiledRun {
 public:
  ProfiledRun(const Device& device, ProgramPtr program);
  ~ProfiledRun();
  ProfiledRun(const ProfiledRun&) = delete;
  ProfiledRun& operator=(const ProfiledRun&) = delete;

  static int64_t now();  // ns
  // Of a program that add_totals() was given. Beyond a bound they are counted alone.
  void add(const ProfileEvent& event);

  struct Total {
    uint32_t equation = 0;
    bool is_copy = false;
    int64_t calls = 0, nanoseconds = 0, self = 0;
  };
  void add_totals(const ProgramPtr& program, std::vector<Total> totals);

  // The time of all equations that have ended, which the caller counts up, and of runs that
  // callbacks of this one made.
  int64_t inside = 0;

 private:
  struct OfProgram {
    ProgramPtr program;
    std::vector<Total> totals;
  };
  friend struct farcall::Profile::Recording;

  std::shared_ptr<Profile::Recording> recording_;  // null where it has ended meanwhile
  ProfiledRun* outer_;                             // under way on this thread; may be null
  const Device& device_;
  ProgramPtr program_;
  int64_t begin_;
  std::vector<ProfileEvent> events_;
  std::vector<OfProgram> programs_;
  int64_t num_dropped_ = 0;
};

}  // namespace detail

inline bool is_profiling() { return detail::profiling.load(std::memory_order_relaxed); }

// An event with a name of its own, for the life of the scope: a step of compiling.
class FARCALL_API ProfileScope {
 public:
  // `category` outlives the scope.
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
