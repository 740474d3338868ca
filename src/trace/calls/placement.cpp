#include <farcall/trace/placement.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/program/engine.h>
#include <farcall/program/transfers.h>

#include "trace/calls/device_names.h"

namespace farcall {

const Storage* PlacedNode::known_values() const {
  if (!memory_) return nullptr;
  if (!memory_.buffer()) return &memory_;
  if (const ShardedBuffer* spread = ShardedBuffer::of(memory_)) {
    guard_transfer(type(), memory_, host_device());
    return &spread->on_host();
  }
  const std::lock_guard lock(mutex_);
  if (!is_copied_) {
    guard_transfer(type(), memory_, host_device());
    on_host_ = to_host(memory_);
    is_copied_ = true;
  }
  return &on_host_;
}

void PlacedNode::discard() const { memory_ = Storage(); }

Array placed_array(ShapeDtype type, Storage memory, bool is_committed) {
  if (!memory.buffer() && !is_committed) return Array(type, std::move(memory));
  return Array(new PlacedNode(type, std::move(memory), is_committed));
}

const Storage& memory_of(const Array& array) {
  const PlacedNode* placed = array.node().placed();
  return placed ? placed->memory() : array.storage();
}

void discard(const Array& array) {
  if (const PlacedNode* placed = array.node().placed()) {
    placed->discard();
  } else if (array.is_concrete()) {
    static_cast<const ConcreteNode&>(array.node()).discard();
  }
}

const Device& device_of(const Array& array) { return device_of(memory_of(array)); }

bool is_committed(const Array& array) {
  const PlacedNode* placed = array.node().placed();
  return placed && placed->is_committed();
}

Array with_type(const Array& array, ShapeDtype type) {
  return placed_array(type, memory_of(array), is_committed(array));
}

Array device_put(const Array& array, const Device& device) {
  if (device.is_host() && !has_other_devices() && !array.node().placed()) return array;
  const ExplicitTransfers by_request;
  guard_transfer(array.type(), memory_of(array), device);
  const ShardedBuffer* spread = ShardedBuffer::of(memory_of(array));
  if (spread && !spread->is_fully_addressable() && device.is_addressable()) {
    return placed_array(array.type(), to_device(device, array.type(), spread->gather()),
                        /*is_committed=*/true);
  }
  return placed_array(array.type(), to_device(device, array.type(), memory_of(array)),
                      /*is_committed=*/true);
}

Array committed_like(const Array& array, const Array& other) {
  if (!is_committed(other)) return array;
  const NamedSharding* sharding = sharding_of(other);
  return sharding ? device_put(array, NamedSharding{sharding->mesh, {}})
                  : device_put(array, device_of(other));
}

// ---- sharded arrays ----

namespace {

std::vector<const Device*> devices_of(const Array& array) {
  const NamedSharding* sharding = sharding_of(array);
  if (!sharding) return {&device_of(array)};
  const auto devices = sharding->mesh.devices();
  return {devices.begin(), devices.end()};
}

bool are_on_same_devices(const Array& a, const Array& b) {
  const NamedSharding *of_a = sharding_of(a), *of_b = sharding_of(b);
  if (!of_a && !of_b) return &device_of(a) == &device_of(b);
  if (of_a && of_b && of_a->mesh == of_b->mesh) return true;
  std::vector<const Device*> devices = devices_of(a), others = devices_of(b);
  std::ranges::sort(devices);
  std::ranges::sort(others);
  return devices == others;
}

}  // namespace

const NamedSharding* sharding_of(const Array& array) {
  const PlacedNode* placed = array.node().placed();
  const ShardedBuffer* buffer = placed ? ShardedBuffer::of(placed->memory()) : nullptr;
  return buffer ? &buffer->sharding() : nullptr;
}

Array device_put(const Array& array, const NamedSharding& sharding) {
  const NamedSharding* before = sharding_of(array);
  if (before && *before == sharding) return array;
  if (!array.is_concrete()) array.storage();  // raises
  const ExplicitTransfers by_request;
  for (const Device* device : sharding.mesh.devices()) {
    guard_transfer(array.type(), memory_of(array), *device);
  }
  return placed_array(array.type(),
                      ShardedBuffer::cut(make_placement(array.type(), sharding), memory_of(array)),
                      /*is_committed=*/true);
}

std::vector<Array> shards_of(const Array& array) {
  const ShardedBuffer* buffer = ShardedBuffer::of(memory_of(array));
  if (!buffer) return {array};
  std::vector<Array> shards;
  for (const Storage& shard : buffer->shards()) {
    shards.push_back(placed_array(buffer->partition().shard(), shard, /*is_committed=*/true));
  }
  return shards;
}

Array array_from_shards(ShapeDtype type, const NamedSharding& sharding,
                        std::span<const Array> shards) {
  const Partition partition(type, sharding.spec, sharding.mesh.axes(), "array_from_shards");
  PlacementPtr placement = make_placement(type, sharding);
  const std::span<const size_t> places = placement->places();
  if (shards.size() != places.size()) {
    invalid_argument(
        fmt::format("array_from_shards: {} has {} devices of this process, got {} shards",
                    sharding.mesh.to_string(), places.size(), shards.size()));
  }
  std::vector<Storage> memory;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].type().strengthened() != partition.shard().strengthened()) {
      invalid_argument(fmt::format("array_from_shards: shard {} of {} must be {}, got {}", i,
                                   type.to_string(), partition.shard().to_string(),
                                   shards[i].type().to_string()));
    }
    if (!shards[i].is_concrete()) shards[i].storage();  // raises
    memory.push_back(
        to_device(*sharding.mesh.devices()[places[i]], shards[i].type(), memory_of(shards[i])));
  }
  return placed_array(type, ShardedBuffer::from_shards(std::move(placement), std::move(memory)),
                      /*is_committed=*/true);
}

Array spread_result(const Array& array, const NamedSharding& sharding) {
  if (!array.is_concrete()) return array;
  const NamedSharding* own = sharding_of(array);
  if (own && !places_alike(*own, sharding)) return device_put(array, sharding);
  return spread_result(array, make_placement(array.type(), sharding));
}

Array spread_result(const Array& array, PlacementPtr placement) {
  const ShardedBuffer* spread = ShardedBuffer::of(memory_of(array));
  Storage made = spread
                     ? spread->with_placement(std::move(placement))
                     : ShardedBuffer::keep_whole(std::move(placement), to_host(memory_of(array)));
  return placed_array(array.type(), std::move(made), /*is_committed=*/true);
}

CallPlace place_of_call(std::string_view where, std::span<const Array> inputs,
                        const Device* wanted) {
  if (wanted) return {wanted, has_other_devices()};
  const auto found = std::ranges::find_if(inputs, is_committed);
  if (found == inputs.end()) return {&default_device(), false};
  const Array& first = *found;
  for (const Array& other : std::span(found, inputs.end())) {
    if (!is_committed(other) || are_on_same_devices(first, other)) continue;
    invalid_argument(
        fmt::format("{}: the arrays are committed to different devices: operand {} to {}, "
                    "operand {} to {}. Move one with device_put",
                    where, &first - inputs.data(), device_names(devices_of(first)),
                    &other - inputs.data(), device_names(devices_of(other))));
  }
  const NamedSharding* sharding = sharding_of(first);
  if (!sharding) return {&device_of(first), true};
  // An array that is sharded over several processes has devices in each of them.
  return {*std::ranges::find_if(sharding->mesh.devices(), &Device::is_addressable), true};
}

void block_until_ready(const Array& array) {
  const PlacedNode* placed = array.node().placed();
  if (!placed && array.is_deleted()) deleted_array(array);
  if (placed && placed->memory().buffer()) placed->memory().buffer()->wait();
}

bool is_ready(const Array& array) {
  const PlacedNode* placed = array.node().placed();
  if (!placed && array.is_deleted()) deleted_array(array);
  return !placed || !placed->memory().buffer() || placed->memory().buffer()->is_ready();
}

}  // namespace farcall
