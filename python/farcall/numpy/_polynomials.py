"""Polynomials as arrays of coefficients, the highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall._core.numpy import convolve, diag, vander
from farcall.numpy import linalg as _linalg
from farcall.numpy._common import Array, as_array, to_inexact
from farcall.numpy._creation import asarray

__all__ = [
    "polydiv",
    "polyfit",
    "polymul",
    "roots",
]

_f: Any = _core.numpy


def _coefficients(p: Any, function: str, name: str = "p") -> Array:
    array = asarray(p)
    if array.ndim > 1:
        raise ValueError(f"{function}: {name} must have one dimension, got {array.ndim}")
    return _f.reshape(array, (-1,))


def _trimmed(p: Array) -> Array:
    """Without zeros in front, which must be known; 0 stays."""
    places = np.flatnonzero(np.asarray(p))
    return p[int(places[0]) if places.size else p.shape[0] - 1 :]


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials; with ``trim_leading_zeros`` their values must be known."""
    a, b = _coefficients(a1, "polymul", "a1"), _coefficients(a2, "polymul", "a2")
    if trim_leading_zeros:
        a, b = _trimmed(a), _trimmed(b)
    return convolve(a, b)


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    The remainder keeps zeros in front, unless ``trim_leading_zeros``, for which the values must be
    known.
    """
    a = to_inexact(_coefficients(u, "polydiv", "u"))
    b = to_inexact(_coefficients(v, "polydiv", "v"))
    count = a.shape[0] - b.shape[0] + 1
    quotient = _f.zeros((max(count, 1),), (a[:1] + b[:1]).dtype)
    for i in range(count):
        factor = a[i] / b[0]
        quotient = quotient.at[i].set(factor)
        a = a.at[i : i + b.shape[0]].add(-factor * b)
    return quotient, _trimmed(a) if trim_leading_zeros else a


def roots(p: Any, *, strip_zeros: bool = True) -> Array:
    """The zeros of a polynomial, complex.

    Args:
      p: the coefficients.
      strip_zeros: first take away zeros at both ends, for which the values must be known. Without,
        the first coefficient must not be zero.
    """
    p = to_inexact(_coefficients(p, "roots"))
    zeros_behind = 0
    if strip_zeros:
        places = np.flatnonzero(np.asarray(p))
        if not places.size:
            return _f.zeros((0,), np.complex64)
        zeros_behind = p.shape[0] - 1 - int(places[-1])
        p = p[int(places[0]) : int(places[-1]) + 1]
    size = p.shape[0] - 1
    companion = diag(_f.ones((size - 1,), p.dtype), -1) if size > 1 else _f.zeros((size, size))
    if size > 0:
        companion = _f.astype(companion, p.dtype).at[0].set(-p[1:] / p[0])
        found = _linalg.eigvals(companion)
    else:
        found = _f.zeros((0,), np.complex64)
    return _f.concatenate([found, _f.zeros((zeros_behind,), found.dtype)], 0)


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial that is nearest to points, in the sense of least squares.

    Args:
      x: where the points are.
      y: their values, or several columns of them.
      deg: the degree.
      rcond: singular values below this part of the largest one count as 0.
      full: also return what ``linalg.lstsq`` does, and ``rcond``.
      w: the weight of each point's distance.
      cov: also return the covariances of the coefficients; "unscaled": not scaled by the residuals.
    """
    x, y = to_inexact(as_array(x, "polyfit", "x")), to_inexact(as_array(y, "polyfit", "y"))
    size = operator.index(deg) + 1
    if size < 1:
        raise ValueError(f"polyfit: the degree must not be negative, got {deg}")
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0] or x.shape[0] == 0:
        raise TypeError(
            f"polyfit: x must be a vector and y one or several of its length, got {x.aval} and "
            f"{y.aval}"
        )
    if rcond is None:
        rcond = x.shape[0] * float(np.finfo(x.dtype).eps)
    powers = vander(x, size)
    values = y
    if w is not None:
        weights = to_inexact(as_array(w, "polyfit", "w"))
        powers = powers * weights[:, None]
        values = y * (weights if y.ndim == 1 else weights[:, None])
    scale = _f.sqrt(_f.sum(powers * powers, 0))
    found, residuals, rank, singular = _linalg.lstsq(powers / scale, values, rcond)
    coefficients = (found.T / scale).T
    if full:
        return coefficients, residuals, rank, singular, rcond
    if not cov:
        return coefficients
    base = _linalg.inv(_f.matmul(powers.T, powers) / _f.outer(scale, scale))
    base = base / _f.outer(scale, scale)
    if isinstance(cov, str):
        return coefficients, base
    if x.shape[0] <= size:
        raise ValueError("polyfit: for covariances there must be more points than coefficients")
    factor = residuals / (x.shape[0] - size)
    return coefficients, base * factor if y.ndim == 1 else base[:, :, None] * factor
