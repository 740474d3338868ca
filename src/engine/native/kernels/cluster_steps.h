// What the planner of a cluster works on before memory is given out: steps between registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <farcall/core/storage.h>

#include "engine/native/kernels/cluster.h"
#include "engine/native/kernels/elementwise.h"

namespace farcall::native {

inline constexpr size_t kNoStep = SIZE_MAX;

// Where a tile's part of a value is.
struct TileRegister {
  enum class Home : uint8_t { kBase, kConstant, kScratch };
  Home home = Home::kScratch;
  uint32_t index = 0;  // of the base or constant
  Extent extent = Extent::kFull;
  uint32_t width = 0;
  size_t made_by = kNoStep, last_read = kNoStep;  // steps
  std::optional<size_t> same_as;                  // the register whose memory it is
  uint32_t offset = 0;                            // kScratch
};

enum class TilePhase : uint8_t { kOnce, kPerThread, kPerTile };

// Elements that every tile reads, each once, and repeated as often as a tile has elements.
class TileConstants {
 public:
  // The number of the constant.
  uint32_t add(const void* element, uint32_t width) {
    const std::string bytes(static_cast<const char*>(element), width);
    const auto found = std::ranges::find(elements_, bytes);
    if (found != elements_.end()) return static_cast<uint32_t>(found - elements_.begin());
    elements_.push_back(bytes);
    return static_cast<uint32_t>(elements_.size() - 1);
  }
  const std::string& element(uint32_t number) const { return elements_[number]; }
  // Of one element of each.
  int64_t nbytes() const {
    int64_t sum = 0;
    for (const std::string& element : elements_) sum += std::ssize(element);
    return sum;
  }

  // The memory of all, `count` times each.
  Storage place(int64_t count) {
    size_t size = 0;
    for (const std::string& element : elements_) {
      offsets_.push_back(static_cast<uint32_t>(size));
      const size_t nbytes = static_cast<size_t>(count) * element.size();
      size += (nbytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (size == 0) return {};
    Storage memory = Storage::allocate(size);
    for (size_t i = 0; i < elements_.size(); ++i) {
      fill_elements(static_cast<std::byte*>(memory.data()) + offsets_[i], elements_[i].data(),
                    elements_[i].size(), count);
    }
    return memory;
  }
  uint32_t offset(uint32_t number) const { return offsets_[number]; }

 private:
  std::vector<std::string> elements_;
  std::vector<uint32_t> offsets_;
};

// A step on registers.
struct TileDraft {
  TileStep::Kind kind = TileStep::Kind::kLoop;
  std::vector<size_t> inputs;
  size_t output = 0;
  Loop loop = nullptr;
  int64_t extra = 0;
  uint32_t index = 0;
  TilePhase phase = TilePhase::kPerTile;
  bool is_left_out = false;
};

}  // namespace farcall::native
