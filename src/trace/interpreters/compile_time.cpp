#include <farcall/trace/compile_time.h>

#include <algorithm>

#include <farcall/trace/custom.h>
#include <farcall/trace/interpreter.h>

namespace farcall {
namespace {

class KnownFirst final : public Interpreter {
 public:
  KnownFirst() : Interpreter(&current_interpreter()) {}

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override {
    const InterpreterScope scope(interpreter_for(inputs));
    return bind_primitive(primitive, params, inputs);
  }
  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override {
    const InterpreterScope scope(interpreter_for(inputs));
    return call_custom(call, inputs);
  }

 private:
  Interpreter& interpreter_for(std::span<const Array> inputs) const {
    const auto is_known = [](const Array& x) { return x.is_null() || x.is_concrete(); };
    return std::ranges::all_of(inputs, is_known) ? evaluator() : *parent();
  }
};

}  // namespace

struct CompileTimeEval::State {
  KnownFirst interpreter;
  InterpreterScope scope{interpreter};
};

CompileTimeEval::CompileTimeEval() : state_(std::make_unique<State>()) {}
CompileTimeEval::~CompileTimeEval() = default;

}  // namespace farcall
