#include <farcall/ops/checks.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/ops/define.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>

namespace farcall::testing::detail {
namespace {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;

bool has_derivative(const Array& x) { return is_floating(x.dtype()) || is_complex(x.dtype()); }

Numbers numbers_of(const Array& x) {
  const Array wide = numpy::astype(x, DType::kComplex128);
  const auto values = wide.values<Number>();
  return {values.begin(), values.end()};
}

Array array_of(const Numbers& numbers, ShapeDtype type) {
  const Array wide = Array::of<Number>(numbers, type.shape());
  return numpy::astype(is_complex(type.dtype()) ? wide : numpy::real(wide), type.dtype());
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128:
      return std::ldexp(1, -52);
    case DType::kFloat32:
    case DType::kComplex64:
      return std::ldexp(1, -23);
    case DType::kFloat16:
      return std::ldexp(1, -10);
    case DType::kBFloat16:
      return std::ldexp(1, -7);
    default:
      return std::ldexp(1, -2);  // floats of eight bits and less
  }
}

// The largest epsilon of the floats among the arrays; 0 if there are none.
double epsilon_of(std::span<const Array> arrays) {
  double epsilon = 0;
  for (const Array& x : arrays) {
    if (has_derivative(x)) epsilon = std::max(epsilon, epsilon_of(x.dtype()));
  }
  return epsilon;
}

[[noreturn]] void failed(std::string message) {
  throw Error(ErrorCode::kFailedPrecondition, std::move(message));
}

// By how much the difference exceeds the tolerance. Two NaNs are equal.
double excess(Number got, Number wanted, double atol, double rtol) {
  if (got == wanted || (std::isnan(std::abs(got)) && std::isnan(std::abs(wanted)))) return -1;
  const double off = std::abs(got - wanted) - (atol + rtol * std::abs(wanted));
  return std::isnan(off) ? INFINITY : off;
}

// ---- derivatives ----

// A real number in a list of arrays: the real or the imaginary part of an element.
struct Place {
  size_t leaf;
  size_t element;
  bool is_imaginary;

  double part_of(Number number) const { return is_imaginary ? number.imag() : number.real(); }
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
  std::string name = place.is_imaginary      ? "the imaginary part of "
                     : is_complex(x.dtype()) ? "the real part of "
                                             : "";
  name += names[place.leaf];
  if (x.rank() == 0) return name;
  std::vector<int64_t> index(x.rank());
  auto rest = static_cast<int64_t>(place.element);
  for (size_t d = x.rank(); d-- > 0; rest /= x.shape()[d]) index[d] = rest % x.shape()[d];
  return name + fmt::format("[{}]", fmt::join(index, ", "));
}

// A tangent or cotangent that is `unit` at one place and zero elsewhere.
std::vector<Array> direction(std::span<const Array> like, const Place& place, Number unit) {
  std::vector<Array> arrays(like.size());
  Numbers numbers(static_cast<size_t>(like[place.leaf].size()));
  numbers[place.element] = unit;
  arrays[place.leaf] = array_of(numbers, like[place.leaf].type());
  return arrays;
}

// A direction without symmetries that could hide an error.
std::vector<Array> any_direction(std::span<const Array> like) {
  std::vector<Array> arrays;
  int count = 0;
  for (const Array& x : like) {
    Numbers numbers(static_cast<size_t>(x.size()));
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

JvpResults forward(const FlatFunction& f, std::span<const Array> values,
                   std::span<const Array> tangents) {
  JvpResults results = jvp(f, values, tangents);
  results.tangents = instantiated(std::move(results.tangents), results.primals);
  return results;
}
Linearized reverse(const FlatFunction& f, std::span<const Array> values) {
  return linearize(f, values, std::vector<bool>(values.size(), true));
}

class DerivativeCheck {
 public:
  DerivativeCheck(const DerivativeChecks& options, std::vector<std::string> names)
      : options_(options), names_(std::move(names)) {}

  void run(const FlatFunction& f, std::span<const Array> values, int order,
           const std::string& what) const {
    const std::vector<Array> expected = f(values);
    std::vector<Array> all = expected;
    all.insert(all.end(), values.begin(), values.end());
    const double epsilon = epsilon_of(all);
    const Columns wanted = differences(f, values, options_.step.value_or(std::cbrt(epsilon)));
    if (options_.forward) {
      const std::string mode = what + "forward mode";
      compare(mode, by_forward(f, values, expected, mode, epsilon), wanted, expected, values,
              epsilon);
    }
    if (options_.reverse) {
      const std::string mode = what + "reverse mode";
      compare(mode, by_reverse(f, values, expected, mode, epsilon), wanted, expected, values,
              epsilon);
    }
    if (order <= 1) return;
    if (options_.forward) {
      const auto derivative = [&f, along = any_direction(values)](std::span<const Array> inputs) {
        return forward(f, inputs, along).tangents;
      };
      run(derivative, values, order - 1, what + "derivative of forward mode: ");
    }
    if (options_.reverse) {
      const auto derivative = [&f, along = any_direction(expected)](std::span<const Array> inputs) {
        return instantiated(reverse(f, inputs).derivative->transpose(along), inputs);
      };
      run(derivative, values, order - 1, what + "derivative of reverse mode: ");
    }
  }

 private:
  // By place in the arguments, then by place in the results.
  using Columns = std::vector<std::vector<double>>;

  double atol(double epsilon) const { return options_.atol.value_or(10 * std::sqrt(epsilon)); }
  double rtol(double epsilon) const { return options_.rtol.value_or(10 * std::sqrt(epsilon)); }

  static Columns differences(const FlatFunction& f, std::span<const Array> values, double step) {
    Columns columns;
    for (const Place& place : places_in(values)) {
      const Array& x = values[place.leaf];
      const Numbers numbers = numbers_of(x);
      const double size = step * std::max(1.0, std::abs(numbers[place.element]));
      std::vector<double> ends[2];
      double distance = 0;
      for (const int end : {0, 1}) {
        Numbers moved = numbers;
        const double change = end == 0 ? size : -size;
        moved[place.element] += place.is_imaginary ? Number(0, change) : Number(change);
        std::vector<Array> inputs(values.begin(), values.end());
        inputs[place.leaf] = array_of(moved, x.type());
        // The step after rounding.
        distance +=
            std::abs(numbers_of(inputs[place.leaf])[place.element] - numbers[place.element]);
        ends[end] = reals(f(inputs));
      }
      for (size_t i = 0; i < ends[0].size(); ++i) ends[0][i] = (ends[0][i] - ends[1][i]) / distance;
      columns.push_back(std::move(ends[0]));
    }
    return columns;
  }

  Columns by_forward(const FlatFunction& f, std::span<const Array> values,
                     std::span<const Array> expected, const std::string& mode,
                     double epsilon) const {
    Columns columns;
    for (const Place& place : places_in(values)) {
      const Number unit = place.is_imaginary ? Number(0, 1) : Number(1);
      const JvpResults found = forward(f, values, direction(values, place, unit));
      check_results(mode, found.primals, expected, epsilon);
      columns.push_back(reals(found.tangents));
    }
    return columns;
  }

  // Products are not conjugated: Re(cotangent * tangent of the result) = Re(cotangent of the
  // argument * tangent).
  Columns by_reverse(const FlatFunction& f, std::span<const Array> values,
                     std::span<const Array> expected, const std::string& mode,
                     double epsilon) const {
    const Linearized found = reverse(f, values);
    check_results(mode, found.outputs, expected, epsilon);
    Columns columns(places_in(values).size());
    for (const Place& place : places_in(expected)) {
      const Number unit = place.is_imaginary ? Number(0, -1) : Number(1);
      std::vector<Array> cotangents =
          instantiated(found.derivative->transpose(direction(expected, place, unit)), values);
      for (Array& cotangent : cotangents) {
        if (is_complex(cotangent.dtype())) cotangent = numpy::conjugate(cotangent);
      }
      const std::vector<double> row = reals(cotangents);
      for (size_t i = 0; i < row.size(); ++i) columns[i].push_back(row[i]);
    }
    return columns;
  }

  std::vector<std::string> result_names(size_t count) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("result {}", i));
    return names;
  }

  void check_results(const std::string& mode, std::span<const Array> found,
                     std::span<const Array> expected, double epsilon) const {
    const std::vector<double> got = reals(found), wanted = reals(expected);
    const std::vector<Place> places = places_in(expected);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (excess(got[i], wanted[i], atol(epsilon), rtol(epsilon)) <= 0) continue;
      failed(fmt::format("check_derivatives: {} changes {}: it should be {}, and is {}", mode,
                         name_of(places[i], expected, result_names(expected.size())), wanted[i],
                         got[i]));
    }
  }

  void compare(const std::string& mode, const Columns& got, const Columns& wanted,
               std::span<const Array> expected, std::span<const Array> values,
               double epsilon) const {
    double worst = 0;
    size_t row = 0, column = 0;
    for (size_t k = 0; k < wanted.size(); ++k) {
      for (size_t i = 0; i < wanted[k].size(); ++i) {
        const double off = excess(got[k][i], wanted[k][i], atol(epsilon), rtol(epsilon));
        if (off <= worst) continue;
        worst = off;
        row = i;
        column = k;
      }
    }
    if (worst == 0) return;
    failed(fmt::format(
        "check_derivatives: {}: the derivative of {} by {} should be {} by "
        "differences, and is {} (atol={:.1e}, rtol={:.1e})",
        mode, name_of(places_in(expected)[row], expected, result_names(expected.size())),
        name_of(places_in(values)[column], values, names_), wanted[column][row], got[column][row],
        atol(epsilon), rtol(epsilon)));
  }

  const DerivativeChecks& options_;
  std::vector<std::string> names_;
};

// ---- batches ----

using Axes = std::vector<std::optional<int64_t>>;  // by argument

// All combinations of options for `count` arguments, except the one that maps nothing.
std::vector<Axes> choices(const Axes& options, size_t count) {
  std::vector<Axes> all = {{}};
  for (size_t i = 0; i < count; ++i) {
    std::vector<Axes> longer;
    for (const Axes& axes : all) {
      for (const auto& option : options) {
        longer.push_back(axes);
        longer.back().push_back(option);
      }
    }
    all = std::move(longer);
  }
  std::erase_if(all, [](const Axes& axes) {
    return std::ranges::none_of(axes, [](const auto& axis) { return axis.has_value(); });
  });
  return all;
}

struct Level {
  Axes axes;
  int64_t size;
};

Array stacked(std::span<const Level> levels,
              const std::function<std::optional<int64_t>(const Level&)>& axis_of,
              std::vector<int64_t>& index, const std::function<Array()>& make) {
  if (levels.empty()) return make();
  const std::optional<int64_t> axis = axis_of(levels[0]);
  std::vector<Array> parts;
  for (int64_t k = 0; k < (axis ? levels[0].size : 1); ++k) {
    index.push_back(k);
    parts.push_back(stacked(levels.subspan(1), axis_of, index, make));
    index.pop_back();
  }
  return axis ? numpy::stack(parts, *axis) : parts[0];
}

class BatchCheck {
 public:
  BatchCheck(const Checked& checked, const BatchChecks& options)
      : checked_(checked), options_(options) {}

  // Checks nested vmaps, one for each level, the outermost first.
  void run(const std::vector<Level>& levels) const {
    std::vector<Array> inputs;
    for (size_t i = 0; i < checked_.leaves.size(); ++i) {
      std::vector<int64_t> index;
      const auto axis_of = [&](const Level& level) { return level.axes[checked_.arguments[i]]; };
      inputs.push_back(stacked(levels, axis_of, index, [&] { return element(i, index, levels); }));
    }
    std::string where = "check_batching: ";
    for (const Level& level : levels) {
      where += &level == levels.data() ? "vmap with in_axes=(" : " of vmap with in_axes=(";
      for (const auto& axis : level.axes) where += axis ? fmt::format("{}, ", *axis) : "None, ";
      where.replace(where.size() - 2, 2, ")");
    }
    const std::vector<Array> got = with_error_prefix(where, [&] { return mapped(levels)(inputs); });
    const std::vector<Array> like = checked_.function(checked_.leaves);
    for (size_t r = 0; r < like.size(); ++r) {
      if (like[r].type().is_token()) continue;
      std::vector<int64_t> index;
      const auto first = [](const Level&) { return std::optional<int64_t>(0); };
      const Array wanted = stacked(levels, first, index, [&] {
        std::vector<Array> own;
        for (size_t i = 0; i < checked_.leaves.size(); ++i) {
          std::vector<int64_t> place = index;
          for (size_t l = 0; l < levels.size(); ++l) {
            if (!levels[l].axes[checked_.arguments[i]]) place[l] = 0;
          }
          own.push_back(element(i, place, levels));
        }
        return checked_.function(own)[r];
      });
      compare(where, r, got[r], wanted);
    }
  }

 private:
  // The leaf for one element of the batch. Floats differ between elements, other values do not.
  Array element(size_t leaf, std::span<const int64_t> index, std::span<const Level> levels) const {
    const Array& x = checked_.leaves[leaf];
    if (!has_derivative(x)) return x;
    double number = 0, count = 1;
    for (size_t l = 0; l < levels.size(); ++l) {
      number = number * static_cast<double>(levels[l].size) + static_cast<double>(index[l]);
      count *= static_cast<double>(levels[l].size);
    }
    return x * (1 - number / count / 2);
  }

  FlatFunction mapped(std::span<const Level> levels) const {
    if (levels.empty()) return checked_.function;
    return [this, levels](std::span<const Array> inputs) {
      std::vector<int64_t> axes;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const auto axis = levels[0].axes[checked_.arguments[i]];
        const auto rank = static_cast<int64_t>(inputs[i].rank());
        axes.push_back(!axis ? kNotBatched : *axis < 0 ? *axis + rank : *axis);
      }
      const BatchAxis axis{levels[0].size, {}};
      return batched_in_front(batch(mapped(levels.subspan(1)), inputs, axes, axis), axis);
    };
  }

  void compare(const std::string& where, size_t result, const Array& got,
               const Array& wanted) const {
    if (got.type().strengthened() != wanted.type().strengthened()) {
      failed(fmt::format("{}: result {} should be {}, got {}", where, result,
                         wanted.type().to_string(), got.type().to_string()));
    }
    const double tolerance = 100 * epsilon_of({&wanted, 1});
    const Numbers a = numbers_of(got), b = numbers_of(wanted);
    for (size_t i = 0; i < a.size(); ++i) {
      if (excess(a[i], b[i], options_.atol.value_or(tolerance),
                 options_.rtol.value_or(tolerance)) <= 0) {
        continue;
      }
      const std::string names[] = {fmt::format("result {}", result)};
      failed(
          fmt::format("{}: {} should be {}{:+}i, as one call for each element gives, and is "
                      "{}{:+}i",
                      where, name_of({0, i, false}, {&wanted, 1}, names), b[i].real(), b[i].imag(),
                      a[i].real(), a[i].imag()));
    }
  }

  const Checked& checked_;
  const BatchChecks& options_;
};

}  // namespace

void check_derivatives(const Checked& checked, const DerivativeChecks& options) {
  std::vector<Array> values;
  std::vector<size_t> varying;
  std::vector<std::string> names;
  for (size_t i = 0; i < checked.leaves.size(); ++i) {
    if (!has_derivative(checked.leaves[i])) continue;
    varying.push_back(i);
    values.push_back(checked.leaves[i]);
    names.push_back(checked.names[i]);
  }
  if (values.empty() || options.order < 1 || !(options.forward || options.reverse)) {
    throw Error(ErrorCode::kInvalidArgument,
                "check_derivatives: there must be an argument that is a float or a complex number, "
                "an order of at least 1, and a mode");
  }
  const auto f = [&](std::span<const Array> inputs) {
    std::vector<Array> all = checked.leaves;
    for (size_t i = 0; i < varying.size(); ++i) all[varying[i]] = inputs[i];
    std::vector<Array> results = checked.function(all);
    std::erase_if(results, [](const Array& x) { return !has_derivative(x); });
    return results;
  };
  DerivativeCheck(options, std::move(names)).run(f, values, options.order, "");
}

void check_batching(const Checked& checked, const BatchChecks& options) {
  if (checked.leaves.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "check_batching: no argument to map over");
  }
  const BatchCheck check(checked, options);
  const size_t count = checked.arguments.back() + 1;
  for (const Axes& axes : choices({std::nullopt, 0, -1}, count)) check.run({{axes, 3}});
  for (const Axes& outer : choices({std::nullopt, 0}, count)) {
    for (const Axes& inner : choices({std::nullopt, -1}, count)) {
      check.run({{outer, 3}, {inner, 2}});
    }
  }
}

Checked checked_call(farcall::detail::TreeCall& call) {
  Checked checked{call.as_function(), call.leaves(), {}, {}};
  for (size_t argument = 0; argument < call.arguments().children().size(); ++argument) {
    const size_t count = call.arguments().children()[argument].num_leaves();
    checked.arguments.insert(checked.arguments.end(), count, argument);
  }
  for (size_t i = 0; i < call.leaves().size(); ++i) checked.names.push_back(call.argument_name(i));
  return checked;
}

Checked checked_target(const std::string& name, ListOf<Array> operands,
                       const Attributes& attributes) {
  Checked checked;
  checked.function = [name, attributes](std::span<const Array> inputs) {
    return call_defined(name, inputs, attributes);
  };
  checked.leaves.assign(operands.begin(), operands.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    checked.arguments.push_back(i);
    checked.names.push_back(fmt::format("operand {}", i));
  }
  return checked;
}

}  // namespace farcall::testing::detail
