#include "engine/native/jit/encode.h"

#include <algorithm>

#include <farcall/core/interrupt.h>

#include "engine/native/jit/assembler.h"
#include "engine/native/kernels/instruction_sets.h"

namespace farcall::native::jit {
namespace {

// Offsets of the frame's fields from rsp.
constexpr int kSavedVectors = 0;  // 32 bytes for each register
constexpr int kSavedGeneral = 13 * 32;
constexpr int kFrame = kSavedGeneral + 6 * 8;
constexpr int kCountdown = kFrame + 8;
constexpr int kCallInputs = kCountdown + 8;                         // three pointers
constexpr int kCallBuffers = (kCallInputs + 3 * 8 + 31) / 32 * 32;  // inputs, then the output
constexpr int kSlots = kCallBuffers + 4 * 32;
static_assert(kSlots % kStackAlignment == 0);
// The offset of an element of an array of the frame.
constexpr size_t element_at(int array, int index, int width) {
  return static_cast<size_t>(array) + static_cast<size_t>(index) * static_cast<size_t>(width);
}
// The bytes of the five registers that the prologue saves below rbp.
constexpr size_t kSavedByCallee = 40;

// The total weight of instructions between two interrupt checks; well below a millisecond.
constexpr int kBetweenLooks = 1 << 18;
// Upper bounds for the bytes of an instruction with its constant, and for all other code.
constexpr size_t kInstBytes = 160, kOtherBytes = 4096;
constexpr size_t kMostInsts = 20000;
// Every thread that runs kernels has this much stack left.
constexpr int32_t kMostStackBytes = 1 << 15;

int64_t look_for_interrupt() noexcept { return poll_interrupt_and_keep() ? 1 : 0; }

}  // namespace

bool can_encode() { return loop_target() != LoopTarget::kBaseline; }

std::vector<std::byte> encode(const Code& code) {
  if (code.insts.size() > kMostInsts) return {};
  const Allocation allocation = allocate(code, Assembler::kNumGeneral, Assembler::kNumVector);
  if (allocation.stack_bytes > kMostStackBytes) return {};
  std::vector<std::byte> bytes(kOtherBytes + code.insts.size() * kInstBytes);
  try {
    bytes.resize(Assembler(code, allocation, bytes.data(), bytes.size()).assemble());
  } catch (const Xbyak::Error&) {
    bytes.clear();
  }
  return bytes;
}

size_t Assembler::assemble() {
  prologue();
  for (const Inst& inst : code_.insts) emit(inst);
  xor_(eax, eax);
  epilogue();
  cold_code();
  constants();
  return getSize();
}

void Assembler::emit(const Inst& inst) {
  if (emit_control(inst) || emit_memory(inst) || emit_conversion(inst)) return;
  const bool is_done =
      inst.type.bank == Bank::kGeneral ? emit_general(inst) : emit_vector(inst) || emit_lanes(inst);
  if (!is_done) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
}

void Assembler::prologue() {
  push(rbp);
  mov(rbp, rsp);
  for (const auto& reg : {rbx, r12, r13, r14, r15}) push(reg);
  sub(rsp, static_cast<uint32_t>(kSlots + allocation_.stack_bytes));
  and_(rsp, static_cast<uint32_t>(-kStackAlignment));
  mov(ptr[rsp + kFrame], rdi);
  mov(dword[rsp + kCountdown], kBetweenLooks);
  for (int i = 0; i < 3; ++i) {
    lea(rax, ptr[rsp + element_at(kCallBuffers, i, 32)]);
    mov(ptr[rsp + element_at(kCallInputs, i, 8)], rax);
  }
}

void Assembler::epilogue() {
  L(leave_);
  vzeroupper();
  lea(rsp, ptr[rbp - kSavedByCallee]);
  for (const auto& reg : {r15, r14, r13, r12, rbx, rbp}) pop(reg);
  ret();
}

bool Assembler::emit_control(const Inst& inst) {
  switch (inst.op) {
    case Op::kLabel:
      L(labels_[static_cast<size_t>(inst.imm)]);
      return true;
    case Op::kJump:
      jmp(labels_[static_cast<size_t>(inst.imm)], T_NEAR);
      return true;
    case Op::kBranch:
      compare(inst);
      jump_if(inst.cond, labels_[static_cast<size_t>(inst.imm)]);
      return true;
    case Op::kLoopBegin:
    case Op::kLoopEnd:
      return true;
    case Op::kCountDown:
      count_down(inst);
      return true;
    case Op::kCall:
      call_loop(inst);
      return true;
    default:
      return false;
  }
}

bool Assembler::emit_memory(const Inst& inst) {
  switch (inst.op) {
    case Op::kPointer: {
      const General made = target(inst, {});
      mov(rcx, ptr[rsp + kFrame]);
      mov(rcx, ptr[rcx + offsetof(Frame, pointers)]);
      mov(made, ptr[rcx + element_at(0, static_cast<int>(inst.imm), 8)]);
      finish(inst, made);
      return true;
    }
    case Op::kCount: {
      const General made = target(inst, {});
      mov(rcx, ptr[rsp + kFrame]);
      mov(made, ptr[rcx + offsetof(Frame, count)]);
      finish(inst, made);
      return true;
    }
    case Op::kSetCount:
      load(rax, inst.args[0]);
      mov(rcx, ptr[rsp + kFrame]);
      mov(ptr[rcx + offsetof(Frame, count)], rax);
      return true;
    case Op::kLoad: {
      const General address = in_register(inst.args[0], 8, rcx);
      if (inst.type.bank == Bank::kVector) {
        const Vector made = vector_target(inst);
        load_vector(made, ptr[address], inst.type, inst.bytes);
        finish(inst, made);
        return true;
      }
      const General made = target(inst, {});
      if (inst.bytes == 1) {
        movzx(made, byte[address]);
      } else {
        mov(made, ptr[address]);
      }
      finish(inst, made);
      return true;
    }
    case Op::kStore: {
      const General address = in_register(inst.args[0], 8, rcx);
      if (inst.type.bank == Bank::kVector) {
        store_vector(ptr[address], in_vector(inst.args[1], inst.type, 0), inst.bytes);
        return true;
      }
      load(sized(rax, inst.type.width), inst.args[1]);
      if (inst.bytes == 1) {
        mov(byte[address], al);
      } else {
        mov(ptr[address], sized(rax, inst.type.width));
      }
      return true;
    }
    default:
      return false;
  }
}

Xbyak::Address Assembler::slot(Reg reg) const { return ptr[rsp + kSlots + where(reg).index]; }

Xbyak::Address Assembler::in_memory(uint64_t bits, RegType type) {
  return ptr[rip + constants_[{bits, type.width, type.lanes > 1}]];
}

void Assembler::constants() {
  align(32);
  // Constants that fill a vector come first, because they are aligned to their size.
  for (const bool is_wide : {true, false}) {
    for (auto& [key, label] : constants_) {
      const auto& [bits, width, fills] = key;
      if (fills != is_wide) continue;
      L(label);
      for (int i = 0; i < (fills ? 32 / width : 1); ++i) {
        if (width == 4) {
          dd(static_cast<uint32_t>(bits));
        } else {
          dq(bits);
        }
      }
      if (!fills && width == 4) dd(0);
    }
  }
}

// ---- calls and interrupts ----

void Assembler::count_down(const Inst& inst) {
  Cold& cold = colds_.emplace_back();
  const auto weight = std::clamp<int64_t>(inst.imm, 1, kBetweenLooks);
  sub(dword[rsp + kCountdown], static_cast<uint32_t>(weight));
  js(cold.begin, T_NEAR);
  L(cold.back);
}

// Passes arguments and the result in memory. The loop processes as many elements as there are
// lanes.
void Assembler::call_loop(const Inst& inst) {
  for (size_t i = 0; i < 3; ++i) {
    if (inst.args[i].kind == Arg::Kind::kNone) continue;
    const Vector from = in_vector(inst.args[i], inst.type, 0);
    store_vector(ptr[rsp + element_at(kCallBuffers, static_cast<int>(i), 32)], from,
                 inst.type.bytes());
  }
  mov(edx, inst.type.lanes);
  mov(rcx, static_cast<uint64_t>(inst.extra));
  mov(rax, static_cast<uint64_t>(inst.imm));
  call(save_and_call_);
  const Vector made = vector_target(inst);
  load_vector(made, ptr[rsp + element_at(kCallBuffers, 3, 32)], inst.type, inst.type.bytes());
  finish(inst, made);
}

void Assembler::cold_code() {
  for (Cold& cold : colds_) {
    L(cold.begin);
    mov(dword[rsp + kCountdown], kBetweenLooks);
    mov(rax, reinterpret_cast<uint64_t>(&look_for_interrupt));
    call(save_and_call_);
    test(eax, eax);
    jz(cold.back, T_NEAR);
    mov(eax, 1);
    jmp(leave_, T_NEAR);
  }
  save_and_call();
}

// Calls rax with the arguments of a kernel's loop; the caller sets rdx and rcx. Preserves all
// registers except the temporary ones.
void Assembler::save_and_call() {
  constexpr int kBelow = 32;  // the return address and padding that aligns the stack
  L(save_and_call_);
  sub(rsp, kBelow - 8);
  for (int i = 0; i < kNumVector; ++i) {
    vmovups(ptr[rsp + element_at(kBelow + kSavedVectors, i, 32)], Xbyak::Ymm(3 + i));
  }
  const General general[] = {rsi, rdi, r8, r9, r10, r11};
  for (int i = 0; i < 6; ++i) mov(ptr[rsp + element_at(kBelow + kSavedGeneral, i, 8)], general[i]);
  lea(rdi, ptr[rsp + kBelow + kCallInputs]);
  lea(rsi, ptr[rsp + element_at(kBelow + kCallBuffers, 3, 32)]);
  vzeroupper();
  call(rax);
  for (int i = 0; i < kNumVector; ++i) {
    vmovups(Xbyak::Ymm(3 + i), ptr[rsp + element_at(kBelow + kSavedVectors, i, 32)]);
  }
  for (int i = 0; i < 6; ++i) mov(general[i], ptr[rsp + element_at(kBelow + kSavedGeneral, i, 8)]);
  add(rsp, kBelow - 8);
  ret();
}

}  // namespace farcall::native::jit
