#include "tools/check/instructions.h"

#include <algorithm>
#include <span>

#include <Zydis/Zydis.h>

namespace farcall::tools {
namespace {

using Flow = Instruction::Flow;

void set_flow(const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand& first,
              const uint8_t* next, Instruction& made) {
  const bool is_relative =
      first.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && first.imm.is_relative != ZYAN_FALSE;
  if (is_relative) made.target = next + first.imm.value.s;
  switch (decoded.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      made.flow = Flow::kBranch;
      break;
    case ZYDIS_CATEGORY_CALL:
      made.flow = is_relative ? Flow::kCall : Flow::kIndirect;
      break;
    case ZYDIS_CATEGORY_UNCOND_BR:
      made.flow = is_relative ? Flow::kJump : Flow::kIndirect;
      made.returns = false;
      break;
    case ZYDIS_CATEGORY_RET:
      made.flow = Flow::kEnd;
      break;
    default:
      break;
  }
  const auto ends = {ZYDIS_MNEMONIC_UD0, ZYDIS_MNEMONIC_UD1, ZYDIS_MNEMONIC_UD2, ZYDIS_MNEMONIC_HLT,
                     ZYDIS_MNEMONIC_INT3};
  if (std::ranges::find(ends, decoded.mnemonic) != ends.end()) made.flow = Flow::kEnd;
  if (made.flow == Flow::kEnd) made.returns = false;
}

bool is_hint(const ZydisDecodedInstruction& decoded) {
  const auto hints = {ZYDIS_CATEGORY_NOP, ZYDIS_CATEGORY_WIDENOP, ZYDIS_CATEGORY_PREFETCH};
  return std::ranges::find(hints, decoded.meta.category) != hints.end();
}

// Whether other threads may know what lies there.
bool may_be_known(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM &&
         operand.mem.base != ZYDIS_REGISTER_RSP && operand.mem.segment != ZYDIS_REGISTER_FS &&
         operand.mem.segment != ZYDIS_REGISTER_GS;
}

Instruction::Memory memory_of(const ZydisDecodedOperandMem& operand) {
  Instruction::Memory memory;
  memory.is_relative = operand.base == ZYDIS_REGISTER_RIP;
  if (!memory.is_relative && operand.base != ZYDIS_REGISTER_NONE)
    memory.base = ZydisRegisterGetId(operand.base);
  if (operand.index != ZYDIS_REGISTER_NONE) memory.index = ZydisRegisterGetId(operand.index);
  if (operand.scale != 0) memory.scale = operand.scale;
  if (operand.disp.has_displacement != ZYAN_FALSE) memory.displacement = operand.disp.value;
  return memory;
}

}  // namespace

std::optional<Instruction> decode(const uint8_t* code, const uint8_t* end) {
  ZydisDecoder decoder;
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand all[ZYDIS_MAX_OPERAND_COUNT] = {};
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, static_cast<ZyanUSize>(end - code),
                                         &decoded, all))) {
    return std::nullopt;
  }
  Instruction made;
  made.length = decoded.length;
  set_flow(decoded, all[0], code + decoded.length, made);
  const std::span operands(all, decoded.operand_count);
  const auto operand = std::ranges::find_if(operands, may_be_known);
  if (operand != operands.end() && decoded.address_width == 64 && !is_hint(decoded))
    made.memory = memory_of(operand->mem);
  return made;
}

}  // namespace farcall::tools
