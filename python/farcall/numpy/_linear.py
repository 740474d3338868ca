"""Products of arrays, and the matrices made of vectors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall._lax_arrays import conv_general_dilated
from farcall.numpy._common import Array, as_array, normalize_axis, refuse_out, to_inexact

__all__ = [
    "convolve",
    "correlate",
    "cross",
    "dot",
    "einsum",
    "einsum_path",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "trace",
    "vdot",
    "vecdot",
    "vecmat",
]

_f = _core.numpy


def _product(function: Any, arrays: Any, preferred_element_type: Any) -> Array:
    """The product in the preferred dtype; where that is wider, so are the sums."""
    if preferred_element_type is None:
        return function(*arrays)
    wide = [_f._widened(x, preferred_element_type) for x in arrays]
    return _f.astype(function(*wide), preferred_element_type)


def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The products of stacked matrices, or of a matrix and a vector, as operator ``@``.

    Args:
      precision: without effect, here and in the other products.
      preferred_element_type: the dtype of the result, and of the sums where it is wider.
    """
    if preferred_element_type is None:
        return _f.matmul(a, b)
    x, y = as_array(a, "matmul"), as_array(b, "matmul", "b")
    return _product(_f.matmul, (x, y), preferred_element_type)


def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The sum over the last axis of ``a`` and the last but one of ``b``; options as of matmul."""
    if preferred_element_type is None:
        return _f.dot(a, b)
    x, y = as_array(a, "dot"), as_array(b, "dot", "b")
    return _product(_f.dot, (x, y), preferred_element_type)


def outer(a: Any, b: Any, out: None = None) -> Array:
    """The products of all elements of ``a`` with all of ``b``, as a matrix."""
    refuse_out(out, "outer")
    return _f.outer(a, b)


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Einstein's summation: products of arrays, summed over letters that the result lacks.

    Args:
      subscripts: such as ``"ij,jk->ik"``; ``...`` stands for dimensions without a letter. Or an
        array, followed by its dimensions as numbers, and so on, and those of the result.
      operands: the arrays.
      out: not supported.
      optimize: a path of ``einsum_path``, False for left to right; else the pair with the smallest
        product is always multiplied first.
      precision: without effect.
      preferred_element_type: the dtype of the result, and of the sums where it is wider.
    """
    refuse_out(out, "einsum")
    subscripts, arrays = _with_letters(subscripts, operands)
    path: Any = None
    if optimize is False:
        path = [[0, 1]] + [[0, len(arrays) - i] for i in range(2, len(arrays))]
        path = path if len(arrays) > 1 else None
    elif not isinstance(optimize, (str, bool)):
        path = [list(step) for step in optimize if not isinstance(step, str)]
    return _product(
        lambda *each: _f._einsum(subscripts, list(each), path), arrays, preferred_element_type
    )


def _letter(number: Any) -> str:
    if number is Ellipsis:
        return "..."
    number = operator.index(number)
    if not 0 <= number < 52:
        raise ValueError(f"einsum: dimensions are numbered from 0 to 51, got {number}")
    return chr(ord("A" if number < 26 else "a") + number % 26)


def _with_letters(subscripts: Any, operands: Any) -> tuple[str, list[Any]]:
    """The form with a string, of either form."""
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
    """The order in which numpy would multiply the operands, and a description of it."""
    subscripts, arrays = _with_letters(subscripts, operands)
    shapes = [as_array(array, "einsum_path", f"operands[{i}]") for i, array in enumerate(arrays)]
    stand_ins = [np.broadcast_to(np.float32(0), array.shape) for array in shapes]
    how = "greedy" if optimize == "auto" else optimize
    return np.einsum_path(subscripts, *stand_ins, optimize=how)


def tensordot(
    a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The product summed over ``axes``.

    Args:
      axes: a number of axes, the last of ``a`` and the first of ``b``; or the axes of both.
      precision: without effect.
      preferred_element_type: as for matmul.
    """
    x, y = as_array(a, "tensordot"), as_array(b, "tensordot", "b")
    if hasattr(axes, "__index__"):
        count = operator.index(axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise ValueError(f"tensordot: {count} axes of shapes {x.shape} and {y.shape}")
        axes = list(range(x.ndim - count, x.ndim)), list(range(count))
    return _product(lambda x, y: _f._tensordot(x, y, *axes), (x, y), preferred_element_type)


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The product summed over the last axis of both."""
    x, y = as_array(a, "inner"), as_array(b, "inner", "b")
    if x.ndim == 0 or y.ndim == 0:
        return _product(_f.multiply, (x, y), preferred_element_type)
    return tensordot(x, y, (-1, -1), preferred_element_type=preferred_element_type)


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The sum of all products; ``a`` is conjugated."""
    x, y = _f.ravel(_f.conj(a)), _f.ravel(b)
    return tensordot(x, y, 1, preferred_element_type=preferred_element_type)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The products of vectors along ``axis``; ``x1`` is conjugated."""
    x, y = as_array(x1, "vecdot", "x1"), as_array(x2, "vecdot", "x2")
    x, y = _f.moveaxis(_f.conj(x), axis, -1), _f.moveaxis(y, axis, -1)
    return einsum("...i,...i->...", x, y, preferred_element_type=preferred_element_type)


def matvec(x1: Any, x2: Any, /) -> Array:
    """Matrices times vectors."""
    return einsum("...ij,...j->...i", x1, x2)


def vecmat(x1: Any, x2: Any, /) -> Array:
    """Vectors, conjugated, times matrices."""
    return einsum("...i,...ij->...j", _f.conj(x1), x2)


def kron(a: Any, b: Any) -> Array:
    """A copy of ``b`` for each element of ``a``, times that element."""
    x, y = as_array(a, "kron"), as_array(b, "kron", "b")
    rank = max(x.ndim, y.ndim)
    x_shape = (1,) * (rank - x.ndim) + x.shape
    y_shape = (1,) * (rank - y.ndim) + y.shape
    apart_x = [size for each in x_shape for size in (each, 1)]
    apart_y = [size for each in y_shape for size in (1, each)]
    product = _f.multiply(_f.reshape(x, apart_x), _f.reshape(y, apart_y))
    return _f.reshape(product, [m * n for m, n in zip(x_shape, y_shape, strict=True)])


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """The cross product of vectors of two or three elements.

    Args:
      axisa, axisb: where the vectors lie in ``a`` and ``b``.
      axisc: where they lie in the result, unless both have two elements.
      axis: all three of these.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x = _f.moveaxis(as_array(a, "cross"), axisa, -1)
    y = _f.moveaxis(as_array(b, "cross", "b"), axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError(
            f"cross: vectors have two or three elements, here {x.shape[-1]} and {y.shape[-1]}"
        )
    xs, ys = ([v[..., i] for i in range(v.shape[-1])] for v in (x, y))
    last = xs[0] * ys[1] - xs[1] * ys[0]
    if len(xs) == 2 and len(ys) == 2:
        return last
    x2 = xs[2] if len(xs) == 3 else _f.multiply(xs[0], 0)
    y2 = ys[2] if len(ys) == 3 else _f.multiply(ys[0], 0)
    parts = [xs[1] * y2 - x2 * ys[1], x2 * ys[0] - xs[0] * y2, last]
    return _f.moveaxis(_f.stack(parts, -1), -1, axisc)


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Array:
    """The sum along the diagonals."""
    refuse_out(out, "trace")
    array = as_array(a, "trace")
    normalize_axis(axis1, array.ndim, "trace")
    diagonal = _f.diagonal(array, offset, axis1, axis2)
    total = _f.sum(diagonal if dtype is None else _f.astype(diagonal, dtype), -1)
    return total if dtype is None else _f.astype(total, dtype)


def _slide(function: str, a: Any, v: Any, mode: str) -> Array:
    """The sums of products of two vectors, the second one moving along the first."""
    x, y = as_array(a, function), as_array(v, function, "v")
    if x.ndim != 1 or y.ndim != 1 or x.shape[0] == 0 or y.shape[0] == 0:
        raise ValueError(
            f"{function}: takes two vectors that are not empty; got {x.shape} and {y.shape}"
        )
    pads = {"full": y.shape[0] - 1, "same": y.shape[0] // 2, "valid": 0}
    if mode not in pads:
        raise ValueError(f"{function}: mode must be 'full', 'same' or 'valid', got {mode!r}")
    after = y.shape[0] - 1 - pads[mode] if mode == "same" else pads[mode]
    dtype = to_inexact(_f.multiply(x[:1], y[:1])).dtype
    x, y = (_f.reshape(_f.astype(each, dtype), (1, 1, -1)) for each in (x, y))
    return _f.ravel(conv_general_dilated(x, y, (1,), [(pads[mode], after)]))


def convolve(
    a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The convolution of two vectors.

    Args:
      mode: ``full``: wherever they overlap; ``same``: the size of the longer one; ``valid``: where
        the shorter one lies within the longer one.
      precision: without effect.
      preferred_element_type: the dtype to multiply in.
    """
    x, y = as_array(a, "convolve"), as_array(v, "convolve", "v")
    if preferred_element_type is not None:
        x, y = _f.astype(x, preferred_element_type), _f.astype(y, preferred_element_type)
    if x.size < y.size:
        x, y = y, x
    return _slide("convolve", x, _f.flip(y) if y.ndim == 1 else y, mode)


def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The sums of products of ``a`` and the conjugate of ``v``, which moves along it.

    The arguments are those of ``convolve``.
    """
    x, y = as_array(a, "correlate"), as_array(v, "correlate", "v")
    if preferred_element_type is not None:
        x, y = _f.astype(x, preferred_element_type), _f.astype(y, preferred_element_type)
    y = _f.conj(y)
    if x.ndim == 1 and y.ndim == 1 and x.size < y.size:
        return _f.flip(_slide("correlate", y, x, mode))
    return _slide("correlate", x, y, mode)
