"""Fourier transforms: the functions of farcall.numpy.fft."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from farcall import _core
from farcall._lax_arrays import fft as _transform
from farcall.numpy._common import Array, as_array, default_float, normalize_axes, to_inexact

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_f = _core.numpy


def _resized(x: Array, axis: int, size: int) -> Array:
    """Cut off, or with zeros behind, to this size along the axis."""
    if x.shape[axis] > size:
        return x[(slice(None),) * axis + (slice(0, size),)]
    if x.shape[axis] < size:
        shape = list(x.shape)
        shape[axis] = size - x.shape[axis]
        return _f.concatenate([x, _f.zeros(shape, x.dtype)], axis)
    return x


def _in_precision(x: Array, kind: str) -> Array:
    x = to_inexact(x)
    if kind == "RFFT":
        if x.dtype.kind == "c":
            raise ValueError(f"{kind.lower()}: takes real numbers, got {x.dtype}; use fft")
        return _f.astype(x, "float64" if x.dtype.itemsize == 8 else "float32")
    wide = x.dtype.itemsize == (16 if x.dtype.kind == "c" else 8)
    return _f.astype(x, "complex128" if wide else "complex64")


def _lengths(x: Array, s: Any, axes: tuple[int, ...], kind: str, function: str) -> list[int]:
    if s is None:
        lengths = [x.shape[i] for i in axes]
        if kind == "IRFFT" and lengths:
            lengths[-1] = 2 * (lengths[-1] - 1)
    else:
        lengths = [int(n) for n in s]
        if len(lengths) != len(axes):
            raise ValueError(f"{function}: s {tuple(s)} must have a size for each axis of {axes}")
    if any(n < 1 for n in lengths):
        raise ValueError(f"{function}: sizes must be at least 1, got {tuple(lengths)}")
    return lengths


def _scale(size: int, norm: str | None, is_inverse: bool, function: str) -> float:
    """What the primitive, which divides inverses by the size, is multiplied with."""
    if norm in (None, "backward"):
        return 1.0
    if norm == "ortho":
        return math.sqrt(size) if is_inverse else 1 / math.sqrt(size)
    if norm == "forward":
        return float(size) if is_inverse else 1 / size
    raise ValueError(f"{function}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}")


def _fft(function: str, kind: str, a: Any, s: Any, axes: Any, norm: str | None) -> Array:
    x = as_array(a, function)
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = range(x.ndim - count, x.ndim)
    axes = normalize_axes(axes, x.ndim, function)
    if not axes:
        return x
    x = _in_precision(x, kind)
    lengths = _lengths(x, s, axes, kind, function)
    wanted = list(lengths)
    if kind == "IRFFT":
        wanted[-1] = lengths[-1] // 2 + 1
    for axis, size in zip(axes, wanted, strict=True):
        x = _resized(x, axis, size)
    others = [i for i in range(x.ndim) if i not in axes]
    order = [*others, *axes]
    result = _transform(_f.transpose(x, order), kind, lengths)
    result = _f.transpose(result, sorted(range(x.ndim), key=order.__getitem__))
    scale = _scale(math.prod(lengths), norm, kind in ("IFFT", "IRFFT"), function)
    return result if scale == 1 else result * scale


def _one(n: int | None) -> list[int] | None:
    return None if n is None else [n]


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along ``axis``.

    Args:
      a: an array.
      n: elements that are transformed: others are cut off, missing ones are zeros.
      axis: which dimension.
      norm: ``backward`` divides the inverse by the size, ``forward`` the transform, ``ortho`` both
        by its root.
    """
    return _fft("fft", "FFT", a, _one(n), axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``fft``, with its arguments."""
    return _fft("ifft", "IFFT", a, _one(n), axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """``fft`` of real numbers: the first n / 2 + 1 elements, from which the others follow."""
    return _fft("rfft", "RFFT", a, _one(n), axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``rfft``; ``n`` is the size of the result, an even number if left out."""
    return _fft("irfft", "IRFFT", a, _one(n), axis, norm)


_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _opposite(norm: str | None, function: str) -> str:
    if norm not in _OPPOSITE:
        _scale(1, norm, False, function)
    return _OPPOSITE[norm]


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """``fft`` of numbers whose second half is the conjugate of the first, which is given."""
    return irfft(_f.conj(a), n, axis, _opposite(norm, "hfft"))


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``hfft``."""
    return _f.conj(rfft(a, n, axis, _opposite(norm, "ihfft")))


def fftn(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None
) -> Array:
    """``fft`` along several axes, all if left out; ``s`` are their sizes."""
    return _fft("fftn", "FFT", a, s, axes, norm)


def ifftn(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None
) -> Array:
    """The inverse of ``fftn``."""
    return _fft("ifftn", "IFFT", a, s, axes, norm)


def rfftn(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None
) -> Array:
    """``rfft`` along the last of the axes, ``fft`` along the others."""
    return _fft("rfftn", "RFFT", a, s, axes, norm)


def irfftn(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None
) -> Array:
    """The inverse of ``rfftn``."""
    return _fft("irfftn", "IRFFT", a, s, axes, norm)


def fft2(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Any = None
) -> Array:
    """``fftn`` along two axes."""
    return _fft("fft2", "FFT", a, s, axes, norm)


def ifft2(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Any = None
) -> Array:
    """``ifftn`` along two axes."""
    return _fft("ifft2", "IFFT", a, s, axes, norm)


def rfft2(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Any = None
) -> Array:
    """``rfftn`` along two axes."""
    return _fft("rfft2", "RFFT", a, s, axes, norm)


def irfft2(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Any = None
) -> Array:
    """``irfftn`` along two axes."""
    return _fft("irfft2", "IRFFT", a, s, axes, norm)


# ---- frequencies ---------------------------------------------------------------------------------


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None) -> Array:
    """The frequencies of the elements that ``fft`` gives for samples ``d`` apart."""
    index = _core.lax.broadcasted_iota("int32", (n,), 0)
    signed = _f.where(_f.less(index, (n + 1) // 2), index, index - n)
    return _f.astype(signed, dtype or default_float()) / (n * d)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None) -> Array:
    """The frequencies of the elements that ``rfft`` gives for samples ``d`` apart."""
    index = _core.lax.broadcasted_iota("int32", (n // 2 + 1,), 0)
    return _f.astype(index, dtype or default_float()) / (n * d)


def _shifted(x: Any, axes: Any, function: str, sign: int) -> Array:
    array = as_array(x, function, "x")
    which = normalize_axes(axes, array.ndim, function)
    shifts = [array.shape[i] // 2 if sign > 0 else -(array.shape[i] // 2) for i in which]
    return _f.roll(array, shifts, which) if which else array


def fftshift(x: Any, axes: Any = None) -> Array:
    """The element of frequency zero in the middle of each axis."""
    return _shifted(x, axes, "fftshift", 1)


def ifftshift(x: Any, axes: Any = None) -> Array:
    """The inverse of ``fftshift``."""
    return _shifted(x, axes, "ifftshift", -1)
