#include "trace/internal/division.h"

#include <algorithm>
#include <utility>

namespace farcall {
namespace {

class Divider {
 public:
  explicit Divider(std::span<const MeshAxis> axes) : axes_(axes) {}

  // Adds the size of a dimension with this name. The number of parts must divide all sizes of a
  // name.
  void add_size(const std::string& name, int64_t size) { sizes_[name].push_back(size); }

  // Assigns the axes to the factors of a dimension, as many to each factor as divide its size.
  void add(const std::vector<std::string>& factors, const std::vector<std::string>& wanted) {
    size_t next = 0;
    for (const std::string& factor : factors) {
      if (next == wanted.size()) return;
      const auto [known, is_new] = axes_of_.try_emplace(factor);
      std::vector<std::string>& own = known->second;
      while (is_new && next + own.size() < wanted.size()) {
        const std::string& axis = wanted[next + own.size()];
        if (std::ranges::find(used_, axis) != used_.end()) break;
        own.push_back(axis);
        if (!has_room(factor, num_parts(own))) {
          own.pop_back();
          break;
        }
        used_.push_back(axis);
      }
      const auto rest = std::span(wanted).subspan(next);
      const bool begins_so =
          own.size() <= rest.size() && std::ranges::equal(own, rest.first(own.size()));
      const std::vector<std::string> mine = own;
      if (own.empty()) axes_of_.erase(known);
      // A faster factor is divided only if this one is divided completely.
      if (!begins_so || !is_complete(factor, mine)) return;
      next += mine.size();
    }
  }

  PartitionSpec spec_of(const DimensionNames& names) const {
    PartitionSpec spec;
    for (const std::vector<std::string>& factors : names) {
      std::vector<std::string>& axes = spec.emplace_back();
      for (const std::string& factor : factors) {
        const auto found = axes_of_.find(factor);
        if (found != axes_of_.end()) {
          axes.insert(axes.end(), found->second.begin(), found->second.end());
        }
        if (found == axes_of_.end() || !is_complete(factor, found->second)) break;
      }
    }
    return shortened(std::move(spec));
  }
  std::vector<std::string> axes_of(const std::string& factor) const {
    const auto found = axes_of_.find(factor);
    return found == axes_of_.end() ? std::vector<std::string>() : found->second;
  }

 private:
  int64_t num_parts(const std::vector<std::string>& names) const {
    int64_t parts = 1;
    for (const std::string& name : names) {
      parts *= std::ranges::find(axes_, name, &MeshAxis::name)->size;
    }
    return parts;
  }
  bool has_room(const std::string& factor, int64_t parts) const {
    const auto is_multiple = [&](int64_t size) { return size % parts == 0; };
    return std::ranges::all_of(sizes_.at(factor), is_multiple);
  }
  bool is_complete(const std::string& factor, const std::vector<std::string>& axes) const {
    return std::ranges::max(sizes_.at(factor)) == num_parts(axes);
  }

  std::span<const MeshAxis> axes_;
  std::map<std::string, std::vector<int64_t>> sizes_;
  std::map<std::string, std::vector<std::string>> axes_of_;
  std::vector<std::string> used_;
};

}  // namespace

bool NamedDimensions::has_names() const {
  for (const auto* arrays : {&operands, &results}) {
    for (const DimensionNames& names : *arrays) {
      for (const std::vector<std::string>& factors : names) {
        if (!factors.empty()) return true;
      }
    }
  }
  return false;
}

Division divide(const NamedDimensions& names, const SpecsCall& call) {
  Divider divider(call.mesh.axes());
  const auto for_each = [](const std::vector<DimensionNames>& arrays, const auto& visit) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      for (size_t d = 0; d < arrays[i].size(); ++d) visit(i, d, arrays[i][d]);
    }
  };
  const auto add_sizes = [&](const auto& arrays, std::span<const ShapeDtype> types) {
    for_each(arrays, [&](size_t i, size_t d, const std::vector<std::string>& factors) {
      for (const std::string& factor : factors) {
        const auto given = names.sizes.find(factor);
        if (given != names.sizes.end()) {
          divider.add_size(factor, given->second);
        } else if (factors.size() == 1) {
          divider.add_size(factor, types[i].shape()[d]);
        }
      }
    });
  };
  const auto add = [&](const auto& arrays, const std::vector<PartitionSpec>& specs) {
    for_each(arrays, [&](size_t i, size_t d, const std::vector<std::string>& factors) {
      divider.add(factors, entry(specs[i], static_cast<int64_t>(d)));
    });
  };
  add_sizes(names.operands, call.operands);
  add_sizes(names.results, call.results);
  add(names.operands, call.known.operands);
  add(names.results, call.known.results);
  Division division;
  for (const DimensionNames& array : names.operands) {
    division.specs.operands.push_back(divider.spec_of(array));
  }
  for (const DimensionNames& array : names.results) {
    division.specs.results.push_back(divider.spec_of(array));
  }
  const auto collect = [](const std::vector<PartitionSpec>& specs, std::vector<std::string>& all) {
    for (const PartitionSpec& spec : specs) {
      for (const std::vector<std::string>& axes : spec) {
        for (const std::string& axis : axes) {
          if (std::ranges::find(all, axis) == all.end()) all.push_back(axis);
        }
      }
    }
  };
  std::vector<std::string> of_results;
  collect(division.specs.results, of_results);
  division.axes = of_results;
  collect(division.specs.operands, division.axes);
  division.summed.assign(division.axes.begin() + std::ssize(of_results), division.axes.end());
  return division;
}

PartitionSpec shortened(PartitionSpec spec) {
  while (!spec.empty() && spec.back().empty()) spec.pop_back();
  return spec;
}

bool is_any_split(std::span<const PartitionSpec> specs) {
  return std::ranges::any_of(specs, [](const PartitionSpec& spec) {
    return std::ranges::any_of(spec, [](const auto& axes) { return !axes.empty(); });
  });
}

}  // namespace farcall
