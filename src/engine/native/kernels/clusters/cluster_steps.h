// The steps of a cluster on registers, before tiles are chosen and memory is assigned.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/program/program.h>

#include "engine/native/kernels/clusters/cluster.h"
#include "engine/native/kernels/elementwise/elementwise.h"

namespace farcall::native {

inline constexpr size_t kNoStep = SIZE_MAX;

// The location of a tile's part of a value.
struct TileRegister {
  enum class Home : uint8_t { kBase, kConstant, kScratch };
  Home home = Home::kScratch;
  uint32_t index = 0;  // of the base or the constant
  Extent extent = Extent::kFull;
  DType dtype = DType::kInvalid;
  uint32_t width = 0;
  size_t made_by = kNoStep, last_read = kNoStep;  // steps
  std::optional<size_t> same_as;                  // the register whose memory it shares
  uint32_t offset = 0;                            // for kScratch
};

enum class TilePhase : uint8_t { kOnce, kPerThread, kPerTile };

// Constants that all tiles read. Equal constants are stored once, repeated for each element of a
// tile.
class TileConstants {
 public:
  // Returns the index of the constant.
  uint32_t add(const void* element, uint32_t width) {
    const std::string bytes(static_cast<const char*>(element), width);
    const auto found = std::ranges::find(elements_, bytes);
    if (found != elements_.end()) return static_cast<uint32_t>(found - elements_.begin());
    elements_.push_back(bytes);
    return static_cast<uint32_t>(elements_.size() - 1);
  }
  const std::string& element(uint32_t number) const { return elements_[number]; }
  // The total size of all constants, without repetition.
  int64_t nbytes() const {
    int64_t sum = 0;
    for (const std::string& element : elements_) sum += std::ssize(element);
    return sum;
  }

  // Allocates all constants, each repeated `count` times.
  Storage place(int64_t count) {
    size_t size = 0;
    for (const std::string& element : elements_) {
      offsets_.push_back(static_cast<uint32_t>(size));
      const size_t nbytes = static_cast<size_t>(count) * element.size();
      size += memory_of(nbytes);
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
  // As what the inputs are read, which is not their registers' dtype after a bitcast.
  std::array<DType, kMaxElementwiseInputs> reads{};
  const Equation* equation = nullptr;  // of a loop
  bool is_logical = false;             // a loop whose result is a bool, which may be a byte
  Loop loop = nullptr;
  int64_t extra = 0;
  uint32_t index = 0;
  DType rounded = DType::kInvalid;  // of a conversion that rounds float32 to values of this dtype
  TilePhase phase = TilePhase::kPerTile;
  bool is_left_out = false;
};

struct ClusterSteps {
  Domain domain;
  uint32_t num_inputs = 0;
  std::vector<TileRegister> registers;
  std::vector<TileDraft> drafts;
  TileConstants constants;
  struct Reduction {
    std::string_view primitive;
    DType from, to;
  };
  std::vector<Reduction> reductions;  // of rows
  // What the steps refer to: bases, conversions, views, iotas, and the reduction of columns.
  ClusterPlan plan;
  // Whether operands are read in place in which only the elements of a row are next to each other.
  bool reads_rows = false;
  // Whether operands and results are large and consecutive tiles are next to each other in memory.
  bool are_streamed = false;
};

// `least_row`: the fewest elements of rows that are read in place, and not copied to a tile, where
// only the elements of a row are next to each other.
ClusterSteps steps_of_cluster(const Program& body, int64_t least_row);

// The register whose memory this one has.
size_t owner(std::span<const TileRegister> registers, size_t number);
// Sets `last_read` of all registers.
void find_last_reads(ClusterSteps& steps);

}  // namespace farcall::native
