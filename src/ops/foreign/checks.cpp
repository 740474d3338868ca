#include "ops/foreign/checks.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

#include "ops/internal/key_words.h"

namespace farcall {
namespace {

constexpr std::array<std::string_view, 5> kVmapMethods = {
    "broadcast_all", "expand_dims", "legacy_vectorized", "sequential", "sequential_unrolled"};

}  // namespace

bool same_strong_types(std::span<const ShapeDtype> a, std::span<const ShapeDtype> b) {
  return std::ranges::equal(a, b, {}, &ShapeDtype::strengthened, &ShapeDtype::strengthened);
}

void check_vmap_method(std::string_view what, std::string_view method) {
  if (std::ranges::find(kVmapMethods, method) != kVmapMethods.end()) return;
  invalid_argument(fmt::format("{}: vmap_method must be one of {} or None, got \"{}\"", what,
                               fmt::join(kVmapMethods, ", "), method));
}

void check_no_keys(std::string_view what, std::span<const ShapeDtype> inputs,
                   std::span<const ShapeDtype> outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_key(inputs[i].dtype())) continue;
    throw TypeError(
        fmt::format("{}: argument {} is {}; foreign functions take the words of random keys. Pass "
                    "random.key_data(key)",
                    what, i, inputs[i].to_string()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!is_key(outputs[i].dtype())) continue;
    throw TypeError(
        fmt::format("{}: result {} is {}, but the function returns the words of random keys. "
                    "Declare it as {}, and convert it with random.wrap_key_data",
                    what, i, outputs[i].to_string(), key_words_type(outputs[i]).to_string()));
  }
}

void check_aliases(std::string_view what, std::span<const std::pair<int64_t, int64_t>> aliases,
                   std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs) {
  if (aliases.empty()) return;
  std::vector<bool> is_taken(outputs.size(), false), is_given(inputs.size(), false);
  for (const auto& [input, output] : aliases) {
    const auto fail = [&, input = input, output = output](const std::string& why) {
      invalid_argument(fmt::format("{}: input_output_aliases contains the mapping '{}:{}'{}", what,
                                   input, output, why));
    };
    if (input < 0 || input >= static_cast<int64_t>(inputs.size())) {
      fail(fmt::format(" with input index {} outside the range [0, {})", input, inputs.size()));
    }
    if (output < 0 || output >= static_cast<int64_t>(outputs.size())) {
      fail(fmt::format(" with output index {} outside the range [0, {})", output, outputs.size()));
    }
    const auto in = static_cast<size_t>(input), out = static_cast<size_t>(output);
    if (is_taken[out]) {
      fail(
          fmt::format(", but output {} is named twice; one output can take over the memory of one "
                      "input",
                      output));
    }
    is_taken[out] = true;
    if (is_given[in]) {
      fail(fmt::format(
          ", but input {} is named twice; the memory of one input can go to one output", input));
    }
    is_given[in] = true;
    const ShapeDtype from = inputs[in].strengthened(), to = outputs[out].strengthened();
    if (from != to) {
      fail(
          fmt::format(" referring to an input of {} and an output of {}; they must be equal in "
                      "shape and dtype",
                      from.to_string(), to.to_string()));
    }
  }
}

}  // namespace farcall
