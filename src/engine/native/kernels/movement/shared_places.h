// The places of a scatter of single elements, shared among threads: a place has one thread, which
// visits its updates in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <farcall/core/dtype.h>

#include "engine/native/kernels/reductions/windows.h"
#include "engine/native/parallel.h"

namespace farcall::native {

// Places of a part, and their positions among the places that were looked at.
struct ChosenPlaces {
  static constexpr int64_t kAtOnce = 1024, kPadding = 16;
  int64_t count = 0;
  int32_t places[kAtOnce + kPadding], positions[kAtOnce + kPadding];
};

struct PlacesOfPart {
  int shift;
  int32_t mask, number;  // bits of a place after the shift, and their value in the part
  int32_t limit;         // the last place of all parts
  bool clips;            // whether places outside are moved inside, and not left out
};

class SharedPlaces {
 public:
  // No value if one thread is as fast, and for windows that are not single elements on a line with
  // indices of int32 or int64. `width`: the bytes of an element.
  static std::optional<SharedPlaces> of(const Windows& windows, DType index, int64_t width);

  // The distance of places in elements.
  int64_t stride() const { return stride_; }

  // Calls visit(first, found): the update of place found.places[i] is number first +
  // found.positions[i].
  template <class Visit>
  void visit(const void* indices, Visit visit) const {
    run_tiles(pieces_.num_parts, pieces_.num_parts, [&](Tiles& tiles) {
      ChosenPlaces found;
      for (int64_t part; tiles.next(part);) {
        for (int64_t first = 0; first < count_; first += ChosenPlaces::kAtOnce) {
          const int64_t some = std::min(ChosenPlaces::kAtOnce, count_ - first);
          choose(indices, first, some, static_cast<int32_t>(part), found);
          visit(first, found);
          if (!tiles.go_on(some * kStepCost)) return;
        }
      }
    });
  }

 private:
  SharedPlaces() = default;
  // Finds the places of a part among those of the indices [first, first + count).
  void choose(const void* indices, int64_t first, int64_t count, int32_t part,
              ChosenPlaces& found) const;

  int64_t count_ = 0, stride_ = 1;
  DealtPieces pieces_;  // of places
  int32_t limit_ = 0;   // the last place
  bool clips_ = false;  // see PlacesOfPart
  DType index_ = DType::kInvalid;
};

}  // namespace farcall::native
