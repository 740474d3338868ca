// ffi_call: calling a registered target from a program.
#pragma once

#include <memory>
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

// A target with its result types and options. It can be called any number of times, on concrete and
// on traced arrays. Calls on concrete arrays run programs of one call, compiled once per signature.
// Immutable; copies share compiled programs; thread-safe.
class FARCALL_API FfiCall {
 public:
  // Raises INVALID_ARGUMENT for options that are invalid for all operands, naming the target and
  // the option.
  FfiCall(std::string target_name, std::vector<ShapeDtype> result_types,
          FfiCallOptions options = {});

  // No move operations: moving copies, so a moved-from call keeps its target.
  FfiCall(const FfiCall&) = default;
  FfiCall& operator=(const FfiCall&) = default;

  const std::string& target_name() const;
  const std::vector<ShapeDtype>& result_types() const;
  const FfiCallOptions& options() const;

  // Returns as many results as result_types. Raises INVALID_ARGUMENT if operands, results or
  // attributes do not fit the options, the definition of the target or the description of its
  // handler, NOT_FOUND if the target is not registered, and FfiError if the target fails; its
  // errors name the source line `where`. The target takes and returns the words of random keys,
  // uint32[..., 2].
  std::vector<Array> operator()(ListOf<Array> operands, const Attributes& attributes = {},
                                CallSite where = CallSite::current()) const;

  // The program of this one call, compiled for concrete operands of these types; lives as long as
  // this object. Null for random keys, and if too many different attributes were used to cache a
  // program for each; operator() still works then. Raises what a call raises before the target
  // runs.
  const Executable* executable(ListOf<Array> operands, const Attributes& attributes = {}) const;

 private:
  friend FARCALL_API std::vector<Array> call_defined(const std::string& target_name,
                                                     ListOf<Array> operands,
                                                     const Attributes& attributes,
                                                     FfiCallOptions options);
  friend FARCALL_API void clear_caches();
  friend FARCALL_API struct ProcessCaches cache_info();
  struct Shared;
  class Known;

  // `is_by_rule`: the result types come from the shape rule, so they need no check.
  std::vector<Array> on_key_words(ListOf<Array> operands, const Attributes& attributes,
                                  const CallSite& where, bool is_by_rule) const;
  std::vector<Array> call(ListOf<Array> operands, const Attributes& attributes,
                          const CallSite& where, bool is_by_rule) const;
  const Executable* find_executable(ListOf<Array> operands, const Attributes& attributes,
                                    bool is_by_rule) const;

  std::shared_ptr<Shared> shared_;
};

// Clears the caches of programs of eager operations and foreign calls, and with them the state of
// their handlers. An FfiCall that is still held keeps its own programs.
FARCALL_API void clear_caches();

// The caches that all threads share. In addition, each jitted function has its own cache.
struct ProcessCaches {
  CacheInfo eager;             // programs of eager operations
  CacheInfo ffi_calls;         // FfiCalls, keyed by their options
  size_t num_array_types = 0;  // distinct array types, about 100 bytes each
};
FARCALL_API ProcessCaches cache_info();

// For a target with one result.
FARCALL_API Array ffi_call(const std::string& target_name, ShapeDtype result_type,
                           ListOf<Array> operands, const Attributes& attributes = {},
                           const FfiCallOptions& options = {},
                           CallSite where = CallSite::current());

}  // namespace farcall
