#include "exchange/run_frame.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

namespace farcall::exchange {
namespace {

std::string describe(const ffi::AnyBuffer& buffer) {
  const auto dims = buffer.dimensions();
  const auto dtype = static_cast<DType>(buffer.element_type());
  return fmt::format("{}{}", dtype_short_name(dtype), shape_to_string({dims.begin(), dims.size()}));
}

std::string_view text_of(const FARCALL_FFI_ByteSpan& span) { return {span.ptr, span.len}; }

Attribute attribute_of(int32_t kind, const void* value) {
  const auto bytes_of = [](const void* data, size_t count, int32_t dtype) {
    if (dtype_info(static_cast<DType>(dtype)).kind == DTypeKind::kInvalid)
      invalid_argument(fmt::format("the binary interface has no dtype number {}", dtype));
    return std::span(static_cast<const std::byte*>(data),
                     count * byte_width(static_cast<DType>(dtype)));
  };
  if (kind == FARCALL_FFI_AttrType_SCALAR) {
    const auto& scalar = *static_cast<const FARCALL_FFI_Scalar*>(value);
    return Attribute::scalar(static_cast<DType>(scalar.dtype),
                             bytes_of(scalar.value, 1, scalar.dtype));
  }
  if (kind == FARCALL_FFI_AttrType_ARRAY) {
    const auto& array = *static_cast<const FARCALL_FFI_Array*>(value);
    return Attribute::array(static_cast<DType>(array.dtype), array.size,
                            bytes_of(array.data, array.size, array.dtype));
  }
  if (kind == FARCALL_FFI_AttrType_STRING)
    return Attribute(std::string(text_of(*static_cast<const FARCALL_FFI_ByteSpan*>(value))));
  return Attribute(attributes_of(*static_cast<const FARCALL_FFI_Attrs*>(value)));
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

void check_attributes(const FARCALL_FFI_Attrs& attributes, std::span<const std::string> names) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    const std::string_view name = text_of(*attributes.names[i]);
    if (std::ranges::find(names, name) != names.end()) continue;
    invalid_argument(
        names.empty() ? fmt::format("the function takes no attributes, the call has \"{}\"", name)
                      : fmt::format("the function takes the attributes {}, the call has \"{}\"",
                                    fmt::join(names, ", "), name));
  }
}

Attributes attributes_of(const FARCALL_FFI_Attrs& attributes) {
  Attributes found;
  for (int64_t i = 0; i < attributes.size; ++i) {
    found.set(std::string(text_of(*attributes.names[i])),
              attribute_of(attributes.types[i], attributes.attrs[i]));
  }
  return found;
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
      invalid_argument(
          fmt::format("result {} is {}, the call expects {}; the caller gives the types of the "
                      "function's results: "
                      "ffi_call as result_shape_dtypes, tvm-ffi as tensors after the operands",
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
