// Batching by one of the five vmap methods, for calls of functions that are not to be looked into.
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

// What the methods need to know of a call.
struct ForeignSite {
  std::string name;  // of the function, for programs
  std::span<const ShapeDtype> result_types;
  std::span<const std::pair<int64_t, int64_t>> input_output_aliases;
  // The parameters of a call on whole batches: those operands and all results have gained a leading
  // dimension.
  std::function<ParamsPtr(const std::vector<bool>& is_widened, std::vector<ShapeDtype> results)>
      widened;
};

// `method` has passed check_vmap_method.
BatchResults batch_by_method(const BatchCall& call, const ForeignSite& site,
                             std::string_view method);

// A scan over the elements of the batch, one application for each. Tokens are handed from step to
// step.
BatchResults batch_in_loop(const BatchCall& call, const std::string& name);

}  // namespace farcall
