#include <farcall/ffi/workspace.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

// More than a process can address; sums of a few do not overflow.
constexpr int64_t kTooManyBytes = int64_t{1} << 48;

struct Rules {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const WorkspaceRule>, std::less<>> by_target;
};

Rules& rules() {
  static auto* all = new Rules;
  return *all;
}

}  // namespace

void set_workspace_rule(std::string_view target_name, WorkspaceRule rule) {
  // Destroyed after the lock is released: a rule may be an object of another language.
  std::shared_ptr<const WorkspaceRule> changed;
  if (rule) changed = std::make_shared<const WorkspaceRule>(std::move(rule));
  const std::lock_guard lock(rules().mutex);
  const auto at = rules().by_target.find(target_name);
  if (at != rules().by_target.end()) {
    at->second.swap(changed);
  } else if (changed) {
    rules().by_target.emplace(target_name, std::move(changed));
  }
}

size_t workspace_bytes(std::string_view target_name, std::span<const ShapeDtype> arguments,
                       std::span<const ShapeDtype> results, const Attributes& attributes) {
  std::shared_ptr<const WorkspaceRule> rule;
  {
    const std::lock_guard lock(rules().mutex);
    const auto at = rules().by_target.find(target_name);
    if (at != rules().by_target.end()) rule = at->second;
  }
  if (!rule) return 0;
  const int64_t bytes = (*rule)(arguments, results, attributes);
  if (bytes >= 0 && bytes < kTooManyBytes) return static_cast<size_t>(bytes);
  invalid_argument(
      fmt::format("the workspace rule of target \"{}\": expected a number of bytes from 0 "
                  "to 2^48, got {}",
                  target_name, bytes));
}

}  // namespace farcall
