#include "pjrt/relay.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/ffi.h>
#include <farcall/program/located.h>

#include "pjrt/frame.h"
#include "pjrt/host_copies.h"
#include "pjrt/staging.h"

namespace farcall::pjrt {
namespace {

ProgramPtr program_of(const Program& program, const Equation& equation) {
  ProgramBuilder builder;
  std::vector<Atom> operands, outputs;
  for (const Atom input : equation.inputs) {
    operands.push_back(Atom::variable(builder.add_input(program.type_of(input))));
  }
  for (const uint32_t output :
       builder.add_equation(*equation.primitive, equation.params, operands, equation.where)) {
    outputs.push_back(Atom::variable(output));
  }
  return builder.build(outputs);
}

// The run at the address that a program took as an argument; null if it has ended.
Run* run_at(const void* argument) {
  const RunSlot* slot = nullptr;
  std::memcpy(&slot, argument, sizeof(slot));
  return slot->run();
}

// Set while this thread is inside a run whose devices are busy until it ends.
thread_local bool is_in_busy_run = false;

void run_relay(const Relay& relay, Run& run, std::span<const void* const> arguments,
               std::span<void* const> results, int32_t place) {
  if (!relay.executable()) {
    try {
      if (!run.is_on_several()) poll_interrupt();
    } catch (...) {
      run.fail(std::current_exception());
    }
    *static_cast<bool*>(results[0]) = *static_cast<const bool*>(arguments[0]) && !run.has_failed();
    return;
  }
  if (!run.has_failed()) {
    try {
      if (!run.is_on_several()) poll_interrupt();  // no other code of the run does
      if (run.is_on_cpu() && !run.is_on_several())
        return run_on_memory(*relay.executable(), arguments, results, run.options());
      const OnHost scope;
      ExecutionOptions options = run.options();
      options.device_ordinal = place;
      return run_on_memory(*relay.executable(), arguments, results, options);
    } catch (...) {
      run.fail(std::current_exception());
    }
  }
  const std::span<const size_t> sizes = relay.result_sizes();
  for (size_t i = 0; i < results.size(); ++i) {
    if (sizes[i] > 0) std::memset(results[i], 0, sizes[i]);
  }
}

ffi::Error relay_call(ffi::DeviceOrdinal device, int64_t id, ffi::RemainingArgs args,
                      ffi::RemainingRets rets) {
  const auto buffer_of = [&](size_t i) { return args.get<ffi::AnyBuffer>(i).value(); };
  const auto result_of = [&](size_t i) { return *rets.get<ffi::AnyBuffer>(i).value(); };
  const void* address = buffer_of(0).untyped_data();
  Run* run = run_at(address);
  if (!run) return ffi::Error::Internal("farcall.relay: the run has ended");
  const Relay& relay = run->relay(id);
  std::vector<const void*> arguments;
  std::vector<void*> results;
  for (size_t i = 1; i < args.size(); ++i) arguments.push_back(buffer_of(i).untyped_data());
  for (size_t i = 0; i < rets.size(); ++i) results.push_back(result_of(i).untyped_data());
  if (results.size() > relay.result_sizes().size()) {
    std::memcpy(results.back(), address, sizeof(RunSlot*));
    results.pop_back();
  }
  const int32_t place = run->place_of(device);
  const auto work = [&] { run_relay(relay, *run, arguments, results, place); };
  if (run->is_on_several() && relay.place() == stablehlo::RelayPlace::kOnAll) {
    run->once_for_all(relay, place, results, work);
  } else {
    work();
  }
  if (!run->is_on_several() && run->has_failed()) {
    return ffi::Error::Aborted("farcall.relay: a call failed");
  }
  return {};
}

}  // namespace

Relay::Relay(int64_t id, const Program& program, const Equation& equation,
             stablehlo::RelayPlace place)
    : executable_(compile(program_of(program, equation), host_device())), place_(place), id_(id) {
  for (const ShapeDtype& type : executable_->output_types()) {
    result_sizes_.push_back(type.nbytes());
  }
}

Relay::Relay(int64_t id, stablehlo::RelayPlace place)
    : place_(place), id_(id), result_sizes_{sizeof(bool)} {}

Run::Run(const ExecutionOptions& options, std::string_view platform, std::span<const int> devices,
         std::span<const std::unique_ptr<const Relay>> relays,
         std::span<const DeviceCallback> callbacks)
    : options_(options),
      platform_(platform),
      devices_(devices),
      relays_(relays),
      callbacks_(callbacks) {}

RunSlot::RunSlot(std::span<const PjrtDevice* const> devices) {
  static_assert(sizeof(RunSlot*) == sizeof(uint64_t));
  const RunSlot* const address = this;
  const Storage storage = Storage::copy_of(&address, sizeof(address));
  for (const PjrtDevice* device : devices) {
    arguments_.push_back(buffer_from_host(*device, ShapeDtype(DType::kUInt64, {}), storage));
  }
}

RunSlots::Use::Use(RunSlots& slots, std::span<const PjrtDevice* const> devices, Run& run)
    : slots_(slots) {
  {
    const std::lock_guard lock(slots.mutex_);
    if (!slots.free_.empty()) {
      slot_ = std::move(slots.free_.back());
      slots.free_.pop_back();
    }
  }
  if (!slot_) slot_ = std::make_unique<RunSlot>(devices);
  slot_->set(&run);
}

RunSlots::Use::~Use() {
  slot_->set(nullptr);
  const std::lock_guard lock(slots_.mutex_);
  slots_.free_.push_back(std::move(slot_));
}

int32_t Run::place_of(int device) const {
  return static_cast<int32_t>(std::ranges::find(devices_, device) - devices_.begin());
}

OnHost::OnHost() : default_(host_device()), before_(std::exchange(is_in_busy_run, true)) {}
OnHost::~OnHost() { is_in_busy_run = before_; }

void Run::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (error_) return;
  error_ = std::move(error);
  has_failed_.store(true, std::memory_order_release);
}

void Run::raise_if_failed() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void Run::once_for_all(const Relay& relay, int32_t place, std::span<void* const> results,
                       const std::function<void()>& work) {
  const std::span<const size_t> sizes = relay.result_sizes();
  std::unique_lock lock(mutex_);
  const std::pair key(relay.id(), num_calls_[{relay.id(), place}]++);
  const auto [found, is_first] = made_.try_emplace(key);
  Made& made = found->second;
  if (is_first) {
    lock.unlock();
    work();
    lock.lock();
    for (size_t i = 0; i < results.size(); ++i) {
      const auto* bytes = static_cast<const std::byte*>(results[i]);
      made.results.emplace_back(bytes, bytes + sizes[i]);
    }
    made.is_done = true;
    is_made_.notify_all();
  } else {
    is_made_.wait(lock, [&] { return made.is_done; });
    for (size_t i = 0; i < results.size(); ++i) {
      if (sizes[i] > 0) std::memcpy(results[i], made.results[i].data(), sizes[i]);
    }
  }
  if (++made.num_taken == devices_.size()) made_.erase(key);
}

void check_may_execute() {
  if (!is_in_busy_run) return;
  throw Error(
      ErrorCode::kFailedPrecondition,
      "pjrt: a callback cannot run programs on the devices of its own program: they are busy "
      "until it ends. Use the native engine there");
}

}  // namespace farcall::pjrt

// Outside of unnamed namespaces, as the macro requires.
FARCALL_DEFINE_HANDLER(farcall_pjrt_relay, farcall::pjrt::relay_call, "id");

namespace farcall::pjrt {
namespace {

// Runs calls of runs on one device without decoding the frame, which takes as long as a short call.
// Leaves everything else, errors too, to farcall_pjrt_relay.
FARCALL_FFI_Error* relay_entry(FARCALL_FFI_CallFrame* frame) {
  constexpr size_t kMost = 16;
  const auto num_inputs = static_cast<size_t>(frame->args.size);
  const auto num_results = static_cast<size_t>(frame->rets.size);
  if (frame->stage != FARCALL_FFI_ExecutionStage_EXECUTE || frame->extension_start ||
      num_inputs == 0 || num_inputs > kMost || num_results > kMost || frame->attrs.size != 1) {
    return farcall_pjrt_relay(frame);
  }
  const auto data_of = [](void* buffer) { return static_cast<FARCALL_FFI_Buffer*>(buffer)->data; };
  const void* inputs[kMost];
  void* results[kMost];
  for (size_t i = 0; i < num_inputs; ++i) inputs[i] = data_of(frame->args.args[i]);
  for (size_t i = 0; i < num_results; ++i) results[i] = data_of(frame->rets.rets[i]);
  int64_t id = 0;
  std::memcpy(&id, static_cast<FARCALL_FFI_Scalar*>(frame->attrs.attrs[0])->value, sizeof(id));
  Run* run = run_at(inputs[0]);
  if (!run || run->is_on_several() || run->has_failed()) return farcall_pjrt_relay(frame);
  const Relay& relay = run->relay(id);
  const size_t num_own = relay.result_sizes().size();
  if (num_results > num_own) std::memcpy(results[num_own], inputs[0], sizeof(RunSlot*));
  run_relay(relay, *run, {inputs + 1, num_inputs - 1}, {results, num_own}, 0);
  return run->has_failed() ? farcall_pjrt_relay(frame) : nullptr;
}

// The same for buffers in the memory of a device. Plugins call it on one platform only.
const HostCopies* copies_of_relays = nullptr;
FARCALL_FFI_Error* relay_with_copies(FARCALL_FFI_CallFrame* frame) {
  return is_metadata_query(*frame) ? farcall_pjrt_relay(frame)
                                   : call_with_copies(*frame, *copies_of_relays, &relay_entry);
}

}  // namespace

void register_relay(const Client& client) {
  if (!client.calls_directly()) {
    static std::once_flag is_registered;
    std::call_once(is_registered, [&] {
      client.plugin().register_handler(stablehlo::kRelayTarget,
                                       reinterpret_cast<void*>(&relay_entry), "Host");
    });
    return;
  }
  copies_of_relays = HostCopies::of(client.platform());
  client.handlers().add(*make_target(
      stablehlo::kRelayTarget, HandlerBundle{.execute = &relay_with_copies}, client.platform(), 0));
}

}  // namespace farcall::pjrt
