"""Docstrings of shape functions and ``approx_max_k`` of farcall.lax."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_EXTREMES = """The ``k`` {which} elements along a dimension, and their indices. The result is exact.

Args:
  operand: floats.
  k: the number of elements.
  reduction_dimension: the dimension; -1 is the last one.
  recall_target: the required fraction of correct elements, in (0, 1].
  reduction_input_size_override, aggregate_to_topk: accepted for compatibility with JAX; ignored.

Returns:
  The elements, the {which} first, and their int32 indices; both have size ``k`` along the
  dimension.

Raises:
  TypeError: for an operand that is not an array.
  ValueError: for other dtypes, a dimension out of range, and ``k`` above its size.
"""

_DOCS = {
    "approx_max_k": _EXTREMES.format(which="greatest"),
    "approx_min_k": _EXTREMES.format(which="least"),
    "broadcast": """Repeats the operand along new leading dimensions.

        Args:
          operand: an array.
          sizes: the sizes of the new dimensions.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for negative sizes.
        """,
    "broadcast_to_rank": """Adds leading dimensions of size 1.

        Args:
          x: an array.
          rank: the number of dimensions of the result.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for a rank below that of ``x``.
        """,
    "collapse": """Merges a range of dimensions into one.

        Args:
          operand: an array.
          start_dimension: the first of them.
          stop_dimension: the one after the last; the rank by default.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: if the start is after the stop.
        """,
    "tile": """Repeats the operand along each dimension.

        Args:
          operand: an array.
          reps: the number of copies for each dimension.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: if the number of ``reps`` is not the number of dimensions.
        """,
    "split": """Splits the operand into consecutive parts along an axis.

        Args:
          operand: an array.
          sizes: the sizes of the parts; they must add up to the size of the axis.
          axis: the axis.

        Returns:
          A list of arrays.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for sizes that do not add up, or an axis out of range.
        """,
    "index_take": """The slices at the given indices along several axes.

        Args:
          src: an array.
          idxs: a vector of integers for each of ``axes``, all of one size n.
          axes: the dimensions of ``src`` to index.

        Returns:
          An array with a dimension of size n, followed by the other dimensions of ``src``.

        Raises:
          TypeError: for an operand that is not an array, and indices that are not integers.
          ValueError: for axes out of range or named twice, and a wrong number of indices.
        """,
    "batch_matmul": """Products of matrices, stacked along equal leading dimensions.

        Args:
          lhs: [..., m, k].
          rhs: [..., k, n].
          precision: for devices that offer a choice; the native engine ignores it.

        Returns:
          [..., m, n].

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for shapes that do not match.
        """,
}

document(_core.lax, "farcall.lax", _DOCS)
