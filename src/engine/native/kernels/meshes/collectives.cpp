// Collectives: each device reads what the other devices of its group provide.
#include "engine/native/kernels/meshes/collectives.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/primitives/collectives.h>
#include <farcall/primitives/reduce.h>

#include "engine/native/kernels/movement/strided_copy.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/mesh_run.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

std::byte* bytes_at(void* data, size_t offset) { return static_cast<std::byte*>(data) + offset; }
const std::byte* bytes_at(const void* data, size_t offset) {
  return static_cast<const std::byte*>(data) + offset;
}
void copy_bytes(void* to, const void* from, size_t nbytes) {
  if (nbytes > 0) std::memcpy(to, from, nbytes);
}

// ---- psum, pmax, pmin ----

// The bytes of an operand that are reduced at a time: a tile of each device fits in a cache.
constexpr size_t kTileBytes = size_t{1} << 14;

// Stacks tiles of all operands and reduces each stack with the kernel of array reductions. The
// result has the same bits on every device, and those of a batched reduction.
struct Reduction {
  Groups groups;
  size_t nbytes;  // of one operand
  size_t tile;    // of one tile, in bytes
  Kernel kernel;
  size_t stack, scratch;  // offsets in scratch

  size_t num_tiles() const { return nbytes == 0 ? 0 : (nbytes + tile - 1) / tile; }
  // The last tile has the size of the others, and overlaps with the one before.
  size_t start_of(size_t index) const { return std::min(index * tile, nbytes - tile); }
  // Each device reduces some of the tiles for all.
  bool is_shared() const { return groups.are_in_this_process() && num_tiles() >= groups.size(); }
};

void run_reduction(const KernelCall& call) {
  const auto& reduction = *static_cast<const Reduction*>(call.data);
  const Groups& groups = reduction.groups;
  void* stack = bytes_at(call.scratch, reduction.stack);
  const std::vector<const void*> all = groups.meet(call.operands[0], reduction.nbytes);
  const bool is_shared = reduction.is_shared();
  const size_t first = is_shared ? groups.position() : 0, step = is_shared ? groups.size() : 1;
  for (size_t tile = first; tile < reduction.num_tiles(); tile += step) {
    const size_t start = reduction.start_of(tile);
    for (size_t i = 0; i < all.size(); ++i) {
      copy_bytes(bytes_at(stack, i * reduction.tile), bytes_at(all[i], start), reduction.tile);
    }
    void* operands[] = {stack, bytes_at(call.operands[1], start)};
    reduction.kernel.run(
        {operands, bytes_at(call.scratch, reduction.scratch), reduction.kernel.data.get()});
  }
  if (is_shared) {
    const std::vector<const void*> results = groups.meet_again(call.operands[1]);
    for (size_t tile = 0; tile < reduction.num_tiles(); ++tile) {
      if (tile % step == first) continue;
      // Without the part in which the last tile overlaps: another device may be reading it.
      const size_t start = tile * reduction.tile;
      copy_bytes(bytes_at(call.operands[1], start), bytes_at(results[tile % step], start),
                 std::min(reduction.tile, reduction.nbytes - start));
    }
  }
  groups.part();
}

[[noreturn]] void refuse_size(std::string_view name, std::string_view axis, size_t size,
                              int64_t traced_size) {
  invalid_argument(
      fmt::format("{}: axis \"{}\" has size {}, but the program was traced for size {}", name, axis,
                  size, traced_size));
}

template <const char* const& kReduce>
Kernel make_reduction(Types inputs, Types outputs, const Params* params) {
  const auto& axes = params_as<ReduceAxesParams>(params).axes;
  Groups groups("a reduction over an axis", axes);
  const size_t nbytes = inputs[0].nbytes(), width = byte_width(inputs[0].dtype());
  const size_t tile = std::min(nbytes, kTileBytes / width * width);
  const Shape stack_shape{static_cast<int64_t>(groups.size()), static_cast<int64_t>(tile / width)};
  const ShapeDtype stacked = inputs[0].with_shape(stack_shape);
  const ShapeDtype reduced = outputs[0].with_shape(std::span(stack_shape).subspan(1));
  const ParamsPtr reduce = make_params(ReduceParams{{0}});
  Kernel kernel = find_kernel(kReduce)({&stacked, 1}, {&reduced, 1}, reduce.get());
  if (!kernel.run) return kernel;
  ScratchParts parts;
  const size_t stack = parts.take(static_cast<int64_t>(groups.size()), tile);
  const size_t scratch = parts.take(1, kernel.scratch_bytes);
  return {.run = run_reduction,
          .data = std::make_shared<const Reduction>(
              Reduction{std::move(groups), nbytes, tile, std::move(kernel), stack, scratch}),
          .scratch_bytes = parts.bytes()};
}

constexpr const char* kSum = "reduce_sum";
constexpr const char* kMax = "reduce_max";
constexpr const char* kMin = "reduce_min";

// ---- all_gather ----

struct Gather {
  Groups groups;
  size_t outer = 1, inner = 0;  // inner in bytes
};

void run_gather(const KernelCall& call) {
  const auto& gather = *static_cast<const Gather*>(call.data);
  const std::vector<const void*> all =
      gather.groups.meet(call.operands[0], gather.outer * gather.inner);
  for (size_t i = 0; i < gather.outer; ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      copy_bytes(bytes_at(call.operands[1], (i * all.size() + j) * gather.inner),
                 bytes_at(all[j], i * gather.inner), gather.inner);
    }
  }
  gather.groups.part();
}

Kernel make_gather(Types inputs, Types, const Params* params) {
  const auto& p = params_as<AllGatherParams>(params);
  Gather gather{Groups("all_gather", {&p.axis_name, 1}), 1, byte_width(inputs[0].dtype())};
  if (static_cast<int64_t>(gather.groups.size()) != p.axis_size) {
    refuse_size("all_gather", p.axis_name, gather.groups.size(), p.axis_size);
  }
  const auto shape = inputs[0].shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    (static_cast<int64_t>(i) < p.all_gather_dimension ? gather.outer : gather.inner) *=
        static_cast<size_t>(shape[i]);
  }
  return {.run = run_gather, .data = std::make_shared<const Gather>(std::move(gather))};
}

// ---- all_to_all ----

struct Exchange {
  Groups groups;
  StridedCopy copy;               // one slice
  size_t source = 0, target = 0;  // bytes from one slice to the next
  size_t nbytes = 0;              // of the operand
};

void run_exchange(const KernelCall& call) {
  const auto& exchange = *static_cast<const Exchange*>(call.data);
  const std::vector<const void*> all = exchange.groups.meet(call.operands[0], exchange.nbytes);
  for (size_t i = 0; i < all.size(); ++i) {
    exchange.copy.run(bytes_at(all[i], exchange.groups.position() * exchange.source),
                      bytes_at(call.operands[1], i * exchange.target));
  }
  exchange.groups.part();
}

Kernel make_exchange(Types inputs, Types outputs, const Params* params) {
  const auto& p = params_as<AllToAllParams>(params);
  const auto split = static_cast<size_t>(p.split_axis), concat = static_cast<size_t>(p.concat_axis);
  const size_t width = byte_width(inputs[0].dtype());
  Groups groups("all_to_all", {&p.axis_name, 1});
  if (static_cast<int64_t>(groups.size()) != inputs[0].shape()[split]) {
    refuse_size("all_to_all", p.axis_name, groups.size(), inputs[0].shape()[split]);
  }
  auto from = strides_of(inputs[0].shape(), row_major(inputs[0].rank()));
  auto to = strides_of(outputs[0].shape(), row_major(outputs[0].rank()));
  const size_t source = static_cast<size_t>(from[split]) * width;
  const size_t target = static_cast<size_t>(to[concat]) * width;
  Shape slice(inputs[0].shape().begin(), inputs[0].shape().end());
  slice.erase(slice.begin() + p.split_axis);
  from.erase(from.begin() + p.split_axis);
  to.erase(to.begin() + p.concat_axis);
  return {.run = run_exchange,
          .data = std::make_shared<const Exchange>(Exchange{std::move(groups),
                                                            StridedCopy(width, slice, from, to),
                                                            source, target, inputs[0].nbytes()})};
}

// ---- ppermute ----

struct Permutation {
  Groups groups;
  std::vector<int64_t> sources;  // by position; -1 for none
  size_t nbytes;
};

void run_permutation(const KernelCall& call) {
  const auto& permutation = *static_cast<const Permutation*>(call.data);
  const std::vector<const void*> all =
      permutation.groups.meet(call.operands[0], permutation.nbytes, [&](size_t from, size_t to) {
        return permutation.sources[to] == static_cast<int64_t>(from);
      });
  const int64_t source = permutation.sources[permutation.groups.position()];
  if (source >= 0) {
    copy_bytes(call.operands[1], all[static_cast<size_t>(source)], permutation.nbytes);
  } else if (permutation.nbytes > 0) {
    std::memset(call.operands[1], 0, permutation.nbytes);
  }
  permutation.groups.part();
}

Kernel make_permutation(Types inputs, Types, const Params* params) {
  const auto& p = params_as<PpermuteParams>(params);
  Permutation permutation{Groups("ppermute", {&p.axis_name, 1}), {}, inputs[0].nbytes()};
  const auto size = static_cast<int64_t>(permutation.groups.size());
  permutation.sources.resize(static_cast<size_t>(size), -1);
  for (const auto& [from, to] : p.perm) {
    if (from < 0 || from >= size || to < 0 || to >= size) {
      invalid_argument(
          fmt::format("ppermute: perm has the pair ({}, {}), but axis \"{}\" has size {}", from, to,
                      p.axis_name, size));
    }
    permutation.sources[static_cast<size_t>(to)] = from;
  }
  return {.run = run_permutation,
          .data = std::make_shared<const Permutation>(std::move(permutation))};
}

// ---- axis_index ----

void run_axis_index(const KernelCall& call) {
  const auto index = static_cast<int32_t>(static_cast<const Groups*>(call.data)->position());
  std::memcpy(call.operands[0], &index, sizeof(index));
}

Kernel make_axis_index(Types, Types, const Params* params) {
  const auto& p = params_as<AxisIndexParams>(params);
  return {.run = run_axis_index,
          .data = std::make_shared<const Groups>("axis_index",
                                                 std::span<const std::string>(&p.axis_name, 1))};
}

constexpr KernelRow kRows[] = {
    {"psum", make_reduction<kSum>},  {"pmax", make_reduction<kMax>}, {"pmin", make_reduction<kMin>},
    {"all_gather", make_gather},     {"all_to_all", make_exchange},  {"ppermute", make_permutation},
    {"axis_index", make_axis_index},
};

}  // namespace

std::span<const KernelRow> collective_rows() { return kRows; }

}  // namespace farcall::native
