// Value: a parameter of an equation in untyped form, for printing, parsing and walking programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/precision.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/attribute.h>

namespace farcall {

class Program;
using ProgramPtr = std::shared_ptr<const Program>;

// None, a bool, an integer, a float, a string (also a name or dtype), an array type, the attributes
// of a foreign call, a program, or a list of values.
struct Value : std::variant<std::monostate, bool, int64_t, double, std::string, ShapeDtype,
                            Attributes, ProgramPtr, std::vector<Value>> {
  using variant::variant;
};
using ValueList = std::vector<Value>;

// Whether both are null or equal.
FARCALL_API bool same_program(const ProgramPtr& a, const ProgramPtr& b);
FARCALL_API size_t hash_of_program(const ProgramPtr& program);

struct NamedValue {
  std::string name;
  Value value;
};

// Conversions between the types that a parameter struct may hold and Value. `from_value` raises
// INVALID_ARGUMENT if the value has another kind.
inline Value to_value(bool v) { return v; }
inline Value to_value(int64_t v) { return v; }
inline Value to_value(double v) { return v; }
inline Value to_value(const std::string& v) { return v; }
inline Value to_value(DType v) { return std::string(dtype_short_name(v)); }
inline Value to_value(Precision v) { return std::string(precision_name(v)); }
inline Value to_value(ShapeDtype v) { return v; }
inline Value to_value(const Attributes& v) { return v; }
inline Value to_value(const ProgramPtr& v) { return v; }
template <class T>
Value to_value(const std::optional<T>& v);
template <class A, class B>
Value to_value(const std::pair<A, B>& v);
template <class T>
Value to_value(const std::vector<T>& v);

FARCALL_API void from_value(const Value& value, bool& out);
FARCALL_API void from_value(const Value& value, int64_t& out);
FARCALL_API void from_value(const Value& value, double& out);
FARCALL_API void from_value(const Value& value, std::string& out);
FARCALL_API void from_value(const Value& value, DType& out);
FARCALL_API void from_value(const Value& value, Precision& out);
FARCALL_API void from_value(const Value& value, ShapeDtype& out);
FARCALL_API void from_value(const Value& value, Attributes& out);
FARCALL_API void from_value(const Value& value, ProgramPtr& out);
template <class T>
void from_value(const Value& value, std::optional<T>& out);
template <class A, class B>
void from_value(const Value& value, std::pair<A, B>& out);
template <class T>
void from_value(const Value& value, std::vector<T>& out);

namespace detail {
// The items of a list value. Raises INVALID_ARGUMENT if the value is not a list (of this size).
FARCALL_API const ValueList& list_of(const Value& value);
FARCALL_API const ValueList& list_of(const Value& value, size_t size);
}  // namespace detail

template <class T>
Value to_value(const std::optional<T>& v) {
  return v ? to_value(*v) : Value();
}
template <class A, class B>
Value to_value(const std::pair<A, B>& v) {
  return ValueList{to_value(v.first), to_value(v.second)};
}
template <class T>
Value to_value(const std::vector<T>& v) {
  ValueList list;
  list.reserve(v.size());
  for (const auto& item : v) list.push_back(to_value(item));
  return list;
}

template <class T>
void from_value(const Value& value, std::optional<T>& out) {
  if (std::holds_alternative<std::monostate>(value)) {
    out.reset();
  } else {
    from_value(value, out.emplace());
  }
}
template <class A, class B>
void from_value(const Value& value, std::pair<A, B>& out) {
  const ValueList& list = detail::list_of(value, 2);
  from_value(list[0], out.first);
  from_value(list[1], out.second);
}
template <class T>
void from_value(const Value& value, std::vector<T>& out) {
  out.clear();
  for (const Value& item : detail::list_of(value)) {
    T element{};
    from_value(item, element);
    out.push_back(std::move(element));
  }
}

}  // namespace farcall
