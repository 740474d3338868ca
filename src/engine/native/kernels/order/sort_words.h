// Sorts unsigned integers with vectors of the instruction set in use (Highway's VQSort), and on
// several threads if there are many.
#pragma once

#include <cstdint>
#include <type_traits>

// hwy::uint128_t compares its higher 64-bit word first.
#include <hwy/base.h>

namespace farcall::native {

// Whether the instruction set in use has vectors that VQSort supports.
bool sorts_by_vectors();

// Sorts words[0, size) in ascending order. `other` has room for as many words. Returns the pointer
// to the sorted words, `words` or `other`; the contents of the other array are lost. Checks for
// interrupts if there are many words, so do not call this with more than kSortedAtOnce words inside
// a tile.
template <class Word>
Word* sort_words(Word* words, Word* other, int64_t size, bool by_vectors);

// A key and the position of its element as one word, ordered by the key, then the position.
template <class Key>
struct PositionedKey {
  using Word = std::conditional_t<sizeof(Key) == 4, uint64_t, hwy::uint128_t>;

  static Word make(Key key, int64_t position) {
    if constexpr (sizeof(Key) == 4) {
      return uint64_t{key} << 32 | static_cast<uint32_t>(position);
    } else {
      return {static_cast<uint64_t>(position), key};
    }
  }
  static Key key(Word word) {
    if constexpr (sizeof(Key) == 4) {
      return static_cast<Key>(word >> 32);
    } else {
      return word.hi;
    }
  }
  static Key position(Word word) {
    if constexpr (sizeof(Key) == 4) {
      return static_cast<Key>(word);
    } else {
      return word.lo;
    }
  }
};

// Up to this many words are sorted on the calling thread, in place, without checks for interrupts.
inline constexpr int64_t kSortedAtOnce = int64_t{1} << 16;

extern template uint32_t* sort_words(uint32_t*, uint32_t*, int64_t, bool);
extern template uint64_t* sort_words(uint64_t*, uint64_t*, int64_t, bool);
extern template hwy::uint128_t* sort_words(hwy::uint128_t*, hwy::uint128_t*, int64_t, bool);

}  // namespace farcall::native
