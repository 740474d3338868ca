// top_k: keys order in descending order of the values; a key and its position form a word. Words
// below the k-th least one so far are kept. If k is small, they are kept in order; otherwise, when
// no room is left, all but the k least are dropped.
#include <algorithm>
#include <limits>
#include <memory>

#include <farcall/primitives/cumulative.h>

#include "engine/native/kernels/clusters/lane_tiles.h"
#include "engine/native/kernels/elementwise/lanes.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/order/sort_keys.h"
#include "engine/native/kernels/order/sort_words.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// Elements tested together: most groups contain none of the k largest.
constexpr int64_t kStep = 128;
// The most words that are kept in order.
constexpr int64_t kMostOrdered = 16;

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

struct TopKPlan {
  size_t width = 0;  // of an element
  Conversion load;
  KeyLoop<uint32_t> narrow = nullptr;  // one of the two is used
  KeyLoop<uint64_t> wide = nullptr;
  Lanes lanes;
  int64_t k = 0;
  int64_t capacity = 0;  // words that are kept
  bool keeps_order = false;
  bool sorts_all = false;  // every word is kept, and all are sorted
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
    Key limit_key = std::numeric_limits<Key>::max();
    Word limit = Positioned::make(limit_key, -1);
    const auto insert = [&](Word word) {
      if (count == plan.k && !(word < limit)) return;
      int64_t at = count < plan.k ? count++ : plan.k - 1;
      for (; at > 0 && word < words[at - 1]; --at) words[at] = words[at - 1];
      words[at] = word;
      if (count < plan.k) return;
      limit = words[plan.k - 1];
      limit_key = Positioned::key(limit);
    };
    const auto thin_out = [&] {
      std::nth_element(words, words + plan.k - 1, words + count);
      count = plan.k;
      limit = words[plan.k - 1];
      limit_key = Positioned::key(limit);
    };
    const auto width = static_cast<int64_t>(plan.load.target_width);  // of the type computed in
    const auto visit = [&](const std::byte* block, int64_t start, int64_t size) {
      alignas(64) Key keys[kStep];
      for (int64_t first = 0; first < size; first += kStep) {
        const int64_t some = std::min(size - first, kStep);
        Key least;
        loop_of(plan)(block + first * width, some, keys, &least);
        if (least > limit_key) continue;
        if (plan.keeps_order) {
          for (int64_t i = 0; i < some; ++i) {
            if (keys[i] <= limit_key) insert(Positioned::make(keys[i], start + first + i));
          }
          continue;
        }
        if (!plan.sorts_all && count + some > plan.capacity) thin_out();
        for (int64_t i = 0; i < some; ++i) {
          words[count] = Positioned::make(keys[i], start + first + i);
          count += words[count] < limit;
        }
      }
    };
    for (int64_t first = 0; first < plan.lanes.size; first += kSortedAtOnce) {
      const int64_t some = std::min(kSortedAtOnce, plan.lanes.size - first);
      visit_elements(plan.load, elements, plan.lanes.inner, first, some, visit);
      if (!tiles.go_on(some * kStepCost)) return false;
    }
    if (!plan.sorts_all && !plan.keeps_order) thin_out();
    return true;
  }

  // Sorts the words and writes the values and positions of the first k.
  static void write(const TopKPlan& plan, void* const* operands, int64_t lane, std::byte* scratch) {
    Word* const kept = reinterpret_cast<Word*>(scratch + plan.words);
    const Word* const words =
        plan.keeps_order ? kept
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
  plan->keeps_order = p.k <= kMostOrdered;
  plan->sorts_all = !plan->keeps_order && p.k >= plan->lanes.size / 4;
  plan->capacity =
      plan->sorts_all ? plan->lanes.size : std::min(plan->lanes.size, 2 * p.k + 2 * kStep);
  plan->narrow ? place_top_k<uint32_t>(*plan) : place_top_k<uint64_t>(*plan);
  const size_t scratch_bytes = plan->scratch_bytes;
  return {.run = run_top_k, .data = std::move(plan), .scratch_bytes = scratch_bytes};
}

constexpr KernelRow kRows[] = {{"top_k", make_top_k, KernelTrait::kOneThreadPerLane}};

}  // namespace

std::span<const KernelRow> top_k_rows() { return kRows; }

}  // namespace farcall::native
