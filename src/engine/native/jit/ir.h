// The intermediate representation of a loop: a list of instructions on virtual registers, close to
// those of the processor. There are three banks of registers: general registers hold an integer, a
// bool (0 or 1) or an address; vector registers hold one or more lanes of floats or integers; mask
// registers hold one bool for each lane. The number of virtual registers is unlimited; allocate.h
// assigns them to registers of the processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace farcall::native::jit {

enum class Bank : uint8_t { kGeneral, kVector, kMask };

// The type of a register: the bytes of a lane, 4 or 8 (2 for float16), and the number of lanes,
// which is 1 for general registers. A general register of four bytes is zero-extended. A mask has
// the lanes of the vectors that it belongs to.
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
inline constexpr RegType mask(int width, int lanes) {
  return {Bank::kMask, static_cast<uint8_t>(width), static_cast<uint8_t>(lanes)};
}
// The mask of vectors of this type.
inline constexpr RegType mask_of(RegType type) { return mask(type.width, type.lanes); }

using Reg = uint32_t;
inline constexpr Reg kNoReg = UINT32_MAX;

// An argument of an instruction: a register, or a constant that is repeated in all lanes. The lanes
// of a constant mask are all set, or none.
struct Arg {
  enum class Kind : uint8_t { kNone, kReg, kConst };
  Kind kind = Kind::kNone;
  uint64_t bits = 0;  // bits of the constant, or the number of the register

  static Arg reg(Reg reg) { return {Kind::kReg, reg}; }
  static Arg constant(uint64_t bits) { return {Kind::kConst, bits}; }
  static Arg number(int64_t value) { return constant(static_cast<uint64_t>(value)); }
  bool is_reg() const { return kind == Kind::kReg; }
  bool is_const() const { return kind == Kind::kConst; }
  Reg as_reg() const { return static_cast<Reg>(bits); }
  friend bool operator==(const Arg&, const Arg&) = default;
};

// Comparisons. kBelow and the following three compare unsigned integers. Floats use the first six,
// of which only kNe is true for a NaN, and kUnordered, which is true if an operand is NaN.
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
  // Division by zero gives -1 and the dividend as remainder; the lowest integer divided by -1 gives
  // itself and the remainder 0.
  kDiv,
  kRem,
  kUnsignedDiv,
  kUnsignedRem,
  // Shift counts of at least the width shift out all bits but copies of the sign.
  kShiftLeft,
  kShiftRight,
  kShiftRightSigned,
  kCompare,     // 0 or 1: `cond` of args 0 and 1, which have type `source`
  kSelect,      // arg 3 if `cond` holds for args 0 and 1, which have type `source`; else arg 2
  kSignExtend,  // from four to eight bytes
  // ---- floats in vector registers
  kFloatAdd,
  kFloatSub,
  kFloatMul,
  kFloatDiv,
  kFloatMax,
  kFloatMin,        // kFloatMax, kFloatMin: arg 0 if it is greater (less), else arg 1
  kFloatMulAdd,     // arg 0 times arg 1 plus arg 2, rounded once
  kFloatNegMulAdd,  // arg 2 minus arg 0 times arg 1, rounded once
  kFloatSubAdd,     // arg 0 minus arg 1 in even lanes, plus arg 1 in odd ones; lanes of four bytes
  kFloatSqrt,
  kFloatRound,  // `imm` is the processor's mode: 0 to even, 1 down, 2 up, 3 to zero
  kFloatScale,  // arg 0 times 2 to the power of arg 1, an integer, rounded once
  // ---- lanes of vector registers as bits, and as integers
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitAndNot,  // arg 1 without the bits of arg 0
  kBitSelect,  // the bits of arg 1 where the constant arg 2 is set, else those of arg 0; AVX-512
  kLaneAdd,
  kLaneSub,
  kLaneMul,  // lanes of four bytes; with AVX-512 also of eight
  kLaneShiftLeft,
  kLaneShiftRight,
  kLaneShiftRightSigned,  // the three shift by `imm`; lanes of eight bytes by sign with AVX-512
  kBroadcast,             // repeats one lane
  kPermute,     // within each four lanes of four bytes; two bits of `imm` for each of the results
  kUpperLanes,  // the second half of the lanes of arg 0, of type `source`; AVX-512
  // ---- masks; comparisons have args of type `source`
  kFloatCompare,
  kLaneEqual,
  kLaneGreater,  // signed
  kLaneAbove,    // unsigned; AVX-512
  kMaskAnd,
  kMaskOr,
  kMaskXor,
  kMaskNot,
  kBlend,         // arg 2 where the mask arg 0 is set, else arg 1
  kSelectOrZero,  // arg 1 where the mask arg 0 is set, else 0
  kFloatAddWhere,
  kLaneAddWhere,  // both: arg 0, plus arg 1 where the mask arg 2 is set; AVX-512
  // ---- between the banks
  kMaskOfBool,  // repeats the bool in all lanes
  kBoolOfMask,  // of one lane
  kAnyLane,     // nonzero if the mask, of type `source`, is set in any lane
  kBitsToVector,
  kBitsToGeneral,
  kFloatOfInt,
  kFloatOfUnsigned,  // kFloatOfInt, kFloatOfUnsigned: args have type `source`
  kIntOfFloat,
  kUnsignedOfFloat,  // both saturate, NaN gives 0; args have type `source`
  kFloatOfFloat,     // converts the width; args have type `source`
                     // With AVX-512 the three to floats convert all lanes.
  kRoundToHalf,      // lanes of float32 to the nearest float16
  // And to bfloat16; NaN becomes in both the quiet NaN of its sign. `imm`: kKeepsNans and
  // kLeavesLowerHalf.
  kRoundToUpperHalf,
  kHalfOfFloat,  // lanes of float16 to nearest from lanes of float32, whose type is `source`
  kQuietHalf,    // lanes of float16, with the quiet NaN of its sign for each NaN
  kFloatOfHalf,  // lanes of float32 from lanes of float16, whose type is `source`
  // ---- memory; arg 0 is the address
  kLoad,
  kLoadRepeated,  // repeats one element in all lanes
  kStore,         // stores arg 1; both access `bytes` bytes
  // Loads and stores all lanes of a vector or mask at address arg 0, plus arg 1 elements, plus
  // `imm` bytes; only the lanes of mask arg 2, if there is one, are accessed, others load as zero.
  // kTileStore stores arg 3.
  kTileLoad,
  kTileStore,
  // Request the memory at arg 0, plus arg 1 elements, plus `imm` bytes, to be read or written soon.
  // No address is invalid.
  kTilePrefetch,
  kTilePrefetchToWrite,
  kTileMask,   // the mask of the first lanes, as many as arg 0
  kPointer,    // the caller's pointer with index `imm`
  kWorkspace,  // the address of the frame's workspace
  kCount,      // the number of steps, given by the caller
  kRows,       // the number of rows of a tile, given by the caller; the count is that of a row
  kSetCount,   // returns arg 0 to the caller as the count
  // ---- calls
  kCall,    // passes args 0 to 2 to the kernel's loop at address `imm`
  kKernel,  // passes the address arg 0 and `extra` to the function at address `imm`
  // ---- control flow
  kLabel,  // `imm` is the number of the label; the same in jumps to it
  kJump,
  kBranch,  // if `cond` holds for args 0 and 1, which have type `source`
  kLoopBegin,
  kLoopEnd,    // repeats the instructions after kLoopBegin
  kCountDown,  // checks for interrupts from time to time; `imm` is the weight of the loop's step
};

// Of kRoundToUpperHalf.
inline constexpr int64_t kKeepsNans = 1;        // the lower halves of NaNs are zero; NaNs stay
inline constexpr int64_t kLeavesLowerHalf = 2;  // only the upper halves of results are read

// The elements of a tile in memory.
enum class Format : uint8_t {
  kPlain,      // as in the register
  kBool,       // a byte for each lane of a mask
  kHalf,       // float16 for a lane of float32
  kUpperHalf,  // 16 bits for the upper half of a lane of four bytes
};

struct Inst {
  Op op = Op::kMove;
  Cond cond = Cond::kEq;
  Format format = Format::kPlain;
  uint8_t bytes = 0;  // of the access in memory, except in tiles
  RegType type{};     // of the result, and of the args unless they have type `source`
  RegType source{};
  Reg dest = kNoReg;
  std::array<Arg, 4> args{};
  int64_t imm = 0;
  int64_t extra = 0;  // of calls

  // Whether its only effect is to write its register.
  bool is_pure() const { return dest != kNoReg && op != Op::kMove && op < Op::kLabel; }

  int element_bytes() const {  // of a tile in memory
    return format == Format::kPlain ? type.width : format == Format::kBool ? 1 : 2;
  }
};

// A carry that stays in memory: its initial value is copied to its result before the code runs.
// `initial` and `result` are indices of pointers.
struct InPlace {
  size_t initial, result, nbytes;
};

struct Code {
  std::vector<RegType> regs;
  std::vector<Inst> insts;
  uint32_t num_labels = 0;
  int32_t workspace_bytes = 0;
  std::vector<std::shared_ptr<const void>> kernels{};  // that it calls
  std::vector<InPlace> in_place{};
  bool calls_kernels = false;  // other than for products
};

}  // namespace farcall::native::jit
