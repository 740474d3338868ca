"""The docstrings of numpy's functions of places in arrays."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_PLACES = {
    "argwhere": """The places of elements that are not zero, one in each row.

        Args:
          a: an array.
          size: how many to give; needed where ``a`` is traced.
          fill_value: what fills the rest; 0 if left out.
        """,
    "flatnonzero": "The places of elements that are not zero in the flattened array; see argwhere.",
    "compress": """The slices of ``a`` along the axis whose entry in ``condition`` holds.

        Args:
          condition: a vector.
          a: an array.
          axis: left out, ``a`` is flattened.
          size: how many slices to give; needed where the condition is traced.
          fill_value: the elements of slices that are missing from so many.
        """,
    "extract": "The elements of ``arr`` where ``condition``, of as many elements, holds.",
    "choose": """Each element from the one of ``choices`` that ``a`` numbers.

        Args:
          a: whole numbers.
          choices: arrays, broadcast against ``a``.
          out: not supported.
          mode: of numbers outside: "raise", for which they must be known, "wrap" or "clip".
        """,
    "diag_indices": """The places on the diagonal of an array.

        That has ``ndim`` dimensions of size ``n``.
        """,
    "diag_indices_from": "The places on the diagonal of an array whose dimensions have one size.",
    "tril_indices_from": "The places on and below the diagonal ``k`` of a matrix.",
    "triu_indices_from": "The places on and above the diagonal ``k`` of a matrix.",
    "unravel_index": """The index in each dimension of elements numbered in row-major order.

        Numbers outside are moved inside.
        """,
    "fill_diagonal": """``a`` with ``val`` on its diagonal.

        Args:
          a: a matrix, or an array whose dimensions have one size.
          val: a number, or several that are taken over and over.
          wrap: begin another diagonal below a square, where a matrix is higher than wide.
          inplace: must be False, as arrays are immutable.
        """,
    "place": "``arr`` with ``vals``, over and over, where the mask holds; see fill_diagonal.",
    "put": """``a`` with ``v``, over and over, at places in row-major order; see fill_diagonal.

        ``mode`` is of places outside: "clip" moves them inside, "wrap" counts on, None leaves them
        out.
        """,
    "resize": "The elements of ``a`` in row-major order, over and over, in another shape.",
    "repeat": """Each element ``repeats`` times along ``axis``; of the flattened array without one.

        Args:
          a: an array.
          repeats: a number, or one for each element along the axis.
          axis: where to repeat.
          total_repeat_length: the size of the result along the axis: what is longer is cut, what is
            shorter ends with copies of the last element. Needed where ``repeats`` is traced.
        """,
}

document(_core.numpy, "farcall.numpy", _PLACES)
