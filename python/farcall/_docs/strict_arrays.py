"""Docstrings of functions of farcall.lax on shapes, and of the greatest elements."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_EXTREMES = """The ``k`` {which} elements along a dimension, and their places: here always all.

Args:
  operand: floats.
  k: how many.
  reduction_dimension: along which; -1 is the last one.
  recall_target: how many of them must be found, in (0, 1].
  reduction_input_size_override, aggregate_to_topk: for programs written for JAX; without effect.

Returns:
  The elements, the {which} first, and their places, int32; both have size ``k`` along the
  dimension.

Raises:
  TypeError: for what is no array.
  ValueError: for other dtypes, a dimension out of range, or more than there are.
"""

_DOCS = {
    "approx_max_k": _EXTREMES.format(which="greatest"),
    "approx_min_k": _EXTREMES.format(which="least"),
    "broadcast": """The operand, repeated along new dimensions of these sizes in front.

        Args:
          operand: an array.
          sizes: of the new dimensions.

        Raises:
          TypeError: for what is no array.
          ValueError: for negative sizes.
        """,
    "broadcast_to_rank": """The array with dimensions of size one in front.

        Args:
          x: an array.
          rank: how many dimensions the result has.

        Raises:
          TypeError: for what is no array.
          ValueError: for a rank below that of ``x``.
        """,
    "collapse": """The operand with the dimensions from one up to another made into one.

        Args:
          operand: an array.
          start_dimension: the first of them.
          stop_dimension: the one after the last; the rank if left out.

        Raises:
          TypeError: for what is no array.
          ValueError: for a start behind the stop.
        """,
    "tile": """The operand repeated along each dimension.

        Args:
          operand: an array.
          reps: how often, for each dimension.

        Raises:
          TypeError: for what is no array.
          ValueError: for another number of repetitions than dimensions.
        """,
    "split": """Consecutive parts along an axis.

        Args:
          operand: an array.
          sizes: of the parts; together they must be all of the axis.
          axis: the axis.

        Returns:
          A list of arrays.

        Raises:
          TypeError: for what is no array.
          ValueError: for sizes that do not add up, or an axis out of range.
        """,
    "index_take": """The slices at vectors of indices.

        Args:
          src: an array.
          idxs: for each of ``axes`` a vector of integers, all of one size n.
          axes: which dimensions of ``src`` the indices are of.

        Returns:
          An array of n and then the other dimensions of ``src``.

        Raises:
          TypeError: for what is no array, and indices that are no integers.
          ValueError: for axes out of range or named twice, or another number of indices.
        """,
    "batch_matmul": """Products of matrices stacked along the same dimensions in front.

        Args:
          lhs: [..., m, k].
          rhs: [..., k, n].
          precision: is checked; without effect on the CPU.

        Returns:
          [..., m, n].

        Raises:
          TypeError: for what is no array.
          ValueError: for shapes that do not fit.
        """,
}

document(_core.lax, "farcall.lax", _DOCS)
