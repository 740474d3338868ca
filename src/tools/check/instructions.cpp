#include "tools/check/instructions.h"

#include <array>
#include <cstring>
#include <string_view>

namespace farcall::tools {
namespace {

// What follows an opcode. In the tables: '.' nothing, 'm' an operand (ModRM), 'b' a byte, 'w' four
// bytes (two with the prefix 66), 'B' an operand and a byte, 'W' an operand and four bytes, 'v' as
// 'w' but eight bytes with REX.W, 'o' an address of eight bytes, 't' two bytes, 'e' three bytes,
// 'g' and 'G' an operand, and for TEST a byte or four, 'x' no instruction.
constexpr std::string_view kOneByte =
    "mmmmbwxxmmmmbwxx"  // 00
    "mmmmbwxxmmmmbwxx"
    "mmmmbwxxmmmmbwxx"
    "mmmmbwxxmmmmbwxx"
    "xxxxxxxxxxxxxxxx"  // 40: REX
    "................"
    "xxxmxxxxwWbB...."
    "bbbbbbbbbbbbbbbb"
    "BWxBmmmmmmmmmmmm"  // 80
    "..........x....."
    "oooo....bw......"
    "bbbbbbbbvvvvvvvv"
    "BBt.xxBWe.t..bx."  // C0
    "mmmmxxx.mmmmmmmm"
    "bbbbbbbbwwxb...."
    "x.xx..gG......mm";
constexpr std::string_view kTwoBytes =
    "mmmmx.....x.xm.x"  // 00
    "mmmmmmmmmmmmmmmm"
    "mmmmxxxxmmmmmmmm"
    "......x.xxxxxxxx"
    "mmmmmmmmmmmmmmmm"  // 40
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "BBBBmmm.mmxxmmmm"
    "wwwwwwwwwwwwwwww"  // 80
    "mmmmmmmmmmmmmmmm"
    "...mBmxx...mBmmm"
    "mmmmmmmmmmBmmmmm"
    "mmBmBBBm........"  // C0
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm";

struct Prefixes {
  bool has_66 = false, has_other_address = false;
  uint8_t rex = 0;
  bool has(uint8_t bit) const { return (rex & bit) != 0; }
};
constexpr uint8_t kW = 8, kX = 2, kB = 1;

class Reader {
 public:
  Reader(const uint8_t* begin, const uint8_t* end)
      : begin_(begin), at_(begin), end_(end - begin > 15 ? begin + 15 : end) {}

  std::optional<Instruction> read() {
    Instruction made;
    Prefixes prefixes = read_prefixes();
    int map = 1;
    uint8_t opcode = byte();
    const bool is_vector = opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62;
    if (is_vector) {
      map = read_vector_prefix(opcode, prefixes);
      opcode = byte();
    } else if (opcode == 0x0f) {
      map = 2;
      opcode = byte();
      if (opcode == 0x38 || opcode == 0x3a) {
        map = opcode == 0x38 ? 3 : 4;
        opcode = byte();
      }
    }
    const char rest = rest_of(map, opcode, is_vector);
    if (rest == 'x') return std::nullopt;
    const bool has_operand = std::string_view("mBWgG").find(rest) != std::string_view::npos;
    const uint8_t modrm = has_operand ? byte() : 0;
    if (has_operand) made.memory = read_operand(modrm, prefixes);
    skip(immediate_bytes(rest, modrm, prefixes));
    if (is_cut_) return std::nullopt;
    made.length = static_cast<uint8_t>(at_ - begin_);
    if (!is_vector) set_flow(map, opcode, modrm, made);
    const bool is_address_only = !is_vector && ((map == 1 && opcode == 0x8d) ||
                                                (map == 2 && opcode >= 0x18 && opcode <= 0x1f) ||
                                                (map == 2 && opcode == 0x0d));
    if (is_address_only || prefixes.has_other_address) made.memory.reset();
    return made;
  }

 private:
  uint8_t byte() {
    if (at_ >= end_) {
      is_cut_ = true;
      return 0;
    }
    return *at_++;
  }
  void skip(int64_t count) {
    if (end_ - at_ < count) is_cut_ = true;
    at_ += is_cut_ ? 0 : count;
  }

  Prefixes read_prefixes() {
    Prefixes found;
    for (; at_ < end_; ++at_) {
      switch (*at_) {
        case 0x66:
          found.has_66 = true;
          continue;
        case 0x64:
        case 0x65:
        case 0x67:
          found.has_other_address = true;
          continue;
        case 0xf0:
        case 0xf2:
        case 0xf3:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x26:
          continue;
        default:
          break;
      }
      if ((*at_ & 0xf0) == 0x40) found.rex = *at_++;
      break;
    }
    return found;
  }

  // Returns the map of opcodes. The bits of registers are inverted.
  int read_vector_prefix(uint8_t kind, Prefixes& prefixes) {
    const uint8_t first = byte();
    if (kind == 0xc5) return 2;
    prefixes.rex = static_cast<uint8_t>(~first >> 5 & (kX | kB));
    skip(kind == 0x62 ? 2 : 1);
    return (first & (kind == 0x62 ? 7 : 31)) + 1;
  }

  static char rest_of(int map, uint8_t opcode, bool is_vector) {
    if (!is_vector) {
      if (map == 1) return kOneByte[opcode];
      if (map == 2) return kTwoBytes[opcode];
      return map == 3 ? 'm' : 'B';
    }
    if (map == 2) {
      if (opcode == 0x77) return '.';
      const bool has_byte = (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
                            (opcode >= 0xc4 && opcode <= 0xc6);
      return has_byte ? 'B' : 'm';
    }
    return map == 4 ? 'B' : map == 3 || map == 6 || map == 7 ? 'm' : 'x';
  }

  std::optional<Instruction::Memory> read_operand(uint8_t modrm, const Prefixes& prefixes) {
    const int mode = modrm >> 6, low = modrm & 7;
    if (mode == 3) return std::nullopt;
    Instruction::Memory memory;
    memory.base = low | (prefixes.has(kB) ? 8 : 0);
    bool has_wide = mode == 2;
    if (low == 4) {
      const uint8_t sib = byte();
      memory.base = (sib & 7) | (prefixes.has(kB) ? 8 : 0);
      memory.index = (sib >> 3 & 7) | (prefixes.has(kX) ? 8 : 0);
      memory.scale = 1 << (sib >> 6);
      if (memory.index == 4) memory.index = -1;
      if (mode == 0 && (sib & 7) == 5) {
        has_wide = true;
        memory.base = -1;
      }
    } else if (mode == 0 && low == 5) {
      has_wide = memory.is_relative = true;
      memory.base = -1;
    }
    if (mode == 1) memory.displacement = static_cast<int8_t>(byte());
    if (has_wide) memory.displacement = wide();
    constexpr int kStackPointer = 4;
    if (memory.base == kStackPointer) return std::nullopt;
    return memory;
  }

  int32_t wide() {
    int32_t number = 0;
    const uint8_t* from = at_;
    skip(4);
    if (!is_cut_) std::memcpy(&number, from, 4);
    return number;
  }

  static int immediate_bytes(char rest, uint8_t modrm, const Prefixes& prefixes) {
    const int four = prefixes.has_66 && !prefixes.has(kW) ? 2 : 4;
    const bool is_test = (modrm >> 3 & 7) < 2;
    switch (rest) {
      case 'b':
      case 'B':
        return 1;
      case 'w':
      case 'W':
        return four;
      case 'v':
        return prefixes.has(kW) ? 8 : four;
      case 'o':
        return 8;
      case 't':
        return 2;
      case 'e':
        return 3;
      case 'g':
        return is_test ? 1 : 0;
      case 'G':
        return is_test ? four : 0;
      default:
        return 0;
    }
  }

  void set_flow(int map, uint8_t opcode, uint8_t modrm, Instruction& made) const {
    using Flow = Instruction::Flow;
    const auto relative = [&](Flow flow, int nbytes) {
      made.flow = flow;
      made.returns = flow != Flow::kJump;
      int32_t wide = 0;
      std::memcpy(&wide, at_ - nbytes, static_cast<size_t>(nbytes));
      made.target = at_ + (nbytes == 1 ? static_cast<int8_t>(wide) : wide);
    };
    if (map == 2) {
      if (opcode >= 0x80 && opcode <= 0x8f) relative(Flow::kBranch, 4);
      if (opcode == 0x0b) made.flow = Flow::kEnd, made.returns = false;  // ud2
    }
    if (map != 1) return;
    if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3))
      relative(Flow::kBranch, 1);
    if (opcode == 0xe8) relative(Flow::kCall, 4);
    if (opcode == 0xe9) relative(Flow::kJump, 4);
    if (opcode == 0xeb) relative(Flow::kJump, 1);
    const int extension = modrm >> 3 & 7;
    if (opcode == 0xff && extension >= 2 && extension <= 5) {
      made.flow = Flow::kIndirect;
      made.returns = extension <= 3;
    }
    const bool is_end = opcode == 0xc2 || opcode == 0xc3 || opcode == 0xca || opcode == 0xcb ||
                        opcode == 0xcc || opcode == 0xcf || opcode == 0xf4;
    if (is_end) made.flow = Flow::kEnd, made.returns = false;
  }

  const uint8_t *begin_, *at_, *end_;
  bool is_cut_ = false;
};

}  // namespace

std::optional<Instruction> decode(const uint8_t* code, const uint8_t* end) {
  return Reader(code, end).read();
}

}  // namespace farcall::tools
