// The assembler behind encode(): one function for each kind of instruction. Private to encode*.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include <xbyak/xbyak.h>

#include "engine/native/jit/allocate.h"
#include "engine/native/jit/encode.h"
#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

// The numbers of registers that are available to code.
struct RegisterCounts {
  int general = 11, vector = 0;
  int mask = 0;  // 0: masks are in vector registers
};

// Requires AVX2, FMA, BMI and LZCNT. rax, rcx, rdx and vectors 0, 1 and 2 are temporary registers
// within a single instruction; rbp holds the caller's stack pointer. The stack is aligned and holds
// registers saved around calls, the fields of the frame, and spilled registers. Subclasses have the
// instructions that differ between instruction sets, above all those with masks.
class Assembler : protected Xbyak::CodeGenerator {
 public:
  Assembler(const Code& code, const Allocation& allocation, const RegisterCounts& counts,
            int vector_bytes, std::byte* buffer, size_t size);
  ~Assembler() override = default;
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  // Returns the number of bytes. Raises Xbyak::Error if the buffer is too small.
  size_t assemble();

 protected:
  using General = Xbyak::Reg;
  using Vector = Xbyak::Xmm;  // or a wider one; a copy keeps the kind
  using Operand = Xbyak::Operand;
  // The forms of an operation: one float, one double, lanes of floats, lanes of doubles.
  template <class Function>
  struct FormsOf {
    Function ss, sd, ps, pd;

    Function of(RegType type) const {
      if (type.lanes == 1) return type.width == 4 ? ss : sd;
      return type.width == 4 ? ps : pd;
    }
  };
  using Binary = void (CodeGenerator::*)(const Xbyak::Xmm&, const Operand&, const Operand&);
  using Ternary = void (CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Xmm&, const Operand&);
  using Forms = FormsOf<Binary>;

  // ---- what differs between instruction sets
  // Instructions with masks, accesses of tiles, kFloatRound, kFloatScale and rounding to halves.
  virtual bool emit_masked(const Inst& inst) = 0;
  // Loads or stores the first `bytes` bytes of a register, a multiple of 4 that no plain move has.
  virtual void load_first(const Vector& target, const Xbyak::Address& address, int bytes) = 0;
  virtual void store_first(const Xbyak::Address& address, const Vector& from, int bytes) = 0;
  // A constant in memory as the last operand of an instruction.
  virtual Xbyak::Address in_memory(uint64_t bits, RegType type) = 0;
  virtual void load_constant(const Vector& target, uint64_t bits, RegType type) = 0;

  Location where(Reg reg) const { return allocation_.locations[reg]; }
  bool is_in_register(const Arg& arg) const {
    return arg.is_reg() && where(arg.as_reg()).kind == Location::Kind::kRegister;
  }
  Xbyak::Address slot(Reg reg) const;
  // The label of a constant that is stored once, or `times` times side by side.
  const Xbyak::Label& constant(uint64_t bits, int width, int times);
  // The register that holds the constant in all lanes. The constants that loops read first have the
  // vector registers that no value is in.
  std::optional<int> register_of_constant(uint64_t bits, RegType type);

  // ---- encode_general.cpp
  static General sized(const General& reg, int width);
  General register_of(Reg reg, int width) const;
  void load(const General& target, const Arg& arg);  // in the target's width
  // A register that holds the argument; loads it to `spare` if it is not in one.
  General in_register(const Arg& arg, int width, const General& spare);
  void finish(const Inst& inst, const General& made);

  // ---- encode_vector.cpp
  static Vector sized(int index, RegType type);
  Vector vector_of(Reg reg, RegType type) const;
  Vector in_vector(const Arg& arg, RegType type, int spare);
  Vector vector_target(const Inst& inst) const;
  void finish(const Inst& inst, const Vector& made);
  template <class Use>
  void with_vector_operand(const Arg& arg, RegType type, Use use);
  // The address of an access in a tile: arg 0, the index arg 1, and `imm` bytes.
  Xbyak::RegExp tile_address(const Inst& inst);

  const Code& code_;
  const Allocation& allocation_;

 private:
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
  void save_vectors(int at, bool restores);
  void load_kept_constants();
  void constants();

  // ---- encode_general.cpp
  bool emit_general(const Inst& inst);
  bool emit_division(const Inst& inst);
  bool emit_shift(const Inst& inst);
  void emit_unary(const Inst& inst);
  void divide_by_power(const Inst& inst, uint64_t divisor);
  // The register for a result: its own, or rax if that holds one of these arguments.
  General target(const Inst& inst, std::initializer_list<Arg> avoid);
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
  // Repeats one element, which is in memory or in the first lane of a register.
  void repeat(const Vector& target, RegType type, const Operand& element);
  void store_vector(const Xbyak::Address& address, const Vector& from, int bytes);

  const RegisterCounts counts_;
  const int vector_bytes_;  // of the widest register
  // Offsets of the frame's fields from rsp.
  struct FrameLayout {
    int saved_masks, saved_general, frame, countdown;
    int call_inputs;   // three pointers
    int call_buffers;  // inputs, then the output
    int workspace;
    int slots;
  };
  const FrameLayout at_;
  std::vector<Xbyak::Label> labels_;
  std::map<std::tuple<uint64_t, int, int>, Xbyak::Label> constants_;
  struct KeptConstant {
    uint64_t bits;
    int width;
    bool operator==(const KeptConstant&) const = default;
  };
  std::vector<KeptConstant> kept_constants_;  // in the last vector registers, from the end
  int register_of_kept(size_t number) const {
    return 2 + counts_.vector - static_cast<int>(number);
  }
  int depth_ = 0;  // of the loop
  struct Cold {
    Xbyak::Label begin, back;
  };
  std::vector<Cold> colds_;  // one for each interrupt check
  Xbyak::Label save_and_call_, leave_, load_kept_constants_, begin_;
};

// Masks are vectors whose lanes have all bits set, or none. In encode_avx2.cpp.
inline constexpr RegisterCounts kAvx2Registers = {.vector = 13};
std::unique_ptr<Assembler> make_avx2_assembler(const Code& code, const Allocation& allocation,
                                               std::byte* buffer, size_t size);

// Masks are mask registers, and vectors have up to 64 bytes. In encode_avx512.cpp. Mask registers 1
// and 2 are temporary registers.
inline constexpr RegisterCounts kAvx512Registers = {.vector = 29, .mask = 5};
std::unique_ptr<Assembler> make_avx512_assembler(const Code& code, const Allocation& allocation,
                                                 std::byte* buffer, size_t size);

// The processor's predicates for comparisons of floats. None of them signals for quiet NaNs.
inline uint8_t float_predicate(Cond cond) {
  switch (cond) {
    case Cond::kEq:
      return 0;
    case Cond::kNe:
      return 4;
    case Cond::kLt:
      return 17;
    case Cond::kLe:
      return 18;
    case Cond::kGt:
      return 30;
    case Cond::kGe:
      return 29;
    default:
      return 3;  // unordered: an operand is NaN
  }
}

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
  if (arg.is_const()) {
    if (const auto kept = register_of_constant(arg.bits, type)) {
      return use(static_cast<const Operand&>(sized(*kept, type)));
    }
    return use(static_cast<const Operand&>(in_memory(arg.bits, type)));
  }
  if (is_in_register(arg)) {
    return use(static_cast<const Operand&>(vector_of(arg.as_reg(), type)));
  }
  return use(static_cast<const Operand&>(slot(arg.as_reg())));
}

}  // namespace farcall::native::jit
