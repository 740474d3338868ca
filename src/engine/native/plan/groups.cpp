#include "engine/native/plan/groups.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/sizes.h>
#include <farcall/ffi/registry.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/cost.h>
#include <farcall/program/walk.h>

#include "engine/native/kernel.h"
#include "engine/native/parallel.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

// ---- which equations run long ----

// What takes longer is worth another thread, which may have to be woken.
constexpr int64_t kLongNanoseconds = 200'000;
// What a while is taken to run: its steps are not known.
constexpr int64_t kStepsOfWhile = 64;

// A low estimate of the time of an equation.
int64_t nanoseconds(const Program& program, const Equation& equation) {
  constexpr int64_t kFlops = 4, kBytes = 16;  // per nanosecond
  Cost cost = program.cost(equation);
  if (equation.primitive->kind == PrimitiveKind::kWhile) cost = kStepsOfWhile * cost;
  return std::max(cost.flops / kFlops, cost.bytes / kBytes);
}

// Whether equations of a loop's step stay on the thread, and do nothing that has to be in order.
bool stays_on_thread(const Program& program) {
  if (!program.axis_names.empty() || program.holds_callback) return false;
  bool stays = true;
  for_each_equation(program, [&](const Program& owner, const Equation& equation, size_t) {
    const Primitive& primitive = *equation.primitive;
    stays &= !has_effect(equation.effects) && !primitive.is_foreign() &&
             !try_params<ShardMapParams>(equation.params.get());
    const auto is_small = [&](ShapeDtype type) {
      return type.is_token() || type.size() < 2 * kThreadElements;
    };
    for (const Atom atom : equation.inputs) stays &= is_small(owner.type_of(atom));
    for (const uint32_t output : equation.outputs) stays &= is_small(owner.variable_types[output]);
    if (primitive.kind == PrimitiveKind::kProduct) {
      stays &= owner.cost(equation).flops < 2 * kThreadCost;
    }
  });
  return stays;
}

}  // namespace

bool runs_long(const Program& program, const Equation& equation) {
  const Primitive& primitive = *equation.primitive;
  if (primitive.is_loop()) {
    return nanoseconds(program, equation) >= kLongNanoseconds &&
           std::ranges::all_of(nested_programs(equation), [](const NamedProgram& nested) {
             return stays_on_thread(*nested.program);
           });
  }
  return trait_of_kernel(primitive.name) == KernelTrait::kOneThreadPerLane &&
         nanoseconds(program, equation) >= kLongNanoseconds;
}

namespace {

// ---- memory ----

// The bytes of the values that are live while equations run in a given order. Inputs and results of
// the program are not counted: they are always there. Values that share memory count separately.
class LiveBytes {
 public:
  explicit LiveBytes(const Program& program)
      : program_(program), reads_left_(program.variable_types.size(), kAlways) {
    for (const Equation& equation : program.equations) {
      for (const uint32_t output : equation.outputs) reads_left_[output] = 0;
    }
    for (const Equation& equation : program.equations) {
      for (const Atom atom : equation.inputs) {
        if (is_counted(atom)) ++reads_left_[atom.index];
      }
    }
    for (const Atom atom : program.outputs) {
      if (atom.is_variable()) reads_left_[atom.index] = kAlways;
    }
  }

  // Runs equations at the same time. Returns the bytes that are live meanwhile.
  size_t run(std::span<const size_t> equations) {
    for (const size_t i : equations) {
      for (const uint32_t output : program_.equations[i].outputs) {
        if (reads_left_[output] != kAlways) bytes_ = memory_sum(bytes_, size_of(output));
      }
    }
    const size_t peak = bytes_;
    for (const size_t i : equations) end(program_.equations[i]);
    return peak;
  }
  size_t run_each(std::span<const size_t> equations) {
    size_t peak = 0;
    for (const size_t& i : equations) peak = std::max(peak, run({&i, 1}));
    return peak;
  }

 private:
  static constexpr int64_t kAlways = -1;

  bool is_counted(Atom atom) const {
    return atom.is_variable() && reads_left_[atom.index] != kAlways;
  }
  size_t size_of(uint32_t variable) const { return program_.variable_types[variable].nbytes(); }
  void end(const Equation& equation) {
    for (const Atom atom : equation.inputs) {
      if (is_counted(atom) && --reads_left_[atom.index] == 0) bytes_ -= size_of(atom.index);
    }
    for (const uint32_t output : equation.outputs) {
      if (reads_left_[output] == 0) bytes_ -= size_of(output);
    }
  }

  const Program& program_;
  std::vector<int64_t> reads_left_;  // by variable
  size_t bytes_ = 0;
};

// The bytes that may be live in a group of the program.
size_t most_live_bytes(const Program& program) {
  constexpr size_t kFree = size_t{4} << 20;
  std::vector<size_t> order(program.equations.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const size_t peak = LiveBytes(program).run_each(order);
  size_t always = 0;
  for (const uint32_t input : program.inputs) {
    always = memory_sum(always, program.variable_types[input].nbytes());
  }
  for (const Atom atom : program.outputs) {
    always = memory_sum(always, program.type_of(atom).nbytes());
  }
  return memory_sum(peak, std::max(kFree, memory_sum(peak, always) / 4));
}

// ---- forming groups ----

class Grouping {
 public:
  Grouping(const Program& program, size_t most, RunsLong runs_long)
      : program_(program),
        most_(most),
        live_(program),
        most_live_(most_live_bytes(program)),
        waits_(program.variable_types.size(), false) {
    for (size_t i = 0; i < program.equations.size(); ++i) {
      order_.push_back(i);
      is_long_.push_back(runs_long(program, program.equations[i]) && !is_fixed(i));
    }
  }

  std::vector<EquationGroup> form() {
    std::vector<EquationGroup> groups;
    for (size_t at = 0; at < order_.size();) {
      poll_interrupt(at);
      EquationGroup group;
      if (is_long_[order_[at]]) group = group_at(at);
      if (group.end == 0) {
        live_.run({&order_[at], 1});
        ++at;
        continue;
      }
      live_.run_each(std::span(order_).subspan(at, group.begin - at));
      live_.run(std::span(order_).subspan(group.begin, group.end - group.begin));
      at = group.end;
      groups.push_back(group);
    }
    return groups;
  }

  const std::vector<size_t>& order() const { return order_; }

 private:
  // How far apart equations may be: bounds the time to look for them.
  static constexpr size_t kWindow = 256;

  // The equations from the first one of a group to its last one: those that come before the group,
  // the group, and those that wait for its results.
  struct Parts {
    std::vector<size_t> before, members, after;
  };

  bool is_fixed(size_t i) const {
    const Equation& equation = program_.equations[i];
    const Primitive& primitive = *equation.primitive;
    const Params* params = equation.params.get();
    if (primitive.axis_names && !primitive.axis_names(params).empty()) return true;
    if (primitive.is_callback()) return true;
    if (primitive.is_foreign() && !is_host_function(primitive.foreign_target(params).name)) {
      return true;
    }
    return has_effect(equation.effects) || try_params<ShardMapParams>(params);
  }

  // The group that begins with the equation at this place of the order, which is changed; empty if
  // there is none.
  EquationGroup group_at(size_t at) {
    Parts parts, found;
    std::vector<uint32_t> marked;
    const auto mark = [&](size_t i) {
      for (const uint32_t output : program_.equations[i].outputs) {
        waits_[output] = true;
        marked.push_back(output);
      }
    };
    const size_t end = std::min(order_.size(), at + kWindow);
    size_t last = at;
    for (size_t place = at; place < end && parts.members.size() < most_; ++place) {
      const size_t i = order_[place];
      if (is_fixed(i)) break;
      const bool waits = std::ranges::any_of(program_.equations[i].inputs, [&](Atom atom) {
        return atom.is_variable() && waits_[atom.index];
      });
      const bool joins = !waits && is_long_[i];
      if (joins && place > at && !is_small_with(parts, i)) break;
      auto& part = joins ? parts.members : waits ? parts.after : parts.before;
      part.push_back(i);
      if (waits || joins) mark(i);
      if (!joins) continue;
      last = place;
      found = parts;
    }
    for (const uint32_t variable : marked) waits_[variable] = false;
    if (found.members.size() < 2) return {};
    auto to = order_.begin() + static_cast<std::ptrdiff_t>(at);
    for (const auto* part : {&found.before, &found.members, &found.after}) {
      to = std::ranges::copy(*part, to).out;
    }
    FARCALL_ASSERT(to == order_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    const size_t begin = at + found.before.size();
    return {begin, begin + found.members.size()};
  }

  // Whether the memory suffices for the group with another member.
  bool is_small_with(const Parts& parts, size_t member) const {
    LiveBytes live = live_;
    std::vector<size_t> members = parts.members;
    members.push_back(member);
    return std::max({live.run_each(parts.before), live.run(members), live.run_each(parts.after)}) <=
           most_live_;
  }

  const Program& program_;
  size_t most_;
  std::vector<size_t> order_;
  std::vector<bool> is_long_;  // by equation
  LiveBytes live_;             // before the equations that may still move
  size_t most_live_;
  std::vector<bool> waits_;  // by variable: it depends on the group that is being formed
};

}  // namespace

GroupedProgram group_equations(ProgramPtr program, RunsLong runs_long, size_t most) {
  const auto is_long = [&](const Equation& equation) { return runs_long(*program, equation); };
  if (program->equations.size() < 2 || std::ranges::count_if(program->equations, is_long) < 2) {
    return {std::move(program), {}};
  }
  // Asked for only here: it starts oneTBB.
  if (most == 0) most = static_cast<size_t>(num_threads_for(INT64_MAX));
  if (most < 2) return {std::move(program), {}};
  Grouping grouping(*program, most, runs_long);
  std::vector<EquationGroup> groups = grouping.form();
  if (groups.empty()) return {std::move(program), {}};
  const std::vector<size_t> order = grouping.order();
  Equations equations;
  for (const size_t i : order) equations.push_back(program->equations[i]);
  const std::shared_ptr<Program> changed = to_change(std::move(program));
  changed->equations = std::move(equations);
  return {changed, std::move(groups)};
}

}  // namespace farcall::native
