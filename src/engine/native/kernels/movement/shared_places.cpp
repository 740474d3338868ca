#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/movement/shared_places.cpp"

#include "engine/native/kernels/movement/shared_places.h"

#include <algorithm>
#include <limits>

#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void choose_places(const int32_t* indices, int64_t count, const PlacesOfPart& part,
                   ChosenPlaces& found) {
  const hn::ScalableTag<int32_t> d;
  static_assert(hn::MaxLanes(d) <= ChosenPlaces::kPadding);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d), limit = hn::Set(d, part.limit);
  const auto mask = hn::Set(d, part.mask), number = hn::Set(d, part.number);
  int64_t num_found = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto index = hn::LoadU(d, indices + i);
    const auto place = hn::Min(hn::Max(index, zero), limit);
    auto is_found = hn::Eq(hn::And(hn::ShiftRightSame(place, part.shift), mask), number);
    if (!part.clips) is_found = hn::And(is_found, hn::Eq(index, place));
    const auto position = hn::Iota(d, static_cast<int32_t>(i));
    hn::StoreU(hn::Compress(place, is_found), d, found.places + num_found);
    hn::StoreU(hn::Compress(position, is_found), d, found.positions + num_found);
    num_found += static_cast<int64_t>(hn::CountTrue(d, is_found));
  }
  for (; i < count; ++i) {
    const int32_t place = std::clamp(indices[i], 0, part.limit);
    found.places[num_found] = place;
    found.positions[num_found] = static_cast<int32_t>(i);
    const bool is_of_part = (place >> part.shift & part.mask) == part.number;
    num_found += is_of_part && (part.clips || indices[i] == place);
  }
  found.count = num_found;
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(choose_places);

// Indices outside of [0, limit] become -1, or are moved inside.
void narrow(const int64_t* indices, int64_t count, int32_t limit, bool clips, int32_t* narrowed) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = std::clamp<int64_t>(indices[i], 0, limit);
    narrowed[i] = clips || indices[i] == place ? static_cast<int32_t>(place) : -1;
  }
}

}  // namespace

std::optional<SharedPlaces> SharedPlaces::of(const Windows& windows, DType index, int64_t width) {
  if ((index != DType::kInt32 && index != DType::kInt64) || windows.size() != 1) return {};
  const std::optional<Windows::Line> line = windows.line();
  if (!line || line->limit >= std::numeric_limits<int32_t>::max()) return {};
  const int64_t apart = std::max<int64_t>(line->stride * width, 1);
  const DealtPieces pieces = deal_pieces(line->limit + 1, apart, /*least_items=*/1,
                                         num_threads_for_elements(windows.count()));
  if (pieces.num_parts == 1) return {};
  SharedPlaces made;
  made.pieces_ = pieces;
  made.count_ = windows.count();
  made.stride_ = line->stride;
  made.limit_ = static_cast<int32_t>(line->limit);
  made.clips_ = windows.clips();
  made.index_ = index;
  return made;
}

void SharedPlaces::choose(const void* indices, int64_t first, int64_t count, int32_t part,
                          ChosenPlaces& found) const {
  int32_t narrowed[ChosenPlaces::kAtOnce];
  const int32_t* places = narrowed;
  if (index_ == DType::kInt32) {
    places = static_cast<const int32_t*>(indices) + first;
  } else {
    narrow(static_cast<const int64_t*>(indices) + first, count, limit_, clips_, narrowed);
  }
  const PlacesOfPart wanted{pieces_.shift, static_cast<int32_t>(pieces_.num_parts - 1), part,
                            limit_, clips_};
  HWY_DYNAMIC_DISPATCH(choose_places)(places, count, wanted, found);
}

}  // namespace farcall::native
#endif
