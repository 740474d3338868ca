// Helpers for the engine's tests: targets made from C++ functions, programs that call them, and
// runs of compiled programs.
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/abi.h>
#include <farcall/core/error.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/passes/passes.h>
#include <farcall/program/engine.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/record.h>

#include "engine/native/plan.h"

namespace farcall::native::testing {

// A handler's view of the call.
struct Call {
  FARCALL_FFI_CallFrame* frame;

  size_t num_arguments() const { return static_cast<size_t>(frame->args.size); }
  size_t num_results() const { return static_cast<size_t>(frame->rets.size); }
  FARCALL_FFI_Buffer& argument(size_t i) const {
    return *static_cast<FARCALL_FFI_Buffer*>(frame->args.args[i]);
  }
  FARCALL_FFI_Buffer& result(size_t i) const {
    return *static_cast<FARCALL_FFI_Buffer*>(frame->rets.rets[i]);
  }
  static size_t size(const FARCALL_FFI_Buffer& buffer) {
    size_t size = 1;
    for (int64_t i = 0; i < buffer.rank; ++i) size *= static_cast<size_t>(buffer.dims[i]);
    return size;
  }
  float* in(size_t i) const { return static_cast<float*>(argument(i).data); }
  float* out(size_t i) const { return static_cast<float*>(result(i).data); }

  FARCALL_FFI_Error* fail(FARCALL_FFI_Error_Code code, const char* message) const {
    FARCALL_FFI_Error_Create_Args args = {
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Create_Args, errc), nullptr, message, code};
    return frame->api->Error_Create(&args);
  }
};

// Registers `body` under a unique name and returns the name.
inline std::string add_target(std::function<FARCALL_FFI_Error*(Call)> body) {
  static std::atomic<int> count{0};
  std::string name = fmt::format("test_target_{}", ++count);
  register_ffi_callable(
      name, [body = std::move(body)](FARCALL_FFI_CallFrame* frame) { return body(Call{frame}); });
  return name;
}

// result i = argument i + 1, elementwise, for floats.
inline const std::string& add_one() {
  static const std::string name = add_target([](Call call) -> FARCALL_FFI_Error* {
    for (size_t r = 0; r < call.num_results(); ++r) {
      const size_t size = Call::size(call.result(r));
      for (size_t i = 0; i < size; ++i) call.out(r)[i] = call.in(r)[i] + 1;
    }
    return nullptr;
  });
  return name;
}

inline ShapeDtype f32(std::initializer_list<int64_t> shape) { return {DType::kFloat32, shape}; }

inline Array call(const std::string& target, std::initializer_list<Array> operands,
                  ShapeDtype result, const FfiCallOptions& options = {}) {
  return FfiCall(target, {result}, options)(operands)[0];
}

inline std::shared_ptr<const Executable> compile(const ProgramPtr& program) {
  return default_engine().compile(program, {});
}

// The engine's plan for the program that `function` records.
inline std::unique_ptr<const Plan> plan_of(const FlatFunction& function,
                                           std::initializer_list<ShapeDtype> inputs) {
  return make_plan(
      remove_dead_code(inline_calls(record(function, std::vector<ShapeDtype>(inputs)))));
}

inline size_t count(const Plan& plan, Instruction::Kind kind) {
  size_t result = 0;
  for (const Instruction& instruction : plan.instructions) result += instruction.kind == kind;
  return result;
}

inline std::vector<float> floats(const Array& array) {
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

inline std::vector<float> iota(int64_t size, float first = 0) {
  std::vector<float> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return values;
}

inline Array array_of(const std::vector<float>& values, std::initializer_list<int64_t> shape) {
  return Array::of(std::span<const float>(values),
                   std::span<const int64_t>(shape.begin(), shape.size()));
}

template <class Body>
std::string error_of(ErrorCode code, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code() == code
               ? error.message()
               : std::string(error_code_name(error.code())) + ": " + error.message();
  }
  return "no error was raised";
}

}  // namespace farcall::native::testing
