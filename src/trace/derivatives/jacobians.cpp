// jacfwd and jacrev: derivatives in all unit directions, computed as one batch.
#include <farcall/trace/jacobians.h>

#include <cstring>

#include <farcall/core/error.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/rules.h>

#include "core/internal/joined.h"
#include "trace/derivatives/derivative_checks.h"

namespace farcall::detail {
namespace {

// `rows` arrays of this type: row first + k is one at element k and zero elsewhere; the other rows
// are zero.
Array unit_rows(ShapeDtype type, int64_t rows, int64_t first) {
  const InterpreterScope scope(evaluator());
  const Array one = basic_operations().convert(Array(1.0), type.dtype(), /*weak_type=*/false);
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

// A row without blocks. The shape of a block is that of the result's leaf, then that of the
// argument's leaf. A block is as weakly typed as the argument's leaf, or strongly typed.
JacobianRow empty_row(const LeafCall& call, const Array& output, bool is_strong) {
  JacobianRow row{std::vector<Array>(call.leaves().size()), {}};
  for (const Array& leaf : call.leaves()) {
    const ShapeDtype type = is_strong ? leaf.type().strengthened() : leaf.type();
    row.types.push_back(type.with_shape(joined<Shape>(output.shape(), leaf.shape())));
  }
  return row;
}

}  // namespace

TreeDef nested_tree(const TreeDef& outer, const TreeDef& inner) {
  if (outer.is_leaf()) return inner;
  std::vector<TreeDef> children;
  for (const TreeDef& child : outer.children()) children.push_back(nested_tree(child, inner));
  return outer.with_children(std::move(children));
}

JacobianRows call_jacfwd(LeafCall& call, const std::vector<bool>& varies,
                         const GradOptions& options) {
  check_inputs(call, varies, {.holomorphic = options.holomorphic});
  const std::vector<Array>& leaves = call.leaves();
  int64_t size = 0;
  for (size_t i = 0; i < leaves.size(); ++i) size += varies[i] ? leaves[i].size() : 0;
  std::vector<Array> directions(leaves.size());
  std::vector<int64_t> axes(leaves.size(), kNotBatched);
  std::vector<int64_t> firsts(leaves.size());
  int64_t next = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!varies[i]) continue;
    firsts[i] = next;
    directions[i] = unit_rows(leaves[i].type(), size, next);
    axes[i] = 0;
    next += leaves[i].size();
  }
  std::vector<Array> values;
  const BatchResults found = batch(
      [&](std::span<const Array> tangents) {
        JvpResults results = jvp(call.as_function(), leaves, tangents);
        for (size_t i = 0; i < results.primals.size(); ++i) {
          results.tangents[i] = instantiate(results.tangents[i], results.primals[i].type());
        }
        values = std::move(results.primals);
        return vary_like(std::move(results.tangents), varying_axes(values));
      },
      directions, axes, {size, {}});
  if (options.holomorphic) check_outputs(call, values, options.holomorphic);
  JacobianRows rows;
  for (size_t j = 0; j < values.size(); ++j) {
    const size_t rank = values[j].rank();
    const Array columns =
        move_axis(found.outputs[j], found.axes[j], static_cast<int64_t>(rank), size);
    JacobianRow& row = rows.emplace_back(empty_row(call, values[j], !values[j].type().weak_type()));
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!varies[i]) continue;
      Shape start(rank + 1, 0), limit(columns.shape().begin(), columns.shape().end());
      start.back() = firsts[i];
      limit.back() = firsts[i] + leaves[i].size();
      row.blocks[i] = basic_operations().reshape(basic_operations().slice(columns, start, limit),
                                                 row.types[i].shape());
    }
  }
  return rows;
}

JacobianRows call_jacrev(LeafCall& call, const std::vector<bool>& varies,
                         const GradOptions& options) {
  check_inputs(
      call, varies,
      {.holomorphic = options.holomorphic, .allow_int = options.allow_int, .allow_complex = true});
  const Linearized results = linearize(call.as_function(), call.leaves(), varies);
  check_outputs(call, results.outputs, options.holomorphic);
  JacobianRows rows;
  for (size_t j = 0; j < results.outputs.size(); ++j) {
    const Array& output = results.outputs[j];
    const Array directions[] = {unit_rows(output.type(), output.size(), 0)};
    const int64_t axes[] = {0};
    const BatchResults found = batch(
        [&](std::span<const Array> unit) {
          std::vector<Array> cotangents(results.outputs.size());
          cotangents[j] = unit[0];
          return results.derivative->transpose(cotangents);
        },
        directions, axes, {output.size(), {}});
    JacobianRow& row = rows.emplace_back(empty_row(call, output, /*is_strong=*/false));
    for (size_t i = 0; i < row.blocks.size(); ++i) {
      if (found.outputs[i].is_null()) continue;
      const Array blocks = move_axis(found.outputs[i], found.axes[i], 0, output.size());
      row.blocks[i] = basic_operations().reshape(blocks, row.types[i].shape());
    }
    row.blocks = instantiated(std::move(row.blocks), row.types, varying_axes(call.leaves()));
  }
  return rows;
}

std::vector<Array> blocks_of(const TreeCall& call, std::span<const int> positions,
                             const JacobianRows& rows) {
  std::vector<Array> all;
  for (const JacobianRow& row : rows) {
    for (Array& block : leaves_of(call, positions, row.blocks)) all.push_back(std::move(block));
  }
  return all;
}

}  // namespace farcall::detail
