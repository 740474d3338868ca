"""Linear algebra with scipy's names and meaning.

``overwrite_*`` and ``check_finite`` are accepted and change nothing: arrays are immutable, and
values that are not finite give NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import _core
from farcall._core import Array
from farcall._core.linalg import (
    circulant,
    companion,
    dft,
    hadamard,
    hankel,
    hilbert,
    polar,
    toeplitz,
)
from farcall.lax import linalg as _lax_linalg
from farcall.numpy import linalg as _numpy_linalg
from farcall.scipy._expm import expm as expm
from farcall.scipy._expm import expm_frechet as expm_frechet
from farcall.scipy._matrices import block_diag as block_diag

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "det",
    "dft",
    "eigh",
    "expm",
    "expm_frechet",
    "hadamard",
    "hankel",
    "hilbert",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "polar",
    "qr",
    "schur",
    "solve",
    "solve_triangular",
    "svd",
    "toeplitz",
]

_linalg = _core.linalg
_numpy: Any = _core.numpy


def _adjoint(a: Array) -> Array:
    return _numpy.conj(_numpy.swapaxes(a, -1, -2))


def _triangle_solve(a: Array, b: Array, **options: bool) -> Array:
    """One or more right-hand sides, the leading dimensions of both broadcast."""
    if b.ndim == 1:
        return _triangle_solve(a, b[:, None], **options)[..., 0]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = _numpy.broadcast_to(a, batch + a.shape[-2:])
    b = _numpy.broadcast_to(b, batch + b.shape[-2:])
    return _linalg.triangular_solve(a, b, left_side=True, **options)


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """The upper triangular ``U`` with ``a = U^H @ U``, or with ``lower`` its adjoint."""
    del overwrite_a, check_finite
    return _numpy_linalg.cholesky(a, upper=not lower)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """The Cholesky factor, and ``lower``, for ``cho_solve``."""
    return cholesky(a, lower, overwrite_a, check_finite), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """``x`` with ``a @ x = b``, from what ``cho_factor`` gave for ``a``."""
    del overwrite_b, check_finite
    c, lower = c_and_lower
    c, b = _linalg.promote_inexact(c, b)
    adjoint = {"lower": lower, "transpose_a": True, "conjugate_a": True}
    plain = {"lower": lower}
    first, second = (plain, adjoint) if lower else (adjoint, plain)
    return _triangle_solve(c, _triangle_solve(c, b, **first), **second)


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """``x`` with ``op(a) @ x = b`` for triangular ``a``.

    Args:
      a: the matrices; the other triangle is not read.
      b: a vector or matrices.
      trans: 0 or "N" for ``a`` itself, 1 or "T" for its transpose, 2 or "C" for its adjoint.
      lower: whether ``a`` is lower triangular.
      unit_diagonal: whether its diagonal counts as ones.
      overwrite_b: changes nothing.
      debug: changes nothing.
      check_finite: changes nothing.
    """
    del overwrite_b, debug, check_finite
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f'solve_triangular: trans must be 0, 1, 2, "N", "T" or "C", got {trans!r}')
    a, b = _linalg.promote_inexact(a, b)
    return _triangle_solve(
        a,
        b,
        lower=lower,
        transpose_a=trans not in (0, "N"),
        conjugate_a=trans in (2, "C"),
        unit_diagonal=unit_diagonal,
    )


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """Both LU factors in one matrix, and the pivots, for ``lu_solve``."""
    del overwrite_a, check_finite
    factors, pivots, _ = _linalg.lu(_linalg.promote_inexact(a)[0])
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """``x`` with ``op(a) @ x = b``, from what ``lu_factor`` gave for ``a``.

    Args:
      lu_and_piv: factors and pivots.
      b: a vector or matrices.
      trans: 0 for ``a`` itself, 1 for its transpose, 2 for its adjoint.
      overwrite_b: changes nothing.
      check_finite: changes nothing.
    """
    del overwrite_b, check_finite
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: trans must be 0, 1 or 2, got {trans!r}")
    factors, pivots = lu_and_piv
    factors, b = _linalg.promote_inexact(factors, b)
    if trans == 2:
        return _numpy.conj(_linalg.lu_solve(factors, pivots, _numpy.conj(b), True))
    return _linalg.lu_solve(factors, pivots, b, trans == 1)


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """``p, l, u`` with ``a = p @ l @ u``; with ``permute_l``, ``p @ l`` and ``u``."""
    del overwrite_a, check_finite
    factors, _, permutation = _linalg.lu(_linalg.promote_inexact(a)[0])
    rows, columns = factors.shape[-2:]
    size = min(rows, columns)
    real = _numpy.real(factors).dtype
    l = _numpy.tril(factors[..., :, :size], -1) + _numpy.eye(rows, size, dtype=factors.dtype)  # noqa: E741
    u = _numpy.triu(factors[..., :size, :])
    order = _numpy.array_from_numpy(np.arange(rows, dtype=np.int32), True)
    p = _numpy.equal(permutation[..., None, :], order[:, None]).astype(real)
    return (p.astype(factors.dtype) @ l, u) if permute_l else (p, l, u)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse."""
    del overwrite_a, check_finite
    return _numpy_linalg.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinant."""
    del overwrite_a, check_finite
    return _numpy_linalg.det(a)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """``x`` with ``a @ x = b``.

    Args:
      a: the matrices.
      b: a vector or matrices.
      lower: which triangle is read where ``assume_a`` is "pos".
      overwrite_a: changes nothing.
      overwrite_b: changes nothing.
      debug: changes nothing.
      check_finite: changes nothing.
      assume_a: "pos" for Hermitian positive definite matrices, which is faster; else "gen", "sym"
        or "her".
    """
    del overwrite_a, overwrite_b, debug, check_finite
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f'solve: assume_a must be "gen", "sym", "her" or "pos", got {assume_a!r}')
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower), b)
    return _numpy_linalg.solve(a, b)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """``U, s, Vh`` with ``a = U * s @ Vh``; ``s`` alone without ``compute_uv``."""
    del overwrite_a, check_finite
    if lapack_driver != "gesdd":
        raise ValueError(f'svd: lapack_driver must be "gesdd", got {lapack_driver!r}')
    result = _numpy_linalg.svd(a, full_matrices, compute_uv)
    return tuple(result) if compute_uv else result


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """``q, r`` with ``a = q @ r``.

    Args:
      a: the matrices.
      overwrite_a: changes nothing.
      lwork: changes nothing.
      mode: "full" (square ``q``), "economic" or "r" (``r`` alone).
      pivoting: exchange columns so that the diagonal of ``r`` falls; the last result is their
        order.
      check_finite: changes nothing.
    """
    del overwrite_a, lwork, check_finite
    if mode not in ("full", "economic", "r"):
        raise ValueError(f'qr: mode must be "full", "economic" or "r", got {mode!r}')
    a = _linalg.promote_inexact(a)[0]
    q, r, *order = _lax_linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return (r, *order) if mode == "r" else (q, r, *order)


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Ascending eigenvalues of Hermitian ``a``, and unless ``eigvals_only`` its eigenvectors.

    Args:
      a: the matrices; the mean of each and its adjoint is taken.
      b: must be None.
      lower: changes nothing.
      eigvals_only: whether eigenvectors are left out.
      overwrite_a: changes nothing.
      overwrite_b: changes nothing.
      turbo: changes nothing.
      eigvals: must be None.
      type: must be 1.
      check_finite: changes nothing.
    """
    del lower, overwrite_a, overwrite_b, turbo, check_finite
    if b is not None or eigvals is not None or type != 1:
        raise NotImplementedError("eigh: b, eigvals and type other than 1 are not known here")
    w, v = _numpy_linalg.eigh(a)
    return w if eigvals_only else (w, v)


def schur(a: Any, output: str = "real") -> tuple[Array, ...]:
    """``t, z`` with ``a = z @ t @ z^H`` and ``t`` (block) upper triangular.

    Args:
      a: the matrices.
      output: "real" or "complex": whether real matrices are taken for complex ones first.
    """
    if output not in ("real", "complex"):
        raise ValueError(f'schur: output must be "real" or "complex", got {output!r}')
    a = _linalg.promote_inexact(a)[0]
    if output == "complex":
        a = a.astype(np.result_type(a.dtype, np.complex64))
    return _linalg.schur(a, True)
