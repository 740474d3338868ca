// Meshes and shardings: devices in a grid whose dimensions have names, and how the elements of an
// array are spread over them.
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

// Who decides how arrays are split over an axis of a mesh. Kept and shown; every axis is treated
// alike here.
enum class AxisType : uint8_t { kAuto, kExplicit, kManual };

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  AxisType type = AxisType::kAuto;

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

// Devices in a grid, one dimension for each axis. Copies share it.
class FARCALL_API Mesh {
 public:
  // Without axes and devices.
  Mesh() : Mesh(std::vector<MeshAxis>(), std::vector<const Device*>()) {}
  // Over the first devices of the default engine. Raises INVALID_ARGUMENT where there are fewer.
  Mesh(std::initializer_list<MeshAxis> axes);
  // Raises INVALID_ARGUMENT for a name that is empty or given twice, for sizes below 1, and for
  // another number of devices than the axes have places.
  Mesh(std::vector<MeshAxis> axes, std::vector<const Device*> devices);

  std::span<const MeshAxis> axes() const { return grid_->axes; }
  // Row-major: the last axis counts fastest.
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

// For each of the first dimensions of an array the axes that it is split over, the first of which
// counts slowest; none where it is not split. Further dimensions are not split.
using PartitionSpec = std::vector<std::vector<std::string>>;
// "(x, (y, z), None)".
FARCALL_API std::string to_string(const PartitionSpec& spec);

// The dimensions of arrays split over the axes of a mesh. Devices along the other axes have the
// same elements.
struct NamedSharding {
  Mesh mesh;
  PartitionSpec spec;

  friend bool operator==(const NamedSharding&, const NamedSharding&) = default;
};
// Whether both give each device the same elements, whatever the types of the axes.
FARCALL_API bool places_alike(const NamedSharding& a, const NamedSharding& b);

// An array of one type cut over a grid: one shard for each place, row-major.
class FARCALL_API Partition {
 public:
  // Raises INVALID_ARGUMENT where the spec has more entries than the array dimensions, names an
  // axis that is not there or names one twice, and where a dimension is no multiple of the number
  // of its parts. `what` begins the message.
  Partition(ShapeDtype whole, const PartitionSpec& spec, std::span<const MeshAxis> axes,
            std::string_view what);

  ShapeDtype whole() const { return whole_; }
  ShapeDtype shard() const { return shard_; }
  size_t count() const { return shards_.size(); }
  // Where the shard begins, by dimension.
  std::span<const int64_t> starts(size_t number) const { return shards_[number].starts; }
  // Which one it is among the shards of the same elements: 0 for the first.
  int64_t replica(size_t number) const { return shards_[number].replica; }
  // Whether every shard has all elements.
  bool is_replicated() const { return shard_ == whole_; }
  // Whether the elements of a shard follow each other in the whole.
  bool is_contiguous() const { return run_dimension_ == 0; }
  // Bytes from the first element of the whole to the first one of the shard.
  size_t offset(size_t number) const { return shards_[number].offset; }

  // The first place whose shard has these elements too.
  size_t first_alike(size_t number) const;

  // Copies between dense, row-major memory of a shard and of the whole.
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
  size_t run_dimension_ = 0;  // from this dimension on the elements of a shard lie side by side
  size_t run_bytes_ = 0;
};

// Fills memory of the whole of which each process has set the shards of its own places: every
// process calls this. `processes` has one for each place. Raises as Processes::exchange does.
FARCALL_API void complete(const Partition& partition, std::span<const int> processes, void* whole);
// The process of each device.
FARCALL_API std::vector<int> processes_of(std::span<const Device* const> devices);

// The memory of an array that is spread over the devices of a mesh: one shard on each device of
// this process, the whole in the host's memory, or both, of which one is made from the other when
// it is first asked for. Of an array that is spread over several processes the memory of the whole
// may have this process's parts alone.
class FARCALL_API ShardedBuffer final : public DeviceBuffer {
 public:
  // Of the mesh's devices that belong to this process, in order, each on its device. Raises as
  // Partition does, and INVALID_ARGUMENT for a mesh without such devices.
  static Storage from_shards(ShapeDtype type, NamedSharding sharding, std::vector<Storage> shards);
  // From memory anywhere. The shards are made now, or when they are asked for.
  static Storage cut(ShapeDtype type, NamedSharding sharding, const Storage& memory);
  static Storage keep_whole(ShapeDtype type, NamedSharding sharding, Storage host);
  // From memory of the whole in which the shards of this process are set.
  static Storage keep_parts(ShapeDtype type, NamedSharding sharding, Storage host);
  // Null for memory that is not spread.
  static const ShardedBuffer* of(const Storage& storage);

  const NamedSharding& sharding() const { return sharding_; }
  const Partition& partition() const { return partition_; }
  // The places of the mesh whose devices belong to this process, and their shards.
  std::span<const size_t> places() const { return places_; }
  const std::vector<Storage>& shards() const;
  bool is_fully_addressable() const { return places_.size() == partition_.count(); }

  // Memory of the whole on the host in which the shards of this process are set; in that of
  // gather() all are, and every process calls it.
  Storage parts() const;
  Storage gather() const;
  // The same elements, by a sharding that places them alike.
  Storage with_sharding(NamedSharding sharding) const;

  // The first of this process.
  const Device& device() const override { return *sharding_.mesh.devices()[places_[0]]; }
  bool is_ready() const override;
  void wait() const override;
  // Raises FAILED_PRECONDITION where the elements are not all on devices of this process.
  Storage to_host() const override;

 private:
  ShardedBuffer(ShapeDtype type, NamedSharding sharding);

  NamedSharding sharding_;
  Partition partition_;
  std::vector<size_t> places_;
  mutable std::mutex mutex_;
  mutable std::vector<Storage> shards_;  // by place; empty while there is only the whole
  mutable Storage whole_;                // null while there are only the shards
  mutable bool is_complete_ = true;      // whether all of `whole_` is set
};

// Whether the device has all of the memory.
FARCALL_API bool is_on(const Device& device, const Storage& storage);

}  // namespace farcall
