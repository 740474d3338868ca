#include <farcall/exchange/export_handler.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/lru_cache.h>
#include <farcall/ffi.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/derive.h>

#include "exchange/run_frame.h"

namespace farcall {
namespace {

using exchange::is_of_type;

bool fit(const ffi::RemainingArgs& operands, std::span<const ShapeDtype> types) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (!is_of_type(*operands.get<ffi::AnyBuffer>(i), types[i])) return false;
  }
  return operands.size() == types.size();
}

size_t hash_of(const ffi::RemainingArgs& operands) {
  size_t hash = operands.size();
  const auto add = [&hash](size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u; };
  for (size_t i = 0; i < operands.size(); ++i) {
    const ffi::AnyBuffer operand = *operands.get<ffi::AnyBuffer>(i);
    add(static_cast<size_t>(operand.element_type()));
    for (const int64_t size : operand.dimensions()) add(static_cast<size_t>(size));
  }
  return hash;
}

// A function with what it was compiled to for the types of operands that it met.
class Exported {
 public:
  // `first` may be null.
  Exported(std::string name, ProgramPtr program, std::shared_ptr<const Executable> first,
           CompileForTypes compile)
      : name_(std::move(name)),
        program_(std::move(program)),
        first_(std::move(first)),
        compile_(std::move(compile)) {}

  bool is_of(std::string_view name, const ProgramPtr& program) const {
    return program_ && program_ == program && name_ == name;
  }

  FARCALL_FFI_Error* call(FARCALL_FFI_CallFrame* frame) {
    static constexpr ffi::HandlerDesc kDesc = {
        sizeof(kDesc), 1, 0,      ffi::ExecutionStage::kExecute, "farcall.export_handler",
        nullptr,       0, nullptr};
    FARCALL_FFI_Error* answer = nullptr;
    if (!ffi::detail::admit(frame, kDesc, nullptr, answer)) return answer;
    try {
      run(*frame);
      return nullptr;
    } catch (...) {
      return ffi::detail::make_error(frame->api, exchange::current_error(name_));
    }
  }

 private:
  struct Compiled {
    std::vector<ShapeDtype> operands;
    std::shared_ptr<const Executable> executable;
  };

  void run(const FARCALL_FFI_CallFrame& frame) {
    const ffi::RemainingArgs operands(frame.args.types, frame.args.args, frame.args.size);
    const ffi::RemainingRets results(frame.rets.types, frame.rets.rets, frame.rets.size);
    if (frame.attrs.size != 0) {
      const FARCALL_FFI_ByteSpan& name = *frame.attrs.names[0];
      invalid_argument(fmt::format("it takes no attributes, the call has \"{}\"",
                                   std::string_view(name.ptr, name.len)));
    }
    exchange::check_operands(operands, first_ ? first_->input_types().size() : operands.size());
    if (first_ && fit(operands, first_->input_types())) {
      return exchange::run_frame(*first_, operands, results);
    }
    exchange::run_frame(*find_or_compile(operands), operands, results);
  }

  std::shared_ptr<const Executable> find_or_compile(const ffi::RemainingArgs& operands) {
    const size_t hash = hash_of(operands);
    {
      const std::lock_guard lock(mutex_);
      const auto found =
          others_.find(hash, [&](const Compiled& other) { return fit(operands, other.operands); });
      if (found) return found->executable;
    }
    auto made = std::make_shared<Compiled>();
    for (size_t i = 0; i < operands.size(); ++i) {
      made->operands.push_back(exchange::type_of(*operands.get<ffi::AnyBuffer>(i)));
    }
    made->executable = compile_(made->operands);
    exchange::check_types(made->executable->program());
    std::vector<std::shared_ptr<Compiled>> displaced;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    displaced = others_.insert(hash, made);
    return made->executable;
  }

  std::string name_;
  ProgramPtr program_;
  std::shared_ptr<const Executable> first_;
  CompileForTypes compile_;
  std::mutex mutex_;
  LruCache<Compiled> others_;
};

// ---- functions without arguments of their own
// -----------------------------------------------------

// A handler gets nothing but its frame, so that each has a function of its own.
constexpr size_t kMaxExported = 1024;
std::array<std::atomic<Exported*>, kMaxExported> exported{};

template <size_t I>
FARCALL_FFI_Error* call(FARCALL_FFI_CallFrame* frame) {
  return exported[I].load(std::memory_order_acquire)->call(frame);
}

template <size_t... I>
constexpr auto make_table(std::index_sequence<I...>) {
  return std::array<FARCALL_FFI_Handler*, sizeof...(I)>{&call<I>...};
}
constexpr auto kHandlers = make_table(std::make_index_sequence<kMaxExported>());

class Slots {
 public:
  // Null where the program has not been exported under this name.
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
      throw Error(ErrorCode::kResourceExhausted,
                  fmt::format("export_handler: {} handlers have been exported, which is all that a "
                              "process has room for; export each function once",
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

// ---- batches
// --------------------------------------------------------------------------------------

// The program for operands with more dimensions in front, of which those of size one may stand for
// any size. Raises INVALID_ARGUMENT where the operands are no such batch.
ProgramPtr batched(ProgramPtr program, std::span<const ShapeDtype> operands) {
  const std::vector<ShapeDtype> types = program->input_types();
  size_t depth = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    if (operands[i].rank() > types[i].rank()) {
      depth = std::max(depth, operands[i].rank() - types[i].rank());
    }
  }
  std::vector<int64_t> sizes(depth, 1);
  const auto refuse = [&](size_t i) {
    invalid_argument(
        fmt::format("operand {} should be {}, or a batch of them with the same "
                    "dimensions in front as others have, got {}",
                    i, types[i].strengthened().to_string(), operands[i].to_string()));
  };
  for (size_t i = 0; i < types.size(); ++i) {
    const auto shape = operands[i].shape();
    const auto inner = types[i].shape();
    const size_t extra = shape.size() - std::min(shape.size(), inner.size());
    if (operands[i].dtype() != types[i].dtype() || (extra != 0 && extra != depth) ||
        !std::ranges::equal(shape.subspan(extra), inner)) {
      refuse(i);
    }
    for (size_t level = 0; level < extra; ++level) {
      if (shape[level] == 1 || shape[level] == sizes[level]) continue;
      if (sizes[level] != 1) refuse(i);
      sizes[level] = shape[level];
    }
  }
  if (depth == 0) refuse(0);
  const std::vector<bool> all(program->outputs.size(), true);
  for (size_t level = depth; level-- > 0;) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < types.size(); ++i) {
      const bool is_batched =
          operands[i].rank() > types[i].rank() && operands[i].shape()[level] == sizes[level];
      axes.push_back(is_batched ? 0 : kNotBatched);
    }
    program = batch_program(program, {sizes[level], ""}, axes, all).program;
  }
  return program;
}

}  // namespace

FARCALL_FFI_Handler* export_handler(std::string name, ProgramPtr program) {
  if (FARCALL_FFI_Handler* const found = slots.find(name, program)) return found;
  const auto compiled = with_error_prefix("export_handler", [&] {
    exchange::check_types(*program);
    return compile(program, host_device());
  });
  const auto compile_batch = [program](std::span<const ShapeDtype> types) {
    return compile(batched(program, types), host_device());
  };
  return slots.add(std::make_unique<Exported>(std::move(name), program, compiled, compile_batch));
}

FARCALL_FFI_Handler* export_compiled(std::string name, CompileForTypes compile) {
  return slots.add(
      std::make_unique<Exported>(std::move(name), nullptr, nullptr, std::move(compile)));
}

FARCALL_FFI_Handler* export_handler(std::string name, FlatFunction function) {
  std::string recorded = name;
  return export_compiled(std::move(name),
                         [name = std::move(recorded),
                          function = std::move(function)](std::span<const ShapeDtype> types) {
                           return compile(record(function, types, name), host_device());
                         });
}

void detail::check_operand_count(size_t wanted, size_t given) {
  if (wanted == given) return;
  invalid_argument(
      fmt::format("it takes {} operand{}, the call has {}", wanted, wanted == 1 ? "" : "s", given));
}

}  // namespace farcall
