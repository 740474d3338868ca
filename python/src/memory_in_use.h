// Keeps the memory of arrays that the user deletes while programs read it, on other threads or
// around a callback that deletes them. All members are used with the interpreter lock held.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <farcall/core/short_list.h>
#include <farcall/core/storage.h>
#include <farcall/program/engine.h>

namespace farcall::python {

// During the run of a program for which the lock is kept, except in callbacks
// (Executable::may_keep_lock).
class LockedRun {
 public:
  LockedRun() { ++num_running_; }
  ~LockedRun() {
    if (--num_running_ > 0 || deleted_.empty()) [[likely]]
      return;
    // What owns the memory may be a Python object, whose end may run programs.
    const std::vector<Storage> released = std::exchange(deleted_, {});
  }
  LockedRun(const LockedRun&) = delete;
  LockedRun& operator=(const LockedRun&) = delete;

  // Call it with the memory of an array that is about to be deleted.
  static void keep(const Storage& memory) {
    if (num_running_ > 0) deleted_.push_back(memory);
  }

 private:
  static inline int num_running_ = 0;
  static inline std::vector<Storage> deleted_;
};

// During the run of another program: references to its inputs, except those that it may overwrite,
// for the engine overwrites only what nothing else refers to.
class InputReferences {
 public:
  InputReferences(const Executable& executable, std::span<const Storage* const> inputs)
      : references_(inputs.size()) {
    const std::vector<bool>& overwrites = executable.overwrites();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i >= overwrites.size() || !overwrites[i]) references_.emplace_back(*inputs[i]);
    }
  }

 private:
  ShortList<SerialReference, 8> references_;
};

}  // namespace farcall::python
