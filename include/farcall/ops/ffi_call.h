// ffi_call: calling a registered target from a program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/call_site.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/core/lru_cache.h>
#include <farcall/ffi/attribute.h>
#include <farcall/primitives/ffi_call.h>
#include <farcall/program/engine.h>
#include <farcall/trace/array.h>

namespace farcall {

// A target with the types of its results and options: callable, again and again, on concrete and on
// traced arrays. Calls on concrete arrays run programs of one call, compiled once for each
// signature. Immutable; copies share what was compiled; any thread may call.
class FARCALL_API FfiCall {
 public:
  // Raises INVALID_ARGUMENT for options that no operands could fit, naming the target and the
  // option.
  FfiCall(std::string target_name, std::vector<ShapeDtype> result_types,
          FfiCallOptions options = {});

  // Moving copies, so that no call is left without a target.
  FfiCall(const FfiCall&) = default;
  FfiCall& operator=(const FfiCall&) = default;

  const std::string& target_name() const;
  const std::vector<ShapeDtype>& result_types() const;
  const FfiCallOptions& options() const;

  // The results, as many as result_types. Raises INVALID_ARGUMENT for operands or attributes that
  // the options do not fit, NOT_FOUND when the target is not registered, FfiError when it fails;
  // errors of the target name the line `where`.
  std::vector<Array> operator()(ListOf<Array> operands, const Attributes& attributes = {},
                                CallSite where = CallSite::current()) const;

  // The program of this one call, compiled for concrete operands of these types and kept as long as
  // this object; null when calls had too many different attributes to keep a program for each,
  // which operator() serves nevertheless. Raises what a call raises before the target runs.
  const Executable* executable(ListOf<Array> operands, const Attributes& attributes = {}) const;

 private:
  friend FARCALL_API void clear_caches();
  friend FARCALL_API struct ProcessCaches cache_info();
  struct Shared;
  class Known;
  std::shared_ptr<Shared> shared_;
};

// Forgets the programs of eager operations and foreign calls, and with them the state of their
// handlers; an FfiCall that somebody holds keeps its own.
FARCALL_API void clear_caches();

// The caches that all threads share. Each jitted function has one of its own.
struct ProcessCaches {
  CacheInfo eager;             // programs of eager operations
  CacheInfo ffi_calls;         // FfiCalls by their options
  size_t num_array_types = 0;  // distinct types of arrays, a hundred bytes each
};
FARCALL_API ProcessCaches cache_info();

// For a target with one result.
FARCALL_API Array ffi_call(const std::string& target_name, ShapeDtype result_type,
                           ListOf<Array> operands, const Attributes& attributes = {},
                           const FfiCallOptions& options = {},
                           CallSite where = CallSite::current());

}  // namespace farcall
