#include "pjrt/relay.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi.h>
#include <farcall/program/located.h>

namespace farcall::pjrt {
namespace {

// Objects by number, while they live.
template <class T>
class Table {
 public:
  uint64_t add(const T* object) {
    const std::lock_guard lock(mutex_);
    objects_[++last_] = object;
    return last_;
  }
  void remove(uint64_t number) {
    const std::lock_guard lock(mutex_);
    objects_.erase(number);
  }
  // Null if no object has this number.
  T* find(uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(number);
    return found == objects_.end() ? nullptr : const_cast<T*>(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, const T*> objects_;
  uint64_t last_ = 0;
};

Table<Relay>& relays() {
  static auto* table = new Table<Relay>;
  return *table;
}
Table<Run>& runs() {
  static auto* table = new Table<Run>;
  return *table;
}

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

// Set while this thread is inside a run on several devices, which are busy until it ends.
thread_local bool is_in_run_on_several = false;

// While a relay runs, nested calls of farcall use the host, because the run's devices are busy.
class OnHost {
 public:
  OnHost() : default_(host_device()), before_(std::exchange(is_in_run_on_several, true)) {}
  ~OnHost() { is_in_run_on_several = before_; }
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;

 private:
  DefaultDeviceScope default_;
  bool before_;
};

void run_relay(const Relay& relay, Run& run, std::span<const void* const> arguments,
               std::span<void* const> results, int32_t place) {
  if (!relay.executable()) {
    *static_cast<bool*>(results[0]) = *static_cast<const bool*>(arguments[0]) && !run.has_failed();
    return;
  }
  if (!run.has_failed()) {
    try {
      ExecutionOptions options = run.options();
      if (!run.is_on_several())
        return run_on_memory(*relay.executable(), arguments, results, options);
      const OnHost scope;
      options.device_ordinal = place;
      return run_on_memory(*relay.executable(), arguments, results, options);
    } catch (...) {
      run.fail(std::current_exception());
    }
  }
  const std::vector<size_t> sizes = relay.result_sizes();
  for (size_t i = 0; i < results.size(); ++i) {
    if (sizes[i] > 0) std::memset(results[i], 0, sizes[i]);
  }
}

ffi::Error relay_call(ffi::DeviceOrdinal device, int64_t id, ffi::RemainingArgs args,
                      ffi::RemainingRets rets) {
  const auto buffer_of = [&](size_t i) { return args.get<ffi::AnyBuffer>(i).value(); };
  const auto result_of = [&](size_t i) { return *rets.get<ffi::AnyBuffer>(i).value(); };
  uint64_t number = 0;
  std::memcpy(&number, buffer_of(0).untyped_data(), sizeof(number));
  Run* run = runs().find(number);
  const Relay* relay = relays().find(static_cast<uint64_t>(id));
  if (!run || !relay) return ffi::Error::Internal("farcall.relay: the run has ended");
  std::vector<const void*> arguments;
  std::vector<void*> results;
  for (size_t i = 1; i < args.size(); ++i) arguments.push_back(buffer_of(i).untyped_data());
  for (size_t i = 0; i < rets.size(); ++i) results.push_back(result_of(i).untyped_data());
  if (results.size() > relay->result_sizes().size()) {
    std::memcpy(results.back(), &number, sizeof(number));
    results.pop_back();
  }
  const int32_t place = run->place_of(device);
  const auto work = [&] { run_relay(*relay, *run, arguments, results, place); };
  if (run->is_on_several() && relay->place() == stablehlo::RelayPlace::kOnAll) {
    run->once_for_all(*relay, place, results, work);
  } else {
    work();
  }
  if (!run->is_on_several() && run->has_failed()) {
    return ffi::Error::Aborted("farcall.relay: a call failed");
  }
  return {};
}

}  // namespace

Relay::Relay(const Program& program, const Equation& equation, stablehlo::RelayPlace place)
    : executable_(compile(program_of(program, equation), host_device())),
      place_(place),
      id_(static_cast<int64_t>(relays().add(this))) {}

Relay::Relay(stablehlo::RelayPlace place)
    : place_(place), id_(static_cast<int64_t>(relays().add(this))) {}

Relay::~Relay() { relays().remove(static_cast<uint64_t>(id_)); }

std::vector<size_t> Relay::result_sizes() const {
  if (!executable_) return {sizeof(bool)};
  std::vector<size_t> sizes;
  for (const ShapeDtype& type : executable_->output_types()) sizes.push_back(type.nbytes());
  return sizes;
}

Run::Run(const ExecutionOptions& options, std::span<const int> devices)
    : number_(runs().add(this)), options_(options), devices_(devices) {}
Run::~Run() { runs().remove(number_); }

int32_t Run::place_of(int device) const {
  return static_cast<int32_t>(std::ranges::find(devices_, device) - devices_.begin());
}

void Run::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

bool Run::has_failed() const {
  const std::lock_guard lock(mutex_);
  return error_ != nullptr;
}

void Run::raise_if_failed() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void Run::once_for_all(const Relay& relay, int32_t place, std::span<void* const> results,
                       const std::function<void()>& work) {
  const std::vector<size_t> sizes = relay.result_sizes();
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
  if (!is_in_run_on_several) return;
  throw Error(ErrorCode::kFailedPrecondition,
              "pjrt: a callback of a program on several devices cannot run programs on them: they "
              "are busy until it ends. Use the native engine there");
}

}  // namespace farcall::pjrt

// Outside of unnamed namespaces, as the macro requires.
FARCALL_DEFINE_HANDLER(farcall_pjrt_relay, farcall::pjrt::relay_call, "id");

namespace farcall::pjrt {

void register_relay(const Client& client) {
  if (!client.is_cpu()) {
    throw Error(
        ErrorCode::kUnimplemented,
        fmt::format("pjrt: programs on platform {} cannot run host operations", client.platform()));
  }
  static std::once_flag is_registered;
  std::call_once(is_registered, [&] {
    client.plugin().register_handler(stablehlo::kRelayTarget,
                                     reinterpret_cast<void*>(&farcall_pjrt_relay), "Host");
  });
}

}  // namespace farcall::pjrt
