"""Docstrings of numpy's functions that change shapes, join arrays and split them."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_SHAPES = {
    "reshape": """Changes the shape; one size may be -1, which stands for the remaining elements.

        Args:
          a: an array.
          shape: the new shape.
          order: "C": row-major order of the elements; "F": column-major order.
          copy: ignored.
        """,
    "ravel": "The flattened array; ``order`` as for ``reshape``.",
    "moveaxis": "Moves dimensions ``source`` to ``destination``; the others keep their order.",
    "rollaxis": "Moves dimension ``axis`` in front of dimension ``start``.",
    "permute_dims": "``transpose`` with explicit axes.",
    "flipud": "Reverses the order of the rows.",
    "fliplr": "Reverses the order of the columns.",
    "rot90": "Rotates by ``k`` times 90 degrees, from the first of the axes toward the second.",
    "concatenate": "Joins the arrays along ``axis``; None flattens them first.",
    "concat": "``concatenate`` under its array API name.",
    "stack": "Joins arrays of one shape along a new dimension at ``axis``.",
    "vstack": "Joins arrays along the first dimension; vectors become rows.",
    "hstack": "Joins arrays along the second dimension, vectors along their only one.",
    "dstack": "Joins arrays along the third dimension.",
    "column_stack": "Joins matrices side by side; vectors become columns.",
    "append": "Joins ``arr`` and ``values`` along ``axis``; without an axis both are flattened.",
    "array_split": "``split``, with parts that may differ in size by one.",
}

document(_core.numpy, "farcall.numpy", _SHAPES)
