// Multi-process jobs: joining one, and operations among the processes.
#include "bind.h"

#include <nanobind/stl/string.h>

#include <functional>
#include <string>
#include <vector>

#include <farcall/ops/define.h>
#include <farcall/program/processes.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "attributes.h"
#include "convert.h"

namespace farcall::python {
namespace {

void open(const std::string& library, double timeout, bool checks_agreement) {
  const nb::gil_scoped_release released;
  open_processes(library, {.timeout_seconds = timeout, .checks_agreement = checks_agreement});
}

void close(const std::string& why) {
  const nb::gil_scoped_release released;
  close_processes(why);
}

// Runs an operation and returns its results; it runs even if they are unused.
nb::object call(const std::string& name, nb::args args, nb::kwargs kwargs) {
  processes_for(name);
  std::vector<Array> operands;
  for (nb::handle arg : args) operands.push_back(to_array(arg, name + ": x"));
  const std::vector<Array> results = call_defined(
      "farcall." + name, operands, to_attributes(kwargs, {}), {.has_side_effect = true});
  return results.empty() ? nb::none() : wrap_object(results[0]);
}

// Gathers an array so that all values are on this process. Every process must call it.
nb::object gather(nb::handle array) {
  const Array x = to_array(array, "process_allgather: x");
  const ShardedBuffer* spread = ShardedBuffer::of(memory_of(x));
  return wrap_object(spread ? Array(x.type(), spread->gather()) : x);
}

void agree(const std::string& what) {
  Processes& job = processes_for("sync_global_devices");
  wait_for_processes([&] { job.agree(std::hash<std::string>()(what), what); });
}

}  // namespace

void bind_distributed(nb::module_& module) {
  set_waiter([](const std::function<void()>& work) {
    if (!PyGILState_Check()) return work();
    const nb::gil_scoped_release released;
    work();
  });
  module.def("open", open);
  module.def("close", close);
  module.def("is_open", [] { return processes() != nullptr; });
  module.def("process_index", [] { return processes() ? processes()->index() : 0; });
  module.def("process_count", [] { return processes() ? processes()->count() : 1; });
  module.def("call", call);
  module.def("gather", gather);
  module.def("agree", agree);
}

}  // namespace farcall::python
