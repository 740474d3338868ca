// Sound handlers that look suspicious, written with farcall/ffi.h: check finds nothing here.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using S32 = ffi::Buffer<ffi::S32>;
using Out = ffi::Result<F32>;

// With an alias of argument and result; element by element.
static void in_place(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] * 2 + 1;
}
FARCALL_DEFINE_HANDLER(in_place, in_place);

// Only the first element changes: the others are there already.
static void updates_first(F32, Out y) {
  if (y->element_count() > 0) y->typed_data()[0] += 1;
}
FARCALL_DEFINE_HANDLER(updates_first, updates_first);

static void two_passes(F32 x, Out y) {
  std::memset(y->typed_data(), 0, y->size_bytes());
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(two_passes, two_passes);

static void uses_scratch(F32 x, Out y, ffi::ScratchAllocator scratch) {
  const size_t n = x.element_count();
  auto* sums = static_cast<float*>(*scratch.Allocate((n + 1) * sizeof(float), 64));
  sums[0] = 0;
  for (size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + x.typed_data()[i];
  std::memcpy(y->typed_data(), sums + 1, n * sizeof(float));
}
FARCALL_DEFINE_HANDLER(uses_scratch, uses_scratch);

static void sums_in_order(F32 x, ffi::Result<ffi::BufferR0<ffi::F64>> sum) {
  double total = 0;
  for (size_t i = 0; i < x.element_count(); ++i) total += static_cast<double>(x.typed_data()[i]);
  *sum->typed_data() = total;
}
FARCALL_DEFINE_HANDLER(sums_in_order, sums_in_order);

static ffi::Error refuses_odd(F32 x, Out y) {
  if (x.element_count() % 2 != 0) return ffi::Error::InvalidArgument("the size must be even");
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return {};
}
FARCALL_DEFINE_HANDLER(refuses_odd, refuses_odd);

static ffi::Error refuses_empty(F32 x, ffi::Result<ffi::BufferR0<ffi::F32>> largest) {
  if (x.element_count() == 0)
    return ffi::Error::InvalidArgument("there is no largest of no elements");
  float found = x.typed_data()[0];
  for (size_t i = 1; i < x.element_count(); ++i) found = std::fmax(found, x.typed_data()[i]);
  *largest->typed_data() = found;
  return {};
}
FARCALL_DEFINE_HANDLER(refuses_empty, refuses_empty);

static ffi::Error checks_index(F32 x, S32 index, Out y) {
  for (size_t i = 0; i < index.element_count(); ++i) {
    const int32_t at = index.typed_data()[i];
    if (at < 0 || static_cast<size_t>(at) >= x.element_count())
      return ffi::Error::OutOfRange("an index is out of range");
    y->typed_data()[i] = x.typed_data()[at];
  }
  return {};
}
FARCALL_DEFINE_HANDLER(checks_index, checks_index);

// A cache that grows once.
static void caches(F32 x, Out y) {
  static std::mutex mutex;
  static std::vector<float>* table = nullptr;
  const std::lock_guard lock(mutex);
  if (table == nullptr) table = new std::vector<float>(1000, 2.0f);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * (*table)[i % 1000];
}
FARCALL_DEFINE_HANDLER(caches, caches);

static std::atomic<int64_t> g_calls{0};
static void counts_for_itself(F32 x, Out y) {
  ++g_calls;
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(counts_for_itself, counts_for_itself);

struct Scale {
  float factor;
};
static ffi::ErrorOr<std::unique_ptr<Scale>> make_scale(float factor) {
  return std::make_unique<Scale>(Scale{factor});
}
FARCALL_DEFINE_HANDLER(scales_instantiate, make_scale, ffi::kInstantiate, "factor");
static void scales(ffi::State<Scale> scale, F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * scale->factor;
}
FARCALL_DEFINE_HANDLER(scales, scales);

// An exception that does not leave.
static ffi::Error catches(F32 x, Out y) {
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  try {
    if (x.element_count() == 3) (void)std::vector<int>(1).at(2);
  } catch (const std::exception&) {
    return ffi::Error::InvalidArgument("three is too few");
  }
  return {};
}
FARCALL_DEFINE_HANDLER(catches, catches);

static void makes_nan(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = std::sqrt(x.typed_data()[i]);
}
FARCALL_DEFINE_HANDLER(makes_nan, makes_nan);

// All bits set is what a result often holds.
static void all_bits(S32, ffi::Result<S32> y) {
  std::memset(y->typed_data(), 0xff, y->size_bytes());
}
FARCALL_DEFINE_HANDLER(all_bits, all_bits);

// Sums of rows of a matrix that lies column by column.
static void column_major_sums(ffi::BufferR2<ffi::F32> x,
                              ffi::Result<ffi::BufferR1<ffi::F32>> sums) {
  const auto rows = x.dimensions()[0], columns = x.dimensions()[1];
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += x.typed_data()[j * rows + i];
    sums->typed_data()[i] = sum;
  }
}
FARCALL_DEFINE_HANDLER(column_major_sums, column_major_sums);

// ---- memory of its own ----

// Room to spare that is never written and never read, as a vector that grows leaves it.
static void grows(F32 x, Out y) {
  std::vector<float> seen;
  for (size_t i = 0; i < x.element_count(); ++i) seen.push_back(x.typed_data()[i] + 1);
  std::copy(seen.begin(), seen.end(), y->typed_data());
}
FARCALL_DEFINE_HANDLER(grows, grows);

static void large_stack(F32 x, Out y) {
  float table[1 << 16];
  for (size_t i = 0; i < (1 << 16); ++i) table[i] = static_cast<float>(i % 7);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + table[i % (1 << 16)];
}
FARCALL_DEFINE_HANDLER(large_stack, large_stack);

// Mapped memory is zero.
static void maps_memory(F32 x, Out y) {
  const size_t nbytes = x.size_bytes() + 1;
  auto* memory = static_cast<float*>(
      mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t i = 0; i < x.element_count(); ++i) memory[i] += x.typed_data()[i];
  std::memcpy(y->typed_data(), memory, x.size_bytes());
  munmap(memory, nbytes);
}
FARCALL_DEFINE_HANDLER(maps_memory, maps_memory);

static void zeroed_block(F32 x, Out y) {
  auto* sums = static_cast<float*>(std::calloc(x.element_count() + 1, sizeof(float)));
  for (size_t i = 0; i < x.element_count(); ++i) sums[i] += x.typed_data()[i] * 2;
  std::memcpy(y->typed_data(), sums, x.size_bytes());
  std::free(sums);
}
FARCALL_DEFINE_HANDLER(zeroed_block, zeroed_block);

// Three blocks, one of them empty, one larger than what is used.
static void many_scratch(F32 x, Out y, ffi::ScratchAllocator scratch) {
  const size_t n = x.element_count();
  (void)scratch.Allocate(0, 1);
  auto* first = static_cast<float*>(*scratch.Allocate(n * sizeof(float) + 1, 128));
  auto* second = static_cast<float*>(*scratch.Allocate(4 * n * sizeof(float) + 4, 4));
  for (size_t i = 0; i < n; ++i) first[i] = x.typed_data()[i] + 1;
  for (size_t i = 0; i < n; ++i) second[i] = first[n - 1 - i];
  std::memcpy(y->typed_data(), second, n * sizeof(float));
}
FARCALL_DEFINE_HANDLER(many_scratch, many_scratch);

static void opens_and_closes(F32 x, Out y) {
  const int file = open("/dev/zero", O_RDONLY);
  float zero = 1;
  if (read(file, &zero, sizeof(zero)) != sizeof(zero)) zero = 0;
  close(file);
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + zero;
}
FARCALL_DEFINE_HANDLER(opens_and_closes, opens_and_closes);

// Memory that is not initialized goes through the same arithmetic, and is left out.
static void dead_lanes(F32 x, Out y) {
  const size_t n = x.element_count(), padded = (n + 8) / 8 * 8;
  const std::unique_ptr<float[]> lanes(new float[padded]);
  std::copy(x.typed_data(), x.typed_data() + n, lanes.get());
  for (size_t i = 0; i < padded; ++i) lanes[i] += 1;
  std::copy(lanes.get(), lanes.get() + n, y->typed_data());
}
FARCALL_DEFINE_HANDLER(dead_lanes, dead_lanes);

// One block that grows, kept from call to call.
static void resizes(F32 x, Out y) {
  static std::mutex mutex;
  static float* block = nullptr;
  static size_t size = 0;
  const std::lock_guard lock(mutex);
  if (x.element_count() >= size) {
    size = x.element_count() + 1;
    block = static_cast<float*>(std::realloc(block, size * sizeof(float)));
  }
  std::copy(x.typed_data(), x.typed_data() + x.element_count(), block);
  block[x.element_count()] = 0;
  std::copy(block, block + x.element_count(), y->typed_data());
}
FARCALL_DEFINE_HANDLER(resizes, resizes);

static void allocates_much(F32 x, Out y) {
  const std::vector<char> much(40 << 20);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + static_cast<float>(much[i]);
}
FARCALL_DEFINE_HANDLER(allocates_much, allocates_much);

static void prints(F32 x, Out y) {
  std::printf("%zu elements\n", x.element_count());
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(prints, prints);

// ---- results that look as if they depended on more than the inputs ----

static void sums_in_place(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + (i == 0 ? 0 : y->typed_data()[i - 1]);
}
FARCALL_DEFINE_HANDLER(sums_in_place, sums_in_place);

static void fixed_seed(F32 x, Out y) {
  std::mt19937 random(42);
  std::uniform_real_distribution<float> noise(-1, 1);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + noise(random);
}
FARCALL_DEFINE_HANDLER(fixed_seed, fixed_seed);

static void hash_table(S32 x, ffi::Result<S32> counts) {
  std::unordered_map<int32_t, int32_t> seen;
  for (size_t i = 0; i < x.element_count(); ++i) ++seen[x.typed_data()[i]];
  for (size_t i = 0; i < x.element_count(); ++i) counts->typed_data()[i] = seen[x.typed_data()[i]];
}
FARCALL_DEFINE_HANDLER(hash_table, hash_table);

// How long it takes decides nothing.
static void looks_at_the_clock(F32 x, Out y) {
  const auto begin = std::chrono::steady_clock::now();
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  static std::atomic<int64_t> nanoseconds{0};
  nanoseconds += (std::chrono::steady_clock::now() - begin).count();
}
FARCALL_DEFINE_HANDLER(looks_at_the_clock, looks_at_the_clock);

// Each lies in the other's place only after both were read.
static void swaps(F32 a, F32 b, Out x, Out y) {
  for (size_t i = 0; i < a.element_count(); ++i) {
    const float first = a.typed_data()[i], second = b.typed_data()[i];
    x->typed_data()[i] = second;
    y->typed_data()[i] = first;
  }
}
FARCALL_DEFINE_HANDLER(swaps, swaps);

static ffi::Error any_number(ffi::RemainingArgs args, ffi::RemainingRets results) {
  if (args.size() != results.size())
    return ffi::Error::InvalidArgument("wants a result for each argument");
  for (size_t i = 0; i < args.size(); ++i) {
    auto in = args.get<F32>(i);
    auto out = results.get<F32>(i);
    if (!in || !out) return ffi::Error::InvalidArgument("wants float32");
    std::memcpy((*out)->typed_data(), in->typed_data(), in->size_bytes());
  }
  return {};
}
FARCALL_DEFINE_HANDLER(any_number, any_number);

static void rounds_down_meanwhile(F32 x, Out y) {
  const int before = std::fegetround();
  std::fesetround(FE_DOWNWARD);
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] / 3;
  std::fesetround(before);
}
FARCALL_DEFINE_HANDLER(rounds_down_meanwhile, rounds_down_meanwhile);

// A process that ends by itself.
static void asks_a_process(F32 x, Out y) {
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  if (x.element_count() != 9) return;
  const pid_t process = fork();
  if (process == 0) _exit(0);
  waitpid(process, nullptr, 0);
}
FARCALL_DEFINE_HANDLER(asks_a_process, asks_a_process);

// A wait with a time at which it ends.
static void waits_until(F32 x, Out y) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::thread other([&] {
    std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
    const std::lock_guard lock(mutex);
    is_done = true;
    changed.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    while (!is_done)
      changed.wait_until(lock, std::chrono::system_clock::now() + std::chrono::seconds(1));
  }
  other.join();
}
FARCALL_DEFINE_HANDLER(waits_until, waits_until);

// Every second element, rounded up.
static ffi::Error every_second(F32 x, Out y) {
  if (y->element_count() != (x.element_count() + 1) / 2)
    return ffi::Error::InvalidArgument("the result must have (N+1)//2 elements");
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] = x.typed_data()[2 * i];
  return {};
}
FARCALL_DEFINE_HANDLER(every_second, every_second);

// The environment decides how the results are computed, and what is printed, not what they are.
static void asks_the_environment(F32 x, Out y) {
  const char* setting = std::getenv("KERNEL_BLOCK");
  const size_t block = setting ? std::strtoul(setting, nullptr, 10) : 8;
  if (std::getenv("KERNEL_VERBOSE")) std::puts("asks_the_environment");
  const size_t n = x.element_count(), step = block > 0 ? block : 1;
  for (size_t begin = 0; begin < n; begin += step) {
    for (size_t i = begin; i < n && i < begin + step; ++i) y->typed_data()[i] = x.typed_data()[i];
  }
}
FARCALL_DEFINE_HANDLER(asks_the_environment, asks_the_environment);

// For a moment.
static void changes_back(F32 x, Out y) {
  char directory[4096];
  if (!getcwd(directory, sizeof(directory)) || chdir("/") != 0) return;
  std::copy_n(x.typed_data(), x.element_count(), y->typed_data());
  if (chdir(directory) != 0) y->typed_data()[0] = 0;
}
FARCALL_DEFINE_HANDLER(changes_back, changes_back);

// The values of the last call are kept, and are not used unless all are the same.
static void remembers(F32 x, Out y) {
  static thread_local std::vector<float> operand, result;
  const std::vector<float> values(x.typed_data(), x.typed_data() + x.element_count());
  if (values != operand) {
    result = operand = values;
    for (float& each : result) each *= 2;
  }
  std::copy(result.begin(), result.end(), y->typed_data());
}
FARCALL_DEFINE_HANDLER(remembers, remembers);

// A history of the latest calls.
static void keeps_history(F32 x, Out y) {
  static std::mutex mutex;
  static std::vector<std::vector<float>> history;
  const std::lock_guard lock(mutex);
  history.emplace_back(x.typed_data(), x.typed_data() + x.element_count());
  if (history.size() > 8) history.erase(history.begin());
  std::copy_n(x.typed_data(), x.element_count(), y->typed_data());
}
FARCALL_DEFINE_HANDLER(keeps_history, keeps_history);

// One table for each value of the attribute.
static void tables_of_factors(F32 x, Out y, float factor) {
  static std::mutex mutex;
  static std::unordered_map<float, std::vector<float>> tables;
  const std::lock_guard lock(mutex);
  std::vector<float>& table = tables[factor];
  if (table.empty()) table.assign(4, factor);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = table[i % 4] * x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(tables_of_factors, tables_of_factors, "factor");

// The guaranteed alignment.
static ffi::Error needs_64_bytes(F32 x, Out y) {
  if (reinterpret_cast<uintptr_t>(x.typed_data()) % 64 != 0)
    return ffi::Error::InvalidArgument("x must be aligned to 64 bytes");
  std::copy_n(x.typed_data(), x.element_count(), y->typed_data());
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(needs_64_bytes, needs_64_bytes);

// A process of its own, which a signal ends; and a thread that runs on one processor alone and
// blocks signals, for a moment.
static void masks_and_kills(F32 x, Out y) {
  sigset_t all, signals;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &signals);
  cpu_set_t processors, one;
  sched_getaffinity(0, sizeof(processors), &processors);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::copy_n(x.typed_data(), x.element_count(), y->typed_data());
  sched_setaffinity(0, sizeof(processors), &processors);
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}
FARCALL_DEFINE_HANDLER(masks_and_kills, masks_and_kills);

// A file that stays open from call to call, and is opened again now and then.
static void reopens(F32 x, Out y) {
  static std::mutex mutex;
  static int file = -1, count = 0;
  const std::lock_guard lock(mutex);
  if (count++ % 4 == 0) {
    if (file >= 0) close(file);
    file = open(count % 8 == 1 ? "/dev/null" : "/dev/zero", O_RDONLY);
  }
  std::copy_n(x.typed_data(), x.element_count(), y->typed_data());
}
FARCALL_DEFINE_HANDLER(reopens, reopens);

// No handler: farcall does not call it unless it is named.
extern "C" __attribute__((visibility("default"))) void* never_returns(void*) {
  while (true) pause();
}
