#include "engine/native/jit/indexing.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/primitives/cluster.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/indexing.h>
#include <farcall/program/walk.h>

#include "engine/native/jit/elementwise.h"
#include "engine/native/kernels/movement/fill_value.h"
#include "engine/native/kernels/movement/moves.h"

namespace farcall::native::jit {
namespace {

// The equations that change an array, and how an update is combined with an element.
struct Update {
  std::string_view primitive;
  std::string_view combine;  // an elementwise operation; empty: the update replaces the element
};
constexpr Update kUpdates[] = {{"scatter", ""},        {"scatter_add", "add"},
                               {"scatter_mul", "mul"}, {"scatter_max", "max"},
                               {"scatter_min", "min"}, {"dynamic_update_slice", ""}};

const Update* find_update(std::string_view primitive) {
  const auto* found = std::ranges::find(kUpdates, primitive, &Update::primitive);
  return found == std::end(kUpdates) ? nullptr : found;
}

// What is done with windows that are not completely inside the array.
enum class Outside : uint8_t { kMove, kFill, kDrop };

// The windows of an equation. Strides and offsets count elements.
struct Windows {
  struct Component {  // of a start
    int64_t limit, stride;
  };
  struct Window {
    std::vector<Arg> starts;  // integers of 64 bits
    int64_t offset = 0;       // in the array, without the starts
    int64_t all = 0;          // of its first element in the array of all windows
  };
  struct Element {
    int64_t offset, all;  // from the first element of a window
  };

  std::vector<Component> components;
  std::vector<Window> windows;
  std::vector<Element> elements;  // of each window
  Outside outside = Outside::kMove;

  bool are_constant() const {
    return std::ranges::all_of(windows, [](const Window& window) {
      return std::ranges::all_of(window.starts, &Arg::is_const);
    });
  }
  // The offset of a window with constant starts; no value if it is filled or dropped.
  std::optional<int64_t> constant_offset(const Window& window) const {
    int64_t offset = window.offset;
    for (size_t i = 0; i < components.size(); ++i) {
      const auto start = static_cast<int64_t>(window.starts[i].bits);
      const int64_t inside = std::clamp<int64_t>(start, 0, components[i].limit);
      if (outside != Outside::kMove && inside != start) return std::nullopt;
      offset += inside * components[i].stride;
    }
    return offset;
  }
};

bool contains(std::span<const int64_t> dims, size_t dim) {
  return std::ranges::find(dims, static_cast<int64_t>(dim)) != dims.end();
}

// The elements of a window of this shape.
std::vector<Windows::Element> elements_of(std::span<const int64_t> shape,
                                          std::span<const int64_t> strides,
                                          std::span<const int64_t> all_strides) {
  const std::vector<int64_t> offsets = positions(shape, strides);
  const std::vector<int64_t> all = positions(shape, all_strides);
  std::vector<Windows::Element> elements;
  for (size_t i = 0; i < all.size(); ++i) elements.push_back({offsets[i], all[i]});
  return elements;
}

Arg wide(Builder& b, Arg start, DType dtype) {
  if (dtype == DType::kUInt64) throw Refusal{"indices of u64"};
  return converted(b, start, dtype, DType::kInt64, 1, 4);
}

// The windows of a slice: `starts` are scalars.
Windows windows_of_slice(Builder& b, ShapeDtype array, ShapeDtype slice,
                         std::span<const Value> starts) {
  Windows made;
  const auto strides = dense_strides(array.shape()), all = dense_strides(slice.shape());
  Windows::Window window;
  for (size_t i = 0; i < array.rank(); ++i) {
    made.components.push_back({array.shape()[i] - slice.shape()[i], strides[i]});
    window.starts.push_back(wide(b, starts[i].parts[0], starts[i].type.dtype()));
  }
  made.windows.push_back(std::move(window));
  made.elements = elements_of(slice.shape(), strides, all);
  return made;
}

// `all` is the type of the array of all windows, `sizes` the shape of a window. Raises Refusal
// unless each index has a register of its own.
Windows windows_of(Builder& b, const GatherDimensionNumbers& numbers, ShapeDtype array,
                   const Value& indices, ShapeDtype all, std::span<const int64_t> sizes,
                   Outside outside) {
  if (indices.parts.size() != static_cast<size_t>(indices.type.size())) {
    throw Refusal{"indices of which a register holds several"};
  }
  Windows made;
  made.outside = outside;
  const auto strides = dense_strides(array.shape()), all_strides = dense_strides(all.shape());
  const size_t num_components = numbers.start_index_map.size();
  for (const int64_t dim : numbers.start_index_map) {
    const auto d = static_cast<size_t>(dim);
    if (sizes[d] > array.shape()[d]) throw Refusal{"windows larger than the array"};
    made.components.push_back({array.shape()[d] - sizes[d], strides[d]});
  }
  // The dimensions of `all`: those inside windows, and those that number the windows.
  Shape inside, outer;
  std::vector<int64_t> inside_strides, outer_strides, inside_all, outer_all;
  for (size_t i = 0; i < all.rank(); ++i) {
    const bool is_inside = contains(numbers.offset_dims, i);
    (is_inside ? inside : outer).push_back(all.shape()[i]);
    (is_inside ? inside_all : outer_all).push_back(all_strides[i]);
  }
  for (size_t i = 0; i < array.rank(); ++i) {
    if (contains(numbers.collapsed_slice_dims, i) || contains(numbers.operand_batching_dims, i)) {
      continue;
    }
    inside_strides.push_back(strides[i]);
  }
  outer_strides.assign(outer.size(), 0);
  for (size_t i = 0; i < numbers.operand_batching_dims.size(); ++i) {
    outer_strides[static_cast<size_t>(numbers.start_indices_batching_dims[i])] =
        strides[static_cast<size_t>(numbers.operand_batching_dims[i])];
  }
  const std::vector<int64_t> offsets = positions(outer, outer_strides);
  const std::vector<int64_t> firsts = positions(outer, outer_all);
  size_t next = 0;
  for (size_t i = 0; i < firsts.size(); ++i) {
    Windows::Window window{{}, offsets[i], firsts[i]};
    for (size_t c = 0; c < num_components; ++c) {
      window.starts.push_back(wide(b, indices.parts[next++], indices.type.dtype()));
    }
    made.windows.push_back(std::move(window));
  }
  made.elements = elements_of(inside, inside_strides, inside_all);
  return made;
}

// ---- code

// Reads and changes the windows of one array. `all` is the type of the array of all windows, which
// is in registers.
class Access {
 public:
  // Raises Refusal if registers cannot hold the windows.
  Access(Builder& b, const Packing& packing, ShapeDtype all, const Windows& windows, Arg address);

  // `may_change`: whether the loop changes the array.
  Value read(const FillValue& fill, bool may_change);
  void update(const Value& updates, std::string_view combine);

 private:
  static constexpr RegType kInteger = general(8);

  // A part of a window: its bytes from the first element of the window, and its register.
  struct Part {
    int64_t offset;
    int bytes;
    size_t number;
  };
  std::vector<Part> parts_of(const Windows::Window& window) const;
  Arg bytes_of(Arg start, int64_t stride);
  Arg moved_inside(Arg start, int64_t limit);
  // The address of a window that is moved inside the array.
  Arg address_of(const Windows::Window& window);

  Builder& b_;
  const Packing& packing_;
  const ShapeDtype all_;
  const Windows& windows_;
  const RegType type_;
  const int64_t width_;
  const Arg address_;
};

Arg load_part(Builder& b, RegType type, int bytes, Arg address, bool may_change) {
  Inst inst{.op = Op::kLoad, .bytes = static_cast<uint8_t>(bytes), .type = type, .args = {address}};
  if (!may_change) return b.add(inst);
  inst.dest = b.new_reg(inst.type);
  b.effect(inst);
  return Arg::reg(inst.dest);
}

Access::Access(Builder& b, const Packing& packing, ShapeDtype all, const Windows& windows,
               Arg address)
    : b_(b),
      packing_(packing),
      all_(all),
      windows_(windows),
      type_(packing.reg_type_of(all)),
      width_(static_cast<int64_t>(byte_width(all.dtype()))),
      address_(address) {
  packing.check(all);
  if (packing.lanes_of(all) == 1) return;
  int64_t next = 0;
  const auto is_next = [&](const Windows::Element& element) {
    return element.all == next && element.offset == next++;
  };
  if (windows.windows.size() != 1 || all.dtype() == DType::kBool ||
      !std::ranges::all_of(windows.elements, is_next)) {
    throw Refusal{"windows that are not dense"};
  }
}

std::vector<Access::Part> Access::parts_of(const Windows::Window& window) const {
  std::vector<Part> parts;
  if (packing_.lanes_of(all_) == 1) {
    for (const auto& [offset, all] : windows_.elements) {
      parts.push_back(
          {offset * width_, static_cast<int>(width_), static_cast<size_t>(window.all + all)});
    }
    return parts;
  }
  for (size_t i = 0; i < packing_.num_parts(all_); ++i) {
    parts.push_back({static_cast<int64_t>(i) * type_.bytes(), packing_.part_bytes(all_, i), i});
  }
  return parts;
}

Arg Access::moved_inside(Arg start, int64_t limit) {
  if (limit == 0) return Arg::number(0);
  const Arg low = b_.select(kInteger, b_.compare(Cond::kLt, kInteger, start, Arg::number(0)), start,
                            Arg::number(0));
  const Arg is_above = b_.compare(Cond::kGt, kInteger, low, Arg::number(limit));
  return b_.select(kInteger, is_above, low, Arg::number(limit));
}

Arg Access::bytes_of(Arg start, int64_t stride) {
  const auto bytes = static_cast<uint64_t>(stride * width_);
  if (!std::has_single_bit(bytes)) return b_.add(Op::kMul, kInteger, {start, Arg::constant(bytes)});
  return b_.add(Op::kShiftLeft, kInteger, {start, Arg::number(std::countr_zero(bytes))});
}

Arg Access::address_of(const Windows::Window& window) {
  Arg offset = Arg::number(window.offset * width_);
  for (size_t i = 0; i < windows_.components.size(); ++i) {
    const auto& [limit, stride] = windows_.components[i];
    const Arg part = bytes_of(moved_inside(window.starts[i], limit), stride);
    offset = offset == Arg::number(0) ? part : b_.add(Op::kAdd, kInteger, {offset, part});
  }
  return b_.add(Op::kAdd, kInteger, {address_, offset});
}

Value Access::read(const FillValue& fill, bool may_change) {
  Value result{all_, std::vector<Arg>(packing_.num_parts(all_))};
  const Arg filler = Arg::constant(element_bits(all_.dtype(), fill.data()));
  for (const Windows::Window& window : windows_.windows) {
    const Arg first = address_of(window);
    Arg is_inside = Arg::constant(1);
    for (size_t i = 0; i < windows_.components.size() && windows_.outside == Outside::kFill; ++i) {
      const Arg limit = Arg::number(windows_.components[i].limit);
      const Arg fits = b_.compare(Cond::kBelowOrEqual, kInteger, window.starts[i], limit);
      is_inside = i == 0 ? fits : b_.add(Op::kAnd, general(4), {is_inside, fits});
    }
    for (const auto& [offset, bytes, part] : parts_of(window)) {
      const Arg elements = load_part(b_, type_, bytes, jit::offset(b_, first, offset), may_change);
      result.parts[part] = b_.select(type_, is_inside, filler, elements);
    }
  }
  return result;
}

void Access::update(const Value& updates, std::string_view combine) {
  const Operation operation{.name = combine, .dtype = all_.dtype(), .result = all_.dtype()};
  for (const Windows::Window& window : windows_.windows) {
    const Arg first = address_of(window);
    const std::vector<Part> parts = parts_of(window);
    std::vector<Arg> values;
    for (const auto& [offset, bytes, part] : parts) {
      values.push_back(updates.parts[part]);
      if (combine.empty()) continue;
      const Arg before = load_part(b_, type_, bytes, jit::offset(b_, first, offset), true);
      const Arg both[] = {before, values.back()};
      values.back() =
          elementwise(b_, operation, both, packing_.lanes_of(all_), packing_.mask_width);
    }
    const uint32_t end = b_.new_label();
    for (size_t i = 0; i < windows_.components.size() && windows_.outside == Outside::kDrop; ++i) {
      const Arg limit = Arg::number(windows_.components[i].limit);
      b_.branch(Cond::kAbove, kInteger, window.starts[i], limit, end);
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      b_.store(jit::offset(b_, first, parts[i].offset), type_, parts[i].bytes, values[i]);
    }
    b_.label(end);
  }
}

// What an equation does with the windows of its first operand.
struct Indexing {
  Windows windows;
  ShapeDtype all;                  // of all windows
  const Value* updates = nullptr;  // null: the windows are read
  std::string_view combine;
  FillValue fill{};
};

Indexing indexing_of(Builder& b, const Program& program, const Equation& equation,
                     std::span<const Value> inputs) {
  const ShapeDtype array = inputs[0].type;
  const ShapeDtype type = program.variable_types[equation.outputs[0]];
  const Params* const params = equation.params.get();
  if (const auto* p = try_params<GatherParams>(params)) {
    const bool fills = p->mode == GatherScatterMode::kFillOrDrop;
    return {.windows = windows_of(b, *p, array, inputs[1], type, p->slice_sizes,
                                  fills ? Outside::kFill : Outside::kMove),
            .all = type,
            .fill = fill_value_of(type.dtype(), *p)};
  }
  const Update* const how = find_update(equation.primitive->name);
  if (!how) return {.windows = windows_of_slice(b, array, type, inputs.subspan(1)), .all = type};
  if (const auto* p = try_params<ScatterParams>(params)) {
    if (type.dtype() == DType::kBool && !how->combine.empty()) throw Refusal{"sums of bools"};
    const ShapeDtype all = inputs[2].type;
    const bool clips = p->mode == GatherScatterMode::kClip;
    return {
        .windows = windows_of(b, as_gather(*p), array, inputs[1], all, window_sizes(*p, array, all),
                              clips ? Outside::kMove : Outside::kDrop),
        .all = all,
        .updates = &inputs[2],
        .combine = how->combine};
  }
  return {.windows = windows_of_slice(b, array, inputs[1].type, inputs.subspan(2)),
          .all = inputs[1].type,
          .updates = &inputs[1]};
}

// Whether an equation, or one inside it, changes an array.
bool changes_array(const Equation& equation) {
  if (find_update(equation.primitive->name)) return true;
  return std::ranges::any_of(nested_programs(equation), [](const NamedProgram& inner) {
    return std::ranges::any_of(inner.program->equations, changes_array);
  });
}

}  // namespace

bool is_indexing(const Equation& equation) {
  const Params* params = equation.params.get();
  return try_params<GatherParams>(params) || try_params<DynamicSliceParams>(params) ||
         find_update(equation.primitive->name);
}

bool is_indexed(const Program& program, size_t input) {
  std::unordered_set<uint32_t> same{program.inputs[input]};  // variables with its elements in order
  const auto is_same = [&](Atom atom) { return atom.is_variable() && same.contains(atom.index); };
  for (const Equation& equation : program.equations) {
    if (equation.inputs.empty()) continue;
    if (is_same(equation.inputs[0])) {
      if (is_indexing(equation)) return true;
      if (equation.outputs.size() == 1 && keeps_order(program, equation)) {
        same.insert(equation.outputs[0]);
      }
    }
    const Params* params = equation.params.get();
    const auto is_inside = [&](const Program& inner, size_t first, size_t last, size_t skipped) {
      for (size_t i = first; i < last; ++i) {
        const size_t outer = i + skipped;
        if (is_same(equation.inputs[outer]) && is_indexed(inner, i)) return true;
      }
      return false;
    };
    if (const auto* scan = try_params<ScanParams>(params)) {
      const auto num = static_cast<size_t>(scan->num_consts + scan->num_carry);
      if (is_inside(*scan->jaxpr, 0, num, 0)) return true;
    } else if (const auto* loop = try_params<WhileParams>(params)) {
      const auto num_condition = static_cast<size_t>(loop->cond_nconsts);
      const auto num_body = static_cast<size_t>(loop->body_nconsts);
      const Program& condition = *loop->cond_jaxpr;
      if (is_inside(condition, 0, num_condition, 0) ||
          is_inside(condition, num_condition, condition.inputs.size(), num_body) ||
          is_inside(*loop->body_jaxpr, 0, loop->body_jaxpr->inputs.size(), num_condition)) {
        return true;
      }
    } else if (const auto* cond = try_params<CondParams>(params)) {
      const auto is_in_branch = [&](const auto& branch) {
        return is_inside(*branch, 0, branch->inputs.size(), 1);
      };
      if (std::ranges::any_of(cond->branches, is_in_branch)) return true;
    } else if (const auto* cluster = try_params<ClusterParams>(params)) {
      if (is_inside(*cluster->jaxpr, 0, cluster->jaxpr->inputs.size(), 0)) return true;
    }
  }
  return false;
}

std::vector<const Equation*> reads_before_changes(const Program& program) {
  std::vector<const Equation*> ordered;
  for (const auto& step : late_equations_last(program, changes_array)) {
    ordered.insert(ordered.end(), step.begin(), step.end());
  }
  return ordered;
}

std::optional<Value> indexed_in_registers(Builder& builder, const Packing& packing,
                                          const Program& program, const Equation& equation,
                                          std::span<const Value> inputs) {
  const Value& array = inputs[0];
  if (is_in_memory(array) || packing.lanes_of(array.type) > 1) return std::nullopt;
  const Indexing how = indexing_of(builder, program, equation, inputs);
  if (!how.windows.are_constant()) return std::nullopt;
  Value result = how.updates ? array : Value{how.all, {}};
  result.address.reset();
  if (!how.updates) {
    const Arg filler = Arg::constant(element_bits(how.all.dtype(), how.fill.data()));
    result.parts.assign(packing.num_parts(how.all), filler);
  }
  const Operation combine{.name = how.combine, .dtype = how.all.dtype(), .result = how.all.dtype()};
  for (const Windows::Window& window : how.windows.windows) {
    const std::optional<int64_t> first = how.windows.constant_offset(window);
    if (!first) continue;  // filled or dropped
    for (const auto& [offset, all] : how.windows.elements) {
      const auto from = static_cast<size_t>(*first + offset);
      const auto other = static_cast<size_t>(window.all + all);
      if (!how.updates) {
        result.parts[other] = array.parts[from];
        continue;
      }
      const Arg both[] = {result.parts[from], how.updates->parts[other]};
      result.parts[from] = how.combine.empty()
                               ? both[1]
                               : elementwise(builder, combine, both, 1, packing.mask_width);
    }
  }
  return result;
}

Value indexed(Builder& builder, const Packing& packing, Places& places, const Program& program,
              const Equation& equation, std::span<const Value> inputs) {
  const Value& array = inputs[0];
  const Indexing how = indexing_of(builder, program, equation, inputs);
  Access access(builder, packing, how.all, how.windows, *places.address_of(array));
  if (!how.updates) return access.read(how.fill, array.place.has_value());
  if (!array.place) {
    throw Refusal{fmt::format("{} of an array that is not carried", equation.primitive->name)};
  }
  access.update(*how.updates, how.combine);
  return places.changed(array);
}

std::optional<Value> moved_from_memory(Builder& builder, const Packing& packing,
                                       const Places& places, const Program& program,
                                       const Equation& equation, const Value& input) {
  const ShapeDtype type = program.variable_types[equation.outputs[0]];
  const auto source =
      element_source(equation.primitive->name, input.type, type, equation.params.get());
  if (!source) return std::nullopt;
  packing.check(type);
  if (packing.lanes_of(type) > 1) throw Refusal{"elements that are not dense"};
  const Arg address = *places.address_of(input);
  const auto width = static_cast<int64_t>(byte_width(type.dtype()));
  Value result{type, {}};
  for (const int64_t from : positions(type.shape(), source->strides, source->offset)) {
    result.parts.push_back(load_part(builder, packing.reg_type_of(type), static_cast<int>(width),
                                     offset(builder, address, from * width),
                                     input.place.has_value()));
  }
  return result;
}

}  // namespace farcall::native::jit
