#include <farcall/ffi/attribute.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

void check_element_bytes(DType dtype, size_t count, size_t nbytes) {
  const size_t width = byte_width(dtype);
  if (width == 0) {
    invalid_argument(
        fmt::format("attribute: elements of type {} have no value", dtype_name(dtype)));
  }
  if (count > nbytes || count * width != nbytes) {
    invalid_argument(fmt::format("attribute: {} element(s) of type {} take {} bytes, got {}", count,
                                 dtype_name(dtype), count * width, nbytes));
  }
}

size_t combine(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

size_t hash_bytes(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::hash<std::string_view>()(text);
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

std::string_view kind_name(Attribute::Kind kind) {
  static constexpr std::string_view kNames[] = {"scalar", "array", "string", "dictionary"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

// ---- Attribute ----

Attribute::Attribute(Value value) : value_(std::move(value)) {}
Attribute::Attribute(std::string value) : value_(std::move(value)) {}
Attribute::Attribute(std::string_view value) : value_(std::string(value)) {}
Attribute::Attribute(const char* value) : value_(std::string(value)) {}
Attribute::Attribute(Attributes dictionary) : value_(std::move(dictionary)) {}

Attribute Attribute::scalar(DType dtype, std::span<const std::byte> bytes) {
  check_element_bytes(dtype, 1, bytes.size());
  Scalar scalar{dtype, false, {}};
  std::ranges::copy(bytes, scalar.bytes.begin());
  return Attribute(Value(scalar));
}

Attribute Attribute::array(DType dtype, size_t count, std::span<const std::byte> bytes) {
  check_element_bytes(dtype, count, bytes.size());
  return Attribute(Value(Array{dtype, false, count, Storage::copy_of(bytes.data(), bytes.size())}));
}

bool Attribute::is_plain() const {
  if (const auto* scalar = std::get_if<Scalar>(&value_)) return scalar->is_plain;
  if (const auto* array = std::get_if<Array>(&value_)) return array->is_plain;
  return false;
}

void Attribute::set_plain(bool is_plain) {
  if (auto* scalar = std::get_if<Scalar>(&value_)) scalar->is_plain = is_plain;
  if (auto* array = std::get_if<Array>(&value_)) array->is_plain = is_plain;
}

Attribute Attribute::plain() const {
  Attribute copy = *this;
  copy.set_plain(true);
  return copy;
}

Attribute Attribute::typed() const {
  Attribute copy = *this;
  if (auto* dictionary = std::get_if<Attributes>(&copy.value_)) {
    for (const auto& [name, value] : as_dictionary()) dictionary->set(name, value.typed());
  } else {
    copy.set_plain(false);
  }
  return copy;
}

DType Attribute::dtype() const {
  if (const auto* scalar = std::get_if<Scalar>(&value_)) return scalar->dtype;
  if (const auto* array = std::get_if<Array>(&value_)) return array->dtype;
  return DType::kInvalid;
}

size_t Attribute::count() const {
  if (const auto* array = std::get_if<Array>(&value_)) return array->count;
  return kind() == Kind::kScalar ? 1 : 0;
}

std::span<const std::byte> Attribute::bytes() const {
  if (const auto* scalar = std::get_if<Scalar>(&value_)) {
    return std::span(scalar->bytes).first(byte_width(scalar->dtype));
  }
  if (const auto* array = std::get_if<Array>(&value_)) {
    return {static_cast<const std::byte*>(array->storage.data()),
            array->count * byte_width(array->dtype)};
  }
  if (const auto* text = std::get_if<std::string>(&value_)) return std::as_bytes(std::span(*text));
  return {};
}

const std::string& Attribute::as_string() const {
  if (const auto* text = std::get_if<std::string>(&value_)) return *text;
  invalid_argument(
      fmt::format("attribute: expected a string, got a {} ({})", kind_name(kind()), to_string()));
}

const Attributes& Attribute::as_dictionary() const {
  if (const auto* dictionary = std::get_if<Attributes>(&value_)) return *dictionary;
  invalid_argument(fmt::format("attribute: expected a dictionary, got a {} ({})", kind_name(kind()),
                               to_string()));
}

void Attribute::copy_scalar(DType dtype, void* out) const {
  if (kind() != Kind::kScalar || this->dtype() != dtype) {
    invalid_argument(fmt::format("attribute: expected a scalar of type {}, got {}",
                                 dtype_name(dtype), to_string()));
  }
  std::memcpy(out, bytes().data(), bytes().size());
}

size_t Attribute::hash() const {
  size_t seed = combine(value_.index(), static_cast<size_t>(dtype()));
  if (const auto* dictionary = std::get_if<Attributes>(&value_)) {
    return combine(seed, dictionary->hash());
  }
  return combine(seed, hash_bytes(bytes()));
}

bool operator==(const Attribute& a, const Attribute& b) {
  if (a.kind() != b.kind()) return false;
  if (a.kind() == Attribute::Kind::kDictionary) return a.as_dictionary() == b.as_dictionary();
  return a.dtype() == b.dtype() && a.is_plain() == b.is_plain() && same_bytes(a.bytes(), b.bytes());
}

// ---- Attributes ----

Attributes::Attributes() = default;
Attributes::Attributes(const Attributes&) = default;
Attributes::Attributes(Attributes&&) noexcept = default;
Attributes& Attributes::operator=(const Attributes&) = default;
Attributes& Attributes::operator=(Attributes&&) noexcept = default;
Attributes::~Attributes() = default;

Attributes::Attributes(std::initializer_list<value_type> entries) : entries_(entries) {
  sort_by_name();
}
Attributes::Attributes(std::vector<value_type> entries) : entries_(std::move(entries)) {
  sort_by_name();
}

void Attributes::sort_by_name() {
  std::ranges::sort(entries_, {}, &value_type::first);
  const auto twice = std::ranges::adjacent_find(entries_, {}, &value_type::first);
  if (twice != entries_.end()) {
    invalid_argument(fmt::format("attributes: the name \"{}\" is given twice", twice->first));
  }
}

void Attributes::set(std::string name, Attribute value) {
  const auto at = std::ranges::lower_bound(entries_, name, {}, &value_type::first);
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, std::move(name), std::move(value));
  }
}

const Attribute* Attributes::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(
      entries_, name, {}, [](const value_type& entry) { return std::string_view(entry.first); });
  return at != entries_.end() && at->first == name ? &at->second : nullptr;
}

Attributes::const_iterator Attributes::begin() const { return entries_.data(); }
Attributes::const_iterator Attributes::end() const { return entries_.data() + entries_.size(); }
size_t Attributes::size() const { return entries_.size(); }

size_t Attributes::hash() const {
  size_t seed = entries_.size();
  for (const auto& [name, value] : entries_) {
    seed = combine(combine(seed, std::hash<std::string>()(name)), value.hash());
  }
  return seed;
}

bool operator==(const Attributes& a, const Attributes& b) { return a.entries_ == b.entries_; }

}  // namespace farcall
