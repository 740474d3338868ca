// The assembler behind encode(): one function for each kind of instruction. Private to encode*.cpp.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include <xbyak/xbyak.h>

#include "engine/native/jit/allocate.h"
#include "engine/native/jit/encode.h"
#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

// Requires AVX2, FMA, BMI and LZCNT; uses 16 registers of each bank. rax, rcx, rdx and vectors 0, 1
// and 2 are temporary registers within a single instruction; rbp holds the caller's stack pointer.
// The stack is aligned to 32 bytes and holds registers saved around calls, the fields of the frame,
// and spilled registers.
class Assembler : private Xbyak::CodeGenerator {
 public:
  static constexpr int kNumGeneral = 11, kNumVector = 13;

  Assembler(const Code& code, const Allocation& allocation, std::byte* buffer, size_t size)
      : CodeGenerator(size, buffer),
        code_(code),
        allocation_(allocation),
        labels_(code.num_labels) {}

  // Returns the number of bytes. Raises Xbyak::Error if the buffer is too small.
  size_t assemble();

 private:
  using General = Xbyak::Reg;
  using Vector = Xbyak::Xmm;  // or a Ymm; a copy keeps the kind
  using Operand = Xbyak::Operand;
  // The forms of an operation: one float, one double, lanes of floats, lanes of doubles.
  using Binary = void (CodeGenerator::*)(const Xbyak::Xmm&, const Operand&, const Operand&);
  struct Forms {
    Binary ss, sd, ps, pd;
  };

  // ---- encode.cpp: the frame, control flow, calls
  void prologue();
  void epilogue();
  void emit(const Inst& inst);
  bool emit_control(const Inst& inst);
  bool emit_memory(const Inst& inst);
  void count_down(const Inst& inst);
  void call_loop(const Inst& inst);
  void cold_code();
  void save_and_call();
  void constants();

  Location where(Reg reg) const { return allocation_.locations[reg]; }
  bool is_in_register(const Arg& arg) const {
    return arg.is_reg() && where(arg.as_reg()).kind == Location::Kind::kRegister;
  }
  Xbyak::Address slot(Reg reg) const;
  // A constant in memory, repeated for all lanes if there are several.
  Xbyak::Address in_memory(uint64_t bits, RegType type);

  // ---- encode_general.cpp
  bool emit_general(const Inst& inst);
  bool emit_division(const Inst& inst);
  bool emit_shift(const Inst& inst);
  void emit_unary(const Inst& inst);
  void divide_by_power(const Inst& inst, uint64_t divisor);
  static General sized(const General& reg, int width);
  General register_of(Reg reg, int width) const;
  void load(const General& target, const Arg& arg);  // in the target's width
  // A register that holds the argument; loads it to `spare` if it is not in one.
  General in_register(const Arg& arg, int width, const General& spare);
  // The register for a result: its own, or rax if that holds one of these arguments.
  General target(const Inst& inst, std::initializer_list<Arg> avoid);
  void finish(const Inst& inst, const General& made);
  void compare(const Inst& inst);  // sets the flags for args 0 and 1
  void jump_if(Cond cond, const Xbyak::Label& label);
  void set_if(Cond cond, const Xbyak::Reg8& target);
  void move_if(Cond cond, const General& target, const Operand& from);
  // Calls use(register, memory or immediate).
  template <class Use>
  void with_operand(const Arg& arg, int width, const General& spare, Use use);

  // ---- encode_vector.cpp
  bool emit_vector(const Inst& inst);
  bool emit_lanes(const Inst& inst);
  bool emit_conversion(const Inst& inst);
  void emit_binary(const Inst& inst, const Forms& forms);
  void multiply_add(const Inst& inst);
  void float_of_unsigned(const Inst& inst);
  void int_of_float(const Inst& inst, bool has_sign);
  void load_vector(const Vector& target, const Xbyak::Address& address, RegType type, int bytes);
  void store_vector(const Xbyak::Address& address, const Vector& from, int bytes);
  void first_bytes(RegType type, int bytes);
  static Vector sized(int index, RegType type);
  Vector vector_of(Reg reg, RegType type) const;
  Vector in_vector(const Arg& arg, RegType type, int spare);
  Vector vector_target(const Inst& inst) const;
  void finish(const Inst& inst, const Vector& made);
  template <class Use>
  void with_vector_operand(const Arg& arg, RegType type, Use use);

  const Code& code_;
  const Allocation& allocation_;
  std::vector<Xbyak::Label> labels_;
  std::map<std::tuple<uint64_t, int, bool>, Xbyak::Label> constants_;
  struct Cold {
    Xbyak::Label begin, back;
  };
  std::vector<Cold> colds_;  // one for each interrupt check
  Xbyak::Label save_and_call_, leave_;
};

template <class Use>
void Assembler::with_operand(const Arg& arg, int width, const General& spare, Use use) {
  if (arg.is_const()) {
    const auto bits = static_cast<int64_t>(arg.bits);
    if (width == 4 || bits == static_cast<int32_t>(bits)) {
      return use(static_cast<uint32_t>(arg.bits));
    }
    mov(spare, arg.bits);
    return use(static_cast<const Operand&>(spare));
  }
  if (is_in_register(arg)) {
    return use(static_cast<const Operand&>(register_of(arg.as_reg(), width)));
  }
  return use(static_cast<const Operand&>(slot(arg.as_reg())));
}

template <class Use>
void Assembler::with_vector_operand(const Arg& arg, RegType type, Use use) {
  if (arg.is_const()) return use(static_cast<const Operand&>(in_memory(arg.bits, type)));
  if (is_in_register(arg)) {
    return use(static_cast<const Operand&>(vector_of(arg.as_reg(), type)));
  }
  return use(static_cast<const Operand&>(slot(arg.as_reg())));
}

}  // namespace farcall::native::jit
