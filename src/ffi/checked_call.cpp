#include "ffi/checked_call.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include <farcall/core/dtype.h>
#include <farcall/core/type_text.h>

#include "ffi/error_value.h"
#include "ffi/future.h"

namespace farcall::runtime {
namespace {

// ---- contents of memory before the call ----

// A bijection that maps consecutive numbers to random-looking ones (the finalizer of splitmix64).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Random bytes, stored twice, so that kTableBytes can be read from any offset in the first copy.
constexpr size_t kTableBytes = 8192;
using Table = std::array<std::byte, 2 * kTableBytes>;

enum class Filling : uint8_t { kBytes, kBool, kHalf, kBrain, kSingle, kDouble };

// Bits to set and to clear in each word, so that it becomes a nan that no arithmetic produces, or a
// byte that is not a bool.
struct Word {
  size_t width;
  uint64_t set = 0, cleared = 0;
};
Word word_of(Filling filling) {
  switch (filling) {
    case Filling::kBool:
      return {1, 0x80, 0x40};
    case Filling::kHalf:
      return {2, 0x7c01, 2};
    case Filling::kBrain:
      return {2, 0x7f81, 2};
    case Filling::kSingle:
      return {4, 0x7f800001, 2};
    case Filling::kDouble:
      return {8, 0x7ff0000000000001, 2};
    default:
      return {1};
  }
}

Filling filling_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return Filling::kBool;
    case DType::kFloat16:
      return Filling::kHalf;
    case DType::kBFloat16:
      return Filling::kBrain;
    case DType::kFloat32:
    case DType::kComplex64:
      return Filling::kSingle;
    case DType::kFloat64:
    case DType::kComplex128:
      return Filling::kDouble;
    default:
      return Filling::kBytes;
  }
}

Table make_table(Filling filling) {
  const Word word = word_of(filling);
  Table table;
  for (size_t at = 0; at < kTableBytes; at += word.width) {
    const uint64_t bits = (mixed(at) | word.set) & ~word.cleared;
    std::memcpy(&table[at], &bits, word.width);
    std::memcpy(&table[at + kTableBytes], &bits, word.width);
  }
  return table;
}

const Table& table_of(Filling filling) {
  static const auto* tables = new std::array<Table, 6>{
      make_table(Filling::kBytes), make_table(Filling::kBool),   make_table(Filling::kHalf),
      make_table(Filling::kBrain), make_table(Filling::kSingle), make_table(Filling::kDouble)};
  return (*tables)[static_cast<size_t>(filling)];
}

// The contents of a result before the call: the table, from another offset in each call.
struct Pattern {
  Filling filling;
  size_t shift;

  Pattern(DType dtype, uint64_t call, size_t index)
      : filling(filling_of(dtype)), shift(mixed(call * 64 + index) % kTableBytes / 8 * 8) {}

  // Calls `visit(offset, bytes of the pattern)` piece by piece.
  template <class Visit>
  void over(size_t nbytes, const Visit& visit) const {
    const std::byte* const begin = table_of(filling).data() + shift;
    for (size_t at = 0; at < nbytes; at += kTableBytes) {
      visit(at, std::span(begin, std::min(kTableBytes, nbytes - at)));
    }
  }
  std::byte at(size_t offset) const { return table_of(filling)[shift + offset % kTableBytes]; }
};

template <class T>
bool shares_a_word(const std::byte* data, std::span<const std::byte> pattern) {
  bool found = false;
  for (size_t i = 0; i + sizeof(T) <= pattern.size(); i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, data + i, sizeof(T));
    std::memcpy(&b, pattern.data() + i, sizeof(T));
    found |= a == b;
  }
  return found;
}

bool shares_a_word(const std::byte* data, std::span<const std::byte> pattern, size_t width) {
  switch (width) {
    case 1:
      return shares_a_word<uint8_t>(data, pattern);
    case 2:
      return shares_a_word<uint16_t>(data, pattern);
    case 4:
      return shares_a_word<uint32_t>(data, pattern);
    default:
      return shares_a_word<uint64_t>(data, pattern);
  }
}

// ---- guards ----

// Each block has guards of its own, so that a copy past the ends of two blocks changes bytes.
const std::byte* guard_of(const std::byte* data) {
  static_assert(kMostGuard <= kTableBytes);
  return table_of(Filling::kBytes).data() + mixed(reinterpret_cast<uintptr_t>(data)) % kTableBytes;
}

}  // namespace

size_t guard_bytes(size_t nbytes) {
  return std::clamp((nbytes + kAlignment - 1) & ~(kAlignment - 1), kLeastGuard, kMostGuard);
}

void fill_guards(std::byte* data, size_t nbytes) {
  const size_t guard = guard_bytes(nbytes);
  std::memcpy(data - guard, guard_of(data), guard);
  std::memcpy(data + nbytes, guard_of(data), guard);
}

std::optional<GuardDamage> find_damage(const std::byte* data, size_t nbytes) {
  const size_t guard = guard_bytes(nbytes);
  const std::byte* const wanted = guard_of(data);
  if (std::memcmp(data + nbytes, wanted, guard) != 0) {
    const auto changed = std::mismatch(wanted, wanted + guard, data + nbytes).first - wanted;
    return GuardDamage{static_cast<int64_t>(nbytes) + changed, nbytes};
  }
  if (std::memcmp(data - guard, wanted, guard) != 0) {
    size_t changed = guard - 1;
    while (data[static_cast<int64_t>(changed) - static_cast<int64_t>(guard)] == wanted[changed]) {
      --changed;
    }
    return GuardDamage{static_cast<int64_t>(changed) - static_cast<int64_t>(guard), nbytes};
  }
  return std::nullopt;
}

// ---- calls ----

CheckedCall::CheckedCall(const ForeignCallSpec& spec, FARCALL_FFI_Handler* execute)
    : spec_(spec), execute_(execute) {
  for (const ShapeDtype& type : spec.arguments) arguments_.push_back({.type = type});
  for (const ShapeDtype& type : spec.results) results_.push_back({.type = type});
}

FARCALL_FFI_Error* CheckedCall::execute(FARCALL_FFI_CallFrame* frame) {
  return frame->ctx->checks->run(*frame);
}

void CheckedCall::add_memory(std::vector<Storage>& all) const {
  for (const auto* operands : {&arguments_, &results_}) {
    for (const Guarded& operand : *operands) {
      if (operand.memory) all.push_back(operand.memory);
    }
  }
}

FARCALL_FFI_Error* CheckedCall::run(FARCALL_FFI_CallFrame& frame) {
  // Restores the program's pointers on every exit.
  struct TakeBack {
    CheckedCall& self;
    FARCALL_FFI_CallFrame& frame;
    bool is_inspected = false;
    ~TakeBack() { self.take_back(frame, is_inspected); }
  };
  ErrorPointer error;
  std::string found;
  note_originals(frame);
  {
    TakeBack take_back{*this, frame};
    hand_out(frame);
    error.reset(execute_(&frame));
    if (frame.future != nullptr) {
      ErrorPointer late(std::exchange(frame.future, nullptr)->wait_and_release());
      if (error == nullptr) error = std::move(late);
    }
    found = finding(*frame.ctx, error != nullptr);
    take_back.is_inspected = true;
  }
  if (found.empty()) return error.release();
  std::string text = fmt::format("check_foreign_calls: {}, in the call {}", found, types());
  if (error != nullptr) {
    text +=
        fmt::format(". The handler reported {}: {}", error_code_name(error->code), error->message);
  }
  return make_error(ErrorCode::kInternal, std::move(text));
}

namespace {

FARCALL_FFI_Buffer& buffer(void* const* buffers, size_t index) {
  return *static_cast<FARCALL_FFI_Buffer*>(buffers[index]);
}

}  // namespace

void CheckedCall::note_originals(const FARCALL_FFI_CallFrame& frame) {
  for (size_t i = 0; i < results_.size(); ++i) {
    results_[i].original = static_cast<std::byte*>(buffer(frame.rets.rets, i).data);
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    arguments_[i].original = static_cast<std::byte*>(buffer(frame.args.args, i).data);
  }
}

void CheckedCall::hand_out(FARCALL_FFI_CallFrame& frame) {
  ++num_calls_;
  for (Guarded& argument : arguments_) {
    argument.alias = SIZE_MAX;
    for (size_t r = 0; r < results_.size(); ++r) {
      if (argument.type.nbytes() > 0 && results_[r].original == argument.original) {
        argument.alias = r;
      }
    }
    if (argument.alias == SIZE_MAX) place(argument, /*is_filled=*/true);
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    const bool is_alias = is_alias_of_argument(i);
    Guarded& result = results_[i];
    place(result, is_alias);
    buffer(frame.rets.rets, i).data = result.data;
    if (is_alias) continue;
    Pattern(result.type.dtype(), num_calls_, i)
        .over(result.type.nbytes(), [&](size_t at, std::span<const std::byte> bytes) {
          std::memcpy(result.data + at, bytes.data(), bytes.size());
        });
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Guarded& argument = arguments_[i];
    buffer(frame.args.args, i).data =
        argument.alias == SIZE_MAX ? argument.data : results_[argument.alias].data;
  }
}

bool CheckedCall::is_alias_of_argument(size_t result) const {
  return std::ranges::find(arguments_, result, &Guarded::alias) != arguments_.end();
}

// A copy has the alignment of the program's memory, and no better. Empty operands have guards too,
// because handlers may see their address; an empty operand at null stays null.
void CheckedCall::place(Guarded& operand, bool is_filled) {
  const size_t nbytes = operand.type.nbytes(), guard = guard_bytes(nbytes);
  if (operand.type.is_token() || (nbytes == 0 && operand.original == nullptr)) {
    operand.data = operand.original;
    return;
  }
  // Others hold the memory if a callback has kept a view.
  if (!operand.memory.is_unique()) {
    operand.memory = Storage::allocate(nbytes + 2 * guard + kAlignment);
  }
  std::byte* const data = static_cast<std::byte*>(operand.memory.data()) + guard +
                          reinterpret_cast<uintptr_t>(operand.original) % kAlignment;
  if (data != operand.data || !operand.has_guards) {
    operand.data = data;
    fill_guards(data, nbytes);
    operand.has_guards = true;
  }
  if (is_filled && nbytes > 0) std::memcpy(data, operand.original, nbytes);
}

void CheckedCall::take_back(FARCALL_FFI_CallFrame& frame, bool is_inspected) {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    buffer(frame.args.args, i).data = arguments_[i].original;
    arguments_[i].has_guards &= is_inspected;
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    buffer(frame.rets.rets, i).data = results_[i].original;
    results_[i].has_guards &= is_inspected;
  }
}

// ---- findings ----

std::string CheckedCall::finding(FARCALL_FFI_ExecutionContext& context, bool has_failed) {
  std::string found;
  const auto note = [&](std::string text) {
    if (found.empty()) found = std::move(text);
  };
  const auto inspect = [&](Guarded& operand, std::string_view kind, size_t index) {
    if (operand.data == operand.original || operand.alias != SIZE_MAX) return;
    const auto damage = find_damage(operand.data, operand.type.nbytes());
    if (!damage) return;
    operand.has_guards = false;
    note(out_of_bounds(fmt::format("{} {}", kind, index), *damage));
  };
  for (size_t i = 0; i < results_.size(); ++i) inspect(results_[i], "result", i);
  for (size_t i = 0; i < arguments_.size(); ++i) inspect(arguments_[i], "argument", i);
  if (const auto damage = context.scratch.take_damage()) {
    note(out_of_bounds("a block of scratch", *damage));
  }
  for (size_t i = 0; i < arguments_.size() && found.empty(); ++i) {
    found = written_input(arguments_[i], i);
  }
  for (size_t i = 0; i < results_.size() && found.empty() && !has_failed; ++i) {
    found = unwritten_result(results_[i], i);
  }
  for (const Guarded& result : results_) {
    if (result.data == result.original || result.type.nbytes() == 0 || !found.empty()) continue;
    std::memcpy(result.original, result.data, result.type.nbytes());
  }
  return found;
}

std::string CheckedCall::out_of_bounds(const std::string& name, const GuardDamage& damage) const {
  return fmt::format("oob-write: it wrote {} {}, at byte offset {} of {} bytes",
                     damage.offset < 0 ? "before the beginning of" : "past the end of", name,
                     damage.offset, damage.nbytes);
}

std::string CheckedCall::written_input(const Guarded& argument, size_t index) const {
  const size_t nbytes = argument.type.nbytes();
  if (argument.alias != SIZE_MAX || argument.data == argument.original || nbytes == 0 ||
      std::memcmp(argument.data, argument.original, nbytes) == 0) {
    return {};
  }
  const auto changed =
      std::mismatch(argument.data, argument.data + nbytes, argument.original).first - argument.data;
  return fmt::format(
      "input-write: it wrote to argument {}, {}, which no result aliases, at byte offset {}", index,
      argument.type.to_string(), changed);
}

// Finds words of a result that still hold the pattern from before the call. A float that equals the
// pattern's nan and a byte that is not a bool are certainly unwritten. Other elements may match by
// chance: they count as unwritten when enough bits of neighbouring elements match, in one call or
// in several. The probability of a false finding is below 2^-24 per result.
std::string CheckedCall::unwritten_result(Guarded& result, size_t index) const {
  const size_t nbytes = result.type.nbytes();
  if (result.data == result.original || nbytes == 0 || is_alias_of_argument(index)) {
    return {};
  }
  const DType dtype = result.type.dtype();
  const Pattern pattern(dtype, num_calls_, index);
  const bool is_number = pattern.filling == Filling::kBytes;
  const size_t width = is_number ? byte_width(dtype) : word_of(pattern.filling).width;
  const unsigned bits = is_number ? static_cast<unsigned>(8 * width) : 64;
  bool is_suspicious = false;
  pattern.over(nbytes, [&](size_t at, std::span<const std::byte> bytes) {
    is_suspicious |= shares_a_word(result.data + at, bytes, width);
  });
  if (!is_suspicious) {
    result.suspect = SIZE_MAX;
    return {};
  }
  const unsigned needed = 24 + static_cast<unsigned>(std::bit_width(nbytes / width));
  const auto is_kept = [&](size_t at) {
    for (size_t i = at; i < at + width; ++i) {
      if (result.data[i] != pattern.at(i)) return false;
    }
    return true;
  };
  size_t best = SIZE_MAX;
  unsigned most_bits = 0, count_bits = 0;
  size_t count = 0, first = 0;
  for (size_t at = 0; at < nbytes; at += width) {
    if (!is_kept(at)) {
      count_bits = 0;
      continue;
    }
    if (count_bits == 0) first = at;
    ++count;
    count_bits = std::min(count_bits + bits, 4096U);
    if (count_bits > most_bits) {
      most_bits = count_bits;
      best = first;
    }
  }
  // Has the suspect of earlier calls matched again?
  if (most_bits < needed && result.suspect != SIZE_MAX && is_kept(result.suspect)) {
    best = result.suspect;
    most_bits = result.suspect_bits + bits;
  }
  result.suspect = best;
  result.suspect_bits = most_bits;
  if (most_bits < needed) return {};
  return fmt::format(
      "unwritten-result: it left {} of {} bytes of result {}, {}, unwritten, from byte offset {} "
      "on",
      count * width, nbytes, index, result.type.to_string(), best);
}

std::string CheckedCall::types() const {
  return fmt::format("({}) -> ({})", types_to_string(spec_.arguments),
                     types_to_string(spec_.results));
}

}  // namespace farcall::runtime
