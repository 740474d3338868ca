#include <farcall/program/sharding.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/program/engine.h>

namespace farcall {
namespace {

std::string describe(std::span<const MeshAxis> axes) {
  std::vector<std::string> parts;
  for (const MeshAxis& axis : axes) parts.push_back(fmt::format("{}: {}", axis.name, axis.size));
  return fmt::format("({})", fmt::join(parts, ", "));
}

// How many places the axes have; checks their names and sizes.
size_t num_places(std::span<const MeshAxis> axes) {
  constexpr size_t kMaxAxes = 64;
  if (axes.size() > kMaxAxes) {
    invalid_argument(fmt::format("mesh: has {} axes, and may have {}", axes.size(), kMaxAxes));
  }
  size_t count = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name.empty()) invalid_argument("mesh: an axis has an empty name");
    if (axes[i].size < 1) {
      invalid_argument(fmt::format("mesh: axis \"{}\" has size {}; it must be 1 or more",
                                   axes[i].name, axes[i].size));
    }
    if (std::ranges::count(axes, axes[i].name, &MeshAxis::name) > 1) {
      invalid_argument(fmt::format("mesh: axis \"{}\" is named twice", axes[i].name));
    }
    if (static_cast<size_t>(axes[i].size) > kMaxDevices) {
      invalid_argument(
          fmt::format("mesh: axis \"{}\" has size {}, and a process has {} devices at most",
                      axes[i].name, axes[i].size, kMaxDevices));
    }
    count = std::min(count * static_cast<size_t>(axes[i].size), size_t{1} << 32);
  }
  return count;
}

std::vector<const Device*> first_devices(std::span<const MeshAxis> axes) {
  const std::span<const Device* const> all = default_engine().devices();
  const size_t count = num_places(axes);
  if (count > all.size()) {
    invalid_argument(
        fmt::format("mesh {} needs {} devices, and there {} {}; set FARCALL_NUM_CPU_DEVICES for "
                    "more of the host",
                    describe(axes), count, all.size() == 1 ? "is" : "are", all.size()));
  }
  return {all.begin(), all.begin() + static_cast<int64_t>(count)};
}

}  // namespace

Mesh::Mesh(std::initializer_list<MeshAxis> axes) : Mesh(std::vector(axes), first_devices(axes)) {}

Mesh::Mesh(std::vector<MeshAxis> axes, std::vector<const Device*> devices) {
  const size_t count = num_places(axes);
  if (devices.size() != (axes.empty() ? 0 : count)) {
    invalid_argument(fmt::format("mesh {} has {} places, and is given {} devices", describe(axes),
                                 count, devices.size()));
  }
  grid_ = std::make_shared<const Grid>(Grid{std::move(axes), std::move(devices)});
}

std::string Mesh::to_string() const { return "mesh " + describe(axes()); }

std::string to_string(const PartitionSpec& spec) {
  std::vector<std::string> parts;
  for (const auto& entry : spec) {
    if (entry.empty()) {
      parts.emplace_back("None");
    } else if (entry.size() == 1) {
      parts.push_back(entry[0]);
    } else {
      parts.push_back(fmt::format("({})", fmt::join(entry, ", ")));
    }
  }
  return fmt::format("({})", fmt::join(parts, ", "));
}

// ---- partitions ----

Partition::Partition(ShapeDtype whole, const PartitionSpec& spec, std::span<const MeshAxis> axes,
                     std::string_view what)
    : whole_(whole), shard_(whole) {
  const size_t count = num_places(axes);
  if (count > kMaxDevices) {
    invalid_argument(fmt::format("mesh {} has {} places, and a process has {} devices at most",
                                 describe(axes), count, kMaxDevices));
  }
  if (spec.size() > (whole.is_token() ? 0 : whole.rank())) {
    invalid_argument(fmt::format("{}: the spec {} has {} entries, but the array is {}", what,
                                 farcall::to_string(spec), spec.size(), whole.to_string()));
  }
  std::vector<bool> splits(axes.size(), false);
  std::vector<std::vector<size_t>> axes_of(spec.size());  // by dimension
  Shape shape;
  if (!whole.is_token()) shape.assign(whole.shape().begin(), whole.shape().end());
  for (size_t i = 0; i < spec.size(); ++i) {
    int64_t parts = 1;
    for (const std::string& name : spec[i]) {
      const auto axis = std::ranges::find(axes, name, &MeshAxis::name);
      if (axis == axes.end()) {
        invalid_argument(
            fmt::format("{}: the spec {} names axis \"{}\", which the mesh does not have; it is "
                        "{}",
                        what, farcall::to_string(spec), name, describe(axes)));
      }
      const auto number = static_cast<size_t>(axis - axes.begin());
      if (splits[number]) {
        invalid_argument(fmt::format("{}: the spec {} names axis \"{}\" twice", what,
                                     farcall::to_string(spec), name));
      }
      splits[number] = true;
      axes_of[i].push_back(number);
      parts *= axis->size;
    }
    if (shape[i] % parts != 0) {
      invalid_argument(
          fmt::format("{}: dimension {} of {} must be a multiple of {}, the number of its parts "
                      "over {}",
                      what, i, whole.to_string(), parts, fmt::join(spec[i], ", ")));
    }
    shape[i] /= parts;
    if (parts > 1) run_dimension_ = i;
  }
  if (!whole.is_token()) shard_ = whole.with_shape(shape);
  // In one piece where the dimensions before are of size one.
  while (run_dimension_ > 0 && shape[run_dimension_ - 1] == 1) --run_dimension_;
  std::vector<int64_t> strides(shape.size());
  int64_t stride = static_cast<int64_t>(byte_width(whole.dtype()));
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= whole.shape()[i];
  }
  run_bytes_ = whole.is_token() ? 0 : byte_width(whole.dtype());
  for (size_t i = run_dimension_; i < shape.size(); ++i) run_bytes_ *= shape[i];

  for (size_t number = 0; number < count; ++number) {
    std::vector<int64_t> place(axes.size());
    auto rest = static_cast<int64_t>(number);
    for (size_t i = axes.size(); i-- > 0;) {
      place[i] = rest % axes[i].size;
      rest /= axes[i].size;
    }
    Shard shard{.starts = std::vector<int64_t>(shape.size(), 0)};
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!splits[i]) shard.replica = shard.replica * axes[i].size + place[i];
    }
    for (size_t i = 0; i < spec.size(); ++i) {
      int64_t part = 0;
      for (const size_t axis : axes_of[i]) part = part * axes[axis].size + place[axis];
      shard.starts[i] = part * shape[i];
      shard.offset += static_cast<size_t>(shard.starts[i] * strides[i]);
    }
    shards_.push_back(std::move(shard));
  }
}

template <class Copy>
void Partition::for_each_run(size_t number, const Copy& copy) const {
  if (run_bytes_ == 0 || shard_.size() == 0) return;
  const std::span<const int64_t> sizes = shard_.shape(), all = whole_.shape();
  std::vector<int64_t> index(run_dimension_, 0);
  size_t in_shard = 0;
  for (;;) {
    // Of the run's first element in the whole.
    int64_t element = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      element = element * all[i] + shards_[number].starts[i] + (i < run_dimension_ ? index[i] : 0);
    }
    copy(static_cast<size_t>(element) * byte_width(whole_.dtype()), in_shard);
    in_shard += run_bytes_;
    poll_interrupt();
    size_t dimension = run_dimension_;
    while (dimension > 0 && ++index[dimension - 1] == sizes[dimension - 1]) index[--dimension] = 0;
    if (dimension == 0) return;
  }
}

void Partition::cut(size_t number, const void* whole, void* shard) const {
  for_each_run(number, [&](size_t in_whole, size_t in_shard) {
    std::memcpy(static_cast<char*>(shard) + in_shard, static_cast<const char*>(whole) + in_whole,
                run_bytes_);
  });
}

void Partition::put(size_t number, const void* shard, void* whole) const {
  for_each_run(number, [&](size_t in_whole, size_t in_shard) {
    std::memcpy(static_cast<char*>(whole) + in_whole, static_cast<const char*>(shard) + in_shard,
                run_bytes_);
  });
}

// ---- the memory of sharded arrays ----

ShardedBuffer::ShardedBuffer(ShapeDtype type, NamedSharding sharding)
    : sharding_(std::move(sharding)),
      partition_(type, sharding_.spec, sharding_.mesh.axes(), "sharding") {
  if (sharding_.mesh.devices().empty()) invalid_argument("sharding: the mesh has no devices");
}

Storage ShardedBuffer::from_shards(ShapeDtype type, NamedSharding sharding,
                                   std::vector<Storage> shards) {
  std::unique_ptr<ShardedBuffer> buffer(new ShardedBuffer(type, std::move(sharding)));
  FARCALL_ASSERT(shards.size() == buffer->partition_.count());
  buffer->shards_ = std::move(shards);
  return Storage::adopt(std::move(buffer), type.nbytes());
}

Storage ShardedBuffer::keep_whole(ShapeDtype type, NamedSharding sharding, Storage host) {
  std::unique_ptr<ShardedBuffer> buffer(new ShardedBuffer(type, std::move(sharding)));
  buffer->whole_ = std::move(host);
  return Storage::adopt(std::move(buffer), type.nbytes());
}

Storage ShardedBuffer::cut(ShapeDtype type, NamedSharding sharding, const Storage& memory) {
  Storage made = keep_whole(type, std::move(sharding), farcall::to_host(memory));
  const auto* buffer = static_cast<const ShardedBuffer*>(made.buffer());
  buffer->shards();
  buffer->whole_ = Storage();
  return made;
}

const ShardedBuffer* ShardedBuffer::of(const Storage& storage) {
  return dynamic_cast<const ShardedBuffer*>(storage.buffer());
}

bool is_on(const Device& device, const Storage& storage) {
  return &device_of(storage) == &device && !ShardedBuffer::of(storage);
}

const std::vector<Storage>& ShardedBuffer::shards() const {
  const std::lock_guard lock(mutex_);
  if (!shards_.empty()) return shards_;
  const ShapeDtype type = partition_.shard();
  std::vector<Storage> shards;
  for (size_t i = 0; i < partition_.count(); ++i) {
    const Device& device = *sharding_.mesh.devices()[i];
    if (partition_.is_replicated() && !device.is_host()) {
      shards.push_back(device.from_host(type, whole_));
      continue;
    }
    Storage part = Storage::allocate(type.nbytes());
    partition_.cut(i, whole_.data(), part.data());
    shards.push_back(to_device(device, type, part));
  }
  shards_ = std::move(shards);
  return shards_;
}

bool ShardedBuffer::is_ready() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(
      shards_, [](const Storage& shard) { return !shard.buffer() || shard.buffer()->is_ready(); });
}

void ShardedBuffer::wait() const {
  if (is_ready()) return;
  for (const Storage& shard : shards()) {
    if (shard.buffer()) shard.buffer()->wait();
  }
}

Storage ShardedBuffer::to_host() const {
  const std::lock_guard lock(mutex_);
  if (whole_) return whole_;
  Storage whole = Storage::allocate(partition_.whole().nbytes());
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (partition_.replica(i) == 0) {
      partition_.put(i, farcall::to_host(shards_[i]).data(), whole.data());
    }
  }
  whole_ = std::move(whole);
  return whole_;
}

}  // namespace farcall
