#include "tools/check/crash_text.h"

#include <sys/wait.h>

#include <csignal>
#include <string_view>

#include <fmt/format.h>

#include "tools/check/sanitizer.h"
#include "tools/child.h"

namespace farcall::tools {
namespace {

void describe_access(const signals::Crash& crash, CheckFinding& finding) {
  const bool is_write = crash.access == signals::Access::kWrite;
  const auto nbytes = static_cast<int64_t>(crash.nbytes);
  const bool is_inside = crash.offset >= 0 && crash.offset < nbytes;
  finding.operand = crash.name.to_string();
  const char* verb = is_write ? "writes" : "reads";
  if (crash.is_former) {
    finding.kind = is_write ? "oob-write" : "oob-read";
    finding.message = fmt::format(
        "{} {} of an earlier call, at byte offset {}: the handler keeps "
        "a pointer to it",
        verb, finding.operand, crash.offset);
    return;
  }
  if (is_inside && crash.name.is_input()) {
    finding.kind = "input-write";
    finding.message = fmt::format("writes to {}, which is an input, at byte offset {}",
                                  finding.operand, crash.offset);
    return;
  }
  finding.kind = is_write ? "oob-write" : "oob-read";
  if (is_inside) {
    finding.message =
        fmt::format("{} scratch memory that was given back, at byte offset {}", verb, crash.offset);
  } else if (crash.offset < 0) {
    finding.message =
        fmt::format("{} {} bytes before the beginning of {}", verb, -crash.offset, finding.operand);
  } else {
    finding.message = fmt::format("{} past the end of {}, at byte offset {} of {} bytes", verb,
                                  finding.operand, crash.offset, nbytes);
  }
}

}  // namespace

bool is_wrong_access(const signals::Crash& crash, bool far) {
  if (!crash.is_set || crash.has_region) return crash.is_set;
  const bool is_fault = crash.signal == SIGSEGV || crash.signal == SIGBUS;
  return far && is_fault && !crash.is_stack_overflow;
}

std::string without_template_arguments(const std::string& name) {
  std::string text;
  int depth = 0;
  for (const char c : name) {
    if (c == '>') --depth;
    if (depth == 0) text += c;
    if (c == '<') ++depth;
  }
  return depth == 0 ? text : name;
}

void describe_crash(const signals::Crash& crash, int status, const std::string& last_words,
                    CheckFinding& finding) {
  if (crash.is_set && crash.sanitizer == sanitizer::Kind::kThread) {
    finding.kind = "race";
    finding.operand = crash.has_region ? crash.name.to_string() : "";
    finding.message = fmt::format(
        "ThreadSanitizer: data race, {} {}",
        crash.access == signals::Access::kWrite ? "a write" : "a read",
        crash.has_region ? "in " + finding.operand : fmt::format("of {} bytes", crash.nbytes));
  } else if (crash.is_set && crash.sanitizer == sanitizer::Kind::kUndefined) {
    // The sanitizer does not tell whether an index is for a read or for a write.
    finding.kind = std::string_view(crash.what) == "out-of-bounds-index" ? "oob-read" : "crash";
    finding.is_undefined_behaviour = true;
    finding.operand = crash.has_region ? crash.name.to_string() : "";
    finding.message = fmt::format("UndefinedBehaviorSanitizer: {}", crash.message);
  } else if (crash.is_set && crash.has_region) {
    describe_access(crash, finding);
  } else if (crash.is_set && crash.sanitizer == sanitizer::Kind::kAddress) {
    const std::string_view what = crash.what;
    const bool is_overflow = what.find("flow") != std::string_view::npos;
    const bool is_write = crash.access == signals::Access::kWrite;
    finding.kind = !is_overflow ? "crash" : is_write ? "oob-write" : "oob-read";
    finding.message = fmt::format("AddressSanitizer: {}, {} of {} bytes", what,
                                  is_write ? "a write" : "a read", crash.nbytes);
  } else if (crash.is_copy) {
    finding.kind = "abort";
    finding.message =
        "a process that the handler forks returns from the call too; it must end with _exit";
  } else if (crash.is_set && crash.is_kill) {
    finding.kind = "abort";
    finding.message = fmt::format(
        "the handler sends a signal to the process that started its own, or to all processes: {}",
        signal_text(crash.signal));
  } else if (crash.is_set && crash.is_exit) {
    finding.kind = "abort";
    finding.message = "the handler ends the process (exit)";
  } else if (crash.is_set) {
    finding.kind = crash.signal == SIGABRT ? "abort" : "crash";
    finding.message =
        crash.signal == SIGABRT ? "the handler aborts the process" : signal_text(crash.signal);
    if (crash.signal == SIGABRT && !last_words.empty()) finding.message += ": " + last_words;
    if (crash.signal == SIGSEGV && crash.is_stack_overflow) {
      finding.message = "stack overflow";
    } else if (crash.signal == SIGSEGV || crash.signal == SIGBUS) {
      finding.message +=
          crash.has_no_address
              ? fmt::format(" at an address that no memory can have{}",
                            finding.stack.empty() ? "; is an array on the stack written past its "
                                                    "end, over the return address?"
                                                  : "")
              : fmt::format(" at address 0x{:x}{}", crash.address,
                            crash.address < 4096 ? ", a null pointer" : "");
    }
  } else if (WIFSTOPPED(status)) {
    finding.kind = "timeout";
    finding.message =
        fmt::format("the handler stops its process by {}", signal_text(WSTOPSIG(status)));
  } else if (WIFSIGNALED(status)) {
    finding.kind = "crash";
    finding.message = fmt::format("the process is ended by {}", signal_text(WTERMSIG(status)));
  } else {
    finding.kind = "abort";
    finding.message =
        fmt::format("the handler ends the process with exit code {}", WEXITSTATUS(status));
  }
}

}  // namespace farcall::tools
