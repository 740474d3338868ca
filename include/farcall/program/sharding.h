// Meshes and shardings. A mesh is a grid of devices with named axes; a sharding splits an array
// over them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/device_buffer.h>
#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>
#include <farcall/program/device.h>

namespace farcall {

// Who decides how arrays are split over an axis of a mesh. Only stored and printed: this library
// treats all types alike.
enum class AxisType : uint8_t { kAuto, kExplicit, kManual };

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  AxisType type = AxisType::kAuto;

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

// A grid of devices, with one dimension for each axis. Copies share it.
class FARCALL_API Mesh {
 public:
  // An empty mesh, without axes and devices.
  Mesh() : Mesh(std::vector<MeshAxis>(), std::vector<const Device*>()) {}
  // A mesh of the first devices of the default device's engine. Raises INVALID_ARGUMENT if there
  // are too few.
  Mesh(std::initializer_list<MeshAxis> axes);
  // Raises INVALID_ARGUMENT for empty or duplicate names, for sizes below 1, if the number of
  // devices is not the product of the sizes, and for a device at two places.
  Mesh(std::vector<MeshAxis> axes, std::vector<const Device*> devices);

  std::span<const MeshAxis> axes() const { return grid_->axes; }
  // Row-major: the last axis varies fastest.
  std::span<const Device* const> devices() const { return grid_->devices; }
  // "mesh (x: 2, y: 4)".
  std::string to_string() const;

  friend bool operator==(const Mesh& a, const Mesh& b) {
    return a.grid_ == b.grid_ ||
           (a.grid_->axes == b.grid_->axes && a.grid_->devices == b.grid_->devices);
  }

 private:
  struct Grid {
    std::vector<MeshAxis> axes;
    std::vector<const Device*> devices;
  };
  std::shared_ptr<const Grid> grid_;
};

// For each of the first dimensions of an array: the axes that split it, the first one varying
// slowest. An empty entry is not split; neither are dimensions without an entry.
using PartitionSpec = std::vector<std::vector<std::string>>;
// "(x, (y, z), None)".
FARCALL_API std::string to_string(const PartitionSpec& spec);

// Splits the dimensions of an array over the axes of a mesh. Devices along the other axes hold the
// same elements.
struct NamedSharding {
  Mesh mesh;
  PartitionSpec spec;

  friend bool operator==(const NamedSharding&, const NamedSharding&) = default;
};
// Whether both give each device the same elements; the types of the axes are ignored.
FARCALL_API bool places_alike(const NamedSharding& a, const NamedSharding& b);

// An array type split over a grid: one shard for each place of the grid, row-major.
class FARCALL_API Partition {
 public:
  // Raises INVALID_ARGUMENT if the spec has more entries than the array has dimensions, names an
  // unknown axis or an axis twice, or if a dimension is not a multiple of the number of its parts.
  // `what` begins the message.
  Partition(ShapeDtype whole, const PartitionSpec& spec, std::span<const MeshAxis> axes,
            std::string_view what);

  ShapeDtype whole() const { return whole_; }
  ShapeDtype shard() const { return shard_; }
  size_t count() const { return shards_.size(); }
  // The start of the shard, by dimension.
  std::span<const int64_t> starts(size_t number) const { return shards_[number].starts; }
  // The index among the shards with the same elements.
  int64_t replica(size_t number) const { return shards_[number].replica; }
  // Whether every shard holds the whole array.
  bool is_replicated() const { return shard_ == whole_; }
  // Whether the elements of a shard are contiguous in the whole array.
  bool is_contiguous() const { return run_dimension_ == 0; }
  // Offset of the shard's first element in the whole array, in bytes.
  size_t offset(size_t number) const { return shards_[number].offset; }

  // The first place whose shard has the same elements.
  size_t first_alike(size_t number) const;

  // Copy between dense, row-major memory of a shard and of the whole array.
  void cut(size_t number, const void* whole, void* shard) const;
  void put(size_t number, const void* shard, void* whole) const;

 private:
  struct Shard {
    std::vector<int64_t> starts;
    int64_t replica = 0;
    size_t offset = 0;
  };
  template <class Copy>
  void for_each_run(size_t number, const Copy& copy) const;

  ShapeDtype whole_, shard_;
  std::vector<Shard> shards_;
  size_t run_dimension_ = 0;  // from this dimension on, the elements of a shard are contiguous
  size_t run_bytes_ = 0;
};

// Completes memory of the whole array in which each process has set the shards of its own places.
// Every process must call this. `processes` has the process of each place. Raises like
// Processes::exchange.
FARCALL_API void complete(const Partition& partition, std::span<const int> processes, void* whole);
// The process of each device.
FARCALL_API std::vector<int> processes_of(std::span<const Device* const> devices);

// An array type with a sharding: what all arrays of this type and sharding have in common.
class FARCALL_API Placement {
 public:
  // Raises like Partition, INVALID_ARGUMENT for a mesh without devices of this process, and
  // UNIMPLEMENTED like check_has_all_processes.
  Placement(ShapeDtype type, NamedSharding sharding);

  ShapeDtype type() const { return partition_.whole(); }
  const NamedSharding& sharding() const { return sharding_; }
  const Partition& partition() const { return partition_; }
  // The places of the mesh whose devices belong to this process.
  std::span<const size_t> places() const { return places_; }
  bool is_fully_addressable() const { return places_.size() == partition_.count(); }

 private:
  NamedSharding sharding_;
  Partition partition_;
  std::vector<size_t> places_;
};
using PlacementPtr = std::shared_ptr<const Placement>;
inline PlacementPtr make_placement(ShapeDtype type, NamedSharding sharding) {
  return std::make_shared<const Placement>(type, std::move(sharding));
}

// The memory of a sharded array: the shards on the devices of this process, the whole array in host
// memory, or both. The missing form is made from the other on first use. If the array is sharded
// over several processes, the memory of the whole may contain only the parts of this process.
// Thread-safe.
class FARCALL_API ShardedBuffer final : public DeviceBuffer {
 public:
  // `shards`: one for each device of the mesh that belongs to this process, in order, on that
  // device.
  static Storage from_shards(PlacementPtr placement, std::vector<Storage> shards);
  // cut: makes the shards now, from memory on any device. keep_whole: keeps host memory of the
  // whole array; the shards are made when they are requested.
  static Storage cut(PlacementPtr placement, const Storage& memory);
  static Storage keep_whole(PlacementPtr placement, Storage host);
  // From memory of the whole array in which only the shards of this process are set.
  static Storage keep_parts(PlacementPtr placement, Storage host);
  // Null for memory that is not sharded.
  static const ShardedBuffer* of(const Storage& storage);

  const NamedSharding& sharding() const { return placement_->sharding(); }
  const Partition& partition() const { return placement_->partition(); }
  // The shards at the places of this process.
  const std::vector<Storage>& shards() const;
  bool is_fully_addressable() const { return placement_->is_fully_addressable(); }

  // Host memory of the whole array. parts() sets at least the shards of this process; gather() sets
  // all, and every process must call it.
  Storage parts() const;
  Storage gather() const;
  // The memory of parts(), which this buffer then no longer has: it holds nothing. Null, and
  // nothing changes, if this memory was not made yet, or if it may not be overwritten
  // (may_overwrite).
  Storage take_whole() const;
  // The same elements with another sharding, which must place them alike.
  Storage with_placement(PlacementPtr placement) const;

  // The first device of this process.
  const Device& device() const override {
    return *sharding().mesh.devices()[placement_->places()[0]];
  }
  bool is_ready() const override;
  void wait() const override;
  // Raises FAILED_PRECONDITION if not all elements are on devices of this process.
  Storage to_host() const override { return on_host(); }
  const Storage& on_host() const;

 private:
  explicit ShardedBuffer(PlacementPtr placement) : placement_(std::move(placement)) {}
  const Storage& whole() const;

  const PlacementPtr placement_;
  mutable std::mutex mutex_;
  mutable std::vector<Storage> shards_;  // by place; empty if only the whole exists
  mutable Storage whole_;                // null if only the shards exist
  mutable bool is_complete_ = true;      // whether all of `whole_` is set
};

// Whether the memory is on this device, not sharded.
FARCALL_API bool is_on(const Device& device, const Storage& storage);

}  // namespace farcall
