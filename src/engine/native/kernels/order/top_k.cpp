// top_k: keys order in descending order of the values; a key and its position form a word. Words of
// a block that may be among the first k join the words kept so far, of which the first k stay.
#include <algorithm>
#include <limits>
#include <memory>

#include <farcall/primitives/cumulative.h>

#include "engine/native/kernels/clusters/lane_tiles.h"
#include "engine/native/kernels/elementwise/lanes.h"
#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/order/select_keys.h"
#include "engine/native/kernels/order/sort_keys.h"
#include "engine/native/kernels/order/sort_words.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// Elements tested together. Most blocks of a long lane contain none of the k largest.
constexpr int64_t kBlockSize = 1024, kSmallBlockSize = 128;
// The most k for which the words of each block are bounded, and those kept are in order.
constexpr int64_t kMostBounded = 64;

// Computes the keys of dense elements, and the least of them.
template <class Key>
using KeyLoop = void (*)(const void* x, int64_t size, Key* keys, Key* least_key);

// The highest value has the least key; NaN has key 0, the least of all.
template <class Key, class T>
void key_loop(const void* x, int64_t size, Key* keys, Key* least_key) {
  const auto* from = static_cast<const T*>(x);
  Key least = std::numeric_limits<Key>::max();
  for (int64_t i = 0; i < size; ++i) {
    using Bits = decltype(ordered_bits(from[i]));
    const auto key = static_cast<Bits>(~ordered_bits(from[i]));
    keys[i] = from[i] != from[i] ? Key(0) : Key(key);
    least = std::min(least, keys[i]);
  }
  *least_key = least;
}

// The least of every count-th key, for the first `count` keys. Ignores keys after the last multiple
// of `count`.
template <class Key>
void least_of_columns(const Key* keys, int64_t size, int64_t count, Key* least) {
  std::copy_n(keys, count, least);
  for (int64_t i = count; i + count <= size; i += count) {
    for (int64_t j = 0; j < count; ++j) least[j] = std::min(least[j], keys[i + j]);
  }
}

// A key that at least k keys do not exceed, and usually few more. The maximum if there are too few
// keys.
template <class Key>
Key bound_of_first(const Key* keys, int64_t size, int64_t k) {
  static const auto least_loop = best_loop<least_of_columns<Key>>();
  constexpr int64_t kMostColumns = 2 * kMostBounded;
  static_assert(kMostColumns % kSelectPadding == 0);
  const int64_t count = (2 * k + kSelectPadding - 1) / kSelectPadding * kSelectPadding;
  if (size < 2 * count) return std::numeric_limits<Key>::max();
  Key least[kMostColumns];
  least_loop(keys, size, count, least);
  return kth_least(least, count, k);
}

struct TopKPlan {
  size_t width = 0;  // of an element
  Conversion load;
  KeyLoop<uint32_t> narrow = nullptr;  // one of the two is used
  KeyLoop<uint64_t> wide = nullptr;
  Lanes lanes;
  int64_t k = 0;
  int64_t capacity = 0;     // words that are kept
  bool is_bounded = false;  // k is at most kMostBounded
  bool sorts_all = false;   // every word is kept, and all are sorted
  bool by_vectors = sorts_by_vectors();
  size_t words = 0, other_words = 0, scratch_bytes = 0;
  bool (*select_lane)(const TopKPlan& plan, void* const* operands, int64_t lane, std::byte* scratch,
                      Tiles& tiles) = nullptr;
  void (*write_lane)(const TopKPlan& plan, void* const* operands, int64_t lane,
                     std::byte* scratch) = nullptr;

  int64_t num_sorted() const { return sorts_all ? lanes.size : k; }
};

template <class Key>
class LaneTopK {
 public:
  using Positioned = PositionedKey<Key>;
  using Word = typename Positioned::Word;

  // Collects at the front of the scratch memory the words of the lane that may be among the first
  // k. Returns false if the program is to stop.
  static bool select(const TopKPlan& plan, void* const* operands, int64_t lane, std::byte* scratch,
                     Tiles& tiles) {
    Word* const words = reinterpret_cast<Word*>(scratch + plan.words);
    const auto* elements =
        static_cast<const std::byte*>(operands[0]) +
        first_of(plan.lanes, plan.lanes.size, lane) * static_cast<int64_t>(plan.width);
    int64_t count = 0;
    // Later keys are among the first k only if they are less: positions decide between equal keys.
    Key limit = 0;
    bool has_limit = false;
    const auto thin_out = [&] {
      plan.is_bounded ? sort_first_words(words, count, plan)
                      : std::nth_element(words, words + plan.k - 1, words + count);
      count = plan.k;
      limit = Positioned::key(words[plan.k - 1]);
      has_limit = true;
    };
    const auto width = static_cast<int64_t>(plan.load.target_width);  // of the type computed in
    const auto visit = [&](const std::byte* block, int64_t start, int64_t size) {
      alignas(64) Key keys[kBlockSize];
      Key selected[kBlockSize], indices[kBlockSize];
      const int64_t block_size = plan.is_bounded ? kBlockSize : kSmallBlockSize;
      for (int64_t first = 0; first < size; first += block_size) {
        const int64_t some = std::min(size - first, block_size);
        Key least;
        loop_of(plan)(block + first * width, some, keys, &least);
        if (!plan.sorts_all && count + some > plan.capacity) thin_out();
        if (has_limit && least >= limit) continue;
        Key most = std::numeric_limits<Key>::max();
        if (has_limit) {
          most = limit - 1;
        } else if (plan.is_bounded) {
          most = bound_of_first(keys, some, plan.k);
        }
        const int64_t num_selected = select_keys(keys, some, most, selected, indices);
        for (int64_t i = 0; i < num_selected; ++i) {
          words[count + i] =
              Positioned::make(selected[i], start + first + static_cast<int64_t>(indices[i]));
        }
        count += num_selected;
        if (plan.is_bounded && num_selected > 0 && count >= plan.k) thin_out();
      }
    };
    for (int64_t first = 0; first < plan.lanes.size; first += kSortedAtOnce) {
      const int64_t some = std::min(kSortedAtOnce, plan.lanes.size - first);
      visit_elements(plan.load, elements, plan.lanes.inner, first, some, visit);
      if (!tiles.go_on(some * kStepCost)) return false;
    }
    if (!plan.sorts_all && !plan.is_bounded) thin_out();
    return true;
  }

  // Sorts the words and writes the values and positions of the first k.
  static void write(const TopKPlan& plan, void* const* operands, int64_t lane, std::byte* scratch) {
    Word* const kept = reinterpret_cast<Word*>(scratch + plan.words);
    const Word* const words =
        plan.is_bounded ? kept
                        : sort_words(kept, reinterpret_cast<Word*>(scratch + plan.other_words),
                                     plan.num_sorted(), plan.by_vectors);
    const int64_t stride = plan.lanes.inner;
    const int64_t from_first = first_of(plan.lanes, plan.lanes.size, lane);
    const int64_t to_first = first_of(plan.lanes, plan.k, lane);
    visit_width(static_cast<int64_t>(plan.width), [&]<class T>(T) {
      const T* from = static_cast<const T*>(operands[0]) + from_first;
      T* values = static_cast<T*>(operands[1]) + to_first;
      auto* indices = static_cast<int32_t*>(operands[2]) + to_first;
      for (int64_t i = 0; i < plan.k; ++i) {
        const auto position = static_cast<int64_t>(Positioned::position(words[i]));
        values[i * stride] = from[position * stride];
        indices[i * stride] = static_cast<int32_t>(position);
      }
    });
  }

 private:
  static KeyLoop<Key> loop_of(const TopKPlan& plan) {
    if constexpr (sizeof(Key) == 4) {
      return plan.narrow;
    } else {
      return plan.wide;
    }
  }
  // Leaves the first k words, in order.
  static void sort_first_words(Word* words, int64_t count, const TopKPlan& plan) {
    if constexpr (sizeof(Word) == 8) {
      if (count <= kMostSortedFirst) {
        Word sorted[kMostBounded];
        sort_first(words, count, plan.k, sorted);
        std::copy_n(sorted, plan.k, words);
        return;
      }
    }
    std::partial_sort(words, words + plan.k, words + count);
  }
  // The first element of a lane, in an array whose lanes have `size` elements.
  static int64_t first_of(const Lanes& lanes, int64_t size, int64_t lane) {
    return lane / lanes.inner * size * lanes.inner + lane % lanes.inner;
  }
};

void run_top_k(const KernelCall& call) {
  const auto& plan = *static_cast<const TopKPlan*>(call.data);
  const int64_t num_lanes = plan.lanes.outer * plan.lanes.inner;
  if (plan.k == 0 || num_lanes == 0) return;
  auto* const scratch = static_cast<std::byte*>(call.scratch);
  // Lanes large enough to be sorted on several threads are processed one after the other.
  if (plan.num_sorted() > kSortedAtOnce) {
    for (int64_t lane = 0; lane < num_lanes; ++lane) {
      run_tiles(1, 1, [&](Tiles& tiles) {
        for (int64_t tile; tiles.next(tile);) {
          plan.select_lane(plan, call.operands, lane, scratch, tiles);
        }
      });
      plan.write_lane(plan, call.operands, lane, scratch);
    }
    return;
  }
  for_lanes(num_lanes, plan.lanes.size, plan.scratch_bytes, scratch,
            [&](int64_t lane, std::byte* memory, Tiles& tiles) {
              if (!plan.select_lane(plan, call.operands, lane, memory, tiles)) return false;
              plan.write_lane(plan, call.operands, lane, memory);
              return true;
            });
}

template <class Key>
void place_top_k(TopKPlan& plan) {
  using Word = typename LaneTopK<Key>::Word;
  plan.select_lane = LaneTopK<Key>::select;
  plan.write_lane = LaneTopK<Key>::write;
  ScratchParts scratch;
  plan.words = scratch.take(plan.capacity, sizeof(Word));
  if (plan.num_sorted() > kSortedAtOnce) {
    plan.other_words = scratch.take(plan.num_sorted(), sizeof(Word));
  }
  plan.scratch_bytes = scratch.bytes();
}

Kernel make_top_k(Types inputs, Types, const Params* params) {
  const auto& p = params_as<TopKParams>(params);
  const DType dtype = inputs[0].dtype(), compute = compute_dtype(dtype);
  auto plan = std::make_shared<TopKPlan>();
  for_each_compute_type([&]<class T>() {
    if constexpr (!Complex<T>) {
      if (kDTypeOf<T> != compute) return;
      if constexpr (sizeof(T) == 8) {
        plan->wide = best_loop_of<key_loop<uint64_t, T>, T>();
      } else {
        plan->narrow = best_loop_of<key_loop<uint32_t, T>, T>();
      }
    }
  });
  if (!plan->narrow && !plan->wide) return {};
  plan->width = byte_width(dtype);
  plan->load = make_conversion(dtype, compute);
  plan->lanes = lanes_of(inputs[0].shape(), p.axis);
  plan->k = p.k;
  plan->is_bounded = p.k <= kMostBounded;
  plan->sorts_all = !plan->is_bounded && p.k >= plan->lanes.size / 4;
  plan->capacity = plan->sorts_all
                       ? plan->lanes.size
                       : std::min(plan->lanes.size, 2 * p.k + 2 * kBlockSize) + kSelectPadding;
  plan->narrow ? place_top_k<uint32_t>(*plan) : place_top_k<uint64_t>(*plan);
  const size_t scratch_bytes = plan->scratch_bytes;
  return {.run = run_top_k, .data = std::move(plan), .scratch_bytes = scratch_bytes};
}

constexpr KernelRow kRows[] = {{"top_k", make_top_k, KernelTrait::kOneThreadPerLane}};

}  // namespace

std::span<const KernelRow> top_k_rows() { return kRows; }

}  // namespace farcall::native
