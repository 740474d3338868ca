#include "tools/check/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "tools/check/sanitizer.h"
#include "tools/check/signals.h"
#include "tools/failure.h"

namespace farcall::tools {
namespace {

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

size_t page_bytes() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

BufferName BufferName::of_attribute(const std::string& name) {
  BufferName result = {Kind::kAttribute, 0};
  name.copy(result.text, sizeof(result.text) - 1);
  return result;
}

BufferName BufferName::of_shape(const BufferName& operand) {
  BufferName result = {Kind::kShape, operand.index};
  operand.to_string().copy(result.text, sizeof(result.text) - 1);
  return result;
}

std::string BufferName::to_string() const {
  if (kind == Kind::kScratch) return "scratch";
  if (kind == Kind::kAttribute) return fmt::format("attribute {}", text);
  if (kind == Kind::kShape) return fmt::format("the shape of {}", text);
  return fmt::format("{} {}", kind == Kind::kArgument ? "argument" : "result", index);
}

GuardedBuffer::GuardedBuffer(BufferName name, size_t nbytes, size_t alignment, Placement placement)
    : name_(name), nbytes_(nbytes) {
  // As large as the operand: a wrong index is often off by a whole row or a whole array.
  guard_bytes_ = std::clamp(round_up(nbytes, page_bytes()), size_t{1} << 16, size_t{1} << 24);
  body_bytes_ = round_up(nbytes, std::max(page_bytes(), alignment));
  const size_t total = body_bytes_ + 2 * guard_bytes_;
  void* map = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED)
    throw Failure(kCouldNotRun, "there is not enough memory for the operands.");
  map_ = static_cast<std::byte*>(map);
  body_ = map_ + guard_bytes_;
  set_writable(true);
  const size_t slack = body_bytes_ - nbytes;
  data_ = body_ + (placement == Placement::kEnd ? slack / alignment * alignment : 0);
  signals::add_region({reinterpret_cast<uintptr_t>(map_), reinterpret_cast<uintptr_t>(map_ + total),
                       reinterpret_cast<uintptr_t>(data_), nbytes, name_});
}

GuardedBuffer::~GuardedBuffer() {
  allow_red_zones();
  signals::remove_region(reinterpret_cast<uintptr_t>(map_));
  munmap(map_, body_bytes_ + 2 * guard_bytes_);
}

std::span<std::byte> GuardedBuffer::before() const { return {body_, data_}; }
std::span<std::byte> GuardedBuffer::after() const { return {data_ + nbytes_, body_ + body_bytes_}; }

void GuardedBuffer::fill_red_zones(const Pattern& pattern) {
  zones_ = pattern;
  // Each buffer has zones of its own, so that a copy past the ends of two buffers changes bytes.
  zones_.seed += (static_cast<uint64_t>(name_.kind) + 1) << 32 | static_cast<uint64_t>(name_.index)
                                                                     << 8;
  allow_red_zones();
  fill(before(), zones_);
  fill(after(), zones_);
  sanitizer::forbid(before());
  sanitizer::forbid(after());
}

void GuardedBuffer::allow_red_zones() const {
  sanitizer::allow(before());
  sanitizer::allow(after());
}

std::optional<int64_t> GuardedBuffer::changed_byte() const {
  allow_red_zones();
  std::vector<std::byte> wanted(std::max(before().size(), after().size()));
  fill(wanted, zones_);
  for (size_t i = 0; i < after().size(); ++i) {
    if (after()[i] != wanted[i]) return static_cast<int64_t>(nbytes_ + i);
  }
  for (size_t i = before().size(); i-- > 0;) {
    if (before()[i] != wanted[i])
      return static_cast<int64_t>(i) - static_cast<int64_t>(before().size());
  }
  return std::nullopt;
}

void GuardedBuffer::set_writable(bool is_writable) {
  if (body_bytes_ != 0)
    mprotect(body_, body_bytes_, is_writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

void GuardedBuffer::revoke() {
  if (body_bytes_ != 0) mprotect(body_, body_bytes_, PROT_NONE);
}

}  // namespace farcall::tools
