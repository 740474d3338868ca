// Batching: vmap of flat functions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

namespace farcall {

// Maps `function` over one dimension of its inputs. axes[i] is the batch dimension of inputs[i], or
// kNotBatched. The operations determine the batch dimensions of the results; see move_axis. Null
// inputs and null results are passed through.
FARCALL_API BatchResults batch(const FlatFunction& function, std::span<const Array> inputs,
                               std::span<const int64_t> axes, const BatchAxis& axis);

// Moves the batch dimension of `x` from `from` to `to`. If `from` is kNotBatched, broadcasts `x`
// along a new dimension of this size.
FARCALL_API Array move_axis(const Array& x, int64_t from, int64_t to, int64_t size);
// The type of a batch of arrays of this type, with the batch dimension at `axis`.
FARCALL_API ShapeDtype batched_type(ShapeDtype type, int64_t axis, int64_t size);
// The type of one array of such a batch.
FARCALL_API ShapeDtype unbatched_type(ShapeDtype type, int64_t axis);
// The results with batch dimension 0; unbatched results are broadcast. Null arrays and tokens stay
// as they are.
FARCALL_API std::vector<Array> batched_in_front(BatchResults results, const BatchAxis& axis);

// The size of the innermost enclosing mapped axis of this name. Raises NameError, listing the axes
// in scope, if there is none.
FARCALL_API int64_t mapped_axis_size(const std::string& name);
FARCALL_API std::vector<std::string> mapped_axis_names();
// Names and sizes of the axes in scope. A function recorded here may depend on them, so cache keys
// include them.
FARCALL_API std::vector<std::pair<std::string, int64_t>> mapped_axes();

// During the scope, functions of this thread can refer to these axes, as inside of vmaps over them:
// they can be recorded, not run.
class FARCALL_API AxisEnvironment {
 public:
  explicit AxisEnvironment(std::span<const std::pair<std::string, int64_t>> axes);
  ~AxisEnvironment();
  AxisEnvironment(const AxisEnvironment&) = delete;
  AxisEnvironment& operator=(const AxisEnvironment&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace farcall
