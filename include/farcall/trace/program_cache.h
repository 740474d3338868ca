// The programs of one function over trees: recorded once for each signature, compiled once for each
// device.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/engine.h>
#include <farcall/trace/array.h>
#include <farcall/trace/call_signature.h>

namespace farcall::detail {

// The result of recording a function over trees.
struct TracedFunction {
  ProgramPtr program;
  TreeDef result;
  // Traced arrays that the function closed over: the program's first inputs.
  std::vector<Array> captured = {};
};

class FARCALL_API CachedProgram {
 public:
  CachedProgram(ProgramPtr program, TreeDef result)
      : program_(std::move(program)), result_(std::move(result)) {}

  const ProgramPtr& program() const { return program_; }
  const TreeDef& result() const { return result_; }
  // The executable for a device, compiled by the first call there. `donated`: by leaf, whether it
  // is donated; empty: none. Warns once, naming `where`, of donated leaves whose memory cannot be
  // used. Thread-safe.
  std::shared_ptr<const Executable> executable_on(const Device& device, const std::string& where,
                                                  const std::vector<bool>& donated) const;
  // Not thread-safe: for a front end that serializes all calls by its own lock.
  std::span<const std::shared_ptr<const Executable>> executables() const {
    return executables_.all();
  }

 private:
  ProgramPtr program_;
  TreeDef result_;
  mutable std::mutex mutex_;
  mutable ExecutablesByDevice executables_;
};
using CachedProgramPtr = std::shared_ptr<const CachedProgram>;

class FARCALL_API ProgramCache : public SignatureMap<CachedProgram> {
 public:
  // A program that captured traced arrays is valid for this call only: it is not cached, and
  // `captured` receives these arrays.
  CachedProgramPtr find_or_record(CallSignature signature,
                                  const std::function<TracedFunction()>& record,
                                  std::vector<Array>& captured);
};

}  // namespace farcall::detail
