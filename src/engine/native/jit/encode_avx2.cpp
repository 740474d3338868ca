// AVX2: masks are vectors whose lanes have all bits set, or none.
#include "engine/native/jit/assembler.h"

namespace farcall::native::jit {
namespace {

class Avx2Assembler final : public Assembler {
 public:
  Avx2Assembler(const Code& code, const Allocation& allocation, std::byte* buffer, size_t size)
      : Assembler(code, allocation, kAvx2Registers, 32, buffer, size) {}

 private:
  // The constant fills a vector, or is one lane.
  Xbyak::Address in_memory(uint64_t bits, RegType type) override {
    return ptr[rip + constant(bits, type.width, type.lanes > 1 ? 32 / type.width : 1)];
  }
  void load_constant(const Vector& target, uint64_t bits, RegType type) override {
    const Xbyak::Address from = in_memory(bits, type);
    if (type.lanes > 1) return vmovups(target, from);
    type.width == 4 ? vmovss(target, from) : vmovsd(target, from);
  }

  // Loads a mask of the first `bytes` bytes to vector 2.
  Vector first_bytes(const Vector& like, int bytes) {
    const int size = static_cast<int>(like.getBit()) / 8;
    const Vector made = sized(2, vector(4, size / 4));
    Xbyak::Label bits, after;
    vmovups(made, ptr[rip + bits]);
    jmp(after);
    align(4);
    L(bits);
    for (int i = 0; i < size; i += 4) dd(i < bytes ? UINT32_MAX : 0);
    L(after);
    return made;
  }
  void load_first(const Vector& target, const Xbyak::Address& address, int bytes) override {
    vmaskmovps(target, first_bytes(target, bytes), address);
  }
  void store_first(const Xbyak::Address& address, const Vector& from, int bytes) override {
    vmaskmovps(address, first_bytes(from, bytes), from);
  }

  bool emit_masked(const Inst& inst) override {
    switch (inst.op) {
      case Op::kFloatRound:
        round(inst);
        return true;
      case Op::kFloatSubAdd:
        return bitwise(inst, inst.args[1], &CodeGenerator::vaddsubps);
      case Op::kFloatCompare:
        float_compare(inst);
        return true;
      case Op::kLaneEqual:
        return lane_compare(inst, &CodeGenerator::vpcmpeqd, &CodeGenerator::vpcmpeqq);
      case Op::kLaneGreater:
        return lane_compare(inst, &CodeGenerator::vpcmpgtd, &CodeGenerator::vpcmpgtq);
      case Op::kMaskAnd:
      case Op::kSelectOrZero:
        return bitwise(inst, inst.args[1], &CodeGenerator::vandps);
      case Op::kMaskOr:
        return bitwise(inst, inst.args[1], &CodeGenerator::vorps);
      case Op::kMaskXor:
        return bitwise(inst, inst.args[1], &CodeGenerator::vxorps);
      case Op::kMaskNot:
        return bitwise(inst, Arg::constant(inst.type.width == 4 ? UINT32_MAX : ~uint64_t{0}),
                       &CodeGenerator::vxorps);
      case Op::kBlend:
        blend(inst);
        return true;
      case Op::kMaskOfBool:
        mask_of_bool(inst);
        return true;
      case Op::kBoolOfMask:
        vmovd(eax, Xbyak::Xmm(in_vector(inst.args[0], inst.source, 0).getIdx()));
        and_(eax, 1);
        finish(inst, General(eax));
        return true;
      case Op::kAnyLane:
        any_lane(inst);
        return true;
      case Op::kTileMask:
        tile_mask(inst);
        return true;
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

  void round(const Inst& inst) {
    const bool is_float = inst.type.width == 4;
    const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
    const auto mode = static_cast<uint8_t>(inst.imm | 8);  // no exception if inexact
    if (inst.type.lanes == 1) {
      is_float ? vroundss(made, x, x, mode) : vroundsd(made, x, x, mode);
    } else {
      is_float ? vroundps(made, x, mode) : vroundpd(made, x, mode);
    }
    finish(inst, made);
  }

  void float_compare(const Inst& inst) {
    const bool is_float = inst.source.width == 4;
    const Vector x = in_vector(inst.args[0], inst.source, 1), made = vector_target(inst);
    const uint8_t number = float_predicate(inst.cond);
    with_vector_operand(inst.args[1], inst.source, [&](const Operand& y) {
      if (inst.source.lanes == 1) {
        is_float ? vcmpss(made, x, y, number) : vcmpsd(made, x, y, number);
      } else {
        is_float ? vcmpps(made, x, y, number) : vcmppd(made, x, y, number);
      }
    });
    finish(inst, made);
  }

  bool lane_compare(const Inst& inst, Ternary four, Ternary eight) {
    const Vector x = in_vector(inst.args[0], inst.source, 1);
    const Vector y = in_vector(inst.args[1], inst.source, 2), made = vector_target(inst);
    (this->*(inst.source.width == 4 ? four : eight))(made, x, y);
    finish(inst, made);
    return true;
  }

  bool bitwise(const Inst& inst, const Arg& second, Binary operation) {
    const Vector x = in_vector(inst.args[0], inst.type, 1), y = in_vector(second, inst.type, 2);
    const Vector made = vector_target(inst);
    (this->*operation)(made, x, y);
    finish(inst, made);
    return true;
  }

  void blend(const Inst& inst) {
    const Vector chosen = in_vector(inst.args[0], inst.type, 0);
    const Vector no = in_vector(inst.args[1], inst.type, 1);
    const Vector yes = in_vector(inst.args[2], inst.type, 2), made = vector_target(inst);
    inst.type.width == 4 ? vblendvps(made, no, yes, chosen) : vblendvpd(made, no, yes, chosen);
    finish(inst, made);
  }

  void mask_of_bool(const Inst& inst) {
    const Vector made = vector_target(inst);
    const Xbyak::Xmm low(made.getIdx());
    load(eax, inst.args[0]);
    neg(rax);
    vmovq(low, rax);
    if (inst.type.lanes > 1) {
      inst.type.width == 4 ? vpbroadcastd(made, low) : vpbroadcastq(made, low);
    }
    finish(inst, made);
  }

  void any_lane(const Inst& inst) {
    const Vector x = in_vector(inst.args[0], inst.source, 0);
    // The lanes after the first one are undefined.
    if (inst.source.lanes == 1) {
      vmovd(eax, Xbyak::Xmm(x.getIdx()));
    } else {
      inst.source.width == 4 ? vmovmskps(eax, x) : vmovmskpd(eax, x);
    }
    finish(inst, General(eax));
  }

  // ---- tiles

  void tile_mask(const Inst& inst) {
    const Vector made = vector_target(inst);
    const General count = in_register(inst.args[0], 8, rax);
    Xbyak::Label numbers, after;
    vmovq(xmm0, Xbyak::Reg64(count.getIdx()));
    inst.type.width == 4 ? vpbroadcastd(ymm0, xmm0) : vpbroadcastq(ymm0, xmm0);
    vmovups(ymm1, ptr[rip + numbers]);
    jmp(after);
    align(4);
    L(numbers);
    for (uint32_t i = 0; i < 32U / inst.type.width; ++i) {
      dd(i);
      if (inst.type.width == 8) dd(0);
    }
    L(after);
    inst.type.width == 4 ? vpcmpgtd(made, sized(0, inst.type), sized(1, inst.type))
                         : vpcmpgtq(made, sized(0, inst.type), sized(1, inst.type));
    finish(inst, made);
  }

  void tile_load(const Inst& inst) {
    const Vector made = vector_target(inst);
    const Xbyak::Address from = ptr[tile_address(inst)];
    if (inst.args[2].kind == Arg::Kind::kNone) {
      vmovups(made, from);
    } else if (inst.type.width == 4) {
      vmaskmovps(made, in_vector(inst.args[2], mask_of(inst.type), 2), from);
    } else {
      vmaskmovpd(made, in_vector(inst.args[2], mask_of(inst.type), 2), from);
    }
    finish(inst, made);
  }

  void tile_store(const Inst& inst) {
    const Vector value = in_vector(inst.args[3], inst.type, 0);
    const Xbyak::Address to = ptr[tile_address(inst)];
    if (inst.args[2].kind == Arg::Kind::kNone) return vmovups(to, value);
    const Vector chosen = in_vector(inst.args[2], mask_of(inst.type), 2);
    inst.type.width == 4 ? vmaskmovps(to, chosen, value) : vmaskmovpd(to, chosen, value);
  }
};

}  // namespace

std::unique_ptr<Assembler> make_avx2_assembler(const Code& code, const Allocation& allocation,
                                               std::byte* buffer, size_t size) {
  return std::make_unique<Avx2Assembler>(code, allocation, buffer, size);
}

}  // namespace farcall::native::jit
