// Recorder: the interpreter that records equations.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <farcall/trace/interpreter.h>
#include <farcall/trace/record.h>

#include "trace/interpreters/tracing.h"

namespace farcall {

class RecordedNode final : public TracingNode {
 public:
  RecordedNode(ShapeDtype type, const TracingInterpreter& recorder, Atom atom,
               SourceLocationPtr made_at, AxisSet axes)
      : TracingNode(type, recorder), atom_(atom), made_at_(std::move(made_at)), axes_(axes) {}
  Atom atom() const { return atom_; }
  AxisSet varying_axes() const override { return axes_; }
  SourceLocationPtr made_at() const override { return made_at_; }

 private:
  Atom atom_;
  SourceLocationPtr made_at_;
  AxisSet axes_;
};

// How a recorded array was computed.
struct Derivation {
  std::string_view primitive;   // of the equation that computed it; empty: none
  SourceLocationPtr made_at;    // the user's line; may be null
  std::vector<bool> sources;    // by variable: whether the array depends on it
  std::vector<Array> captured;  // arrays of outer interpreters that it depends on
};

class Recorder : public TracingInterpreter {
 public:
  // What to do with arrays that the recorder does not own. Concrete scalars always become literals.
  // kConstants: concrete arrays become constants, traced ones raise an error. kCapture: they become
  // inputs of the program. kCaptureTraced: traced arrays become inputs, concrete ones constants.
  enum class Closure : uint8_t { kConstants, kCapture, kCaptureTraced };

  Recorder(std::string name, Closure closure)
      : TracingInterpreter(&current_interpreter()), name_(std::move(name)), closure_(closure) {}

  // `axes`: over which its values vary.
  Array add_input(ShapeDtype type, AxisSet axes = 0) {
    input_axes_.push_back(axes);
    return own(builder_.add_input(type), nullptr, axes);
  }

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override;
  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override;
  // `array` must be owned by this recorder.
  Derivation derivation(const Array& array);

  // The program with these outputs, and the captured arrays.
  Recording finish(std::span<const Array> outputs);

 private:
  Array own(uint32_t variable, const SourceLocationPtr& made_at, AxisSet axes) {
    const Atom atom = Atom::variable(variable);
    return Array(new RecordedNode(builder_.type_of(atom), *this, atom, made_at, axes));
  }
  Atom atom_of(const Array& array);
  Atom foreign(const Array& array);

  struct Known {
    Atom atom;
    Array keep_alive;  // so that no other node gets the same address
  };

  std::string name_;
  Closure closure_;
  ProgramBuilder builder_;
  std::unordered_map<const ArrayNode*, Known> foreign_;
  std::vector<Array> captured_;
  std::vector<uint32_t> captured_variables_;
  std::vector<AxisSet> input_axes_;  // of the inputs that are not captured
};

}  // namespace farcall
