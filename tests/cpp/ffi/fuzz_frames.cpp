// Calls handlers, built with published headers, with frames that have wrong counts, types, sizes
// and attributes, generated from bytes. The handlers must return errors. Runs under libFuzzer, or
// with fuzz_driver.cpp for a fixed number of runs.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/ffi/library.h>

namespace farcall {
namespace {

// Reads choices from the input; zeros after its end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  unsigned below(unsigned limit) {
    const unsigned byte = at_ < size_ ? data_[at_++] : 0;
    return byte % limit;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

struct Handler {
  std::shared_ptr<const Target> target;
  int header;
};

// Handlers that fail on purpose in other ways are left out.
constexpr const char* kHandlers[] = {"scale",  "scalars",     "sum_array", "nested",
                                     "fail",   "enum_struct", "variadic",  "scratch",
                                     "stream", "count",       "run_id",    "ordinal"};

void add_portable(const std::filesystem::path& path, std::vector<Handler>& handlers) {
  const Library library = load_library(path);
  const int header = reinterpret_cast<int (*)()>(library.symbol("portable_header"))();
  auto* type_id =
      reinterpret_cast<FARCALL_FFI_TypeId* (*)()>(library.symbol("portable_counter_id"));
  auto* info = reinterpret_cast<const void* (*)()>(library.symbol("portable_counter_info"));
  register_ffi_type("Counter" + path.string(), type_id(), info());
  for (const char* name : kHandlers) {
    const std::string symbol = std::string("portable_") + name;
    if (!library.find_symbol(symbol)) continue;
    HandlerBundle bundle = {.execute = library.handler(symbol)};
    if (symbol == "portable_count") {
      bundle.instantiate = library.handler("portable_count_instantiate");
    }
    handlers.push_back({make_target(path.stem().string() + ":" + name, bundle), header});
  }
}

constexpr int kOwnHeader = 10000;  // supports every element type

void add_own(const std::filesystem::path& path, std::vector<Handler>& handlers) {
  const Library library = load_library(path);
  for (const char* name : {"own_scale", "own_sum_array", "own_count", "own_scratch", "own_ids"}) {
    HandlerBundle bundle = {.execute = library.handler(name)};
    if (name == std::string("own_count")) {
      bundle.instantiate = library.handler("own_count_instantiate");
    }
    handlers.push_back({make_target(path.stem().string() + ":" + name, bundle), kOwnHeader});
  }
}

template <typename Add>
void for_libraries_in(const char* folder, Add add) {
  if (!std::filesystem::exists(folder)) return;
  // Sorted, so that the same input selects the same handler on every machine.
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.insert(entry.path());
  for (const auto& path : paths) add(path);
}

std::vector<Handler> load_handlers() {
  std::vector<Handler> handlers;
  for_libraries_in(FARCALL_PORTABLE_DIR, [&](auto& path) { add_portable(path, handlers); });
  for_libraries_in(FARCALL_OWN_DIR, [&](auto& path) { add_own(path, handlers); });
  return handlers;
}

const std::vector<Handler>& handlers() {
  static const auto* loaded = new std::vector<Handler>(load_handlers());
  return *loaded;
}

// The header of jaxlib 0.5.3 runs past the end of a function when it prints one of these.
bool is_printable(DType dtype, int header) {
  return header >= 600 || dtype_info(dtype).bits >= 8 || !is_integer(dtype);
}

DType choose_dtype(Choices& choices) {
  const auto all = all_dtypes();
  // Mostly types that the handlers support, so that decoding proceeds further.
  switch (choices.below(4)) {
    case 0:
      return DType::kFloat32;
    case 1:
      return DType::kInt64;
    default:
      return all[choices.below(static_cast<unsigned>(all.size()))].dtype;
  }
}

// At most eight elements, so that every buffer fits the allocated memory.
ShapeDtype choose_type(Choices& choices) {
  const DType dtype = choose_dtype(choices);
  if (dtype == DType::kToken) return {dtype, {}};
  Shape shape(choices.below(4));
  for (auto& dim : shape) dim = choices.below(3);
  return {dtype, shape};
}

constexpr const char* kNames[] = {"factor", "label", "values", "inner", "code",  "message",
                                  "mode",   "range", "size",   "start", "value", "b"};

Attribute choose_attribute(Choices& choices, int header, int depth = 0) {
  switch (choices.below(depth > 2 ? 7 : 9)) {
    case 0:
      return 1.5f;
    case 1:
      return int64_t{choices.below(100)};
    case 2:
      return static_cast<int32_t>(choices.below(20));
    case 3:
      return "text";
    case 4:
      return std::vector<int64_t>(choices.below(5), 3);
    case 5:
      return true;
    case 6: {
      const DType dtype = choose_dtype(choices);
      const std::vector<std::byte> bytes(byte_width(dtype) * 3);
      if (dtype == DType::kToken || !is_printable(dtype, header)) return 0.25;
      return Attribute::array(dtype, 3, bytes);
    }
    default:
      break;
  }
  Attributes dictionary;
  for (unsigned i = choices.below(4); i > 0; --i) {
    dictionary.set(kNames[choices.below(std::size(kNames))],
                   choose_attribute(choices, header, depth + 1));
  }
  return dictionary;
}

// The attributes that the handlers bind: nearly correct ones proceed further than random names.
Attributes choose_attributes(Choices& choices, int header) {
  Attributes attributes;
  switch (choices.below(6)) {
    case 0:
      attributes = {{"factor", 2.0f}, {"label", "x"}};
      break;
    case 1:
      attributes = {{"values", std::vector<int64_t>{1, 2}}};
      break;
    case 2:
      attributes = {{"size", int64_t{100}}, {"alignment", int64_t{64}}};
      break;
    case 3:
      attributes = {{"start", int64_t{1}}};
      break;
    case 4:
      attributes = {{"mode", 1}, {"range", Attributes{{"low", int64_t{1}}, {"high", int64_t{2}}}}};
      break;
    default:
      break;
  }
  for (unsigned i = choices.below(3); i > 0; --i) {
    attributes.set(kNames[choices.below(std::size(kNames))], choose_attribute(choices, header));
  }
  // No header checks an alignment before dividing by it; a zero is the handler's own bug, not the
  // frame's.
  if (attributes.find("alignment")) attributes.set("alignment", int64_t{64});
  return attributes;
}

// struct_size is checked first; each handler must reject a wrong one.
void call_with_wrong_size(const Target& target, Choices& choices) {
  FARCALL_FFI_CallFrame frame = {};
  frame.struct_size = choices.below(255);
  frame.api = ffi_api(target.version().minor_version);
  frame.stage = static_cast<FARCALL_FFI_ExecutionStage>(choices.below(6));
  if (frame.struct_size == FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs)) return;
  FARCALL_FFI_Error* error = target.handler(Stage::kExecute)(&frame);
  if (error == nullptr) std::abort();
  FARCALL_FFI_Error_Destroy_Args args = {sizeof(args), nullptr, error};
  frame.api->Error_Destroy(&args);
}

void fuzz_one(Choices choices) {
  if (handlers().empty()) return;
  const Handler& handler = handlers()[choices.below(static_cast<unsigned>(handlers().size()))];
  if (choices.below(16) == 0) return call_with_wrong_size(*handler.target, choices);
  std::vector<RawBuffer> arguments(choices.below(4)), results(choices.below(4));
  // At most eight elements of sixteen bytes, doubled for handlers that do not check counts.
  std::vector<std::unique_ptr<std::byte[]>> memory;
  for (auto* buffers : {&arguments, &results}) {
    for (auto& buffer : *buffers) {
      buffer.type = choose_type(choices);
      if (!is_printable(buffer.type.dtype(), handler.header)) return;
      memory.push_back(std::make_unique<std::byte[]>(std::max<size_t>(1, buffer.type.nbytes())));
      buffer.data = memory.back().get();
    }
  }
  // `scale` assumes that its result is as large as its argument; frames need not test that.
  if (!arguments.empty() && !results.empty()) {
    results[0].type = choices.below(2) ? arguments[0].type : ShapeDtype(DType::kInt64, {});
    if (results[0].type != arguments[0].type && arguments[0].type.dtype() == DType::kFloat32) {
      results[0].type = arguments[0].type;
    }
    memory.push_back(std::make_unique<std::byte[]>(std::max<size_t>(1, results[0].type.nbytes())));
    results[0].data = memory.back().get();
  }
  try {
    call_target(handler.target, arguments, results, choose_attributes(choices, handler.header));
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace farcall

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  farcall::fuzz_one({data, size});
  return 0;
}
