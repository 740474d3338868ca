// def_function: binds a C++ function to Python in one line. Arguments are converted according to
// the types of the C++ parameters; errors name the function and the argument.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/list_of.h>
#include <farcall/core/precision.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::python {

namespace nb = nanobind;

// A parameter of the Python signature; without a default it is required.
struct Parameter {
  Parameter(const char* name) : name(name) {}
  Parameter(const char* name, nb::object value) : name(name), value(std::move(value)) {}
  template <class T>
  requires(!std::is_base_of_v<nb::handle, T>) Parameter(const char* name, const T& value)
      : name(name), value(nb::cast(value)) {}

  const char* name;
  nb::object value;
};

// The place of an argument, for errors.
struct ArgumentPlace {
  const std::string& function;
  const char* name;
};

// The index of the argument among these words. Raises ValueError listing them.
size_t index_of_word(nb::handle object, ArgumentPlace place,
                     std::initializer_list<const char*> words);

// Converts an argument from Python to C++. Raises TypeError naming the place.
template <class T>
struct Argument;

#define FARCALL_ARGUMENT(...)                                        \
  template <>                                                        \
  struct Argument<__VA_ARGS__> {                                     \
    static __VA_ARGS__ from(nb::handle object, ArgumentPlace place); \
  }
FARCALL_ARGUMENT(Array);
FARCALL_ARGUMENT(bool);     // any object with a truth value
FARCALL_ARGUMENT(int64_t);  // any object with __index__
FARCALL_ARGUMENT(double);
FARCALL_ARGUMENT(std::string);
FARCALL_ARGUMENT(DType);
FARCALL_ARGUMENT(numpy::Axes);
FARCALL_ARGUMENT(std::vector<int64_t>);  // one integer, or a sequence of them
FARCALL_ARGUMENT(std::vector<Array>);    // a sequence, or an array, split along its first dimension
#undef FARCALL_ARGUMENT

// None becomes an empty optional.
template <class T>
struct Argument<std::optional<T>> {
  static std::optional<T> from(nb::handle object, ArgumentPlace place) {
    if (object.is_none()) return std::nullopt;
    return Argument<T>::from(object, place);
  }
};
// An array, or a list or tuple of numbers, which is converted to one.
struct ListedArray {
  operator const Array&() const { return array; }
  Array array;
};
template <>
struct Argument<ListedArray> {
  static ListedArray from(nb::handle object, ArgumentPlace place);
};
// The two items of a sequence.
std::pair<nb::object, nb::object> pair_of(nb::handle object, ArgumentPlace place);
template <class A, class B>
struct Argument<std::pair<A, B>> {
  static std::pair<A, B> from(nb::handle object, ArgumentPlace place) {
    const auto [first, second] = pair_of(object, place);
    return {Argument<A>::from(first, place), Argument<B>::from(second, place)};
  }
};
// numpy's argument `out`, which must be None.
struct NoOut {};
template <>
struct Argument<NoOut> {
  static NoOut from(nb::handle object, ArgumentPlace place);
};
// JAX's argument `precision`. None, and algorithms, which have no effect, give nothing. Raises
// ValueError.
using AnyPrecision = std::optional<OperandPrecisions>;
AnyPrecision to_precision(nb::handle object);
template <>
struct Argument<AnyPrecision> {
  static AnyPrecision from(nb::handle object, ArgumentPlace) { return to_precision(object); }
};
template <>
struct Argument<nb::handle> {
  static nb::handle from(nb::handle object, ArgumentPlace) { return object; }
};

nb::object to_python(const Array& result);
nb::object to_python(const Array& result, nb::handle device);  // put on it, unless it is None
nb::object to_python(const std::vector<Array>& result);        // a list
template <class T>
requires(std::is_arithmetic_v<T> || std::is_base_of_v<nb::handle, T>) nb::object
    to_python(const T& result) {
  return nb::cast(result);
}
template <class... T>
nb::object to_python(const std::tuple<T...>& result) {
  return std::apply([](const T&... each) { return nb::make_tuple(to_python(each)...); }, result);
}
template <class A, class B>
nb::object to_python(const std::pair<A, B>& result) {
  return nb::make_tuple(to_python(result.first), to_python(result.second));
}

namespace detail {

// What an argument is kept as while the function runs.
template <class P>
struct Held {
  using type = std::decay_t<P>;
};
template <class T>
struct Held<ListOf<T>> {
  using type = std::vector<T>;
};

template <size_t size>
using AnyFunction = std::function<nb::object(const std::array<nb::handle, size>&)>;

template <size_t>
using HandleFor = nb::handle;

// Overload for parameters without a default.
template <uint32_t flags, bool locked>
nb::arg_v_t<flags, locked> with_default(const nb::arg_t<flags, locked>& base, nb::object value) {
  return {base, std::move(value)};
}
inline auto annotation(const Parameter& parameter) {
  return with_default(nb::arg(parameter.name).none(), parameter.value);
}

// The last `num_keywords` parameters are keyword-only.
template <size_t num_keywords, size_t... i, size_t... k>
void bind(nb::module_& module, const char* name,
          const std::array<Parameter, sizeof...(i) + sizeof...(k)>& parameters,
          AnyFunction<sizeof...(i) + sizeof...(k)> function, std::index_sequence<i...>,
          std::index_sequence<k...>) {
  constexpr size_t kFirst = sizeof...(i);
  const auto call = [function = std::move(function)](HandleFor<i>... args, HandleFor<k>... named) {
    return function({args..., named...});
  };
  if constexpr (num_keywords == 0) {
    module.def(name, call, annotation(parameters[i])...);
  } else {
    module.def(name, call, annotation(parameters[i])..., nb::kw_only(),
               annotation(parameters[kFirst + k])...);
  }
}

template <size_t num_keywords, class Function, class R, class... P>
void def_typed(nb::module_& module, const char* name, Function function,
               const std::array<Parameter, sizeof...(P)>& parameters, R (*)(P...)) {
  constexpr size_t kSize = sizeof...(P);
  std::array<const char*, kSize> names;
  for (size_t i = 0; i < kSize; ++i) names[i] = parameters[i].name;
  std::string attribute = name;
  std::ranges::replace(attribute, '.', '_');
  AnyFunction<kSize> any = [function, names, where = std::string(*name == '_' ? name + 1 : name)](
                               const std::array<nb::handle, kSize>& args) {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      // Brace initialization guarantees conversion from the first to the last argument.
      std::tuple<typename Held<P>::type...> converted{
          Argument<typename Held<P>::type>::from(args[i], {where, names[i]})...};
      return to_python(std::apply(function, std::move(converted)));
    }
    (std::make_index_sequence<kSize>());
  };
  bind<num_keywords>(module, attribute.c_str(), parameters, std::move(any),
                     std::make_index_sequence<kSize - num_keywords>(),
                     std::make_index_sequence<num_keywords>());
}

template <class F, class R, class... P>
R (*signature_of(R (F::*)(P...) const))
(P...);
template <class R, class... P>
R (*signature_of(R (*)(P...)))
(P...);
template <class F>
constexpr auto signature() {
  if constexpr (std::is_class_v<F>) {
    return decltype(signature_of(&F::operator())){};
  } else {
    return F{};
  }
}
template <class R, class... P>
std::integral_constant<size_t, sizeof...(P)> count_parameters(R (*)(P...));
template <class F>
constexpr size_t kNumParameters = decltype(count_parameters(signature<F>()))::value;

}  // namespace detail

// `name` appears in errors, without a leading underscore. "norm.pdf", a function of a distribution,
// becomes norm_pdf in the module.
template <size_t num_keywords = 0, class Function>
void def_function(nb::module_& module, const char* name, Function function,
                  const std::array<Parameter, detail::kNumParameters<Function>>& parameters) {
  detail::def_typed<num_keywords>(module, name, function, parameters,
                                  detail::signature<Function>());
}

}  // namespace farcall::python
