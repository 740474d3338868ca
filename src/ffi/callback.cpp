#include <farcall/ffi/callback.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/short_list.h>
#include <farcall/ffi/foreign_call.h>

#include "ffi/target_builder.h"

namespace farcall {
namespace {

// All callbacks that are alive, by number.
struct Living {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::weak_ptr<const Callback>> by_number;

  static Living& instance() {
    static auto* living = new Living;
    return *living;
  }
};

FARCALL_FFI_Error* call(const CallbackFunction& function, FARCALL_FFI_CallFrame* frame) {
  const FARCALL_FFI_ExecutionContext& context = *frame->ctx;
  const ForeignCallSpec& spec = *context.spec;
  const size_t num_arguments = spec.arguments.size(), num_results = spec.results.size();
  ShortList<Buffer, 8> buffers(num_arguments + num_results);
  for (size_t i = 0; i < num_arguments; ++i) {
    const auto* raw = static_cast<const FARCALL_FFI_Buffer*>(frame->args.args[i]);
    buffers.emplace_back(spec.arguments[i], raw->data);
  }
  for (size_t i = 0; i < num_results; ++i) {
    const auto* raw = static_cast<const FARCALL_FFI_Buffer*>(frame->rets.rets[i]);
    buffers.emplace_back(spec.results[i], raw->data);
  }
  const ExecutionOptions& options = *context.options;
  const int64_t run_id = options.run_id != 0 ? options.run_id : context.run_id;
  function({ExecutionContext(context.stage, options, run_id), buffers.span().subspan(num_arguments),
            buffers.span().first(num_arguments), options.keeper});
  return nullptr;
}

}  // namespace

MemoryKeeper::~MemoryKeeper() = default;

void Buffer::check_access(size_t width) const {
  if (device_) {
    throw Error(
        ErrorCode::kFailedPrecondition,
        fmt::format("Buffer::values: the elements of {} are in the memory of a device ({}); "
                    "use data() in its kernels",
                    type_.to_string(), device_->platform));
  }
  if (width == byte_width(dtype())) return;
  invalid_argument(
      fmt::format("Buffer::values: the elements of {} have {} bytes, the C++ type asked for "
                  "has {}",
                  type_.to_string(), byte_width(dtype()), width));
}

void* ExecutionContext::stream() const {
  if (options_->stream != nullptr) return options_->stream;
  throw Error(
      ErrorCode::kFailedPrecondition,
      "ExecutionContext: the GPU context is not available: this call runs on the CPU, which "
      "has no stream");
}

ThreadPool& ExecutionContext::thread_pool() const {
  return options_->thread_pool ? *options_->thread_pool : ThreadPool::shared();
}

CallbackPtr make_callback(std::string name, CallbackFunction function, bool takes_lock_of_front,
                          FARCALL_FFI_Handler_Traits traits) {
  static std::atomic<uint64_t> count{0};
  const uint64_t number = ++count;
  const auto forget = [](const Callback* dying) {
    {
      Living& living = Living::instance();
      const std::lock_guard lock(living.mutex);
      living.by_number.erase(dying->number);
    }
    delete dying;  // outside the lock: this destroys objects of the user
  };
  std::unique_ptr<Callback> owned(
      new Callback{std::move(name), number, std::move(function), takes_lock_of_front, nullptr});
  owned->target = TargetBuilder::callable(
      owned->name, "cpu",
      [&function = owned->function](FARCALL_FFI_CallFrame* frame) { return call(function, frame); },
      traits);
  CallbackPtr made(owned.release(), forget);
  Living& living = Living::instance();
  const std::lock_guard lock(living.mutex);
  living.by_number.emplace(number, made);
  return made;
}

std::string to_string(const Callback& callback) {
  return fmt::format("{}#{}", callback.name, callback.number);
}

CallbackPtr find_callback(std::string_view text) {
  const size_t mark = text.rfind('#');
  const std::string number(mark == text.npos ? "" : text.substr(mark + 1));
  {
    Living& living = Living::instance();
    const std::lock_guard lock(living.mutex);
    const auto found = living.by_number.find(std::strtoull(number.c_str(), nullptr, 10));
    if (found != living.by_number.end()) {
      if (CallbackPtr callback = found->second.lock(); callback && to_string(*callback) == text) {
        return callback;
      }
    }
  }
  throw Error(
      ErrorCode::kNotFound,
      fmt::format("callback \"{}\": no function of this process has this name and number. "
                  "Callbacks live with the programs that were made from them, and cannot be "
                  "loaded by another process; register a target and use ffi_call for "
                  "programs that are saved",
                  text));
}

}  // namespace farcall
