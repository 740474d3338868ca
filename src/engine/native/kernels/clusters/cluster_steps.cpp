// Turns the equations of a cluster into steps on registers.
#include "engine/native/kernels/clusters/cluster_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <farcall/core/error.h>
#include <farcall/primitives/indexing.h>
#include <farcall/primitives/structural.h>

#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/vector/narrow.h"

namespace farcall::native {
namespace {

using Kind = TileStep::Kind;
using Register = TileRegister;
using Draft = TileDraft;

// The fewest elements of rows that are both reduced and read in place.
constexpr int64_t kLeastReducedRow = 512;

class Steps {
 public:
  Steps(const Program& body, int64_t least_row)
      : body_(body), layout_(layout_of_cluster(body)), found_(body.variable_types.size()) {
    made_.domain = layout_.domain;
    choose_rows(least_row);
  }

  ClusterSteps run() {
    made_.drafts.reserve(body_.equations.size());
    made_.registers.reserve(body_.inputs.size() + body_.equations.size());
    for (uint32_t i = 0; i < body_.inputs.size(); ++i) input_number_[body_.inputs[i]] = i;
    for (size_t i = 0; i < body_.equations.size(); ++i) add(body_.equations[i], layout_.roles[i]);
    for (size_t i = 0; i < body_.outputs.size(); ++i) add_output(i);
    advance_steps_on_rows();
    drop_unread_steps();
    made_.num_inputs = static_cast<uint32_t>(body_.inputs.size());
    return std::move(made_);
  }

 private:
  Extent extent_of(uint32_t variable) const { return *layout_.extents[variable]; }

  // Chooses the rows of a cluster without any as the shortest runs of its strided views.
  void choose_rows(int64_t least_row) {
    if (layout_.domain.reduces_columns) return;
    // Reductions are faster for several rows at a time.
    if (layout_.domain.has_reduction) least_row = std::max(least_row, kLeastReducedRow);
    int64_t shortest = 0;
    for (size_t i = 0; i < body_.equations.size(); ++i) {
      if (layout_.roles[i] != Role::kMove) continue;
      const ShapeDtype type = body_.variable_types[body_.equations[i].outputs[0]];
      const StridedView view(type, *moved_elements(body_, body_.equations[i]));
      const int64_t run = view.run_size();
      if (!view.is_dense() && run > 1) shortest = shortest == 0 ? run : std::min(shortest, run);
    }
    const int64_t row = layout_.domain.columns == 0 ? shortest : layout_.domain.columns;
    if (shortest == 0 || row < least_row || shortest % row != 0) return;
    made_.domain.columns = row_ = row;
  }

  // ---- registers

  size_t add_register(Register made) {
    made_.registers.push_back(made);
    return made_.registers.size() - 1;
  }
  static uint32_t width_of(DType dtype) { return static_cast<uint32_t>(byte_width(dtype)); }
  size_t add_base(ClusterPlan::Base base, DType dtype) {
    made_.plan.bases.push_back(base);
    return add_register({.home = Register::Home::kBase,
                         .index = static_cast<uint32_t>(made_.plan.bases.size() - 1),
                         .extent = base.extent,
                         .dtype = dtype,
                         .width = base.width});
  }
  size_t add_constant(const void* element, DType dtype) {
    return add_register({.home = Register::Home::kConstant,
                         .index = made_.constants.add(element, width_of(dtype)),
                         .extent = Extent::kScalar,
                         .dtype = dtype,
                         .width = width_of(dtype)});
  }
  size_t add_step(Draft draft, Extent extent, DType dtype) {
    draft.output = add_register({.extent = extent,
                                 .dtype = dtype,
                                 .width = width_of(dtype),
                                 .made_by = made_.drafts.size()});
    made_.drafts.push_back(std::move(draft));
    return made_.drafts.back().output;
  }
  // Adds a step that writes to this register.
  void add_step_to(Draft draft, size_t output) {
    draft.output = output;
    made_.registers[output].made_by = made_.drafts.size();
    made_.drafts.push_back(std::move(draft));
  }

  // The register of an operand, in its stored dtype. `extent` is that of an operand from outside.
  size_t operand(Atom atom, Extent extent) {
    if (!atom.is_variable()) {
      const Literal& literal = body_.literals[atom.index];
      return add_constant(literal.bytes.data(), literal.type.dtype());
    }
    if (layout_.extents[atom.index]) return found_[atom.index];
    const auto [found, is_new] = from_outside_.try_emplace({atom.index, extent}, 0);
    if (is_new) {
      found->second = add_base({input_number_.at(atom.index), extent, width_of(atom.index)},
                               dtype_of(atom.index));
    }
    return found->second;
  }

  // `as`: the dtype that the register is read as.
  size_t converted(size_t from, DType as, DType to) {
    if (as == to) return from;
    const Conversion conversion = make_conversion(as, to);
    if (conversion.is_copy()) return from;
    const auto [found, is_new] = converted_.try_emplace({from, as, to}, 0);
    if (!is_new) return found->second;
    size_t made;
    if (made_.registers[from].home == Register::Home::kConstant) {
      alignas(16) std::byte element[kMaxComputeWidth];
      conversion.run(made_.constants.element(made_.registers[from].index).data(), element, 1);
      made = add_constant(element, to);
    } else if (const auto stored = stored_.find(from); stored != stored_.end() &&
                                                       stored->second.wide_dtype == to &&
                                                       stored->second.dtype == as) {
      // Rounds the wide value where it was computed, instead of storing and loading it.
      Draft draft = conversion_step(stored->second.wide, rounding_to(as), to);
      draft.rounded = as;
      made = add_step(std::move(draft), made_.registers[from].extent, to);
    } else {
      made = add_step(conversion_step(from, conversion, as), made_.registers[from].extent, to);
    }
    return converted_[{from, as, to}] = made;
  }

  Draft conversion_step(size_t from, const Conversion& conversion, DType as) {
    made_.plan.conversions.push_back(conversion);
    return {.kind = Kind::kConvert,
            .inputs = {from},
            .reads = {as},
            .index = static_cast<uint32_t>(made_.plan.conversions.size() - 1)};
  }

  // The kind of step that repeats a value of this extent.
  Kind repetition(Extent from) const {
    return from == Extent::kScalar ? Kind::kFill
           : from == Extent::kRow  ? Kind::kRepeatRows
                                   : Kind::kRepeatColumns;
  }
  size_t repeated(size_t from, Extent to) {
    const Register source = made_.registers[from];
    // Constants are stored once for each element of a tile.
    if (source.extent == to || source.home == Register::Home::kConstant) return from;
    const auto [found, is_new] = repeated_.try_emplace({from, to}, 0);
    if (!is_new) return found->second;
    const size_t made =
        add_step({.kind = repetition(source.extent), .inputs = {from}}, to, source.dtype);
    return repeated_[{from, to}] = made;
  }

  // ---- equations

  void add(const Equation& equation, Role role) {
    const uint32_t output = equation.outputs[0];
    if (role == Role::kColumnReduction) return add_column_reduction(equation);
    if (role == Role::kPart) {
      parts_[output] = &equation;
      return;
    }
    if (role == Role::kMove) {
      found_[output] = add_move(equation);
      return;
    }
    if (role == Role::kJoin) {
      found_[output] = add_join(equation);
      return;
    }
    if (role == Role::kPad) {
      found_[output] = add_pad(equation);
      return;
    }
    if (role == Role::kTake) {
      found_[output] = add_take(equation);
      return;
    }
    if (role == Role::kCount) {
      found_[output] = add_count(equation);
      return;
    }
    const Extent extent = extent_of(output);
    const auto outside = [&](Atom atom) {
      if (role == Role::kBroadcast) return extent;
      return extent_outside(body_.type_of(atom), layout_.domain);
    };
    std::vector<size_t> inputs;
    for (const Atom atom : equation.inputs) inputs.push_back(operand(atom, outside(atom)));
    size_t& result = found_[output];
    if (role == Role::kView || role == Role::kBroadcast) {
      result = inputs[0];
    } else if (role == Role::kReduction) {
      const DType from = body_.type_of(equation.inputs[0]).dtype();
      const DType dtype = reduced_dtype(equation, inputs[0]);
      const size_t reduced = converted(inputs[0], from, dtype);
      made_.reductions.push_back(
          {equation.primitive->name, dtype, body_.variable_types[output].dtype()});
      const Draft draft = {.kind = Kind::kReduce,
                           .inputs = {repeated(reduced, Extent::kFull)},
                           .index = static_cast<uint32_t>(made_.reductions.size() - 1)};
      result = add_step(draft, extent, dtype_of(output));
    } else {
      result = add_operation(equation, extent, std::move(inputs));
    }
  }

  // The reduction requests the rows while it runs, and writes its output itself.
  void add_column_reduction(const Equation& equation) {
    FARCALL_ASSERT(std::ranges::count(body_.outputs, Atom::variable(equation.outputs[0])) == 1);
    const DType from = body_.type_of(equation.inputs[0]).dtype(), dtype = compute_dtype(from);
    const size_t found = converted(found_[equation.inputs[0].index], from, dtype);
    reduced_ = {
        .rows = repeated(found, Extent::kFull), .dtype = dtype, .result = equation.outputs[0]};
    const DType to = body_.variable_types[equation.outputs[0]].dtype();
    made_.plan.column_reduction = {.kernel = {equation.primitive->name, from, to,
                                              layout_.domain.rows(), layout_.domain.columns},
                                   .width = static_cast<uint32_t>(byte_width(dtype))};
  }

  // Dense elements are read from the operand directly.
  size_t add_move(const Equation& equation) {
    const uint32_t output = equation.outputs[0], operand = equation.inputs[0].index;
    const ShapeDtype type = body_.variable_types[output];
    const ElementSource source = *moved_elements(body_, equation);
    const StridedView view(type, source);
    const uint32_t width = width_of(output);
    const bool has_rows = !view.is_dense() && row_ != 0 && view.run_size() % row_ == 0;
    ClusterPlan::Base made{.operand = input_number_.at(operand),
                           .extent = has_rows          ? Extent::kFull
                                     : view.is_dense() ? extent_of(output)
                                                       : Extent::kScalar,
                           .width = width,
                           .offset = source.offset * width,
                           .is_part = true,
                           .start = add_start(equation)};
    if (view.is_dense()) return add_base(made, type.dtype());
    const auto index = add_view(view);
    if (has_rows) {
      made.view = index;
      made_.reads_rows = true;
      return add_base(made, type.dtype());
    }
    const size_t base = add_base(made, type.dtype());
    return add_step({.kind = Kind::kLoad, .inputs = {base}, .index = index}, Extent::kFull,
                    type.dtype());
  }

  uint32_t add_view(const StridedView& view) {
    std::vector<StridedView>& views = made_.plan.views;
    const auto found = std::ranges::find(views, view);
    if (found != views.end()) return static_cast<uint32_t>(found - views.begin());
    views.push_back(view);
    return static_cast<uint32_t>(views.size() - 1);
  }

  // The start of a dynamic slice; no value for other moves.
  std::optional<uint32_t> add_start(const Equation& equation) {
    if (equation.inputs.size() == 1) return std::nullopt;
    std::vector<SliceStart::Index> indices;
    for (const Atom atom : std::span(equation.inputs).subspan(1)) {
      if (atom.is_variable()) {
        indices.push_back({.operand = input_number_.at(atom.index)});
      } else {
        const Literal& literal = body_.literals[atom.index];
        indices.push_back({.value = index_load(literal.type.dtype())(literal.bytes.data(), 0)});
      }
    }
    const DType dtype = body_.type_of(equation.inputs[1]).dtype();
    made_.plan.starts.emplace_back(body_.type_of(equation.inputs[0]),
                                   body_.variable_types[equation.outputs[0]], dtype,
                                   std::move(indices));
    return static_cast<uint32_t>(made_.plan.starts.size() - 1);
  }

  size_t add_join(const Equation& equation) {
    const int64_t dimension = params_as<ConcatenateParams>(equation.params.get()).dimension;
    const ShapeDtype result = body_.variable_types[equation.outputs[0]];
    const uint32_t width = width_of(result.dtype());
    std::vector<Joined::Operand> operands;
    std::vector<uint32_t> bases;
    for (const Atom atom : equation.inputs) {
      const ShapeDtype type = body_.variable_types[atom.index];
      const int64_t run = Joined::run_size(type, dimension);
      uint32_t read = atom.index;
      int64_t stride = run, offset = 0;
      if (const auto part = parts_.find(atom.index); part != parts_.end()) {
        read = part->second->inputs[0].index;
        const ElementSource source = *moved_elements(body_, *part->second);
        stride = *StridedView(type, source).stride_of_runs(run);
        offset = source.offset * width;
      }
      const size_t base = add_base({.operand = input_number_.at(read),
                                    .extent = Extent::kScalar,
                                    .width = width,
                                    .offset = offset,
                                    .is_part = true},
                                   type.dtype());
      operands.push_back({type, stride});
      bases.push_back(made_.registers[base].index);
    }
    made_.plan.joins.push_back({Joined(result, dimension, operands), std::move(bases)});
    const auto index = static_cast<uint32_t>(made_.plan.joins.size() - 1);
    return add_step({.kind = Kind::kJoin, .index = index}, Extent::kFull, result.dtype());
  }

  size_t add_pad(const Equation& equation) {
    const Atom array = equation.inputs[0];
    const ShapeDtype from = body_.type_of(array);
    const ShapeDtype type = body_.variable_types[equation.outputs[0]];
    const size_t base = add_base({.operand = input_number_.at(array.index),
                                  .extent = Extent::kScalar,
                                  .width = width_of(from.dtype()),
                                  .is_part = true},
                                 from.dtype());
    const auto& params = params_as<PadParams>(equation.params.get());
    made_.plan.pads.push_back(*Padded::of(from, type, params.padding_config));
    return add_step({.kind = Kind::kPad,
                     .inputs = {base, operand(equation.inputs[1], Extent::kScalar)},
                     .index = static_cast<uint32_t>(made_.plan.pads.size() - 1)},
                    Extent::kFull, type.dtype());
  }

  size_t add_take(const Equation& equation) {
    const Atom array = equation.inputs[0], places = equation.inputs[1];
    const ShapeDtype from = body_.type_of(array), indices = body_.type_of(places);
    const Extent extent = extent_of(equation.outputs[0]);
    const size_t base = add_base({.operand = input_number_.at(array.index),
                                  .extent = Extent::kScalar,
                                  .width = width_of(from.dtype()),
                                  .is_part = true},
                                 from.dtype());
    const auto& params = params_as<GatherParams>(equation.params.get());
    const Windows windows =
        windows_of_gather(params, from, indices, body_.variable_types[equation.outputs[0]]);
    made_.plan.takes.push_back(*Take::of(windows, params, from.dtype(), indices.dtype()));
    const size_t found = operand(places, extent_outside(indices, layout_.domain));
    return add_step({.kind = Kind::kTake,
                     .inputs = {repeated(found, extent), base},
                     .index = static_cast<uint32_t>(made_.plan.takes.size() - 1)},
                    extent, from.dtype());
  }

  size_t add_count(const Equation& equation) {
    const uint32_t output = equation.outputs[0];
    const auto& params = params_as<IotaParams>(equation.params.get());
    made_.plan.countings.emplace_back(body_.variable_types[output], params.dimension);
    const auto index = static_cast<uint32_t>(made_.plan.countings.size() - 1);
    return add_step({.kind = Kind::kCount, .index = index}, Extent::kFull, dtype_of(output));
  }

  DType dtype_of(uint32_t variable) const { return body_.variable_types[variable].dtype(); }
  uint32_t width_of(uint32_t variable) const { return width_of(dtype_of(variable)); }

  size_t add_operation(const Equation& equation, Extent extent, std::vector<size_t> inputs) {
    const uint32_t output = equation.outputs[0];
    const ShapeDtype type = body_.variable_types[output];
    std::vector<ShapeDtype> types;
    for (const Atom atom : equation.inputs) types.push_back(body_.type_of(atom));
    const ElementwiseSpec spec =
        find_elementwise(equation.primitive->name)(types, {&type, 1}, equation.params.get());
    if (spec.conversion) {
      const size_t from = repeated(inputs[0], extent);
      return add_step(conversion_step(from, *spec.conversion, types[0].dtype()), extent,
                      type.dtype());
    }
    std::array<DType, kMaxElementwiseInputs> reads{};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const DType dtype = types[i].dtype();
      // Loads that change no bits, to a sign or to bytes, keep the dtype of the equation.
      const DType load = spec.loads[i];
      reads[i] = dtype == load || make_conversion(dtype, load).is_copy() ? dtype : load;
      inputs[i] = repeated(converted(inputs[i], dtype, load), extent);
    }
    Draft draft = {.inputs = std::move(inputs),
                   .reads = reads,
                   .equation = &equation,
                   .is_logical = type.dtype() == DType::kBool,
                   .loop = spec.loop.loop,
                   .extra = spec.extra};
    const Conversion store = make_conversion(spec.loop.result, type.dtype());
    const size_t made = add_step(std::move(draft), extent, spec.loop.result);
    if (store.is_copy()) {
      made_.registers[made].dtype = type.dtype();
      return made;
    }
    const size_t result =
        add_step(conversion_step(made, store, spec.loop.result), extent, type.dtype());
    if (is_narrow_float(type.dtype())) stored_[result] = {made, spec.loop.result, type.dtype()};
    return result;
  }

  // Steps on one element of each row or column come as soon as their operands are there, and so not
  // between steps on all elements, which machine code then runs together.
  void advance_steps_on_rows() {
    std::vector<std::pair<size_t, size_t>> order;  // the step to come after, and the step
    for (size_t i = 0; i < made_.drafts.size(); ++i) {
      const Draft& draft = made_.drafts[i];
      size_t after = i;
      if (draft.kind != Kind::kReduce && made_.registers[draft.output].extent != Extent::kFull) {
        after = 0;
        for (const size_t input : draft.inputs) {
          const size_t maker = made_.registers[input].made_by;
          if (maker != kNoStep) after = std::max(after, order[maker].first);
        }
      }
      order.emplace_back(after, i);
    }
    std::ranges::sort(order);
    std::vector<Draft> drafts;
    for (const auto& [after, step] : order) {
      made_.registers[made_.drafts[step].output].made_by = drafts.size();
      drafts.push_back(std::move(made_.drafts[step]));
    }
    made_.drafts = std::move(drafts);
  }

  // Removes, for example, conversions to a narrow dtype that are read only in the wide one.
  void drop_unread_steps() {
    find_last_reads(made_);
    std::vector<Draft> kept;
    for (Draft& draft : made_.drafts) {
      Register& made = made_.registers[draft.output];
      const bool is_read = made.home == Register::Home::kBase || made.last_read != kNoStep;
      made.made_by = is_read ? kept.size() : kNoStep;
      if (is_read) kept.push_back(std::move(draft));
    }
    made_.drafts = std::move(kept);
  }

  // Results are computed in their memory, or copied there last.
  void add_output(size_t number) {
    const uint32_t variable = body_.outputs[number].index;
    if (made_.plan.column_reduction && reduced_.result == variable) return add_reduced_rows(number);
    const int64_t size = body_.variable_types[variable].size();
    const size_t from = found_[variable];
    const Extent held = made_.registers[from].extent;
    Extent extent = size == layout_.domain.size ? Extent::kFull : Extent::kRow;
    if (size == 1) extent = held == Extent::kRow ? Extent::kRow : Extent::kScalar;
    const size_t to =
        add_base({static_cast<uint32_t>(body_.inputs.size() + number), extent, width_of(variable)},
                 dtype_of(variable));
    Register& source = made_.registers[from];
    if (source.home == Register::Home::kScratch && held == extent) {
      source.home = Register::Home::kBase;
      source.index = made_.registers[to].index;
    } else if (held == extent || source.home == Register::Home::kConstant) {
      const DType dtype = body_.variable_types[variable].dtype();
      add_step_to(conversion_step(from, make_conversion(dtype, dtype), dtype), to);
    } else {
      add_step_to({.kind = repetition(held), .inputs = {from}}, to);
    }
  }

  void add_reduced_rows(size_t output) {
    ClusterPlan::ColumnReduction& reduction = *made_.plan.column_reduction;
    reduction.output = static_cast<uint32_t>(body_.inputs.size() + output);
    const size_t to =
        add_base({ClusterPlan::kReducedRows, Extent::kFull, reduction.width}, reduced_.dtype);
    Register& rows = made_.registers[reduced_.rows];
    if (rows.home == Register::Home::kScratch) {
      rows.home = Register::Home::kBase;
      rows.index = made_.registers[to].index;
    } else {
      const Conversion copy = make_conversion(reduced_.dtype, reduced_.dtype);
      add_step_to(conversion_step(reduced_.rows, copy, reduced_.dtype), to);
    }
  }

  // 16-bit floats are widened once for all readers. Extremes are faster in 16 bits, if the elements
  // are there.
  DType reduced_dtype(const Equation& equation, size_t operand) const {
    const DType dtype = body_.type_of(equation.inputs[0]).dtype();
    const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
    const std::string_view name = equation.primitive->name;
    const bool is_extreme = name == "reduce_max" || name == "reduce_min";
    return is_half && (!is_extreme || stored_.contains(operand)) ? DType::kFloat32 : dtype;
  }

  const Program& body_;
  const ClusterLayout layout_;
  ClusterSteps made_;
  int64_t row_ = 0;            // the rows that are read in place; 0 if none are
  std::vector<size_t> found_;  // register, by variable
  std::map<uint32_t, uint32_t> input_number_;
  std::map<uint32_t, const Equation*> parts_;  // kParts, by variable
  std::map<std::pair<uint32_t, Extent>, size_t> from_outside_;
  std::map<std::tuple<size_t, DType, DType>, size_t> converted_;  // by register, from and to
  std::map<std::pair<size_t, Extent>, size_t> repeated_;
  // For each register of narrow floats: the wide value that was rounded.
  struct Stored {
    size_t wide;
    DType wide_dtype, dtype;
  };
  std::map<size_t, Stored> stored_;
  struct Reduced {    // for the column reduction
    size_t rows = 0;  // register
    DType dtype = DType::kInvalid;
    uint32_t result = 0;  // variable
  } reduced_;
};

}  // namespace

size_t owner(std::span<const TileRegister> registers, size_t number) {
  while (registers[number].same_as) number = *registers[number].same_as;
  return number;
}

void find_last_reads(ClusterSteps& steps) {
  for (Register& each : steps.registers) each.last_read = kNoStep;
  for (size_t i = 0; i < steps.drafts.size(); ++i) {
    for (const size_t input : steps.drafts[i].inputs) {
      steps.registers[owner(steps.registers, input)].last_read = i;
    }
  }
}

ClusterSteps steps_of_cluster(const Program& body, int64_t least_row) {
  return Steps(body, least_row).run();
}

}  // namespace farcall::native
