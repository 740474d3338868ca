// Parameters of ffi_call, the one primitive behind every foreign call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/ffi/attribute.h>
#include <farcall/program/params.h>

namespace farcall {

using MajorToMinor = std::optional<std::vector<int64_t>>;  // nothing: row-major

struct FfiCallParams {
  Attributes attributes;
  // One entry for each vmap that made this call on a batch of a call on one element, the last one
  // last: the operands that gained a leading dimension by it. All results but tokens did.
  std::vector<std::vector<int64_t>> batched_operands;
  int64_t custom_call_api_version = 4;
  bool has_side_effect = false;
  std::vector<MajorToMinor> input_layouts;                        // one for each operand
  std::vector<std::pair<int64_t, int64_t>> input_output_aliases;  // (input, output), sorted
  std::optional<std::string> legacy_backend_config;
  std::vector<MajorToMinor> output_layouts;  // one for each result
  std::vector<ShapeDtype> result_types;
  std::string target_name;
  std::optional<std::string> vmap_method;

  static constexpr auto fields() {
    using P = FfiCallParams;
    return std::tuple(
        field("attributes", &P::attributes), field("batched_operands", &P::batched_operands),
        field("custom_call_api_version", &P::custom_call_api_version),
        field("has_side_effect", &P::has_side_effect), field("input_layouts", &P::input_layouts),
        field("input_output_aliases", &P::input_output_aliases),
        field("legacy_backend_config", &P::legacy_backend_config),
        field("output_layouts", &P::output_layouts), field("result_types", &P::result_types),
        field("target_name", &P::target_name), field("vmap_method", &P::vmap_method));
  }
};

}  // namespace farcall
