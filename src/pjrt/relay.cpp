#include "pjrt/relay.h"

#include <atomic>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi.h>
#include <farcall/program/located.h>

#include "stablehlo/internal/lower.h"

namespace farcall::pjrt {
namespace {

// Objects by number, for as long as they live.
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
  // Null when there is none of this number.
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

ffi::Error relay_call(int64_t id, ffi::RemainingArgs args, ffi::RemainingRets rets) {
  const auto buffer_of = [&](size_t i) { return args.get<ffi::AnyBuffer>(i).value(); };
  const auto result_of = [&](size_t i) { return *rets.get<ffi::AnyBuffer>(i).value(); };
  uint64_t number = 0;
  std::memcpy(&number, buffer_of(0).untyped_data(), sizeof(number));
  Run* run = runs().find(number);
  const Relay* relay = relays().find(static_cast<uint64_t>(id));
  if (!run || !relay) return ffi::Error::Internal("farcall.relay: the run has ended");
  if (run->has_failed()) return ffi::Error::Aborted("farcall.relay: an earlier call failed");
  std::vector<const void*> arguments;
  std::vector<void*> results;
  for (size_t i = 1; i < args.size(); ++i) arguments.push_back(buffer_of(i).untyped_data());
  for (size_t i = 0; i < rets.size(); ++i) results.push_back(result_of(i).untyped_data());
  if (results.size() > relay->executable().output_types().size()) {
    std::memcpy(results.back(), &number, sizeof(number));
    results.pop_back();
  }
  try {
    run_on_memory(relay->executable(), arguments, results, run->options());
  } catch (...) {
    run->fail(std::current_exception());
    return ffi::Error::Aborted("farcall.relay: the call failed");
  }
  return {};
}

}  // namespace

Relay::Relay(const Program& program, const Equation& equation)
    : executable_(compile(program_of(program, equation), host_device())),
      id_(static_cast<int64_t>(relays().add(this))) {}

Relay::~Relay() { relays().remove(static_cast<uint64_t>(id_)); }

Run::Run(const ExecutionOptions& options) : number_(runs().add(this)), options_(options) {}
Run::~Run() { runs().remove(number_); }

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

}  // namespace farcall::pjrt

// Outside of unnamed namespaces, as the macro wants it.
FARCALL_DEFINE_HANDLER(farcall_pjrt_relay, farcall::pjrt::relay_call, "id");

namespace farcall::pjrt {

void register_relay(const Client& client) {
  if (!client.is_cpu()) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("pjrt: programs on platform {} cannot call what only the host runs",
                            client.platform()));
  }
  static std::once_flag is_registered;
  std::call_once(is_registered, [&] {
    client.plugin().register_handler(stablehlo::kRelayTarget,
                                     reinterpret_cast<void*>(&farcall_pjrt_relay), "Host");
  });
}

}  // namespace farcall::pjrt
