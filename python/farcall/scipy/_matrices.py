"""Matrices of special forms."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import Array, as_array, default_float
from farcall.numpy._creation import asarray

_f: Any = _core.numpy


def block_diag(*arrs: Any) -> Array:
    """Matrices along the diagonal of one, zeros elsewhere; vectors count as one row."""
    blocks = [asarray(a) for a in arrs] or [_f.zeros((1, 0))]
    blocks = [_f.reshape(b, (1, -1)) if b.ndim < 2 else b for b in blocks]
    if any(b.ndim > 2 for b in blocks):
        raise ValueError(
            "block_diag: takes matrices, got " + ", ".join(f"{b.aval}" for b in blocks)
        )
    width = sum(b.shape[1] for b in blocks)
    rows, before = [], 0
    for block in blocks:
        after = width - before - block.shape[1]
        rows.append(_f.pad_constant(block, [(0, 0), (before, after)], 0))
        before += block.shape[1]
    dtype = functools.reduce(_f.add, [b.ravel()[:0] for b in blocks]).dtype
    return _f.concatenate([_f.astype(row, dtype) for row in rows], 0)


def _vector(value: Any, function: str, name: str) -> Array:
    return _f.ravel(as_array(asarray(value), function, name))


def toeplitz(c: Any, r: Any = None) -> Array:
    """The matrix with first column ``c`` and first row ``r``, which is constant along diagonals.

    ``r`` is the conjugate of ``c`` if left out; its first element is not used.
    """
    column = _vector(c, "toeplitz", "c")
    row = _f.conj(column) if r is None else _vector(r, "toeplitz", "r")
    values = _f.concatenate([_f.flip(row[1:]), column], 0)
    m, n = column.shape[0], row.shape[0]
    return values[n - 1 + np.arange(m)[:, None] - np.arange(n)]


def hankel(c: Any, r: Any = None) -> Array:
    """The matrix with first column ``c`` and last row ``r``, which is constant along antidiagonals.

    ``r`` is zeros if left out; its first element is not used.
    """
    column = _vector(c, "hankel", "c")
    row = column * 0 if r is None else _vector(r, "hankel", "r")
    values = _f.concatenate([column, row[1:]], 0)
    return values[np.arange(column.shape[0])[:, None] + np.arange(row.shape[0])]


def circulant(c: Any) -> Array:
    """The matrix with first column ``c``, each other being the one before moved down by one."""
    column = _vector(c, "circulant", "c")
    size = column.shape[0]
    return column[(np.arange(size)[:, None] - np.arange(size)) % max(size, 1)]


def companion(a: Any) -> Array:
    """The matrix of which a polynomial, highest power first, is the characteristic one."""
    a = _vector(a, "companion", "a")
    size = a.shape[0] - 1
    if size < 1:
        raise ValueError("companion: the polynomial must have at least two coefficients")
    row = -a[1:] / a[0]
    below = _f.eye(size - 1, size, dtype=row.dtype)
    return _f.concatenate([row[None], below], 0)


def hilbert(n: int) -> Array:
    """The matrix of ``1 / (i + j + 1)``."""
    numbers = np.arange(operator.index(n), dtype=default_float())
    return _f.divide(1.0, _f.array_from_numpy(numbers[:, None] + numbers + 1, False))


def hadamard(n: int, dtype: Any = "int32") -> Array:
    """The matrix of Hadamard by Sylvester; ``n`` is a power of two."""
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: n must be a power of two, got {n}")
    matrix = np.ones((1, 1), np.int32)
    while matrix.shape[0] < n:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return _f.astype(_f.array_from_numpy(matrix, False), dtype)


def dft(n: int, scale: str | None = None) -> Array:
    """The matrix of the discrete Fourier transform; ``scale`` is "sqrtn", "n" or None."""
    divisors = {None: 1.0, "sqrtn": math.sqrt(max(n, 1)), "n": float(max(n, 1))}
    if scale not in divisors:
        raise ValueError(f'dft: scale must be "sqrtn", "n" or None, got {scale!r}')
    numbers = np.arange(operator.index(n))
    angles = -2 * np.pi * ((numbers[:, None] * numbers) % max(n, 1)) / max(n, 1)
    matrix = (np.exp(1j * angles) / divisors[scale]).astype(_core._default_dtype(complex))
    return _f.array_from_numpy(matrix, False)


def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "svd",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """``u, p`` with orthonormal ``u`` and positive semidefinite ``p``: ``a = u @ p`` or ``p @ u``.

    Args:
      a: the matrices; for "right" with no more columns than rows, for "left" with no more rows.
      side: of ``p``, "right" or "left".
      method, eps, max_iterations: for programs written for JAX; without effect.
    """
    del method, eps, max_iterations
    if side not in ("right", "left"):
        raise ValueError(f'polar: side must be "right" or "left", got {side!r}')
    a = _core.linalg.promote_inexact(a)[0]
    u, s, vh = _core.linalg.svd(a, False)

    def adjoint(x: Array) -> Array:
        return _f.conj(_f.swapaxes(x, -1, -2))

    scaled = _f.astype(s, a.dtype)[..., None, :]
    if side == "right":
        return _f.matmul(u, vh), _f.matmul(adjoint(vh) * scaled, vh)
    return _f.matmul(u, vh), _f.matmul(u * scaled, adjoint(u))
