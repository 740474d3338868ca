#include "tools/check/call.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>

#include <alloca.h>
#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/library.h>
#include <farcall/ffi/signature.h>

#include "tools/check/api_table.h"
#include "tools/check/disturbance.h"
#include "tools/check/floating_point.h"
#include "tools/check/guarded_attributes.h"
#include "tools/check/guarded_shapes.h"
#include "tools/check/heap.h"
#include "tools/check/sanitizer.h"
#include "tools/check/signals.h"
#include "tools/child.h"
#include "tools/failure.h"
#include "tools/handler.h"
#include "tools/python.h"

namespace farcall::tools {
namespace {

// ---- trampolines: targets take plain functions, so what they forward to is kept here ----

Handlers g_handlers;
pid_t g_process = 0;
std::atomic<int> g_stack_byte{0xff};
thread_local const FARCALL_FFI_ExecutionContext* t_context = nullptr;
thread_local std::string t_exception;         // text of an exception that left the handler
thread_local const void* t_future = nullptr;  // that the handler returned
thread_local std::string t_changed_mode;      // what floating_point.h says after the call

// Fills the stack, so that the handler's uninitialized variables have this value.
[[gnu::noinline]] void paint_stack(int byte) {
  constexpr size_t kBytes = 1 << 17;
  void* memory = alloca(kBytes);
  std::memset(memory, byte, kBytes);
  asm volatile("" : : "r"(memory) : "memory");
}

// Of the calls since change_attributes(), then of those before: a handler may keep pointers.
std::mutex g_attributes_mutex;
std::deque<std::unique_ptr<const GuardedAttributes>> g_attributes(1);

const FARCALL_FFI_Attrs& guarded(const FARCALL_FFI_Attrs& attributes) {
  const std::lock_guard lock(g_attributes_mutex);
  if (!g_attributes.front()) g_attributes.front() = std::make_unique<GuardedAttributes>(attributes);
  return g_attributes.front()->attrs();
}

FARCALL_FFI_Error* make_error(const FARCALL_FFI_Api* api, const std::string& message) {
  FARCALL_FFI_Error_Create_Args args = {};
  args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Create_Args, errc);
  args.message = message.c_str();
  args.errc = FARCALL_FFI_Error_Code_INTERNAL;
  return api->Error_Create(&args);
}

template <int stage>
FARCALL_FFI_Error* trampoline(FARCALL_FFI_CallFrame* frame) {
  FARCALL_FFI_Handler* handler = g_handlers[stage];
  if (frame->extension_start) return handler(frame);  // the metadata query
  t_context = frame->ctx;
  const FARCALL_FFI_Api* original = frame->api;
  frame->api = checking_api(original);
  frame->attrs = guarded(frame->attrs);
  guard_shapes(*frame);
  FARCALL_FFI_Error* error = nullptr;
  const FloatingPointMode mode;
  paint_stack(g_stack_byte);
  start_pause();
  heap::begin_call();
  try {
    error = handler(frame);
  } catch (const std::exception& exception) {
    t_exception = exception.what();
  } catch (...) {
    t_exception = "unknown exception";
  }
  heap::end_call();
  if (getpid() != g_process) signals::end_copy(g_process);
  if (std::string changed = mode.restore(); !changed.empty()) t_changed_mode = std::move(changed);
  t_future = frame->future;
  frame->api = original;
  return t_exception.empty() ? error : make_error(original, t_exception);
}

template <size_t... stages>
constexpr Handlers trampolines(std::index_sequence<stages...>) {
  return {&trampoline<static_cast<int>(stages)>...};
}

}  // namespace

void change_attributes() { g_attributes.emplace_front(); }

bool is_python_function(const std::string& reference) {
  return is_python_module(reference.substr(0, reference.rfind(':')));
}

LoadedHandler load_handler(const CheckSpec& spec) {
  try {
    g_process = getpid();
    g_handlers = find_handlers(spec.library, spec.stages);
    LoadedHandler loaded;
    if (!spec.reference.empty() && !is_python_function(spec.reference)) {
      const size_t colon = spec.reference.rfind(':');
      std::array<std::string, kNumStages> stages;
      if (colon == std::string::npos)
        throw Failure(kUsage, "--reference is LIBRARY:SYMBOL or MODULE:FUNCTION.");
      stages[static_cast<size_t>(Stage::kExecute)] = spec.reference.substr(colon + 1);
      loaded.reference = make_target(
          spec.reference, bundle_of(find_handlers(spec.reference.substr(0, colon), stages)));
    }
    loaded.attributes = typed_attributes(spec, g_handlers);
    auto forwards = trampolines(std::make_index_sequence<kNumStages>());
    for (size_t i = 0; i < forwards.size(); ++i) {
      if (!g_handlers[i]) forwards[i] = nullptr;
    }
    loaded.target = make_target(spec.symbol, bundle_of(forwards));
    loaded.address =
        reinterpret_cast<const void*>(g_handlers[static_cast<size_t>(Stage::kExecute)]);
    return loaded;
  } catch (const Error& error) {
    throw Failure(kCouldNotRun, error.message());
  }
}

Site::Site(const CheckSpec& spec, const Case& test, const LoadedHandler& handler)
    : spec_(&spec),
      test_(&test),
      call_({.target = handler.target,
             .arguments = test.arguments,
             .results = test.results,
             .attributes = handler.attributes,
             .is_checked = false}) {
  release_scratch(t_context);
}

Call::Call(const Site& site, const CheckOptions& options, uint64_t data_seed, Placement placement,
           Aliasing aliasing, Values values)
    : site_(&site),
      aliasing_(aliasing),
      data_seed_(data_seed),
      values_(values),
      invocation_(site.call()) {
  const auto& types = site.test();
  const auto make = [&](BufferName name, const ShapeDtype& type) {
    return std::make_unique<GuardedBuffer>(name, type.nbytes(), options.alignment, placement);
  };
  set_values(data_seed);
  const auto make_arguments = [&] {
    for (size_t i = 0; i < types.arguments.size(); ++i)
      arguments_.push_back(make({BufferName::Kind::kArgument, i}, types.arguments[i]));
  };
  const auto make_results = [&] {
    for (size_t i = 0; i < types.results.size(); ++i) {
      const bool is_in_argument = argument_of(i) && aliasing == Aliasing::kAsTold;
      results_.push_back(is_in_argument ? nullptr
                                        : make({BufferName::Kind::kResult, i}, types.results[i]));
    }
  };
  // The order of their addresses is another one too.
  if (placement == Placement::kBegin) make_results();
  make_arguments();
  if (placement == Placement::kEnd) make_results();
  // A runtime may pass null for an operand without bytes.
  const auto address = [&](const GuardedBuffer& buffer) -> void* {
    return buffer.bytes().empty() && placement == Placement::kBegin ? nullptr : buffer.data();
  };
  for (size_t i = 0; i < arguments_.size(); ++i)
    invocation_.set_argument(i, address(*arguments_[i]));
  for (size_t i = 0; i < results_.size(); ++i) invocation_.set_result(i, address(result_buffer(i)));
}

void Call::set_values(uint64_t data_seed) {
  data_seed_ = data_seed;
  inputs_.clear();
  const auto& types = site_->test().arguments;
  for (size_t i = 0; i < types.size(); ++i) {
    inputs_.push_back(random_values(types[i], argument_seed(data_seed, i),
                                    site_->spec().arguments[i].range, values_));
  }
}

std::optional<size_t> Call::argument_of(size_t result) const {
  for (const auto& [argument, aliased] : site_->spec().aliases) {
    if (aliased == result) return argument;
  }
  return std::nullopt;
}

GuardedBuffer& Call::result_buffer(size_t index) const {
  return results_[index] ? *results_[index] : *arguments_[*argument_of(index)];
}

std::vector<std::vector<std::byte>> Call::results() const {
  std::vector<std::vector<std::byte>> copies;
  for (size_t i = 0; i < results_.size(); ++i)
    copies.emplace_back(result(i).begin(), result(i).end());
  return copies;
}

void Call::prepare(const Fill& fill_with) {
  int operand = 0;
  const auto zones = [&](GuardedBuffer& buffer) {
    const bool is_meant = fill_with.operand_of_zones < 0 || fill_with.operand_of_zones == operand;
    buffer.fill_red_zones(is_meant ? fill_with.zones : Fill().zones);
    ++operand;
  };
  for (size_t i = 0; i < arguments_.size(); ++i) {
    GuardedBuffer& buffer = *arguments_[i];
    buffer.set_writable(true);
    std::copy(inputs_[i].begin(), inputs_[i].end(), buffer.bytes().begin());
    zones(buffer);
    bool is_written = false;
    for (const auto& [argument, result] : site_->spec().aliases) is_written |= argument == i;
    buffer.set_writable(is_written);
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    if (!results_[i]) continue;
    Pattern pattern = fill_with.results;
    pattern.seed = pattern.seed * 64 + i;
    if (const auto argument = argument_of(i)) {
      std::copy(inputs_[*argument].begin(), inputs_[*argument].end(), results_[i]->bytes().begin());
    } else {
      fill(results_[i]->bytes(), pattern);
    }
    zones(*results_[i]);
  }
  set_scratch_pattern(fill_with.scratch);
  heap::set_fill(fill_with.heap_byte);
  heap::set_clock_back(fill_with.has_other_time);
  g_stack_byte = fill_with.stack_byte;
}

void Call::find_damage(Outcome& outcome) const {
  for (const auto* buffers : {&results_, &arguments_}) {
    for (const auto& buffer : *buffers) {
      const auto changed = buffer ? buffer->changed_byte() : std::nullopt;
      if (!changed || outcome.damaged) continue;
      outcome.damaged = buffer->name();
      outcome.damage_offset = *changed;
      outcome.damaged_bytes = buffer->bytes().size();
    }
  }
  outcome.heap_overflow = heap::take_overflow();
  if (const auto damage = release_scratch(t_context); damage && !outcome.damaged) {
    outcome.damaged = BufferName{BufferName::Kind::kScratch, 0};
    outcome.damage_offset = damage->offset;
    outcome.damaged_bytes = damage->nbytes;
  }
}

Outcome Call::run(ThreadPool* pool) {
  Outcome outcome;
  ExecutionOptions options;
  options.thread_pool = pool;
  t_exception.clear();
  t_changed_mode.clear();
  heap::forget_exception();
  signals::set_in_call(true);
  const double begin = now_seconds();
  try {
    invocation_.begin(options);
    invocation_.prepare();
    invocation_.initialize();
    t_future = nullptr;
    invocation_.execute();
    outcome.is_ok = true;
  } catch (const FfiError& error) {
    outcome.code = error.code();
    outcome.message = error.detail();
  }
  if (t_future) sanitizer::receive(t_future);
  invocation_.end();
  outcome.seconds = now_seconds() - begin;
  signals::set_in_call(false);
  outcome.exception = t_exception;
  outcome.changed_mode = t_changed_mode;
  find_damage(outcome);
  return outcome;
}

}  // namespace farcall::tools
