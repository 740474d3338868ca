// Instructions on floats and lanes. Operations on one lane ignore the contents of the others.
#include <bit>
#include <cmath>
#include <utility>

#include "engine/native/jit/assembler.h"

namespace farcall::native::jit {
namespace {

uint64_t bits_of(double value, int width) {
  return width == 8 ? std::bit_cast<uint64_t>(value)
                    : std::bit_cast<uint32_t>(static_cast<float>(value));
}

}  // namespace

Assembler::Vector Assembler::sized(int index, RegType type) {
  if (type.bytes() > 32) return Xbyak::Zmm(index);
  return type.bytes() > 16 ? Vector(Xbyak::Ymm(index)) : Vector(index);
}

Assembler::Vector Assembler::vector_of(Reg reg, RegType type) const {
  return sized(3 + where(reg).index, type);
}

void Assembler::load_vector(const Vector& target, const Xbyak::Address& address, RegType type,
                            int bytes) {
  const Vector low(target.getIdx());
  if (bytes == 4) return vmovss(low, address);
  if (bytes == 8) return vmovsd(low, address);
  if (bytes == type.bytes()) return vmovups(target, address);
  load_first(target, address, bytes);
}

void Assembler::store_vector(const Xbyak::Address& address, const Vector& from, int bytes) {
  const Vector low(from.getIdx());
  if (bytes == 4) return vmovss(address, low);
  if (bytes == 8) return vmovsd(address, low);
  if (bytes == static_cast<int>(from.getBit()) / 8) return vmovups(address, from);
  store_first(address, from, bytes);
}

Assembler::Vector Assembler::in_vector(const Arg& arg, RegType type, int spare) {
  if (is_in_register(arg)) return vector_of(arg.as_reg(), type);
  const Vector target = sized(spare, type);
  if (arg.is_const() && arg.bits == 0) {
    vxorps(Xbyak::Xmm(spare), Xbyak::Xmm(spare), Xbyak::Xmm(spare));
  } else if (arg.is_const()) {
    if (const auto kept = register_of_constant(arg.bits, type)) return sized(*kept, type);
    load_constant(target, arg.bits, type);
  } else if (type.bytes() > 8) {
    vmovups(target, slot(arg.as_reg()));
  } else if (type.width == 4) {
    vmovss(target, slot(arg.as_reg()));
  } else {
    vmovsd(target, slot(arg.as_reg()));
  }
  return target;
}

Assembler::Vector Assembler::vector_target(const Inst& inst) const {
  return where(inst.dest).kind == Location::Kind::kRegister ? vector_of(inst.dest, inst.type)
                                                            : sized(0, inst.type);
}

void Assembler::finish(const Inst& inst, const Vector& made) {
  const Location location = where(inst.dest);
  if (location.kind == Location::Kind::kStack) {
    vmovups(slot(inst.dest), made);
  } else if (location.kind == Location::Kind::kRegister) {
    const Vector to = vector_of(inst.dest, inst.type);
    if (to.getIdx() != made.getIdx()) vmovaps(to, sized(made.getIdx(), inst.type));
  }
}

// A constant is read from memory as the second operand, if the operation allows to swap them.
void Assembler::emit_binary(const Inst& inst, const Forms& forms) {
  const bool swaps =
      inst.args[0].is_const() && (inst.op == Op::kFloatAdd || inst.op == Op::kFloatMul);
  const Vector x = in_vector(inst.args[swaps ? 1 : 0], inst.type, 1), made = vector_target(inst);
  with_vector_operand(inst.args[swaps ? 0 : 1], inst.type,
                      [&](const Operand& y) { (this->*forms.of(inst.type))(made, x, y); });
  finish(inst, made);
}

// Uses the form of the instruction that overwrites the operand in the result's register, if one is
// there, and that reads a constant from memory.
void Assembler::multiply_add(const Inst& inst) {
  using G = CodeGenerator;
  const bool is_negated = inst.op == Op::kFloatNegMulAdd;
  // Forms 132: r = r z + y, 213: r = y r + z, 231: r = y z + r, where z may be in memory.
  using Fused = FormsOf<Ternary>;
  const Fused form132 =
      is_negated ? Fused{&G::vfnmadd132ss, &G::vfnmadd132sd, &G::vfnmadd132ps, &G::vfnmadd132pd}
                 : Fused{&G::vfmadd132ss, &G::vfmadd132sd, &G::vfmadd132ps, &G::vfmadd132pd};
  const Fused form213 =
      is_negated ? Fused{&G::vfnmadd213ss, &G::vfnmadd213sd, &G::vfnmadd213ps, &G::vfnmadd213pd}
                 : Fused{&G::vfmadd213ss, &G::vfmadd213sd, &G::vfmadd213ps, &G::vfmadd213pd};
  const Fused form231 =
      is_negated ? Fused{&G::vfnmadd231ss, &G::vfnmadd231sd, &G::vfnmadd231ps, &G::vfnmadd231pd}
                 : Fused{&G::vfmadd231ss, &G::vfmadd231sd, &G::vfmadd231ps, &G::vfmadd231pd};
  const Vector result = vector_target(inst);
  const auto is_there = [&](const Arg& arg) {
    return is_in_register(arg) && vector_of(arg.as_reg(), inst.type).getIdx() == result.getIdx();
  };
  const auto emit = [&](const Fused& forms, const Arg& y, const Arg& z) {
    const Vector second = in_vector(y, inst.type, 1);
    with_vector_operand(z, inst.type, [&](const Operand& third) {
      (this->*forms.of(inst.type))(result, second, third);
    });
  };
  Arg x = inst.args[0], y = inst.args[1];
  const Arg z = inst.args[2];
  if (x.is_const() || (is_there(y) && !is_there(x))) std::swap(x, y);
  if (is_there(z)) {
    emit(form231, x, y);
  } else {
    if (const Vector from = in_vector(x, inst.type, result.getIdx());
        from.getIdx() != result.getIdx()) {
      vmovaps(result, from);
    }
    y.is_const() && !z.is_const() ? emit(form132, z, y) : emit(form213, y, z);
  }
  finish(inst, result);
}

void Assembler::repeat(const Vector& target, RegType type, const Operand& element) {
  if (type.width == 4) return vbroadcastss(target, element);
  if (type.bytes() == 16) return vmovddup(target, element);
  target.isZMM() ? vbroadcastsd(Xbyak::Zmm(target.getIdx()), element)
                 : vbroadcastsd(Xbyak::Ymm(target.getIdx()), element);
}

Xbyak::RegExp Assembler::tile_address(const Inst& inst) {
  const General base = in_register(inst.args[0], 8, rcx), index = in_register(inst.args[1], 8, rax);
  return Xbyak::RegExp(base) + Xbyak::RegExp(index, inst.element_bytes()) +
         static_cast<size_t>(inst.imm);
}

bool Assembler::emit_vector(const Inst& inst) {
  using G = CodeGenerator;
  const bool is_float = inst.type.width == 4, is_one = inst.type.lanes == 1;
  const auto binary = [&](const Forms& forms) {
    emit_binary(inst, forms);
    return true;
  };
  switch (inst.op) {
    case Op::kMove:
      finish(inst, in_vector(inst.args[0], inst.type, 0));
      return true;
    case Op::kTilePrefetch:
      prefetcht0(ptr[tile_address(inst)]);
      return true;
    case Op::kTilePrefetchToWrite:
      prefetchw(ptr[tile_address(inst)]);
      return true;
    case Op::kFloatAdd:
      return binary({&G::vaddss, &G::vaddsd, &G::vaddps, &G::vaddpd});
    case Op::kFloatSub:
      return binary({&G::vsubss, &G::vsubsd, &G::vsubps, &G::vsubpd});
    case Op::kFloatMul:
      return binary({&G::vmulss, &G::vmulsd, &G::vmulps, &G::vmulpd});
    case Op::kFloatDiv:
      return binary({&G::vdivss, &G::vdivsd, &G::vdivps, &G::vdivpd});
    case Op::kFloatMax:
      return binary({&G::vmaxss, &G::vmaxsd, &G::vmaxps, &G::vmaxpd});
    case Op::kFloatMin:
      return binary({&G::vminss, &G::vminsd, &G::vminps, &G::vminpd});
    case Op::kFloatMulAdd:
    case Op::kFloatNegMulAdd:
      multiply_add(inst);
      return true;
    case Op::kFloatSqrt: {
      const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
      if (is_one) {
        is_float ? vsqrtss(made, x, x) : vsqrtsd(made, x, x);
      } else {
        is_float ? vsqrtps(made, x) : vsqrtpd(made, x);
      }
      finish(inst, made);
      return true;
    }
    default:
      return false;
  }
}

bool Assembler::emit_lanes(const Inst& inst) {
  using G = CodeGenerator;
  const bool is_four = inst.type.width == 4;
  // These operations have no form for one lane; computing all lanes costs nothing. A single lane in
  // memory is loaded alone.
  const auto binary = [&](auto four, auto eight) {
    // Operations that can be swapped have a constant second.
    const bool swaps =
        inst.args[0].is_const() && inst.op != Op::kLaneSub && inst.op != Op::kBitAndNot;
    const Vector x = in_vector(inst.args[swaps ? 1 : 0], inst.type, 1), made = vector_target(inst);
    const Arg& second = inst.args[swaps ? 0 : 1];
    const auto emit = [&](const Operand& y) { (this->*(is_four ? four : eight))(made, x, y); };
    if (inst.type.lanes == 1) {
      emit(in_vector(second, inst.type, 2));
    } else {
      with_vector_operand(second, inst.type, emit);
    }
    finish(inst, made);
    return true;
  };
  const auto lanes = [&](Ternary four, Ternary eight) { return binary(four, eight); };
  const auto shift = [&](auto four, auto eight) {
    const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
    if (is_four) {
      four(made, x, static_cast<uint8_t>(inst.imm));
    } else {
      eight(made, x, static_cast<uint8_t>(inst.imm));
    }
    finish(inst, made);
    return true;
  };
  switch (inst.op) {
    case Op::kBitAnd:
      return binary(&G::vandps, &G::vandpd);
    case Op::kBitOr:
      return binary(&G::vorps, &G::vorpd);
    case Op::kBitXor:
      return binary(&G::vxorps, &G::vxorpd);
    case Op::kBitAndNot:
      return binary(&G::vandnps, &G::vandnpd);
    case Op::kLaneAdd:
      return lanes(&G::vpaddd, &G::vpaddq);
    case Op::kLaneSub:
      return lanes(&G::vpsubd, &G::vpsubq);
    case Op::kLaneMul:
      return lanes(&G::vpmulld, &G::vpmullq);
    case Op::kLaneShiftLeft:
      return shift([this](const auto&... x) { vpslld(x...); },
                   [this](const auto&... x) { vpsllq(x...); });
    case Op::kLaneShiftRight:
      return shift([this](const auto&... x) { vpsrld(x...); },
                   [this](const auto&... x) { vpsrlq(x...); });
    case Op::kLaneShiftRightSigned:
      return shift([this](const auto&... x) { vpsrad(x...); },
                   [this](const auto&... x) { vpsraq(x...); });
    case Op::kPermute: {
      const Vector made = vector_target(inst);
      with_vector_operand(inst.args[0], inst.type, [&](const Operand& x) {
        vpermilps(made, x, static_cast<uint8_t>(inst.imm));
      });
      finish(inst, made);
      return true;
    }
    case Op::kBroadcast: {
      const Vector x = in_vector(inst.args[0], vector(inst.type.width, 1), 1);
      const Vector made = vector_target(inst);
      repeat(made, inst.type, Xbyak::Xmm(x.getIdx()));
      finish(inst, made);
      return true;
    }
    default:
      return false;
  }
}

bool Assembler::emit_conversion(const Inst& inst) {
  const int width = inst.type.width;
  switch (inst.op) {
    case Op::kBitsToVector: {
      const Vector made = vector_target(inst);
      const General from = in_register(inst.args[0], width, rax);
      width == 4 ? vmovd(made, from) : vmovq(made, Xbyak::Reg64(from.getIdx()));
      finish(inst, made);
      return true;
    }
    case Op::kBitsToGeneral: {
      const Xbyak::Xmm from(in_vector(inst.args[0], vector(width, 1), 0).getIdx());
      const General made = target(inst, {});
      width == 4 ? vmovd(made, from) : vmovq(Xbyak::Reg64(made.getIdx()), from);
      finish(inst, made);
      return true;
    }
    case Op::kFloatOfInt: {
      const General from = in_register(inst.args[0], inst.source.width, rax);
      vxorps(xmm0, xmm0, xmm0);  // removes the dependency on the old register contents
      const Vector made = vector_target(inst);
      width == 4 ? vcvtsi2ss(made, xmm0, from) : vcvtsi2sd(made, xmm0, from);
      finish(inst, made);
      return true;
    }
    case Op::kFloatOfUnsigned:
      float_of_unsigned(inst);
      return true;
    case Op::kFloatOfFloat: {
      const Vector x = in_vector(inst.args[0], inst.source, 1), made = vector_target(inst);
      width == 4 ? vcvtsd2ss(made, x, x) : vcvtss2sd(made, x, x);
      finish(inst, made);
      return true;
    }
    case Op::kIntOfFloat:
    case Op::kUnsignedOfFloat:
      int_of_float(inst, inst.op == Op::kIntOfFloat);
      return true;
    default:
      return false;
  }
}

void Assembler::float_of_unsigned(const Inst& inst) {
  const bool is_float = inst.type.width == 4;
  const auto convert = [&] { is_float ? vcvtsi2ss(xmm0, xmm0, rax) : vcvtsi2sd(xmm0, xmm0, rax); };
  vxorps(xmm0, xmm0, xmm0);
  if (inst.source.width == 4) {
    load(eax, inst.args[0]);
    convert();
    return finish(inst, Vector(xmm0));
  }
  // For numbers of 2^63 and more, half the number is converted and doubled. Its last bit keeps the
  // lost bit, for correct rounding.
  Xbyak::Label large, done;
  load(rax, inst.args[0]);
  test(rax, rax);
  js(large, T_NEAR);
  convert();
  jmp(done, T_NEAR);
  L(large);
  mov(rcx, rax);
  and_(ecx, 1);
  shr(rax, 1);
  or_(rax, rcx);
  convert();
  is_float ? vaddss(xmm0, xmm0, xmm0) : vaddsd(xmm0, xmm0, xmm0);
  L(done);
  finish(inst, Vector(xmm0));
}

void Assembler::int_of_float(const Inst& inst, bool has_sign) {
  const bool is_float = inst.source.width == 4;
  const int bits = inst.type.width * 8;
  const double upper = std::ldexp(1.0, has_sign ? bits - 1 : bits), lower = has_sign ? -upper : 0;
  const uint64_t all = bits == 64 ? ~uint64_t{0} : UINT32_MAX, top = uint64_t{1} << (bits - 1);
  const Xbyak::Xmm x(in_vector(inst.args[0], inst.source, 0).getIdx());
  const auto against = [&](double bound) {
    const Xbyak::Address address = in_memory(bits_of(bound, inst.source.width), inst.source);
    is_float ? vucomiss(x, address) : vucomisd(x, address);
  };
  const auto truncate = [&](const General& to, const Xbyak::Xmm& from) {
    if (to.isBit(64)) {
      const Xbyak::Reg64 wide(to.getIdx());
      is_float ? vcvttss2si(wide, from) : vcvttsd2si(wide, from);
    } else {
      const Xbyak::Reg32 narrow(to.getIdx());
      is_float ? vcvttss2si(narrow, from) : vcvttsd2si(narrow, from);
    }
  };
  const General result = sized(rax, inst.type.width);
  Xbyak::Label zero, most, least, done;
  against(upper);
  jp(zero, T_NEAR);
  jae(most, T_NEAR);
  against(lower);
  jbe(least, T_NEAR);
  if (has_sign) {
    truncate(result, x);
  } else if (bits == 32) {
    truncate(rax, x);
  } else {
    // The instruction converts to signed integers only.
    Xbyak::Label large;
    against(std::ldexp(1.0, 63));
    jae(large, T_NEAR);
    truncate(rax, x);
    jmp(done, T_NEAR);
    L(large);
    const Xbyak::Address half =
        in_memory(bits_of(std::ldexp(1.0, 63), inst.source.width), inst.source);
    is_float ? vsubss(xmm1, x, half) : vsubsd(xmm1, x, half);
    truncate(rax, xmm1);
    btc(rax, 63);
  }
  jmp(done, T_NEAR);
  L(zero);
  xor_(eax, eax);
  jmp(done, T_NEAR);
  L(most);
  load(result, Arg::constant(has_sign ? top - 1 : all));
  jmp(done, T_NEAR);
  L(least);
  load(result, Arg::constant(has_sign ? top : 0));
  L(done);
  finish(inst, result);
}

}  // namespace farcall::native::jit
