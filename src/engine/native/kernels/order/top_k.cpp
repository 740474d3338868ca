// top_k: keys order in descending order of the values; a key and its position form a word. Words of
// a block that may be among the first k join the words kept so far, of which the first k stay.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include <farcall/primitives/cumulative.h>

#include "engine/native/kernels/clusters/lane_tiles.h"
#include "engine/native/kernels/elementwise/lanes.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/order/select_elements.h"
#include "engine/native/kernels/order/sort_keys.h"
#include "engine/native/kernels/order/sort_words.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// Elements tested together.
constexpr int64_t kBlockSize = 1024, kSmallBlockSize = 128;

// The highest value has the least key; NaN has key 0, the least of all.
template <class T>
auto key_of(T value) {
  using Key = decltype(ordered_bits(value));
  return value != value ? Key(0) : ~ordered_bits(value);
}

// The type that elements are selected in.
DType selected_dtype(DType dtype) {
  switch (const DType computed = compute_dtype(dtype)) {
    case DType::kBool:
    case DType::kUInt8:
    case DType::kUInt16:
      return DType::kUInt32;
    case DType::kInt8:
    case DType::kInt16:
      return DType::kInt32;
    default:
      return computed;
  }
}

struct TopKPlan {
  size_t width = 0;  // of an element
  Conversion load;
  SelectLoops loops;
  Lanes lanes;
  int64_t k = 0;
  int64_t capacity = 0;     // words that are kept
  bool is_bounded = false;  // k is at most kMostBounded
  bool sorts_all = false;   // every word is kept, and all are sorted
  bool by_vectors = sorts_by_vectors();
  size_t words = 0, other_words = 0, scratch_bytes = 0;
  bool (*select_lane)(const TopKPlan& plan, void* const* operands, int64_t lane, std::byte* scratch,
                      Tiles& tiles) = nullptr;
  void (*select_lane_on_threads)(const TopKPlan& plan, void* const* operands, int64_t lane,
                                 std::byte* scratch) = nullptr;
  void (*write_lane)(const TopKPlan& plan, void* const* operands, int64_t lane,
                     std::byte* scratch) = nullptr;

  int64_t num_sorted() const { return sorts_all ? lanes.size : k; }
};

// The number of threads that share a lane, of which each takes less time than an elementwise
// operation.
int64_t num_threads_of_lane(const TopKPlan& plan) {
  constexpr int64_t kTimesLess = 4;
  return plan.is_bounded ? num_threads_for_elements(plan.lanes.size / kTimesLess) : 1;
}

template <class T>
class LaneTopK {
 public:
  using Positioned = PositionedKey<decltype(ordered_bits(T()))>;
  using Word = typename Positioned::Word;

  // Collects at the front of the scratch memory the words of the lane that may be among the first
  // k. Returns false if the program is to stop.
  static bool select(const TopKPlan& plan, void* const* operands, int64_t lane, std::byte* scratch,
                     Tiles& tiles) {
    LaneTopK selected(plan, reinterpret_cast<Word*>(scratch + plan.words));
    for (int64_t part = 0; part < num_parts_of(plan); ++part) {
      const int64_t size = selected.add_part(operands[0], lane, part);
      if (!tiles.go_on(size * kStepCost)) return false;
    }
    if (!plan.sorts_all && !plan.is_bounded) selected.thin_out();
    return true;
  }

  // The same with several threads, for few words.
  static void select_on_threads(const TopKPlan& plan, void* const* operands, int64_t lane,
                                std::byte* scratch) {
    LaneTopK selected(plan, reinterpret_cast<Word*>(scratch + plan.words));
    std::mutex mutex;
    run_tiles(num_parts_of(plan), num_threads_of_lane(plan), [&](Tiles& tiles) {
      int64_t part;
      if (!tiles.next(part)) return;
      const Storage memory = Storage::allocate(plan.scratch_bytes);
      LaneTopK own(plan,
                   reinterpret_cast<Word*>(static_cast<std::byte*>(memory.data()) + plan.words));
      do {
        const int64_t size = own.add_part(operands[0], lane, part);
        if (!tiles.go_on(size * kStepCost)) return;
      } while (tiles.next(part));
      const std::lock_guard lock(mutex);
      if (selected.count_ + own.count_ > plan.capacity) selected.thin_out();
      std::copy_n(own.words_, own.count_, selected.words_ + selected.count_);
      selected.count_ += own.count_;
    });
    selected.thin_out();
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
    visit_width(static_cast<int64_t>(plan.width), [&]<class Bits>(Bits) {
      const Bits* from = static_cast<const Bits*>(operands[0]) + from_first;
      auto* values = static_cast<Bits*>(operands[1]) + to_first;
      auto* indices = static_cast<int32_t*>(operands[2]) + to_first;
      for (int64_t i = 0; i < plan.k; ++i) {
        const auto position = static_cast<int64_t>(Positioned::position(words[i]));
        values[i * stride] = from[position * stride];
        indices[i * stride] = static_cast<int32_t>(position);
      }
    });
  }

 private:
  LaneTopK(const TopKPlan& plan, Word* words) : plan_(plan), words_(words) {}

  // Parts may come in any order. Returns the number of elements.
  int64_t add_part(const void* operand, int64_t lane, int64_t part) {
    const Lanes& lanes = plan_.lanes;
    const auto* elements = static_cast<const std::byte*>(operand) +
                           first_of(lanes, lanes.size, lane) * static_cast<int64_t>(plan_.width);
    const int64_t first = part * kSortedAtOnce, size = std::min(kSortedAtOnce, lanes.size - first);
    is_behind_ = part < next_part_;
    next_part_ = std::max(next_part_, part + 1);
    const auto visit = [&](const std::byte* block, int64_t start, int64_t some) {
      add(reinterpret_cast<const T*>(block), start, some);
    };
    visit_elements(plan_.load, elements, lanes.inner, first, size, visit);
    return size;
  }

  // Elements of the lane, the first of which is at index `start`.
  void add(const T* x, int64_t start, int64_t size) {
    int32_t indices[kBlockSize + kSelectPadding];
    const int64_t block_size = plan_.is_bounded ? kBlockSize : kSmallBlockSize;
    for (int64_t first = 0; first < size && !is_complete(); first += block_size) {
      const int64_t some = std::min(size - first, block_size);
      if (!plan_.sorts_all && count_ + some > plan_.capacity) thin_out();
      if (!has_limit_ && plan_.is_bounded) plan_.loops.bound(x + first, some, plan_.k, &limit_);
      const int64_t num_found = plan_.loops.find(x + first, some, &limit_, takes_equal(), indices);
      for (int64_t i = 0; i < num_found; ++i) {
        const int64_t index = first + indices[i];
        words_[count_ + i] = Positioned::make(key_of(x[index]), start + index);
      }
      count_ += num_found;
      if (plan_.is_bounded && num_found > 0 && count_ >= plan_.k) thin_out();
    }
  }

  // Leaves the first k words, if there are more. Later elements are among the first k only if they
  // exceed the last of these: positions decide between equal ones.
  void thin_out() {
    if (plan_.is_bounded) {
      sort_first_words();
    } else {
      std::nth_element(words_, words_ + plan_.k - 1, words_ + count_);
    }
    count_ = plan_.k;
    has_limit_ = true;
    limit_ = value_of_ordered_bits<T>(~Positioned::key(words_[plan_.k - 1]));
  }

  // Whether nothing exceeds the words: the last one is of a NaN.
  bool is_complete() const { return limit_ != limit_ && !is_behind_; }
  // Whether elements that equal the limit may be among the first k. 0.0 comes before -0.0.
  bool takes_equal() const {
    return !has_limit_ || is_behind_ || (Float<T> && limit_ == 0 && std::signbit(limit_));
  }

  // Leaves the first k words, in order.
  void sort_first_words() {
    if constexpr (sizeof(Word) == 8) {
      if (count_ <= kMostSortedFirst) {
        Word sorted[kMostBounded + 1];
        sort_first(words_, count_, plan_.k, sorted);
        std::copy_n(sorted, plan_.k, words_);
        return;
      }
    }
    std::partial_sort(words_, words_ + plan_.k, words_ + count_);
  }
  static int64_t num_parts_of(const TopKPlan& plan) {
    return (plan.lanes.size - 1) / kSortedAtOnce + 1;
  }
  // The first element of a lane, in an array whose lanes have `size` elements.
  static int64_t first_of(const Lanes& lanes, int64_t size, int64_t lane) {
    return lane / lanes.inner * size * lanes.inner + lane % lanes.inner;
  }

  const TopKPlan& plan_;
  Word* words_;
  int64_t count_ = 0;
  // Elements that may be among the first k exceed the limit, or equal it if takes_equal().
  T limit_ = kLowestElement<T>;
  bool has_limit_ = false;  // whether it is that of k words
  int64_t next_part_ = 0;   // after all parts so far
  bool is_behind_ = false;  // whether the elements come before some that were seen
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
  if (num_lanes < num_threads_of_lane(plan)) {
    for (int64_t lane = 0; lane < num_lanes; ++lane) {
      plan.select_lane_on_threads(plan, call.operands, lane, scratch);
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

template <class T>
void place_top_k(TopKPlan& plan) {
  using Word = typename LaneTopK<T>::Word;
  plan.select_lane = LaneTopK<T>::select;
  plan.select_lane_on_threads = LaneTopK<T>::select_on_threads;
  plan.write_lane = LaneTopK<T>::write;
  ScratchParts scratch;
  plan.words = scratch.take(plan.capacity, sizeof(Word));
  if (plan.num_sorted() > kSortedAtOnce) {
    plan.other_words = scratch.take(plan.num_sorted(), sizeof(Word));
  }
  plan.scratch_bytes = scratch.bytes();
}

Kernel make_top_k(Types inputs, Types, const Params* params) {
  const auto& p = params_as<TopKParams>(params);
  const DType dtype = inputs[0].dtype(), selected = selected_dtype(dtype);
  auto plan = std::make_shared<TopKPlan>();
  plan->loops = select_loops(selected);
  if (!plan->loops.find) return {};
  plan->width = byte_width(dtype);
  plan->load = make_conversion(dtype, selected);
  plan->lanes = lanes_of(inputs[0].shape(), p.axis);
  plan->k = p.k;
  plan->is_bounded = p.k <= kMostBounded;
  plan->sorts_all = !plan->is_bounded && p.k >= plan->lanes.size / 4;
  plan->capacity = plan->sorts_all
                       ? plan->lanes.size
                       : std::min(plan->lanes.size, 2 * p.k + 2 * kBlockSize) + kSelectPadding;
  for_each_compute_type([&]<class T>() {
    if constexpr (!Complex<T> && sizeof(T) >= 4) {
      if (kDTypeOf<T> == selected) place_top_k<T>(*plan);
    }
  });
  const size_t scratch_bytes = plan->scratch_bytes;
  return {.run = run_top_k, .data = std::move(plan), .scratch_bytes = scratch_bytes};
}

constexpr KernelRow kRows[] = {{"top_k", make_top_k, KernelTrait::kOneThreadPerLane}};

}  // namespace

std::span<const KernelRow> top_k_rows() { return kRows; }

}  // namespace farcall::native
