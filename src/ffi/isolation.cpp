#include <farcall/ffi/isolation.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/storage.h>
#include <farcall/ffi/foreign_call.h>

#include "ffi/error_value.h"
#include "ffi/isolation_protocol.h"
#include "ffi/target_builder.h"

extern char** environ;

namespace farcall {
namespace runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Handlers = std::array<FARCALL_FFI_Handler*, kNumStages>;

[[noreturn]] void precondition(std::string text) {
  throw Error(ErrorCode::kFailedPrecondition, std::move(text));
}

// ---- paths ----

// FARCALL_RUN, else beside this library, else in bin of its installation prefix.
std::string find_helper() {
  if (const char* given = std::getenv("FARCALL_RUN")) return given;
  Dl_info info = {};
  dladdr(reinterpret_cast<void*>(&detail::serve_isolated_calls), &info);
  const auto folder = std::filesystem::path(info.dli_fname ? info.dli_fname : "").parent_path();
  for (const auto& candidate : {folder / "farcall-run", folder / ".." / "bin" / "farcall-run"}) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  precondition(
      fmt::format("farcall-run, in which isolated targets run, is neither in {} nor in ../bin "
                  "beside it; install it, or name it in the environment variable FARCALL_RUN",
                  folder.string()));
}

HandlerPlace place_of(std::string_view name, FARCALL_FFI_Handler* handler) {
  if (handler == nullptr) return {};
  const auto refuse = [&](std::string_view why) {
    invalid_argument(fmt::format(
        "registry: \"{}\" cannot be isolated: its handler {}, so another process cannot load it. "
        "Build it into a shared library, or register it without isolation.",
        name, why));
  };
  Dl_info info = {}, program = {};
  if (dladdr(reinterpret_cast<void*>(handler), &info) == 0 || info.dli_fname == nullptr) {
    refuse("was made at run time");
  }
  dladdr(reinterpret_cast<void*>(getauxval(AT_PHDR)), &program);
  if (program.dli_fbase == info.dli_fbase) refuse("lies in the program itself");
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  if (error) refuse(fmt::format("lies in {}, which is not a file", info.dli_fname));
  return {path.string(),
          reinterpret_cast<uintptr_t>(handler) - reinterpret_cast<uintptr_t>(info.dli_fbase)};
}

// ---- one helper process ----

class Helper {
 public:
  Helper() : owner_(getpid()) {}
  // Starts the process, which then loads the handlers.
  void start(const std::string& program, const std::string& target,
             std::span<const HandlerPlace> handlers) {
    spawn(program);
    Writer request;
    request.number(RequestKind::kLoad);
    request.text(target);
    for (const HandlerPlace& place : handlers) {
      request.text(place.library);
      request.number(place.offset);
    }
    reserve(kRequestBegin + request.bytes().size());
    send(request.bytes());
    if (const ErrorPointer error = receive(kStartSeconds)) {
      throw Error(error->code, error->message);
    }
  }
  ~Helper() {
    if (map_) munmap(map_, mapped_);
    if (socket_ >= 0) close(socket_);
    if (memory_ >= 0) close(memory_);
    if (process_ >= 0) close(process_);
    if (pid_ > 0 && owner_ == getpid()) {
      kill(pid_, SIGKILL);
      reap();
    }
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  bool is_own() const { return owner_ == getpid(); }
  // Whether it can take another request.
  bool is_alive() const { return pid_ > 0; }
  // Whether another process has ended it. A crash of its own is for receive() to report.
  bool was_killed() {
    pollfd state = {.fd = process_, .events = POLLIN, .revents = 0};
    if (process_ < 0 || poll(&state, 1, 0) <= 0 || crash().signal != 0) return false;
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) == 0 &&
           info.si_code == CLD_KILLED;
  }

  void reserve(size_t nbytes) {
    if (nbytes <= mapped_) return;
    nbytes = std::max(nbytes, 2 * mapped_);
    nbytes = (nbytes + kStep - 1) / kStep * kStep;
    if (map_) munmap(map_, mapped_);
    map_ = nullptr;
    mapped_ = 0;
    void* const map = ftruncate(memory_, static_cast<off_t>(nbytes)) == 0
                          ? mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0)
                          : MAP_FAILED;
    if (map == MAP_FAILED) {
      throw Error(
          ErrorCode::kResourceExhausted,
          fmt::format("cannot allocate {} bytes of shared memory for an isolated call", nbytes));
    }
    map_ = static_cast<std::byte*>(map);
    mapped_ = nbytes;
  }
  std::byte* memory() const { return map_; }

  void send(const std::string& request) {
    std::memcpy(map_ + kRequestBegin, request.data(), request.size());
    const Request header = {mapped_, request.size()};
    // If the helper has ended, receive() reports it.
    [[maybe_unused]] const ssize_t sent = ::send(socket_, &header, sizeof(header), MSG_NOSIGNAL);
  }

  // Returns the helper's error, or null on success. Kills the helper after `seconds` (0: no limit)
  // or on an interrupt, which is raised.
  ErrorPointer receive(double seconds) {
    const auto begin = Clock::now();
    while (true) {
      // Processes that the handler started may keep the socket open.
      pollfd states[] = {{.fd = socket_, .events = POLLIN, .revents = 0},
                         {.fd = process_, .events = POLLIN, .revents = 0}};
      const double left =
          seconds <= 0 ? kInterruptSeconds
                       : seconds - std::chrono::duration<double>(Clock::now() - begin).count();
      if (left <= 0) return timed_out(seconds);
      const double wait = std::min(left, kInterruptSeconds);
      if (poll(states, 2, static_cast<int>(wait * 1000) + 1) > 0) break;
      try {
        check_interrupt();
      } catch (...) {
        end();
        throw;
      }
    }
    std::array<char, kMostReplyBytes> packet;
    const ssize_t count = recv(socket_, packet.data(), packet.size(), MSG_DONTWAIT);
    if (count < static_cast<ssize_t>(sizeof(Reply))) return ended();
    Reply reply;
    std::memcpy(&reply, packet.data(), sizeof(reply));
    if (reply.code == 0) return nullptr;
    return ErrorPointer(
        make_error(error_code_from_abi(reply.code),
                   {packet.data() + sizeof(reply), static_cast<size_t>(count) - sizeof(reply)}));
  }

  std::set<uint64_t> sites;  // the numbers of the call sites that the helper knows
  uint64_t num_ended = 0;    // call sites that had ended when `sites` was last compared

 private:
  static constexpr double kStartSeconds = 60, kInterruptSeconds = 0.05;
  static constexpr size_t kStep = size_t{1} << 16;

  void spawn(const std::string& program) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      precondition("cannot create a socket for an isolated call");
    }
    socket_ = ends[0];
    memory_ = memfd_create("farcall", MFD_CLOEXEC);
    // Duplicated above the descriptor numbers that the helper expects.
    const int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    const int memory = fcntl(memory_, F_DUPFD_CLOEXEC, 10);
    close(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs, kHelperSocket);
    posix_spawn_file_actions_adddup2(&actions, memory, kHelperMemory);
    posix_spawn_file_actions_addclosefrom_np(&actions, kHelperMemory + 1);
    char name[] = "farcall-run", option[] = "--isolated";
    char* argv[] = {name, option, nullptr};
    const int failure = posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(theirs);
    close(memory);
    if (failure != 0) {
      pid_ = -1;
      precondition(fmt::format("{} does not start: {}", program, std::strerror(failure)));
    }
    process_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));  // -1 before Linux 5.3
  }

  const CrashReport& crash() const { return *reinterpret_cast<const CrashReport*>(map_); }

  int reap() {
    int status = 0;
    while (waitpid(std::exchange(pid_, -1), &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  void end() {
    kill(pid_, SIGKILL);
    reap();
  }

  ErrorPointer timed_out(double seconds) {
    end();
    return ErrorPointer(
        make_error(ErrorCode::kDeadlineExceeded,
                   fmt::format("the isolated call took longer than {} s, and its process was ended",
                               seconds)));
  }

  ErrorPointer ended() {
    const int status = reap();
    std::string text;
    if (WIFSIGNALED(status)) {
      CrashReport report = crash();
      if (report.signal == 0) {
        report.num_frames = 0;
        report.signal = WTERMSIG(status);
      }
      text = fmt::format("the process of the isolated handler was ended by {}", crash_text(report));
    } else {
      text = fmt::format("the process of the isolated handler exited with code {}",
                         WEXITSTATUS(status));
    }
    return ErrorPointer(make_error(ErrorCode::kAborted, std::move(text)));
  }

  pid_t owner_, pid_ = -1;
  int socket_ = -1, memory_ = -1;
  int process_ = -1;  // readable when the process has ended; -1 if the system has no such files
  std::byte* map_ = nullptr;
  size_t mapped_ = 0;
};

// ---- the target ----

// The callable of an isolated target. Copies share the helper processes.
class IsolatedFunction {
 public:
  IsolatedFunction(std::string name, const Handlers& handlers, const IsolationOptions& options)
      : shared_(std::make_shared<Shared>()) {
    shared_->name = std::move(name);
    shared_->handlers = handlers;
    shared_->options = options;
    for (size_t i = 0; i < handlers.size(); ++i) {
      shared_->places[i] = place_of(shared_->name, handlers[i]);
    }
  }

  bool is_same(const IsolatedFunction& other) const {
    return shared_->handlers == other.shared_->handlers &&
           shared_->options.timeout_seconds == other.shared_->options.timeout_seconds;
  }

  FARCALL_FFI_Error* operator()(FARCALL_FFI_CallFrame* frame) const {
    std::unique_ptr<Helper> helper;
    ErrorPointer error;
    try {
      check(*frame->ctx->options);
      const uint64_t site = number_of(*frame->ctx);
      helper = take();
      error = call(*helper, site, *frame);
    } catch (const Error& raised) {
      return make_error(raised.code(), raised.message());
    }
    if (helper->is_alive()) give_back(std::move(helper));
    return error.release();
  }

 private:
  struct Shared {
    std::string name;
    Handlers handlers;
    std::array<HandlerPlace, kNumStages> places;
    IsolationOptions options;
    std::mutex mutex;
    std::vector<std::unique_ptr<Helper>> idle;
    std::set<uint64_t> sites;  // the call sites that exist
    uint64_t num_sites = 0, num_ended = 0;
  };
  // At most kMostIdle helpers stay after a run with many threads.
  static constexpr size_t kMostIdle = 8;

  // Tells the helpers when a call site ends; see number_of().
  struct Site {
    std::shared_ptr<Shared> shared;
    uint64_t number;

    ~Site() {
      const std::lock_guard lock(shared->mutex);
      shared->sites.erase(number);
      ++shared->num_ended;
    }
  };

  // The number of a call site. Call sites with equal operands and attributes have states of their
  // own. The number is the state of a call site in this process.
  uint64_t number_of(const FARCALL_FFI_ExecutionContext& context) const {
    const std::lock_guard lock(shared_->mutex);
    StateSlot& slot = *context.instantiate_state;
    if (!slot.is_set()) {
      const uint64_t number = shared_->num_sites++;
      shared_->sites.insert(number);
      slot.set(0, new Site{shared_, number}, [](void* site) { delete static_cast<Site*>(site); });
    }
    return static_cast<const Site*>(slot.object())->number;
  }

  // The call sites that the helper still knows although they have ended.
  std::vector<uint64_t> take_ended_sites(Helper& helper) const {
    const std::lock_guard lock(shared_->mutex);
    std::vector<uint64_t> ended;
    if (std::exchange(helper.num_ended, shared_->num_ended) == shared_->num_ended) return ended;
    std::ranges::set_difference(helper.sites, shared_->sites, std::back_inserter(ended));
    for (const uint64_t site : ended) helper.sites.erase(site);
    return ended;
  }

  static void check(const ExecutionOptions& options) {
    if (options.user_data.empty() && !options.custom_options && !options.extensions) return;
    precondition(
        "an isolated target cannot use the user data, custom options or extensions of an "
        "execution, because they exist only in this process");
  }

  std::unique_ptr<Helper> take() const {
    {
      const std::lock_guard lock(shared_->mutex);
      // A child of fork() must not use its parent's helpers.
      std::erase_if(shared_->idle,
                    [](const auto& helper) { return !helper->is_own() || helper->was_killed(); });
      if (!shared_->idle.empty()) {
        auto helper = std::move(shared_->idle.back());
        shared_->idle.pop_back();
        return helper;
      }
    }
    auto helper = std::make_unique<Helper>();
    helper->start(find_helper(), shared_->name, shared_->places);
    return helper;
  }

  void give_back(std::unique_ptr<Helper> helper) const {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->idle.size() < kMostIdle) shared_->idle.push_back(std::move(helper));
  }

  struct Operand {
    std::byte* data;
    size_t nbytes;
    uint64_t offset = 0;  // in the shared memory; 0 if it is empty
    bool is_input = true;
  };

  static std::string description(const ForeignCallSpec& spec) {
    Writer text;
    for (const auto* types : {&spec.arguments, &spec.results}) {
      text.number<uint64_t>(types->size());
      for (const ShapeDtype& type : *types) text.type(type);
    }
    text.attributes(spec.attributes);
    text.number(spec.is_checked);
    return text.bytes();
  }

  // Arguments, then results. A result that aliases an argument gets the argument's offset in
  // call().
  static std::vector<Operand> operands_of(const FARCALL_FFI_CallFrame& frame,
                                          const ForeignCallSpec& spec) {
    std::vector<Operand> operands;
    const auto add = [&](void* const* buffers, const std::vector<ShapeDtype>& types,
                         bool is_input) {
      for (size_t i = 0; i < types.size(); ++i) {
        const auto* buffer = static_cast<const FARCALL_FFI_Buffer*>(buffers[i]);
        operands.push_back({static_cast<std::byte*>(buffer->data), types[i].nbytes(), 0, is_input});
      }
    };
    add(frame.args.args, spec.arguments, /*is_input=*/true);
    add(frame.rets.rets, spec.results, /*is_input=*/false);
    return operands;
  }

  ErrorPointer call(Helper& helper, uint64_t site, const FARCALL_FFI_CallFrame& frame) const {
    const FARCALL_FFI_ExecutionContext& context = *frame.ctx;
    const ForeignCallSpec& spec = *context.spec;
    std::vector<Operand> operands = operands_of(frame, spec);
    const std::vector<uint64_t> ended = take_ended_sites(helper);
    const bool is_new = helper.sites.insert(site).second;
    const std::string what = is_new ? description(spec) : "";

    const auto aligned = [](size_t offset) {
      return (offset + kAlignment - 1) & ~(kAlignment - 1);
    };
    // Besides the description, the request has numbers of at most 8 bytes each.
    size_t end = aligned(kRequestBegin + what.size() + 8 * (8 + ended.size() + operands.size()));
    for (size_t i = 0; i < operands.size(); ++i) {
      Operand& operand = operands[i];
      if (operand.nbytes == 0) continue;
      const auto same = std::find_if(
          operands.begin(), operands.begin() + static_cast<int64_t>(i), [&](const Operand& other) {
            return other.data == operand.data && other.offset != 0 && !operand.is_input;
          });
      if (same != operands.begin() + static_cast<int64_t>(i)) {
        operand.offset = same->offset;
        continue;
      }
      operand.offset = end;
      end = aligned(end + operand.nbytes);
    }
    helper.reserve(end);
    for (const Operand& operand : operands) {
      if (!operand.is_input || operand.nbytes == 0) continue;
      std::memcpy(helper.memory() + operand.offset, operand.data, operand.nbytes);
    }

    Writer request;
    request.number(RequestKind::kCall);
    request.number<uint64_t>(ended.size());
    for (const uint64_t number : ended) request.number(number);
    request.number(site);
    request.number(is_new);
    Writer rest;
    const ExecutionOptions& options = *context.options;
    rest.number<int64_t>(options.run_id != 0 ? options.run_id : context.run_id);
    rest.number<int32_t>(options.device_ordinal);
    for (const Operand& operand : operands) rest.number(operand.offset);
    helper.send(request.bytes() + what + rest.bytes());
    ErrorPointer error = helper.receive(shared_->options.timeout_seconds);
    // A site that failed in its first call is created again.
    if (error != nullptr && is_new) helper.sites.erase(site);
    for (const Operand& operand : operands) {
      if (error != nullptr || operand.is_input || operand.nbytes == 0) continue;
      std::memcpy(operand.data, helper.memory() + operand.offset, operand.nbytes);
    }
    return error;
  }

  std::shared_ptr<Shared> shared_;
};

}  // namespace
}  // namespace runtime

void register_isolated_ffi_target(std::string_view name, const HandlerBundle& bundle,
                                  const IsolationOptions& options,
                                  FARCALL_FFI_Handler_Traits traits) {
  if (!(options.timeout_seconds >= 0)) {
    invalid_argument(fmt::format("registry: \"{}\": timeout_seconds must be 0 or more, got {}.",
                                 name, options.timeout_seconds));
  }
  // Provides the usual errors for bad handlers, and the types of attributes.
  const auto plain = TargetBuilder::typed(name, "cpu", bundle, traits);
  TargetBuilder::check_versions(*plain);
  const runtime::IsolatedFunction function(
      std::string(name),
      {bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute, bundle.record},
      options);
  if (is_registered(name)) {
    // Untyped targets have a separate namespace.
    std::shared_ptr<const Target> existing;
    try {
      existing = find_target(name);
    } catch (const Error&) {
    }
    const auto* same =
        existing ? existing->callable().target<runtime::IsolatedFunction>() : nullptr;
    if (same && same->is_same(function)) return;
  }
  auto target = TargetBuilder::callable(name, "cpu", function, traits);
  TargetBuilder::describe_as(*target, *plain);
  insert_targets({std::move(target)});
}

}  // namespace farcall
