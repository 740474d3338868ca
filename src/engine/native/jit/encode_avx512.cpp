// AVX-512 (F, BW, DQ, VL): masks are mask registers.
#include <bit>

#include "engine/native/jit/assembler.h"

namespace farcall::native::jit {
namespace {

class Avx512Assembler final : public Assembler {
 public:
  Avx512Assembler(const Code& code, const Allocation& allocation, std::byte* buffer, size_t size)
      : Assembler(code, allocation, kAvx512Registers, 64, buffer, size) {}

 private:
  using Mask = Xbyak::Opmask;

  // One lane, which instructions on several lanes repeat.
  Xbyak::Address in_memory(uint64_t bits, RegType type) override {
    const Xbyak::Label& place = type.width == 2 ? two_halves(bits) : constant(bits, type.width, 1);
    return type.lanes > 1 ? ptr_b[rip + place] : ptr[rip + place];
  }
  const Xbyak::Label& two_halves(uint64_t bits) { return constant(bits << 16 | bits, 4, 1); }
  void load_constant(const Vector& target, uint64_t bits, RegType type) override {
    if (type.width == 2) return vpbroadcastd(target, ptr[rip + two_halves(bits)]);
    const Xbyak::Address from = ptr[rip + constant(bits, type.width, 1)];
    if (type.lanes == 1) {
      type.width == 4 ? vmovss(target, from) : vmovsd(target, from);
    } else {
      type.width == 4 ? vpbroadcastd(target, from) : vpbroadcastq(target, from);
    }
  }

  // Mask register 1 with the first `bytes` bytes, as lanes of four bytes.
  Mask first_lanes(int bytes) {
    mov(eax, (1U << (bytes / 4)) - 1);
    kmovd(k1, eax);
    return k1;
  }
  void load_first(const Vector& target, const Xbyak::Address& address, int bytes) override {
    vmovups(target | first_lanes(bytes) | T_z, address);
  }
  void store_first(const Xbyak::Address& address, const Vector& from, int bytes) override {
    vmovups(address | first_lanes(bytes), from);
  }

  // ---- masks

  Mask in_mask(const Arg& arg, const Mask& spare) {
    if (is_in_register(arg)) return Mask(3 + where(arg.as_reg()).index);
    if (arg.is_reg()) {
      kmovq(spare, slot(arg.as_reg()));
    } else if (arg.bits == 0) {
      kxorq(spare, spare, spare);
    } else {
      kxnorq(spare, spare, spare);
    }
    return spare;
  }
  Mask mask_target(const Inst& inst) const {
    const Location location = where(inst.dest);
    return location.kind == Location::Kind::kRegister ? Mask(3 + location.index) : k1;
  }
  void finish_mask(const Inst& inst, const Mask& made) {
    const Location location = where(inst.dest);
    if (location.kind == Location::Kind::kStack) {
      kmovq(slot(inst.dest), made);
    } else if (location.kind == Location::Kind::kRegister && 3 + location.index != made.getIdx()) {
      kmovq(Mask(3 + location.index), made);
    }
  }

  bool emit_masked(const Inst& inst) override {
    switch (inst.op) {
      case Op::kMove:
        if (inst.type.bank != Bank::kMask) return false;
        finish_mask(inst, in_mask(inst.args[0], k1));
        return true;
      case Op::kFloatRound:
        round(inst);
        return true;
      case Op::kFloatScale:
        scale(inst);
        return true;
      case Op::kRoundToHalf:
        round_to_half(inst);
        return true;
      case Op::kFloatAdd:
      case Op::kFloatSub:
      case Op::kFloatMul:
        if (inst.type.width != 2) return false;
        half_arithmetic(inst);
        return true;
      case Op::kHalfOfFloat:
        from_source(inst, [&](auto& made, auto& x) { vcvtps2ph(made, x, 0); });
        return true;
      case Op::kQuietHalf:
        quiet_half(inst);
        return true;
      case Op::kFloatOfHalf:
        from_source(inst, [&](auto& made, auto& x) { vcvtph2ps(made, x); });
        return true;
      case Op::kRoundToUpperHalf:
        round_to_upper_half(inst);
        return true;
      case Op::kBitSelect:
        bit_select(inst);
        return true;
      case Op::kFloatOfInt:
      case Op::kFloatOfUnsigned:
      case Op::kFloatOfFloat:
        if (inst.type.lanes == 1) return false;
        to_float(inst);
        return true;
      case Op::kUpperLanes:
        from_source(inst, [&](auto& made, auto& x) {
          vextractf32x8(Xbyak::Ymm(made.getIdx()), Xbyak::Zmm(x.getIdx()), 1);
        });
        return true;
      case Op::kFloatSubAdd:
        subtract_add(inst);
        return true;
      case Op::kFloatCompare:
        float_compare(inst);
        return true;
      case Op::kLaneEqual:
      case Op::kLaneGreater:
      case Op::kLaneAbove:
        lane_compare(inst);
        return true;
      case Op::kMaskAnd:
        return combine(inst, &CodeGenerator::kandq);
      case Op::kMaskOr:
        return combine(inst, &CodeGenerator::korq);
      case Op::kMaskXor:
        return combine(inst, &CodeGenerator::kxorq);
      case Op::kMaskNot: {
        const Mask x = in_mask(inst.args[0], k1), made = mask_target(inst);
        knotq(made, x);
        finish_mask(inst, made);
        return true;
      }
      case Op::kBlend:
        blend(inst);
        return true;
      case Op::kSelectOrZero: {
        const Mask chosen = in_mask(inst.args[0], k1);
        const Vector x = in_vector(inst.args[1], inst.type, 1), made = vector_target(inst);
        inst.type.width == 4 ? vmovaps(made | chosen | T_z, x) : vmovapd(made | chosen | T_z, x);
        finish(inst, made);
        return true;
      }
      case Op::kFloatAddWhere:
      case Op::kLaneAddWhere:
        add_where(inst);
        return true;
      case Op::kMaskOfBool:
      case Op::kBoolOfMask:
      case Op::kAnyLane:
        convert(inst);
        return true;
      case Op::kTileMask: {
        const Mask made = mask_target(inst);
        const General count = in_register(inst.args[0], 8, rcx);
        mov(rax, -1);
        bzhi(rax, rax, Xbyak::Reg64(count.getIdx()));
        kmovq(made, rax);
        finish_mask(inst, made);
        return true;
      }
      case Op::kTileLoad:
        tile_load(inst);
        return true;
      case Op::kTileStore:
        tile_store(inst);
        return true;
      default:
        return false;
    }
  }

  // emit(result, argument of type `source`)
  template <class Emit>
  void from_source(const Inst& inst, const Emit& emit) {
    const Vector x = in_vector(inst.args[0], inst.source, 1), made = vector_target(inst);
    emit(made, x);
    finish(inst, made);
  }

  void round(const Inst& inst) {
    const bool is_float = inst.type.width == 4;
    const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
    const auto mode = static_cast<uint8_t>(inst.imm | 8);  // no exception if inexact
    if (inst.type.lanes == 1) {
      is_float ? vrndscaless(made, x, x, mode) : vrndscalesd(made, x, x, mode);
    } else {
      is_float ? vrndscaleps(made, x, mode) : vrndscalepd(made, x, mode);
    }
    finish(inst, made);
  }

  void scale(const Inst& inst) {
    const bool is_float = inst.type.width == 4;
    const Vector x = in_vector(inst.args[0], inst.type, 1);
    const Vector k = in_vector(inst.args[1], inst.type, 2), made = vector_target(inst);
    if (inst.type.lanes == 1) {
      is_float ? vscalefss(made, x, k) : vscalefsd(made, x, k);
    } else {
      is_float ? vscalefps(made, x, k) : vscalefpd(made, x, k);
    }
    finish(inst, made);
  }

  // A register with x for an instruction that overwrites it and reads y: that of the result, unless
  // y is there.
  Vector copied_to_target(const Inst& inst, const Vector& x, const Vector& y) {
    const Vector made = vector_target(inst);
    const Vector result = y.getIdx() == made.getIdx() ? sized(0, inst.type) : made;
    if (x.getIdx() != result.getIdx()) vmovaps(result, x);
    return result;
  }

  void bit_select(const Inst& inst) {
    constexpr uint8_t kTable = 0xd8;  // the truth table of (a, b, c): c ? b : a
    const Vector x = in_vector(inst.args[0], inst.type, 0),
                 y = in_vector(inst.args[1], inst.type, 1);
    const Vector result = copied_to_target(inst, x, y);
    with_vector_operand(inst.args[2], inst.type, [&](const Operand& chosen) {
      inst.type.width == 4 ? vpternlogd(result, y, chosen, kTable)
                           : vpternlogq(result, y, chosen, kTable);
    });
    finish(inst, result);
  }

  // A product with one is exact.
  void subtract_add(const Inst& inst) {
    const Vector x = in_vector(inst.args[0], inst.type, 0),
                 y = in_vector(inst.args[1], inst.type, 1);
    const Vector result = copied_to_target(inst, x, y);
    const Arg one = Arg::constant(std::bit_cast<uint32_t>(1.0F));
    with_vector_operand(one, inst.type,
                        [&](const Operand& factor) { vfmaddsub132ps(result, y, factor); });
    finish(inst, result);
  }

  // Conversions of all lanes, to nearest.
  void to_float(const Inst& inst) {
    from_source(inst, [&](auto& made, auto& x) { to_float(inst, made, x); });
  }
  void to_float(const Inst& inst, const Vector& made, const Vector& x) {
    const bool is_float = inst.type.width == 4, is_from_four = inst.source.width == 4;
    if (inst.op == Op::kFloatOfFloat) {
      is_float ? vcvtpd2ps(made, x) : vcvtps2pd(made, x);
    } else if (inst.op == Op::kFloatOfInt) {
      if (is_from_four) {
        is_float ? vcvtdq2ps(made, x) : vcvtdq2pd(made, x);
      } else {
        is_float ? vcvtqq2ps(made, x) : vcvtqq2pd(made, x);
      }
    } else if (is_from_four) {
      is_float ? vcvtudq2ps(made, x) : vcvtudq2pd(made, x);
    } else {
      is_float ? vcvtuqq2ps(made, x) : vcvtuqq2pd(made, x);
    }
  }

  // Half of a vector, for 16-bit elements.
  static Vector half_of(const Vector& whole) {
    return whole.isZMM() ? Vector(Xbyak::Ymm(whole.getIdx())) : Vector(whole.getIdx());
  }

  // Gives a register for the result with the quiet NaN of the sign of x in each lane, and the mask
  // of numbers in k2. Register 0 is unchanged. x is not read after this.
  Vector nan_for_rounding(const Inst& inst, const Vector& x) {
    const Vector made = vector_target(inst), sign = sized(1, inst.type);
    const Vector result = made.getIdx() > 2 ? made : sized(2, inst.type);
    constexpr uint8_t kIsNumber = 7;
    vcmpps(k2, x, x, kIsNumber);
    if (result.getIdx() != x.getIdx()) vmovaps(result, x);
    load_constant(sign, 0x80000000, inst.type);
    constexpr uint8_t kAndOr = 0xea;  // the truth table of (a, b, c): a & b | c
    vpternlogd(result, sign, in_memory(0x7fc00000, inst.type), kAndOr);
    return result;
  }

  void round_to_half(const Inst& inst) {
    const Vector x = in_vector(inst.args[0], inst.type, 1);
    const Vector half = half_of(sized(0, inst.type));
    vcvtps2ph(half, x, 0);
    const Vector result = nan_for_rounding(inst, x);
    vcvtph2ps(result | k2, half);
    finish(inst, result);
  }

  void half_arithmetic(const Inst& inst) {
    const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
    with_vector_operand(inst.args[1], inst.type, [&](const Operand& y) {
      if (inst.op == Op::kFloatAdd) {
        vaddph(made, x, y);
      } else if (inst.op == Op::kFloatSub) {
        vsubph(made, x, y);
      } else {
        vmulph(made, x, y);
      }
    });
    finish(inst, made);
  }

  void quiet_half(const Inst& inst) {
    constexpr uint8_t kIsNan = 3, kAndOr = 0xea;  // the truth table of (a, b, c): a & b | c
    const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
    const Vector quiet = sized(0, inst.type), bits = sized(2, inst.type);
    vcmpph(k1, x, x, kIsNan);
    vmovaps(quiet, x);
    load_constant(bits, 0x8000, inst.type);
    const RegType pairs = vector(4, inst.type.lanes / 2);
    vpternlogd(quiet, bits, in_memory(0x7e007e00, pairs), kAndOr);
    vpblendmw(made | k1, x, quiet);
    finish(inst, made);
  }

  // To nearest, ties to even: adds 0x7fff, and one more if the last kept bit is set.
  void round_to_upper_half(const Inst& inst) {
    const auto with_bits = [&](uint32_t value, const auto& use) {
      with_vector_operand(Arg::constant(value), inst.type, use);
    };
    const auto cut_off = [&](const Vector& made, const Vector& sum) {
      with_bits(0xffff0000, [&](const Operand& upper) { vpandd(made, sum, upper); });
    };
    const Vector x = in_vector(inst.args[0], inst.type, 1);
    const bool keeps_nans = (inst.imm & kKeepsNans) != 0;
    const Vector sum = keeps_nans ? vector_target(inst) : sized(0, inst.type);
    with_bits(0x10000, [&](const Operand& last_bit) { vptestmd(k1, x, last_bit); });
    with_bits(0x7fff, [&](const Operand& below_half) { vpaddd(sum, x, below_half); });
    with_bits(1, [&](const Operand& one) { vpaddd(sum | k1, sum, one); });
    if (keeps_nans) {
      if ((inst.imm & kLeavesLowerHalf) == 0) cut_off(sum, sum);
      return finish(inst, sum);
    }
    const Vector result = nan_for_rounding(inst, x);
    cut_off(result | k2, sum);
    finish(inst, result);
  }

  void float_compare(const Inst& inst) {
    const bool is_float = inst.source.width == 4;
    const Vector x = in_vector(inst.args[0], inst.source, 1);
    const Mask made = mask_target(inst);
    const uint8_t number = float_predicate(inst.cond);
    with_vector_operand(inst.args[1], inst.source, [&](const Operand& y) {
      if (inst.source.lanes == 1) {
        is_float ? vcmpss(made, x, y, number) : vcmpsd(made, x, y, number);
      } else {
        is_float ? vcmpps(made, x, y, number) : vcmppd(made, x, y, number);
      }
    });
    finish_mask(inst, made);
  }

  void lane_compare(const Inst& inst) {
    const Vector x = in_vector(inst.args[0], inst.source, 1);
    const Vector y = in_vector(inst.args[1], inst.source, 2);
    const Mask made = mask_target(inst);
    if (inst.op == Op::kLaneEqual) {
      inst.source.width == 4 ? vpcmpeqd(made, x, y) : vpcmpeqq(made, x, y);
    } else if (inst.op == Op::kLaneGreater) {
      inst.source.width == 4 ? vpcmpgtd(made, x, y) : vpcmpgtq(made, x, y);
    } else {
      constexpr uint8_t kAbove = 6;  // not below or equal
      inst.source.width == 4 ? vpcmpud(made, x, y, kAbove) : vpcmpuq(made, x, y, kAbove);
    }
    finish_mask(inst, made);
  }

  bool combine(const Inst& inst,
               void (CodeGenerator::*operation)(const Mask&, const Mask&, const Mask&)) {
    const Mask x = in_mask(inst.args[0], k1), y = in_mask(inst.args[1], k2);
    const Mask made = mask_target(inst);
    (this->*operation)(made, x, y);
    finish_mask(inst, made);
    return true;
  }

  // For one lane, the other lanes of the result are undefined.
  void blend(const Inst& inst) {
    const Mask chosen = in_mask(inst.args[0], k1);
    const Vector no = in_vector(inst.args[1], inst.type, 1);
    const Vector yes = in_vector(inst.args[2], inst.type, 2), made = vector_target(inst);
    inst.type.width == 4 ? vblendmps(made | chosen, no, yes) : vblendmpd(made | chosen, no, yes);
    finish(inst, made);
  }

  void add_where(const Inst& inst) {
    const Mask chosen = in_mask(inst.args[2], k1);
    const Vector x = in_vector(inst.args[0], inst.type, 0),
                 y = in_vector(inst.args[1], inst.type, 1);
    const Vector result = copied_to_target(inst, x, y);
    if (inst.op == Op::kFloatAddWhere) {
      inst.type.width == 4 ? vaddps(result | chosen, result, y)
                           : vaddpd(result | chosen, result, y);
    } else {
      inst.type.width == 4 ? vpaddd(result | chosen, result, y)
                           : vpaddq(result | chosen, result, y);
    }
    finish(inst, result);
  }

  void convert(const Inst& inst) {
    if (inst.op == Op::kMaskOfBool) {
      const Mask made = mask_target(inst);
      load(eax, inst.args[0]);
      neg(rax);
      kmovq(made, rax);
      return finish_mask(inst, made);
    }
    // Lanes after the last one are undefined.
    kmovd(eax, in_mask(inst.args[0], k1));
    and_(eax, (1U << inst.source.lanes) - 1);
    finish(inst, General(eax));
  }

  // ---- tiles

  void tile_load(const Inst& inst) {
    const bool is_partial = inst.args[2].kind != Arg::Kind::kNone;
    const Mask part = is_partial ? in_mask(inst.args[2], k1) : k0;
    const Xbyak::Address from = ptr[tile_address(inst)];
    if (inst.format == Format::kBool) {
      const Mask made = mask_target(inst);
      // Bytes of up to 16 lanes.
      is_partial ? vmovdqu8(xmm0 | part | T_z, from) : load_vector_bytes(inst.type.lanes, from);
      vptestmb(made, xmm0, xmm0);
      return finish_mask(inst, made);
    }
    const Vector made = vector_target(inst);
    const Vector to = is_partial ? Vector(made | part | T_z) : made;
    switch (inst.format) {
      case Format::kHalf:
        vcvtph2ps(to, from);
        break;
      case Format::kUpperHalf:
        vpmovzxwd(to, from);
        vpslld(made, made, 16);
        break;
      default:
        if (inst.type.width == 2) {
          vmovdqu16(to, from);
        } else {
          inst.type.width == 4 ? vmovups(to, from) : vmovupd(to, from);
        }
        break;
    }
    finish(inst, made);
  }
  void load_vector_bytes(int lanes, const Xbyak::Address& from) {
    lanes == 16 ? vmovups(xmm0, from) : lanes == 8 ? vmovq(xmm0, from) : vmovd(xmm0, from);
  }

  void tile_store(const Inst& inst) {
    const bool is_partial = inst.args[2].kind != Arg::Kind::kNone;
    const Mask part = is_partial ? in_mask(inst.args[2], k2) : k0;
    const Xbyak::Address plain = ptr[tile_address(inst)];
    const Xbyak::Address to = is_partial ? plain | part : plain;
    if (inst.format == Format::kBool) {
      // All lanes have a byte; those after the last lane are not stored.
      const Mask value = in_mask(inst.args[3], k1);
      load_constant(xmm0, 0x01010101, vector(4, 4));
      vmovdqu8(xmm0 | value | T_z, xmm0);
      if (is_partial) return vmovdqu8(to, xmm0);
      return inst.type.lanes == 16  ? vmovups(to, xmm0)
             : inst.type.lanes == 8 ? vmovq(to, xmm0)
                                    : vmovd(to, xmm0);
    }
    const Vector value = in_vector(inst.args[3], inst.type, 0);
    switch (inst.format) {
      case Format::kHalf:
        return vcvtps2ph(to, value, 0);
      case Format::kUpperHalf: {
        const Vector shifted = sized(1, inst.type);
        vpsrld(shifted, value, 16);
        return vpmovdw(to, shifted);
      }
      default:
        if (inst.type.width == 2) return vmovdqu16(to, value);
        return inst.type.width == 4 ? vmovups(to, value) : vmovupd(to, value);
    }
  }
};

}  // namespace

std::unique_ptr<Assembler> make_avx512_assembler(const Code& code, const Allocation& allocation,
                                                 std::byte* buffer, size_t size) {
  return std::make_unique<Avx512Assembler>(code, allocation, buffer, size);
}

}  // namespace farcall::native::jit
