"""Convolutions of signals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from farcall import _core
from farcall import lax as _lax
from farcall.numpy import fft
from farcall.numpy._common import Array, as_array, normalize_axes, to_inexact
from farcall.numpy._types import result_type

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "detrend", "fftconvolve"]

_f: Any = _core.numpy


def _operands(function: str, in1: Any, in2: Any) -> tuple[Array, Array]:
    x, y = as_array(in1, function, "in1"), as_array(in2, function, "in2")
    if x.ndim != y.ndim:
        raise ValueError(f"{function}: in1 and in2 must have one rank, got {x.ndim} and {y.ndim}")
    dtype = to_inexact(_f.zeros((), result_type(x, y))).dtype
    return _f.astype(x, dtype), _f.astype(y, dtype)


def _check_mode(function: str, mode: str) -> None:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{function}: mode must be 'full', 'same' or 'valid', got {mode!r}")


def _convolution(function: str, x: Array, y: Array, mode: str, is_late: bool = False) -> Array:
    """With ``is_late``, "same" begins later by one where the size of ``y`` is even."""
    _check_mode(function, mode)
    if x.size == 0 or y.size == 0:
        raise ValueError(f"{function}: inputs must not be empty, got {x.shape} and {y.shape}")
    if mode == "valid" and any(a < b for a, b in zip(x.shape, y.shape, strict=True)):
        if any(a > b for a, b in zip(x.shape, y.shape, strict=True)):
            raise ValueError(
                f"{function}: one input must be at least as large as the other in every "
                f"dimension, got {x.shape} and {y.shape}"
            )
        x, y = y, x
    if x.ndim == 0:
        return x * y
    pads = {
        "full": [(n - 1, n - 1) for n in y.shape],
        "same": [(n // 2, (n - 1) // 2) for n in y.shape],
        "valid": [(0, 0)] * y.ndim,
    }[mode]
    if mode == "same" and is_late:
        pads = [(high, low) for low, high in pads]
    reversed_weights = _f.flip(y, None)[None, None]
    made = _lax.conv_general_dilated(x[None, None], reversed_weights, (1,) * x.ndim, pads)
    return made[0, 0]


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """The convolution of two arrays of one rank.

    Args:
      mode: "full", "same" (the size of in1, from the middle), or "valid" (where both overlap).
      method: "direct", "fft", or "auto": direct.
      precision: for programs written for JAX; without effect.

    Raises:
      ValueError: for arrays of different ranks or without elements, and another mode or method.
    """
    del precision
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"convolve: method must be 'auto', 'direct' or 'fft', got {method!r}")
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    x, y = _operands("convolve", in1, in2)
    return _convolution("convolve", x, y, mode)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """The correlation: the convolution with the conjugate of in2, reversed; see convolve."""
    x, y = _operands("correlate", in1, in2)
    _check_mode("correlate", mode)
    if mode == "valid" and any(a < b for a, b in zip(x.shape, y.shape, strict=True)):
        swapped = correlate(y, x, mode, method)
        return _f.conj(_f.flip(swapped, None))
    return convolve(x, _f.flip(_f.conj(y), None), mode, method, precision)


def _check_plane(function: str, boundary: str, fillvalue: Any, x: Array) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{function}: only boundary='fill' with fillvalue=0 is there")
    if x.ndim != 2:
        raise ValueError(f"{function}: inputs must have two dimensions, got {x.ndim}")


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Array:
    """``convolve`` of matrices, zeros outside."""
    del precision
    x, y = _operands("convolve2d", in1, in2)
    _check_plane("convolve2d", boundary, fillvalue, x)
    return _convolution("convolve2d", x, y, mode)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Array:
    """``correlate`` of matrices, zeros outside."""
    x, y = _operands("correlate2d", in1, in2)
    _check_plane("correlate2d", boundary, fillvalue, x)
    if mode == "same":
        return _convolution("correlate2d", x, _f.flip(_f.conj(y), None), mode, is_late=True)
    return correlate(x, y, mode, "direct", precision)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Array:
    """``convolve`` by Fourier transforms, over some of the axes.

    Raises:
      ValueError: for sizes in other axes that do not broadcast.
    """
    x, y = _operands("fftconvolve", in1, in2)
    _check_mode("fftconvolve", mode)
    over = normalize_axes(axes, x.ndim, "fftconvolve")
    if mode == "valid" and any(x.shape[a] < y.shape[a] for a in over):
        x, y = y, x
    sizes = [x.shape[a] + y.shape[a] - 1 for a in over]
    is_complex = x.dtype.kind == "c"
    forward, back = (fft.fftn, fft.ifftn) if is_complex else (fft.rfftn, fft.irfftn)
    full = back(forward(x, sizes, over) * forward(y, sizes, over), sizes, over)
    full = _f.astype(full, x.dtype)
    if mode == "full":
        return full
    wanted = {a: x.shape[a] - (y.shape[a] - 1 if mode == "valid" else 0) for a in over}
    index = [slice(None)] * full.ndim
    for a, size in wanted.items():
        start = (full.shape[a] - size) // 2
        index[a] = slice(start, start + size)
    return full[tuple(index)]


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] = 0,
    overwrite_data: None = None,
) -> Array:
    """The data less its trend along an axis.

    Args:
      data: an array.
      axis: along which.
      type: "linear" (the line of least squares) or "constant" (the mean).
      bp: where pieces with lines of their own begin.
      overwrite_data: must be None.

    Raises:
      ValueError: for another type, and breakpoints outside.
    """
    if overwrite_data is not None:
        raise NotImplementedError("detrend: overwrite_data must be None; arrays are immutable")
    array = to_inexact(as_array(data, "detrend", "data"))
    if type == "constant":
        return array - _f.mean(array, axis, keepdims=True)
    if type != "linear":
        raise ValueError(f"detrend: type must be 'linear' or 'constant', got {type!r}")
    last = _f.moveaxis(array, axis, -1)
    size = last.shape[-1]
    given = [bp] if isinstance(bp, int) else list(bp)
    if any(not 0 <= each <= size for each in given):
        raise ValueError(f"detrend: breakpoints must lie in [0, {size}], got {bp!r}")
    ends = sorted({0, size, *given})
    parts = []
    for begin, end in itertools.pairwise(ends):
        part = last[..., begin:end]
        place = _f.astype(_core.lax.broadcasted_iota("int32", (end - begin,), 0), part.dtype)
        place = place - _f.mean(place)
        centred = part - _f.mean(part, -1, keepdims=True)
        squares = _f.sum(place * place)
        slope = _f.sum(centred * place, -1, keepdims=True) / _f.where(
            _f.equal(squares, 0), 1, squares
        )
        parts.append(centred - slope * place)
    return _f.moveaxis(_f.concatenate(parts, -1), -1, axis)
