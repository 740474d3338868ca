"""Linear algebra with numpy's names and meaning.

Integers become float32. All take matrices stacked along any number of leading dimensions. A matrix
for which a factorisation fails gives NaN.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from farcall import _core
from farcall._core import Array
from farcall._core.linalg import matrix_norm, norm, vector_norm
from farcall.numpy import _linear
from farcall.numpy._common import as_arrays, default_int

__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

_linalg = _core.linalg
_numpy: Any = _core.numpy


class EighResult(NamedTuple):
    """What ``eigh`` returns."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """What ``eig`` returns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What ``qr`` returns."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """What ``svd`` returns."""

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """What ``slogdet`` returns."""

    sign: Array
    logabsdet: Array


def _inexact(a: Any) -> Array:
    return _linalg.promote_inexact(a)[0]


def _adjoint(a: Array) -> Array:
    return _numpy.conj(_numpy.swapaxes(a, -1, -2))


def _is_lower(uplo: str | None) -> bool:
    if uplo in (None, "L"):
        return True
    if uplo == "U":
        return False
    raise ValueError(f'UPLO must be "L" or "U", got {uplo!r}')


# ---- factorisations ----
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The lower triangular ``L`` with ``a = L @ L^H``, or its adjoint.

    Args:
      a: Hermitian positive definite matrices; others give NaN.
      upper: whether the adjoint is returned.
      symmetrize_input: whether the mean of ``a`` and its adjoint is taken first.
    """
    factor = _linalg.cholesky(_inexact(a), symmetrize_input=symmetrize_input)
    return _adjoint(factor) if upper else factor


def qr(a: Any, mode: str = "reduced") -> Any:
    """``a = Q @ R`` with orthonormal ``Q`` and upper triangular ``R``.

    Args:
      a: the matrices.
      mode: "reduced", "complete" (square ``Q``), "r" (``R`` alone) or "raw" (the reflections and
        their factors, as LAPACK gives them, transposed).
    """
    if mode == "raw":
        factors, taus = _linalg.geqrf(_inexact(a))
        return QRResult(_numpy.swapaxes(factors, -1, -2), taus)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f'qr: mode must be "reduced", "complete", "r" or "raw", got {mode!r}')
    q, r = _linalg.qr(_inexact(a), full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """``U, S, Vh`` with ``a = U * S @ Vh``; ``S`` alone without ``compute_uv``.

    Args:
      a: the matrices.
      full_matrices: whether ``U`` and ``Vh`` are square.
      compute_uv: whether they are computed.
      hermitian: whether ``a`` is known to be Hermitian, which is faster.
      subset_by_index: first singular value and the one after the last, in descending order.
    """
    a = _inexact(a)
    part = slice(None) if subset_by_index is None else slice(*subset_by_index)
    if hermitian:
        v, w = _linalg.eigh(a, True, True)
        # Of the orthonormal matrix that sorts: row i of column j is 1 where j comes from i.
        order = _numpy.argsort(_numpy.abs(w), -1, descending=True)
        numbers = _numpy.array_from_numpy(np.arange(w.shape[-1], dtype=np.int32), True)
        sorting = _numpy.equal(numbers[:, None], order[..., None, :])[..., part]
        values = (w[..., None, :] @ sorting.astype(w.dtype))[..., 0, :]
        if not compute_uv:
            return _numpy.abs(values)
        u = v @ sorting.astype(v.dtype)
        vh = _adjoint(_numpy.multiply(u, _numpy.sign(values)[..., None, :]))
        return SVDResult(u, _numpy.abs(values), vh)
    if not compute_uv:
        return _linalg.singular_values(a)[..., part]
    if subset_by_index is not None and full_matrices:
        raise ValueError("svd: subset_by_index needs full_matrices=False")
    u, s, vh = _linalg.svd(a, full_matrices)
    return SVDResult(u[..., part], s[..., part], vh if part == slice(None) else vh[..., part, :])


def svdvals(x: Any, /) -> Array:
    """Singular values, descending."""
    return svd(x, compute_uv=False)


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:  # noqa: N803
    """Ascending eigenvalues of Hermitian matrices, and their eigenvectors.

    Args:
      a: the matrices.
      UPLO: "L" or "U", the triangle that is read where ``symmetrize_input`` is False.
      symmetrize_input: whether the mean of ``a`` and its adjoint is taken first.
    """
    v, w = _linalg.eigh(_inexact(a), _is_lower(UPLO), symmetrize_input)
    return EighResult(w, v)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:  # noqa: N803
    """Ascending eigenvalues of Hermitian matrices; arguments as for ``eigh``."""
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: Any) -> EigResult:
    """Complex eigenvalues and right eigenvectors of square matrices, in no order."""
    return EigResult(*_linalg.eig(_inexact(a), False, True, False))


def eigvals(a: Any) -> Array:
    """Complex eigenvalues of square matrices, in no order."""
    return _linalg.eig(_inexact(a), False, False, False)[0]


# ---- systems ----
def solve(a: Any, b: Any) -> Array:
    """``x`` with ``a @ x = b``; ``b`` is a vector if it has one dimension, else matrices."""
    return _linalg.solve(*_linalg.promote_inexact(a, b))


def inv(a: Any) -> Array:
    """The inverse."""
    return _linalg.inv(_inexact(a))


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Array:
    """The Moore-Penrose inverse.

    Args:
      a: the matrices.
      rtol: singular values below this part of the largest count as zero. Left out,
        ``10 * max(rows, columns) * eps``.
      hermitian: whether ``a`` is known to be Hermitian, which is faster.
      rcond: numpy's older name of ``rtol``.
    """
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: rtol and rcond are the same thing; give one")
    return _linalg.pinv(_inexact(a), rcond if rtol is None else rtol, hermitian)


def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The shortest ``x`` for which ``a @ x`` is nearest to ``b``.

    Args:
      a: one matrix.
      b: a vector or a matrix.
      rcond: singular values below this part of the largest count as zero.
      numpy_resid: whether residuals are left out where numpy leaves them out.

    Returns:
      ``x``, the squared lengths of the residuals, the rank and the singular values of ``a``.
    """
    a, b = _linalg.promote_inexact(a, b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ValueError(f"lstsq: {b.shape} does not fit one matrix, {a.shape}")
    columns = b[:, None] if b.ndim == 1 else b
    rows, size = a.shape
    real = _numpy.real(a).dtype
    if rcond is None or rcond < 0:
        rcond = float(np.finfo(real).eps) * max(rows, size)
    if a.size == 0:
        s = _numpy.zeros((0,), real)
        x = _numpy.zeros((size, columns.shape[1]), a.dtype)
        rank = _numpy.zeros((), default_int())
    else:
        u, s, vh = _linalg.svd(a, False)
        kept = _numpy.greater_equal(s, _numpy.multiply(rcond, s[0]))
        rank = _numpy.sum(kept)
        inverse = _numpy.where(kept, _numpy.divide(1, _numpy.where(kept, s, 1)), 0)
        x = _adjoint(vh) @ (inverse[:, None].astype(a.dtype) * (_adjoint(u) @ columns))
    misfit = _numpy.abs(columns - a @ x)
    residuals = _numpy.sum(misfit * misfit, 0)
    if numpy_resid and (rows <= size or int(rank) < size):
        residuals = _numpy.zeros((0,), real)
    return x[:, 0] if b.ndim == 1 else x, residuals, rank, s


def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of the linear map that ``tensordot(a, x, ind)`` is."""
    a = _inexact(a)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive, got {ind}")
    size = math.prod(a.shape[ind:])
    return inv(a.reshape((-1, size))).reshape(a.shape[ind:] + a.shape[:ind])


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Array:
    """``x`` with ``tensordot(a, x, x.ndim) = b``; ``axes`` of ``a`` are moved to its end first."""
    a, b = _linalg.promote_inexact(a, b)
    for axis in axes or ():
        a = _numpy.moveaxis(a, axis, a.ndim - 1)
    shape = a.shape[b.ndim :]
    return solve(a.reshape((-1, math.prod(shape))), b.reshape((-1,))).reshape(shape)


# ---- numbers of a matrix ----
def det(a: Any) -> Array:
    """The determinant."""
    return _linalg.det(_inexact(a))


def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Sign, a number of modulus 1 or 0, and logarithm of the modulus of the determinant.

    Args:
      a: the matrices.
      method: "lu", the only one.
    """
    if method not in (None, "lu"):
        raise ValueError(f'slogdet: method must be "lu", got {method!r}')
    return SlogdetResult(*_linalg.slogdet(_inexact(a)))


def matrix_rank(
    M: Any,  # noqa: N803
    rtol: Any = None,
    *,
    hermitian: bool = False,
    tol: Any = None,
) -> Array:
    """How many singular values are larger than ``rtol`` times the largest.

    Args:
      M: the matrices.
      rtol: left out, ``max(rows, columns) * eps``.
      hermitian: whether ``M`` is known to be Hermitian, which is faster.
      tol: numpy's older name of ``rtol``.
    """
    m = _inexact(M)
    rtol = tol if rtol is None else rtol
    if m.ndim < 2:
        return _numpy.any(_numpy.not_equal(m, 0)).astype(default_int())
    s = svd(m, compute_uv=False, hermitian=hermitian)
    if rtol is None:
        rtol = max(m.shape[-2:]) * float(np.finfo(s.dtype).eps)
    limit = _numpy.multiply(_numpy.max(s, -1, keepdims=True), rtol)
    return _numpy.sum(_numpy.greater(s, limit), -1)


def cond(x: Any, p: Any = None) -> Array:
    """The condition number: the norm ``p`` of ``x`` times that of its inverse.

    Args:
      x: the matrices.
      p: as for ``matrix_norm``; left out, 2.
    """
    x = _inexact(x)
    if p in (None, 2):
        s = _linalg.singular_values(x)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = _linalg.singular_values(x)
        return s[..., -1] / s[..., 0]
    product = matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)
    from_nan = _numpy.any(_numpy.isnan(x), (-2, -1))
    return _numpy.where(_numpy.logical_or(~_numpy.isnan(product), from_nan), product, np.inf)


# ---- products ----
def matrix_power(a: Any, n: int) -> Array:
    """``a`` multiplied with itself ``n`` times, or its inverse ``-n`` times."""
    if not isinstance(n, (int, np.integer)):
        raise TypeError(f"matrix_power: n must be a whole number, got {n!r}")
    a = _numpy.as_array(a, "matrix_power: argument a")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"matrix_power: takes square matrices, got {a.shape}")
    if n == 0:
        return _numpy.broadcast_to(_numpy.eye(a.shape[-1], dtype=a.dtype), a.shape)
    square, n = (inv(a), -n) if n < 0 else (a, n)
    result = None
    while n > 1:
        if n & 1:
            result = square if result is None else result @ square
        square, n = square @ square, n >> 1
    return square if result is None else result @ square


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Array:
    """The product of two or more matrices in the order that needs the fewest multiplications.

    The first and the last may be vectors.
    """
    parts = as_arrays(arrays, "multi_dot")
    if len(parts) < 2:
        raise ValueError(f"multi_dot: takes two arrays or more, got {len(parts)}")
    first_is_row, last_is_column = parts[0].ndim == 1, parts[-1].ndim == 1
    if first_is_row:
        parts[0] = parts[0][None, :]
    if last_is_column:
        parts[-1] = parts[-1][:, None]
    for part in parts:
        if part.ndim != 2:
            raise ValueError(f"multi_dot: takes matrices, got an array of shape {part.shape}")
    sizes = [parts[0].shape[0], *(part.shape[1] for part in parts)]

    @functools.cache
    def best(first: int, last: int) -> tuple[int, int]:
        """Multiplications for parts first … last, and where they are divided."""
        if first == last:
            return 0, first
        ways = (
            (
                best(first, cut)[0]
                + best(cut + 1, last)[0]
                + sizes[first] * sizes[cut + 1] * sizes[last + 1],
                cut,
            )
            for cut in range(first, last)
        )
        return min(ways)

    def product(first: int, last: int) -> Array:
        if first == last:
            return parts[first]
        cut = best(first, last)[1]
        return product(first, cut) @ product(cut + 1, last)

    result = product(0, len(parts) - 1)
    if first_is_row:
        result = result[0]
    return result[..., 0] if last_is_column else result


def matrix_transpose(x: Any, /) -> Array:
    """``x`` with its last two dimensions exchanged."""
    return _numpy.swapaxes(_numpy.as_array(x, "matrix_transpose: argument x"), -1, -2)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """A diagonal of each matrix, as the last dimension."""
    return _numpy.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of a diagonal of each matrix."""
    values = diagonal(x, offset=offset)
    return _numpy.sum(values if dtype is None else values.astype(dtype), -1)


def matmul(
    x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """``numpy.matmul``."""
    return _linear.matmul(x1, x2, preferred_element_type=preferred_element_type)


def outer(x1: Any, x2: Any, /) -> Array:
    """All products of elements of two vectors."""
    return _numpy.outer(x1, x2)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The sum of ``conj(x1) * x2`` along an axis."""
    return _linear.vecdot(x1, x2, axis=axis, preferred_element_type=preferred_element_type)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three elements along ``axis``."""
    a, b = _numpy.as_array(x1, "cross: argument x1"), _numpy.as_array(x2, "cross: argument x2")
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(
            f"cross: both must have 3 elements along axis {axis}, got {a.aval}, {b.aval}"
        )
    return _linear.cross(a, b, axis=axis)


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """``numpy.tensordot``."""
    return _linear.tensordot(x1, x2, axes, preferred_element_type=preferred_element_type)
