#include <farcall/c.h>

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/exchange/export_handler.h>
#include <farcall/ffi/registry.h>
#include <farcall/program/engine.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/version.h>

struct farcall_error {
  farcall::ErrorCode code;
  std::string message;
};

struct farcall_program {
  explicit farcall_program(farcall::ProgramPtr made)
      : program(std::move(made)),
        inputs(program->input_types()),
        outputs(program->output_types()) {}

  farcall::ProgramPtr program;
  std::vector<farcall::ShapeDtype> inputs, outputs;
  mutable std::once_flag has_text;
  mutable std::string text;  // created at the first request
};

struct farcall_executable {
  std::shared_ptr<const farcall::Executable> executable;
};

namespace farcall::exchange {
namespace {

// The error for out of memory, created in advance.
farcall_error* out_of_memory() {
  static auto* const error =
      new farcall_error{ErrorCode::kResourceExhausted, "there is not enough memory"};
  return error;
}
[[maybe_unused]] farcall_error* const kMadeWhileThereIsMemory = out_of_memory();

farcall_error* make_error(ErrorCode code, std::string_view function, std::string_view text) {
  try {
    return new farcall_error{code, fmt::format("{}: {}", function, text)};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

// Runs `body` and turns exceptions into an error for C callers.
template <class Body>
farcall_error* guard(std::string_view function, const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return make_error(error.code(), function, error.message());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& exception) {
    return make_error(ErrorCode::kInternal, function, exception.what());
  } catch (...) {
    return make_error(ErrorCode::kInternal, function, "an exception of unknown type");
  }
}

template <class T>
T& needed(T* pointer, std::string_view name) {
  if (pointer == nullptr) invalid_argument(fmt::format("{} is null", name));
  return *pointer;
}

void check_list(const void* list, size_t count, std::string_view name) {
  if (count != 0) needed(static_cast<const char*>(list), name);
}

void describe(std::span<const ShapeDtype> types, size_t index, farcall_array_type* type) {
  const size_t size = needed(type, "type").struct_size;
  if (size < sizeof(farcall_array_type)) {
    invalid_argument(
        fmt::format("type->struct_size is {}, should be at least {}: set it to "
                    "sizeof(farcall_array_type)",
                    size, sizeof(farcall_array_type)));
  }
  if (index >= types.size()) {
    throw Error(ErrorCode::kOutOfRange,
                fmt::format("index is {}, there are {}", index, types.size()));
  }
  const ShapeDtype& found = types[index];
  type->dtype = static_cast<FARCALL_FFI_DataType>(found.dtype());
  type->rank = static_cast<int64_t>(found.rank());
  type->dims = found.shape().data();
  type->nbytes = found.nbytes();
}

ProgramPtr vjp_of(const Program& program) {
  std::vector<ShapeDtype> types = program.input_types();
  const size_t num_inputs = types.size();
  std::vector<bool> varies, has_cotangent;
  for (const ShapeDtype& type : program.input_types()) varies.push_back(has_tangent(type));
  for (const ShapeDtype& type : program.output_types()) {
    has_cotangent.push_back(has_tangent(type));
    if (has_tangent(type)) types.push_back(type.strengthened());
  }
  return record(
      [&](std::span<const Array> arrays) {
        const auto primals = arrays.first(num_inputs);
        const Linearized made =
            linearize([&](std::span<const Array> inputs) { return evaluate(program, inputs); },
                      primals, varies);
        const std::vector<Array> cotangents =
            made.derivative->transpose(scatter_arrays(has_cotangent, arrays.subspan(num_inputs)));
        std::vector<Array> outputs = made.outputs;
        for (size_t i = 0; i < num_inputs; ++i) {
          if (varies[i]) outputs.push_back(instantiate(cotangents[i], primals[i].type()));
        }
        return outputs;
      },
      types, program.name);
}

}  // namespace
}  // namespace farcall::exchange

using namespace farcall;            // NOLINT(google-build-using-namespace)
using namespace farcall::exchange;  // NOLINT(google-build-using-namespace)

int32_t farcall_c_version(void) { return FARCALL_C_VERSION; }
const char* farcall_version(void) { return FARCALL_VERSION; }

FARCALL_FFI_Error_Code farcall_error_code(const farcall_error* error) {
  return error ? static_cast<FARCALL_FFI_Error_Code>(error->code) : FARCALL_FFI_Error_Code_OK;
}
const char* farcall_error_message(const farcall_error* error) {
  return error ? error->message.c_str() : "";
}
void farcall_error_free(farcall_error* error) {
  if (error != out_of_memory()) delete error;
}

farcall_error* farcall_program_parse(const char* text, size_t size, farcall_program** program) {
  return guard(__func__, [&] {
    check_list(text, size, "text");
    farcall_program*& result = needed(program, "program");
    result = new farcall_program(parse_program({text, size}));
  });
}
farcall_error* farcall_program_load(const void* bytes, size_t size, farcall_program** program) {
  return guard(__func__, [&] {
    check_list(bytes, size, "bytes");
    farcall_program*& result = needed(program, "program");
    LoadedProgram loaded = deserialize_program({static_cast<const char*>(bytes), size});
    result = new farcall_program(std::move(loaded.program));
  });
}
void farcall_program_free(farcall_program* program) { delete program; }

farcall_error* farcall_program_text(const farcall_program* program, const char** text) {
  return guard(__func__, [&] {
    const farcall_program& read = needed(program, "program");
    const char*& result = needed(text, "text");
    std::call_once(read.has_text, [&] { read.text = to_text(*read.program); });
    result = read.text.c_str();
  });
}
farcall_error* farcall_program_num_inputs(const farcall_program* program, size_t* count) {
  return guard(__func__, [&] {
    const farcall_program& read = needed(program, "program");
    needed(count, "count") = read.inputs.size();
  });
}
farcall_error* farcall_program_num_outputs(const farcall_program* program, size_t* count) {
  return guard(__func__, [&] {
    const farcall_program& read = needed(program, "program");
    needed(count, "count") = read.outputs.size();
  });
}
farcall_error* farcall_program_input(const farcall_program* program, size_t index,
                                     farcall_array_type* type) {
  return guard(__func__, [&] { describe(needed(program, "program").inputs, index, type); });
}
farcall_error* farcall_program_output(const farcall_program* program, size_t index,
                                      farcall_array_type* type) {
  return guard(__func__, [&] { describe(needed(program, "program").outputs, index, type); });
}

farcall_error* farcall_program_batch(const farcall_program* program, int64_t size,
                                     const int64_t* axes, size_t num_axes,
                                     farcall_program** batched) {
  return guard(__func__, [&] {
    const farcall_program& read = needed(program, "program");
    farcall_program*& result = needed(batched, "batched");
    check_list(axes, num_axes, "axes");
    if (size < 0) invalid_argument(fmt::format("size is {}, should not be negative", size));
    if (num_axes != read.inputs.size()) {
      invalid_argument(fmt::format("num_axes is {}, should be the number of inputs, {}", num_axes,
                                   read.inputs.size()));
    }
    for (size_t i = 0; i < num_axes; ++i) {
      const auto rank = static_cast<int64_t>(read.inputs[i].rank());
      if (axes[i] < kNotBatched || axes[i] > rank) {
        invalid_argument(
            fmt::format("axes[{}] is {}, should be -1 for an input without a batch "
                        "dimension, or lie between 0 and {}",
                        i, axes[i], rank));
      }
    }
    const std::vector<bool> all(read.outputs.size(), true);
    ProgramBatch made = batch_program(read.program, {size, ""}, {axes, axes + num_axes}, all);
    result = new farcall_program(std::move(made.program));
  });
}
farcall_error* farcall_program_vjp(const farcall_program* program, farcall_program** vjp) {
  return guard(__func__, [&] {
    const farcall_program& read = needed(program, "program");
    farcall_program*& result = needed(vjp, "vjp");
    result = new farcall_program(vjp_of(*read.program));
  });
}

farcall_error* farcall_compile(const farcall_program* program, farcall_executable** executable) {
  return guard(__func__, [&] {
    const farcall_program& read = needed(program, "program");
    farcall_executable*& result = needed(executable, "executable");
    result = new farcall_executable{compile(read.program, host_device())};
  });
}
void farcall_executable_free(farcall_executable* executable) { delete executable; }

farcall_error* farcall_execute(const farcall_executable* executable, const void* const* inputs,
                               size_t num_inputs, void* const* outputs, size_t num_outputs) {
  return guard(__func__, [&] {
    const Executable& run = *needed(executable, "executable").executable;
    const auto check = [](std::string_view what, const auto* pointers, size_t count,
                          std::span<const ShapeDtype> types) {
      if (count != types.size()) {
        invalid_argument(
            fmt::format("num_{} is {}, the program has {}", what, count, types.size()));
      }
      check_list(pointers, count, what);
      for (size_t i = 0; i < count; ++i) {
        if (pointers[i] == nullptr && types[i].nbytes() != 0) {
          invalid_argument(
              fmt::format("{}[{}] is null, should point to {}", what, i, types[i].to_string()));
        }
      }
    };
    check("inputs", inputs, num_inputs, run.input_types());
    check("outputs", outputs, num_outputs, run.output_types());
    run_on_memory(run, {inputs, num_inputs}, {outputs, num_outputs});
  });
}

farcall_error* farcall_register_handler(const char* name, FARCALL_FFI_Handler* handler) {
  return guard(__func__,
               [&] { register_ffi_target(&needed(name, "name"), &needed(handler, "handler")); });
}
farcall_error* farcall_export_handler(const char* name, const farcall_program* program,
                                      FARCALL_FFI_Handler** handler) {
  return guard(__func__, [&] {
    const farcall_program& read = needed(program, "program");
    FARCALL_FFI_Handler*& result = needed(handler, "handler");
    result = export_handler(&needed(name, "name"), read.program);
  });
}
