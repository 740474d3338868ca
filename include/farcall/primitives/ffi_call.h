// Options of a foreign call, and the parameters of ffi_call, the primitive of all foreign calls.
// Each option is a member of both structs with an entry in fields(), and a line in with_options().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/ffi/attribute.h>
#include <farcall/program/params.h>

namespace farcall {

using MajorToMinor = std::optional<std::vector<int64_t>>;  // nullopt: row-major

// The options as the user gives them.
struct FfiCallOptions {
  // The call runs exactly once per execution, even if its results are unused.
  bool has_side_effect = false;
  // "sequential", "sequential_unrolled", "expand_dims", "broadcast_all" or "legacy_vectorized".
  std::optional<std::string> vmap_method = {};
  // One layout, major to minor, for each operand (result); nullopt: row-major. By default all are
  // row-major.
  std::optional<std::vector<MajorToMinor>> input_layouts = {};
  std::optional<std::vector<MajorToMinor>> output_layouts = {};
  // Maps the index of an operand to the index of the result that uses its memory.
  std::map<int64_t, int64_t> input_output_aliases = {};
  // 4 for handlers; 0 to 3 for untyped functions.
  int custom_call_api_version = 4;
  // The opaque string that is passed to untyped functions.
  std::optional<std::string> legacy_backend_config = {};

  friend bool operator==(const FfiCallOptions&, const FfiCallOptions&) = default;

  // With their names in Python.
  static constexpr auto fields() {
    using O = FfiCallOptions;
    return std::tuple(
        field("has_side_effect", &O::has_side_effect), field("vmap_method", &O::vmap_method),
        field("input_layouts", &O::input_layouts), field("output_layouts", &O::output_layouts),
        field("input_output_aliases", &O::input_output_aliases),
        field("custom_call_api_version", &O::custom_call_api_version),
        field("legacy_backend_config", &O::legacy_backend_config));
  }
};

struct FfiCallParams {
  Attributes attributes;
  // One entry for each vmap that turned this call into a call on a batch, in the order of
  // application: the operands that gained a leading dimension. All results except tokens gained
  // one.
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

// The parameters of a call with these options. Attributes, result types and target are left empty.
inline FfiCallParams with_options(const FfiCallOptions& options, size_t num_operands,
                                  size_t num_results) {
  FfiCallParams p;
  p.custom_call_api_version = options.custom_call_api_version;
  p.has_side_effect = options.has_side_effect;
  p.input_layouts = options.input_layouts.value_or(std::vector<MajorToMinor>(num_operands));
  p.input_output_aliases.assign(options.input_output_aliases.begin(),
                                options.input_output_aliases.end());
  p.legacy_backend_config = options.legacy_backend_config;
  p.output_layouts = options.output_layouts.value_or(std::vector<MajorToMinor>(num_results));
  p.vmap_method = options.vmap_method;
  return p;
}

}  // namespace farcall
