// Interrupting a kernel that runs for long.
#pragma once

#include <cstdint>

#include <farcall/core/interrupt.h>

namespace farcall::native {

// Elements between two checks for interrupts: less than a tenth of a second for the slowest
// functions.
inline constexpr int64_t kPolledElements = int64_t{1} << 16;

// Counts the elements that a kernel has worked on. Raises what the front end raises to stop it.
class InterruptCounter {
 public:
  void add(int64_t elements) {
    left_ -= elements;
    if (left_ > 0) [[likely]]
      return;
    left_ = kPolledElements;
    poll_interrupt();
  }

 private:
  int64_t left_ = kPolledElements;
};

// Calls piece(first, count) for pieces of `size` elements, for simple loops such as copies.
template <class Piece>
void in_pieces(int64_t size, Piece&& piece) {
  constexpr int64_t kPiece = int64_t{1} << 24;
  if (size <= kPiece) [[likely]]
    return piece(int64_t{0}, size);
  for (int64_t first = 0; first < size; first += kPiece) {
    piece(first, size - first < kPiece ? size - first : kPiece);
    poll_interrupt();
  }
}

}  // namespace farcall::native
