"""Docstrings of numpy's functions on indices of elements."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_PLACES = {
    "argwhere": """The indices of the nonzero elements, one element in each row.

        Args:
          a: an array.
          size: the number of rows; required if ``a`` is traced.
          fill_value: pads missing rows; 0 by default.
        """,
    "flatnonzero": "The indices of the nonzero elements of the flattened array; see argwhere.",
    "compress": """The slices of ``a`` along the axis whose entry in ``condition`` is true.

        Args:
          condition: a vector.
          a: an array.
          axis: the axis; by default ``a`` is flattened.
          size: the number of slices; required if the condition is traced.
          fill_value: the value of missing slices.
          out: must be None.
        """,
    "extract": "The elements of ``arr`` where ``condition``, of the same size, is true.",
    "choose": """Takes each element from the array ``choices[i]`` that ``a`` selects.

        Args:
          a: integers, indices into ``choices``.
          choices: arrays, broadcast against ``a``.
          out: not supported.
          mode: for indices out of range: "raise", which needs concrete values, "wrap" or "clip".
        """,
    "diag_indices": """The diagonal's indices in an array of ``ndim`` dimensions of size ``n``.""",
    "diag_indices_from": "The diagonal's indices in an array whose dimensions have equal size.",
    "tril_indices_from": "The indices on and below the diagonal ``k`` of a matrix.",
    "triu_indices_from": "The indices on and above the diagonal ``k`` of a matrix.",
    "unravel_index": """Converts flat row-major indices to an index in each dimension.

        Indices out of range are clamped.
        """,
    "fill_diagonal": """``a`` with ``val`` on its diagonal.

        Args:
          a: a matrix, or an array whose dimensions have equal size.
          val: a number, or several numbers, which are repeated.
          wrap: for matrices with more rows than columns, continue with a new diagonal below.
          inplace: must be False, as arrays are immutable.
        """,
    "place": "``arr`` with ``vals``, repeated, where the mask is true; see fill_diagonal.",
    "put": """``a`` with ``v``, repeated, at flat row-major indices; see fill_diagonal.

        ``mode`` is for indices out of range: "clip" clamps them, "wrap" takes them modulo the size,
        None clamps them too, and counts negative ones from the end.
        """,
    "resize": "Another shape, filled with the elements of ``a``, repeated, in row-major order.",
    "repeat": """Repeats each element along ``axis``, or along the flattened array.

        Args:
          a: an array.
          repeats: the number of repetitions, one for all or one for each element along the axis.
          axis: the axis; None for the flattened array.
          total_repeat_length: the size of the result along the axis. A longer result is cut; a
            shorter one is padded with its last element. Required if ``repeats`` is traced.
        """,
}

document(_core.numpy, "farcall.numpy", _PLACES)
