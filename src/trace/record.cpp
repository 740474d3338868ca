#include <farcall/trace/record.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/interpreter.h>

namespace farcall {
namespace {

class RecordedNode final : public ArrayNode {
 public:
  RecordedNode(ShapeDtype type, uint64_t recorder, Atom atom)
      : ArrayNode(type), recorder_(recorder), atom_(atom) {}
  uint64_t recorder() const { return recorder_; }
  Atom atom() const { return atom_; }

 private:
  uint64_t recorder_;
  Atom atom_;
};

class Recorder final : public Interpreter {
 public:
  explicit Recorder(std::string name) : name_(std::move(name)), id_(next_id()) {}

  Array add_input(ShapeDtype type) {
    return Array(new RecordedNode(type, id_, Atom::variable(builder_.add_input(type))));
  }

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override {
    std::vector<Atom> atoms;
    atoms.reserve(inputs.size());
    for (const Array& input : inputs) atoms.push_back(atom_of(input));
    const auto outputs = builder_.add_equation(primitive, params, atoms, current_location());
    std::vector<Array> results;
    results.reserve(outputs.size());
    for (const uint32_t output : outputs) {
      const Atom atom = Atom::variable(output);
      results.emplace_back(new RecordedNode(builder_.type_of(atom), id_, atom));
    }
    return results;
  }

  ProgramPtr finish(std::span<const Array> outputs) {
    std::vector<Atom> atoms;
    atoms.reserve(outputs.size());
    for (const Array& output : outputs) atoms.push_back(atom_of(output));
    return builder_.build(atoms, name_);
  }

 private:
  static uint64_t next_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  Atom atom_of(const Array& array) {
    if (const Storage* storage = array.node().storage()) return constant(array, *storage);
    const auto* recorded = dynamic_cast<const RecordedNode*>(&array.node());
    if (!recorded || recorded->recorder() != id_) {
      throw LeakedTracerError(
          fmt::format("leaked traced array {} met while {} was recorded: it belongs to a "
                      "function whose recording has ended, or is another one's. Pass it as an "
                      "argument, or return it, instead of keeping it in a variable outside",
                      array.type().to_string(), name_.empty() ? "a function" : name_));
    }
    return recorded->atom();
  }

  Atom constant(const Array& array, const Storage& storage) {
    const auto [it, inserted] = constants_.try_emplace(&array.node());
    if (inserted) {
      const ShapeDtype type = array.type();
      if (type.rank() == 0 && !type.is_token()) {
        Literal literal{type, {}};
        std::memcpy(literal.bytes.data(), storage.data(), type.nbytes());
        it->second.atom = builder_.add_literal(literal);
      } else {
        it->second.atom = Atom::variable(builder_.add_constant(type, storage));
      }
      it->second.keep_alive = array;
    }
    return it->second.atom;
  }

  struct Known {
    Atom atom;
    Array keep_alive;  // so that no other array takes the same address meanwhile
  };

  std::string name_;
  uint64_t id_;
  ProgramBuilder builder_;
  std::unordered_map<const ArrayNode*, Known> constants_;
};

}  // namespace

ProgramPtr record(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                  std::string name) {
  Recorder recorder(std::move(name));
  std::vector<Array> arguments;
  arguments.reserve(inputs.size());
  for (const ShapeDtype type : inputs) arguments.push_back(recorder.add_input(type));
  InterpreterScope scope(recorder);
  const std::vector<Array> outputs = function(arguments);
  return recorder.finish(outputs);
}

std::vector<Array> evaluate(const Program& program, std::span<const Array> inputs) {
  if (inputs.size() != program.inputs.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("evaluate: the program takes {} inputs, got {}", program.inputs.size(),
                            inputs.size()));
  }
  std::vector<Array> values(program.variable_types.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ShapeDtype wanted = program.variable_types[program.inputs[i]];
    if (inputs[i].type().strengthened() != wanted.strengthened()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("evaluate: input {} should be {}, got {}", i, wanted.to_string(),
                              inputs[i].type().to_string()));
    }
    values[program.inputs[i]] = inputs[i];
  }
  for (const Constant& constant : program.constants) {
    values[constant.variable] = Array(program.variable_types[constant.variable], constant.storage);
  }
  const auto read = [&](Atom atom) {
    if (atom.is_variable()) return values[atom.index];
    const Literal& literal = program.literals[atom.index];
    Storage storage = Storage::allocate(literal.type.nbytes());
    std::memcpy(storage.data(), literal.bytes.data(), literal.type.nbytes());
    return Array(literal.type, std::move(storage));
  };
  std::vector<Array> operands;
  for (const Equation& equation : program.equations) {
    operands.clear();
    for (const Atom atom : equation.inputs) operands.push_back(read(atom));
    std::vector<Array> results = bind_primitive(*equation.primitive, equation.params, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      values[equation.outputs[i]] = std::move(results[i]);
    }
  }
  std::vector<Array> outputs;
  outputs.reserve(program.outputs.size());
  for (const Atom atom : program.outputs) outputs.push_back(read(atom));
  return outputs;
}

}  // namespace farcall
