// Structs that tests pass through transformations.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <farcall/trace/tree.h>

namespace farcall::testing {

struct Layer {
  Array weights, shift;
};
FARCALL_TREE(Layer, weights, shift);

// Contains every kind of tree, and a static part.
struct Network {
  Layer first;
  std::vector<Layer> hidden;
  std::map<std::string, Array> scales;
  std::optional<Array> bias;
  int power = 1;
};
FARCALL_TREE(Network, first, hidden, scales, bias, power);

inline Layer layer(float weight, float shift) {
  return {Array::of<float>({weight, weight + 1}), Array::scalar(shift)};
}

}  // namespace farcall::testing
