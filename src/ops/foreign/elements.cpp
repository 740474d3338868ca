#include "ops/foreign/elements.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <farcall/ops/lax.h>
#include <farcall/primitives/ffi_call.h>
#include <farcall/trace/batch.h>

namespace farcall {
namespace {

MajorToMinor without_batch(const MajorToMinor& layout) {
  if (!layout) return layout;
  std::vector<int64_t> of_element;
  for (const int64_t axis : *layout) {
    if (axis > 0) of_element.push_back(axis - 1);
  }
  return of_element;
}

// The call on one element of the last vmap's batch, and the batch dimensions.
class Elements {
 public:
  Elements(const FfiCallParams& p, std::span<const ShapeDtype> operands)
      : types_(operands.begin(), operands.end()), axes_(operands.size(), kNotBatched) {
    FfiCallParams one = p;
    for (const int64_t i : one.batched_operands.back()) {
      axis_.size = std::max(axis_.size, types_[static_cast<size_t>(i)].shape()[0]);
    }
    for (size_t i = 0; i < one.result_types.size(); ++i) {
      ShapeDtype& type = one.result_types[i];
      if (type.is_token()) continue;
      axis_.size = type.shape()[0];
      type = unbatched_type(type, 0);
      one.output_layouts[i] = without_batch(one.output_layouts[i]);
    }
    for (const int64_t operand : one.batched_operands.back()) {
      const auto i = static_cast<size_t>(operand);
      if (types_[i].shape()[0] == axis_.size) axes_[i] = 0;
      types_[i] = unbatched_type(types_[i], 0);
      one.input_layouts[i] = without_batch(one.input_layouts[i]);
    }
    one.batched_operands.pop_back();
    params_ = make_params(std::move(one));
  }

  const ParamsPtr& params() const { return params_; }
  const BatchAxis& axis() const { return axis_; }
  std::span<const ShapeDtype> types() const { return types_; }
  std::span<const int64_t> axes() const { return axes_; }

  // Removes the dimension of size one that expand_dims added to unbatched operands.
  std::vector<Array> operands(std::span<const Array> arrays) const {
    std::vector<Array> found(arrays.begin(), arrays.end());
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].is_null() || axes_[i] != kNotBatched) continue;
      if (found[i].rank() > types_[i].rank()) {
        found[i] = lax::reshape(found[i], types_[i].shape());
      }
    }
    return found;
  }

 private:
  ParamsPtr params_;
  BatchAxis axis_;
  std::vector<ShapeDtype> types_;  // for the call on one element
  std::vector<int64_t> axes_;
};

}  // namespace

JvpResults jvp_by_elements(const JvpCall& call) {
  const size_t count = call.primals.size();
  const Elements one(params_as<FfiCallParams>(call.params.get()), types_of(call.primals));
  std::vector<Array> inputs = one.operands(call.primals);
  std::vector<int64_t> axes(one.axes().begin(), one.axes().end());
  std::ranges::move(one.operands(call.tangents), std::back_inserter(inputs));
  axes.insert(axes.end(), one.axes().begin(), one.axes().end());
  BatchResults found = batch(
      [&](std::span<const Array> element) {
        JvpResults results = call.primitive.rules->jvp(
            {call.primitive, one.params(), element.first(count), element.subspan(count)});
        std::ranges::move(results.tangents, std::back_inserter(results.primals));
        return std::move(results.primals);
      },
      inputs, axes, one.axis());
  std::vector<Array> arrays = batched_in_front(std::move(found), one.axis());
  const auto middle = arrays.begin() + std::ssize(arrays) / 2;
  return {{std::make_move_iterator(arrays.begin()), std::make_move_iterator(middle)},
          {std::make_move_iterator(middle), std::make_move_iterator(arrays.end())}};
}

std::vector<Array> transpose_by_elements(const TransposeCall& call) {
  const size_t count = call.inputs.size();
  const Elements one(params_as<FfiCallParams>(call.params.get()), call.types);
  std::vector<Array> inputs = one.operands(call.inputs);
  std::vector<int64_t> axes(one.axes().begin(), one.axes().end());
  inputs.insert(inputs.end(), call.cotangents.begin(), call.cotangents.end());
  axes.resize(inputs.size(), 0);
  BatchResults found = batch(
      [&](std::span<const Array> element) {
        return call.primitive.rules->transpose({call.primitive, one.params(), element.first(count),
                                                one.types(), element.subspan(count)});
      },
      inputs, axes, one.axis());
  std::vector<Array> cotangents = batched_in_front(std::move(found), one.axis());
  for (size_t i = 0; i < count; ++i) {
    // An operand shared by all elements gets the sum of their cotangents.
    if (cotangents[i].is_null() || one.axes()[i] != kNotBatched) continue;
    const int64_t batch_dimension[] = {0};
    cotangents[i] =
        lax::reshape(lax::reduce_sum(cotangents[i], batch_dimension), call.types[i].shape());
  }
  return cotangents;
}

}  // namespace farcall
