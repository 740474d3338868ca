// Recorder: the interpreter that writes equations.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <farcall/trace/interpreter.h>
#include <farcall/trace/record.h>

namespace farcall {

class RecordedNode final : public TracedNode {
 public:
  RecordedNode(ShapeDtype type, const Interpreter& recorder, Atom atom)
      : TracedNode(type, recorder), atom_(atom) {}
  Atom atom() const { return atom_; }

 private:
  Atom atom_;
};

class Recorder : public Interpreter {
 public:
  // What becomes of arrays that are not the recorder's own: constants of the program, traced ones
  // being refused; inputs, which are collected; or inputs where they are traced.
  enum class Closure : uint8_t { kConstants, kCapture, kCaptureTraced };

  Recorder(std::string name, Closure closure)
      : Interpreter(&current_interpreter()), name_(std::move(name)), closure_(closure) {}

  Array add_input(ShapeDtype type) { return own(builder_.add_input(type)); }

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override;
  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override;

  // The program with these outputs, and what it captured.
  Recording finish(std::span<const Array> outputs);

 private:
  Array own(uint32_t variable) {
    const Atom atom = Atom::variable(variable);
    return Array(new RecordedNode(builder_.type_of(atom), *this, atom));
  }
  Atom atom_of(const Array& array);
  Atom foreign(const Array& array);

  struct Known {
    Atom atom;
    Array keep_alive;  // so that no other array takes the same address meanwhile
  };

  std::string name_;
  Closure closure_;
  ProgramBuilder builder_;
  std::unordered_map<const ArrayNode*, Known> foreign_;
  std::vector<Array> captured_;
  std::vector<uint32_t> captured_variables_;
};

}  // namespace farcall
