#include "engine/native/flatten_indices.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <farcall/core/sizes.h>
#include <farcall/primitives/indexing.h>
#include <farcall/primitives/primitives.h>
#include <farcall/primitives/structural.h>

#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

// The equations that are added cost more for fewer places.
constexpr int64_t kLeastPlaces = 2048;

// IndexedPlaces in the leading dimensions of an operand.
struct IndexedPlaces {
  std::vector<Atom> components;  // by dimension; the last dimension of each has size one
  std::vector<int64_t> sizes;    // of the dimensions
  Shape shape;                   // of the indices without the dimension of the components
  DType dtype;
  bool clips;

  int64_t size() const {
    int64_t product = 1;
    for (const int64_t size : sizes) product = saturated_product(product, size);
    return product;
  }
};

struct Access {
  GatherDimensionNumbers numbers;
  Shape window;
  GatherScatterMode mode;
};

std::optional<Access> access_of(const Program& program, const Equation& equation) {
  if (const auto* p = try_params<GatherParams>(equation.params.get())) {
    return Access{*p, p->slice_sizes, p->mode};
  }
  if (const auto* p = try_params<ScatterParams>(equation.params.get())) {
    const ShapeDtype operand = program.type_of(equation.inputs[0]);
    const ShapeDtype updates = program.type_of(equation.inputs[2]);
    return Access{as_gather(*p), window_sizes(*p, operand, updates), p->mode};
  }
  return std::nullopt;
}

class Flattener {
 public:
  explicit Flattener(const Program& program)
      : program_(program),
        of_calls_(values_of_calls(program)),
        joins_(program.variable_types.size()) {
    for (const Equation& equation : program.equations) {
      if (try_params<ConcatenateParams>(equation.params.get())) {
        joins_[equation.outputs[0]] = &equation;
      }
    }
  }

  // No value unless the equation is such a gather or scatter.
  std::optional<IndexedPlaces> places_of(const Equation& equation) const {
    const std::optional<Access> access = access_of(program_, equation);
    if (!access || !equation.inputs[1].is_variable()) return std::nullopt;
    const Equation* const join = joins_[equation.inputs[1].index];
    if (!join) return std::nullopt;
    const ShapeDtype indices = program_.type_of(equation.inputs[1]);
    const ShapeDtype operand = program_.type_of(equation.inputs[0]);
    const GatherDimensionNumbers& n = access->numbers;
    const size_t count = n.start_index_map.size();
    const auto dimension = params_as<ConcatenateParams>(join->params.get()).dimension;
    const bool is_number = indices.dtype() == DType::kInt32 || indices.dtype() == DType::kInt64;
    if (count < 2 || !is_number || join->inputs.size() != count ||
        dimension + 1 != static_cast<int64_t>(indices.rank()) ||
        indices.size() / static_cast<int64_t>(count) < kLeastPlaces ||
        n.collapsed_slice_dims.size() != count || !n.operand_batching_dims.empty() ||
        !std::equal(access->window.begin() + static_cast<ptrdiff_t>(count), access->window.end(),
                    operand.shape().begin() + static_cast<ptrdiff_t>(count))) {
      return std::nullopt;
    }
    IndexedPlaces places{
        .components = std::vector<Atom>(count),
        .sizes = {operand.shape().begin(), operand.shape().begin() + static_cast<ptrdiff_t>(count)},
        .shape = {indices.shape().begin(), indices.shape().end() - 1},
        .dtype = indices.dtype(),
        .clips = access->mode != GatherScatterMode::kFillOrDrop};
    for (size_t i = 0; i < count; ++i) {
      const auto to = static_cast<size_t>(n.start_index_map[i]);
      const Atom component = join->inputs[i];
      if (to >= count || !std::ranges::count(n.collapsed_slice_dims, static_cast<int64_t>(i)) ||
          program_.type_of(component).shape().back() != 1 || is_seen(component)) {
        return std::nullopt;
      }
      places.components[to] = component;
    }
    const int64_t most = places.dtype == DType::kInt32 ? std::numeric_limits<int32_t>::max()
                                                       : std::numeric_limits<int64_t>::max();
    if (places.size() == 0 || places.size() >= most || is_seen(equation.inputs[0]) ||
        of_calls_[equation.outputs[0]]) {
      return std::nullopt;
    }
    return places;
  }

 private:
  bool is_seen(Atom atom) const { return atom.is_variable() && of_calls_[atom.index]; }

  const Program& program_;
  std::vector<bool> of_calls_;
  std::vector<const Equation*> joins_;  // by variable: the concatenation that makes it
};

// Writes the program anew. Variables and literals keep their numbers.
class Writer {
 public:
  explicit Writer(const Program& program) { builder_.program() = without_equations(program); }

  void add(const Equation& equation) { builder_.program().equations.push_back(equation); }

  void add_flat(const Equation& equation, const IndexedPlaces& places) {
    where_ = equation.where;
    const Atom operand = equation.inputs[0];
    const ShapeDtype type = builder_.type_of(operand);
    const auto shape = type.shape();
    const size_t count = places.sizes.size();
    Shape flat{places.size()};
    flat.insert(flat.end(), shape.begin() + static_cast<ptrdiff_t>(count), shape.end());
    Shape of_indices = places.shape;
    of_indices.push_back(1);
    Equation changed = equation;
    changed.inputs[0] = reshape(operand, flat);
    changed.inputs[1] = reshape(numbers(places), of_indices);
    if (const auto* gather = try_params<GatherParams>(equation.params.get())) {
      GatherParams p = *gather;
      p.collapsed_slice_dims = p.start_index_map = {0};
      p.slice_sizes = flat;
      p.slice_sizes[0] = 1;
      p.indices_are_sorted = false;
      changed.params = make_params(std::move(p));
      add(changed);
      return;
    }
    ScatterParams p = params_as<ScatterParams>(equation.params.get());
    p.inserted_window_dims = p.scatter_dims_to_operand_dims = {0};
    p.indices_are_sorted = false;
    changed.params = make_params(std::move(p));
    const uint32_t result = changed.outputs[0];
    changed.outputs[0] = builder_.add_variable(ShapeDtype(type.dtype(), flat));
    add(changed);
    add({.primitive = &kReshape,
         .params = make_params(ReshapeParams{Shape(shape.begin(), shape.end())}),
         .inputs = {Atom::variable(changed.outputs[0])},
         .outputs = {result},
         .where = where_});
  }

  ProgramPtr finish(const Program& program) {
    return builder_.build(program.outputs, program.name);
  }

 private:
  Atom add(const Primitive& primitive, ParamsPtr params, std::initializer_list<Atom> inputs) {
    return Atom::variable(
        builder_.add_equation(primitive, std::move(params), std::span(inputs), where_)[0]);
  }
  Atom operation(std::string_view name, std::initializer_list<Atom> inputs) {
    return add(primitive_named(name), nullptr, inputs);
  }
  Atom reshape(Atom operand, const Shape& shape) {
    return add(kReshape, make_params(ReshapeParams{shape}), {operand});
  }
  Atom number(DType dtype, int64_t value) {
    Literal literal{ShapeDtype(dtype, {}), {}};
    const auto narrow = static_cast<int32_t>(value);
    const void* const bytes = dtype == DType::kInt32 ? static_cast<const void*>(&narrow) : &value;
    std::memcpy(literal.bytes.data(), bytes, literal.type.nbytes());
    return builder_.add_literal(literal);
  }

  // The numbers of the places; -1 for those out of bounds, unless they are clipped.
  Atom numbers(const IndexedPlaces& places) {
    const auto literal = [&](int64_t value) { return number(places.dtype, value); };
    std::optional<Atom> sum, is_inside;
    for (size_t i = 0; i < places.sizes.size(); ++i) {
      Atom component = reshape(places.components[i], places.shape);
      if (places.clips) {
        component = operation("clamp", {literal(0), component, literal(places.sizes[i] - 1)});
      } else {
        for (const Atom test : {operation("ge", {component, literal(0)}),
                                operation("lt", {component, literal(places.sizes[i])})}) {
          is_inside = is_inside ? operation("and", {*is_inside, test}) : test;
        }
      }
      sum = sum ? operation("add", {operation("mul", {*sum, literal(places.sizes[i])}), component})
                : component;
    }
    if (places.clips) return *sum;
    const Atom outside =
        add(primitive_named("broadcast_in_dim"),
            make_params(BroadcastInDimParams{.shape = places.shape, .broadcast_dimensions = {}}),
            {literal(-1)});
    return operation("select_n", {*is_inside, outside, *sum});
  }

  ProgramBuilder builder_;
  SourceLocationPtr where_;
};

}  // namespace

ProgramPtr flatten_indices(ProgramPtr program) {
  program = pass_nested(std::move(program), flatten_indices);
  const auto may_be_flat = [&](const Equation& equation) {
    const std::optional<Access> access = access_of(*program, equation);
    return access && access->numbers.start_index_map.size() > 1;
  };
  if (std::ranges::none_of(program->equations, may_be_flat)) return program;
  const Flattener flattener(*program);
  std::vector<std::optional<IndexedPlaces>> places;
  for (const Equation& equation : program->equations) {
    places.push_back(flattener.places_of(equation));
  }
  if (std::ranges::none_of(places, [](const auto& found) { return found.has_value(); })) {
    return program;
  }
  Writer writer(*program);
  for (size_t i = 0; i < places.size(); ++i) {
    const Equation& equation = program->equations[i];
    if (places[i]) {
      writer.add_flat(equation, *places[i]);
    } else {
      writer.add(equation);
    }
  }
  return writer.finish(*program);
}

}  // namespace farcall::native
