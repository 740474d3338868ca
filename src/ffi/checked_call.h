// Calls of foreign code under the flag check_foreign_calls: every operand and result is a copy
// between guard bytes, results hold nan or random numbers before the call, scratch holds nan, and
// what the code did to them is looked at when it is done. The program's own memory is never handed
// out, so that what is found has damaged nothing.
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

// Guard bytes beside one block: as many as the block has, within these bounds.
inline constexpr size_t kLeastGuard = 256, kMostGuard = 4096;
size_t guard_bytes(size_t nbytes);
// Fills the guards on both sides of a block, and finds the changed byte that is nearest to it.
void fill_guards(std::byte* data, size_t nbytes);
std::optional<GuardDamage> find_damage(const std::byte* data, size_t nbytes);

// ---- calls ----

// The copies that one Invocation hands out, kept from call to call.
class CheckedCall {
 public:
  CheckedCall(const ForeignCallSpec& spec, FARCALL_FFI_Handler* execute);

  // The handler to call in place of the call site's; it finds this object in the frame's context.
  // A finding is an INTERNAL error, whose text begins with "check_foreign_calls: " and its kind.
  static FARCALL_FFI_Error* execute(FARCALL_FFI_CallFrame* frame);

  void add_memory(std::vector<Storage>& all) const;

 private:
  // One argument or result. An argument that a result takes over has no copy of its own.
  struct Guarded {
    ShapeDtype type;
    Storage memory;
    std::byte* data = nullptr;      // of the copy
    std::byte* original = nullptr;  // the program's memory, during a call
    size_t alias = SIZE_MAX;        // of an argument: the result that lies in the same memory
    bool has_guards = false;        // they are as fill_guards() left them
    // Of a result: an element that may have been left unwritten by chance alone, and how many bits
    // of it agreed with what was there, over all calls.
    size_t suspect = SIZE_MAX;
    unsigned suspect_bits = 0;
  };

  FARCALL_FFI_Error* run(FARCALL_FFI_CallFrame& frame);
  void note_originals(const FARCALL_FFI_CallFrame& frame);
  void hand_out(FARCALL_FFI_CallFrame& frame);
  void take_back(FARCALL_FFI_CallFrame& frame, bool is_inspected);
  void place(Guarded& operand, bool is_filled);
  bool is_alias_of_argument(size_t result) const;
  // The kind and what happened, of the first finding; empty where there is none.
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
