// Calls of foreign code under the flag check_foreign_calls. Every operand and result is a copy
// between guard bytes. Before the call, results hold nan or random numbers and scratch holds nan;
// after it, all of them are inspected. The handler never sees the program's own memory, so a defect
// it has cannot damage that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <farcall/abi.h>
#include <farcall/core/storage.h>
#include <farcall/ffi/call_context.h>
#include <farcall/ffi/foreign_call.h>

namespace farcall::runtime {

// ---- guards ----

// The guard on each side of a block is about as large as the block, within these bounds.
inline constexpr size_t kLeastGuard = 256, kMostGuard = 4096;
size_t guard_bytes(size_t nbytes);
// fill_guards() fills the guards on both sides of a block. find_damage() returns the changed byte
// nearest to the block.
void fill_guards(std::byte* data, size_t nbytes);
std::optional<GuardDamage> find_damage(const std::byte* data, size_t nbytes);

// ---- calls ----

// The copies for one Invocation, reused by all its calls.
class CheckedCall {
 public:
  CheckedCall(const ForeignCallSpec& spec, FARCALL_FFI_Handler* execute);

  // Replaces the handler of the call site; finds its CheckedCall in the frame's context. A finding
  // becomes an INTERNAL error, whose text begins with "check_foreign_calls: " and the kind.
  static FARCALL_FFI_Error* execute(FARCALL_FFI_CallFrame* frame);

  void add_memory(std::vector<Storage>& all) const;

 private:
  // One argument or result. An argument that a result aliases has no copy of its own.
  struct Guarded {
    ShapeDtype type;
    Storage memory;
    std::byte* data = nullptr;      // of the copy
    std::byte* original = nullptr;  // the program's memory, during a call
    size_t alias = SIZE_MAX;        // of an argument: the result in the same memory
    bool has_guards = false;        // the guards are as fill_guards() left them
    // Of a result: an element that matches the pattern, perhaps by chance, and the number of
    // matching bits over all calls.
    size_t suspect = SIZE_MAX;
    unsigned suspect_bits = 0;
  };

  FARCALL_FFI_Error* run(FARCALL_FFI_CallFrame& frame);
  void note_originals(const FARCALL_FFI_CallFrame& frame);
  void hand_out(FARCALL_FFI_CallFrame& frame);
  void take_back(FARCALL_FFI_CallFrame& frame, bool is_inspected);
  void place(Guarded& operand, bool is_filled);
  bool is_alias_of_argument(size_t result) const;
  // The text of the first finding: its kind and what happened. Empty if there is none.
  std::string finding(FARCALL_FFI_ExecutionContext& context, bool has_failed);
  std::string out_of_bounds(const std::string& name, const GuardDamage& damage) const;
  std::string written_input(const Guarded& argument, size_t index) const;
  std::string unwritten_result(Guarded& result, size_t index) const;
  std::string types() const;

  const ForeignCallSpec& spec_;
  FARCALL_FFI_Handler* execute_;
  std::vector<Guarded> arguments_, results_;
  uint64_t num_calls_ = 0;
};

}  // namespace farcall::runtime
