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

// What recording a function over trees gives.
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
  // Compiled by the first call that runs there. `donated` tells of each leaf whether its memory may
  // be used, and none if it is empty; what could not be used is warned of once, in the name of
  // `where`.
  std::shared_ptr<const Executable> executable_on(const Device& device, const std::string& where,
                                                  const std::vector<bool>& donated) const;
  // For a front end under whose lock all calls come; it takes no lock of its own.
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
  // A program that captured traced arrays holds for this call alone: it is not kept, and `captured`
  // receives them.
  CachedProgramPtr find_or_record(CallSignature signature,
                                  const std::function<TracedFunction()>& record,
                                  std::vector<Array>& captured);
};

}  // namespace farcall::detail
