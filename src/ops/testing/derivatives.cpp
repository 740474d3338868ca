// Derivatives by both modes, compared with central differences.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/element_text.h>
#include <farcall/ops/checks.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/differentiate.h>

#include "ops/testing/elements.h"

namespace farcall::testing::detail {
namespace {

// A real number in a list of arrays: the real or the imaginary part of an element.
struct Place {
  size_t leaf;
  size_t element;
  bool is_imaginary;
};

std::vector<Place> places_in(std::span<const Array> arrays) {
  std::vector<Place> places;
  for (size_t i = 0; i < arrays.size(); ++i) {
    for (size_t k = 0; k < static_cast<size_t>(arrays[i].size()); ++k) {
      places.push_back({i, k, false});
      if (is_complex(arrays[i].dtype())) places.push_back({i, k, true});
    }
  }
  return places;
}

// The number at each place.
std::vector<double> reals(std::span<const Array> arrays) {
  std::vector<double> values;
  for (const Array& x : arrays) {
    for (const Number number : numbers_of(x)) {
      values.push_back(number.real());
      if (is_complex(x.dtype())) values.push_back(number.imag());
    }
  }
  return values;
}

std::string name_of(const Place& place, std::span<const Array> arrays,
                    std::span<const std::string> names) {
  const Array& x = arrays[place.leaf];
  const char* part = place.is_imaginary      ? "imaginary part of "
                     : is_complex(x.dtype()) ? "real part of "
                                             : "";
  return part + element_name(names[place.leaf], static_cast<int64_t>(place.element), x.shape());
}

std::string number_text(double number) { return format_element(DType::kFloat64, &number); }

// A tangent or cotangent that is `unit` at one place and zero elsewhere.
std::vector<Array> direction(std::span<const Array> like, const Place& place, Number unit) {
  std::vector<Array> arrays(like.size());
  std::vector<Number> numbers(static_cast<size_t>(like[place.leaf].size()));
  numbers[place.element] = unit;
  arrays[place.leaf] = array_of(numbers, like[place.leaf].type());
  return arrays;
}

// A direction without symmetries that could hide an error.
std::vector<Array> any_direction(std::span<const Array> like) {
  std::vector<Array> arrays;
  int count = 0;
  for (const Array& x : like) {
    std::vector<Number> numbers(static_cast<size_t>(x.size()));
    for (Number& number : numbers) number = 0.5 + 0.5 * std::fmod(0.618034 * ++count, 1.0);
    arrays.push_back(array_of(numbers, x.type()));
  }
  return arrays;
}

std::vector<Array> instantiated(std::vector<Array> tangents, std::span<const Array> like) {
  for (size_t i = 0; i < tangents.size(); ++i) {
    tangents[i] = instantiate(tangents[i], like[i].type());
  }
  return tangents;
}

std::vector<std::string> types_in(std::span<const Array> arrays) {
  std::vector<std::string> types;
  for (const Array& x : arrays) types.push_back(x.type().strengthened().to_string());
  return types;
}

enum class Mode : uint8_t { kForward, kReverse };
const char* name_of(Mode mode) { return mode == Mode::kForward ? "fwd mode" : "rev mode"; }

JvpResults forward(const FlatFunction& f, std::span<const Array> values,
                   std::span<const Array> tangents) {
  JvpResults results = jvp(f, values, tangents);
  results.tangents = instantiated(std::move(results.tangents), results.primals);
  return results;
}
Linearized reverse(const FlatFunction& f, std::span<const Array> values) {
  return linearize(f, values, std::vector<bool>(values.size(), true));
}

// The derivative of `f` along one direction.
FlatFunction along(Mode mode, const FlatFunction& f, std::span<const Array> values,
                   std::span<const Array> results) {
  if (mode == Mode::kForward) {
    return [&f, tangents = any_direction(values)](std::span<const Array> inputs) {
      return forward(f, inputs, tangents).tangents;
    };
  }
  return [&f, cotangents = any_direction(results)](std::span<const Array> inputs) {
    return instantiated(reverse(f, inputs).derivative->transpose(cotangents), inputs);
  };
}

class DerivativeCheck {
 public:
  // `names` are those of the arguments that are differentiated.
  DerivativeCheck(const std::string& where, std::vector<std::string> names,
                  const DerivativeChecks& options)
      : where_(where), names_(std::move(names)), options_(options) {
    if (options.forward) modes_.push_back(Mode::kForward);
    if (options.reverse) modes_.push_back(Mode::kReverse);
  }

  // Checks `f`, then its derivatives. `what` says which derivative of the function `f` is.
  void run(const FlatFunction& f, std::span<const Array> values, int64_t order,
           const std::string& what) const {
    const Point at(f, values, options_);
    const Columns wanted = differences(at, what + "differences");
    for (const Mode mode : modes_) {
      const std::string which = what + name_of(mode);
      const Columns got = mode == Mode::kForward ? by_forward(at, which) : by_reverse(at, which);
      compare(which, got, wanted, at);
    }
    if (order <= 1) return;
    for (const Mode mode : modes_) {
      run(along(mode, f, values, at.results), values, order - 1,
          fmt::format("{}derivative of {}: ", what, name_of(mode)));
    }
  }

 private:
  // By place in the arguments, then by place in the results.
  using Columns = std::vector<std::vector<double>>;

  // A function, its arguments and its results.
  struct Point {
    Point(const FlatFunction& function, std::span<const Array> arguments,
          const DerivativeChecks& options)
        : f(function), values(arguments), results(function(arguments)) {
      const double epsilon = std::max(epsilon_of(values), epsilon_of(results));
      tolerance = {options.atol.value_or(10 * std::sqrt(epsilon)),
                   options.rtol.value_or(10 * std::sqrt(epsilon))};
      step = options.step.value_or(std::cbrt(epsilon));
      for (size_t i = 0; i < results.size(); ++i) {
        result_names.push_back(fmt::format("result {}", i));
      }
    }

    const FlatFunction& f;
    std::span<const Array> values;
    std::vector<Array> results;
    std::vector<std::string> result_names;
    Tolerance tolerance;
    double step;
  };

  Columns differences(const Point& at, const std::string& which) const {
    Columns columns;
    for (const Place& place : places_in(at.values)) {
      const Array& x = at.values[place.leaf];
      const std::vector<Number> numbers = numbers_of(x);
      const double size = at.step * std::max(1.0, std::abs(numbers[place.element]));
      std::vector<double> ends[2];
      double distance = 0;
      for (const int end : {0, 1}) {
        std::vector<Number> moved = numbers;
        const double change = end == 0 ? size : -size;
        moved[place.element] += place.is_imaginary ? Number(0, change) : Number(change);
        std::vector<Array> inputs(at.values.begin(), at.values.end());
        inputs[place.leaf] = array_of(moved, x.type());
        // The step after rounding.
        distance +=
            std::abs(numbers_of(inputs[place.leaf])[place.element] - numbers[place.element]);
        const std::vector<Array> results = at.f(inputs);
        check_types(which, results, at);
        ends[end] = reals(results);
      }
      for (size_t i = 0; i < ends[0].size(); ++i) ends[0][i] = (ends[0][i] - ends[1][i]) / distance;
      columns.push_back(std::move(ends[0]));
    }
    return columns;
  }

  Columns by_forward(const Point& at, const std::string& which) const {
    Columns columns;
    for (const Place& place : places_in(at.values)) {
      const Number unit = place.is_imaginary ? Number(0, 1) : Number(1);
      const JvpResults found = forward(at.f, at.values, direction(at.values, place, unit));
      check_results(which, found.primals, at);
      columns.push_back(reals(found.tangents));
    }
    return columns;
  }

  // Products are not conjugated: Re(cotangent * tangent of the result) = Re(cotangent of the
  // argument * tangent).
  Columns by_reverse(const Point& at, const std::string& which) const {
    const Linearized found = reverse(at.f, at.values);
    check_results(which, found.outputs, at);
    Columns columns(places_in(at.values).size());
    for (const Place& place : places_in(at.results)) {
      const Number unit = place.is_imaginary ? Number(0, -1) : Number(1);
      std::vector<Array> cotangents =
          instantiated(found.derivative->transpose(direction(at.results, place, unit)), at.values);
      for (Array& cotangent : cotangents) {
        if (is_complex(cotangent.dtype())) cotangent = numpy::conjugate(cotangent);
      }
      const std::vector<double> row = reals(cotangents);
      for (size_t i = 0; i < row.size(); ++i) columns[i].push_back(row[i]);
    }
    return columns;
  }

  // Numbers of results are compared by their places, which depend on the types.
  void check_types(const std::string& which, std::span<const Array> found, const Point& at) const {
    const auto wanted = types_in(at.results), got = types_in(found);
    if (got == wanted) return;
    throw CheckError(
        fmt::format("{}: derivative: {}: the types of the results should be ({}), got ({})", where_,
                    which, fmt::join(wanted, ", "), fmt::join(got, ", ")));
  }

  void check_results(const std::string& which, std::span<const Array> found,
                     const Point& at) const {
    check_types(which, found, at);
    const std::vector<double> got = reals(found), wanted = reals(at.results);
    double worst = 0;
    size_t place = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double off = excess(got[i], wanted[i], at.tolerance);
      if (off <= worst) continue;
      worst = off;
      place = i;
    }
    if (worst == 0) return;
    throw CheckError(fmt::format("{}: derivative: {} changes the {}: it should be {}, and is {}",
                                 where_, which,
                                 name_of(places_in(at.results)[place], at.results, at.result_names),
                                 number_text(wanted[place]), number_text(got[place])));
  }

  void compare(const std::string& which, const Columns& got, const Columns& wanted,
               const Point& at) const {
    double worst = 0;
    size_t row = 0, column = 0;
    const size_t num_rows = wanted.empty() ? 0 : wanted[0].size();
    for (size_t i = 0; i < num_rows; ++i) {
      for (size_t k = 0; k < wanted.size(); ++k) {
        const double off = excess(got[k][i], wanted[k][i], at.tolerance);
        if (off <= worst) continue;
        worst = off;
        row = i;
        column = k;
      }
    }
    if (worst == 0) return;
    throw CheckError(fmt::format(
        "{}: derivative: {}: the derivative of {} by {} should be {} by differences, and is {} "
        "(atol={:.1e}, "
        "rtol={:.1e}, step {:.1e})",
        where_, which, name_of(places_in(at.results)[row], at.results, at.result_names),
        name_of(places_in(at.values)[column], at.values, names_), number_text(wanted[column][row]),
        number_text(got[column][row]), at.tolerance.atol, at.tolerance.rtol, at.step));
  }

  const std::string& where_;
  std::vector<std::string> names_;
  const DerivativeChecks& options_;
  std::vector<Mode> modes_;
};

// A name for each leaf: "argument 0", "argument 0.weights". Where the path is only numbers it would
// read as the index of an element, so the number of the leaf stands for it: "argument 0, leaf 1".
std::vector<std::string> names_of_leaves(const TreeDef& arguments) {
  std::vector<std::string> names;
  for (size_t i = 0; i < arguments.children().size(); ++i) {
    const TreeDef& argument = arguments.children()[i];
    for (size_t leaf = 0; leaf < argument.num_leaves(); ++leaf) {
      std::string path = leaf_path(argument, leaf);
      if (path.find_first_not_of("[]0123456789") == std::string::npos) {
        path = argument.num_leaves() > 1 ? fmt::format(", leaf {}", leaf) : "";
      }
      names.push_back(fmt::format("argument {}{}", i, path));
    }
  }
  return names;
}

}  // namespace

void check_derivatives(LeafCall& call, const TreeDef& arguments, const DerivativeChecks& options) {
  if (options.order < 1) {
    invalid_argument(
        fmt::format("{}: order must be at least 1, got {}", call.where(), options.order));
  }
  if (!options.forward && !options.reverse) {
    invalid_argument(fmt::format("{}: there must be a mode to check", call.where()));
  }
  const std::vector<std::string> all_names = names_of_leaves(arguments);
  std::vector<Array> values;
  std::vector<size_t> varying;
  std::vector<std::string> names;
  for (size_t i = 0; i < call.leaves().size(); ++i) {
    if (!is_inexact(call.leaves()[i].dtype())) continue;
    varying.push_back(i);
    values.push_back(call.leaves()[i]);
    names.push_back(all_names[i]);
  }
  if (values.empty()) {
    invalid_argument(fmt::format("{}: no argument is a float or a complex number", call.where()));
  }
  const FlatFunction f = [&](std::span<const Array> inputs) {
    std::vector<Array> all(call.leaves().size());  // a null input stands for the leaf itself
    for (size_t i = 0; i < varying.size(); ++i) all[varying[i]] = inputs[i];
    std::vector<Array> results = call(all);
    std::erase_if(results, [](const Array& x) { return !is_inexact(x.dtype()); });
    return results;
  };
  DerivativeCheck(call.where(), std::move(names), options).run(f, values, options.order, "");
}

}  // namespace farcall::testing::detail
