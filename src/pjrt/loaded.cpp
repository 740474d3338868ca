#include "pjrt/loaded.h"

#include <exception>

#include "pjrt/buffer.h"
#include "pjrt/compile_options.h"

namespace farcall::pjrt {

Loaded::Loaded(std::span<const PjrtDevice* const> devices, std::string& text)
    : plugin_(devices[0]->client().plugin()) {
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

std::vector<std::vector<CBuffer*>> Loaded::execute(std::span<const std::vector<CBuffer*>> arguments,
                                                   size_t num_results, bool waits,
                                                   std::span<const int64_t> kept,
                                                   CExecuteContext* context) const {
  const size_t num_devices = arguments.size();
  std::vector<std::vector<CBuffer*>> results(num_devices, std::vector<CBuffer*>(num_results));
  std::vector<CBuffer* const*> lists;
  std::vector<CBuffer**> output_lists;
  for (const std::vector<CBuffer*>& list : arguments) lists.push_back(list.data());
  for (std::vector<CBuffer*>& list : results) output_lists.push_back(list.data());
  std::vector<CEvent*> events(num_devices);
  CExecuteOptions options{};
  options.struct_size = sizeof(CExecuteOptions);
  options.non_donatable_input_indices = kept.data();
  options.num_non_donatable_input_indices = kept.size();
  options.context = context;
  LoadedExecutableExecute args{};
  args.executable = executable_;
  args.options = &options;
  args.argument_lists = lists.data();
  args.num_devices = num_devices;
  args.num_args = arguments[0].size();
  args.output_lists = output_lists.data();
  if (waits) args.device_complete_events = events.data();
  plugin_.call(args);
  if (!waits) return results;
  std::exception_ptr error;
  for (CEvent* event : events) {
    try {
      plugin_.await(event);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) {
    for (const std::vector<CBuffer*>& list : results) {
      for (CBuffer* result : list) BufferHandle(plugin_, result);
    }
    std::rethrow_exception(error);
  }
  return results;
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
