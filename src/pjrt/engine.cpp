// The engine object. It is named "pjrt" for every plugin, so that its name is known before a plugin
// is loaded.
#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include <farcall/program/mesh_engine.h>
#include <farcall/program/processes.h>

#include "pjrt/client.h"
#include "pjrt/executable.h"

namespace farcall::pjrt {
namespace {

class PjrtEngine final : public MeshEngine {
 public:
  std::string_view name() const override { return "pjrt"; }
  std::string_view description() const override {
    return "programs as StableHLO, compiled and run by a PJRT plugin";
  }
  // The plugin is loaded only when its devices are requested.
  std::string why_unavailable() const override { return find_plugin().empty() ? kNoPlugin : ""; }
  std::span<const Device* const> devices() const override { return client().devices(); }
  std::shared_ptr<const Executable> compile(ProgramPtr program,
                                            const CompileOptions& options) const override {
    const Device& device = options.device ? *options.device : *devices()[0];
    return compile_for(static_cast<const PjrtDevice&>(device), std::move(program), nullptr,
                       options.donated_inputs);
  }
  std::shared_ptr<const Executable> compile_over(ProgramPtr program, const MeshLayout& layout,
                                                 std::vector<bool> donated) const override {
    const Device& first = *layout.mesh.devices()[0];
    return compile_for(static_cast<const PjrtDevice&>(first), std::move(program), &layout,
                       std::move(donated));
  }
  // The devices of a plugin belong to this process, which gets another number when it joins a job.
  void join(int process_index) const {
    if (const Client* made = client_.load()) made->set_process(process_index);
  }

 private:
  // Created by the first call that succeeds. The plugin is looked up outside of the lock, because a
  // front end may need its own lock for that.
  const Client& client() const {
    if (const Client* made = client_.load()) return *made;
    std::string path = find_plugin();
    const std::lock_guard lock(mutex_);
    if (!client_) client_ = new Client(*this, std::move(path));
    return *client_;
  }

  mutable std::mutex mutex_;
  mutable std::atomic<const Client*> client_{nullptr};
};

// Adds the engine to the list when the library is loaded; the plugin is loaded later.
[[maybe_unused]] const bool kIsAdded = [] {
  static auto& engine = *new PjrtEngine;
  add_engine(engine);
  detail::add_device_sharing([](Processes& processes) { engine.join(processes.index()); });
  return true;
}();

}  // namespace
}  // namespace farcall::pjrt
