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
#include <farcall/program/processes.h>

namespace farcall {
namespace {

std::string describe(std::span<const MeshAxis> axes) {
  std::vector<std::string> parts;
  for (const MeshAxis& axis : axes) parts.push_back(fmt::format("{}: {}", axis.name, axis.size));
  return fmt::format("({})", fmt::join(parts, ", "));
}

// The number of places of the grid. Checks the names and sizes of the axes.
size_t num_places(std::span<const MeshAxis> axes) {
  constexpr size_t kMaxAxes = 64;
  if (axes.size() > kMaxAxes) {
    invalid_argument(
        fmt::format("mesh: has {} axes, at most {} are supported", axes.size(), kMaxAxes));
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
          fmt::format("mesh: axis \"{}\" has size {}, but a process has at most {} devices",
                      axes[i].name, axes[i].size, kMaxDevices));
    }
    count = std::min(count * static_cast<size_t>(axes[i].size), size_t{1} << 32);
  }
  return count;
}

std::vector<const Device*> first_devices(std::span<const MeshAxis> axes) {
  const std::span<const Device* const> known = default_device().engine().devices();
  std::vector<const Device*> all(known.begin(), known.end());
  // The same order in all processes.
  std::ranges::sort(all, {}, [](const Device* device) { return device->description().id; });
  const size_t count = num_places(axes);
  if (count > all.size()) {
    invalid_argument(
        fmt::format("mesh {} needs {} devices, but there {} {}; set FARCALL_NUM_CPU_DEVICES for "
                    "more host devices",
                    describe(axes), count, all.size() == 1 ? "is" : "are", all.size()));
  }
  return {all.begin(), all.begin() + static_cast<int64_t>(count)};
}

}  // namespace

Mesh::Mesh(std::initializer_list<MeshAxis> axes) : Mesh(std::vector(axes), first_devices(axes)) {}

Mesh::Mesh(std::vector<MeshAxis> axes, std::vector<const Device*> devices) {
  const size_t count = num_places(axes);
  const bool is_empty = axes.empty() && devices.empty();
  if (devices.size() != count && !is_empty) {
    invalid_argument(fmt::format("mesh {} has {} places, got {} devices", describe(axes), count,
                                 devices.size()));
  }
  std::vector<const Device*> sorted = devices;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    invalid_argument(fmt::format("mesh {} has {} at two places; each place needs its own device",
                                 describe(axes), (*twice)->to_string()));
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
    invalid_argument(fmt::format("mesh {} has {} places, but a process has at most {} devices",
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
      invalid_argument(fmt::format(
          "{}: dimension {} of size {} must be a multiple of {}, the number of its parts "
          "over {}",
          what, i, shape[i], parts, fmt::join(spec[i], ", ")));
    }
    shape[i] /= parts;
    if (parts > 1) run_dimension_ = i;
  }
  if (!whole.is_token()) shard_ = whole.with_shape(shape);
  // Runs also extend over preceding dimensions if those have size one in the shard.
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
    // Index of the run's first element in the whole array.
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

size_t Partition::first_alike(size_t number) const {
  size_t first = 0;
  while (shards_[first].starts != shards_[number].starts) ++first;
  return first;
}

// ---- the memory of sharded arrays ----

bool places_alike(const NamedSharding& a, const NamedSharding& b) {
  const auto trimmed = [](std::span<const std::vector<std::string>> spec) {
    while (!spec.empty() && spec.back().empty()) spec = spec.first(spec.size() - 1);
    return spec;
  };
  const auto is_same = [](const MeshAxis& x, const MeshAxis& y) {
    return x.name == y.name && x.size == y.size;
  };
  return std::ranges::equal(a.mesh.devices(), b.mesh.devices()) &&
         std::ranges::equal(a.mesh.axes(), b.mesh.axes(), is_same) &&
         std::ranges::equal(trimmed(a.spec), trimmed(b.spec));
}

std::vector<int> processes_of(std::span<const Device* const> devices) {
  std::vector<int> processes;
  for (const Device* device : devices) {
    processes.push_back(device->description().process_index);
  }
  return processes;
}

void complete(const Partition& partition, std::span<const int> processes, void* whole) {
  Processes& job = processes_for("an array that is spread over several processes");
  const auto at = [&](size_t number) {
    return static_cast<std::byte*>(whole) + partition.offset(number);
  };
  const size_t nbytes = partition.shard().nbytes();
  std::vector<Processes::Message> sends, receives;
  std::vector<std::pair<size_t, Storage>>
      arriving;  // shards that are not contiguous in the whole array
  std::vector<Storage> packed;
  for (size_t number = 0; number < partition.count(); ++number) {
    if (partition.first_alike(number) != number) continue;
    std::vector<bool> has(static_cast<size_t>(job.count()), false);
    for (size_t other = number; other < partition.count(); ++other) {
      if (partition.first_alike(other) == number) has[static_cast<size_t>(processes[other])] = true;
    }
    const int owner = processes[number], tag = static_cast<int>(number);
    for (int process = 0; process < job.count(); ++process) {
      if (has[static_cast<size_t>(process)]) continue;
      void* data = at(number);
      if (owner == job.index()) {
        if (!partition.is_contiguous()) {
          data = packed.emplace_back(Storage::allocate(nbytes)).data();
          partition.cut(number, whole, data);
        }
        sends.push_back({process, tag, data, nbytes});
      } else if (process == job.index()) {
        if (!partition.is_contiguous()) {
          data = arriving.emplace_back(number, Storage::allocate(nbytes)).second.data();
        }
        receives.push_back({owner, tag, data, nbytes});
      }
    }
  }
  job.exchange("gathering the shards of " + partition.whole().to_string(), sends, receives);
  for (const auto& [number, shard] : arriving) partition.put(number, shard.data(), whole);
}

Placement::Placement(ShapeDtype type, NamedSharding sharding)
    : sharding_(std::move(sharding)),
      partition_(type, sharding_.spec, sharding_.mesh.axes(), "sharding") {
  const auto devices = sharding_.mesh.devices();
  if (devices.empty()) invalid_argument("sharding: the mesh has no devices");
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i]->is_addressable()) places_.push_back(i);
  }
  if (places_.empty()) {
    invalid_argument(fmt::format("sharding: no device of {} belongs to process {}",
                                 sharding_.mesh.to_string(),
                                 host_device().description().process_index));
  }
  check_has_all_processes(sharding_.mesh);
}

void check_has_all_processes(const Mesh& mesh) {
  const Processes* job = processes();
  if (!job || std::ranges::all_of(mesh.devices(), &Device::is_addressable)) return;
  const std::vector<int> found = processes_of(mesh.devices());
  for (int process = 0; process < job->count(); ++process) {
    if (std::ranges::find(found, process) != found.end()) continue;
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("{} has devices of several processes, but none of process {}; use "
                            "devices of all processes or of one",
                            mesh.to_string(), process));
  }
}

Storage ShardedBuffer::from_shards(PlacementPtr placement, std::vector<Storage> shards) {
  FARCALL_ASSERT(shards.size() == placement->places().size());
  const size_t nbytes = placement->type().nbytes();
  std::unique_ptr<ShardedBuffer> buffer(new ShardedBuffer(std::move(placement)));
  buffer->shards_ = std::move(shards);
  return Storage::adopt(std::move(buffer), nbytes);
}

Storage ShardedBuffer::keep_whole(PlacementPtr placement, Storage host) {
  const size_t nbytes = placement->type().nbytes();
  std::unique_ptr<ShardedBuffer> buffer(new ShardedBuffer(std::move(placement)));
  buffer->whole_ = std::move(host);
  return Storage::adopt(std::move(buffer), nbytes);
}

Storage ShardedBuffer::keep_parts(PlacementPtr placement, Storage host) {
  const bool is_complete =
      placement->partition().is_replicated() || placement->is_fully_addressable();
  Storage made = keep_whole(std::move(placement), std::move(host));
  static_cast<const ShardedBuffer*>(made.buffer())->is_complete_ = is_complete;
  return made;
}

Storage ShardedBuffer::with_placement(PlacementPtr placement) const {
  {
    const std::lock_guard lock(mutex_);
    if (!shards_.empty()) return from_shards(std::move(placement), shards_);
  }
  return keep_parts(std::move(placement), parts());
}

Storage ShardedBuffer::cut(PlacementPtr placement, const Storage& memory) {
  const ShardedBuffer* spread = of(memory);
  Storage made =
      keep_whole(std::move(placement), spread ? spread->gather() : farcall::to_host(memory));
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
  const ShapeDtype type = partition().shard();
  std::vector<Storage> shards;
  for (const size_t i : placement_->places()) {
    const Device& device = *sharding().mesh.devices()[i];
    if (partition().is_replicated() && !device.is_host()) {
      shards.push_back(to_device(device, type, whole_));
      continue;
    }
    Storage part = Storage::allocate(type.nbytes());
    partition().cut(i, whole_.data(), part.data());
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

const Storage& ShardedBuffer::on_host() const {
  if (!is_fully_addressable() && !partition().is_replicated()) {
    throw Error(
        ErrorCode::kFailedPrecondition,
        fmt::format("{} is spread over devices of several processes, and its values are not "
                    "all here. Read its addressable_shards, or get all of it on every "
                    "process with experimental.multihost_utils.process_allgather",
                    partition().whole().to_string()));
  }
  return whole();
}

Storage ShardedBuffer::parts() const { return whole(); }

Storage ShardedBuffer::take_whole() const {
  const std::lock_guard lock(mutex_);
  if (!may_overwrite(whole_)) return {};
  shards_.clear();
  return std::exchange(whole_, {});
}

const Storage& ShardedBuffer::whole() const {
  const std::lock_guard lock(mutex_);
  if (whole_) return whole_;
  Storage whole = Storage::allocate(partition().whole().nbytes());
  for (size_t i = 0; i < shards_.size(); ++i) {
    const auto is_alike = [&](size_t place) {
      return partition().first_alike(place) == partition().first_alike(placement_->places()[i]);
    };
    if (*std::ranges::find_if(placement_->places(), is_alike) != placement_->places()[i]) continue;
    partition().put(placement_->places()[i], farcall::to_host(shards_[i]).data(), whole.data());
  }
  whole_ = std::move(whole);
  is_complete_ = partition().is_replicated() || is_fully_addressable();
  return whole_;
}

Storage ShardedBuffer::gather() const {
  Storage whole = parts();
  {
    const std::lock_guard lock(mutex_);
    if (is_complete_) return whole;
  }
  const std::string what = fmt::format("gathering {} over {}", partition().whole().to_string(),
                                       to_string(sharding().spec));
  wait_for_processes([&] {
    processes_for("an array").agree(std::hash<std::string>()(what), what);
    complete(partition(), processes_of(sharding().mesh.devices()), whole.data());
  });
  const std::lock_guard lock(mutex_);
  is_complete_ = true;
  return whole;
}

}  // namespace farcall
