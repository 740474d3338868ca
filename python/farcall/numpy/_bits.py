"""Bits and neighbours of numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import Array, as_array, normalize_axis, to_inexact

__all__ = ["packbits", "sort_complex", "spacing", "unpackbits"]

_f: Any = _core.numpy
_lax: Any = _core.lax


def _powers(bitorder: str, function: str) -> Array:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{function}: bitorder must be 'big' or 'little', got {bitorder!r}")
    places = np.arange(8, dtype=np.uint8)
    order = places if bitorder == "little" else places[::-1]
    return _f.array_from_numpy(np.ascontiguousarray(order), False)


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight elements in each byte, bits that say which are not zero; zeros where some are missing.

    Args:
      a: integers or bools.
      axis: along which; None: of all elements, in one dimension.
      bitorder: "big" where the first bit is the highest, or "little".

    Raises:
      TypeError: for floats.
      ValueError: for another bitorder.
    """
    array = as_array(a, "packbits")
    if array.dtype.kind not in "biu":
        raise TypeError(f"packbits: expected integers or bools, got {array.dtype}")
    powers = _powers(bitorder, "packbits")
    if axis is None:
        array, axis = _f.ravel(array), 0
    axis = normalize_axis(axis, array.ndim, "packbits")
    bits = _f.moveaxis(_f.astype(_f.not_equal(array, 0), "uint8"), axis, -1)
    missing = -bits.shape[-1] % 8
    bits = _f.concatenate([bits, _f.zeros((*bits.shape[:-1], missing), "uint8")], -1)
    bits = _f.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    packed = _f.astype(_f.sum(_f.left_shift(bits, powers), -1), "uint8")
    return _f.moveaxis(packed, -1, axis)


def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The bits of each byte, as bytes of 0 and 1.

    Args:
      a: of dtype uint8.
      axis: along which they come; None: of all elements, in one dimension.
      count: how many bits are wanted, zeros where there are fewer; negative: so many less.
      bitorder: "big" where the first bit is the highest, or "little".

    Raises:
      TypeError: for another dtype.
      ValueError: for another bitorder.
    """
    array = as_array(a, "unpackbits")
    if array.dtype != np.uint8:
        raise TypeError(f"unpackbits: expected uint8, got {array.dtype}")
    powers = _powers(bitorder, "unpackbits")
    if axis is None:
        array, axis = _f.ravel(array), 0
    axis = normalize_axis(axis, array.ndim, "unpackbits")
    last = _f.moveaxis(array, axis, -1)
    bits = _f.bitwise_and(_f.right_shift(_f.expand_dims(last, -1), powers), np.uint8(1))
    bits = _f.reshape(bits, (*last.shape[:-1], 8 * last.shape[-1]))
    if count is not None:
        size = bits.shape[-1]
        wanted = operator.index(count) if count >= 0 else max(size + operator.index(count), 0)
        more = _f.zeros((*bits.shape[:-1], max(wanted - size, 0)), "uint8")
        bits = _f.concatenate([bits[..., :wanted], more], -1)
    return _f.moveaxis(bits, -1, axis)


def spacing(x: Any) -> Array:
    """The distance to the next number of the dtype, away from zero."""
    array = to_inexact(as_array(x, "spacing", "x"))
    if array.dtype.kind == "c":
        raise ValueError(f"spacing: is not defined for complex numbers, got {array.dtype}")
    outward = _f.where(_f.less(array, 0), -np.inf, np.inf)
    return _lax.nextafter(array, _f.astype(outward, array.dtype)) - array


def sort_complex(a: Any) -> Array:
    """The elements as complex numbers, by real part and then by imaginary part."""
    array = as_array(a, "sort_complex")
    wide = array.dtype in (np.float64, np.int64, np.uint64, np.complex128)
    return _f.sort(_f.astype(array, "complex128" if wide else "complex64"), -1)
