// The groups of devices that take part in a collective together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stablehlo/emitter.h"

namespace farcall::stablehlo {

// Groups of the devices that differ in the given axes only. Devices are numbered row-major over the
// mesh.
class Groups {
 public:
  Groups(std::span<const MeshAxis> mesh, std::span<const std::string> axes) {
    starts_ = {0};
    int64_t stride = 1;
    std::vector<int64_t> strides(mesh.size());
    for (size_t i = mesh.size(); i-- > 0; stride *= mesh[i].size) strides[i] = stride;
    members_ = {0};
    // The first name varies slowest.
    for (const std::string& name : axes) {
      const auto axis = std::ranges::find(mesh, name, &MeshAxis::name) - mesh.begin();
      extend(members_, mesh[axis].size, strides[axis]);
    }
    for (size_t i = 0; i < mesh.size(); ++i) {
      if (std::ranges::find(axes, mesh[i].name) != axes.end()) continue;
      extend(starts_, mesh[i].size, strides[i]);
    }
    stride_ = members_.size() > 1 ? members_[1] : 1;
  }

  int64_t size() const { return static_cast<int64_t>(members_.size()); }
  // For one axis: the distance from one member to the next.
  int64_t stride() const { return stride_; }

  // "replica_groups = …, channel_handle = …".
  std::string attributes() const {
    std::vector<std::string> groups;
    for (const int64_t start : starts_) {
      std::vector<int64_t> group;
      for (const int64_t member : members_) group.push_back(start + member);
      groups.push_back(list_text(group));
    }
    return fmt::format("replica_groups = dense<[{}]> : tensor<{}x{}xi64>, {}",
                       fmt::join(groups, ", "), starts_.size(), members_.size(), kChannel);
  }
  // Turns pairs of members into pairs of devices, for every group.
  std::vector<std::pair<int64_t, int64_t>> in_all(
      std::span<const std::pair<int64_t, int64_t>> pairs) const {
    std::vector<std::pair<int64_t, int64_t>> all;
    for (const int64_t start : starts_) {
      for (const auto& [from, to] : pairs) {
        all.emplace_back(start + members_[static_cast<size_t>(from)],
                         start + members_[static_cast<size_t>(to)]);
      }
    }
    return all;
  }

  // By device of the mesh: the member that sends to it, or -1.
  std::vector<int32_t> sources(std::span<const std::pair<int64_t, int64_t>> pairs) const {
    std::vector<int32_t> sources(starts_.size() * members_.size(), -1);
    for (const int64_t start : starts_) {
      for (const auto& [from, to] : pairs) {
        sources[static_cast<size_t>(start + members_[static_cast<size_t>(to)])] =
            static_cast<int32_t>(from);
      }
    }
    return sources;
  }

  // Identifies devices by their number in the mesh.
  static constexpr std::string_view kChannel =
      "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";

 private:
  static void extend(std::vector<int64_t>& numbers, int64_t size, int64_t stride) {
    std::vector<int64_t> longer;
    for (const int64_t number : numbers) {
      for (int64_t i = 0; i < size; ++i) longer.push_back(number + i * stride);
    }
    numbers = std::move(longer);
  }

  std::vector<int64_t> starts_, members_;
  int64_t stride_ = 1;
};

}  // namespace farcall::stablehlo
