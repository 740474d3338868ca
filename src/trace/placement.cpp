#include <farcall/trace/placement.h>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/program/engine.h>

namespace farcall {

const Storage* PlacedNode::known_values() const {
  if (!memory_) return nullptr;
  if (!memory_.buffer()) return &memory_;
  std::call_once(copied_, [&] { on_host_ = to_host(memory_); });
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
  return placed_array(array.type(), to_device(device, array.type(), memory_of(array)), true);
}

CallPlace place_of_call(std::string_view where, std::span<const Array> inputs,
                        const Device* wanted) {
  if (wanted) return {wanted, has_other_devices()};
  const Device* committed = nullptr;
  size_t first = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_committed(inputs[i])) continue;
    const Device& device = device_of(inputs[i]);
    if (!committed) {
      committed = &device;
      first = i;
    } else if (committed != &device) {
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: the arrays are committed to different devices: operand {} to {}, "
                      "operand {} to {}. Move one with device_put",
                      where, first, committed->to_string(), i, device.to_string()));
    }
  }
  return committed ? CallPlace{committed, true} : CallPlace{&default_device(), false};
}

void block_until_ready(const Array& array) {
  const PlacedNode* placed = array.node().placed();
  if (placed && placed->memory().buffer()) placed->memory().buffer()->wait();
}

bool is_ready(const Array& array) {
  const PlacedNode* placed = array.node().placed();
  return !placed || !placed->memory().buffer() || placed->memory().buffer()->is_ready();
}

}  // namespace farcall
