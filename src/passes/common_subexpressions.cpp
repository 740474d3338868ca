#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <farcall/core/interrupt.h>
#include <farcall/passes/passes.h>

#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall {
namespace {

using detail::mix;

// A hash table of numbered items: finds the first item equal to a given one.
class FirstEqual {
 public:
  explicit FirstEqual(size_t count) : slots_(std::bit_ceil(2 * count + 1)) {}

  // Returns the number of an equal item that was kept before; otherwise keeps `number` and returns
  // it.
  template <class IsEqual>
  uint32_t find_or_keep(size_t hash, uint32_t number, const IsEqual& is_equal) {
    for (size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[i];
      if (slot.number == kFree) {
        slot = {hash, number};
        return number;
      }
      if (slot.hash == hash && is_equal(slot.number)) return slot.number;
    }
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    size_t hash = 0;
    uint32_t number = kFree;
  };
  std::vector<Slot, KeptMemory<Slot>> slots_;
};

size_t hash_of_bytes(const void* data, size_t size) {
  return std::hash<std::string_view>()({static_cast<const char*>(data), size});
}

// The address on the host, or that of the device buffer.
size_t address_of(const Storage& storage) {
  return storage.data() ? reinterpret_cast<uintptr_t>(storage.data())
                        : reinterpret_cast<uintptr_t>(storage.buffer());
}

class Merger {
 public:
  explicit Merger(ProgramPtr program) : held_(std::move(program)), program_(*held_) {}

  // May be called once.
  ProgramPtr run() {
    number_literals();
    const size_t count = program_.variable_types.size();
    for (uint32_t i = 0; i < count; ++i) stands_for_.push_back(i);
    is_output_.resize(count, false);
    for (const Atom atom : program_.outputs) {
      if (atom.is_variable()) is_output_[atom.index] = true;
    }
    of_calls_ = values_of_calls(program_);
    merge_constants();
    merge_equations();
    return num_merged_ == 0 ? held_ : make();
  }

 private:
  // Larger constants are compared by address only.
  static constexpr size_t kMaxCompared = 256;

  void number_literals() {
    FirstEqual literals(program_.literals.size());
    for (uint32_t i = 0; i < program_.literals.size(); ++i) {
      const Literal& literal = program_.literals[i];
      size_t hash = literal.type.hash();
      mix(hash, hash_of_bytes(literal.bytes.data(), literal.bytes.size()));
      literals_.push_back(literals.find_or_keep(
          hash, i, [&](uint32_t other) { return program_.literals[other] == literal; }));
    }
  }

  void merge_constants() {
    const auto& constants = program_.constants;
    FirstEqual known(constants.size());
    const auto is_compared = [](const Storage& storage) {
      return storage.data() && storage.is_owned() && storage.nbytes() <= kMaxCompared;
    };
    for (uint32_t i = 0; i < constants.size(); ++i) {
      const Storage& storage = constants[i].storage;
      const ShapeDtype type = program_.variable_types[constants[i].variable];
      if (storage.nbytes() == 0) continue;
      size_t hash = type.hash();
      mix(hash, is_compared(storage) ? hash_of_bytes(storage.data(), storage.nbytes())
                                     : address_of(storage));
      const uint32_t first = known.find_or_keep(hash, i, [&](uint32_t other) {
        const Storage& with = constants[other].storage;
        return program_.variable_types[constants[other].variable] == type &&
               (with.is_same_memory(storage) ||
                (is_compared(with) && is_compared(storage) &&
                 std::memcmp(with.data(), storage.data(), storage.nbytes()) == 0));
      });
      const uint32_t variable = constants[i].variable, with = constants[first].variable;
      if (first != i && !(is_output_[variable] && is_output_[with])) merge(variable, with);
    }
  }

  void merge_equations() {
    const auto& equations = program_.equations;
    FirstEqual known(equations.size());
    for (uint32_t i = 0; i < equations.size(); ++i) {
      poll_interrupt(i);
      const Equation& equation = equations[i];
      if (!may_merge(equation)) continue;
      size_t hash = reinterpret_cast<uintptr_t>(equation.primitive);
      if (equation.params) mix(hash, params_hash(equation.params.get()));
      for (const Atom atom : equation.inputs) {
        const Atom read = resolved(atom);
        mix(hash, 2 * size_t{read.index} + read.is_variable());
      }
      const uint32_t first = known.find_or_keep(
          hash, i, [&](uint32_t other) { return is_equal(equations[other], equation); });
      if (first == i || !may_replace(equation.outputs, equations[first].outputs)) continue;
      for (size_t k = 0; k < equation.outputs.size(); ++k) {
        merge(equation.outputs[k], equations[first].outputs[k]);
      }
    }
  }

  bool may_merge(const Equation& equation) const {
    return !has_effect(equation.effects) && equation.primitive->kind != PrimitiveKind::kBarrier &&
           !equation.outputs.empty() && !runs_foreign_code(equation) &&
           !program_.variable_types[equation.outputs[0]].is_token();
  }

  bool is_equal(const Equation& a, const Equation& b) const {
    const auto same_atom = [&](Atom x, Atom y) { return resolved(x) == resolved(y); };
    const auto same_type = [&](uint32_t x, uint32_t y) {
      return program_.variable_types[x] == program_.variable_types[y];
    };
    return a.primitive == b.primitive && std::ranges::equal(a.inputs, b.inputs, same_atom) &&
           std::ranges::equal(a.outputs, b.outputs, same_type) &&
           params_equal(a.params.get(), b.params.get());
  }

  bool may_replace(const std::vector<uint32_t>& variables,
                   const std::vector<uint32_t>& first) const {
    for (size_t i = 0; i < variables.size(); ++i) {
      if ((is_output_[variables[i]] && is_output_[first[i]]) || of_calls_[variables[i]] ||
          of_calls_[first[i]]) {
        return false;
      }
    }
    return true;
  }

  void merge(uint32_t variable, uint32_t first) {
    stands_for_[variable] = first;
    if (is_output_[variable]) is_output_[first] = true;
    ++num_merged_;
  }

  Atom resolved(Atom atom) const {
    return atom.is_variable() ? Atom::variable(stands_for_[atom.index])
                              : Atom::literal(literals_[atom.index]);
  }

  ProgramPtr make() {
    const auto result = to_change(std::move(held_));
    std::erase_if(result->constants, [&](const Constant& constant) {
      return stands_for_[constant.variable] != constant.variable;
    });
    std::vector<bool> goes;
    for (Equation& equation : result->equations) {
      goes.push_back(!equation.outputs.empty() &&
                     stands_for_[equation.outputs[0]] != equation.outputs[0]);
      for (Atom& atom : equation.inputs) atom = resolved(atom);
    }
    erase_equations(*result, goes);
    for (Atom& atom : result->outputs) atom = resolved(atom);
    return result;
  }

  ProgramPtr held_;
  const Program& program_;
  std::vector<uint32_t> literals_;    // by literal: the first equal one
  std::vector<uint32_t> stands_for_;  // by variable: itself, or the first equal one
  std::vector<bool> is_output_, of_calls_;
  size_t num_merged_ = 0;
};

}  // namespace

ProgramPtr common_subexpressions(ProgramPtr program) {
  // Nested programs first, so that loops that become equal are merged too.
  return Merger(pass_nested(std::move(program), common_subexpressions)).run();
}

}  // namespace farcall
