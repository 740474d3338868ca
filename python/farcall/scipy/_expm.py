"""The exponential of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from farcall import _control_flow, _core
from farcall._derivatives import jvp
from farcall.numpy import linalg as _linalg

Array = _core.Array
_f: Any = _core.numpy

# N. Higham, The scaling and squaring method for the matrix exponential revisited, 2005: the
# coefficients of Padé's approximants of degree 7 and 13, and up to which norm they are exact.
_SINGLE = (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1)
_SINGLE_NORM = 3.925724783138660
_DOUBLE = (
    64764752532480000,
    32382376266240000,
    7771770303897600,
    1187353796428800,
    129060195264000,
    10559470521600,
    670442572800,
    33522128640,
    1323241920,
    40840800,
    960960,
    16380,
    182,
    1,
)
_DOUBLE_NORM = 5.371920351148152


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:  # noqa: N803
    """The sum of ``A^k / k!``, NaN for matrices so large that they take more squarings.

    Args:
      A: square matrices.
      upper_triangular: whether they are known to be upper triangular.
      max_squarings: how often a matrix is halved and its exponential squared at most.
    """
    a = _core.linalg.promote_inexact(A)[0]
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"expm: needs square matrices, got {a.aval}")
    is_double = a.dtype in (np.float64, np.complex128)
    norm = _f.max(_f.sum(_f.abs(_core.lax.stop_gradient(a)), -2), -1)
    ratio = _f.log(_f.divide(norm, _DOUBLE_NORM if is_double else _SINGLE_NORM)) / math.log(2)
    squarings = _f.maximum(_f.ceil(ratio), 0)[..., None, None]
    a = a * _f.astype(_f.exp2(-_f.minimum(squarings, max_squarings)), a.dtype)
    result = _pade(a, _DOUBLE if is_double else _SINGLE, upper_triangular)

    def square(current: Array, i: Array) -> tuple[Array, None]:
        wanted = _f.less(i, squarings)
        # What is not wanted is not squared either, as it could overflow.
        factor = _f.where(wanted, current, 0)
        return _f.where(wanted, _f.matmul(factor, factor), current), None

    steps = np.arange(max_squarings, dtype=np.float32)
    result = _control_flow.scan(square, result, steps)[0]
    fits = _f.logical_and(_f.less_equal(squarings, max_squarings), _f.isfinite(squarings))
    return _f.where(fits, result, math.nan)


def _pade(a: Array, coefficients: tuple[int, ...], upper_triangular: bool) -> Array:
    identity = _f.eye(a.shape[-1], dtype=a.dtype)
    square = _f.matmul(a, a)
    even, odd = coefficients[0] * identity, coefficients[1] * identity
    power = square
    for i in range(2, len(coefficients), 2):
        even, odd = even + coefficients[i] * power, odd + coefficients[i + 1] * power
        if i + 2 < len(coefficients):
            power = _f.matmul(power, square)
    odd = _f.matmul(a, odd)
    if upper_triangular:
        numerator, denominator = even + odd, even - odd
        return _core.linalg.triangular_solve(denominator, numerator, left_side=True, lower=False)
    return _linalg.solve(even - odd, even + odd)


def expm_frechet(
    A: Any,  # noqa: N803
    E: Any,  # noqa: N803
    *,
    method: str | None = None,
    compute_expm: bool = True,
) -> Any:
    """The exponential of ``A``, if ``compute_expm``, and its derivative in the direction ``E``.

    ``method`` is for programs written for JAX and has no effect.
    """
    del method
    a, e = _core.linalg.promote_inexact(A, E)
    value, derivative = jvp(expm, (a,), (e,))
    return (value, derivative) if compute_expm else derivative
