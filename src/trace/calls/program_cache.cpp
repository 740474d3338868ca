#include <farcall/trace/program_cache.h>

#include <farcall/program/donation.h>
#include <farcall/trace/debug_checks.h>

namespace farcall::detail {

std::shared_ptr<const Executable> CachedProgram::executable_on(
    const Device& device, const std::string& where, const std::vector<bool>& donated) const {
  {
    const std::lock_guard lock(mutex_);
    if (auto known = executables_.find(device)) return known;
  }
  // The checks of results run the program again on its arguments, so it must not overwrite them.
  auto executable = compile(program_, device, checks_results() ? std::vector<bool>() : donated);
  {
    const std::lock_guard lock(mutex_);
    if (auto known = executables_.find(device)) return known;  // another thread was faster
    executables_.insert(executable);
  }
  warn_of_unusable_donations(where, *program_, donated);
  return executable;
}

CachedProgramPtr ProgramCache::find_or_record(CallSignature signature,
                                              const std::function<TracedFunction()>& record,
                                              std::vector<Array>& captured) {
  if (CachedProgramPtr found = find(signature)) return found;
  TracedFunction traced = record();
  captured = std::move(traced.captured);
  auto made =
      std::make_shared<const CachedProgram>(std::move(traced.program), std::move(traced.result));
  return captured.empty() ? insert(std::move(signature), std::move(made)) : made;
}

}  // namespace farcall::detail
