#include <farcall/exchange/tvm_ffi.h>

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/dlpack.h>
#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/ffi/call_context.h>
#include <farcall/ffi/registry.h>

#include "exchange/exported.h"
#include "exchange/run_frame.h"

namespace farcall {
namespace {

using exchange::Exported;

// ---- the interface ----------------------------------------------------------------------------

// A value of any type; owns it or is a view of it.
struct TvmAny {
  int32_t type = 0;
  uint32_t padding = 0;
  union {
    int64_t number;
    double real;
    void* pointer;
    const char* text;
  } value = {0};
};
// A tensor with an owner, in DLPack's format before version 1.0.
struct ManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};
constexpr int32_t kNone = 0, kInt = 1, kBool = 2, kFloat = 3, kTensorPointer = 7, kRawString = 8;
constexpr int32_t kFirstObject = 64, kTensor = 70;

// The header of each object.
struct TvmObject {
  uint64_t counts;  // strong references in the lower half
  int32_t type;
  uint32_t padding;
  void (*deleter)(void* self, int flags);
};
struct TvmBytes {
  const char* data;
  size_t size;

  std::string_view view() const { return {data, size}; }
};
struct TvmError {
  TvmObject object;
  TvmBytes kind, message;
};
struct TvmTensor {
  TvmObject object;
  DLTensor tensor;
};

using SafeCall = int(void* self, const TvmAny* args, int32_t num_args, TvmAny* result);

struct Library {
  int (*call)(void* function, TvmAny* args, int32_t num_args, TvmAny* result);
  int (*increase)(void* object);
  int (*decrease)(void* object);
  void (*take_error)(void** error);
  void (*set_error)(const char* kind, const char* message);
  int (*make_function)(void* self, SafeCall* call, void (*deleter)(void* self), void** function);
  int (*make_tensor)(ManagedTensor* from, int32_t alignment, int32_t is_dense, void** tensor);
  int (*set_global)(const TvmBytes* name, void* function, int may_replace);
};

std::atomic<const Library*> loaded{nullptr};

const Library& library() {
  const Library* const found = loaded.load(std::memory_order_acquire);
  if (found) return *found;
  throw Error(ErrorCode::kFailedPrecondition,
              "tvm_ffi: its library is not loaded; call load_tvm_ffi(path of libtvm_ffi.so) first");
}

// Checks the status of a call to the library itself.
void check(int status, std::string_view what) {
  if (status == 0) return;
  throw Error(ErrorCode::kInternal, fmt::format("tvm_ffi: {} failed", what));
}

// ---- functions of tvm-ffi as targets ----------------------------------------------------------

ErrorCode code_of(std::string_view kind) {
  constexpr std::pair<std::string_view, ErrorCode> kCodes[] = {
      {"ValueError", ErrorCode::kInvalidArgument},    {"TypeError", ErrorCode::kInvalidArgument},
      {"IndexError", ErrorCode::kOutOfRange},         {"KeyError", ErrorCode::kNotFound},
      {"MemoryError", ErrorCode::kResourceExhausted},
  };
  for (const auto& [name, code] : kCodes) {
    if (name == kind) return code;
  }
  return ErrorCode::kInternal;
}

// A tensor on a buffer of the call. Views of it are valid during the call. If the function keeps
// the tensor, `memory` keeps the buffer alive.
struct Shown {
  ManagedTensor managed;
  std::vector<int64_t> shape, strides;
  std::shared_ptr<const void> memory;
};

// The tensors of one call. They are owning objects, because Python functions cannot make arrays
// from views.
class Tensors {
 public:
  Tensors(const Library& library, size_t count) : library_(library) { tensors_.reserve(count); }
  ~Tensors() {
    for (const auto& [object, shown] : tensors_) library_.decrease(object);
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  TvmAny add(const FARCALL_FFI_Buffer& buffer) {
    const auto dtype = static_cast<DType>(buffer.dtype);
    const DTypeInfo& info = dtype_info(dtype);
    constexpr uint8_t kNoCode = 255;
    if (info.dlpack_code == kNoCode) {
      invalid_argument(fmt::format("DLPack has no type for {}", info.name));
    }
    auto shown = std::make_unique<Shown>();
    shown->shape.assign(buffer.dims, buffer.dims + buffer.rank);
    shown->strides.resize(shown->shape.size());
    int64_t stride = 1;
    for (size_t i = shown->shape.size(); i-- > 0;) {
      shown->strides[i] = stride;
      stride *= shown->shape[i];
    }
    shown->managed.tensor = {.data = buffer.data,
                             .device = {kDLCPU, 0},
                             .ndim = static_cast<int32_t>(buffer.rank),
                             .dtype = {info.dlpack_code, info.bits, 1},
                             .shape = shown->shape.data(),
                             .strides = shown->strides.data(),
                             .byte_offset = 0};
    shown->managed.context = shown.get();
    shown->managed.deleter = [](ManagedTensor* self) { delete static_cast<Shown*>(self->context); };
    TvmAny any;
    any.type = kTensor;
    check(library_.make_tensor(&shown->managed, 0, 0, &any.value.pointer),
          "TVMFFITensorFromDLPack");
    tensors_.emplace_back(any.value.pointer, shown.release());
    return any;
  }

  // After the call: keeps the memory of tensors that the function has kept.
  void keep_memory(MemoryKeeper* keeper) const {
    std::shared_ptr<const void> memory;
    for (const auto& [object, shown] : tensors_) {
      const auto& counts = static_cast<const TvmObject*>(object)->counts;
      if (static_cast<uint32_t>(std::atomic_ref(counts).load()) == 1) continue;
      if (!keeper) {
        throw Error(ErrorCode::kFailedPrecondition,
                    "the function kept a tensor after the call, but does not own its memory; it "
                    "must copy the data instead");
      }
      if (!memory) memory = keeper->keep();
      shown->memory = memory;
    }
  }

 private:
  const Library& library_;
  std::vector<std::pair<void*, Shown*>> tensors_;
};

// `texts` holds copies of string attributes, which must be null-terminated.
TvmAny value_of(std::string_view name, FARCALL_FFI_AttrType type, const void* attribute,
                std::vector<std::string>& texts) {
  TvmAny any;
  if (type == FARCALL_FFI_AttrType_STRING) {
    const auto& span = *static_cast<const FARCALL_FFI_ByteSpan*>(attribute);
    any.type = kRawString;
    any.value.text = texts.emplace_back(span.ptr, span.len).c_str();
    return any;
  }
  if (type == FARCALL_FFI_AttrType_SCALAR) {
    const auto& scalar = *static_cast<const FARCALL_FFI_Scalar*>(attribute);
    const auto as = [&](auto number) {
      std::memcpy(&number, scalar.value, sizeof(number));
      return number;
    };
    const auto whole = [&](auto number) {
      any.type = kInt;
      any.value.number = static_cast<int64_t>(as(number));
      return any;
    };
    const auto real = [&](auto number) {
      any.type = kFloat;
      any.value.real = as(number);
      return any;
    };
    switch (static_cast<DType>(scalar.dtype)) {
      case DType::kBool:
        any = whole(uint8_t{});
        any.type = kBool;
        return any;
      case DType::kInt8:
        return whole(int8_t{});
      case DType::kInt16:
        return whole(int16_t{});
      case DType::kInt32:
        return whole(int32_t{});
      case DType::kInt64:
        return whole(int64_t{});
      case DType::kUInt8:
        return whole(uint8_t{});
      case DType::kUInt16:
        return whole(uint16_t{});
      case DType::kUInt32:
        return whole(uint32_t{});
      case DType::kFloat32:
        return real(float{});
      case DType::kFloat64:
        return real(double{});
      default:
        break;
    }
  }
  invalid_argument(
      fmt::format("the attribute \"{}\" must be a bool, a signed integer of at most 64 bits, a "
                  "float of 32 or 64 bits or a string",
                  name));
}

class TvmTarget {
 public:
  TvmTarget(std::string name, void* function, std::vector<std::string> arguments)
      : library_(library()),
        name_(std::move(name)),
        function_(function),
        arguments_(std::move(arguments)) {}

  void operator()(const FARCALL_FFI_CallFrame& frame) const {
    try {
      call(frame);
    } catch (const FfiError&) {
      throw;
    } catch (const Error& error) {
      throw FfiError(error.code(), name_, error.message());
    }
  }

 private:
  void call(const FARCALL_FFI_CallFrame& frame) const {
    const auto num_buffers = static_cast<size_t>(frame.args.size + frame.rets.size);
    Tensors tensors(library_, num_buffers);
    std::vector<std::string> texts;
    texts.reserve(arguments_.size());  // keeps addresses stable
    std::vector<TvmAny> values;
    values.reserve(num_buffers + arguments_.size());
    const auto add_all = [&](void* const* buffers, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        values.push_back(tensors.add(*static_cast<const FARCALL_FFI_Buffer*>(buffers[i])));
      }
    };
    int64_t num_attributes = 0;
    for (const std::string& argument : arguments_) {
      if (argument == "args") {
        add_all(frame.args.args, frame.args.size);
      } else if (argument == "rets") {
        add_all(frame.rets.rets, frame.rets.size);
      } else {
        values.push_back(attribute(frame.attrs, argument, texts));
        ++num_attributes;
      }
    }
    if (frame.attrs.size != num_attributes) refuse_attributes(frame.attrs);
    TvmAny result;
    const int status =
        library_.call(function_, values.data(), static_cast<int32_t>(values.size()), &result);
    tensors.keep_memory(frame.ctx->options->keeper);
    if (status != 0) raise();
    if (result.type >= kFirstObject) library_.decrease(result.value.pointer);
    if (result.type != kNone) {
      invalid_argument(
          "the function returned a value; it must write its results into the tensors that it is "
          "called with, and return nothing");
    }
  }

  static TvmAny attribute(const FARCALL_FFI_Attrs& attributes, std::string_view name,
                          std::vector<std::string>& texts) {
    for (int64_t i = 0; i < attributes.size; ++i) {
      const FARCALL_FFI_ByteSpan& found = *attributes.names[i];
      if (std::string_view(found.ptr, found.len) != name) continue;
      return value_of(name, attributes.types[i], attributes.attrs[i], texts);
    }
    invalid_argument(fmt::format("the call needs the attribute \"{}\"", name));
  }

  [[noreturn]] void refuse_attributes(const FARCALL_FFI_Attrs& attributes) const {
    for (int64_t i = 0; i < attributes.size; ++i) {
      const FARCALL_FFI_ByteSpan& found = *attributes.names[i];
      const std::string_view name(found.ptr, found.len);
      if (std::ranges::find(arguments_, name) != arguments_.end()) continue;
      invalid_argument(
          fmt::format("the call has the attribute \"{}\", which the function was "
                      "registered without",
                      name));
    }
    invalid_argument("the call has an attribute twice");
  }

  [[noreturn]] void raise() const {
    void* error = nullptr;
    library_.take_error(&error);
    if (error == nullptr) {
      throw FfiError(ErrorCode::kInternal, name_, "the function failed without an error");
    }
    const auto& cell = *static_cast<const TvmError*>(error);
    const FfiError raised(code_of(cell.kind.view()), name_,
                          fmt::format("{}: {}", cell.kind.view(), cell.message.view()));
    library_.decrease(error);
    throw raised;
  }

  const Library& library_;
  std::string name_;
  void* function_;
  std::vector<std::string> arguments_;
};

// ---- programs of farcall as functions of tvm-ffi ----------------------------------------------

struct ExportedToTvm {
  ExportedToTvm(size_t num_results, std::unique_ptr<Exported> function)
      : num_results(num_results), function(std::move(function)) {}

  size_t num_results;
  std::unique_ptr<Exported> function;
};

// A tensor as a handler's buffer. Raises INVALID_ARGUMENT unless it is a dense, row-major tensor on
// the CPU.
FARCALL_FFI_Buffer buffer_of(const TvmAny& any, size_t i) {
  const auto refuse = [i](std::string_view why) {
    invalid_argument(fmt::format("argument {} {}", i, why));
  };
  const DLTensor* tensor = nullptr;
  if (any.type == kTensorPointer) tensor = static_cast<const DLTensor*>(any.value.pointer);
  if (any.type == kTensor) tensor = &static_cast<const TvmTensor*>(any.value.pointer)->tensor;
  if (tensor == nullptr) refuse("is not a tensor");
  if (tensor->device.device_type != kDLCPU) refuse("is not on the CPU");
  const DType dtype = dtype_of(tensor->dtype);
  if (dtype == DType::kInvalid) {
    refuse(fmt::format("is of DLPack code {}, {} bits and {} lanes, which no dtype of farcall has",
                       tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes));
  }
  int64_t stride = 1;
  for (int32_t d = tensor->ndim; d-- > 0;) {
    if (tensor->strides && tensor->shape[d] > 1 && tensor->strides[d] != stride) {
      refuse("is not dense and row-major; make a contiguous copy of it");
    }
    stride *= tensor->shape[d];
  }
  return {sizeof(FARCALL_FFI_Buffer),
          nullptr,
          static_cast<FARCALL_FFI_DataType>(dtype),
          static_cast<std::byte*>(tensor->data) + tensor->byte_offset,
          tensor->ndim,
          tensor->shape};
}

void run(const ExportedToTvm& exported, std::span<const TvmAny> arguments) {
  if (arguments.size() < exported.num_results) {
    invalid_argument(fmt::format("the call has {} arguments, expected the operands and {} results",
                                 arguments.size(), exported.num_results));
  }
  std::vector<FARCALL_FFI_Buffer> buffers;
  buffers.reserve(arguments.size());  // keeps addresses stable
  std::vector<void*> pointers;
  pointers.reserve(arguments.size());
  for (const TvmAny& argument : arguments) {
    pointers.push_back(&buffers.emplace_back(buffer_of(argument, buffers.size())));
  }
  const std::vector<FARCALL_FFI_ArgType> operands(arguments.size(), FARCALL_FFI_ArgType_BUFFER);
  const std::vector<FARCALL_FFI_RetType> results(exported.num_results, FARCALL_FFI_RetType_BUFFER);
  const size_t num_operands = arguments.size() - exported.num_results;
  exported.function->run(
      {operands.data(), pointers.data(), static_cast<int64_t>(num_operands)},
      {results.data(), pointers.data() + num_operands, static_cast<int64_t>(results.size())},
      FARCALL_FFI_Attrs{});
}

const char* kind_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kOutOfRange:
      return "ValueError";
    case ErrorCode::kResourceExhausted:
      return "MemoryError";
    default:
      return "RuntimeError";
  }
}

int call_exported(void* self, const TvmAny* args, int32_t num_args, TvmAny* result) {
  const auto& exported = *static_cast<const ExportedToTvm*>(self);
  *result = {};
  try {
    run(exported, {args, static_cast<size_t>(num_args)});
    return 0;
  } catch (...) {
    const ffi::Error error = exchange::current_error(exported.function->name());
    library().set_error(kind_of(static_cast<ErrorCode>(error.code())), error.message().data());
    return -1;
  }
}

void publish(const std::string& global_name, std::unique_ptr<ExportedToTvm> exported) {
  const Library& tvm = library();
  void* function = nullptr;
  const auto destroy = [](void* self) { delete static_cast<ExportedToTvm*>(self); };
  check(tvm.make_function(exported.get(), call_exported, destroy, &function),
        "TVMFFIFunctionCreate");
  static_cast<void>(exported.release());
  const TvmBytes name{global_name.data(), global_name.size()};
  const int status = tvm.set_global(&name, function, /*may_replace=*/1);
  tvm.decrease(function);
  check(status, "TVMFFIFunctionSetGlobal");
}

}  // namespace

void load_tvm_ffi(const std::string& path) {
  if (loaded.load(std::memory_order_acquire)) return;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    throw Error(ErrorCode::kNotFound,
                fmt::format("tvm_ffi: {} cannot be loaded: {}", path, dlerror()));
  }
  auto made = std::make_unique<Library>();
  const auto find = [&](auto& function, const char* symbol) {
    void* const address = dlsym(handle, symbol);
    if (!address) {
      throw Error(ErrorCode::kFailedPrecondition,
                  fmt::format("tvm_ffi: {} has no function {}; it should be libtvm_ffi.so of "
                              "apache-tvm-ffi 0.1",
                              path, symbol));
    }
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(made->call, "TVMFFIFunctionCall");
  find(made->increase, "TVMFFIObjectIncRef");
  find(made->decrease, "TVMFFIObjectDecRef");
  find(made->take_error, "TVMFFIErrorMoveFromRaised");
  find(made->set_error, "TVMFFIErrorSetRaisedFromCStr");
  find(made->make_function, "TVMFFIFunctionCreate");
  find(made->make_tensor, "TVMFFITensorFromDLPack");
  find(made->set_global, "TVMFFIFunctionSetGlobal");
  const Library* none = nullptr;
  if (loaded.compare_exchange_strong(none, made.get())) static_cast<void>(made.release());
}

void register_tvm_function(std::string_view name, void* function,
                           std::vector<std::string> arguments) {
  const Library& tvm = library();
  const auto target =
      std::make_shared<const TvmTarget>(std::string(name), function, std::move(arguments));
  register_ffi_target(name, [target](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
    (*target)(*frame);
    return nullptr;
  });
  // Only after the registration has succeeded: a target is kept for the life of the process.
  tvm.increase(function);
}

void export_to_tvm(const std::string& global_name, std::string name, ProgramPtr program) {
  const size_t num_results = program->outputs.size();
  publish(global_name,
          std::make_unique<ExportedToTvm>(
              num_results, std::make_unique<Exported>(std::move(name), std::move(program))));
}

void export_to_tvm(const std::string& global_name, std::string name, size_t num_results,
                   RecordForCall record) {
  publish(global_name,
          std::make_unique<ExportedToTvm>(
              num_results, std::make_unique<Exported>(std::move(name), std::move(record))));
}

}  // namespace farcall
