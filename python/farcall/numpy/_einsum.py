"""Einstein's summation."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import Array, as_array, refuse_out

__all__ = ["einsum", "einsum_path"]


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Einstein summation: products of arrays, summed over the letters that the result lacks.

    Args:
      subscripts: such as ``"ij,jk->ik"``; ``...`` stands for dimensions without a letter.
        Alternatively arrays, each followed by a list of its dimensions as numbers, and finally the
        dimensions of the result.
      operands: the arrays.
      out: not supported.
      optimize: a path of ``einsum_path``, or False for left to right. By default the pair with the
        smallest product is multiplied first.
      precision: for devices that offer a choice; the native engine ignores it.
      preferred_element_type: the dtype of the result, and of the accumulation if it is wider.
    """
    refuse_out(out, "einsum")
    subscripts, arrays = _with_letters(subscripts, operands)
    path = None
    if not isinstance(optimize, (str, bool)):
        path = [list(step) for step in optimize if not isinstance(step, str)]
    return _core.numpy._einsum(
        subscripts, arrays, path, optimize is False, precision, preferred_element_type
    )


def _letter(number: Any) -> str:
    if number is Ellipsis:
        return "..."
    number = operator.index(number)
    if not 0 <= number < 52:
        raise ValueError(f"einsum: dimensions are numbered from 0 to 51, got {number}")
    return chr(ord("A" if number < 26 else "a") + number % 26)


def _with_letters(subscripts: Any, operands: Any) -> tuple[str, list[Any]]:
    """Converts either form of the arguments to the form with a string."""
    if isinstance(subscripts, str):
        return subscripts, list(operands)
    arguments = [subscripts, *operands]
    output = arguments.pop() if len(arguments) % 2 == 1 else None
    terms = ["".join(map(_letter, numbers)) for numbers in arguments[1::2]]
    text = ",".join(terms)
    if output is not None:
        text += "->" + "".join(map(_letter, output))
    return text, arguments[::2]


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[Any], str]:
    """The order in which numpy would multiply the operands, and a description of it.

    The order is a list of tuples: the positions of the operands of each product, whose result
    becomes the last operand.
    """
    subscripts, arrays = _with_letters(subscripts, operands)
    shapes = [as_array(array, "einsum_path", f"operands[{i}]") for i, array in enumerate(arrays)]
    stand_ins = [np.broadcast_to(np.float32(0), array.shape) for array in shapes]
    how = "greedy" if optimize == "auto" else optimize
    (_, *path), text = np.einsum_path(subscripts, *stand_ins, optimize=how)
    return path, text
