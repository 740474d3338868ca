// Batching by one of the five vmap methods, for calls of opaque functions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/trace/rules.h>

namespace farcall {

// "the mapped axis "i" of size 3", for messages.
std::string to_string(const BatchAxis& axis);

// The properties of a call that the methods need.
struct ForeignSite {
  std::string name;  // the function's name in programs
  std::span<const ShapeDtype> result_types;
  std::span<const std::pair<int64_t, int64_t>> input_output_aliases;
  // The parameters of a call on whole batches, in which the widened operands and all results have
  // an additional leading dimension.
  std::function<ParamsPtr(const std::vector<bool>& is_widened, std::vector<ShapeDtype> results)>
      widened;
};

// `method` must have passed check_vmap_method.
BatchResults batch_by_method(const BatchCall& call, const ForeignSite& site,
                             std::string_view method);

// A scan that applies the primitive to each element of the batch. Tokens are passed from step to
// step.
BatchResults batch_in_loop(const BatchCall& call, const std::string& name);

}  // namespace farcall
