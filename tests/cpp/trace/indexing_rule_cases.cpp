// Rule cases of the indexing primitives.
#include <farcall/ops/lax.h>
#include <farcall/primitives/indexing.h>

#include "rule_cases.h"

namespace farcall::testing {
namespace {

Array indices(std::initializer_list<int32_t> values, std::initializer_list<int64_t> shape) {
  return Array::of<int32_t>(values, shape);
}

std::vector<RuleCase> slice_cases() {
  const Array x = spread({3, 4}), at = Array::scalar(1), outside = Array::scalar(7);
  const auto sizes = make_params(DynamicSliceParams{{2, 3}});
  return {
      {"dynamic_slice", sizes, {x, at, at}},
      {"dynamic_slice", sizes, {x, outside, Array::scalar(-2)}},
      {"dynamic_slice", make_params(DynamicSliceParams{{}}), {spread({})}},
      {"dynamic_update_slice", nullptr, {x, spread({2, 2}, 2, 3), at, outside}},
      {"dynamic_update_slice", nullptr, {x, spread({3, 4}, 2, 3), at, at}},
      {"dynamic_update_slice", nullptr, {x, spread({0, 4}), at, at}},
      {"pad", make_params(PadParams{{{1, 2, 0}, {0, 1, 2}}}), {x, spread({})}},
      {"pad", make_params(PadParams{{{-1, 0, 1}, {2, -3, 0}}}), {x, spread({})}},
      {"pad", make_params(PadParams{{{1, 1, 3}}}), {spread({0}), spread({})}},
  };
}

// Windows of whole rows, of single elements, with batching dimensions, and with unusual dimension
// orders.
const GatherDimensionNumbers kRows = {
    .offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
const GatherDimensionNumbers kElements = {.collapsed_slice_dims = {0, 1},
                                          .start_index_map = {1, 0}};
const GatherDimensionNumbers kInStep = {.offset_dims = {0},
                                        .start_index_map = {1},
                                        .operand_batching_dims = {0},
                                        .start_indices_batching_dims = {1}};

std::vector<RuleCase> gather_cases() {
  std::vector<RuleCase> cases;
  const Array x = spread({3, 4});
  for (const auto mode : {GatherScatterMode::kClip, GatherScatterMode::kFillOrDrop}) {
    const auto add = [&](const GatherDimensionNumbers& numbers, const Shape& sizes,
                         const Array& at) {
      cases.push_back({"gather", make_params(GatherParams{numbers, sizes, "0.5", mode}), {x, at}});
    };
    add(kRows, {1, 4}, indices({2, 0, 2, 5}, {4, 1}));
    add(kRows, {1, 2}, indices({1}, {1, 1}));
    add(kElements, {1, 1}, indices({3, 0, 1, 2, -1, 1}, {3, 2}));
    add(kInStep, {1, 2}, indices({0, 1, 2, 3, 4, 0}, {2, 3, 1}));
    add({.offset_dims = {0, 1}}, {2, 3}, Array::of<int32_t>({}, {0}));
  }
  return cases;
}

std::vector<RuleCase> scatter_cases() {
  std::vector<RuleCase> cases;
  const Array x = spread({3, 4});
  for (const auto mode : {GatherScatterMode::kClip, GatherScatterMode::kFillOrDrop}) {
    const auto add = [&](const char* name, bool unique, const GatherDimensionNumbers& numbers,
                         const Array& at, const Shape& updates) {
      cases.push_back({name,
                       make_params(ScatterParams{as_scatter(numbers), false, unique, mode}),
                       {x, at, spread(updates, -2, 2.2)}});
    };
    const Array rows = indices({2, 0}, {2, 1}), elements = indices({3, 0, 1, 2}, {2, 2});
    const Array in_step = indices({0, 1, 2}, {1, 3, 1});
    for (const char* name :
         {"scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"}) {
      add(name, true, kRows, rows, {2, 4});
      add(name, true, kElements, elements, {2});
      add(name, true, kInStep, in_step, {2, 1, 3});
    }
    const Array repeated = indices({1, 1, 9}, {3, 1});
    for (const char* name : {"scatter", "scatter_add", "scatter_min", "scatter_max"}) {
      add(name, false, kRows, repeated, {3, 4});
    }
  }
  return cases;
}

}  // namespace

std::vector<RuleCase> indexing_cases() {
  std::vector<RuleCase> cases;
  for (const auto& family : {slice_cases(), gather_cases(), scatter_cases()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

}  // namespace farcall::testing
