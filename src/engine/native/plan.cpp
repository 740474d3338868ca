// From a program to a plan, in three steps: which values share memory, where that memory is, and
// the instructions.
#include "engine/native/plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/primitives/ffi_call.h>

#include "engine/native/arena.h"
#include "engine/native/kernels/strided_copy.h"

namespace farcall::native {
namespace {

constexpr size_t kNever = SIZE_MAX;

// Adds the user's line to an error that compiling an equation gave.
template <class F>
auto with_location(const Equation& equation, F&& compile) {
  try {
    return compile();
  } catch (const Error& error) {
    if (!equation.where) throw;
    error.raise_with(fmt::format("{}\n  at {}:{} ({})", error.message(), equation.where->file,
                                 equation.where->line, equation.where->function));
    throw;  // not reached; raise_with does not return
  }
}

// Whether the layout puts the elements in row-major order: dimensions of size 1 may stand anywhere.
bool is_row_major_in_memory(ShapeDtype type, const MajorToMinor& layout) {
  if (!layout || type.size() == 0) return true;
  int64_t previous = -1;
  for (const int64_t axis : *layout) {
    if (type.shape()[axis] == 1) continue;
    if (axis < previous) return false;
    previous = axis;
  }
  return true;
}

class Planner {
 public:
  explicit Planner(ProgramPtr program) : program_(*program), plan_(std::make_unique<Plan>()) {
    plan_->program = std::move(program);
  }

  std::unique_ptr<const Plan> run() {
    share_memory();
    place_fixed();
    for (size_t i = 0; i < program_.equations.size(); ++i) {
      with_location(program_.equations[i], [&] { plan_equation(i); });
    }
    place_outputs();
    finish();
    return std::move(plan_);
  }

 private:
  // ---- which variables share memory ----

  // The variable that stands for all that share this one's memory.
  uint32_t root(uint32_t variable) const {
    while (shares_[variable] != variable) variable = shares_[variable];
    return variable;
  }

  void share_memory() {
    const size_t count = program_.variable_types.size();
    shares_.resize(count);
    std::iota(shares_.begin(), shares_.end(), 0u);
    last_use_.assign(count, 0);
    is_ours_.assign(count, false);
    for (size_t i = 0; i < program_.equations.size(); ++i) {
      for (const Atom atom : program_.equations[i].inputs) {
        if (atom.is_variable()) last_use_[atom.index] = i;
      }
      for (const uint32_t output : program_.equations[i].outputs) {
        last_use_[output] = i;
        is_ours_[output] = true;
      }
    }
    for (const Atom atom : program_.outputs) {
      if (atom.is_variable()) last_use_[atom.index] = kNever;
    }
    copies_alias_.resize(program_.equations.size());
    for (size_t i = 0; i < program_.equations.size(); ++i) share_equation(i);
  }

  void share_equation(size_t index) {
    const Equation& equation = program_.equations[index];
    if (equation.primitive->name == "reshape") {
      if (equation.inputs[0].is_variable()) join(equation.outputs[0], equation.inputs[0].index);
    } else if (equation.primitive->name == "ffi_call") {
      const auto& params = params_as<FfiCallParams>(equation.params.get());
      for (const auto& [input, output] : params.input_output_aliases) {
        // A token has no memory to take over.
        if (params.result_types[output].is_token()) continue;
        if (may_take_over(equation, index, input)) {
          join(equation.outputs[output], equation.inputs[input].index);
        } else {
          copies_alias_[index].push_back(output);
        }
      }
    } else if (updates_first_input(equation.primitive->name) && may_take_over(equation, index, 0)) {
      join(equation.outputs[0], equation.inputs[0].index);
    }
  }

  void join(uint32_t variable, uint32_t with) {
    const uint32_t representative = root(with);
    shares_[variable] = representative;
    last_use_[representative] = std::max(last_use_[representative], last_use_[variable]);
  }

  // Whether an equation may write over this operand: the memory is the plan's own, nobody reads it
  // later, and the equation itself reads it through this operand alone.
  bool may_take_over(const Equation& equation, size_t index, int64_t input) const {
    const Atom atom = equation.inputs[input];
    if (!atom.is_variable() || !is_ours_[root(atom.index)]) return false;
    if (last_use_[root(atom.index)] != index) return false;
    return std::ranges::count_if(equation.inputs, [&](Atom other) {
             return other.is_variable() && root(other.index) == root(atom.index);
           }) == 1;
  }

  // ---- where memory is ----

  void place_fixed() {
    places_.resize(program_.variable_types.size());
    literal_places_.resize(program_.literals.size());
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      places_[program_.inputs[i]] = {Place::Kind::kInput, i};
    }
    for (const Constant& constant : program_.constants) {
      places_[constant.variable] = add_constant(constant.storage);
    }
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const Atom atom = program_.outputs[i];
      if (!atom.is_variable()) continue;
      Place& place = places_[root(atom.index)];
      if (place.kind == Place::Kind::kNone) place = {Place::Kind::kOutput, i};
    }
  }

  // Memory that was adopted may be changed by its owner, which a result must not notice, and need
  // not be aligned as handlers rely on.
  Place add_constant(Storage storage) {
    if (!storage.is_owned() && storage.nbytes() > 0) {
      Storage copy = Storage::allocate(storage.nbytes());
      std::memcpy(copy.data(), storage.data(), storage.nbytes());
      storage = std::move(copy);
    }
    plan_->constants.push_back(std::move(storage));
    return {Place::Kind::kConstant, plan_->constants.size() - 1};
  }

  Place place_of(Atom atom) {
    if (atom.is_variable()) return places_[root(atom.index)];
    Place& place = literal_places_[atom.index];
    if (place.kind == Place::Kind::kNone) {
      const Literal& literal = program_.literals[atom.index];
      Storage storage = Storage::allocate(literal.type.nbytes());
      std::memcpy(storage.data(), literal.bytes.data(), literal.type.nbytes());
      place = add_constant(std::move(storage));
    }
    return place;
  }

  // The place of a variable that this equation defines.
  Place define(uint32_t variable) {
    Place& place = places_[root(variable)];
    if (place.kind == Place::Kind::kNone) {
      place = {Place::Kind::kArena, arena_.allocate(program_.variable_types[variable].nbytes())};
    }
    return place;
  }

  // Frees what equation `index` reads or defines last.
  void release_dead(size_t index) {
    const Equation& equation = program_.equations[index];
    const auto release = [&](uint32_t variable) {
      const uint32_t representative = root(variable);
      Place& place = places_[representative];
      if (place.kind != Place::Kind::kArena || last_use_[representative] != index) return;
      arena_.release(place.index, program_.variable_types[representative].nbytes());
      place = {};
      last_use_[representative] = kNever;  // released once
    };
    for (const Atom atom : equation.inputs) {
      if (atom.is_variable()) release(atom.index);
    }
    std::ranges::for_each(equation.outputs, release);
  }

  // ---- instructions ----

  void plan_equation(size_t index) {
    const Equation& equation = program_.equations[index];
    const std::string_view name = equation.primitive->name;
    if (name == "ffi_call") {
      plan_foreign_call(index);
    } else if (name == "create_token") {
      // Nothing to do: a token has no bytes.
    } else if (name == "reshape" && shares_[equation.outputs[0]] != equation.outputs[0]) {
      // Nothing to do: the result is the operand's memory.
    } else {
      plan_kernel(equation, index);
    }
    release_dead(index);
  }

  void plan_kernel(const Equation& equation, size_t index) {
    const KernelFactory factory = find_kernel(equation.primitive->name);
    std::vector<ShapeDtype> inputs, outputs;
    for (const Atom atom : equation.inputs) inputs.push_back(program_.type_of(atom));
    for (const uint32_t output : equation.outputs) {
      outputs.push_back(program_.variable_types[output]);
    }
    if (!equation.primitive->never_run.empty()) {
      throw TypeError(std::string(equation.primitive->never_run));
    }
    Kernel kernel = factory ? factory(inputs, outputs, equation.params.get()) : Kernel();
    if (!kernel.run) {
      std::string types;
      for (const ShapeDtype type : inputs) types += (types.empty() ? "" : ", ") + type.to_string();
      throw Error(ErrorCode::kUnimplemented,
                  fmt::format("{}: the native engine has no kernel for operands ({})",
                              equation.primitive->name, types));
    }
    std::vector<Place> operands;
    for (const Atom atom : equation.inputs) operands.push_back(place_of(atom));
    if (kernel.can_run_in_place && outputs.size() == 1) take_over_operand(equation, index);
    for (const uint32_t output : equation.outputs) operands.push_back(define(output));
    add_kernel(std::move(kernel), operands);
  }

  // Lets an elementwise result lie where an operand that dies here lay.
  void take_over_operand(const Equation& equation, size_t index) {
    const uint32_t output = equation.outputs[0];
    if (places_[root(output)].kind != Place::Kind::kNone) return;
    for (const Atom atom : equation.inputs) {
      if (!atom.is_variable()) continue;
      const uint32_t operand = root(atom.index);
      const Place place = places_[operand];
      if (place.kind != Place::Kind::kArena || last_use_[operand] != index ||
          // A scalar is read for every element, so that it may not be written over, however many
          // bytes it has.
          program_.type_of(atom).size() != program_.variable_types[output].size() ||
          program_.variable_types[operand].nbytes() != program_.variable_types[output].nbytes()) {
        continue;
      }
      places_[root(output)] = place;
      last_use_[operand] = kNever;  // its memory lives on as the result's
      places_[operand] = {};
      return;
    }
  }

  void add_kernel(Kernel kernel, std::span<const Place> operands) {
    Instruction instruction{Instruction::Kind::kKernel};
    instruction.first_operand = static_cast<uint32_t>(plan_->num_operands);
    instruction.run = kernel.run;
    instruction.data = kernel.data.get();
    for (const Place place : operands) {
      plan_->pointers.push_back(
          {.index = static_cast<uint32_t>(plan_->num_operands++), .place = place});
    }
    plan_->scratch_bytes = std::max(plan_->scratch_bytes, kernel.scratch_bytes);
    plan_->kernels.push_back(std::move(kernel));
    plan_->instructions.push_back(instruction);
  }

  // A copy of an array from one layout to another.
  void add_copy(ShapeDtype type, Place from, const MajorToMinor& from_layout, Place to,
                const MajorToMinor& to_layout) {
    const auto strides = [&](const MajorToMinor& layout) {
      return strides_of(type.shape(), layout ? Layout{*layout} : row_major(type.rank()));
    };
    Kernel kernel;
    kernel.data = std::make_shared<const StridedCopy>(byte_width(type.dtype()), type.shape(),
                                                      strides(from_layout), strides(to_layout));
    kernel.run = [](const KernelCall& call) {
      static_cast<const StridedCopy*>(call.data)->run(call.operands[0], call.operands[1]);
    };
    const Place operands[] = {from, to};
    add_kernel(std::move(kernel), operands);
  }

  void plan_foreign_call(size_t index) {
    const Equation& equation = program_.equations[index];
    const auto& params = params_as<FfiCallParams>(equation.params.get());
    ForeignCallSpec spec;
    spec.target = find(params);
    for (const Atom atom : equation.inputs) spec.arguments.push_back(program_.type_of(atom));
    spec.results = params.result_types;
    spec.attributes = params.attributes;
    spec.custom_call_api_version = static_cast<int>(params.custom_call_api_version);
    spec.legacy_backend_config = params.legacy_backend_config.value_or("");

    std::vector<Place> arguments, results;
    std::vector<std::pair<Place, size_t>> temporaries;  // and their bytes
    for (size_t i = 0; i < equation.inputs.size(); ++i) {
      arguments.push_back(argument_place(equation.inputs[i], params.input_layouts[i], temporaries));
    }
    for (size_t i = 0; i < equation.outputs.size(); ++i) {
      const ShapeDtype type = params.result_types[i];
      const Place place = define(equation.outputs[i]);
      if (is_row_major_in_memory(type, params.output_layouts[i])) {
        results.push_back(place);
      } else if (const auto input = aliased_input(params, i)) {
        // The operand has been copied into its layout already: that copy may be written over.
        results.push_back(arguments[*input]);
      } else {
        results.push_back(add_temporary(type.nbytes(), temporaries));
      }
    }
    for (const int64_t output : copies_alias_[index]) {
      const ShapeDtype type = params.result_types[output];
      if (!is_row_major_in_memory(type, params.output_layouts[output])) continue;
      Place& argument = arguments[*aliased_input(params, static_cast<size_t>(output))];
      add_copy(type, argument, {}, results[output], {});
      ++plan_->statistics.alias_copies;
      argument = results[output];
    }
    add_call(std::move(spec), arguments, results);
    for (size_t i = 0; i < results.size(); ++i) {
      const ShapeDtype type = params.result_types[i];
      if (is_row_major_in_memory(type, params.output_layouts[i])) continue;
      add_copy(type, results[i], params.output_layouts[i], define(equation.outputs[i]), {});
      ++plan_->statistics.layout_copies;
    }
    for (const auto& [place, nbytes] : temporaries) arena_.release(place.index, nbytes);
  }

  static std::shared_ptr<const Target> find(const FfiCallParams& params) {
    try {
      return find_target(params.target_name, "cpu",
                         static_cast<int>(params.custom_call_api_version));
    } catch (const FfiError&) {
      throw;
    } catch (const Error& error) {
      // The registry's text names the target already.
      FfiError(error.code(), params.target_name, error.message())
          .raise_with(fmt::format("{}: {}", error_code_name(error.code()), error.message()));
      throw;  // not reached; raise_with does not return
    }
  }

  Place add_temporary(size_t nbytes, std::vector<std::pair<Place, size_t>>& temporaries) {
    const Place place{Place::Kind::kArena, arena_.allocate(nbytes)};
    temporaries.emplace_back(place, nbytes);
    return place;
  }

  Place argument_place(Atom atom, const MajorToMinor& layout,
                       std::vector<std::pair<Place, size_t>>& temporaries) {
    const ShapeDtype type = program_.type_of(atom);
    const Place place = place_of(atom);
    if (is_row_major_in_memory(type, layout)) return place;
    const Place temporary = add_temporary(type.nbytes(), temporaries);
    add_copy(type, place, {}, temporary, layout);
    ++plan_->statistics.layout_copies;
    return temporary;
  }

  // The operand whose memory this result takes over.
  static std::optional<int64_t> aliased_input(const FfiCallParams& params, size_t output) {
    for (const auto& [input, aliased] : params.input_output_aliases) {
      if (aliased == static_cast<int64_t>(output)) return input;
    }
    return std::nullopt;
  }

  void add_call(ForeignCallSpec spec, std::span<const Place> arguments,
                std::span<const Place> results) {
    Instruction instruction{Instruction::Kind::kForeignCall};
    instruction.call = static_cast<uint32_t>(plan_->calls.size());
    plan_->calls.push_back(std::make_unique<const ForeignCall>(std::move(spec)));
    plan_->has_execution_stages |= plan_->calls.back()->has_execution_stages();
    for (size_t i = 0; i < arguments.size(); ++i) {
      plan_->pointers.push_back({.call = instruction.call,
                                 .index = static_cast<uint32_t>(i),
                                 .is_result = false,
                                 .place = arguments[i]});
    }
    for (size_t i = 0; i < results.size(); ++i) {
      plan_->pointers.push_back({.call = instruction.call,
                                 .index = static_cast<uint32_t>(i),
                                 .is_result = true,
                                 .place = results[i]});
    }
    plan_->instructions.push_back(instruction);
  }

  // ---- the end ----

  void place_outputs() {
    for (const Atom atom : program_.outputs) {
      plan_->outputs.push_back({program_.type_of(atom).nbytes(), place_of(atom)});
    }
  }

  void finish() {
    plan_->arena_bytes = arena_.size();
    for (const PointerUse& use : plan_->pointers) {
      if (use.place.kind == Place::Kind::kInput || use.place.kind == Place::Kind::kOutput) {
        plan_->run_pointers.push_back(use);
      }
    }
  }

  const Program& program_;
  std::unique_ptr<Plan> plan_;
  Arena arena_;
  std::vector<uint32_t> shares_;                    // by variable; itself at a root
  std::vector<size_t> last_use_;                    // by root: the last equation that needs it
  std::vector<bool> is_ours_;                       // defined by an equation
  std::vector<std::vector<int64_t>> copies_alias_;  // by equation: aliased results that need a copy
  std::vector<Place> places_;                       // by root
  std::vector<Place> literal_places_;
};

}  // namespace

std::unique_ptr<const Plan> make_plan(ProgramPtr program) {
  return Planner(std::move(program)).run();
}

}  // namespace farcall::native
