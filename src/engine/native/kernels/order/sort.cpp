// sort: the keys of each lane become unsigned integers of the same order. If the only operand is a
// key of real numbers, its keys are sorted directly, and so are two such operands of four bytes.
// Else each key is sorted together with its position, from the last key to the first, and all
// operands are moved to the resulting positions.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <farcall/primitives/cumulative.h>

#include "engine/native/kernels/clusters/lane_tiles.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/elementwise/lanes.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/order/sort_keys.h"
#include "engine/native/kernels/order/sort_words.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/kernels/width.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// ---- keys

// Keys of floating-point numbers: NaNs come last and compare equal, and so do the two zeros.
template <class Key>
inline constexpr Key kNanKey = static_cast<Key>(~Key(0));
template <class Key>
inline constexpr Key kZeroKey = kSignBit<std::make_signed_t<Key>>;

// An integer that orders like the value.
template <class Key, class T>
Key order_of(T value) {
  if constexpr (Float<T>) {
    using Bits = std::make_unsigned_t<BitsOf<T>>;
    const Bits key = value == 0 ? Bits{kSignBit<BitsOf<T>>} : ordered_bits(value);
    return value != value ? kNanKey<Bits> : key;
  } else {
    return ordered_bits(value);
  }
}

// The value that has this key: +0 for zeros, and some NaN for NaNs.
template <class T, class Key>
T value_of(Key key) {
  if constexpr (Float<T>) {
    using Bits = BitsOf<T>;
    const auto bits = std::bit_cast<Bits>(key);
    const Bits flipped =
        static_cast<Bits>(~bits >> (8 * sizeof(T) - 1)) | std::bit_cast<Bits>(kSignBit<Bits>);
    return std::bit_cast<T>(static_cast<Bits>(bits ^ flipped));
  } else if constexpr (Signed<T>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(key) ^ kSignBit<T>);
  } else {
    return static_cast<T>(key);
  }
}

// The keys of elements in the type computed in. The imaginary parts of complex numbers form a
// second column.
template <class Key>
using KeyLoop = void (*)(const void* x, int64_t size, Key* keys, Key* second_keys);
template <class Key>
using ValueLoop = void (*)(const Key* keys, int64_t size, void* values);

template <class Key, class T>
void key_loop(const void* x, int64_t size, Key* keys, [[maybe_unused]] Key* second_keys) {
  const auto* from = static_cast<const T*>(x);
  if constexpr (Complex<T>) {
    for (int64_t i = 0; i < size; ++i) {
      keys[i] = order_of<Key>(from[i].real());
      second_keys[i] = order_of<Key>(from[i].imag());
    }
  } else {
    for (int64_t i = 0; i < size; ++i) keys[i] = order_of<Key>(from[i]);
  }
}
template <class Key, class T>
void value_loop(const Key* keys, int64_t size, void* values) {
  auto* to = static_cast<T*>(values);
  for (int64_t i = 0; i < size; ++i) to[i] = value_of<T>(keys[i]);
}

template <class T>
inline constexpr size_t kKeyWidth = Complex<T> ? sizeof(T) / 2 : sizeof(T);

template <class Key>
KeyLoop<Key> find_key_loop(DType compute) {
  KeyLoop<Key> found = nullptr;
  for_each_compute_type([&]<class T>() {
    if constexpr (kKeyWidth<T> <= sizeof(Key)) {
      if (kDTypeOf<T> == compute) found = best_loop_of<key_loop<Key, T>, T>();
    }
  });
  return found;
}
template <class Key>
ValueLoop<Key> find_value_loop(DType compute) {
  ValueLoop<Key> found = nullptr;
  for_each_compute_type([&]<class T>() {
    if constexpr (!Complex<T> && (sizeof(T) == 8 ? 8 : 4) == sizeof(Key)) {
      if (kDTypeOf<T> == compute) found = best_loop_of<value_loop<Key, T>, T>();
    }
  });
  return found;
}

// ---- the plan

struct SortPlan {
  struct Key {
    Conversion load;
    KeyLoop<uint32_t> narrow = nullptr;  // one of the two is used
    KeyLoop<uint64_t> wide = nullptr;
    int64_t num_columns = 1;
    ValueLoop<uint32_t> values = nullptr;  // for sorting pairs
  };
  std::vector<size_t> widths;  // of the operands
  std::vector<Key> keys;       // of the first operands
  int64_t num_columns = 0;
  Lanes lanes;
  bool by_vectors = sorts_by_vectors();
  void (*run_lane)(const SortPlan& plan, void* const* operands, int64_t first,
                   std::byte* scratch) = nullptr;

  // For sorting one operand of real numbers by value.
  Conversion store;
  ValueLoop<uint32_t> narrow_values = nullptr;
  ValueLoop<uint64_t> wide_values = nullptr;
  bool is_floating = false;

  // Offsets in scratch: words to sort, and a second buffer; columns of keys; positions, and a
  // second buffer.
  size_t words = 0, other_words = 0, columns = 0, positions = 0, other_positions = 0;
  size_t scratch_bytes = 0;
};

// Calls work(first, count) for pieces, on several threads if there are many.
template <class Work>
void for_pieces(int64_t size, const Work& work) {
  constexpr int64_t kPiece = kSortedAtOnce;
  if (size <= kPiece) return work(int64_t{0}, size);
  run_tiles((size - 1) / kPiece + 1, num_threads_for_elements(size), [&](Tiles& tiles) {
    for (int64_t piece; tiles.next(piece);) {
      const int64_t first = piece * kPiece, count = std::min(kPiece, size - first);
      work(first, count);
      if (!tiles.go_on(count * kStepCost)) return;
    }
  });
}

// ---- one lane

// Sorts one lane. Keys and positions are numbers of type Key.
template <class Key>
class LaneSort {
 public:
  using Positioned = PositionedKey<Key>;
  using Word = typename Positioned::Word;

  LaneSort(const SortPlan& plan, void* const* operands, int64_t first, std::byte* scratch)
      : plan_(plan), operands_(operands), first_(first), scratch_(scratch) {}

  // Sorts all operands, by positions.
  static void run(const SortPlan& plan, void* const* operands, int64_t first, std::byte* scratch) {
    LaneSort lane(plan, operands, first, scratch);
    lane.load_columns();
    const Key* positions = lane.sort_positions();
    for (size_t i = 0; i < plan.widths.size(); ++i) lane.put_in_order(i, positions);
  }

  // Sorts the one operand, by value.
  static void run_values(const SortPlan& plan, void* const* operands, int64_t first,
                         std::byte* scratch) {
    LaneSort lane(plan, operands, first, scratch);
    Key* keys = lane.template part<Key>(plan.words);
    lane.load_keys(0, keys, keys);
    keys = sort_words(keys, lane.template part<Key>(plan.other_words), plan.lanes.size,
                      plan.by_vectors);
    lane.put_values(keys);
    if (plan.is_floating) {
      lane.restore(keys, kZeroKey<Key>);
      lane.restore(keys, kNanKey<Key>);
    }
  }

  // Sorts two operands by value. By positions if equal keys may have different bits.
  static void run_pairs(const SortPlan& plan, void* const* operands, int64_t first,
                        std::byte* scratch) {
    LaneSort lane(plan, operands, first, scratch);
    Word* words = lane.template part<Word>(plan.words);
    if (!lane.load_pairs(words)) return run(plan, operands, first, scratch);
    words = sort_words(words, lane.template part<Word>(plan.other_words), plan.lanes.size,
                       plan.by_vectors);
    lane.put_pairs(words);
  }

 private:
  static KeyLoop<Key> loop_of(const SortPlan::Key& key) {
    if constexpr (sizeof(Key) == 4) {
      return key.narrow;
    } else {
      return key.wide;
    }
  }
  static ValueLoop<Key> values_of(const SortPlan& plan) {
    if constexpr (sizeof(Key) == 4) {
      return plan.narrow_values;
    } else {
      return plan.wide_values;
    }
  }
  template <class T>
  T* part(size_t offset) const {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  template <class T>
  T* lane_of(size_t operand) const {
    return static_cast<T*>(operands_[operand]) + first_;
  }
  std::byte* bytes_of(size_t operand) const {
    return static_cast<std::byte*>(operands_[operand]) +
           first_ * static_cast<int64_t>(plan_.widths[operand % plan_.widths.size()]);
  }

  void load_keys(size_t operand, Key* keys, Key* second_keys) const {
    const SortPlan::Key& key = plan_.keys[operand];
    for_pieces(plan_.lanes.size, [&](int64_t from, int64_t count) {
      visit_elements(key.load, bytes_of(operand), plan_.lanes.inner, from, count,
                     [&](const std::byte* elements, int64_t start, int64_t size) {
                       loop_of(key)(elements, size, keys + start, second_keys + start);
                     });
    });
  }

  void load_columns() const {
    Key* columns = part<Key>(plan_.columns);
    for (size_t i = 0; i < plan_.keys.size(); ++i) {
      load_keys(i, columns, columns + (plan_.keys[i].num_columns - 1) * plan_.lanes.size);
      columns += plan_.keys[i].num_columns * plan_.lanes.size;
    }
  }

  // The position in the operand of each element of the result.
  const Key* sort_positions() const {
    const int64_t size = plan_.lanes.size;
    Key *positions = nullptr, *next = part<Key>(plan_.positions);
    Key* spare = part<Key>(plan_.other_positions);
    for (int64_t i = plan_.num_columns; i-- > 0;) {
      const Key* column = part<Key>(plan_.columns) + i * size;
      Word* words = part<Word>(plan_.words);
      for_pieces(size, [&](int64_t first, int64_t count) {
        for (int64_t j = first; j < first + count; ++j) {
          words[j] = Positioned::make(column[positions ? positions[j] : j], j);
        }
      });
      words = sort_words(words, part<Word>(plan_.other_words), size, plan_.by_vectors);
      for_pieces(size, [&](int64_t first, int64_t count) {
        for (int64_t j = first; j < first + count; ++j) {
          const Key found = Positioned::position(words[j]);
          next[j] = positions ? positions[found] : found;
        }
      });
      positions = std::exchange(next, positions ? positions : spare);
    }
    return positions;
  }

  void put_in_order(size_t operand, const Key* positions) const {
    const int64_t stride = plan_.lanes.inner;
    visit_width(static_cast<int64_t>(plan_.widths[operand]), [&]<class T>(T) {
      const T* from = lane_of<T>(operand);
      T* to = lane_of<T>(plan_.widths.size() + operand);
      for_pieces(plan_.lanes.size, [&](int64_t first, int64_t count) {
        for (int64_t i = first; i < first + count; ++i) {
          to[i * stride] = from[static_cast<int64_t>(positions[i]) * stride];
        }
      });
    });
  }

  void put_values(const Key* keys) const {
    const int64_t stride = plan_.lanes.inner;
    const auto loop = values_of(plan_);
    visit_width(static_cast<int64_t>(plan_.widths[0]), [&]<class T>(T) {
      T* to = lane_of<T>(1);
      for_pieces(plan_.lanes.size, [&](int64_t from, int64_t count) {
        if (stride == 1 && plan_.store.is_copy()) return loop(keys + from, count, to + from);
        alignas(16) std::byte values[kBlock * kMaxComputeWidth], stored[kBlock * sizeof(T)];
        for (int64_t start = from; start < from + count; start += kBlock) {
          const int64_t size = std::min(from + count - start, kBlock);
          loop(keys + start, size, values);
          if (!plan_.store.is_copy()) plan_.store.run(values, stored, size);
          const auto* elements =
              reinterpret_cast<const T*>(plan_.store.is_copy() ? values : stored);
          for (int64_t i = 0; i < size; ++i) to[(start + i) * stride] = elements[i];
        }
      });
    });
  }

  // Copies the elements that have this key in their original order: their bits may differ.
  void restore(const Key* keys, Key key) const {
    const int64_t stride = plan_.lanes.inner;
    const auto found = std::equal_range(keys, keys + plan_.lanes.size, key);
    if (found.first == found.second) return;
    visit_width(static_cast<int64_t>(plan_.widths[0]), [&]<class T>(T) {
      const T* from = lane_of<T>(0);
      T* to = lane_of<T>(1) + (found.first - keys) * stride;
      const auto visit = [&](const std::byte* elements, int64_t start, int64_t size) {
        Key of_block[kBlock];
        loop_of(plan_.keys[0])(elements, size, of_block, of_block);
        for (int64_t i = 0; i < size; ++i) {
          if (of_block[i] != key) continue;
          *to = from[(start + i) * stride];
          to += stride;
        }
      };
      for (int64_t start = 0; start < plan_.lanes.size; start += kBlock) {
        visit_elements(plan_.keys[0].load, bytes_of(0), stride, start,
                       std::min(kBlock, plan_.lanes.size - start), visit);
      }
    });
  }

  // Calls work(start, size) for blocks of the lane.
  template <class Work>
  void for_blocks(const Work& work) const {
    for_pieces(plan_.lanes.size, [&](int64_t from, int64_t count) {
      for (int64_t start = from; start < from + count; start += kBlock) {
        work(start, std::min(from + count - start, kBlock));
      }
    });
  }

  // Writes the keys of a block of elements. Returns whether they determine the elements.
  bool load_block(size_t operand, int64_t start, int64_t size, Key* keys) const {
    const SortPlan::Key& key = plan_.keys[operand];
    bool are_exact = true;
    visit_elements(key.load, bytes_of(operand), plan_.lanes.inner, start, size,
                   [&](const std::byte* elements, int64_t, int64_t count) {
                     Key values[kBlock];
                     loop_of(key)(elements, count, keys, keys);
                     key.values(keys, count, values);
                     const auto nbytes = static_cast<size_t>(count) * sizeof(Key);
                     are_exact = std::memcmp(values, elements, nbytes) == 0;
                   });
    return are_exact;
  }

  // Returns false if the keys do not determine the elements.
  bool load_pairs(Word* words) const {
    std::atomic<bool> are_exact{true};
    for_blocks([&](int64_t start, int64_t size) {
      Key upper[kBlock], lower[kBlock];
      const bool is_first_exact = load_block(0, start, size, upper);
      if (!load_block(1, start, size, lower) || !is_first_exact) {
        are_exact.store(false, std::memory_order_relaxed);
      }
      for (int64_t i = 0; i < size; ++i) words[start + i] = Positioned::make(upper[i], lower[i]);
    });
    return are_exact.load(std::memory_order_relaxed);
  }

  void put_pairs(const Word* words) const {
    const int64_t stride = plan_.lanes.inner;
    for_blocks([&](int64_t start, int64_t size) {
      Key keys[kBlock], values[kBlock];
      for (const size_t operand : {0, 1}) {
        for (int64_t i = 0; i < size; ++i) {
          const Word word = words[start + i];
          keys[i] = operand == 0 ? Positioned::key(word) : Positioned::position(word);
        }
        plan_.keys[operand].values(keys, size, values);
        Key* to = lane_of<Key>(2 + operand) + start * stride;
        for (int64_t i = 0; i < size; ++i) to[i * stride] = values[i];
      }
    });
  }

  const SortPlan& plan_;
  void* const* operands_;
  int64_t first_;  // index of the first element of the lane
  std::byte* scratch_;
};

// ---- all lanes

void run_sort(const KernelCall& call) {
  const auto& plan = *static_cast<const SortPlan*>(call.data);
  const int64_t size = plan.lanes.size, inner = plan.lanes.inner;
  const int64_t num_lanes = plan.lanes.outer * inner;
  if (size == 0 || num_lanes == 0) return;
  auto* const scratch = static_cast<std::byte*>(call.scratch);
  const auto run_lane = [&](int64_t lane, std::byte* memory) {
    plan.run_lane(plan, call.operands, lane / inner * size * inner + lane % inner, memory);
  };
  // Lanes large enough to be sorted on several threads are sorted one after the other.
  if (size > kSortedAtOnce) {
    for (int64_t lane = 0; lane < num_lanes; ++lane) run_lane(lane, scratch);
    return;
  }
  for_lanes(num_lanes, size, plan.scratch_bytes, scratch,
            [&](int64_t lane, std::byte* memory, Tiles& tiles) {
              run_lane(lane, memory);
              return tiles.go_on(size * kStepCost);
            });
}

bool sorts_pairs(const SortPlan& plan) {
  return plan.widths.size() == 2 && plan.keys.size() == 2 &&
         std::ranges::all_of(plan.keys, [](const SortPlan::Key& key) {
           return key.values && key.load.is_copy() && key.load.source_width == sizeof(uint32_t);
         });
}

template <class Key>
void place_scratch(SortPlan& plan, bool sorts_values) {
  const int64_t size = plan.lanes.size;
  const size_t word = sorts_values ? sizeof(Key) : sizeof(typename LaneSort<Key>::Word);
  ScratchParts scratch;
  plan.words = scratch.take(size, word);
  if (size > kSortedAtOnce) plan.other_words = scratch.take(size, word);
  if (sorts_values) {
    plan.run_lane = LaneSort<Key>::run_values;
  } else {
    plan.columns = scratch.take(size, sizeof(Key) * static_cast<size_t>(plan.num_columns));
    plan.positions = scratch.take(size, sizeof(Key));
    if (plan.num_columns > 1) plan.other_positions = scratch.take(size, sizeof(Key));
    plan.run_lane = LaneSort<Key>::run;
    if constexpr (sizeof(Key) == 4) {
      if (sorts_pairs(plan)) plan.run_lane = LaneSort<Key>::run_pairs;
    }
  }
  plan.scratch_bytes = scratch.bytes();
}

Kernel make_sort(Types inputs, Types, const Params* params) {
  const auto& p = params_as<SortParams>(params);
  auto plan = std::make_shared<SortPlan>();
  plan->lanes = lanes_of(inputs[0].shape(), p.dimension);
  for (const ShapeDtype& input : inputs) plan->widths.push_back(byte_width(input.dtype()));
  bool is_narrow = plan->lanes.size <= 0xffff'ffff;
  for (size_t i = 0; i < static_cast<size_t>(p.num_keys); ++i) {
    const DType dtype = inputs[i].dtype(), compute = compute_dtype(dtype);
    const SortPlan::Key key = {make_conversion(dtype, compute), find_key_loop<uint32_t>(compute),
                               find_key_loop<uint64_t>(compute), is_complex(dtype) ? 2 : 1,
                               find_value_loop<uint32_t>(compute)};
    if (!key.wide) return {};
    is_narrow = is_narrow && key.narrow;
    plan->keys.push_back(key);
    plan->num_columns += key.num_columns;
  }
  const bool sorts_values = inputs.size() == 1 && plan->num_columns == 1;
  if (sorts_values) {
    const DType compute = compute_dtype(inputs[0].dtype());
    plan->store = make_conversion(compute, inputs[0].dtype());
    plan->is_floating = is_floating(compute);
    plan->narrow_values = find_value_loop<uint32_t>(compute);
    plan->wide_values = find_value_loop<uint64_t>(compute);
    is_narrow = plan->narrow_values != nullptr;
  }
  is_narrow ? place_scratch<uint32_t>(*plan, sorts_values)
            : place_scratch<uint64_t>(*plan, sorts_values);
  const size_t scratch_bytes = plan->scratch_bytes;
  return {.run = run_sort, .data = std::move(plan), .scratch_bytes = scratch_bytes};
}

constexpr KernelRow kRows[] = {{"sort", make_sort}};

}  // namespace

std::span<const KernelRow> sort_rows() { return kRows; }

}  // namespace farcall::native
