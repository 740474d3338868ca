// The helper process, which runs isolated handlers.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/ffi/isolation.h>

#include "ffi/internal/foreign_stack.h"
#include "ffi/isolation_protocol.h"

namespace farcall::runtime {
namespace {

// ---- crash reports ----

CrashReport* g_crash = nullptr;

void on_signal(int signal, siginfo_t* info, void*) {
  alarm(2);
  write_crash(*g_crash, signal, info);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

void catch_signals() {
  catch_crashes(on_signal);
  std::signal(SIGINT, SIG_IGN);  // the other process ends this one if it wants to
  std::signal(SIGPIPE, SIG_IGN);
}

// Ends this process when its caller is gone, even if a handler never returns.
void end_with_the_other_side(int socket) {
  std::thread([socket] {
    pollfd state = {.fd = socket, .events = 0, .revents = 0};
    while (poll(&state, 1, -1) <= 0) {
    }
    _exit(0);
  }).detach();
}

// ---- calls ----

FARCALL_FFI_Handler* find_handler(const HandlerPlace& place) {
  if (place.library.empty()) return nullptr;
  void* const library = dlopen(place.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("the helper process cannot load {}: {}", place.library, dlerror()));
  }
  link_map* map = nullptr;
  FARCALL_ASSERT(dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
  return reinterpret_cast<FARCALL_FFI_Handler*>(map->l_addr + place.offset);
}

class Server {
 public:
  Server(int socket, int memory) : socket_(socket), memory_file_(memory) {
    g_server = this;
    pthread_atfork(nullptr, nullptr, [] { g_server->detach(); });
  }

  // Serves requests until the other end is closed.
  void run() {
    const pid_t process = getpid();
    Request request;
    while (recv(socket_, &request, sizeof(request), 0) == sizeof(request)) {
      Reply reply = {0};
      std::string message;
      try {
        map_memory(request.memory_bytes);
        answer(Reader({memory_ + kRequestBegin, request.request_bytes}));
      } catch (const FfiError& error) {
        reply.code = static_cast<int32_t>(error.code());
        message = error.detail();
      } catch (const Error& error) {
        reply.code = static_cast<int32_t>(error.code());
        message = error.message();
      } catch (const std::exception& error) {
        reply.code = static_cast<int32_t>(ErrorCode::kInternal);
        message = error.what();
      }
      if (getpid() != process) _exit(0);  // a copy that the handler has forked
      std::fflush(stdout);                // the process may be killed before its end
      message.resize(std::min(message.size(), kMostReplyBytes - sizeof(reply)));
      message.insert(0, reinterpret_cast<const char*>(&reply), sizeof(reply));
      if (send(socket_, message.data(), message.size(), 0) < 0) return;
    }
  }

 private:
  // One call site.
  struct Site {
    explicit Site(ForeignCallSpec spec) : call(std::move(spec)), invocation(call) {}
    ForeignCall call;
    Invocation invocation;
  };

  void map_memory(size_t nbytes) {
    if (nbytes == mapped_) return;
    if (memory_) munmap(memory_, mapped_);
    void* const map = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file_, 0);
    FARCALL_ASSERT(map != MAP_FAILED);
    memory_ = static_cast<char*>(map);
    mapped_ = nbytes;
    g_crash = reinterpret_cast<CrashReport*>(memory_);
  }

  // In a process that a handler forks: what it writes must not reach the caller.
  void detach() {
    if (memory_ == nullptr) return;
    [[maybe_unused]] void* const own =
        mmap(memory_, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, memory_file_, 0);
  }

  void answer(Reader request) {
    if (request.number<RequestKind>() == RequestKind::kLoad) return load(request);
    call(request);
  }

  void load(Reader& request) {
    const std::string name(request.text());
    FARCALL_FFI_Handler* handlers[kNumStages];
    for (FARCALL_FFI_Handler*& handler : handlers) {
      HandlerPlace place{std::string(request.text())};
      place.offset = request.number<uint64_t>();
      handler = find_handler(place);
    }
    target_ = make_target(
        name, HandlerBundle{handlers[0], handlers[1], handlers[2], handlers[3], handlers[4]});
  }

  void call(Reader& request) {
    for (auto count = request.number<uint64_t>(); count > 0; --count) {
      sites_.erase(request.number<uint64_t>());
    }
    const auto number = request.number<uint64_t>();
    const bool is_new = request.number<bool>();
    if (is_new) {
      ForeignCallSpec spec = {.target = target_};
      for (auto* types : {&spec.arguments, &spec.results}) {
        for (auto count = request.number<uint64_t>(); count > 0; --count) {
          types->push_back(request.type());
        }
      }
      spec.attributes = request.attributes();
      spec.is_checked = request.number<bool>();
      sites_[number] = std::make_unique<Site>(std::move(spec));
    }
    Invocation& invocation = sites_.at(number)->invocation;
    ExecutionOptions options;
    options.run_id = request.number<int64_t>();
    options.device_ordinal = request.number<int32_t>();
    const auto operand = [&]() -> void* {
      const auto offset = request.number<uint64_t>();
      return offset == 0 ? nullptr : memory_ + offset;
    };
    for (size_t i = 0; i < invocation.num_arguments(); ++i) invocation.set_argument(i, operand());
    for (size_t i = 0; i < invocation.num_results(); ++i) invocation.set_result(i, operand());
    invocation.begin(options);
    try {
      invocation.prepare();
      invocation.initialize();
      invocation.execute();
    } catch (...) {
      invocation.end();
      if (is_new) sites_.erase(number);  // the caller describes it again
      throw;
    }
    invocation.end();
  }

  static inline Server* g_server = nullptr;

  int socket_, memory_file_;
  char* memory_ = nullptr;
  size_t mapped_ = 0;
  std::shared_ptr<const Target> target_;
  std::map<uint64_t, std::unique_ptr<Site>> sites_;
};

}  // namespace
}  // namespace farcall::runtime

void farcall::detail::serve_isolated_calls(int socket, int memory) {
  // Programs that a handler starts must not hold them.
  for (const int file : {socket, memory}) fcntl(file, F_SETFD, FD_CLOEXEC);
  runtime::catch_signals();
  runtime::end_with_the_other_side(socket);
  runtime::Server(socket, memory).run();
  _exit(0);  // skips destructors of the handlers' libraries
}
