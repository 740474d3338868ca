#include <farcall/exchange/export_handler.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi.h>

#include "exchange/exported.h"
#include "exchange/run_frame.h"

namespace farcall {
namespace {

using exchange::Exported;

FARCALL_FFI_Error* call(Exported& function, FARCALL_FFI_CallFrame* frame) {
  static constexpr ffi::HandlerDesc kDesc = {
      sizeof(kDesc), 1, 0,      ffi::ExecutionStage::kExecute, "farcall.export_handler",
      nullptr,       0, nullptr};
  FARCALL_FFI_Error* answer = nullptr;
  if (!ffi::detail::admit(frame, kDesc, nullptr, answer)) return answer;
  try {
    function.run({frame->args.types, frame->args.args, frame->args.size},
                 {frame->rets.types, frame->rets.rets, frame->rets.size}, frame->attrs);
    return nullptr;
  } catch (...) {
    return ffi::detail::make_error(frame->api, exchange::current_error(function.name()));
  }
}

// ---- one function per exported handler

// A handler receives only its frame, so each exported program needs a function of its own.
constexpr size_t kMaxExported = 1024;
std::array<std::atomic<Exported*>, kMaxExported> exported{};

template <size_t I>
FARCALL_FFI_Error* call_number(FARCALL_FFI_CallFrame* frame) {
  return call(*exported[I].load(std::memory_order_acquire), frame);
}

template <size_t... I>
constexpr auto make_table(std::index_sequence<I...>) {
  return std::array<FARCALL_FFI_Handler*, sizeof...(I)>{&call_number<I>...};
}
constexpr auto kHandlers = make_table(std::make_index_sequence<kMaxExported>());

class Slots {
 public:
  // Null if the program has not been exported under this name.
  FARCALL_FFI_Handler* find(std::string_view name, const ProgramPtr& program) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < count_; ++i) {
      if (exported[i].load(std::memory_order_relaxed)->is_of(name, program)) return kHandlers[i];
    }
    return nullptr;
  }
  FARCALL_FFI_Handler* add(std::unique_ptr<Exported> made) {
    const std::lock_guard lock(mutex_);
    if (count_ == kMaxExported) {
      throw Error(
          ErrorCode::kResourceExhausted,
          fmt::format(
              "export_handler: a process can export at most {} handlers; export each function once",
              kMaxExported));
    }
    exported[count_].store(made.release(), std::memory_order_release);
    return kHandlers[count_++];
  }

 private:
  std::mutex mutex_;
  size_t count_ = 0;
};
Slots slots;

}  // namespace

FARCALL_FFI_Handler* export_handler(std::string name, ProgramPtr program) {
  if (FARCALL_FFI_Handler* const found = slots.find(name, program)) return found;
  return slots.add(std::make_unique<Exported>(std::move(name), std::move(program)));
}

FARCALL_FFI_Handler* export_handler(std::string name, RecordForCall record,
                                    std::vector<std::string> attributes) {
  return slots.add(
      std::make_unique<Exported>(std::move(name), std::move(record), std::move(attributes)));
}

FARCALL_FFI_Handler* export_handler(std::string name, FlatFunction function) {
  return slots.add(std::make_unique<Exported>(std::move(name), std::move(function)));
}

void detail::check_operand_count(size_t wanted, size_t given) {
  if (wanted == given) return;
  invalid_argument(fmt::format("the function takes {} operand{}, the call has {}", wanted,
                               wanted == 1 ? "" : "s", given));
}

}  // namespace farcall
