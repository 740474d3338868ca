#include "pjrt/loaded.h"

#include <array>
#include <cstddef>
#include <exception>
#include <memory_resource>
#include <vector>

#include "pjrt/buffer.h"
#include "pjrt/compile_options.h"

namespace farcall::pjrt {

Loaded::Loaded(std::span<const PjrtDevice* const> devices, std::string& text)
    : plugin_(devices[0]->client().plugin()), num_devices_(devices.size()) {
  Client::check_not_forked();
  constexpr std::string_view kFormat = "mlir";
  const Client& client = devices[0]->client();
  CProgram program{};
  program.struct_size = sizeof(CProgram);
  program.code = text.data();
  program.code_size = text.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  std::vector<int> numbers;
  for (const PjrtDevice* device : devices) numbers.push_back(device->description().id);
  const std::string options = compile_options(numbers, client.is_cpu());
  ClientCompile args{};
  args.client = client.handle();
  args.program = &program;
  args.options = options.data();
  args.options_size = options.size();
  plugin_.call(args);
  executable_ = args.executable;
}

Loaded::~Loaded() {
  LoadedExecutableDestroy args{};
  args.executable = executable_;
  plugin_.call_quietly(args);
}

void Loaded::execute(std::span<CBuffer* const> arguments, std::span<CBuffer*> results, bool waits,
                     std::span<const int64_t> kept, CExecuteContext* context) const {
  Client::check_not_forked();
  std::array<std::byte, 512> memory;  // enough for eight devices
  std::pmr::monotonic_buffer_resource pool(memory.data(), memory.size());
  const size_t num_args = arguments.size() / num_devices_;
  const size_t num_results = results.size() / num_devices_;
  std::pmr::vector<CBuffer* const*> lists(num_devices_, &pool);
  std::pmr::vector<CBuffer**> output_lists(num_devices_, &pool);
  std::pmr::vector<CEvent*> events(num_devices_, &pool);
  for (size_t i = 0; i < num_devices_; ++i) {
    lists[i] = arguments.data() + i * num_args;
    output_lists[i] = results.data() + i * num_results;
  }
  CExecuteOptions options{};
  options.struct_size = sizeof(CExecuteOptions);
  options.non_donatable_input_indices = kept.data();
  options.num_non_donatable_input_indices = kept.size();
  options.context = context;
  LoadedExecutableExecute args{};
  args.executable = executable_;
  args.options = &options;
  args.argument_lists = lists.data();
  args.num_devices = num_devices_;
  args.num_args = num_args;
  args.output_lists = output_lists.data();
  if (waits) args.device_complete_events = events.data();
  plugin_.call(args);
  if (!waits) return;
  std::exception_ptr error;
  for (CEvent* event : events) {
    try {
      plugin_.await(event);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (!error) return;
  for (CBuffer* result : results) BufferHandle(plugin_, result);
  std::rethrow_exception(error);
}

size_t Loaded::temp_bytes() const {
  if (!plugin_.has<ExecutableGetCompiledMemoryStats>()) return 0;
  LoadedExecutableGetExecutable get{};
  get.loaded = executable_;
  plugin_.call(get);
  ExecutableGetCompiledMemoryStats stats{};
  stats.executable = get.executable;
  plugin_.call_quietly(stats);
  ExecutableDestroy destroy{};
  destroy.executable = get.executable;
  plugin_.call_quietly(destroy);
  return stats.temp_bytes > 0 ? static_cast<size_t>(stats.temp_bytes) : 0;
}

}  // namespace farcall::pjrt
