// Parameters of the callback primitives (buffer_callback, pure_callback, io_callback and
// debug_callback), which differ in the arguments of their function and in their effects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/ffi/callback.h>
#include <farcall/primitives/ffi_call.h>
#include <farcall/program/params.h>

namespace farcall {

inline Value to_value(const CallbackPtr& callback) { return to_string(*callback); }
inline void from_value(const Value& value, CallbackPtr& out) {
  std::string text;
  from_value(value, text);
  out = find_callback(text);
}

struct CallbackParams {
  CallbackPtr callback;
  bool has_side_effect = false;
  std::vector<std::pair<int64_t, int64_t>> input_output_aliases;  // (input, output), sorted
  bool is_ordered = false;
  std::vector<ShapeDtype> result_types;
  std::optional<std::string> vmap_method;

  static constexpr auto fields() {
    using P = CallbackParams;
    return std::tuple(
        field("callback", &P::callback), field("has_side_effect", &P::has_side_effect),
        field("input_output_aliases", &P::input_output_aliases), field("ordered", &P::is_ordered),
        field("result_types", &P::result_types), field("vmap_method", &P::vmap_method));
  }
};

// Whether the parameters are those of a callback primitive.
inline const CallbackParams* try_callback(const Params* params) {
  return try_params<CallbackParams>(params);
}

// The foreign call that engines make for a callback: it calls the callback's own target; all
// layouts are row-major.
inline FfiCallParams as_foreign_call(const CallbackParams& params, size_t num_inputs) {
  FfiCallParams call;
  call.has_side_effect = params.has_side_effect;
  call.input_layouts.resize(num_inputs);
  call.input_output_aliases = params.input_output_aliases;
  call.output_layouts.resize(params.result_types.size());
  call.result_types = params.result_types;
  call.target_name = params.callback->name;
  call.vmap_method = params.vmap_method;
  return call;
}

}  // namespace farcall
