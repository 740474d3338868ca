#include <farcall/program/value.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>

namespace farcall {
namespace {

template <class T>
const T& get(const Value& value, std::string_view wanted) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  invalid_argument(fmt::format("expected {}, got {}", wanted, to_text(value)));
}

}  // namespace

void from_value(const Value& value, bool& out) { out = get<bool>(value, "True or False"); }
void from_value(const Value& value, int64_t& out) { out = get<int64_t>(value, "an integer"); }
void from_value(const Value& value, double& out) {
  const auto* integer = std::get_if<int64_t>(&value);
  out = integer ? static_cast<double>(*integer) : get<double>(value, "a number");
}
void from_value(const Value& value, std::string& out) { out = get<std::string>(value, "a name"); }
void from_value(const Value& value, DType& out) {
  const auto& name = get<std::string>(value, "a dtype");
  const auto dtype = parse_dtype(name);
  if (!dtype) invalid_argument(fmt::format("{} is not a dtype", name));
  out = *dtype;
}
void from_value(const Value& value, Precision& out) {
  out = precision_named(get<std::string>(value, "a precision"));
}
void from_value(const Value& value, ShapeDtype& out) {
  out = get<ShapeDtype>(value, "an array type such as f32[2]");
}
void from_value(const Value& value, Attributes& out) {
  out = get<Attributes>(value, "attributes in braces");
}
void from_value(const Value& value, ProgramPtr& out) { out = get<ProgramPtr>(value, "a program"); }

namespace detail {

const ValueList& list_of(const Value& value) {
  return get<ValueList>(value, "a list in parentheses");
}

const ValueList& list_of(const Value& value, size_t size) {
  const ValueList& list = list_of(value);
  if (list.size() != size) {
    invalid_argument(fmt::format("expected a list of {}, got {}", size, to_text(value)));
  }
  return list;
}

}  // namespace detail
}  // namespace farcall
