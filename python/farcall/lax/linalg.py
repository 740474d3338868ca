"""Factorizations and triangular systems, strict about dtypes, like ``jax.lax.linalg``.

All functions take matrices stacked along any number of leading dimensions, of dtype float32,
float64, complex64 or complex128. If the factorization of a matrix fails, its results are NaN.
"""

from __future__ import annotations

import enum
from typing import Any

from farcall._core import Array
from farcall._core import linalg as _functions
from farcall._core.linalg import cholesky as cholesky
from farcall._core.linalg import cholesky_update as cholesky_update
from farcall._core.linalg import hessenberg as hessenberg
from farcall._core.linalg import householder_product as householder_product
from farcall._core.linalg import lu as lu
from farcall._core.linalg import lu_pivots_to_permutation as lu_pivots_to_permutation
from farcall._core.linalg import ormqr as ormqr
from farcall._core.linalg import qdwh as qdwh
from farcall._core.linalg import symmetric_product as symmetric_product
from farcall._core.linalg import triangular_solve as triangular_solve
from farcall._core.linalg import tridiagonal as tridiagonal
from farcall._core.linalg import tridiagonal_solve as tridiagonal_solve

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]


class EigImplementation(enum.Enum):
    """JAX's choices for ``eig``, which always uses LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """JAX's choices for ``eigh``, which always uses LAPACK."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """JAX's choices for ``svd``, which always uses LAPACK."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Array, ...]:
    """``x = q @ r`` with orthonormal ``q`` and upper triangular ``r``.

    Args:
      x: the matrices.
      pivoting: permute the columns so that the diagonal of ``r`` decreases; ``q @ r`` is then ``x``
        with its columns permuted by the third result.
      full_matrices: whether ``q`` is square.
      use_magma: accepted for compatibility with JAX; ignored.
    """
    del use_magma
    return _functions._qr(x, pivoting, full_matrices)


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """The eigenvectors and eigenvalues of Hermitian matrices; eigenvalues ascend.

    Args:
      x: the matrices.
      lower: whether to read the lower triangle, if ``symmetrize_input`` is False.
      symmetrize_input: whether to average ``x`` with its conjugate transpose first.
      sort_eigenvalues: ignored; eigenvalues are always sorted.
      subset_by_index: the range (begin, end) of eigenvalues to compute, in ascending order.
      implementation: accepted for compatibility with JAX; ignored.
    """
    del sort_eigenvalues, implementation
    return _functions._eigh(x, lower, symmetrize_input, subset_by_index)


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """``u, s, vh`` with ``x = u * s @ vh`` and descending ``s``; only ``s`` without ``compute_uv``.

    Args:
      x: the matrices.
      full_matrices: whether ``u`` and ``vh`` are square.
      compute_uv: whether to compute ``u`` and ``vh``.
      subset_by_index: the range (begin, end) of singular values to compute, in descending order.
      algorithm: accepted for compatibility with JAX; ignored.
    """
    del algorithm
    if compute_uv:
        return _functions._svd(x, full_matrices, subset_by_index)
    return _functions._singular_values(x, subset_by_index)


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """The eigenvalues ``w``, and eigenvectors ``vl``, ``vr`` as requested, all complex.

    Args:
      x: the matrices.
      compute_left_eigenvectors: whether to return ``vl`` with ``vl^H @ x = w * vl^H``.
      compute_right_eigenvectors: whether to return ``vr`` with ``x @ vr = vr * w``.
      enable_eigvec_derivs: whether eigenvectors may be differentiated; their derivatives are
        correct only if all eigenvalues are distinct.
      implementation, use_magma: accepted for compatibility with JAX; ignored.
    """
    del implementation, use_magma
    return list(
        _functions.eig(
            x, compute_left_eigenvectors, compute_right_eigenvectors, enable_eigvec_derivs
        )
    )


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> tuple[Array, ...]:
    """Schur form ``x = q @ t @ q^H``: (block) upper triangular ``t``, and ``q`` if requested.

    Raises:
      NotImplementedError: with ``sort_eig_vals``.
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: sort_eig_vals must be False and select_callable None")
    return _functions.schur(x, compute_schur_vectors)
