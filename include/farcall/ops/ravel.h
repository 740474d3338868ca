// Conversion of trees of arrays to one vector, and back.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/trace/array.h>
#include <farcall/trace/tree.h>

namespace farcall {

// The elements of all arrays as one vector, of their promoted dtype (float32 without arrays).
FARCALL_API Array ravel_arrays(ListOf<Array> arrays);
// Splits such a vector into arrays of these types. Raises INVALID_ARGUMENT if its length is wrong
// and TypeError if its dtype is not `dtype`.
FARCALL_API std::vector<Array> unravel_array(const Array& vector, std::span<const ShapeDtype> types,
                                             DType dtype);

// The function from the vector to the tree.
template <class Tree>
struct Unravel {
  TreeDef structure;
  std::vector<ShapeDtype> types;
  DType dtype;

  Tree operator()(const Array& vector) const {
    return detail::build<Tree>(structure, unravel_array(vector, types, dtype));
  }
};

// The vector of a tree, and the inverse function.
template <class Tree>
std::pair<Array, Unravel<Tree>> ravel_tree(const Tree& tree) {
  const std::vector<Array> leaves = detail::flat(tree);
  std::vector<ShapeDtype> types;
  for (const Array& leaf : leaves) types.push_back(leaf.type());
  Array vector = ravel_arrays(leaves);
  const DType dtype = vector.dtype();
  return {std::move(vector), {detail::tree_of(tree), std::move(types), dtype}};
}

}  // namespace farcall
