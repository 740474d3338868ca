// conv_general_dilated as matrix products: the elements that a window covers at one position form a
// row, and the rows of several positions are multiplied with the weights.
//
// Operands are first rearranged: the left one to batch, spatial dimensions, features; the weights
// to group, window, features of the left operand, features of the result.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <farcall/primitives/convolution.h>

#include "engine/native/kernels/clusters/lane_tiles.h"
#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/movement/moves.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/strided_copy.h"
#include "engine/native/kernels/products/matrix_product.h"
#include "engine/native/kernels/products/short_product.h"
#include "engine/native/kernels/reductions/sliding_window.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/kernels/width.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;
using Indices = std::vector<int64_t>;

// The most elements and multiplications of the positions computed at a time: they fit the
// second-level cache, and their product is not worth a second thread.
constexpr int64_t kPatchElements = int64_t{1} << 17, kChunkCost = 2 * kThreadCost - 1;

// An operand to be rearranged and converted.
struct Rearranged {
  bool is_moved = false;
  StridedCopy move;
  Conversion convert;
  int64_t size = 0;
  size_t moved_offset = 0, converted_offset = 0;  // offsets in scratch

  // Rearranges and converts the operand to the dtype computed in.
  const std::byte* load(const void* data, std::byte* scratch) const {
    const auto* now = static_cast<const std::byte*>(data);
    if (is_moved) {
      move.run(now, scratch + moved_offset);
      now = scratch + moved_offset;
    }
    if (!convert.is_copy()) {
      convert.run(now, scratch + converted_offset, size);
      now = scratch + converted_offset;
    }
    return now;
  }
};

struct ConvPlan {
  Multiply multiply = nullptr;
  Rearranged lhs, rhs;
  StridedCopy store_order;
  bool is_stored_moved = false;
  Conversion store;
  std::vector<WindowDimension> spatial;  // of the left operand
  int64_t batch = 0, groups = 1, positions = 1, window = 1;
  int64_t channels = 0, features = 0;  // of a group
  int64_t lhs_batch_stride = 0, lhs_group_stride = 0;
  int64_t chunk = 1;  // positions computed at a time
  // Whether patches are transposed: of one channel and for one feature, their rows are long then.
  bool is_shifted = false;
  int64_t width = 0, result_width = 0;  // of an element in a product, and of its result
  int64_t result_size = 0;
  size_t results = 0, converted = 0, chunks = 0;  // offsets in scratch
  // The scratch memory of a thread: patches, and the products of one of several groups.
  size_t products = 0, thread_bytes = 0;

  int64_t depth() const { return window * channels; }
};

// ---- running

// The windows at one position, or at positions that differ only in the last dimension.
struct Place {
  Covered outer[kMaxRank];  // of each dimension but the last
  int64_t position = 0;     // in the last dimension
  bool is_inside = true;    // whether the outer dimensions of the window cover no padding
};

Place find_place(const ConvPlan& plan, int64_t position) {
  Place place;
  for (size_t i = plan.spatial.size(); i-- > 0;) {
    const WindowDimension& dimension = plan.spatial[i];
    const int64_t at = position % dimension.num_positions;
    position /= dimension.num_positions;
    if (i + 1 == plan.spatial.size()) {
      place.position = at;
    } else {
      place.outer[i] = dimension.places(at);
      place.is_inside = place.is_inside && place.outer[i].count == dimension.window;
    }
  }
  return place;
}

// Calls visit(offset, row) for each row of the window, along its last dimension, that covers
// elements.
template <class Visit>
void for_each_row(const ConvPlan& plan, const Place& place, const Visit& visit, size_t i = 0,
                  int64_t offset = 0, int64_t row = 0) {
  if (i + 1 >= plan.spatial.size()) return visit(offset, row);
  const Covered& run = place.outer[i];
  for (int64_t k = 0; k < run.count; ++k) {
    for_each_row(plan, place, visit, i + 1, offset + run.offset + k * run.offset_step,
                 row * plan.spatial[i].window + run.first + k * run.step);
  }
}

// Gathers the elements that the window covers at one position: a row of depth() elements.
template <class T>
void gather_patch(const ConvPlan& plan, const T* lhs, int64_t position, T* patch) {
  const Place place = find_place(plan, position);
  const int64_t window = plan.spatial.back().window, channels = plan.channels;
  const Covered run = plan.spatial.back().places(place.position);
  if (!place.is_inside || run.count < window) std::fill_n(patch, plan.depth(), T());
  for_each_row(plan, place, [&](int64_t offset, int64_t row) {
    const T* from = lhs + offset + run.offset;
    T* to = patch + (row * window + run.first) * channels;
    if (run.step == 1 && run.offset_step == channels) {
      std::copy_n(from, run.count * channels, to);
      return;
    }
    for (int64_t k = 0; k < run.count; ++k, from += run.offset_step, to += run.step * channels) {
      for (int64_t i = 0; i < channels; ++i) to[i] = from[i];
    }
  });
}

// The transpose of the patches of several positions, for one channel: a row of `count` elements for
// each place in the window, which are shifted pieces of the rows of the operand.
template <class T>
void gather_shifted(const ConvPlan& plan, const T* lhs, int64_t first, int64_t count, T* patches) {
  const WindowDimension& last = plan.spatial.back();
  for (int64_t done = 0, piece; done < count; done += piece, patches += piece) {
    const Place place = find_place(plan, first + done);
    piece = std::min(count - done, last.num_positions - place.position);
    if (!place.is_inside) {
      for (int64_t i = 0; i < plan.window; ++i) std::fill_n(patches + i * count, piece, T());
    }
    for_each_row(plan, place, [&](int64_t offset, int64_t row) {
      for (int64_t i = 0; i < last.window; ++i) {
        const Covered run = last.positions(i, place.position, piece);
        const T* from = lhs + offset + run.offset;
        T* to = patches + (row * last.window + i) * count;
        if (run.count < piece) std::fill_n(to, piece, T());
        if (run.step == 1 && run.offset_step == 1) {
          std::copy_n(from, run.count, to + run.first);
          continue;
        }
        for (int64_t k = 0; k < run.count; ++k) {
          to[run.first + k * run.step] = from[k * run.offset_step];
        }
      }
    });
  }
}

// The products of one group at `count` positions, dense and ordered by position, then feature.
void multiply_chunk(const ConvPlan& plan, const std::byte* lhs, const std::byte* weights,
                    int64_t first, int64_t count, std::byte* patches, std::byte* products) {
  visit_width(plan.width, [&]<class T>(T) {
    const auto* from = reinterpret_cast<const T*>(lhs);
    auto* to = reinterpret_cast<T*>(patches);
    if (plan.is_shifted) return gather_shifted(plan, from, first, count, to);
    for (int64_t i = 0; i < count; ++i) {
      gather_patch(plan, from, first + i, to + i * plan.depth());
    }
  });
  if (plan.is_shifted) {
    return plan.multiply(
        {1, plan.depth(), count, {weights, plan.depth(), 1}, {patches, count, 1}, products, count});
  }
  plan.multiply({count,
                 plan.depth(),
                 plan.features,
                 {patches, plan.depth(), 1},
                 {weights, plan.features, 1},
                 products,
                 plan.features});
}

// Computes the result, ordered by batch, position, feature: a chunk of positions of one group at a
// time.
void convolve(const ConvPlan& plan, const std::byte* lhs, const std::byte* rhs, std::byte* scratch,
              std::byte* result) {
  const int64_t part = plan.features * plan.result_width, row = plan.groups * part;
  const int64_t num_chunks = (plan.positions - 1) / plan.chunk + 1;
  const auto compute = [&](int64_t number, std::byte* memory, Tiles& tiles) {
    const int64_t first = number % num_chunks * plan.chunk;
    const int64_t group = number / num_chunks % plan.groups;
    const int64_t batch = number / num_chunks / plan.groups;
    const int64_t count = std::min(plan.chunk, plan.positions - first);
    const std::byte* image =
        lhs + (batch * plan.lhs_batch_stride + group * plan.lhs_group_stride) * plan.width;
    const std::byte* weights = rhs + group * plan.depth() * plan.features * plan.width;
    std::byte* to = result + (batch * plan.positions + first) * row + group * part;
    if (plan.groups == 1) {
      multiply_chunk(plan, image, weights, first, count, memory, to);
    } else {
      std::byte* products = memory + plan.products;
      multiply_chunk(plan, image, weights, first, count, memory, products);
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * row, products + i * part, static_cast<size_t>(part));
      }
    }
    return tiles.go_on(count * plan.depth() * plan.features);
  };
  for_lanes(plan.batch * plan.groups * num_chunks, plan.chunk * plan.depth(), plan.thread_bytes,
            scratch + plan.chunks, compute);
}

void run_conv(const KernelCall& call) {
  const auto& plan = *static_cast<const ConvPlan*>(call.data);
  if (plan.result_size == 0) return;
  auto* scratch = static_cast<std::byte*>(call.scratch);
  auto* output = static_cast<std::byte*>(call.operands[2]);
  if (plan.depth() == 0) {
    // A sum of no elements is zero, whose bits are zero in every dtype.
    std::memset(output, 0, static_cast<size_t>(plan.result_size) * plan.store.target_width);
    return;
  }
  const bool is_converted = !plan.store.is_copy();
  std::byte* result = is_converted || plan.is_stored_moved ? scratch + plan.results : output;
  convolve(plan, plan.lhs.load(call.operands[0], scratch), plan.rhs.load(call.operands[1], scratch),
           scratch, result);
  if (is_converted) {
    std::byte* to = plan.is_stored_moved ? scratch + plan.converted : output;
    plan.store.run(result, to, plan.result_size);
    result = to;
  }
  if (plan.is_stored_moved) plan.store_order.run(result, output);
}

// ---- planning

// Makes the operand with these sizes and strides dense, in the dtype computed in.
Rearranged rearrange(const ShapeDtype& type, const Indices& sizes, const Indices& strides,
                     DType compute, ScratchParts& scratch) {
  Rearranged result;
  const Indices dense = dense_strides(sizes);
  const size_t width = byte_width(type.dtype());
  result.size = type.size();
  result.is_moved = type.size() > 0 && dense != strides;
  if (result.is_moved) {
    result.move = StridedCopy(width, sizes, strides, dense);
    result.moved_offset = scratch.take(type.size(), width);
  }
  result.convert = make_conversion(type.dtype(), compute);
  if (!result.convert.is_copy()) {
    result.converted_offset = scratch.take(type.size(), byte_width(compute));
  }
  return result;
}

void plan_lhs(ConvPlan& plan, const ConvParams& p, const ShapeDtype& lhs, const ShapeDtype& rhs,
              const ShapeDtype& output, DType compute, ScratchParts& scratch) {
  const Indices strides = dense_strides(lhs.shape());
  Indices order = {p.lhs_spec[0]};
  order.insert(order.end(), p.lhs_spec.begin() + 2, p.lhs_spec.end());
  order.push_back(p.lhs_spec[1]);
  Indices sizes, own_strides;
  for (const int64_t i : order) {
    sizes.push_back(lhs.shape()[i]);
    own_strides.push_back(strides[i]);
  }
  plan.lhs = rearrange(lhs, sizes, own_strides, compute, scratch);
  const Indices dense = dense_strides(sizes);
  plan.lhs_batch_stride = dense[0];
  plan.lhs_group_stride = p.batch_group_count > 1 ? plan.batch * dense[0] : plan.channels;
  for (size_t i = 0; i + 2 < p.lhs_spec.size(); ++i) {
    plan.spatial.push_back(
        {{p.window_strides[i], p.rhs_dilation[i], p.lhs_dilation[i], p.padding[i].first},
         sizes[i + 1],
         dense[i + 1],
         output.shape()[p.out_spec[i + 2]],
         rhs.shape()[p.rhs_spec[i + 2]]});
    plan.positions *= plan.spatial.back().num_positions;
    plan.window *= plan.spatial.back().window;
  }
  // Without spatial dimensions there is one position, which covers one element.
  if (plan.spatial.empty()) {
    plan.spatial.push_back({.steps = {}, .size = 1, .num_positions = 1, .window = 1});
  }
}

void plan_rhs(ConvPlan& plan, const ConvParams& p, const ShapeDtype& rhs, DType compute,
              ScratchParts& scratch) {
  const Indices strides = dense_strides(rhs.shape());
  Indices sizes = {plan.groups}, own_strides = {plan.features * strides[p.rhs_spec[0]]};
  for (size_t i = 2; i < p.rhs_spec.size(); ++i) {
    sizes.push_back(rhs.shape()[p.rhs_spec[i]]);
    own_strides.push_back(strides[p.rhs_spec[i]]);
  }
  sizes.insert(sizes.end(), {plan.channels, plan.features});
  own_strides.insert(own_strides.end(), {strides[p.rhs_spec[1]], strides[p.rhs_spec[0]]});
  plan.rhs = rearrange(rhs, sizes, own_strides, compute, scratch);
}

void plan_output(ConvPlan& plan, const ConvParams& p, const ShapeDtype& output, DType compute,
                 ScratchParts& scratch) {
  const Indices strides = dense_strides(output.shape());
  Indices order = {p.out_spec[0]};
  order.insert(order.end(), p.out_spec.begin() + 2, p.out_spec.end());
  order.push_back(p.out_spec[1]);
  Indices sizes, own_strides;
  for (const int64_t i : order) {
    sizes.push_back(output.shape()[i]);
    own_strides.push_back(strides[i]);
  }
  const size_t width = byte_width(output.dtype());
  const Indices dense = dense_strides(sizes);
  plan.result_size = output.size();
  plan.store = make_conversion(compute, output.dtype());
  plan.is_stored_moved = output.size() > 0 && dense != own_strides;
  if (plan.is_stored_moved) plan.store_order = StridedCopy(width, sizes, dense, own_strides);
  if (plan.is_stored_moved || !plan.store.is_copy()) {
    plan.results = scratch.take(output.size(), byte_width(compute));
  }
  if (plan.is_stored_moved && !plan.store.is_copy()) {
    plan.converted = scratch.take(output.size(), width);
  }
}

Kernel make_conv(Types inputs, Types outputs, const Params* params) {
  const auto& p = params_as<ConvParams>(params);
  const DType operands = inputs[0].dtype();
  const Multiply short_product =
      operands == inputs[1].dtype() ? find_short_product(operands, outputs[0].dtype()) : nullptr;
  const DType compute = short_product ? operands : compute_dtype(outputs[0].dtype());
  const DType computed = short_product ? DType::kInt32 : compute;
  auto plan = std::make_shared<ConvPlan>();
  ScratchParts scratch;
  plan->groups = p.feature_group_count * p.batch_group_count;
  plan->batch = inputs[0].shape()[p.lhs_spec[0]] / p.batch_group_count;
  plan->channels = inputs[1].shape()[p.rhs_spec[1]];
  plan->features = inputs[1].shape()[p.rhs_spec[0]] / plan->groups;
  plan->width = static_cast<int64_t>(byte_width(compute));
  plan->result_width = static_cast<int64_t>(byte_width(computed));
  plan_lhs(*plan, p, inputs[0], inputs[1], outputs[0], compute, scratch);
  plan_rhs(*plan, p, inputs[1], compute, scratch);
  plan_output(*plan, p, outputs[0], computed, scratch);
  const int64_t depth = std::max(plan->depth(), int64_t{1});
  const int64_t features = std::max(plan->features, int64_t{1});
  plan->chunk = std::clamp(std::min(kPatchElements / depth, kChunkCost / depth / features),
                           int64_t{1}, std::max(plan->positions, int64_t{1}));
  constexpr int64_t kLongRow = 16;
  plan->is_shifted = plan->channels == 1 && plan->features == 1 &&
                     std::min(plan->chunk, plan->spatial.back().num_positions) >= kLongRow;
  ScratchParts of_thread;
  of_thread.take(plan->chunk * depth, byte_width(compute));
  if (plan->groups > 1) {
    plan->products = of_thread.take(plan->chunk * plan->features, byte_width(computed));
  }
  plan->thread_bytes = of_thread.bytes();
  plan->chunks = scratch.take(static_cast<int64_t>(plan->thread_bytes), 1);
  plan->multiply = short_product ? short_product : find_multiply(compute);
  if (!plan->multiply) return {};
  return {.run = run_conv, .data = std::move(plan), .scratch_bytes = scratch.bytes()};
}

constexpr KernelRow kRows[] = {{"conv_general_dilated", make_conv}};

}  // namespace

std::span<const KernelRow> convolution_rows() { return kRows; }

}  // namespace farcall::native
