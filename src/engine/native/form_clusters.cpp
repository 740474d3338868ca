#include "engine/native/form_clusters.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/primitives/cluster.h>
#include <farcall/primitives/primitives.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/structural.h>
#include <farcall/program/walk.h>

#include "engine/native/cluster_domain.h"
#include "engine/native/kernel.h"
#include "engine/native/kernels/movement/rows.h"
#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
// Bounds the cost of planning a cluster and the memory of its tiles.
constexpr size_t kMaxMembers = 512;

// Equations that may become a cluster. A group is open while no equation outside of it reads its
// results, so that all of it can be computed at the position of its last equation.
struct Group {
  Domain domain;
  std::vector<uint32_t> members;   // equations
  std::vector<uint32_t> left_out;  // views and broadcasts of results of the cluster
  uint32_t closed_by = kNone;      // the equation that closed it; kNone while it is open
  uint32_t merged_into = kNone;

  bool is_open() const { return closed_by == kNone; }
};

class Former {
 public:
  // `explains`: record reasons for fusion().
  explicit Former(const Program& program, bool explains = false)
      : program_(program),
        explains_(explains),
        roles_(program.equations.size(), Role::kNone),
        group_of_(program.variable_types.size(), kNone),
        extents_(program.variable_types.size()),
        num_reads_(program.variable_types.size(), 0),
        last_reader_(program.variable_types.size(), kNone),
        parts_(program.variable_types.size(), kNone),
        reads_inside_(program.variable_types.size(), 0),
        inner_(program.variable_types.size(), kNone) {
    const auto count = [&](Atom atom, uint32_t reader) {
      if (!atom.is_variable()) return;
      ++num_reads_[atom.index];
      last_reader_[atom.index] = reader;
    };
    for (uint32_t i = 0; i < program.equations.size(); ++i) {
      for (const Atom atom : program.equations[i].inputs) count(atom, i);
    }
    for (const Atom atom : program.outputs) count(atom, kNone);
  }

  // Returns null if there are no clusters.
  ProgramPtr run() {
    form_groups();
    return has_clusters_ ? rewritten() : nullptr;
  }

  Fusion fusion() {
    form_groups();
    Fusion fusion;
    for (const Group& group : groups_) {
      if (group.members.empty()) continue;
      Fusion::Cluster cluster{{}, program_.equations[group.members.front()].where};
      for (const uint32_t member : group.members) {
        cluster.operations.emplace_back(program_.equations[member].primitive->name);
      }
      ++fusion.clusters;
      fusion.equations += std::ssize(group.members);
      fusion.groups.push_back(std::move(cluster));
    }
    for (auto& [reader, operand, why] : refusals_) {
      const Equation& equation = program_.equations[reader];
      fusion.breaks.push_back({std::string(equation.primitive->name),
                               std::string(program_.equations[operand].primitive->name),
                               std::move(why), equation.where});
    }
    return fusion;
  }

 private:
  // An equation that reads the result of another one but is not in its group.
  struct Refusal {
    uint32_t reader, operand;  // equations
    std::string why;
  };

  void form_groups() {
    for (uint32_t i = 0; i < program_.equations.size(); ++i) {
      poll_interrupt(i);
      place(i);
    }
    for (Group& group : groups_) {
      if (group.merged_into == kNone) close_up(group);
    }
  }

  // The extents of values in the groups that an equation may join.
  class InGroups final : public Extents {
   public:
    InGroups(const Former& former, std::span<const uint32_t> groups)
        : former_(former), groups_(groups) {}
    std::optional<Extent> of(uint32_t variable) const override {
      const uint32_t group = former_.group_of(variable);
      if (std::ranges::find(groups_, group) == groups_.end()) return std::nullopt;
      return former_.extents_[variable];
    }

   private:
    const Former& former_;
    std::span<const uint32_t> groups_;
  };

  uint32_t group_of(uint32_t variable) const {
    uint32_t group = group_of_[variable];
    while (group != kNone && groups_[group].merged_into != kNone) {
      group = groups_[group].merged_into;
    }
    return group;
  }

  // ---- which equations go together

  // Computations and reads cannot be moved past such an equation.
  bool is_boundary(const Equation& equation) const {
    const Primitive& primitive = *equation.primitive;
    return has_effect(equation.effects) || has_regions(equation) || primitive.is_foreign() ||
           primitive.is_callback() ||
           trait_of_kernel(primitive.name) == KernelTrait::kUpdatesFirstInput;
  }

  bool is_part(const Equation& slice) const {
    const uint32_t output = slice.outputs[0];
    return try_params<SliceParams>(slice.params.get()) && num_reads_[output] == 1 &&
           last_reader_[output] != kNone &&
           may_be_part(program_, slice, program_.equations[last_reader_[output]]);
  }

  void place(uint32_t index) {
    const Equation& equation = program_.equations[index];
    const Role role = roles_[index] = role_of(program_, equation);
    if (role == Role::kNone && is_boundary(equation)) {
      for (; first_open_ < groups_.size(); ++first_open_) close(first_open_, index);
      first_movable_ = index + 1;
      return;
    }
    std::vector<uint32_t>& read = open_groups_read_;
    read.clear();
    for (const Atom atom : equation.inputs) {
      if (!atom.is_variable()) continue;
      const uint32_t group = group_of(atom.index);
      if (group != kNone && groups_[group].is_open() &&
          std::ranges::find(read, group) == read.end()) {
        read.push_back(group);
      }
    }
    if (is_part(equation)) {
      roles_[index] = Role::kPart;
      parts_[equation.outputs[0]] = index;
      return close(read, index);
    }
    if (explains_) [[unlikely]]
      return place_and_explain(index, role, read);
    join_or_begin(index, role, read);
  }

  // `read` changes.
  void join_or_begin(uint32_t index, Role role, std::vector<uint32_t>& read) {
    if (role == Role::kNone) return close(read, index);
    if (join(index, role, read)) return;
    // Tries single groups, the largest first.
    std::ranges::sort(read, std::greater<>(),
                      [&](uint32_t g) { return groups_[g].members.size(); });
    for (size_t i = 0; i < read.size() && read.size() > 1; ++i) {
      if (!join(index, role, std::span(read).subspan(i, 1))) continue;
      read.erase(read.begin() + static_cast<int64_t>(i));
      return close(read, index);
    }
    close(read, index);
    groups_.push_back({});
    const auto added = static_cast<uint32_t>(groups_.size() - 1);
    if (!join(index, role, {&added, 1})) groups_.pop_back();
  }

  void close(uint32_t group, uint32_t by) {
    if (groups_[group].is_open()) groups_[group].closed_by = by;
  }
  void close(std::span<const uint32_t> groups, uint32_t by) {
    for (const uint32_t group : groups) close(group, by);
  }

  // ---- why equations do not go together

  std::string_view name_of(uint32_t equation) const {
    return program_.equations[equation].primitive->name;
  }
  ShapeDtype result_type(uint32_t equation) const {
    return program_.variable_types[program_.equations[equation].outputs[0]];
  }

  void place_and_explain(uint32_t index, Role role, std::vector<uint32_t>& read) {
    struct Operand {
      uint32_t maker, group;
      std::string why;
    };
    std::vector<Operand> operands;
    for (const Atom atom : program_.equations[index].inputs) {
      const uint32_t group = atom.is_variable() ? group_of(atom.index) : kNone;
      if (group == kNone) continue;
      const std::vector<uint32_t>& members = groups_[group].members;
      const auto maker = std::ranges::find_if(members, [&](uint32_t member) {
        return program_.equations[member].outputs[0] == atom.index;
      });
      operands.push_back({*maker, group, why_apart(index, role, group)});
    }
    join_or_begin(index, role, read);
    const uint32_t own =
        role == Role::kNone ? kNone : group_of(program_.equations[index].outputs[0]);
    for (Operand& operand : operands) {
      uint32_t group = operand.group;
      while (groups_[group].merged_into != kNone) group = groups_[group].merged_into;
      // Views cost nothing, in a cluster or not.
      if (group == own || operand.why.empty() || role == Role::kView) continue;
      refusals_.push_back({index, operand.maker, std::move(operand.why)});
    }
  }

  // The reason why the equation cannot join this group, regardless of other groups. Empty for
  // operations that are never in clusters, such as products and sorts.
  std::string why_apart(uint32_t index, Role role, uint32_t group) const {
    const Group& other = groups_[group];
    const Equation& equation = program_.equations[index];
    if (role == Role::kNone) {
      if (try_params<ReduceParams>(equation.params.get())) {
        return "a cluster reduces along the first or the last dimensions only";
      }
      return find_elementwise(equation.primitive->name)
                 ? fmt::format("no kernel computes it in tiles for {}",
                               result_type(index).to_string())
                 : "";
    }
    if (!other.is_open()) {
      const Equation& closing = program_.equations[other.closed_by];
      const char* how = is_boundary(closing) ? "{} stands between them"
                        : roles_[other.closed_by] == Role::kColumnReduction
                            ? "{} needs all rows of that cluster, which ends it"
                            : "{} reads a value of that cluster before, which ends it";
      return fmt::format(fmt::runtime(how), closing.primitive->name);
    }
    if (other.members.size() >= kMaxMembers) {
      return fmt::format("a cluster has at most {} equations", kMaxMembers);
    }
    Domain domain = other.domain;
    if (!extent_in(program_, equation, role, InGroups(*this, {&group, 1}), domain)) {
      return misfit(program_, equation, role, other.domain);
    }
    return "it joined the cluster of another operand, which has another shape";
  }

  // Merges the groups and adds the equation. Returns false if it does not fit.
  bool join(uint32_t index, Role role, std::span<const uint32_t> groups) {
    if (groups.empty()) return false;
    Domain domain = groups_[groups[0]].domain;
    size_t num_members = 1, largest = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!unite(domain, groups_[groups[i]].domain)) return false;
      num_members += groups_[groups[i]].members.size();
      if (groups_[groups[i]].members.size() > groups_[groups[largest]].members.size()) largest = i;
    }
    if (num_members > kMaxMembers) return false;
    const Equation& equation = program_.equations[index];
    const std::optional<Extent> extent =
        extent_in(program_, equation, role, InGroups(*this, groups), domain);
    if (!extent) return false;
    Group& into = groups_[groups[largest]];
    for (size_t i = 0; i < groups.size(); ++i) {
      if (i == largest) continue;
      Group& other = groups_[groups[i]];
      into.members.insert(into.members.end(), other.members.begin(), other.members.end());
      other.members.clear();
      other.merged_into = groups[largest];
    }
    into.domain = domain;
    if (role == Role::kJoin) add_parts(equation, into);
    into.members.push_back(index);
    if (role == Role::kColumnReduction) close(groups[largest], index);
    group_of_[equation.outputs[0]] = groups[largest];
    extents_[equation.outputs[0]] = *extent;
    return true;
  }

  void add_parts(const Equation& join, Group& into) const {
    for (const Atom atom : join.inputs) {
      const uint32_t part = parts_[atom.index];
      if (part != kNone && part >= first_movable_) into.members.push_back(part);
    }
  }

  // ---- what becomes of a group

  // Removes views and broadcasts that no member reads, and dissolves a group that saves nothing.
  void close_up(Group& group) {
    std::ranges::sort(group.members);
    std::vector<uint32_t> kept, left_out;
    size_t num_computed = 0, num_repeated = 0;
    for (size_t i = group.members.size(); i-- > 0;) {
      const uint32_t member = group.members[i];
      const Equation& equation = program_.equations[member];
      const bool computes = roles_[member] == Role::kOperation || roles_[member] == Role::kTake ||
                            roles_[member] == Role::kReduction ||
                            roles_[member] == Role::kColumnReduction;
      if (!computes && reads_inside_[equation.outputs[0]] == 0) {
        left_out.push_back(member);
        continue;
      }
      for (const Atom atom : equation.inputs) {
        if (atom.is_variable()) ++reads_inside_[atom.index];
      }
      if (roles_[member] != Role::kView) ++(computes ? num_computed : num_repeated);
      kept.push_back(member);
    }
    const bool saves = num_computed > 0 && num_computed + num_repeated >= 2;
    group.members.clear();
    if (saves) {
      group.members.assign(kept.rbegin(), kept.rend());
      group.left_out.assign(left_out.rbegin(), left_out.rend());
      for (const uint32_t member : kept) {
        const uint32_t output = program_.equations[member].outputs[0];
        num_reads_[output] -= reads_inside_[output];
      }
      has_clusters_ = true;
    }
    for (const uint32_t member : kept) {
      for (const Atom atom : program_.equations[member].inputs) {
        if (atom.is_variable()) reads_inside_[atom.index] = 0;
      }
    }
  }

  // ---- the new program

  ProgramPtr rewritten() {
    std::vector<const Group*> cluster_of(program_.equations.size(), nullptr);
    std::vector<bool> is_added(program_.equations.size(), false);
    for (const Group& group : groups_) {
      for (const uint32_t member : group.members) cluster_of[member] = &group;
    }
    for (const Group& group : groups_) {
      for (const uint32_t left_out : group.left_out) {
        if (left_out < group.members.back()) is_added[left_out] = true;
      }
    }
    auto result = std::make_shared<Program>(without_equations(program_));
    for (uint32_t i = 0; i < program_.equations.size(); ++i) {
      if (is_added[i]) continue;
      const Group* group = cluster_of[i];
      if (!group) {
        result->equations.push_back(program_.equations[i]);
      } else if (group->members.back() == i) {
        result->equations.push_back(cluster(*group));
        for (const uint32_t left_out : group->left_out) {
          if (left_out < i) result->equations.push_back(program_.equations[left_out]);
        }
      }
    }
    return result;
  }

  Equation cluster(const Group& group) {
    auto body = std::make_shared<Program>();
    body->equations.reserve(group.members.size());
    body->variable_types.reserve(2 * group.members.size());
    Equation made{.primitive = &kCluster, .where = program_.equations[group.members.front()].where};
    std::unordered_map<uint32_t, uint32_t> literals;
    std::vector<uint32_t> outer_of;  // by variable of the body
    outer_of.reserve(2 * group.members.size());
    const auto variable = [&](uint32_t outer) {
      body->variable_types.push_back(program_.variable_types[outer]);
      inner_[outer] = static_cast<uint32_t>(outer_of.size());
      outer_of.push_back(outer);
      return inner_[outer];
    };
    const auto inner = [&](Atom atom) {
      if (!atom.is_variable()) {
        const auto [found, is_new] = literals.try_emplace(atom.index, body->literals.size());
        if (is_new) body->literals.push_back(program_.literals[atom.index]);
        return Atom::literal(found->second);
      }
      if (inner_[atom.index] != kNone) return Atom::variable(inner_[atom.index]);
      made.inputs.push_back(atom);
      body->inputs.push_back(variable(atom.index));
      return Atom::variable(body->inputs.back());
    };
    for (const uint32_t member : group.members) {
      Equation copy = program_.equations[member];
      for (Atom& atom : copy.inputs) atom = inner(atom);
      copy.outputs = {variable(copy.outputs[0])};
      body->equations.push_back(std::move(copy));
    }
    for (const uint32_t member : group.members) {
      const uint32_t output = program_.equations[member].outputs[0];
      // All remaining reads are outside of the cluster.
      if (num_reads_[output] == 0) continue;
      made.outputs.push_back(output);
      body->outputs.push_back(Atom::variable(inner_[output]));
    }
    for (const uint32_t outer : outer_of) inner_[outer] = kNone;
    made.params = make_params(ClusterParams{std::move(body)});
    return made;
  }

  const Program& program_;
  bool explains_;
  std::vector<Refusal> refusals_;      // only if explains_
  std::vector<Role> roles_;            // by equation
  std::vector<uint32_t> group_of_;     // by variable
  std::vector<Extent> extents_;        // by variable, in its group
  std::vector<int64_t> num_reads_;     // by variable; finally those outside of its cluster
  std::vector<uint32_t> last_reader_;  // by variable; kNone for results of the program
  std::vector<uint32_t> parts_;        // by variable: the equation of a kPart
  // By variable; only while one group is closed up, and while its cluster is made.
  std::vector<int64_t> reads_inside_;
  std::vector<uint32_t> inner_;  // its number in the cluster
  std::vector<Group> groups_;
  std::vector<uint32_t> open_groups_read_;  // by the equation that is placed
  size_t first_open_ = 0;                   // groups before it are closed
  uint32_t first_movable_ = 0;              // equations before it cannot move to the current one
  bool has_clusters_ = false;
};

}  // namespace

ProgramPtr form_clusters(ProgramPtr program) {
  program = pass_nested(std::move(program), form_clusters);
  if (program->equations.size() < 2) return program;
  ProgramPtr changed = Former(*program).run();
  return changed ? changed : program;
}

Fusion explain_clusters(const Program& program) {
  Fusion fusion = Former(program, /*explains=*/true).fusion();
  for (const Equation& equation : program.equations) {
    if (!has_regions(equation)) continue;
    for (const NamedProgram& nested : nested_programs(equation)) {
      fusion += explain_clusters(*nested.program);
    }
  }
  return fusion;
}

}  // namespace farcall::native
