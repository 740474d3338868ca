// Parameters of an equation: a struct that lists its fields. Printing, parsing, hashing and
// comparing are derived from this list:
//
//   struct TransposeParams {
//     std::vector<int64_t> permutation;
//     static constexpr auto fields() {
//       return std::tuple(field("permutation", &TransposeParams::permutation));
//     }
//   };
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <utility>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/program/value.h>

namespace farcall {

// A program that an equation runs, by the name of its parameter: "jaxpr", "branches[0]".
struct NamedProgram {
  std::string name;
  ProgramPtr program;
};

// Immutable. For a primitive without parameters the pointer is null.
class FARCALL_API Params {
 public:
  virtual ~Params();
  virtual bool equals(const Params& other) const = 0;
  virtual size_t hash() const = 0;
  // In the order of Struct::fields().
  virtual std::vector<NamedValue> fields() const = 0;
  // The fields that are programs, in order.
  virtual std::vector<NamedProgram> programs() const = 0;
};
using ParamsPtr = std::shared_ptr<const Params>;

FARCALL_API bool params_equal(const Params* a, const Params* b);
FARCALL_API size_t params_hash(const Params* params);

template <class Struct, class T>
struct Field {
  std::string_view name;
  T Struct::*member;
  bool is_optional = false;
};
template <class Struct, class T>
constexpr Field<Struct, T> field(std::string_view name, T Struct::*member) {
  return {name, member};
}
// A field that is not listed while it is empty, so texts may omit it.
template <class Struct, class T>
constexpr Field<Struct, std::optional<T>> optional_field(std::string_view name,
                                                         std::optional<T> Struct::*member) {
  return {name, member, /*is_optional=*/true};
}

namespace detail {

inline void mix(size_t& hash, size_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ull + (hash << 6) + (hash >> 2);
}
inline size_t hash_of(bool v) { return v; }
inline size_t hash_of(int64_t v) { return static_cast<size_t>(v); }
inline size_t hash_of(double v) { return std::bit_cast<uint64_t>(v); }
inline size_t hash_of(const std::string& v) { return std::hash<std::string>()(v); }
inline size_t hash_of(DType v) { return static_cast<size_t>(v); }
inline size_t hash_of(Precision v) { return static_cast<size_t>(v); }
inline size_t hash_of(ShapeDtype v) { return v.hash(); }
inline size_t hash_of(const Attributes& v) { return v.hash(); }
inline size_t hash_of(const ProgramPtr& v) { return hash_of_program(v); }
template <class T>
size_t hash_of(const std::optional<T>& v);
template <class A, class B>
size_t hash_of(const std::pair<A, B>& v);
template <class T>
size_t hash_of(const std::vector<T>& v) {
  size_t hash = v.size();
  for (const auto& item : v) mix(hash, hash_of(item));
  return hash;
}
template <class T>
size_t hash_of(const std::optional<T>& v) {
  return v ? hash_of(*v) + 1 : 0;
}
template <class A, class B>
size_t hash_of(const std::pair<A, B>& v) {
  size_t hash = hash_of(v.first);
  mix(hash, hash_of(v.second));
  return hash;
}

// Doubles are compared bitwise, so that a program with a NaN equals itself.
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
inline bool same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}
inline bool same(const ProgramPtr& a, const ProgramPtr& b) { return same_program(a, b); }
template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b);
template <class A, class B>
bool same(const std::pair<A, B>& a, const std::pair<A, B>& b);
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}
template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <class A, class B>
bool same(const std::pair<A, B>& a, const std::pair<A, B>& b) {
  return same(a.first, b.first) && same(a.second, b.second);
}

template <class T>
void add_programs(std::string_view, const T&, std::vector<NamedProgram>&) {}
inline void add_programs(std::string_view name, const ProgramPtr& program,
                         std::vector<NamedProgram>& out) {
  if (program) out.push_back({std::string(name), program});
}
inline void add_programs(std::string_view name, const std::optional<ProgramPtr>& program,
                         std::vector<NamedProgram>& out) {
  if (program) add_programs(name, *program, out);
}
inline void add_programs(std::string_view name, const std::vector<ProgramPtr>& programs,
                         std::vector<NamedProgram>& out) {
  for (size_t i = 0; i < programs.size(); ++i) {
    add_programs(std::string(name) + '[' + std::to_string(i) + ']', programs[i], out);
  }
}

[[noreturn]] FARCALL_API void unknown_params(std::string_view wanted, const std::type_info* got);
// Null if there is no such field and it is optional.
FARCALL_API const Value* find_field(std::span<const NamedValue> fields, std::string_view name,
                                    bool is_optional);

// The field may be of a base of Struct.
template <class Base, class T, class Struct>
void list_field(const Field<Base, T>& field, const Struct& from, std::vector<NamedValue>& out) {
  Value value = to_value(from.*(field.member));
  if (field.is_optional && std::holds_alternative<std::monostate>(value)) return;
  out.push_back({std::string(field.name), std::move(value)});
}
template <class Base, class T, class Struct>
void read_field(const Field<Base, T>& field, std::span<const NamedValue> from, Struct& out) {
  const Value* value = find_field(from, field.name, field.is_optional);
  if (value != nullptr) from_value(*value, out.*(field.member));
}

template <class Struct>
class ParamsOf final : public Params {
 public:
  explicit ParamsOf(Struct value) : value_(std::move(value)) {}
  const Struct& value() const { return value_; }

  bool equals(const Params& other) const override {
    const auto* same_kind = dynamic_cast<const ParamsOf*>(&other);
    if (!same_kind) return false;
    return std::apply(
        [&](const auto&... f) {
          return (same(value_.*(f.member), same_kind->value_.*(f.member)) && ...);
        },
        Struct::fields());
  }
  size_t hash() const override {
    size_t hash = typeid(Struct).hash_code();
    std::apply([&](const auto&... f) { (mix(hash, hash_of(value_.*(f.member))), ...); },
               Struct::fields());
    return hash;
  }
  std::vector<NamedValue> fields() const override {
    std::vector<NamedValue> result;
    std::apply([&](const auto&... f) { (list_field(f, value_, result), ...); }, Struct::fields());
    return result;
  }
  std::vector<NamedProgram> programs() const override {
    std::vector<NamedProgram> result;
    std::apply([&](const auto&... f) { (add_programs(f.name, value_.*(f.member), result), ...); },
               Struct::fields());
    return result;
  }

 private:
  Struct value_;
};

}  // namespace detail

template <class Struct>
ParamsPtr make_params(Struct value) {
  return std::make_shared<detail::ParamsOf<Struct>>(std::move(value));
}

// The struct of parameters. Raises INTERNAL if it has another type.
template <class Struct>
const Struct& params_as(const Params* params) {
  const auto* typed = dynamic_cast<const detail::ParamsOf<Struct>*>(params);
  if (!typed) detail::unknown_params(typeid(Struct).name(), params ? &typeid(*params) : nullptr);
  return typed->value();
}

// The same, but null if the struct has another type.
template <class Struct>
const Struct* try_params(const Params* params) {
  const auto* typed = dynamic_cast<const detail::ParamsOf<Struct>*>(params);
  return typed ? &typed->value() : nullptr;
}

// Parameters from the fields of a program's text. Raises INVALID_ARGUMENT if one is missing.
template <class Struct>
ParamsPtr parse_params(std::span<const NamedValue> fields) {
  Struct value;
  std::apply([&](const auto&... f) { (detail::read_field(f, fields, value), ...); },
             Struct::fields());
  return make_params(std::move(value));
}

}  // namespace farcall
