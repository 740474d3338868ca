#include "engine/native/jit/encode.h"

#include <algorithm>

#include <xbyak/xbyak_util.h>

#include <farcall/core/interrupt.h>

#include "engine/native/jit/assembler.h"
#include "engine/native/kernels/instruction_sets.h"

namespace farcall::native::jit {
namespace {

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
constexpr int32_t kMostStackBytes = kMostWorkspaceBytes + (1 << 15);

constexpr int kZen5Family = 0x1a;  // AMD's; it divides twice as fast as those before

int64_t look_for_interrupt() noexcept { return poll_interrupt_and_keep() ? 1 : 0; }

}  // namespace

const Processor& processor() {
  static const Processor found = [] {
    const Xbyak::util::Cpu cpu;
    const bool is_amd = cpu.has(Xbyak::util::Cpu::tAMD);
    switch (loop_target()) {
      case LoopTarget::kAvx512:
        return Processor{.vector_bytes = 64,
                         .has_fast_subnormals = is_amd,
                         .has_fast_division = is_amd && cpu.displayFamily >= kZen5Family,
                         .has_masks = true,
                         .has_halves = cpu.has(Xbyak::util::Cpu::tAVX512_FP16)};
      case LoopTarget::kAvx2:
        return Processor{.vector_bytes = 32};
      default:
        return Processor{};
    }
  }();
  return found;
}

namespace {

Allocation allocation_of(const Code& code) {
  const RegisterCounts& counts = processor().has_masks ? kAvx512Registers : kAvx2Registers;
  return allocate(code, counts.general, counts.vector, counts.mask);
}

}  // namespace

bool fits_in_registers(const Code& code) {
  const Allocation allocation = allocation_of(code);
  for (size_t i = 0; i < code.regs.size(); ++i) {
    const bool is_on_stack = allocation.locations[i].kind == Location::Kind::kStack;
    if (is_on_stack && code.regs[i].bank != Bank::kGeneral) return false;
  }
  return true;
}

std::vector<std::byte> encode(const Code& code) {
  if (code.insts.size() > kMostInsts) return {};
  const Allocation allocation = allocation_of(code);
  if (allocation.stack_bytes + code.workspace_bytes > kMostStackBytes) return {};
  std::vector<std::byte> bytes(kOtherBytes + code.insts.size() * kInstBytes);
  try {
    const auto make = processor().has_masks ? make_avx512_assembler : make_avx2_assembler;
    bytes.resize(make(code, allocation, bytes.data(), bytes.size())->assemble());
  } catch (const Xbyak::Error&) {
    bytes.clear();
  }
  return bytes;
}

Assembler::Assembler(const Code& code, const Allocation& allocation, const RegisterCounts& counts,
                     int vector_bytes, std::byte* buffer, size_t size)
    : CodeGenerator(size, buffer),
      code_(code),
      allocation_(allocation),
      counts_(counts),
      vector_bytes_(vector_bytes),
      at_([&] {
        FrameLayout at{};  // the vectors are saved first
        at.saved_masks = counts.vector * vector_bytes;
        at.saved_general = at.saved_masks + counts.mask * 8;
        at.frame = at.saved_general + 6 * 8;
        at.countdown = at.frame + 8;
        at.call_inputs = at.countdown + 8;
        const int end = at.call_inputs + 3 * 8;
        at.call_buffers = (end + kStackAlignment - 1) / kStackAlignment * kStackAlignment;
        at.workspace = at.call_buffers + 4 * kStackAlignment;
        at.slots = at.workspace +
                   (code.workspace_bytes + kStackAlignment - 1) / kStackAlignment * kStackAlignment;
        return at;
      }()),
      labels_(code.num_labels) {}

size_t Assembler::assemble() {
  prologue();
  if (counts_.vector > allocation_.num_vectors) jmp(load_kept_constants_, T_NEAR);
  L(begin_);
  for (const Inst& inst : code_.insts) emit(inst);
  xor_(eax, eax);
  epilogue();
  cold_code();
  // Runs before the rest, but is written when it is known which constants are read.
  L(load_kept_constants_);
  load_kept_constants();
  jmp(begin_, T_NEAR);
  constants();
  return getSize();
}

void Assembler::emit(const Inst& inst) {
  const bool is_done = emit_control(inst) || emit_memory(inst) || emit_masked(inst) ||
                       emit_conversion(inst) ||
                       (inst.type.bank == Bank::kGeneral ? emit_general(inst)
                                                         : emit_vector(inst) || emit_lanes(inst));
  if (!is_done) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
}

void Assembler::prologue() {
  push(rbp);
  mov(rbp, rsp);
  for (const auto& reg : {rbx, r12, r13, r14, r15}) push(reg);
  sub(rsp, static_cast<uint32_t>(at_.slots + allocation_.stack_bytes));
  and_(rsp, static_cast<uint32_t>(-kStackAlignment));
  mov(ptr[rsp + at_.frame], rdi);
  const auto has = [&](Op op) {
    return std::ranges::find(code_.insts, op, &Inst::op) != code_.insts.end();
  };
  if (has(Op::kCountDown)) mov(dword[rsp + at_.countdown], kBetweenLooks);
  if (!has(Op::kCall)) return;
  for (int i = 0; i < 3; ++i) {
    lea(rax, ptr[rsp + element_at(at_.call_buffers, i, kStackAlignment)]);
    mov(ptr[rsp + element_at(at_.call_inputs, i, 8)], rax);
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
      ++depth_;
      return true;
    case Op::kLoopEnd:
      --depth_;
      return true;
    case Op::kCountDown:
      count_down(inst);
      return true;
    case Op::kCall:
      call_loop(inst);
      return true;
    case Op::kKernel:
      load(rdx, inst.args[0]);
      mov(rcx, static_cast<uint64_t>(inst.extra));
      mov(rax, static_cast<uint64_t>(inst.imm));
      call(save_and_call_);
      return true;
    default:
      return false;
  }
}

bool Assembler::emit_memory(const Inst& inst) {
  switch (inst.op) {
    case Op::kPointer: {
      const General made = target(inst, {});
      mov(rcx, ptr[rsp + at_.frame]);
      mov(rcx, ptr[rcx + offsetof(Frame, pointers)]);
      mov(made, ptr[rcx + element_at(0, static_cast<int>(inst.imm), 8)]);
      finish(inst, made);
      return true;
    }
    case Op::kWorkspace: {
      const General made = target(inst, {});
      lea(made, ptr[rsp + at_.workspace]);
      finish(inst, made);
      return true;
    }
    case Op::kCount:
    case Op::kRows: {
      const General made = target(inst, {});
      mov(rcx, ptr[rsp + at_.frame]);
      mov(made,
          ptr[rcx + (inst.op == Op::kCount ? offsetof(Frame, count) : offsetof(Frame, rows))]);
      finish(inst, made);
      return true;
    }
    case Op::kSetCount:
      load(rax, inst.args[0]);
      mov(rcx, ptr[rsp + at_.frame]);
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
    case Op::kLoadRepeated: {
      const General address = in_register(inst.args[0], 8, rcx);
      const Vector made = vector_target(inst);
      if (inst.type.lanes == 1) {
        load_vector(made, ptr[address], inst.type, inst.type.width);
      } else {
        repeat(made, inst.type, ptr[address]);
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

Xbyak::Address Assembler::slot(Reg reg) const { return ptr[rsp + at_.slots + where(reg).index]; }

const Xbyak::Label& Assembler::constant(uint64_t bits, int width, int times) {
  return constants_[{bits, width, times}];
}

std::optional<int> Assembler::register_of_constant(uint64_t bits, RegType type) {
  if (type.width < 4) return std::nullopt;
  const KeptConstant constant{bits, type.width};
  auto kept = std::ranges::find(kept_constants_, constant);
  if (kept == kept_constants_.end()) {
    const auto free = static_cast<size_t>(counts_.vector - allocation_.num_vectors);
    if (depth_ == 0 || kept_constants_.size() == free) return std::nullopt;
    kept = kept_constants_.insert(kept, constant);
  }
  return register_of_kept(static_cast<size_t>(kept - kept_constants_.begin()));
}

void Assembler::load_kept_constants() {
  for (size_t i = 0; i < kept_constants_.size(); ++i) {
    const auto& [bits, width] = kept_constants_[i];
    const RegType type = vector(width, vector_bytes_ / width);
    load_constant(sized(register_of_kept(i), type), bits, type);
  }
}

void Assembler::constants() {
  // The largest constants come first, because they are aligned to their size.
  std::vector<std::pair<int, decltype(constants_)::value_type*>> all;
  for (auto& each : constants_) {
    const auto& [bits, width, times] = each.first;
    all.emplace_back(-width * times, &each);
  }
  std::ranges::stable_sort(all, {}, [](const auto& each) { return each.first; });
  align(kStackAlignment);
  for (auto& [size, each] : all) {
    const auto& [bits, width, times] = each->first;
    L(each->second);
    for (int i = 0; i < times; ++i) {
      if (width == 4) {
        dd(static_cast<uint32_t>(bits));
      } else {
        dq(bits);
      }
    }
  }
}

// ---- calls and interrupts ----

void Assembler::count_down(const Inst& inst) {
  Cold& cold = colds_.emplace_back();
  const auto weight = std::clamp<int64_t>(inst.imm, 1, kBetweenLooks);
  sub(dword[rsp + at_.countdown], static_cast<uint32_t>(weight));
  js(cold.begin, T_NEAR);
  L(cold.back);
}

// Passes arguments and the result in memory. The loop processes as many elements as there are
// lanes.
void Assembler::call_loop(const Inst& inst) {
  for (size_t i = 0; i < 3; ++i) {
    if (inst.args[i].kind == Arg::Kind::kNone) continue;
    const Vector from = in_vector(inst.args[i], inst.type, 0);
    store_vector(ptr[rsp + element_at(at_.call_buffers, static_cast<int>(i), kStackAlignment)],
                 from, inst.type.bytes());
  }
  mov(edx, inst.type.lanes);
  mov(rcx, static_cast<uint64_t>(inst.extra));
  mov(rax, static_cast<uint64_t>(inst.imm));
  call(save_and_call_);
  const Vector made = vector_target(inst);
  load_vector(made, ptr[rsp + element_at(at_.call_buffers, 3, kStackAlignment)], inst.type,
              inst.type.bytes());
  finish(inst, made);
}

void Assembler::cold_code() {
  for (Cold& cold : colds_) {
    L(cold.begin);
    mov(dword[rsp + at_.countdown], kBetweenLooks);
    mov(rax, reinterpret_cast<uint64_t>(&look_for_interrupt));
    call(save_and_call_);
    test(eax, eax);
    jz(cold.back, T_NEAR);
    mov(eax, 1);
    jmp(leave_, T_NEAR);
  }
  save_and_call();
}

void Assembler::save_vectors(int at, bool restores) {
  for (int i = 0; i < allocation_.num_vectors; ++i) {
    const Xbyak::Address place = ptr[rsp + element_at(at, i, vector_bytes_)];
    const Vector reg = vector_bytes_ == 64 ? Vector(Xbyak::Zmm(3 + i)) : Vector(Xbyak::Ymm(3 + i));
    restores ? vmovups(reg, place) : vmovups(place, reg);
  }
  for (int i = 0; i < counts_.mask; ++i) {
    const Xbyak::Address place = ptr[rsp + element_at(at + at_.saved_masks, i, 8)];
    const Xbyak::Opmask reg(3 + i);
    restores ? kmovq(reg, place) : kmovq(place, reg);
  }
  if (restores) load_kept_constants();
}

// Calls rax with the arguments of a kernel's loop; the caller sets rdx and rcx. Preserves all
// registers except the temporary ones.
void Assembler::save_and_call() {
  constexpr int kBelow = 64;  // the return address and padding that aligns the stack
  const General general[] = {rsi, rdi, r8, r9, r10, r11};
  L(save_and_call_);
  sub(rsp, kBelow - 8);
  save_vectors(kBelow, false);
  for (int i = 0; i < 6; ++i) {
    mov(ptr[rsp + element_at(kBelow + at_.saved_general, i, 8)], general[i]);
  }
  lea(rdi, ptr[rsp + kBelow + at_.call_inputs]);
  lea(rsi, ptr[rsp + element_at(kBelow + at_.call_buffers, 3, kStackAlignment)]);
  vzeroupper();
  call(rax);
  save_vectors(kBelow, true);
  for (int i = 0; i < 6; ++i) {
    mov(general[i], ptr[rsp + element_at(kBelow + at_.saved_general, i, 8)]);
  }
  add(rsp, kBelow - 8);
  ret();
}

}  // namespace farcall::native::jit
