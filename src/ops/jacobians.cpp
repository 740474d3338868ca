// jacfwd and jacrev: derivatives in all unit directions at once.
#include <farcall/ops/jacobians.h>

#include <cstring>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>

#include "ops/derivatives.h"

namespace farcall::detail {

Array unit_rows(ShapeDtype type, int64_t rows, int64_t first) {
  const InterpreterScope scope(evaluator());
  const Array one = lax::convert_element_type(Array(1.0), type.dtype());
  Shape shape(type.shape().begin(), type.shape().end());
  shape.insert(shape.begin(), rows);
  const ShapeDtype all(type.dtype(), shape);
  Storage storage = Storage::allocate(all.nbytes());
  auto* bytes = static_cast<std::byte*>(storage.data());
  if (all.nbytes() > 0) std::memset(bytes, 0, all.nbytes());
  const size_t width = byte_width(type.dtype());
  for (int64_t k = 0; k < type.size(); ++k) {
    std::memcpy(bytes + static_cast<size_t>((first + k) * type.size() + k) * width, one.data(),
                width);
  }
  return Array(all, std::move(storage));
}

Shape joined(std::span<const int64_t> a, std::span<const int64_t> b) {
  Shape shape(a.begin(), a.end());
  shape.insert(shape.end(), b.begin(), b.end());
  return shape;
}

TreeDef nested_tree(const TreeDef& outer, const TreeDef& inner) {
  if (outer.kind == TreeDef::Kind::kLeaf) return inner;
  TreeDef node = outer;
  for (TreeDef& child : node.children) child = nested_tree(child, inner);
  return node.kind == TreeDef::Kind::kStatic ? node : inner_node(std::move(node));
}

std::vector<Array> call_jacfwd(TreeCall& call, std::span<const int> positions,
                               const GradOptions& options) {
  const std::vector<bool> varies = call.belong_to(positions);
  check_inputs(call, varies, {.holomorphic = options.holomorphic});
  const std::vector<Array> inputs = leaves_of(call, positions, call.leaves());
  int64_t rows = 0;
  for (size_t i = 0; i < varies.size(); ++i) rows += varies[i] ? call.leaves()[i].size() : 0;
  std::vector<Array> directions;
  std::vector<int64_t> axes;
  std::vector<int64_t> first_rows;  // by leaf of the arguments
  for (int64_t first = 0; const Array& leaf : call.leaves()) {
    const bool does_vary = varies[first_rows.size()];
    first_rows.push_back(first);
    directions.push_back(does_vary ? unit_rows(leaf.type(), rows, first) : Array());
    axes.push_back(does_vary ? 0 : kNotBatched);
    first += does_vary ? leaf.size() : 0;
  }
  std::vector<Array> values;
  const BatchResults found = batch(
      [&](std::span<const Array> tangents) {
        JvpResults results = jvp(call.as_function(), call.leaves(), tangents);
        for (size_t i = 0; i < results.primals.size(); ++i) {
          results.tangents[i] = instantiate(results.tangents[i], results.primals[i].type());
        }
        values = std::move(results.primals);
        return std::move(results.tangents);
      },
      directions, axes, {rows, {}});
  if (options.holomorphic) check_outputs(call, values, options.holomorphic);
  std::vector<Array> blocks;
  for (size_t j = 0; j < values.size(); ++j) {
    const auto rank = static_cast<int64_t>(values[j].rank());
    const Array columns = move_axis(found.outputs[j], found.axes[j], rank, rows);
    std::vector<Array> parts(varies.size());
    for (size_t i = 0; i < varies.size(); ++i) {
      if (!varies[i]) continue;
      const Array& input = call.leaves()[i];
      Shape start(values[j].rank() + 1, 0), limit(columns.shape().begin(), columns.shape().end());
      start.back() = first_rows[i];
      limit.back() = first_rows[i] + input.size();
      parts[i] =
          lax::reshape(lax::slice(columns, start, limit), joined(values[j].shape(), input.shape()));
    }
    for (Array& block : leaves_of(call, positions, parts)) blocks.push_back(std::move(block));
  }
  return blocks;
}

std::vector<Array> call_jacrev(TreeCall& call, std::span<const int> positions,
                               const GradOptions& options) {
  const std::vector<bool> varies = call.belong_to(positions);
  check_inputs(
      call, varies,
      {.holomorphic = options.holomorphic, .allow_int = options.allow_int, .allow_complex = true});
  const Linearized results = linearize(call.as_function(), call.leaves(), varies);
  check_outputs(call, results.outputs, options.holomorphic);
  const size_t num_leaves = call.leaves().size();
  std::vector<Array> blocks;
  for (size_t j = 0; j < results.outputs.size(); ++j) {
    const Array& output = results.outputs[j];
    const Array directions[] = {unit_rows(output.type(), output.size(), 0)};
    const int64_t axes[] = {0};
    const BatchResults found = batch(
        [&](std::span<const Array> rows) {
          std::vector<Array> cotangents(results.outputs.size());
          cotangents[j] = rows[0];
          return results.derivative->transpose(cotangents);
        },
        directions, axes, {output.size(), {}});
    std::vector<Array> parts(num_leaves);
    std::vector<ShapeDtype> types;
    for (size_t i = 0; i < num_leaves; ++i) {
      const ShapeDtype type = call.leaves()[i].type();
      types.push_back(type.with_shape(joined(output.shape(), type.shape())));
      if (found.outputs[i].is_null()) continue;
      const Array rows = move_axis(found.outputs[i], found.axes[i], 0, output.size());
      parts[i] = lax::reshape(rows, types.back().shape());
    }
    for (Array& block : leaves_of(call, positions, instantiated(std::move(parts), types))) {
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

}  // namespace farcall::detail
