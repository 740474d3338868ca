// map and associative_scan, built from scan, vmap and slices.
#include <farcall/ops/control_flow.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/type_text.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/batch.h>

#include "ops/control/programs.h"

namespace farcall::lax {
namespace {

using namespace control;

// Elements start, start + stride, … below `limit` along one dimension.
Array part(const Array& x, int64_t axis, int64_t start, int64_t limit, int64_t stride = 1) {
  std::vector<int64_t> starts(x.rank(), 0), limits(x.shape().begin(), x.shape().end());
  std::vector<int64_t> strides(x.rank(), 1);
  starts[axis] = start;
  limits[axis] = std::max(start, limit);
  strides[axis] = stride;
  return slice(x, starts, limits, strides);
}

template <class F>
std::vector<Array> each(std::span<const Array> arrays, const F& f) {
  std::vector<Array> results;
  results.reserve(arrays.size());
  for (const Array& array : arrays) results.push_back(f(array));
  return results;
}

std::vector<Array> vmap_all(const FlatFunction& f, std::span<const Array> xs, int64_t size) {
  const BatchAxis axis{size, {}};
  return batched_in_front(batch(f, xs, std::vector<int64_t>(xs.size(), 0), axis), axis);
}

std::vector<Array> map_in_turn(const FlatFunction& f, std::span<const Array> xs) {
  return scan(
             [&](std::span<const Array>, std::span<const Array> x) {
               return LoopResults{{}, f(x)};
             },
             {}, xs)
      .ys;
}

// a[0], b[0], a[1], b[1], … along one dimension; `a` may have one element more than `b`.
Array interleave(const Array& a, const Array& b, int64_t axis) {
  const int64_t size = b.shape()[axis];
  const Array pairs[] = {part(a, axis, 0, size), b};
  std::vector<int64_t> shape(b.shape().begin(), b.shape().end());
  shape[axis] = 2 * size;
  Array both = reshape(numpy::stack(pairs, axis + 1), shape);
  if (a.shape()[axis] == size) return both;
  const Array all[] = {both, part(a, axis, size, size + 1)};
  return concatenate(all, axis);
}

// The algorithm of G. Blelloch, Prefix sums and their applications, 1990. Combines each pair of
// neighbours. A recursive call scans the results, which are the odd elements of the whole scan.
// Each even element combines the odd one before it with its own operand. This takes O(size)
// operations in O(log(size)) steps.
std::vector<Array> scan_by_halves(const Combine& fn, std::span<const Array> elems, int64_t axis) {
  const int64_t size = elems[0].shape()[axis];
  if (size < 2) return {elems.begin(), elems.end()};
  const auto all_but_last =
      each(elems, [&](const Array& x) { return part(x, axis, 0, size - 1, 2); });
  const auto second = each(elems, [&](const Array& x) { return part(x, axis, 1, size, 2); });
  const auto odd = scan_by_halves(fn, fn(all_but_last, second), axis);
  std::vector<Array> results;
  if (size == 2) {
    for (size_t i = 0; i < elems.size(); ++i) {
      results.push_back(interleave(part(elems[i], axis, 0, 1), odd[i], axis));
    }
    return results;
  }
  const int64_t num_odd = odd[0].shape()[axis];
  const auto before = each(
      odd, [&](const Array& x) { return part(x, axis, 0, size % 2 == 0 ? num_odd - 1 : num_odd); });
  const auto later = each(elems, [&](const Array& x) { return part(x, axis, 2, size, 2); });
  const auto between = fn(before, later);
  for (size_t i = 0; i < elems.size(); ++i) {
    const Array even[] = {part(elems[i], axis, 0, 1), between[i]};
    results.push_back(interleave(concatenate(even, axis), odd[i], axis));
  }
  return results;
}

}  // namespace

std::vector<Array> map(const FlatFunction& f, std::span<const Array> xs,
                       std::optional<int64_t> batch_size) {
  if (!batch_size) return map_in_turn(f, xs);
  if (*batch_size < 1)
    invalid_argument(fmt::format("map: batch_size must be positive, got {}", *batch_size));
  const int64_t size = scan_length("map", xs, {}, numbered("xs"));
  const int64_t num_batches = size / *batch_size, rest = size % *batch_size;
  std::vector<Array> results, last;
  if (num_batches > 0 || rest == 0) {
    const auto batches = each(xs, [&](const Array& x) {
      Shape shape(x.shape().begin(), x.shape().end());
      shape[0] = *batch_size;
      shape.insert(shape.begin(), num_batches);
      return reshape(part(x, 0, 0, size - rest), shape);
    });
    const auto run_batch = [&](std::span<const Array> x) { return vmap_all(f, x, *batch_size); };
    results = each(map_in_turn(run_batch, batches), [&](const Array& y) {
      Shape shape(y.shape().begin() + 1, y.shape().end());
      shape[0] = size - rest;
      return reshape(y, shape);
    });
  }
  if (rest > 0) {
    last =
        vmap_all(f, each(xs, [&](const Array& x) { return part(x, 0, size - rest, size); }), rest);
  }
  if (results.empty()) return last;
  for (size_t i = 0; i < last.size(); ++i) {
    const Array parts[] = {results[i], last[i]};
    results[i] = concatenate(parts, 0);
  }
  return results;
}

std::vector<Array> associative_scan(const Combine& fn, std::span<const Array> elems, bool reverse,
                                    int64_t axis) {
  if (elems.empty()) return {};
  for (size_t i = 0; i < elems.size(); ++i) {
    const auto rank = static_cast<int64_t>(elems[i].rank());
    if (axis < -rank || axis >= rank) {
      invalid_argument(fmt::format("associative_scan: axis {} does not lie in elems[{}], {}", axis,
                                   i, elems[i].type().to_string()));
    }
  }
  if (axis < 0) axis += static_cast<int64_t>(elems[0].rank());
  const int64_t size = elems[0].shape()[axis];
  for (size_t i = 1; i < elems.size(); ++i) {
    if (axis < static_cast<int64_t>(elems[i].rank()) && elems[i].shape()[axis] == size) continue;
    invalid_argument(
        fmt::format("associative_scan: elems[0] has {} elements along axis {}, elems[{}] is "
                    "{}",
                    size, axis, i, elems[i].type().to_string()));
  }
  const Combine checked = [&](std::span<const Array> a, std::span<const Array> b) {
    std::vector<Array> results = fn(a, b);
    const auto in = types_of(a), out = types_of(results);
    if (!std::ranges::equal(in, out, {}, &ShapeDtype::strengthened, &ShapeDtype::strengthened)) {
      throw TypeError(
          fmt::format("associative_scan: the function must return arrays of the types that it "
                      "gets: input ({}), output ({})",
                      types_to_string(in), types_to_string(out)));
    }
    return results;
  };
  const auto turned = [&](std::span<const Array> arrays) {
    return each(arrays, [&](const Array& x) { return reverse ? rev(x, {&axis, 1}) : x; });
  };
  return turned(scan_by_halves(checked, turned(elems), axis));
}

}  // namespace farcall::lax
