// The lengths, targets and operands in memory of machine instructions (x86-64), for stops between
// them.
#pragma once

#include <cstdint>
#include <optional>

namespace farcall::tools {

struct Instruction {
  enum class Flow : uint8_t {
    kNext,      // to the next instruction
    kJump,      // to `target`
    kBranch,    // to `target` or the next one
    kCall,      // to `target`, then to the next one
    kIndirect,  // to an address that is computed
    kEnd        // returns, or cannot go on
  };
  // An operand in memory that other threads may know: not on the stack by its register, and not
  // thread-local. Registers by their numbers in instructions; -1: none.
  struct Memory {
    int base = -1, index = -1, scale = 1;
    bool is_relative = false;  // to the next instruction
    int64_t displacement = 0;
  };

  uint8_t length = 0;
  Flow flow = Flow::kNext;
  bool returns = true;  // the next instruction may follow
  const uint8_t* target = nullptr;
  std::optional<Memory> memory = {};
};

// nullopt for what is no instruction, or one that programs do not use. Reads at most 15 bytes from
// `code`, and none from `end` on.
std::optional<Instruction> decode(const uint8_t* code, const uint8_t* end);

}  // namespace farcall::tools
