// Handlers with one defect each, written with farcall/ffi.h. check_test.cpp tells which.
#include <pthread.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using S32 = ffi::Buffer<ffi::S32>;
using Out = ffi::Result<F32>;

// A compiler that sees the defect may remove it.
#define OPAQUE(value) asm volatile("" : "+r"(value))

static void copy(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
}

// ---- out of bounds ----

static void write_past(F32 x, Out y) {
  copy(x, y);
  y->typed_data()[x.element_count()] = 1;
}
FARCALL_DEFINE_HANDLER(write_past, write_past);

static void copy_past(F32 x, Out y) {
  for (size_t i = 0; i <= x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(copy_past, copy_past);

static void copy_past_blocks(F32 x, Out y) {
  const size_t n = x.element_count();
  std::vector<float> from(x.typed_data(), x.typed_data() + n), to(n);
  float *source = from.data(), *copied = to.data();
  OPAQUE(source);
  OPAQUE(copied);
  for (size_t i = 0; n > 0 && i <= n; ++i) copied[i] = source[i];
  std::copy_n(copied, n, y->typed_data());
}
FARCALL_DEFINE_HANDLER(copy_past_blocks, copy_past_blocks);

static void write_before(F32 x, Out y) {
  copy(x, y);
  float* data = y->typed_data();
  OPAQUE(data);
  if (x.element_count() > 0) data[-1] = 1;
}
FARCALL_DEFINE_HANDLER(write_before, write_before);

// Whole vectors of four, also at the end.
static void write_tail(F32 x, Out y) {
  const size_t n = x.element_count();
  for (size_t i = 0; i < n; i += 4) {
    for (size_t j = 0; j < 4; ++j) y->typed_data()[i + j] = i + j < n ? x.typed_data()[i + j] : 0;
  }
}
FARCALL_DEFINE_HANDLER(write_tail, write_tail);

static void read_past(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i + 1];
}
FARCALL_DEFINE_HANDLER(read_past, read_past);

static void read_before(F32 x, Out y) {
  const float* data = x.typed_data();
  OPAQUE(data);
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = data[i] - data[i - 1];
}
FARCALL_DEFINE_HANDLER(read_before, read_before);

static void scratch_past(F32 x, Out y, ffi::ScratchAllocator scratch) {
  const size_t n = x.element_count();
  auto* memory = static_cast<float*>(*scratch.Allocate(n * sizeof(float), 64));
  OPAQUE(memory);
  for (size_t i = 0; i <= n; ++i) memory[i] = 2;
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = memory[i];
}
FARCALL_DEFINE_HANDLER(scratch_past, scratch_past);

// Only where no block is left over.
static void write_past_blocks(F32 x, Out y) {
  copy(x, y);
  if (x.element_count() > 0 && x.element_count() % 1024 == 0)
    y->typed_data()[x.element_count()] = 0;
}
FARCALL_DEFINE_HANDLER(write_past_blocks, write_past_blocks);

static void index_unchecked(F32 x, S32 index, Out y) {
  for (size_t i = 0; i < y->element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[index.typed_data()[i]];
}
FARCALL_DEFINE_HANDLER(index_unchecked, index_unchecked);

// The sums of three adjacent elements: the result has two elements fewer than the operand, not one.
static void neighbours(F32 x, Out y) {
  for (size_t i = 0; i < y->element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + x.typed_data()[i + 1] + x.typed_data()[i + 2];
}
FARCALL_DEFINE_HANDLER(neighbours, neighbours);

// Reads the matrix as if it was square.
static void square_only(ffi::BufferR2<ffi::F32> x, ffi::Result<ffi::BufferR2<ffi::F32>> y) {
  const auto rows = x.dimensions()[0], columns = x.dimensions()[1];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      y->typed_data()[i * columns + j] = x.typed_data()[j * columns + i];
    }
  }
}
FARCALL_DEFINE_HANDLER(square_only, square_only);

// A block of its own, not an operand.
static void heap_past(F32 x, Out y) {
  const size_t n = x.element_count();
  auto* sums = new float[n + 1];
  OPAQUE(sums);
  for (size_t i = 0; i <= n + 1; ++i) sums[i] = 0.5f;
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = sums[i] * x.typed_data()[i];
  delete[] sums;
}
FARCALL_DEFINE_HANDLER(heap_past, heap_past);

static void keeps_operand(F32 x, Out y) {
  static const float* first = nullptr;
  const volatile float* of_first_call = first;
  copy(x, y);
  if (of_first_call != nullptr) (void)*of_first_call;
  if (first == nullptr) first = x.typed_data();
}
FARCALL_DEFINE_HANDLER(keeps_operand, keeps_operand);

// Always takes three axes.
static void axes_past(F32 x, Out y, ffi::Span<const int64_t> axes) {
  const int64_t* axis = axes.begin();
  OPAQUE(axis);
  const int64_t sum = axis[0] + axis[1] + axis[2];
  copy(x, y);
  if (sum > 1000000 && x.element_count() > 0) y->typed_data()[0] = 0;
}
FARCALL_DEFINE_HANDLER(axes_past, axes_past, "axes");

// Takes a vector for a matrix.
static void rank_past(F32 x, Out y) {
  const int64_t* sizes = x.dimensions().begin();
  OPAQUE(sizes);
  copy(x, y);
  if (sizes[1] == 123456789 && x.element_count() > 0) y->typed_data()[0] = 0;
}
FARCALL_DEFINE_HANDLER(rank_past, rank_past);

// ---- inputs and results ----

static void sorts_attribute(F32 x, Out y, ffi::Span<const float> weights) {
  auto* begin = const_cast<float*>(weights.begin());
  std::sort(begin, begin + weights.size());
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * weights[0];
}
FARCALL_DEFINE_HANDLER(sorts_attribute, sorts_attribute, "weights");

// A comparison with nan is false.
static void largest_without_nan(F32 x, ffi::Result<ffi::BufferR0<ffi::F32>> largest) {
  float found = -INFINITY;
  for (size_t i = 0; i < x.element_count(); ++i) {
    if (x.typed_data()[i] > found) found = x.typed_data()[i];
  }
  *largest->typed_data() = found;
}
FARCALL_DEFINE_HANDLER(largest_without_nan, largest_without_nan);
static void largest(F32 x, ffi::Result<ffi::BufferR0<ffi::F32>> largest) {
  float found = -INFINITY;
  for (size_t i = 0; i < x.element_count(); ++i) {
    const float value = x.typed_data()[i];
    if (std::isnan(value) || value > found) found = value;
    if (std::isnan(found)) break;
  }
  *largest->typed_data() = found;
}
FARCALL_DEFINE_HANDLER(largest, largest);

static void writes_input(F32 x, Out y) {
  auto* data = const_cast<float*>(x.typed_data());
  for (size_t i = 0; i < x.element_count(); ++i) data[i] *= 2;
  copy(x, y);
}
FARCALL_DEFINE_HANDLER(writes_input, writes_input);

static void restores_input(F32 x, Out y) {
  auto* data = const_cast<float*>(x.typed_data());
  if (x.element_count() == 0) return;
  const float first = data[0];
  data[0] = 0;
  OPAQUE(data);
  copy(x, y);
  data[0] = first;
}
FARCALL_DEFINE_HANDLER(restores_input, restores_input);

// Only where the input is negative.
static void clamps_input(F32 x, Out y) {
  auto* data = const_cast<float*>(x.typed_data());
  for (size_t i = 0; i < x.element_count(); ++i) {
    if (data[i] < 0) data[i] = 0;
  }
  copy(x, y);
}
FARCALL_DEFINE_HANDLER(clamps_input, clamps_input);

static void clears_nan(F32 x, Out y) {
  auto* data = const_cast<float*>(x.typed_data());
  for (size_t i = 0; i < x.element_count(); ++i) {
    if (std::isnan(data[i])) data[i] = 0;
  }
  copy(x, y);
}
FARCALL_DEFINE_HANDLER(clears_nan, clears_nan);

// A table in the operand before: index -1 is its last element.
static void index_negative(F32 table, S32 index, Out y) {
  for (size_t i = 0; i < y->element_count(); ++i) {
    const int32_t at = index.typed_data()[i];
    y->typed_data()[i] =
        at < static_cast<int64_t>(table.element_count()) ? table.typed_data()[at] : 0;
  }
}
FARCALL_DEFINE_HANDLER(index_negative, index_negative);

// The limits let nan through, which becomes the least integer.
static void histogram(F32 x, ffi::Result<S32> counts) {
  for (size_t i = 0; i < counts->element_count(); ++i) counts->typed_data()[i] = 0;
  const auto num_bins = static_cast<int32_t>(counts->element_count());
  for (size_t i = 0; num_bins > 0 && i < x.element_count(); ++i) {
    float value = x.typed_data()[i];
    value = value < -3 ? -3 : value > 2.9f ? 2.9f : value;
    int32_t bin = static_cast<int32_t>((value + 3) / 6 * static_cast<float>(num_bins));
    OPAQUE(bin);
    ++counts->typed_data()[bin];
  }
}
FARCALL_DEFINE_HANDLER(histogram, histogram);

static void table_at_position(F32 table, F32 position, Out y) {
  const auto size = static_cast<int32_t>(table.element_count());
  for (size_t i = 0; i < y->element_count(); ++i) {
    float at = position.typed_data()[i];
    if (at < 0) at = 0;
    if (at > static_cast<float>(size - 1)) at = static_cast<float>(size - 1);
    int32_t index = static_cast<int32_t>(at);
    OPAQUE(index);
    y->typed_data()[i] = size > 0 ? table.typed_data()[index] : 0;
  }
}
FARCALL_DEFINE_HANDLER(table_at_position, table_at_position);

static void misses_last(F32 x, Out y) {
  for (size_t i = 0; i + 1 < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(misses_last, misses_last);

// Blocks of eight without the rest.
static void misses_tail(F32 x, Out y) {
  for (size_t i = 0; i + 8 <= x.element_count(); i += 8) {
    for (size_t j = i; j < i + 8; ++j) y->typed_data()[j] = x.typed_data()[j];
  }
}
FARCALL_DEFINE_HANDLER(misses_tail, misses_tail);

static void misses_second(F32 x, Out y, ffi::Result<S32> info) {
  copy(x, y);
  (void)info;
}
FARCALL_DEFINE_HANDLER(misses_second, misses_second);

static void misses_imaginary(F32 x, ffi::Result<ffi::Buffer<ffi::C64>> y) {
  auto* parts = reinterpret_cast<float*>(y->typed_data());
  for (size_t i = 0; i < x.element_count(); ++i) parts[2 * i] = x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(misses_imaginary, misses_imaginary);

// ---- memory that nobody wrote ----

static void accumulates(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(accumulates, accumulates);

static void scratch_unwritten(F32 x, Out y, ffi::ScratchAllocator scratch) {
  const size_t n = x.element_count();
  auto* sums = static_cast<float*>(*scratch.Allocate((n + 1) * sizeof(float), 64));
  OPAQUE(sums);
  for (size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + x.typed_data()[i];
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = sums[i + 1];
}
FARCALL_DEFINE_HANDLER(scratch_unwritten, scratch_unwritten);

static void heap_unwritten(F32 x, Out y) {
  const size_t n = x.element_count();
  std::unique_ptr<float[]> sums(new float[n + 1]);
  float* data = sums.get();
  OPAQUE(data);
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = data[i] + x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(heap_unwritten, heap_unwritten);

// The vector has grown, so that its first element lies elsewhere.
static void heap_freed(F32 x, Out y) {
  std::vector<float> sums = {0.5f};
  const float* first = sums.data();
  OPAQUE(first);
  for (size_t i = 0; i < x.element_count(); ++i) sums.push_back(x.typed_data()[i]);
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = *first + sums[i + 1];
}
FARCALL_DEFINE_HANDLER(heap_freed, heap_freed);

static void stack_unwritten(F32 x, Out y) {
  float table[64];
  float* data = table;
  OPAQUE(data);
  if (x.element_count() > 100000) std::memset(data, 0, sizeof(table));
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = data[i % 64] + x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(stack_unwritten, stack_unwritten);

static void large_array_unwritten(F32 x, Out y) {
  float table[1 << 13];
  float* data = table;
  OPAQUE(data);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = data[i % 64] + x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(large_array_unwritten, large_array_unwritten);

// A flag that is set and never cleared, in each kind of memory.
static void with_flag(F32 x, Out y, volatile int8_t* is_large) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    if (x.typed_data()[i] > 1e30f) *is_large = 1;
  }
  const float factor = *is_large != 0 ? 2 : 1;
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
}

static void scratch_flag(F32 x, Out y, ffi::ScratchAllocator scratch) {
  with_flag(x, y, static_cast<int8_t*>(*scratch.Allocate(16)));
}
FARCALL_DEFINE_HANDLER(scratch_flag, scratch_flag);

static void heap_flag(F32 x, Out y) {
  const std::unique_ptr<int8_t> flag(new int8_t);
  with_flag(x, y, flag.get());
}
FARCALL_DEFINE_HANDLER(heap_flag, heap_flag);

static void stack_flag(F32 x, Out y) {
  int8_t flag;
  int8_t* where = &flag;
  OPAQUE(where);
  with_flag(x, y, where);
}
FARCALL_DEFINE_HANDLER(stack_flag, stack_flag);

static void result_flag(F32 x, ffi::Result<ffi::BufferR0<ffi::S32>> is_large) {
  int32_t* flag = is_large->typed_data();
  for (size_t i = 0; i < x.element_count(); ++i) {
    if (x.typed_data()[i] > 1e30f) *flag = 1;
  }
  OPAQUE(flag);
  *flag = *flag != 0 ? 1 : 0;
}
FARCALL_DEFINE_HANDLER(result_flag, result_flag);

// ---- different each time ----

static void counts_calls(F32 x, Out y) {
  static thread_local int calls = 0;
  ++calls;
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + static_cast<float>(calls);
}
FARCALL_DEFINE_HANDLER(counts_calls, counts_calls);

static void random_seed(F32 x, Out y) {
  std::random_device device;
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + static_cast<float>(device() % 1000);
}
FARCALL_DEFINE_HANDLER(random_seed, random_seed);

static int g_anchor;
static void uses_address(F32 x, Out y) {
  static int* heap = new int(0);
  const auto address =
      (reinterpret_cast<uintptr_t>(&g_anchor) ^ reinterpret_cast<uintptr_t>(heap)) >> 4;
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + static_cast<float>(address % 100003);
}
FARCALL_DEFINE_HANDLER(uses_address, uses_address);

static void uses_process(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + static_cast<float>(getpid());
}
FARCALL_DEFINE_HANDLER(uses_process, uses_process);

static void uses_alignment(F32 x, Out y) {
  const float factor = reinterpret_cast<uintptr_t>(x.typed_data()) % 4096 == 0 ? 1 : 2;
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] * factor;
}
FARCALL_DEFINE_HANDLER(uses_alignment, uses_alignment);

static void uses_time(F32 x, Out y) {
  const time_t now = time(nullptr);
  const int day = localtime(&now)->tm_mday;
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + static_cast<float>(day);
}
FARCALL_DEFINE_HANDLER(uses_time, uses_time);

static void rounds_down(F32 x, Out y) {
  std::fesetround(FE_DOWNWARD);
  copy(x, y);
}
FARCALL_DEFINE_HANDLER(rounds_down, rounds_down);

// ---- threads ----

static void static_buffer(F32 x, Out y) {
  static std::vector<float> buffer(1 << 17);
  const size_t n = x.element_count();
  for (size_t i = 0; i < n; ++i) buffer[i] = x.typed_data()[i] * 2;
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = buffer[i];
}
FARCALL_DEFINE_HANDLER(static_buffer, static_buffer);

static void static_sum(F32 x, ffi::Result<ffi::BufferR0<ffi::F32>> sum) {
  static volatile float total;
  total = 0;
  for (size_t i = 0; i < x.element_count(); ++i) total = total + x.typed_data()[i];
  *sum->typed_data() = total;
}
FARCALL_DEFINE_HANDLER(static_sum, static_sum);

struct Plan {
  std::vector<float> work;
};
static std::unique_ptr<Plan> make_plan() {
  return std::make_unique<Plan>(Plan{std::vector<float>(1 << 17)});
}
FARCALL_DEFINE_HANDLER(shared_state_instantiate, make_plan, ffi::kInstantiate);
static void shared_state(ffi::State<Plan> plan, F32 x, Out y) {
  const size_t n = x.element_count();
  for (size_t i = 0; i < n; ++i) plan->work[i] = x.typed_data()[i] + 1;
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = plan->work[i];
}
FARCALL_DEFINE_HANDLER(shared_state, shared_state);

// Built again for another size.
static void table_of_size(F32 x, Out y) {
  static volatile float table[1 << 17];
  static volatile size_t size = 0;
  const size_t n = x.element_count();
  if (size != n) {
    size = n;
    for (size_t i = 0; i < n; ++i) table[i] = static_cast<float>(i) / static_cast<float>(n);
  }
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = x.typed_data()[i] * table[i];
}
FARCALL_DEFINE_HANDLER(table_of_size, table_of_size);

// Built by the first call.
static void table_once(F32 x, Out y) {
  static volatile bool is_ready = false;
  static volatile float table[1 << 16];
  if (!is_ready) {
    is_ready = true;
    usleep(2000);  // as if it read a file
    for (int i = 1 << 16; i-- > 0;) table[i] = std::cos(static_cast<float>(i));
  }
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * table[i % (1 << 16)];
}
FARCALL_DEFINE_HANDLER(table_once, table_once);

// Filled within microseconds of the first call.
static void table_while_filled(F32 x, Out y) {
  static std::vector<float>* volatile table = nullptr;
  if (!table) {
    auto* made = new std::vector<float>;
    table = made;
    for (int i = 0; i < 1000; ++i) made->push_back(static_cast<float>(i));
  }
  copy(x, y);
  if (x.element_count() > 0) y->typed_data()[0] = table->size() > 999 ? (*table)[999] : -1;
}
FARCALL_DEFINE_HANDLER(table_while_filled, table_while_filled);

// With many elements, the largest ones of two operands hardly differ.
static void static_largest(F32 x, Out y) {
  static volatile float largest;
  float most = 0;
  for (size_t i = 0; i < x.element_count(); ++i) most = std::max(most, std::abs(x.typed_data()[i]));
  largest = most;
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] / largest;
}
FARCALL_DEFINE_HANDLER(static_largest, static_largest);

// Two threads add to one number.
static void own_threads(F32 x, ffi::Result<ffi::BufferR0<ffi::S32>> count) {
  volatile int32_t total = 0;
  const auto add = [&] {
    for (int i = 0; i < 20000; ++i) total = total + 1;
  };
  std::thread other(add);
  add();
  other.join();
  *count->typed_data() = total + static_cast<int32_t>(x.element_count());
}
FARCALL_DEFINE_HANDLER(own_threads, own_threads);

// ---- what is kept ----

static void leaks_block(F32 x, Out y) {
  auto* copy_of_x = new float[x.element_count() + 1];
  OPAQUE(copy_of_x);
  copy(x, y);
}
FARCALL_DEFINE_HANDLER(leaks_block, leaks_block);

static void leaks_file(F32 x, Out y) {
  (void)!open("/dev/null", O_RDONLY);
  copy(x, y);
}
FARCALL_DEFINE_HANDLER(leaks_file, leaks_file);

static void leaks_thread(F32 x, Out y) {
  pthread_t thread;
  const auto wait = [](void*) -> void* {
    while (true) pause();
  };
  pthread_create(&thread, nullptr, wait, nullptr);
  pthread_detach(thread);
  copy(x, y);
}
FARCALL_DEFINE_HANDLER(leaks_thread, leaks_thread);

struct Tables {
  float* table;  // nobody deletes it
};
static std::unique_ptr<Tables> make_tables() {
  return std::make_unique<Tables>(Tables{new float[100]});
}
FARCALL_DEFINE_HANDLER(leaks_state_instantiate, make_tables, ffi::kInstantiate);
static void leaks_state(ffi::State<Tables> tables, F32 x, Out y) {
  tables->table[0] = 1;
  copy(x, y);
}
FARCALL_DEFINE_HANDLER(leaks_state, leaks_state);

static ffi::Error leaks_when_it_fails(F32 x, Out y) {
  auto* work = new float[x.element_count() + 1];
  OPAQUE(work);
  if (x.element_count() > 100) return ffi::Error::InvalidArgument("too many elements");
  copy(x, y);
  delete[] work;
  return {};
}
FARCALL_DEFINE_HANDLER(leaks_when_it_fails, leaks_when_it_fails);

// ---- promises ----

// Reads behind itself what it has written.
static void reverses(F32 x, Out y) {
  const size_t n = x.element_count();
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = x.typed_data()[n - 1 - i];
}
FARCALL_DEFINE_HANDLER(reverses, reverses);

static void row_sums(ffi::BufferR2<ffi::F32> x, ffi::Result<ffi::BufferR1<ffi::F32>> sums) {
  const auto rows = x.dimensions()[0], columns = x.dimensions()[1];
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += x.typed_data()[i * columns + j];
    sums->typed_data()[i] = sum;
  }
}
FARCALL_DEFINE_HANDLER(row_sums, row_sums);

// The sum of a row with an odd length lacks the last element.
static void wrong_sums(ffi::BufferR2<ffi::F32> x, ffi::Result<ffi::BufferR1<ffi::F32>> sums) {
  const auto rows = x.dimensions()[0], columns = x.dimensions()[1];
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns / 2 * 2; ++j) sum += x.typed_data()[i * columns + j];
    sums->typed_data()[i] = sum;
  }
}
FARCALL_DEFINE_HANDLER(wrong_sums, wrong_sums);
