// Plans clusters: equations become steps on registers, then the size of tiles is chosen, then
// registers get memory.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <farcall/core/error.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/structural.h>

#include "engine/native/arena.h"
#include "engine/native/kernels/clusters/cluster.h"
#include "engine/native/kernels/clusters/cluster_steps.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/stream.h"
#include "engine/native/kernels/vector/narrow.h"

namespace farcall::native {
namespace {

// The values of a tile fit in 24 KiB, of the 32 KiB or more of a core's first-level cache.
constexpr int64_t kTileBytes = int64_t{24} << 10;
constexpr int64_t kMinTile = 128, kMaxTile = 2048;

using Kind = TileStep::Kind;
using Register = TileRegister;
using Phase = TilePhase;
using Draft = TileDraft;

class ClusterPlanner {
 public:
  explicit ClusterPlanner(const Program& body)
      : body_(body), layout_(layout_of_cluster(body)), found_(body.variable_types.size()) {}

  // Returns null if a reduction has no kernel.
  std::shared_ptr<const ClusterPlan> run() {
    for (uint32_t i = 0; i < body_.inputs.size(); ++i) input_number_[body_.inputs[i]] = i;
    for (size_t i = 0; i < body_.equations.size(); ++i) add(body_.equations[i], layout_.roles[i]);
    for (size_t i = 0; i < body_.outputs.size(); ++i) add_output(i);
    drop_unread_steps();
    choose_tiles();
    for (Draft& draft : drafts_) draft.phase = phase_of(draft);
    find_last_reads();
    plan_->constants = constants_.place(multiple(Extent::kFull));
    place_registers();
    emit();
    find_in_place();
    return make_reductions() ? std::move(plan_) : nullptr;
  }

 private:
  Extent extent_of(uint32_t variable) const { return *layout_.extents[variable]; }

  // ---- registers

  size_t add_register(Register made) {
    registers_.push_back(made);
    return registers_.size() - 1;
  }
  size_t add_base(ClusterPlan::Base base) {
    plan_->bases.push_back(base);
    return add_register({.home = Register::Home::kBase,
                         .index = static_cast<uint32_t>(plan_->bases.size() - 1),
                         .extent = base.extent,
                         .width = base.width});
  }
  size_t add_constant(const void* element, uint32_t width) {
    return add_register({.home = Register::Home::kConstant,
                         .index = constants_.add(element, width),
                         .extent = Extent::kScalar,
                         .width = width});
  }
  size_t add_step(Draft draft, Extent extent, uint32_t width) {
    draft.output = add_register({.extent = extent, .width = width, .made_by = drafts_.size()});
    drafts_.push_back(std::move(draft));
    return drafts_.back().output;
  }
  // Adds a step that writes to this register.
  void add_step_to(Draft draft, size_t output) {
    draft.output = output;
    registers_[output].made_by = drafts_.size();
    drafts_.push_back(std::move(draft));
  }

  // The register of an operand, in its stored dtype. `extent` is that of an operand from outside.
  size_t operand(Atom atom, Extent extent) {
    if (!atom.is_variable()) {
      const Literal& literal = body_.literals[atom.index];
      return add_constant(literal.bytes.data(),
                          static_cast<uint32_t>(byte_width(literal.type.dtype())));
    }
    if (layout_.extents[atom.index]) return found_[atom.index];
    const auto [found, is_new] = from_outside_.try_emplace({atom.index, extent}, 0);
    if (is_new) {
      found->second = add_base({input_number_.at(atom.index), extent, width_of(atom.index)});
    }
    return found->second;
  }

  size_t converted(size_t from, const Conversion& conversion, DType to) {
    if (conversion.is_copy()) return from;
    const auto [found, is_new] = converted_.try_emplace({from, to}, 0);
    if (!is_new) return found->second;
    const auto width = static_cast<uint32_t>(conversion.target_width);
    size_t made;
    if (registers_[from].home == Register::Home::kConstant) {
      alignas(16) std::byte element[kMaxComputeWidth];
      conversion.run(constants_.element(registers_[from].index).data(), element, 1);
      made = add_constant(element, width);
    } else if (const auto stored = stored_.find(from);
               stored != stored_.end() && stored->second.wide_dtype == to) {
      // Rounds the wide value where it was computed, instead of storing and loading it.
      made = add_step(conversion_step(stored->second.wide, rounding_to(stored->second.dtype)),
                      registers_[from].extent, width);
    } else {
      made = add_step(conversion_step(from, conversion), registers_[from].extent, width);
    }
    return converted_[{from, to}] = made;
  }

  Draft conversion_step(size_t from, const Conversion& conversion) {
    plan_->conversions.push_back(conversion);
    return {.kind = Kind::kConvert,
            .inputs = {from},
            .index = static_cast<uint32_t>(plan_->conversions.size() - 1)};
  }

  // The kind of step that repeats a value of this extent.
  Kind repetition(Extent from) const {
    return from == Extent::kScalar ? Kind::kFill
           : from == Extent::kRow  ? Kind::kRepeatRows
                                   : Kind::kRepeatColumns;
  }
  size_t repeated(size_t from, Extent to) {
    const Register source = registers_[from];
    // Constants are stored once for each element of a tile.
    if (source.extent == to || source.home == Register::Home::kConstant) return from;
    const auto [found, is_new] = repeated_.try_emplace({from, to}, 0);
    if (!is_new) return found->second;
    const size_t made =
        add_step({.kind = repetition(source.extent), .inputs = {from}}, to, source.width);
    return repeated_[{from, to}] = made;
  }

  // ---- equations

  void add(const Equation& equation, Role role) {
    const uint32_t output = equation.outputs[0];
    const Extent extent = extent_of(output);
    if (role == Role::kColumnReduction) return add_column_reduction(equation);
    if (role == Role::kMove || role == Role::kCount) {
      found_[output] = role == Role::kMove ? add_move(equation) : add_count(equation);
      return;
    }
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
      const DType dtype = reduced_dtype(equation), from = body_.type_of(equation.inputs[0]).dtype();
      const size_t reduced = converted(inputs[0], make_conversion(from, dtype), dtype);
      reductions_.push_back(&equation);
      const Draft draft = {.kind = Kind::kReduce,
                           .inputs = {repeated(reduced, Extent::kFull)},
                           .index = static_cast<uint32_t>(reductions_.size() - 1)};
      result = add_step(draft, extent, width_of(output));
    } else {
      result = add_operation(equation, extent, std::move(inputs));
    }
  }

  // The reduction requests the rows while it runs, and writes its output itself.
  void add_column_reduction(const Equation& equation) {
    FARCALL_ASSERT(std::ranges::count(body_.outputs, Atom::variable(equation.outputs[0])) == 1);
    const DType from = body_.type_of(equation.inputs[0]).dtype(), dtype = compute_dtype(from);
    const size_t found =
        converted(found_[equation.inputs[0].index], make_conversion(from, dtype), dtype);
    reduced_ = {
        .rows = repeated(found, Extent::kFull), .dtype = dtype, .result = equation.outputs[0]};
    const DType to = body_.variable_types[equation.outputs[0]].dtype();
    plan_->column_reduction = {.kernel = {equation.primitive->name, from, to, layout_.domain.rows(),
                                          layout_.domain.columns},
                               .width = static_cast<uint32_t>(byte_width(dtype))};
  }

  // Dense elements are read from the operand directly.
  size_t add_move(const Equation& equation) {
    const uint32_t output = equation.outputs[0], operand = equation.inputs[0].index;
    const ShapeDtype type = body_.variable_types[output];
    const ElementSource source = *element_source(
        equation.primitive->name, body_.variable_types[operand], type, equation.params.get());
    const StridedView view(type, source);
    const uint32_t width = width_of(output);
    const size_t base = add_base({.operand = input_number_.at(operand),
                                  .extent = view.is_dense() ? extent_of(output) : Extent::kScalar,
                                  .width = width,
                                  .offset = source.offset * width,
                                  .is_part = true});
    if (view.is_dense()) return base;
    plan_->views.push_back(view);
    const auto index = static_cast<uint32_t>(plan_->views.size() - 1);
    return add_step({.kind = Kind::kLoad, .inputs = {base}, .index = index}, Extent::kFull, width);
  }

  size_t add_count(const Equation& equation) {
    const uint32_t output = equation.outputs[0];
    const auto& params = params_as<IotaParams>(equation.params.get());
    plan_->countings.emplace_back(body_.variable_types[output], params.dimension);
    const auto index = static_cast<uint32_t>(plan_->countings.size() - 1);
    return add_step({.kind = Kind::kCount, .index = index}, Extent::kFull, width_of(output));
  }

  uint32_t width_of(uint32_t variable) const {
    return static_cast<uint32_t>(byte_width(body_.variable_types[variable].dtype()));
  }

  size_t add_operation(const Equation& equation, Extent extent, std::vector<size_t> inputs) {
    const uint32_t output = equation.outputs[0];
    const ShapeDtype type = body_.variable_types[output];
    std::vector<ShapeDtype> types;
    for (const Atom atom : equation.inputs) types.push_back(body_.type_of(atom));
    const ElementwiseSpec spec =
        find_elementwise(equation.primitive->name)(types, {&type, 1}, equation.params.get());
    if (spec.conversion) {
      const size_t from = repeated(inputs[0], extent);
      return add_step(conversion_step(from, *spec.conversion), extent, width_of(output));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Conversion load = make_conversion(types[i].dtype(), spec.loads[i]);
      inputs[i] = repeated(converted(inputs[i], load, spec.loads[i]), extent);
    }
    const Draft draft = {Kind::kLoop, std::move(inputs), 0, spec.loop.loop, spec.extra};
    const Conversion store = make_conversion(spec.loop.result, type.dtype());
    const size_t made =
        add_step(draft, extent, static_cast<uint32_t>(byte_width(spec.loop.result)));
    if (store.is_copy()) return made;
    const size_t result = add_step(conversion_step(made, store), extent, width_of(output));
    if (is_narrow_float(type.dtype())) stored_[result] = {made, spec.loop.result, type.dtype()};
    return result;
  }

  // Removes, for example, conversions to a narrow dtype that are read only in the wide one.
  void drop_unread_steps() {
    find_last_reads();
    std::vector<Draft> kept;
    for (Draft& draft : drafts_) {
      Register& made = registers_[draft.output];
      const bool is_read = made.home == Register::Home::kBase || made.last_read != kNoStep;
      made.made_by = is_read ? kept.size() : kNoStep;
      if (is_read) kept.push_back(std::move(draft));
    }
    drafts_ = std::move(kept);
  }

  // Results are computed in their memory, or copied there last.
  void add_output(size_t number) {
    const uint32_t variable = body_.outputs[number].index;
    if (plan_->column_reduction && reduced_.result == variable) return add_reduced_rows(number);
    const int64_t size = body_.variable_types[variable].size();
    const size_t from = found_[variable];
    const Extent held = registers_[from].extent;
    Extent extent = size == layout_.domain.size ? Extent::kFull : Extent::kRow;
    if (size == 1) extent = held == Extent::kRow ? Extent::kRow : Extent::kScalar;
    const size_t to =
        add_base({static_cast<uint32_t>(body_.inputs.size() + number), extent, width_of(variable)});
    Register& source = registers_[from];
    const bool is_large = size * width_of(variable) >= kStreamedBytes;
    if (is_large && source.home == Register::Home::kScratch && held == extent) {
      plan_->streams = true;
      add_step_to({.kind = Kind::kStream, .inputs = {from}}, to);
    } else if (source.home == Register::Home::kScratch && held == extent) {
      source.home = Register::Home::kBase;
      source.index = registers_[to].index;
    } else if (held == extent || source.home == Register::Home::kConstant) {
      const DType dtype = body_.variable_types[variable].dtype();
      add_step_to(conversion_step(from, make_conversion(dtype, dtype)), to);
    } else {
      add_step_to({.kind = repetition(held), .inputs = {from}}, to);
    }
  }

  void add_reduced_rows(size_t output) {
    ClusterPlan::ColumnReduction& reduction = *plan_->column_reduction;
    reduction.output = static_cast<uint32_t>(body_.inputs.size() + output);
    const size_t to = add_base({ClusterPlan::kReducedRows, Extent::kFull, reduction.width});
    Register& rows = registers_[reduced_.rows];
    if (rows.home == Register::Home::kScratch) {
      rows.home = Register::Home::kBase;
      rows.index = registers_[to].index;
    } else {
      const Conversion copy = make_conversion(reduced_.dtype, reduced_.dtype);
      add_step_to(conversion_step(reduced_.rows, copy), to);
    }
  }

  // ---- tiles

  int64_t multiple(Extent extent) const {
    switch (extent) {
      case Extent::kRow:
        return plan_->tile_rows;
      case Extent::kColumn:
        return plan_->tile_columns;
      case Extent::kFull:
        return plan_->tile_rows * plan_->tile_columns;
      default:
        return 1;
    }
  }

  // The number of bytes that a tile needs per element.
  int64_t bytes_per_element() {
    find_last_reads();
    std::vector<int64_t> change(drafts_.size() + 1, 0);
    int64_t always = constants_.nbytes();
    for (const ClusterPlan::Base& base : plan_->bases) {
      if (base.extent == Extent::kFull) always += base.width;
    }
    for (const Register& each : registers_) {
      if (each.home != Register::Home::kScratch || each.extent != Extent::kFull ||
          each.made_by == kNoStep) {
        continue;
      }
      if (drafts_[each.made_by].kind == Kind::kFill) {
        always += each.width;
        continue;
      }
      change[each.made_by] += each.width;
      change[std::max(each.made_by, each.last_read == kNoStep ? 0 : each.last_read) + 1] -=
          each.width;
    }
    int64_t live = 0, most = 0;
    for (const int64_t by : change) most = std::max(most, live += by);
    return std::max<int64_t>(1, always + most);
  }

  void choose_tiles() {
    if (layout_.domain.size == 1) return;
    int64_t tile = std::clamp(kTileBytes / bytes_per_element(), kMinTile, kMaxTile) / 64 * 64;
    tile = std::min(tile, layout_.domain.size);
    plan_->columns = layout_.domain.columns == 0 ? layout_.domain.size : layout_.domain.columns;
    plan_->rows = layout_.domain.size / plan_->columns;
    if (plan_->column_reduction) {
      choose_tiles_of_columns(tile);
    } else if (plan_->columns <= tile || layout_.domain.has_reduction) {
      plan_->tile_rows = std::clamp<int64_t>(tile / plan_->columns, 1, plan_->rows);
      plan_->tile_columns = plan_->columns;
    } else {
      plan_->tile_columns = tile;
      plan_->parts = (plan_->columns - 1) / tile + 1;
    }
    plan_->num_tiles = ((plan_->rows - 1) / plan_->tile_rows + 1) * plan_->parts;
  }

  // Tiles have several rows if the reduction reads whole rows.
  void choose_tiles_of_columns(int64_t tile) {
    constexpr int64_t kMostRows = 32;
    ClusterPlan::ColumnReduction& reduction = *plan_->column_reduction;
    plan_->tile_columns = reduction.kernel.columns_at_once();
    plan_->parts = (plan_->columns - 1) / plan_->tile_columns + 1;
    plan_->tile_rows =
        plan_->parts > 1 ? 1 : std::clamp<int64_t>(tile / plan_->columns, 1, kMostRows);
    plan_->tile_rows = std::min(plan_->tile_rows, plan_->rows);
    reduction.rows_at_once = (plan_->tile_rows + 3) / 4 * 4;
  }

  Phase phase_of(Draft& draft) {
    Register& output = registers_[draft.output];
    if (output.extent == Extent::kScalar) return Phase::kOnce;
    if (output.home == Register::Home::kBase) return Phase::kPerTile;  // a result
    if (draft.kind == Kind::kFill) return Phase::kPerThread;
    const bool is_of_columns = draft.kind == Kind::kRepeatColumns;
    if (is_of_columns && plan_->tile_rows == 1) {
      // A single row need not be repeated.
      output.same_as = draft.inputs[0];
      draft.is_left_out = true;
    }
    const bool is_the_same =
        (is_of_columns || output.extent == Extent::kColumn) && plan_->parts == 1;
    return is_the_same ? Phase::kPerThread : Phase::kPerTile;
  }

  // ---- memory

  size_t owner(size_t number) const {
    while (registers_[number].same_as) number = *registers_[number].same_as;
    return number;
  }

  void find_last_reads() {
    for (Register& each : registers_) each.last_read = kNoStep;
    for (size_t i = 0; i < drafts_.size(); ++i) {
      for (const size_t input : drafts_[i].inputs) registers_[owner(input)].last_read = i;
    }
  }

  static size_t rounded(size_t nbytes) {
    return (nbytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  size_t bytes_of(const Register& each) const {
    return static_cast<size_t>(multiple(each.extent)) * each.width;
  }

  void place_registers() {
    Arena arena;
    size_t scalars = 0;
    // Values that last for the whole run are kept apart from those that each tile overwrites.
    for (const Draft& draft : drafts_) {
      Register& made = registers_[draft.output];
      if (made.home != Register::Home::kScratch || made.same_as) continue;
      if (draft.phase == Phase::kOnce) {
        made.offset = static_cast<uint32_t>(scalars);
        scalars += kMaxComputeWidth;
      } else if (draft.phase == Phase::kPerThread) {
        made.offset = static_cast<uint32_t>(arena.allocate(bytes_of(made)));
      }
    }
    for (size_t i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].phase == Phase::kPerTile && !drafts_[i].is_left_out) place_output(arena, i);
    }
    plan_->scalars_bytes = rounded(scalars);
    plan_->thread_bytes = arena.size();
    if (plan_->column_reduction) {
      ClusterPlan::ColumnReduction& reduction = *plan_->column_reduction;
      reduction.rows_offset = rounded(plan_->thread_bytes);
      plan_->thread_bytes =
          reduction.rows_offset +
          static_cast<size_t>(reduction.rows_at_once * plan_->tile_columns) * reduction.width;
    }
  }

  bool dies_at(size_t number, size_t step) const {
    const Register& each = registers_[number];
    return each.home == Register::Home::kScratch && each.last_read == step &&
           drafts_[each.made_by].phase == Phase::kPerTile;
  }

  // A loop may overwrite an operand that is read for the last time.
  void place_output(Arena& arena, size_t step) {
    const Draft& draft = drafts_[step];
    Register& made = registers_[draft.output];
    std::vector<size_t> dying;
    for (const size_t input : draft.inputs) {
      const size_t number = owner(input);
      if (dies_at(number, step) && std::ranges::find(dying, number) == dying.end()) {
        dying.push_back(number);
      }
    }
    if (made.home == Register::Home::kScratch) {
      const auto same = std::ranges::find_if(dying, [&](size_t number) {
        const Register& each = registers_[number];
        return draft.kind == Kind::kLoop && each.extent == made.extent && each.width == made.width;
      });
      if (same != dying.end()) {
        made.offset = registers_[*same].offset;
        dying.erase(same);
      } else {
        made.offset = static_cast<uint32_t>(arena.allocate(bytes_of(made)));
      }
    }
    for (const size_t number : dying) {
      arena.release(registers_[number].offset, bytes_of(registers_[number]));
    }
    if (made.home == Register::Home::kScratch && made.last_read == kNoStep) {
      arena.release(made.offset, bytes_of(made));
    }
  }

  TileAddress address(size_t number) const {
    const Register& each = registers_[owner(number)];
    if (each.home == Register::Home::kBase) return {TileAddress::kOperands + each.index, 0};
    if (each.home == Register::Home::kConstant) {
      return {TileAddress::kConstants, constants_.offset(each.index)};
    }
    return {each.extent == Extent::kScalar ? TileAddress::kScalars : TileAddress::kThread,
            each.offset};
  }

  void emit() {
    for (const Draft& draft : drafts_) {
      if (draft.is_left_out) continue;
      TileStep step{
          .kind = draft.kind,
          .extent = registers_[draft.output].extent,
          .width = registers_[draft.inputs.empty() ? draft.output : draft.inputs[0]].width,
          .index = draft.index,
          .output = address(draft.output),
          .loop = draft.loop,
          .extra = draft.extra};
      for (size_t i = 0; i < draft.inputs.size(); ++i) step.inputs[i] = address(draft.inputs[i]);
      (draft.phase == Phase::kOnce        ? plan_->once
       : draft.phase == Phase::kPerThread ? plan_->per_thread
                                          : plan_->per_tile)
          .push_back(step);
    }
  }

  // An output may use the memory of an input with the same number of elements of the same width, if
  // no step reads the input after the output is written.
  void find_in_place() {
    const auto num_inputs = static_cast<uint32_t>(body_.inputs.size());
    const auto order = [&](size_t step) { return std::pair(drafts_[step].phase, step); };
    std::map<uint32_t, size_t> num_bases;  // by operand
    for (const ClusterPlan::Base& base : plan_->bases) ++num_bases[base.operand];
    std::vector<const Register*> read, written;
    for (const Register& each : registers_) {
      if (each.home != Register::Home::kBase) continue;
      const ClusterPlan::Base& base = plan_->bases[each.index];
      if (base.operand == ClusterPlan::kReducedRows) continue;
      if (each.made_by != kNoStep) written.push_back(&each);
      const bool may_go =
          !base.is_part && (base.extent == Extent::kFull || base.extent == Extent::kScalar);
      if (base.operand < num_inputs && num_bases[base.operand] == 1 && may_go) {
        read.push_back(&each);
      }
    }
    for (const Register* input : read) {
      const ClusterPlan::Base& from = plan_->bases[input->index];
      for (const Register* output : written) {
        const ClusterPlan::Base& to = plan_->bases[output->index];
        if (to.extent != from.extent || to.width != from.width) continue;
        const Draft& writer = drafts_[output->made_by];
        const bool reads_first = order(input->last_read) < order(output->made_by);
        const bool is_in_step = input->last_read == output->made_by &&
                                (writer.kind == Kind::kLoop || writer.kind == Kind::kConvert);
        if (reads_first || is_in_step) {
          plan_->in_place.emplace_back(from.operand, to.operand - num_inputs);
        }
      }
    }
  }

  // 16-bit floats are widened once for all readers.
  DType reduced_dtype(const Equation& equation) const {
    const DType dtype = body_.type_of(equation.inputs[0]).dtype();
    const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
    return is_half ? DType::kFloat32 : dtype;
  }

  bool make_reductions() {
    for (const Equation* equation : reductions_) {
      const auto make = [&](int64_t rows) {
        const ShapeDtype in(reduced_dtype(*equation), {rows, plan_->columns});
        const ShapeDtype out(body_.variable_types[equation->outputs[0]].dtype(), {rows});
        const ParamsPtr params = make_params(ReduceParams{{1}});
        return find_kernel(equation->primitive->name)({&in, 1}, {&out, 1}, params.get());
      };
      const int64_t left = plan_->rows % plan_->tile_rows;
      ClusterPlan::Reduction reduction{make(plan_->tile_rows), {}};
      if (left != 0) reduction.last = make(left);
      if (!reduction.whole.run || reduction.whole.scratch_bytes != 0) return false;
      plan_->reductions.push_back(std::move(reduction));
    }
    return !plan_->column_reduction || plan_->column_reduction->kernel.is_valid();
  }

  const Program& body_;
  const ClusterLayout layout_;
  std::shared_ptr<ClusterPlan> plan_ = std::make_shared<ClusterPlan>();
  std::vector<size_t> found_;  // register, by variable
  std::map<uint32_t, uint32_t> input_number_;
  std::vector<Register> registers_;
  std::vector<Draft> drafts_;
  TileConstants constants_;
  std::map<std::pair<uint32_t, Extent>, size_t> from_outside_;
  std::map<std::pair<size_t, DType>, size_t> converted_;
  std::map<std::pair<size_t, Extent>, size_t> repeated_;
  // For each register of narrow floats: the wide value that was rounded.
  struct Stored {
    size_t wide;
    DType wide_dtype, dtype;
  };
  std::map<size_t, Stored> stored_;
  std::vector<const Equation*> reductions_;
  struct Reduced {    // for plan_->column_reduction
    size_t rows = 0;  // register
    DType dtype = DType::kInvalid;
    uint32_t result = 0;  // variable
  } reduced_;
};

}  // namespace

std::shared_ptr<const ClusterPlan> plan_cluster(const Program& body) {
  return ClusterPlanner(body).run();
}

}  // namespace farcall::native
