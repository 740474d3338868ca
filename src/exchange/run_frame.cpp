#include "exchange/run_frame.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall::exchange {
namespace {

std::string describe(const ffi::AnyBuffer& buffer) {
  const auto dims = buffer.dimensions();
  const auto dtype = static_cast<DType>(buffer.element_type());
  return fmt::format("{}{}", dtype_short_name(dtype), shape_to_string({dims.begin(), dims.size()}));
}

void check_type(std::string_view what, size_t i, ShapeDtype type) {
  if (!is_key(type.dtype())) return;
  invalid_argument(
      fmt::format("{} {} is {}, a dtype that the binary interface does not have; for keys pass "
                  "their words, random.key_data(key)",
                  what, i, type.to_string()));
}

}  // namespace

void check_buffers(const ffi::RemainingArgs& operands, const ffi::RemainingRets& results) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands.isa<ffi::AnyBuffer>(i)) {
      invalid_argument(fmt::format("operand {} is not a buffer", i));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results.isa<ffi::AnyBuffer>(i)) {
      invalid_argument(fmt::format("result {} is not a buffer", i));
    }
  }
}

bool is_of_type(const ffi::AnyBuffer& buffer, ShapeDtype type) {
  const auto dims = buffer.dimensions();
  return static_cast<DType>(buffer.element_type()) == type.dtype() &&
         std::ranges::equal(dims, type.shape());
}

ShapeDtype type_of(const ffi::AnyBuffer& buffer) {
  const auto dims = buffer.dimensions();
  const auto dtype = static_cast<DType>(buffer.element_type());
  if (dtype_info(dtype).kind == DTypeKind::kInvalid || is_key(dtype)) {
    invalid_argument(fmt::format("unknown dtype number of the binary interface: {}",
                                 static_cast<int>(buffer.element_type())));
  }
  return {dtype, std::span(dims.begin(), dims.size())};
}

void refuse_operand(size_t i, const ffi::AnyBuffer& buffer, ShapeDtype wanted) {
  invalid_argument(fmt::format("operand {} should be {}, got {}", i,
                               wanted.strengthened().to_string(), describe(buffer)));
}

void check_types(const Program& program) {
  const std::vector<ShapeDtype> inputs = program.input_types(), outputs = program.output_types();
  for (size_t i = 0; i < inputs.size(); ++i) check_type("operand", i, inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) check_type("result", i, outputs[i]);
}

void run_frame(const Executable& executable, const ffi::RemainingArgs& operands,
               const ffi::RemainingRets& results) {
  const auto types = executable.output_types();
  if (results.size() != types.size()) {
    invalid_argument(fmt::format("the function returns {} result{}, the call expects {}",
                                 types.size(), types.size() == 1 ? "" : "s", results.size()));
  }
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  inputs.reserve(operands.size());
  outputs.reserve(types.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs.push_back(operands.get<ffi::AnyBuffer>(i)->untyped_data());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const ffi::AnyBuffer result = **results.get<ffi::AnyBuffer>(i);
    if (!is_of_type(result, types[i])) {
      invalid_argument(fmt::format(
          "result {} is {}, the call expects {}; pass ffi_call the types of the function's results",
          i, types[i].strengthened().to_string(), describe(result)));
    }
    outputs.push_back(result.untyped_data());
  }
  run_on_memory(executable, inputs, outputs);
}

ffi::Error current_error(std::string_view name) {
  const auto made = [name](ErrorCode code, std::string_view text) {
    return ffi::Error(static_cast<ffi::ErrorCode>(code),
                      fmt::format("farcall: {}: {}", name, text));
  };
  try {
    throw;
  } catch (const Error& error) {
    return made(error.code(), error.message());
  } catch (const std::bad_alloc&) {
    return made(ErrorCode::kResourceExhausted, "there is not enough memory");
  } catch (const std::exception& exception) {
    return made(ErrorCode::kInternal, exception.what());
  } catch (...) {
    return made(ErrorCode::kInternal, "an exception of unknown type");
  }
}

}  // namespace farcall::exchange
