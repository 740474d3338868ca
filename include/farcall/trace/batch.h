// Batching: vmap of flat functions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

namespace farcall {

// Maps `function` over one dimension of its inputs: axes[i] is that dimension of inputs[i], or
// kNotBatched. The results' batch dimensions lie where the operations left them; see move_axis.
// Null arrays go in and come out as they are.
FARCALL_API BatchResults batch(const FlatFunction& function, std::span<const Array> inputs,
                               std::span<const int64_t> axes, const BatchAxis& axis);

// The array with its batch dimension, now at `from` or kNotBatched, at `to`.
FARCALL_API Array move_axis(const Array& x, int64_t from, int64_t to, int64_t size);
// The type of a batch of arrays of this type, its batch dimension at `axis`.
FARCALL_API ShapeDtype batched_type(ShapeDtype type, int64_t axis, int64_t size);
// The type of one array of such a batch.
FARCALL_API ShapeDtype unbatched_type(ShapeDtype type, int64_t axis);
// All arrays with their batch dimensions in front.
FARCALL_API std::vector<Array> batched_in_front(BatchResults results, const BatchAxis& axis);

// The size of the mapped axis of this name around the running function; raises NameError listing
// the names that there are.
FARCALL_API int64_t mapped_axis_size(const std::string& name);
FARCALL_API std::vector<std::string> mapped_axis_names();
// Both: what a function that is recorded here may ask for, and so a part of the keys of caches.
FARCALL_API std::vector<std::pair<std::string, int64_t>> mapped_axes();

}  // namespace farcall
