// What a loop becomes before it is machine code: a list of instructions on virtual registers, near
// to the processor's own. Registers are of one of two banks: general ones hold an integer, a bool
// (0 or 1) or an address, vector ones one or more lanes of floats, of integers, or of a mask (all
// bits of a lane set or none). There are as many as are wanted; allocate.h puts them into those of
// the processor.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace farcall::native::jit {

enum class Bank : uint8_t { kGeneral, kVector };

// Of a register: the bytes of a lane, 4 or 8, and how many lanes there are; a general one has one.
// A general register of four bytes has zeros above them.
struct RegType {
  Bank bank = Bank::kGeneral;
  uint8_t width = 4;
  uint8_t lanes = 1;

  int bytes() const { return width * lanes; }
  friend bool operator==(const RegType&, const RegType&) = default;
};

inline constexpr RegType general(int width) {
  return {Bank::kGeneral, static_cast<uint8_t>(width), 1};
}
inline constexpr RegType vector(int width, int lanes) {
  return {Bank::kVector, static_cast<uint8_t>(width), static_cast<uint8_t>(lanes)};
}

using Reg = uint32_t;
inline constexpr Reg kNoReg = UINT32_MAX;

// What an instruction reads: a register, or a constant by its bits, which all lanes have.
struct Arg {
  enum class Kind : uint8_t { kNone, kReg, kConst };
  Kind kind = Kind::kNone;
  uint64_t bits = 0;  // of the constant; number of the register

  static Arg reg(Reg reg) { return {Kind::kReg, reg}; }
  static Arg constant(uint64_t bits) { return {Kind::kConst, bits}; }
  bool is_reg() const { return kind == Kind::kReg; }
  bool is_const() const { return kind == Kind::kConst; }
  Reg as_reg() const { return static_cast<Reg>(bits); }
  friend bool operator==(const Arg&, const Arg&) = default;
};

// Comparisons; the last four of integers without a sign. Of floats the first six: with NaN all are
// false but kNe; kUnordered is true if there is one.
enum class Cond : uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kBelow,
  kBelowOrEqual,
  kAbove,
  kAboveOrEqual,
  kUnordered
};

enum class Op : uint8_t {
  kMove,
  // ---- integers in general registers; they wrap
  kAdd,
  kSub,
  kMul,
  kAnd,
  kOr,
  kXor,
  kNeg,
  kNot,
  kAbs,
  kSign,
  kPopulationCount,
  kCountLeadingZeros,
  // By zero -1, or the dividend; the lowest one by -1 itself, or 0.
  kDiv,
  kRem,
  kUnsignedDiv,
  kUnsignedRem,
  // Counts of the width and more leave nothing but the sign.
  kShiftLeft,
  kShiftRight,
  kShiftRightSigned,
  kCompare,     // 0 or 1: `cond` of args 0 and 1, which are of `source`
  kSelect,      // `cond` of args 0 and 1, which are of `source`: arg 3, else arg 2
  kSignExtend,  // four bytes to eight
  // ---- floats in vector registers
  kFloatAdd,
  kFloatSub,
  kFloatMul,
  kFloatDiv,
  kFloatMax,
  kFloatMin,     // arg 0 if it is greater, or less, else arg 1
  kFloatMulAdd,  // args 0 times 1 plus 2, rounded once
  kFloatSqrt,
  kFloatRound,    // `imm` is the processor's: 0 even, 1 down, 2 up, 3 to zero
  kFloatCompare,  // a mask
  // ---- lanes of vector registers as bits, and as integers
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitAndNot,  // kBitAndNot: arg 1 where arg 0 has no bit
  kLaneAdd,
  kLaneSub,
  kLaneMul,  // kLaneMul: of four bytes
  kLaneShiftLeft,
  kLaneShiftRight,  // by `imm`
  kLaneEqual,
  kLaneGreater,  // masks; kLaneGreater with a sign
  kBlend,        // arg 2 where the mask arg 0 is set, else arg 1
  kBroadcast,    // one lane to all
  // ---- between the banks
  kMaskOfBool,
  kBoolOfMask,
  kAnyLane,  // not 0 if the mask, of `source`, is set in any lane
  kBitsToVector,
  kBitsToGeneral,
  kFloatOfInt,
  kFloatOfUnsigned,  // args are of `source`
  kIntOfFloat,
  kUnsignedOfFloat,  // saturating, NaN is 0; args are of `source`
  kFloatOfFloat,     // another width; args are of `source`
  // ---- memory; arg 0 is the address
  kLoad,
  kStore,     // of `bytes` bytes; kStore of arg 1
  kPointer,   // the pointer of number `imm` that the caller gave
  kCount,     // the number of steps that the caller gave
  kSetCount,  // and what it gets back: arg 0
  // ---- calls: arg 0 to 2 to the loop of kernels in `imm`
  kCall,
  // ---- the order of things
  kLabel,  // `imm` is its number; so in those that go there
  kJump,
  kBranch,  // if `cond` of args 0 and 1, which are of `source`
  kLoopBegin,
  kLoopEnd,    // what is between is run again and again
  kCountDown,  // once in a while looks for interrupts; `imm` is the loop's weight
};

struct Inst {
  Op op = Op::kMove;
  Cond cond = Cond::kEq;
  uint8_t bytes = 0;  // in memory
  RegType type{};     // of the result, and of the args unless `source` is meant
  RegType source{};
  Reg dest = kNoReg;
  std::array<Arg, 4> args{};
  int64_t imm = 0;
  int64_t extra = 0;  // kCall: the loop's own number

  // Whether it does nothing but write its register.
  bool is_pure() const { return dest != kNoReg && op != Op::kMove && op < Op::kLabel; }
};

struct Code {
  std::vector<RegType> regs;
  std::vector<Inst> insts;
  uint32_t num_labels = 0;
};

}  // namespace farcall::native::jit
