#include "pjrt/executable.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <future>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/ffi/registry.h>
#include <farcall/primitives/callback.h>
#include <farcall/primitives/ffi_call.h>
#include <farcall/primitives/primitives.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/walk.h>

#include "pjrt/buffer.h"
#include "pjrt/callback.h"
#include "pjrt/execution_data.h"
#include "pjrt/loaded.h"
#include "pjrt/relay.h"
#include "stablehlo/internal/lower.h"

namespace farcall::pjrt {
namespace {

// Constants of at most this many bytes are part of the program text.
constexpr size_t kInlineBytes = 64;
constexpr std::span<const std::pair<int64_t, void*>> kNoUserData;

// The mesh of the largest shard_map of the program for which there are enough devices: first the
// program's device, then the others in order. Inputs and outputs are replicated over them.
std::optional<MeshLayout> own_layout(const Program& program, const PjrtDevice& device) {
  const std::span<const Device* const> all = device.client().devices();
  std::vector<MeshAxis> axes;
  size_t count = 1;
  for_each_equation(program, [&](const Program&, const Equation& equation, size_t) {
    const auto* map = try_params<ShardMapParams>(equation.params.get());
    if (!map || !map->devices.empty()) return;
    size_t size = 1;
    for (const MeshAxis& axis : map->axes()) size *= static_cast<size_t>(axis.size);
    if (size <= count || size > all.size()) return;
    count = size;
    axes = map->axes();
  });
  if (count == 1) return std::nullopt;
  std::vector<const Device*> devices = {&device};
  for (const Device* other : all) {
    if (other != &device && devices.size() < count) devices.push_back(other);
  }
  return MeshLayout{Mesh(std::move(axes), std::move(devices)),
                    std::vector<PartitionSpec>(program.inputs.size()),
                    std::vector<PartitionSpec>(program.outputs.size())};
}

class PjrtExecutable final : public Executable {
 public:
  PjrtExecutable(const PjrtDevice& device, ProgramPtr program, const MeshLayout* layout,
                 std::vector<bool> donated)
      : Executable(device, std::move(program), false),
        device_(device),
        donated_(std::move(donated)) {
    check_expansion(this->program(), "compile");
    const ProgramPtr live = stablehlo::prepared(program_ptr(), device.description().platform);
    if (layout) layout_ = *layout;
    is_spread_ = layout != nullptr;
    if (!layout_) layout_ = own_layout(*live, device);
    donated_.resize(input_types().size(), false);
    // Replicas of an input on several devices may share memory.
    overwrites_ = layout_ && !is_spread_ ? std::vector<bool>(donated_.size(), false) : donated_;
    overwrites_any_ = std::ranges::find(overwrites_, true) != overwrites_.end();
    for (size_t i = 0; is_spread_ && i < output_types().size(); ++i) {
      placements_.push_back(
          make_placement(output_types()[i], {layout_->mesh, layout_->outputs[i]}));
    }
    devices_ = {&device};
    if (layout_) {
      devices_.clear();
      for (const Device* one : layout_->mesh.devices()) {
        devices_.push_back(static_cast<const PjrtDevice*>(one));
      }
    }
    for (const PjrtDevice* one : devices_) numbers_.push_back(one->description().id);
    stablehlo::Module module = stablehlo::lower(*live, lower_options());
    takes_run_ = module.takes_run;
    const auto is_call = [](const auto& relay) { return relay->executable() != nullptr; };
    may_fail_ = !callbacks_.empty() || std::ranges::any_of(relays_, is_call);
    if (!relays_.empty()) register_relay(device.client());
    for (const PjrtDevice* one : devices_) {
      std::vector<BufferPtr>& constants = constants_.emplace_back();
      for (const auto& [type, storage] : module.constants) {
        constants.push_back(buffer_from_host(*one, type, to_host(storage)));
      }
    }
    loaded_ = std::make_unique<const Loaded>(devices_, module.text);
    if (!direct_.empty()) no_data_.emplace(device.client(), kNoUserData);
  }

  const std::vector<bool>& overwrites() const override { return overwrites_; }
  const std::vector<bool>& donated() const override { return donated_; }
  bool keeps_inputs_on_failure() const override { return true; }
  std::vector<ForeignCallReport> report() const override {
    std::vector<ForeignCallReport> all = direct_;
    for (const auto& relay : relays_) {
      if (!relay->executable()) continue;
      for (ForeignCallReport& report : relay->executable()->report()) {
        all.push_back(std::move(report));
      }
    }
    return all;
  }
  MemoryUse memory() const override {
    MemoryUse use;
    for (const ShapeDtype& type : input_types()) use.argument_bytes += type.nbytes();
    for (const ShapeDtype& type : output_types()) use.output_bytes += type.nbytes();
    use.temp_bytes = loaded_->temp_bytes();
    return use;
  }
  void for_each_program(const std::function<void(const ProgramPtr&)>& visit) const override {
    visit(program_ptr());
    for (const auto& relay : relays_) {
      if (relay->executable()) relay->executable()->for_each_program(visit);
    }
  }

  void execute(std::span<const Storage* const> inputs, std::span<Storage> outputs,
               const ExecutionOptions& options) const override {
    check_may_execute();
    std::array<std::byte, 1024> memory;  // enough for most programs
    std::pmr::monotonic_buffer_resource pool(memory.data(), memory.size());
    std::vector<Storage> copies;
    if (!is_spread_ && layout_) {
      copies.reserve(inputs.size() * devices_.size());  // pointers into it are kept
    }
    const size_t num_args = inputs.size() + constants_[0].size() + (takes_run_ ? 1 : 0);
    std::pmr::vector<CBuffer*> arguments(num_args * devices_.size(), &pool);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto* shards = is_spread_ ? &ShardedBuffer::of(*inputs[i])->shards() : nullptr;
      for (size_t place = 0; place < devices_.size(); ++place) {
        const Storage* own = shards ? &(*shards)[place] : inputs[i];
        if (!shards && place > 0) {
          own = &copies.emplace_back(to_device(*devices_[place], input_types()[i], *own));
        }
        FARCALL_ASSERT(&device_of(*own) == devices_[place]);
        arguments[place * num_args + i] =
            static_cast<const PjrtBuffer*>(own->buffer())->handle()->get();
      }
    }
    for (size_t place = 0; place < devices_.size(); ++place) {
      CBuffer** next = arguments.data() + place * num_args + inputs.size();
      for (const BufferPtr& constant : constants_[place]) *next++ = constant->get();
    }
    const std::vector<int64_t> kept = kept_inputs(inputs);
    std::pmr::vector<CBuffer*> results(outputs.size() * devices_.size(), &pool);
    const bool has_run = calls_host() || (!direct_.empty() && !options.user_data.empty());
    if (has_run) {
      execute_with_run(arguments, results, options, kept);
    } else {
      loaded_->execute(arguments, results, waits() && !is_synchronous(), kept,
                       no_data_ ? no_data_->context() : nullptr);
    }
    const auto result = [&](size_t place, size_t i) {
      auto handle = std::make_shared<const BufferHandle>(device_.client().plugin(),
                                                         results[place * outputs.size() + i]);
      return on_device(*devices_[place], shard_type(i), std::move(handle), has_run || waits());
    };
    // All buffers get owners, also those of devices whose results are not needed.
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!is_spread_) {
        outputs[i] = result(0, i);
        for (size_t place = 1; place < devices_.size(); ++place) result(place, i);
        continue;
      }
      std::vector<Storage> shards;
      shards.reserve(devices_.size());
      for (size_t place = 0; place < devices_.size(); ++place) shards.push_back(result(place, i));
      outputs[i] = ShardedBuffer::from_shards(placements_[i], std::move(shards));
    }
  }

 private:
  // Whether execution calls farcall.
  bool calls_host() const { return takes_run_ || !callbacks_.empty(); }
  // On a CPU a program has finished when execute() returns. Elsewhere too if handlers are called:
  // they read no_data_, which this object owns.
  bool waits() const { return device_.client().is_cpu() || !direct_.empty(); }
  // Whether execution returns when the program has finished, without being told to wait.
  bool is_synchronous() const { return device_.client().is_synchronous() && devices_.size() == 1; }

  stablehlo::LowerOptions lower_options() {
    stablehlo::LowerOptions options;
    options.max_inline_bytes = kInlineBytes;
    options.platform = device_.description().platform;
    options.donated = overwrites_;
    options.layout = layout_ ? &*layout_ : nullptr;
    if (device_.client().calls_directly()) {
      options.direct = [this](const Program& program, const Equation& equation) {
        return direct_call(program, equation);
      };
    }
    if (!device_.client().has_relays()) return options;
    options.relays_inexact = device_.client().is_cpu();
    options.relay = [this](const Program& program, const Equation& equation,
                           stablehlo::RelayPlace place) {
      return relays_
          .emplace_back(std::make_unique<const Relay>(new_id(), program, equation, place))
          ->id();
    };
    options.guard = [this](stablehlo::RelayPlace place) {
      has_guard_ = devices_.size() > 1;
      return relays_.emplace_back(std::make_unique<const Relay>(new_id(), place))->id();
    };
    return options;
  }

  // How the plugin calls the function of an equation; none if a relay does, as for callbacks on
  // arrays of the host. On a CPU, relays also do what plugins do not: C++ callables, untyped
  // functions, elements below eight bits, handlers whose effects have an order, and several
  // devices, where a failed call would make the others wait.
  std::optional<stablehlo::DirectCall> direct_call(const Program& program,
                                                   const Equation& equation) {
    const Client& client = device_.client();
    if (client.is_cpu() && !may_call_directly(program, equation)) return std::nullopt;
    if (const auto* call = try_params<FfiCallParams>(equation.params.get())) {
      if (!client.is_cpu() && is_host_function(call->target_name) &&
          !is_registered(call->target_name, client.platform())) {
        if (client.has_relays()) return std::nullopt;
        raise_needs_host(call->target_name);
      }
      const auto target = find_called_target(call->target_name, client.platform(),
                                             static_cast<int>(call->custom_call_api_version));
      if (client.is_cpu() && (target->callable() || target->is_untyped())) return std::nullopt;
      client.handlers().add(*target);
      direct_.push_back({.target_name = call->target_name, .where = equation.where});
      return stablehlo::DirectCall{call->target_name};
    }
    const CallbackParams* params = try_callback(equation.params.get());
    if (!params) return std::nullopt;
    if (equation.primitive != &kBufferCallback) {
      if (client.has_relays()) return std::nullopt;
      raise_needs_host(fmt::format("{} {}", equation.primitive->name, params->callback->name));
    }
    DeviceCallback called{params->callback, {}, params->result_types};
    for (const Atom input : equation.inputs) called.arguments.push_back(program.type_of(input));
    callbacks_.push_back(std::move(called));
    direct_.push_back({.target_name = params->callback->name, .where = equation.where});
    return stablehlo::DirectCall{
        register_callbacks(client, params->callback->target->is_command_buffer_compatible()),
        static_cast<int64_t>(callbacks_.size()) - 1};
  }
  bool may_call_directly(const Program& program, const Equation& equation) const {
    const bool is_callback = try_callback(equation.params.get()) != nullptr;
    if (devices_.size() > 1 || (has_effect(equation.effects) && !is_callback)) return false;
    const auto is_whole = [](ShapeDtype type) { return dtype_info(type.dtype()).bits >= 8; };
    return std::ranges::all_of(equation.inputs,
                               [&](Atom input) { return is_whole(program.type_of(input)); }) &&
           std::ranges::all_of(equation.outputs, [&](uint32_t output) {
             return is_whole(program.variable_types[output]);
           });
  }

  [[noreturn]] void raise_needs_host(std::string_view function) const {
    throw Error(
        ErrorCode::kUnimplemented,
        fmt::format(
            "{}: programs on platform {} cannot call functions on arrays of the host; use "
            "a buffer_callback or a handler for the platform, which get the device's memory",
            function, device_.client().platform()));
  }

  int64_t new_id() const { return static_cast<int64_t>(relays_.size()); }

  // Donated inputs that must not be overwritten: those whose memory, or a view of it, is held
  // elsewhere; and all inputs of a program that calls farcall, which may fail after it has written
  // them.
  std::vector<int64_t> kept_inputs(std::span<const Storage* const> inputs) const {
    std::vector<int64_t> kept;
    if (!overwrites_any_) return kept;
    const std::vector<bool> consumed = consumed_inputs(*this, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!overwrites_[i]) continue;
      if (may_fail_ || consumed.empty() || !consumed[i] || is_shared(*inputs[i])) {
        kept.push_back(static_cast<int64_t>(i));
      }
    }
    return kept;
  }
  // Whether another object holds the buffer of an input, on any device.
  bool is_shared(const Storage& input) const {
    const auto is_held = [](const Storage& own) {
      return !own.is_unique() ||
             static_cast<const PjrtBuffer*>(own.buffer())->handle().use_count() > 1;
    };
    if (!is_spread_) return is_held(input);
    return std::ranges::any_of(ShardedBuffer::of(input)->shards(), is_held);
  }

  ShapeDtype shard_type(size_t output) const {
    return is_spread_ ? placements_[output]->partition().shard() : output_types()[output];
  }

  // Sets the last argument of each device if the program takes the address of a slot.
  void execute_with_run(std::span<CBuffer*> arguments, std::span<CBuffer*> results,
                        const ExecutionOptions& options, std::span<const int64_t> kept) const {
    ExecutionOptions of_run = options;
    if (of_run.run_id == 0) of_run.run_id = new_run_id();
    Run run(of_run, device_.client().platform(), numbers_, relays_, callbacks_);
    std::optional<RunSlots::Use> use;
    if (takes_run_) {
      use.emplace(slots_, devices_, run);
      const size_t num_args = arguments.size() / devices_.size();
      for (size_t place = 0; place < devices_.size(); ++place) {
        arguments[(place + 1) * num_args - 1] = use->slot().argument(place);
      }
    }
    std::optional<ExecutionData> data;
    if (!direct_.empty()) {
      data.emplace(device_.client(), options.user_data);
      if (!callbacks_.empty()) data->add(run_type(), &run);
    }
    const auto execute = [&] {
      loaded_->execute(arguments, results, !is_synchronous(), kept,
                       data ? data->context() : nullptr);
    };
    try {
      if (has_guard_) {
        watched(execute, run);
      } else {
        execute();
      }
    } catch (const Error&) {
      run.raise_if_failed();
      throw;
    }
    if (!run.has_failed()) return;
    for (CBuffer* result : results) BufferHandle(device_.client().plugin(), result);
    run.raise_if_failed();
  }

  // On several devices no code of the run is on this thread, which the front end may need to find
  // interrupts: it polls for them meanwhile. The guards of loops see that the run has failed.
  template <class F>
  static void watched(const F& execute, Run& run) {
    using namespace std::chrono_literals;
    std::future<void> done = std::async(std::launch::async, execute);
    while (done.wait_for(20ms) != std::future_status::ready) {
      try {
        check_interrupt();
      } catch (...) {
        run.fail(std::current_exception());
      }
    }
    done.get();
  }

  const PjrtDevice& device_;
  std::vector<bool> donated_, overwrites_;
  bool overwrites_any_ = false;
  std::optional<MeshLayout> layout_;  // set if several devices take part
  bool is_spread_ = false;            // whether inputs and outputs are sharded by it
  std::vector<const PjrtDevice*> devices_;
  std::vector<int> numbers_;
  std::vector<PlacementPtr> placements_;  // of the outputs, if is_spread_
  std::vector<std::unique_ptr<const Relay>> relays_;
  std::vector<std::vector<BufferPtr>> constants_;  // by device
  std::vector<DeviceCallback> callbacks_;
  bool takes_run_ = false;
  bool may_fail_ = false;   // in what it calls of farcall, other than guards
  bool has_guard_ = false;  // of a loop over several devices
  mutable RunSlots slots_;
  // For executions without user data: plugins crash if a handler asks for some and there is no
  // context. Set if the plugin makes calls itself.
  std::optional<ExecutionData> no_data_;
  std::vector<ForeignCallReport> direct_;  // calls that the plugin makes itself
  std::unique_ptr<const Loaded> loaded_;
};

}  // namespace

std::shared_ptr<const Executable> compile_for(const PjrtDevice& device, ProgramPtr program,
                                              const MeshLayout* layout, std::vector<bool> donated) {
  return std::make_shared<PjrtExecutable>(device, std::move(program), layout, std::move(donated));
}

}  // namespace farcall::pjrt
