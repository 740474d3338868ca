#include "engine/native/jit/tiles.h"

#include <algorithm>
#include <bit>
#include <map>

#include "engine/native/jit/complex_parts.h"
#include "engine/native/jit/encode.h"
#include "engine/native/jit/half_floats.h"
#include "engine/native/jit/quotients.h"
#include "engine/native/kernels/reductions/sum_floats.h"
#include "engine/native/kernels/vector/prefetch.h"

namespace farcall::native::jit {
namespace {

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return Format::kBool;
    case DType::kFloat16:
      return Format::kHalf;
    case DType::kBFloat16:
      return Format::kUpperHalf;
    default:
      return Format::kPlain;
  }
}

int width_of(DType dtype) {
  return dtype == DType::kBool ? 1 : static_cast<int>(byte_width(register_dtype(dtype)));
}

bool is_division(const TileOperation& operation) {
  return operation.kind == TileOperation::Kind::kElementwise && operation.operation.name == "div" &&
         operation.operation.dtype == DType::kFloat32;
}

// The bits of a constant in a register. Halves are widened.
uint64_t constant_bits(const TileValue& value) {
  if (!is_half(value.dtype)) return value.bits;
  float wide = 0;
  narrow_to_float(value.dtype)(&value.bits, &wide, 1, {});
  return std::bit_cast<uint32_t>(wide);
}

class TileLowering {
 public:
  // `copies` vectors are processed at a time.
  TileLowering(const TileRun& run, int copies) : run_(run), copies_(copies), vectors_(copies) {
    int width = 4;
    for (const TileValue& value : run.values) width = std::max(width, width_of(value.dtype));
    width_ = width;
    lanes_ = processor().vector_bytes / width;
    // Masks in vectors have lanes of one width.
    const auto is_narrower = [&](const TileValue& value) {
      return value.dtype != DType::kBool && width_of(value.dtype) < width;
    };
    if (!processor().has_masks && std::ranges::any_of(run.values, is_narrower)) {
      throw Refusal{"elements of different widths"};
    }
    if (run.sum) vectors_ = static_cast<int>(kSums) / lanes_;
    const auto is_of_parts = [](const TileValue& value) {
      return value.dtype == DType::kComplex64;
    };
    is_complex_ = std::ranges::any_of(run.values, is_of_parts);
    if (is_complex_ && !std::ranges::all_of(run.values, is_of_parts)) {
      throw Refusal{"complex numbers and others"};
    }
    if (processor().has_halves) halves_.emplace(b_, type_of(DType::kFloat32));
  }

  Code whole();
  // Raises Refusal if the operation has no instructions.
  void one(const TileOperation& operation);

 private:
  RegType type_of(DType dtype) const { return reg_type(register_dtype(dtype), lanes_, width_); }
  Arg pointer(uint32_t number) {
    return b_.add(Op::kPointer, general(8), {}, static_cast<int64_t>(number));
  }
  void begin();
  void begin_row(Arg row, Arg first);
  Arg repeated(const TileValue& value, Arg address);
  Arg count_of_row();
  void find_divisors();
  Arg offset(Arg number, int width);
  void elements();
  void body(Arg index, Arg mask, int first, int count);
  void begin_sum();
  void add_to_sum(Arg index, Arg mask, int copy);
  void add_rest_to_sum(Arg first, Arg count);
  void finish_sum();
  Arg load(uint32_t number, Arg index, Arg mask, int copy);
  void store(uint32_t number, Arg value, Arg index, Arg mask, int copy);
  Arg run(const TileOperation& operation, std::span<const Arg> inputs);
  Arg converted(const TileOperation& operation, Arg value);
  bool has_short_nans(uint32_t number) const;
  bool reads_short(const TileOperation& operation) const;
  bool is_only_rounded(const TileOperation& operation) const;
  template <class Holds>
  bool all_readers(uint32_t number, const Holds& holds) const;
  Arg rounded(const TileOperation& operation, Arg value, DType to);
  Arg access(Op op, uint32_t number, Arg index, Arg mask, int copy, Arg value);
  void prefetch(Inst access);

  const TileRun& run_;
  const int copies_;
  int vectors_;  // processed by one step of the loop, `copies_` at a time
  int width_ = 4, lanes_ = 1;
  bool is_complex_ = false;  // then the real and the imaginary part are an element each
  Builder b_;
  // By value: its pointer, in the current row, the registers of each copy, the register of a
  // constant, or of an element that the row or the whole tile repeats.
  std::vector<Arg> pointers_, fixed_;
  std::vector<std::vector<Arg>> registers_;
  std::optional<HalfFloats> halves_;      // if the processor has arithmetic on float16
  std::map<uint32_t, Divisor> divisors_;  // by value
  std::vector<Reg> sums_;                 // lanes of float64, in the order of the elements
  Arg sum_address_{};                     // of the current row
};

// ---- values

Arg TileLowering::repeated(const TileValue& value, Arg address) {
  const DType dtype = value.dtype;
  if (is_complex_) {
    return value.source == TileValue::Source::kConstant
               ? complex_constant(b_, type_of(dtype), value.bits)
               : repeated_complex(b_, type_of(dtype), address);
  }
  if (value.source == TileValue::Source::kConstant) {
    const uint64_t bits = constant_bits(value);
    return dtype == DType::kBool ? b_.mask_of_bool(mask(width_, lanes_), Arg::constant(bits != 0))
                                 : Arg::constant(bits);
  }
  if (dtype == DType::kBool || is_half(dtype)) throw Refusal{"a repeated element of few bits"};
  const auto bytes = static_cast<uint8_t>(byte_width(dtype));
  const Arg one =
      b_.add({.op = Op::kLoad, .bytes = bytes, .type = vector(bytes, 1), .args = {address}});
  return b_.add(Op::kBroadcast, type_of(dtype), {one});
}

// What does not change is computed before the loops, since either of them may be skipped.
void TileLowering::begin() {
  pointers_.resize(run_.values.size());
  fixed_.resize(run_.values.size());
  registers_.resize(run_.values.size());
  for (size_t i = 0; i < run_.values.size(); ++i) {
    const TileValue& value = run_.values[i];
    check_dtype(register_dtype(value.dtype));
    if (format_of(value.dtype) != Format::kPlain && !processor().has_masks && value.pointer) {
      throw Refusal{"elements of few bits in memory"};
    }
    if (value.pointer) pointers_[i] = pointer(*value.pointer);
    if (value.source == TileValue::Source::kRepeated ||
        value.source == TileValue::Source::kConstant) {
      fixed_[i] = repeated(value, pointers_[i]);
    }
  }
  if (run_.sum) sum_address_ = pointer(run_.sum->pointer);
  find_divisors();
}

// The offset in bytes of the element with this number.
Arg TileLowering::offset(Arg number, int width) {
  const int shift = std::countr_zero(static_cast<unsigned>(width));
  return shift == 0 ? number : b_.add(Op::kShiftLeft, general(8), {number, Arg::number(shift)});
}

// `first`: the number of the first element of the row.
void TileLowering::begin_row(Arg row, Arg first) {
  const auto moved = [&](Arg address, Arg by) {
    return b_.add(Op::kAdd, general(8), {address, by});
  };
  std::map<int, Arg> offsets;  // by width
  for (size_t i = 0; i < run_.values.size(); ++i) {
    const TileValue& value = run_.values[i];
    if (value.source == TileValue::Source::kOfRow) {
      fixed_[i] = repeated(
          value, moved(pointers_[i], offset(row, static_cast<int>(byte_width(value.dtype)))));
    } else if (value.pointer && value.source != TileValue::Source::kOfColumn &&
               fixed_[i].kind == Arg::Kind::kNone) {
      const int width =
          is_complex_ ? width_of(value.dtype) : static_cast<int>(byte_width(value.dtype));
      const auto [found, is_new] = offsets.try_emplace(width);
      if (is_new) found->second = offset(first, width);
      pointers_[i] = moved(pointers_[i], found->second);
    }
  }
  if (run_.sum) sum_address_ = moved(sum_address_, offset(row, kPartsOfSum * sizeof(double)));
  find_divisors();
}

// Divisors that are the same for all elements.
void TileLowering::find_divisors() {
  for (const TileOperation& operation : run_.operations) {
    if (!processor().has_masks || !is_division(operation)) continue;
    const uint32_t number = operation.inputs[1];
    if (fixed_[number].is_reg() && !divisors_.contains(number)) {
      divisors_[number] = divisor(b_, type_of(DType::kFloat32), fixed_[number]);
    }
  }
}

Arg TileLowering::access(Op op, uint32_t number, Arg index, Arg mask_arg, int copy, Arg value) {
  const DType dtype = run_.values[number].dtype;
  Inst inst{.op = op,
            .format = format_of(dtype),
            .type = type_of(dtype),
            .source = type_of(dtype),
            .args = {pointers_[number], index, mask_arg, value}};
  inst.imm = int64_t{copy} * lanes_ * inst.element_bytes();
  if (run_.values[number].is_streamed && mask_arg.kind == Arg::Kind::kNone) prefetch(inst);
  const bool has_halves = halves_ && inst.format == Format::kHalf;
  const auto make_plain = [&] {
    inst.format = Format::kPlain;
    inst.type = inst.source = halves_->type();
  };
  if (op == Op::kTileLoad) {
    const Arg loaded = b_.add(inst);
    if (!has_halves) return loaded;
    make_plain();
    halves_->note(loaded, b_.add(inst));
    return loaded;
  }
  if (const auto half = has_halves ? halves_->half_of(value) : std::nullopt) {
    make_plain();
    inst.args[3] = b_.add(Op::kQuietHalf, halves_->type(), {*half});
  }
  b_.effect(inst);
  return value;
}

// One request for each cache line. Stores gain most: a processor waits for the lines that it writes
// to one after the other, but requests many at a time.
void TileLowering::prefetch(Inst access) {
  if (access.imm % kCacheLine != 0) return;
  const bool is_load = access.op == Op::kTileLoad;
  const int64_t size = is_complex_ ? 2 * run_.tile_size : run_.tile_size;
  const int64_t tile = is_load ? size * access.element_bytes() : 0;
  access.imm += std::max(kPrefetchDistance, tile);
  access.op = is_load ? Op::kTilePrefetch : Op::kTilePrefetchToWrite;
  b_.effect(access);
}

Arg TileLowering::load(uint32_t number, Arg index, Arg mask_arg, int copy) {
  if (fixed_[number].kind != Arg::Kind::kNone) return fixed_[number];
  Arg& loaded = registers_[number][static_cast<size_t>(copy)];
  if (loaded.kind == Arg::Kind::kNone) {
    loaded = access(Op::kTileLoad, number, index, mask_arg, copy, {});
  }
  return loaded;
}

// Computes `count` vectors. Results are stored last, because they may have the memory of operands.
void TileLowering::body(Arg index, Arg mask_arg, int first, int count) {
  const int end = first + count;
  for (auto& each : registers_) each.assign(static_cast<size_t>(end), Arg{});
  for (const TileOperation& operation : run_.operations) {
    for (int copy = first; copy < end; ++copy) {
      std::vector<Arg> inputs;
      for (const uint32_t input : operation.inputs) {
        inputs.push_back(load(input, index, mask_arg, copy));
      }
      registers_[operation.output][static_cast<size_t>(copy)] = run(operation, inputs);
    }
  }
  for (int copy = first; run_.sum && copy < end; ++copy) add_to_sum(index, mask_arg, copy);
  for (const TileOperation& operation : run_.operations) {
    if (!run_.values[operation.output].pointer) continue;
    for (int copy = first; copy < end; ++copy) {
      access(Op::kTileStore, operation.output, index, mask_arg, copy,
             registers_[operation.output][static_cast<size_t>(copy)]);
    }
  }
}

// ---- operations

Arg TileLowering::run(const TileOperation& operation, std::span<const Arg> inputs) {
  if (is_complex_) {
    if (operation.kind != TileOperation::Kind::kElementwise) throw Refusal{"complex numbers"};
    return complex_elementwise(b_, operation.operation.name, type_of(DType::kComplex64), inputs);
  }
  if (is_division(operation)) {
    const auto by = divisors_.find(operation.inputs[1]);
    const bool is_short = reads_short(operation) && is_only_rounded(operation);
    if (by != divisors_.end() && (is_short || !processor().has_fast_division)) {
      const auto divide = is_short ? short_quotient : quotient;
      return divide(b_, type_of(DType::kFloat32), inputs[0], by->second);
    }
  }
  switch (operation.kind) {
    case TileOperation::Kind::kConvert:
      return converted(operation, inputs[0]);
    case TileOperation::Kind::kRound:
      return rounded(operation, inputs[0], operation.rounded);
    default:
      const Arg made = elementwise(b_, operation.operation, inputs, lanes_, width_);
      if (halves_ && operation.operation.dtype == DType::kFloat32) {
        halves_->note_result(operation.operation.name, inputs, made);
      }
      return made;
  }
}

Arg TileLowering::converted(const TileOperation& operation, Arg value) {
  const DType from = operation.from, to = run_.values[operation.output].dtype;
  if (from == to) return value;
  const DType source = register_dtype(from);
  // Conversions from wider types would round twice.
  if (is_half(to) && source != DType::kFloat32) throw Refusal{"a conversion to half"};
  const Arg made = jit::converted(b_, value, source, register_dtype(to), lanes_, width_);
  return is_half(to) ? rounded(operation, made, to) : made;
}

// Whether this holds for all operations of the run that read the value.
template <class Holds>
bool TileLowering::all_readers(uint32_t number, const Holds& holds) const {
  return std::ranges::all_of(run_.operations, [&](const TileOperation& reader) {
    return std::ranges::find(reader.inputs, number) == reader.inputs.end() || holds(reader);
  });
}

// Whether the operation computes from numbers of bfloat16 alone.
bool TileLowering::reads_short(const TileOperation& operation) const {
  return operation.kind == TileOperation::Kind::kElementwise &&
         std::ranges::all_of(operation.inputs, [&](uint32_t input) {
           return run_.values[input].fits == DType::kBFloat16;
         });
}

// Whether the lower halves of NaNs are zero. The NaNs of these operations are those of an operand,
// or the processor's.
bool TileLowering::has_short_nans(uint32_t number) const {
  constexpr std::string_view kKeepNans[] = {"add", "div", "exp", "mul", "sub"};
  const auto made = std::ranges::find(run_.operations, number, &TileOperation::output);
  return made != run_.operations.end() && reads_short(*made) &&
         std::ranges::find(kKeepNans, made->operation.name) != std::end(kKeepNans);
}

// Whether all that becomes of the result is rounded to bfloat16.
bool TileLowering::is_only_rounded(const TileOperation& operation) const {
  const auto is_rounding = [&](const TileOperation& reader) {
    return reader.kind == TileOperation::Kind::kRound
               ? reader.rounded == DType::kBFloat16
               : reader.kind == TileOperation::Kind::kConvert &&
                     run_.values[reader.output].dtype == DType::kBFloat16;
  };
  return !run_.values[operation.output].pointer &&
         !(run_.sum && run_.sum->value == operation.output) &&
         all_readers(operation.output, is_rounding);
}

// The value that the operation rounds, which may have been converted.
Arg TileLowering::rounded(const TileOperation& operation, Arg value, DType to) {
  if (!processor().has_masks || !is_half(to)) throw Refusal{"rounding to few bits"};
  if (to == DType::kFloat16 && halves_) return halves_->rounded(value);
  if (to == DType::kFloat16) return b_.add(Op::kRoundToHalf, type_of(DType::kFloat32), {value});
  int64_t flags = has_short_nans(operation.inputs[0]) ? kKeepsNans : 0;
  const bool is_only_stored = run_.values[operation.output].dtype == DType::kBFloat16 &&
                              all_readers(operation.output, [](const auto&) { return false; });
  if (is_only_stored) flags |= kLeavesLowerHalf;
  return b_.add(Op::kRoundToUpperHalf, type_of(DType::kFloat32), {value}, flags);
}

// ---- the sum

constexpr int kWideLanes = static_cast<int>(kPartsOfSum);
constexpr RegType kWide = vector(8, kWideLanes);

// As sum_floats computes it: element i is added to part i modulo kSums.
void TileLowering::begin_sum() {
  for (int64_t i = 0; i < kSums; i += kWideLanes) {
    sums_.push_back(b_.new_carry(kWide));
    b_.move(sums_.back(), kWide, Arg::constant(std::bit_cast<uint64_t>(sum_of_none())));
  }
}

void TileLowering::add_to_sum(Arg index, Arg mask_arg, int copy) {
  Arg value = load(run_.sum->value, index, mask_arg, copy);
  if (mask_arg.is_reg()) {
    const Arg nothing = Arg::constant(std::bit_cast<uint32_t>(-0.F));  // changes no sum
    value = b_.blend(type_of(DType::kFloat32), mask_arg, nothing, value);
  }
  const RegType whole = vector(4, 2 * kWideLanes), half = vector(4, kWideLanes);
  const Arg upper = b_.add({.op = Op::kUpperLanes, .type = half, .source = whole, .args = {value}});
  Reg* const sums = &sums_[2 * static_cast<size_t>(copy)];
  for (const auto& [sum, part] : {std::pair(sums[0], value), std::pair(sums[1], upper)}) {
    const Arg wide =
        b_.add({.op = Op::kFloatOfFloat, .type = kWide, .source = half, .args = {part}});
    b_.effect({.op = Op::kFloatAdd, .type = kWide, .dest = sum, .args = {Arg::reg(sum), wide}});
  }
}

// The elements from `first` on, fewer than kSums.
void TileLowering::add_rest_to_sum(Arg first, Arg count) {
  const RegType type = general(8);
  const uint32_t done = b_.new_label();
  Arg left = b_.add(Op::kSub, type, {count, first});
  for (int i = 0; i < vectors_; ++i) {
    b_.branch(Cond::kLe, type, left, Arg::number(0), done);
    body(first, b_.add(Op::kTileMask, mask(width_, lanes_), {left}), i, 1);
    left = b_.add(Op::kSub, type, {left, Arg::number(lanes_)});
  }
  b_.label(done);
}

// Adds the second half of the vectors to the first, until one is left.
void TileLowering::finish_sum() {
  std::vector<Arg> left;
  for (const Reg sum : sums_) {
    b_.settle(sum);
    left.push_back(Arg::reg(sum));
  }
  for (size_t half = left.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i)
      left[i] = b_.add(Op::kFloatAdd, kWide, {left[i], left[i + half]});
  }
  b_.store(sum_address_, kWide, kWide.bytes(), left[0]);
}

// ---- the whole

void TileLowering::one(const TileOperation& operation) {
  std::vector<Arg> inputs;
  for (const uint32_t input : operation.inputs) {
    const TileValue& value = run_.values[input];
    inputs.push_back(value.source == TileValue::Source::kConstant
                         ? repeated(value, {})
                         : Arg::reg(b_.new_reg(type_of(value.dtype))));
  }
  run(operation, inputs);
  check_dtype(register_dtype(run_.values[operation.output].dtype));
}

Arg TileLowering::count_of_row() {
  const Arg count = b_.add(Op::kCount, general(8), {});
  return is_complex_ ? b_.add(Op::kShiftLeft, general(8), {count, Arg::number(1)}) : count;
}

Code TileLowering::whole() {
  begin();
  if (!run_.goes_by_rows()) {
    elements();
    return b_.finish();
  }
  const RegType type = general(8);
  const Arg count = count_of_row(), rows = b_.add(Op::kRows, type, {});
  const Reg row = b_.new_carry(type), first = b_.new_carry(type);
  const uint32_t top = b_.new_label();
  b_.move(row, type, Arg::number(0));
  b_.move(first, type, Arg::number(0));
  b_.begin_loop();
  b_.label(top);
  begin_row(Arg::reg(row), Arg::reg(first));
  elements();
  b_.move(row, type, b_.add(Op::kAdd, type, {Arg::reg(row), Arg::number(1)}));
  b_.move(first, type, b_.add(Op::kAdd, type, {Arg::reg(first), count}));
  b_.branch(Cond::kLt, type, Arg::reg(row), rows, top);
  b_.end_loop();
  return b_.finish();
}

// One loop processes several vectors at a time, a second one the rest, with a mask.
void TileLowering::elements() {
  const RegType type = general(8);
  const int64_t step = int64_t{vectors_} * lanes_;
  const Arg count = count_of_row();
  const Arg limit = b_.add(Op::kSub, type, {count, Arg::number(step - 1)});
  const Reg first = b_.new_carry(type);
  const uint32_t top = b_.new_label(), rest = b_.new_label(), done = b_.new_label();
  b_.move(first, type, Arg::number(0));
  if (run_.sum) begin_sum();
  b_.branch(Cond::kLe, type, limit, Arg::number(0), rest);
  b_.begin_loop();
  b_.label(top);
  for (int i = 0; i < vectors_; i += copies_) body(Arg::reg(first), {}, i, copies_);
  b_.move(first, type, b_.add(Op::kAdd, type, {Arg::reg(first), Arg::number(step)}));
  b_.branch(Cond::kLt, type, Arg::reg(first), limit, top);
  b_.end_loop();
  b_.settle(first);
  b_.label(rest);
  if (run_.sum) {
    add_rest_to_sum(Arg::reg(first), count);
    return finish_sum();
  }
  const Reg next = b_.new_carry(type);
  const uint32_t rest_top = b_.new_label();
  b_.move(next, type, Arg::reg(first));
  b_.branch(Cond::kGe, type, Arg::reg(next), count, done);
  b_.begin_loop();
  b_.label(rest_top);
  const Arg left = b_.add(Op::kSub, type, {count, Arg::reg(next)});
  body(Arg::reg(next), b_.add(Op::kTileMask, mask(width_, lanes_), {left}), 0, 1);
  b_.move(next, type, b_.add(Op::kAdd, type, {Arg::reg(next), Arg::number(lanes_)}));
  b_.branch(Cond::kLt, type, Arg::reg(next), count, rest_top);
  b_.end_loop();
  b_.label(done);
}

}  // namespace

bool TileRun::goes_by_rows() const {
  return sum || std::ranges::any_of(values, [](const TileValue& value) {
           return value.source == TileValue::Source::kOfRow ||
                  value.source == TileValue::Source::kOfColumn;
         });
}

DType register_dtype(DType dtype) {
  return is_half(dtype) || dtype == DType::kComplex64 ? DType::kFloat32 : dtype;
}

bool can_lower(const TileRun& run, const TileOperation& operation) {
  try {
    TileLowering(run, 1).one(operation);
    return true;
  } catch (const Refusal&) {
    return false;
  }
}

bool can_lower(const TileRun& run) {
  try {
    TileLowering(run, 1).whole();
    return true;
  } catch (const Refusal&) {
    return false;
  }
}

bool can_sum(const TileRun& run) {
  const auto is_narrow = [](const TileValue& value) { return width_of(value.dtype) <= 4; };
  if (!processor().has_masks || !std::ranges::all_of(run.values, is_narrow) ||
      run.values[run.sum->value].dtype != DType::kFloat32) {
    return false;
  }
  try {
    return fits_in_registers(TileLowering(run, 1).whole());
  } catch (const Refusal&) {
    return false;
  }
}

// Several vectors at a time hide the latencies of instructions, as long as registers suffice.
Code lower_tiles(const TileRun& run) {
  for (const int copies : {4, 2}) {
    Code code = TileLowering(run, copies).whole();
    if (fits_in_registers(code)) return code;
  }
  return TileLowering(run, 1).whole();
}

}  // namespace farcall::native::jit
