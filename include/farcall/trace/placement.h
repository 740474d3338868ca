// Placement: the device of an array, and the device on which a call runs.
#pragma once

#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include <farcall/core/config.h>
#include <farcall/core/export.h>
#include <farcall/program/device.h>
#include <farcall/program/program.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/array.h>

namespace farcall {

// A concrete array that was put on a device explicitly (committed), or that a program computed on a
// device other than the host.
class FARCALL_API PlacedNode final : public ArrayNode {
 public:
  PlacedNode(ShapeDtype type, Storage memory, bool is_committed)
      : ArrayNode(type), memory_(std::move(memory)), is_committed_(is_committed) {}

  const PlacedNode* placed() const override { return memory_ ? this : nullptr; }
  const Storage* known_values() const override;
  const Storage& memory() const { return memory_; }
  bool is_committed() const { return is_committed_; }
  // Like ConcreteNode::discard().
  void discard() const;

 private:
  mutable Storage memory_;
  bool is_committed_;
  mutable std::mutex mutex_;
  // A copy, made when the values are first read.
  mutable bool is_copied_ = false;
  mutable Storage on_host_;
};

// Makes an array of this memory. It is an ordinary array if the memory is on the host and not
// committed.
FARCALL_API Array placed_array(ShapeDtype type, Storage memory, bool is_committed);

// The memory of a concrete array, on any device.
FARCALL_API const Storage& memory_of(const Array& array);
// Releases the memory of a concrete array, which was donated to a program that overwrote it. From
// now on every use of its values raises. Not thread-safe: no other thread may use the array
// meanwhile.
FARCALL_API void discard(const Array& array);
// The device of a concrete array; the first device if the array is sharded over several.
FARCALL_API const Device& device_of(const Array& array);
// Whether the array was put on its device explicitly, or computed from an array that was.
FARCALL_API bool is_committed(const Array& array);
// The same memory, on the same device, with another type of the same size in bytes.
FARCALL_API Array with_type(const Array& array, ShapeDtype type);

// The array on the device, committed to it. An ordinary host array stays as it is while the process
// has no other device.
FARCALL_API Array device_put(const Array& array, const Device& device);

// The array on the devices of `other` if that is committed, whole on each; else unchanged.
FARCALL_API Array committed_like(const Array& array, const Array& other);

// ---- sharded arrays ----

// Null unless the array is sharded.
FARCALL_API const NamedSharding* sharding_of(const Array& array);
// The array sharded over the mesh, committed to its devices. Raises INVALID_ARGUMENT for a sharding
// that does not fit (see Partition), and FAILED_PRECONDITION or ConcretizationError for a deleted
// or traced array.
FARCALL_API Array device_put(const Array& array, const NamedSharding& sharding);
// The shards of a concrete array on the devices of this process, in the order of the mesh; the
// array itself if it is not sharded.
FARCALL_API std::vector<Array> shards_of(const Array& array);
// The array made of these shards: one for each device of the mesh that belongs to this process, in
// the order of the mesh. Shards on other devices are moved. Raises INVALID_ARGUMENT if the number
// of shards, or the type of a shard, is not what the sharding requires.
FARCALL_API Array array_from_shards(ShapeDtype type, const NamedSharding& sharding,
                                    std::span<const Array> shards);
// Gives a concrete result this sharding: a whole array is kept whole until its shards are
// requested, a sharded one is resharded. Traced arrays are returned unchanged.
FARCALL_API Array spread_result(const Array& array, const NamedSharding& sharding);
FARCALL_API Array spread_result(const Array& array, PlacementPtr placement);

// Where a call runs, and whether its results are committed there.
struct CallPlace {
  const Device* device;
  bool is_committed;
};
// `wanted` if given; else the device that inputs are committed to; else the default device. For
// sharded inputs: the first device of the mesh in this process. Every call's device is decided
// here. Raises INVALID_ARGUMENT for inputs committed to different devices.
FARCALL_API CallPlace place_of_call(std::string_view where, std::span<const Array> inputs,
                                    const Device* wanted = nullptr);

// A quick check that a call runs on the host: no input is traced or placed, and the default device
// is the host.
inline bool is_call_on_host(std::span<const Array> inputs) {
  for (const Array& input : inputs) {
    if (!input.node().storage()) return false;
  }
  return default_device_number() == 0;
}

// Waits until the values are computed; returns at once for a traced array. Both raise
// FAILED_PRECONDITION for a deleted array, and block_until_ready the error of the computation.
FARCALL_API void block_until_ready(const Array& array);
FARCALL_API bool is_ready(const Array& array);

}  // namespace farcall
