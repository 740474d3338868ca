// Calls the handler under test in a controlled environment.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/ffi/foreign_call.h>
#include <farcall/ffi/thread_pool.h>

#include "tools/check/cases.h"
#include "tools/check/data.h"
#include "tools/check/guarded_buffer.h"
#include "tools/check/heap_zones.h"

namespace farcall::tools {

// The loaded handler. A process has one at a time.
struct LoadedHandler {
  std::shared_ptr<const Target> target;     // calls the handler by way of trampolines
  std::shared_ptr<const Target> reference;  // null if there is none, or for a Python function
  Attributes attributes;                    // converted to the handler's types
  const void* address = nullptr;            // of the handler's function
};
// Whether the reference is "module:name", not "library.so:symbol".
bool is_python_function(const std::string& reference);
// Raises Failure(kCouldNotRun).
LoadedHandler load_handler(const CheckSpec& spec);

// What a call gets besides its inputs: the contents of other memory, and the time. Calls with equal
// fills are equal.
struct Fill {
  Pattern results;
  Pattern scratch;
  Pattern zones = {Pattern::Kind::kRandom, 1};
  int operand_of_zones = -1;  // arguments, then results; -1: `zones` is for all
  int heap_byte = 0xff;
  int stack_byte = 0xff;
  bool has_other_time = false;
};

struct Outcome {
  bool is_ok = false;
  ErrorCode code = ErrorCode::kOk;
  std::string message;                // the handler's own error text
  std::string exception;              // text of an exception that left the handler
  std::string changed_mode;           // the processor's mode that the handler left changed
  std::optional<BufferName> damaged;  // the buffer whose red zone was written
  int64_t damage_offset = 0;
  size_t damaged_bytes = 0;
  std::optional<heap::Overflow> heap_overflow;
  double seconds = 0;
};

// The calls from now on have other attributes than the calls before. While no call runs.
void change_attributes();

// A call site for one shape; its instantiate stage has run.
class Site {
 public:
  // Raises FfiError if the instantiate stage fails.
  Site(const CheckSpec& spec, const Case& test, const LoadedHandler& handler);

  const CheckSpec& spec() const { return *spec_; }
  const Case& test() const { return *test_; }
  const ForeignCall& call() const { return call_; }

 private:
  const CheckSpec* spec_;
  const Case* test_;
  ForeignCall call_;
};

// The seed of an argument's values, for the seed of a call.
inline uint64_t argument_seed(uint64_t data_seed, size_t index) { return data_seed * 64 + index; }

enum class Aliasing {
  kAsTold,   // an aliased result uses its argument's memory
  kSeparate  // it has its own memory, which starts with the argument's values
};

// Operands and their call frame, for use by one thread.
class Call {
 public:
  Call(const Site& site, const CheckOptions& options, uint64_t data_seed, Placement placement,
       Aliasing aliasing = Aliasing::kAsTold, Values values = Values::kUsual);

  // Replaces the inputs by other values in the same memory.
  void set_values(uint64_t data_seed);
  void prepare(const Fill& fill);
  // After prepare().
  Outcome run(ThreadPool* pool = nullptr);
  // The operands after the last run.
  std::span<const std::byte> argument(size_t index) const { return arguments_[index]->bytes(); }
  std::span<const std::byte> result(size_t index) const { return result_buffer(index).bytes(); }
  std::vector<std::vector<std::byte>> results() const;
  uint64_t data_seed() const { return data_seed_; }
  Values values() const { return values_; }
  const std::vector<std::byte>& input(size_t index) const { return inputs_[index]; }
  // Whether the result is in an argument's memory or started with its values: no element is
  // unwritten.
  bool is_aliased(size_t result) const { return argument_of(result).has_value(); }

 private:
  std::optional<size_t> argument_of(size_t result) const;
  GuardedBuffer& result_buffer(size_t index) const;
  void find_damage(Outcome& outcome) const;

  const Site* site_;
  Aliasing aliasing_;
  uint64_t data_seed_;
  Values values_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::unique_ptr<GuardedBuffer>> arguments_;
  std::vector<std::unique_ptr<GuardedBuffer>> results_;  // null: in an argument's memory
  Invocation invocation_;
};

}  // namespace farcall::tools
