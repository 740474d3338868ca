// Placement: on which device an array lies, and on which one a call runs.
#pragma once

#include <memory>
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

// A concrete array that was put on a device by name (committed), or that a program made on another
// device than the host's.
class FARCALL_API PlacedNode final : public ArrayNode {
 public:
  PlacedNode(ShapeDtype type, Storage memory, bool is_committed)
      : ArrayNode(type), memory_(std::move(memory)), is_committed_(is_committed) {}

  const PlacedNode* placed() const override { return memory_ ? this : nullptr; }
  const Storage* known_values() const override;
  const Storage& memory() const { return memory_; }
  bool is_committed() const { return is_committed_; }
  // As ConcreteNode's.
  void discard() const;

 private:
  mutable Storage memory_;
  bool is_committed_;
  mutable std::once_flag copied_;
  mutable Storage on_host_;
};

// An array of this memory. On the host, and not committed, it is an ordinary one.
FARCALL_API Array placed_array(ShapeDtype type, Storage memory, bool is_committed);

// The memory of a concrete array, wherever it lies.
FARCALL_API const Storage& memory_of(const Array& array);
// Gives the memory of a concrete array up: it was donated to a program that wrote over it. Every
// use of its values raises from now on; no other thread may use it meanwhile.
FARCALL_API void discard(const Array& array);
// Where a concrete array lies; of one that is spread over several devices, the first of them.
FARCALL_API const Device& device_of(const Array& array);
// Whether it was put there by name, or computed from one that was.
FARCALL_API bool is_committed(const Array& array);
// The same elements with another type of the same bytes, on the same device.
FARCALL_API Array with_type(const Array& array, ShapeDtype type);

// The array on the device, to which it is committed. An array in the host's memory stays an
// ordinary one while the process has no other device.
FARCALL_API Array device_put(const Array& array, const Device& device);

// ---- arrays that are spread over several devices ----

// Null unless the array is.
FARCALL_API const NamedSharding* sharding_of(const Array& array);
// The array spread over the mesh, to whose devices it is committed. Raises INVALID_ARGUMENT for a
// sharding that does not fit (Partition), and for a traced array.
FARCALL_API Array device_put(const Array& array, const NamedSharding& sharding);
// What each device of this process has of a concrete array, in the order of the mesh: the array
// itself where it lies on one.
FARCALL_API std::vector<Array> shards_of(const Array& array);
// The array whose shards these are, of the mesh's devices that belong to this process, in order;
// those that lie elsewhere are moved there. Raises INVALID_ARGUMENT for another number of them and
// for one of another type than the sharding gives it.
FARCALL_API Array array_from_shards(ShapeDtype type, const NamedSharding& sharding,
                                    std::span<const Array> shards);
// A concrete result that is kept whole until its shards are asked for, or one that is spread by
// this sharding then; a traced one as it is.
FARCALL_API Array spread_result(const Array& array, const NamedSharding& sharding);

// Where a call runs, and whether its results are committed there.
struct CallPlace {
  const Device* device;
  bool is_committed;
};
// `wanted`, or else the device that concrete inputs are committed to, or else the default device.
// Where inputs are spread over the devices of a mesh, the first of them. The one place that
// decides. Raises INVALID_ARGUMENT for inputs committed to different devices.
FARCALL_API CallPlace place_of_call(std::string_view where, std::span<const Array> inputs,
                                    const Device* wanted = nullptr);

// Whether a call of these runs on the host and needs no other look: none is traced or placed, and
// the default device is the host.
inline bool is_call_on_host(std::span<const Array> inputs) {
  for (const Array& input : inputs) {
    if (!input.node().storage()) return false;
  }
  return default_device_number() == 0;
}

// Waits until the values are there; raises what computing them raised.
FARCALL_API void block_until_ready(const Array& array);
FARCALL_API bool is_ready(const Array& array);

}  // namespace farcall
