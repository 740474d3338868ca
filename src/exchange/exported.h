// A function exported to other runtimes, and its executables for the types of their calls.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/lru_cache.h>
#include <farcall/exchange/export_handler.h>
#include <farcall/ffi.h>

namespace farcall::exchange {

// Thread-safe.
class Exported {
 public:
  // A program of fixed types, and batches of it. Raises what compiling raises.
  Exported(std::string name, ProgramPtr program);
  Exported(std::string name, RecordForCall record, std::vector<std::string> attributes = {});
  Exported(std::string name, FlatFunction function);

  const std::string& name() const { return name_; }
  bool is_of(std::string_view name, const ProgramPtr& program) const {
    return program_ && program_ == program && name_ == name;
  }

  // Raises INVALID_ARGUMENT for operand or result types and for attributes that the function does
  // not have, and what recording, compiling and running raises.
  void run(const ffi::RemainingArgs& operands, const ffi::RemainingRets& results,
           const FARCALL_FFI_Attrs& attributes);

 private:
  struct Compiled {
    std::vector<ShapeDtype> operands, results;
    Attributes attributes;
    std::shared_ptr<const Executable> executable;
  };

  std::shared_ptr<const Executable> find_or_compile(const ffi::RemainingArgs& operands,
                                                    const ffi::RemainingRets& results,
                                                    const FARCALL_FFI_Attrs& attributes);

  std::string name_;
  ProgramPtr program_;                       // null if the types are open
  std::shared_ptr<const Executable> first_;  // of program_; null without one
  RecordForCall record_;
  std::vector<std::string> attributes_;  // the names of attributes that calls may have
  std::mutex mutex_;
  LruCache<Compiled> others_;
};

}  // namespace farcall::exchange
