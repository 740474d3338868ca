// Handlers with one defect each, written with farcall/ffi.h: what they do to their process, what
// they take from it, and what they keep from earlier calls. check_test.cpp tells which.
#undef NDEBUG
#include <farcall/ffi.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace ffi = farcall::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using Out = ffi::ResultBuffer<ffi::F32>;

static void scale(F32 x, Out y, float factor) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
}

// ---- what a call leaves changed ----

static void changes_directory(F32 x, Out y) {
  if (chdir("/") == 0) scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(changes_directory, changes_directory);

static void changes_locale(F32 x, Out y) {
  std::setlocale(LC_ALL, "C.UTF-8");
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(changes_locale, changes_locale);

static void ignores_interrupts(F32 x, Out y) {
  std::signal(SIGINT, SIG_IGN);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(ignores_interrupts, ignores_interrupts);

static void closes_output(F32 x, Out y) {
  close(STDOUT_FILENO);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(closes_output, closes_output);

static void redirects_output(F32 x, Out y) {
  const int file = open("/dev/zero", O_WRONLY);
  dup2(file, STDOUT_FILENO);
  close(file);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(redirects_output, redirects_output);

static void closes_files(F32 x, Out y) {
  for (int file = 3; file < 20; ++file) close(file);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(closes_files, closes_files);

static void reads_input(F32 x, Out y) { scale(x, y, std::getchar() == EOF ? 1 : 2); }
FARCALL_DEFINE_HANDLER(reads_input, reads_input);

static void blocks_interrupts(F32 x, Out y) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(blocks_interrupts, blocks_interrupts);

static void sets_alarm(F32 x, Out y) {
  scale(x, y, 1);
  alarm(100);
}
FARCALL_DEFINE_HANDLER(sets_alarm, sets_alarm);

static void sets_variable(F32 x, Out y) {
  setenv("OMP_NUM_THREADS", "1", 1);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(sets_variable, sets_variable);

static void pins_thread(F32 x, Out y) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(sched_getcpu(), &first);
  sched_setaffinity(0, sizeof(first), &first);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(pins_thread, pins_thread);

static void lowers_limit(F32 x, Out y) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 600;
  setrlimit(RLIMIT_NOFILE, &limit);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(lowers_limit, lowers_limit);

static void opens_mask(F32 x, Out y) {
  umask(0);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(opens_mask, opens_mask);

static void replaces_terminate(F32 x, Out y) {
  std::set_terminate([] { _exit(0); });
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(replaces_terminate, replaces_terminate);

// The process outlives the one that started it.
static void leaves_daemon(F32 x, Out y) {
  scale(x, y, 1);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) sleep(3);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}
FARCALL_DEFINE_HANDLER(leaves_daemon, leaves_daemon);

static void leaves_process(F32 x, Out y) {
  scale(x, y, 1);
  if (fork() == 0) _exit(0);  // and nobody waits for it
}
FARCALL_DEFINE_HANDLER(leaves_process, leaves_process);

// ---- what results depend on ----

static void uses_variable(F32 x, Out y) {
  const char* value = std::getenv("KERNEL_SCALE");
  scale(x, y, value ? std::strtof(value, nullptr) : 1);
}
FARCALL_DEFINE_HANDLER(uses_variable, uses_variable);

static void uses_directory(F32 x, Out y) {
  char path[4096];
  scale(x, y, getcwd(path, sizeof(path)) ? static_cast<float>(std::strlen(path)) : 0);
}
FARCALL_DEFINE_HANDLER(uses_directory, uses_directory);

static void uses_time_zone(F32 x, Out y) {
  const time_t date = 1700000000;
  tm parts = {};
  localtime_r(&date, &parts);
  scale(x, y, static_cast<float>(parts.tm_hour));
}
FARCALL_DEFINE_HANDLER(uses_time_zone, uses_time_zone);

static void uses_thread(F32 x, Out y) {
  static std::atomic<int> num_threads{0};
  static thread_local const int number = ++num_threads;
  scale(x, y, static_cast<float>(number));
}
FARCALL_DEFINE_HANDLER(uses_thread, uses_thread);

static void uses_number_of_threads(F32 x, Out y, ffi::ThreadPool pool) {
  scale(x, y, static_cast<float>(pool.num_threads()));
}
FARCALL_DEFINE_HANDLER(uses_number_of_threads, uses_number_of_threads);

static void uses_order_of_addresses(F32 x, Out y) {
  const auto in = reinterpret_cast<uintptr_t>(x.typed_data());
  scale(x, y, in < reinterpret_cast<uintptr_t>(y->typed_data()) ? 1 : 2);
}
FARCALL_DEFINE_HANDLER(uses_order_of_addresses, uses_order_of_addresses);

// ---- what is kept from earlier calls ----

static void uses_largest_size(F32 x, Out y) {
  static std::atomic<size_t> largest{1};
  size_t known = largest;
  while (x.element_count() > known && !largest.compare_exchange_weak(known, x.element_count())) {
  }
  scale(x, y, 1 / static_cast<float>(largest));
}
FARCALL_DEFINE_HANDLER(uses_largest_size, uses_largest_size);

struct Kept {
  std::mutex mutex;
  bool is_set = false;
  float first = 0;
};
static ffi::ErrorOr<std::unique_ptr<Kept>> make_kept() { return std::make_unique<Kept>(); }
FARCALL_DEFINE_HANDLER(keeps_first_value_instantiate, make_kept, ffi::kInstantiate);

static void keeps_first_value(F32 x, Out y, ffi::State<Kept> kept) {
  const std::lock_guard lock(kept->mutex);
  if (!kept->is_set && x.element_count() > 0) kept->first = x.typed_data()[0];
  kept->is_set |= x.element_count() > 0;
  scale(x, y, kept->first);
}
FARCALL_DEFINE_HANDLER(keeps_first_value, keeps_first_value);

// The sum of an operand at this address was computed before.
static void keeps_sum(F32 x, Out y) {
  static std::mutex mutex;
  static std::map<const float*, float> sums;
  const std::lock_guard lock(mutex);
  const auto [sum, is_new] = sums.try_emplace(x.typed_data(), 0.f);
  for (size_t i = 0; is_new && i < x.element_count(); ++i) sum->second += x.typed_data()[i];
  scale(x, y, sum->second);
}
FARCALL_DEFINE_HANDLER(keeps_sum, keeps_sum);

// The results of the first call of each size.
static void keeps_results_of_size(F32 x, Out y) {
  static std::mutex mutex;
  static std::map<size_t, std::string> known;
  const std::lock_guard lock(mutex);
  scale(x, y, 2);
  auto* data = reinterpret_cast<char*>(y->typed_data());
  const auto [kept, is_new] =
      known.try_emplace(x.element_count(), std::string(data, x.element_count() * sizeof(float)));
  std::memcpy(data, kept->second.data(), kept->second.size());
}
FARCALL_DEFINE_HANDLER(keeps_results_of_size, keeps_results_of_size);

// Returns early without elements.
static ffi::Error leaks_when_empty(F32 x, Out y) {
  auto* work = new float[4];
  asm volatile("" : "+r"(work));
  if (x.element_count() == 0) return {};
  scale(x, y, 1);
  delete[] work;
  return {};
}
FARCALL_DEFINE_HANDLER(leaks_when_empty, leaks_when_empty);

static void leaks_when_even(F32 x, Out y) {
  auto* work = new float[4];
  asm volatile("" : "+r"(work));
  scale(x, y, 1);
  if (x.element_count() % 2 == 1) delete[] work;
}
FARCALL_DEFINE_HANDLER(leaks_when_even, leaks_when_even);

static void leaks_when_large(F32 x, Out y) {
  auto* work = new float[4];
  asm volatile("" : "+r"(work));
  scale(x, y, 1);
  if (x.element_count() <= 4096) delete[] work;
}
FARCALL_DEFINE_HANDLER(leaks_when_large, leaks_when_large);

static void keeps_text(F32 x, Out y) {
  static std::mutex mutex;
  static std::string log;
  const std::lock_guard lock(mutex);
  log += "called ";
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(keeps_text, keeps_text);

static void keeps_block_for_thread(F32 x, Out y) {
  static thread_local float* const one = new float(1);
  scale(x, y, *one);
}
FARCALL_DEFINE_HANDLER(keeps_block_for_thread, keeps_block_for_thread);

static void opens_every_third_time(F32 x, Out y) {
  static std::atomic<int> count{0};
  if (++count % 3 == 0 && open("/dev/null", O_RDONLY) < 0) return;
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(opens_every_third_time, opens_every_third_time);

static void maps_every_third_time(F32 x, Out y) {
  static std::atomic<int> count{0};
  constexpr int kBoth = PROT_READ | PROT_WRITE;
  if (++count % 3 == 0) mmap(nullptr, 1 << 14, kBoth, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(maps_every_third_time, maps_every_third_time);

static void keeps_attribute(F32 x, Out y, float factor) {
  static const float kept = factor;
  scale(x, y, kept);
}
FARCALL_DEFINE_HANDLER(keeps_attribute, keeps_attribute, "factor");

static void keeps_pointer_to_attribute(F32 x, Out y, ffi::Span<const double> factors) {
  static const double* const kept = factors.begin();
  scale(x, y, static_cast<float>(*kept));
}
FARCALL_DEFINE_HANDLER(keeps_pointer_to_attribute, keeps_pointer_to_attribute, "factors");

static void leaves_lock(F32 x, Out y) {
  static std::mutex mutex;
  mutex.lock();
  scale(x, y, 1);
}
FARCALL_DEFINE_HANDLER(leaves_lock, leaves_lock);

// ---- signals ----

static void ends_parent(F32 x, Out y) {
  scale(x, y, 1);
  kill(getppid(), SIGKILL);
}
FARCALL_DEFINE_HANDLER(ends_parent, ends_parent);

static void ends_everything(F32 x, Out y) {
  scale(x, y, 1);
  kill(-1, SIGTERM);
}
FARCALL_DEFINE_HANDLER(ends_everything, ends_everything);

static void stops_itself(F32 x, Out y) {
  scale(x, y, 1);
  raise(SIGSTOP);
}
FARCALL_DEFINE_HANDLER(stops_itself, stops_itself);

// ---- others ----

static void uses_number_of_processors(F32 x, Out y) {
  scale(x, y, static_cast<float>(std::thread::hardware_concurrency()));
}
FARCALL_DEFINE_HANDLER(uses_number_of_processors, uses_number_of_processors);

static ffi::Error needs_alignment(F32 x, Out y) {
  if (reinterpret_cast<uintptr_t>(x.typed_data()) % 256 != 0)
    return ffi::Error::InvalidArgument("x must be aligned to 256 bytes");
  scale(x, y, 1);
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(needs_alignment, needs_alignment);

static ffi::Future fulfils_twice(F32 x, Out y) {
  scale(x, y, 1);
  ffi::Promise promise;
  ffi::Future future(promise);
  promise.SetAvailable();
  promise.SetAvailable();
  return future;
}
FARCALL_DEFINE_HANDLER(fulfils_twice, fulfils_twice);

static ffi::Future counts_too_far(F32 x, Out y) {
  scale(x, y, 1);
  ffi::CountDownPromise promise(2);
  ffi::Future future(promise);
  for (int i = 0; i < 3; ++i) promise.CountDown();
  return future;
}
FARCALL_DEFINE_HANDLER(counts_too_far, counts_too_far);

static void odd_bools(F32 x, ffi::ResultBuffer<ffi::PRED> y) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    const unsigned char byte = x.typed_data()[i] > 0 ? 0xf0 : 0;
    std::memcpy(static_cast<char*>(y->untyped_data()) + i, &byte, 1);
  }
}
FARCALL_DEFINE_HANDLER(odd_bools, odd_bools);

static ffi::Future drops_promise(F32 x, Out y) {
  scale(x, y, 1);
  ffi::Promise promise;
  ffi::Future future(promise);
  if (x.element_count() != 4) promise.SetAvailable();
  return future;
}
FARCALL_DEFINE_HANDLER(drops_promise, drops_promise);

// After 64 elements, a rest of 13 is taken for one of 12.
static void misses_one_rest(F32 x, Out y) {
  const size_t n = x.element_count();
  const size_t count = n > 64 && n % 16 == 13 ? n - 1 : n;
  std::memcpy(y->typed_data(), x.typed_data(), count * sizeof(float));
}
FARCALL_DEFINE_HANDLER(misses_one_rest, misses_one_rest);
