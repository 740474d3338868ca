#include "engine/native/kernels/order/sort_words.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>

#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

// Below this size, setting up the vectorized sort costs more than sorting.
constexpr int64_t kFewWords = 64;
// Bytes sorted between two checks for interrupts: about ten milliseconds of work.
constexpr size_t kVectorBlockBytes = size_t{8} << 20, kScalarBlockBytes = size_t{1} << 20;
// Words that one thread merges at a time.
constexpr int64_t kMergedAtOnce = kSortedAtOnce;

template <class Word>
void sort_block(Word* words, int64_t size, bool by_vectors) {
  if (size < kFewWords || !by_vectors) {
    std::sort(words, words + size);
  } else {
    hwy::Sorter()(words, static_cast<size_t>(size), hwy::SortAscending());
  }
}

// Merging two sorted runs: how many of the first `count` words come from run a, which comes first
// if words are equal.
template <class Word>
int64_t count_of_first(std::pair<const Word*, int64_t> a, std::pair<const Word*, int64_t> b,
                       int64_t count) {
  int64_t low = std::max<int64_t>(0, count - b.second), high = std::min(count, a.second);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (b.first[count - 1 - middle] < a.first[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Two sorted runs, of which the first comes first if words are equal, and where they are merged to.
template <class Word>
struct Merge {
  const Word *x, *x_end, *y, *y_end;
  Word* result;

  int64_t steps() const { return std::min(x_end - x, y_end - y); }  // without looking for an end
  void step() {  // without branches that depend on the words
    const bool takes_y = *y < *x;
    *result++ = takes_y ? *y : *x;
    y += takes_y;
    x += !takes_y;
  }
  void finish() {
    while (x != x_end && y != y_end) step();
    std::copy(y, y_end, std::copy(x, x_end, result));
  }
};

// Writes words [first, first + kMergedAtOnce) of the result of merging each two neighbouring runs
// of `length` words. A step waits for the one before, so parts of the result are merged together.
template <class Word>
void merge_piece(const Word* from, Word* to, int64_t size, int64_t length, int64_t first) {
  const int64_t start = first / (2 * length) * (2 * length);
  const int64_t middle = std::min(size, start + length), end = std::min(size, middle + length);
  const int64_t last = std::min(first + kMergedAtOnce, end);
  const std::pair a(from + start, middle - start), b(from + middle, end - middle);
  const auto part = [&](int64_t number) {
    const auto bound = [&](int64_t i) { return first - start + (last - first) * i / 4; };
    const int64_t begin = bound(number), stop = bound(number + 1);
    const int64_t a_begin = count_of_first(a, b, begin), a_stop = count_of_first(a, b, stop);
    return Merge<Word>{a.first + a_begin, a.first + a_stop, b.first + (begin - a_begin),
                       b.first + (stop - a_stop), to + start + begin};
  };
  Merge<Word> one = part(0), two = part(1), three = part(2), four = part(3);
  while (const int64_t steps = std::min({one.steps(), two.steps(), three.steps(), four.steps()})) {
    for (int64_t i = 0; i < steps; ++i) {
      one.step();
      two.step();
      three.step();
      four.step();
    }
  }
  one.finish();
  two.finish();
  three.finish();
  four.finish();
}

}  // namespace

bool sorts_by_vectors() {
  static const bool has_any = (hwy::SupportedTargets() & ~(HWY_SCALAR | HWY_EMU128)) != 0;
  return has_any;
}

template <class Word>
Word* sort_words(Word* words, Word* other, int64_t size, bool by_vectors) {
  if (size <= kSortedAtOnce) {
    sort_block(words, size, by_vectors);
    return words;
  }
  const int64_t num_threads = num_threads_for_elements(size);
  const int64_t most =
      static_cast<int64_t>((by_vectors ? kVectorBlockBytes : kScalarBlockBytes) / sizeof(Word));
  const auto num_blocks = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max(num_threads, (size - 1) / most + 1))));
  // Runs end where pieces of a merge end.
  int64_t length = ((size - 1) / num_blocks / kMergedAtOnce + 1) * kMergedAtOnce;
  run_tiles((size - 1) / length + 1, num_threads, [&](Tiles& tiles) {
    for (int64_t block; tiles.next(block);) {
      const int64_t first = block * length, count = std::min(length, size - first);
      sort_block(words + first, count, by_vectors);
      if (!tiles.go_on(count * kStepCost)) return;
    }
  });
  for (; length < size; length *= 2) {
    run_tiles((size - 1) / kMergedAtOnce + 1, num_threads, [&](Tiles& tiles) {
      for (int64_t piece; tiles.next(piece);) {
        merge_piece(words, other, size, length, piece * kMergedAtOnce);
        if (!tiles.go_on(kMergedAtOnce * kStepCost)) return;
      }
    });
    std::swap(words, other);
  }
  return words;
}

template uint32_t* sort_words(uint32_t*, uint32_t*, int64_t, bool);
template uint64_t* sort_words(uint64_t*, uint64_t*, int64_t, bool);
template hwy::uint128_t* sort_words(hwy::uint128_t*, hwy::uint128_t*, int64_t, bool);

}  // namespace farcall::native
