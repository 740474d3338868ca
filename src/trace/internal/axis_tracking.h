// Tracking of the axes over which values vary; see trace/varying.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/trace/varying.h>

namespace farcall {

// During the scope, tracks these axes too, in addition to those that are tracked already: over the
// latter, all values count as varying.
class FARCALL_API AxisTracking {
 public:
  explicit AxisTracking(std::span<const std::string> axes);
  ~AxisTracking();
  AxisTracking(const AxisTracking&) = delete;
  AxisTracking& operator=(const AxisTracking&) = delete;

  // Of this thread; null if axes are not tracked.
  static AxisTracking* current();
  // Bit i of a set stands for axes()[i].
  std::span<const std::string> axes() const { return axes_; }
  // The axes along which the devices may be at different places of the program. All values vary
  // over them.
  AxisSet diverging() const { return diverging_; }

 private:
  friend class Diverging;

  std::vector<std::string> axes_;
  AxisSet diverging_ = 0;
  AxisTracking* outer_;
};

// During the scope, nothing is tracked.
class FARCALL_API WithoutTracking {
 public:
  WithoutTracking();
  ~WithoutTracking();
  WithoutTracking(const WithoutTracking&) = delete;
  WithoutTracking& operator=(const WithoutTracking&) = delete;

 private:
  AxisTracking* outer_;
};

// While the program of a branch or a loop is recorded whose decision varies over these axes.
class FARCALL_API Diverging {
 public:
  explicit Diverging(AxisSet axes);
  ~Diverging();
  Diverging(const Diverging&) = delete;
  Diverging& operator=(const Diverging&) = delete;

 private:
  AxisTracking* tracking_;
  AxisSet outer_ = 0;
};

// The operands of an application, marked so that those that meet vary over the same axes. Called
// for all applications while axes are tracked.
std::vector<Array> met(const AxisTracking& tracking, const Primitive& primitive,
                       const ParamsPtr& params, std::span<const Array> inputs);
// Whether the primitive is `pvary`.
bool is_pvary(const Primitive& primitive);
// Whether it is `pvary` or `psum_invariant`.
bool is_between_sets(const Primitive& primitive);
// Whether the application itself communicates over named axes.
bool is_collective(const Primitive& primitive, const Params* params);

// A sum over tracked axes.
FARCALL_API Array psum_over(const Array& x, std::vector<std::string> axes);
// The number of axes that are tracked.
FARCALL_API size_t num_tracked_axes();
// Splits off the names that are tracked.
FARCALL_API std::vector<std::string> take_tracked(std::vector<std::string>& axes);
// The set of these names.
FARCALL_API AxisSet tracked_axes(std::span<const std::string> names);

// Sets the axes of a program (axes_of), unless it has some.
void keep_axes(const Program& program, ProgramAxes axes);
// The axes of a program, whether or not axes are tracked now.
std::optional<ProgramAxes> kept_axes_of(const Program& program);

}  // namespace farcall
