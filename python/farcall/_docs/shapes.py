"""The docstrings of numpy's functions of shapes, and of arrays put together and taken apart."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_SHAPES = {
    "reshape": """The elements in another shape, of which one size may be -1.

        Args:
          a: an array.
          shape: the sizes.
          order: "C": elements are taken and put with the last index running fastest; "F": with
            the first.
          copy: changes nothing.
        """,
    "ravel": "The elements in one dimension; ``order`` as for ``reshape``.",
    "moveaxis": "Dimensions ``source`` at positions ``destination``, the others in their order.",
    "rollaxis": "Dimension ``axis`` before dimension ``start``.",
    "permute_dims": "``transpose`` with axes.",
    "flipud": "The rows in the opposite order.",
    "fliplr": "The columns in the opposite order.",
    "rot90": "Turned by 90 degrees ``k`` times in a plane, from the first axis to the second.",
    "concatenate": "The arrays one after the other along ``axis``, or flattened where it is None.",
    "concat": "``concatenate``, by the name of the array API.",
    "stack": "The arrays, of one shape, along a new dimension at ``axis``.",
    "vstack": "Rows, or arrays along their first dimension, one below the other.",
    "hstack": "Arrays side by side: along the second dimension, vectors along their only one.",
    "dstack": "Arrays along their third dimension.",
    "column_stack": "Vectors as columns, and matrices as they are, side by side.",
    "append": "``values`` behind ``arr``; both flattened without an axis.",
    "array_split": "``split``, with parts that may differ in size by one.",
}

document(_core.numpy, "farcall.numpy", _SHAPES)
