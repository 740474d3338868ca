"""Linear algebra with numpy's names and semantics.

Integers become float32. All functions take matrices stacked along any number of leading dimensions.
If the factorization of a matrix fails, its results are NaN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from farcall import _core
from farcall._core import Array
from farcall._core.numpy import matmul, outer, tensordot, vecdot
from farcall._core.numpy_linalg import (
    cholesky,
    cond,
    cross,
    det,
    diagonal,
    eigvals,
    eigvalsh,
    inv,
    lstsq,
    matrix_norm,
    matrix_power,
    matrix_rank,
    matrix_transpose,
    multi_dot,
    norm,
    pinv,
    solve,
    svdvals,
    tensorinv,
    tensorsolve,
    trace,
    vector_norm,
)

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

_linalg: Any = _core.numpy_linalg


class EighResult(NamedTuple):
    """The result of ``eigh``."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """The result of ``eig``."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """The result of ``qr``."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """The result of ``svd``."""

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """The result of ``slogdet``."""

    sign: Array
    logabsdet: Array


def qr(a: Any, mode: str = "reduced") -> Any:
    """``a = Q @ R`` with orthonormal ``Q`` and upper triangular ``R``.

    Args:
      a: the matrices.
      mode: "reduced", "complete" (square ``Q``), "r" (only ``R``) or "raw" (LAPACK's Householder
        reflections, transposed, and their factors).
    """
    made = _linalg._qr(a, mode)
    return made if mode == "r" else QRResult(*made)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """``U, S, Vh`` with ``a = U * S @ Vh``; only ``S`` without ``compute_uv``.

    Args:
      a: the matrices.
      full_matrices: whether ``U`` and ``Vh`` are square.
      compute_uv: whether to compute ``U`` and ``Vh``.
      hermitian: assume that ``a`` is Hermitian, which is faster.
      subset_by_index: the range (begin, end) of singular values to compute, in descending order.
    """
    made = _linalg._svd(a, full_matrices, compute_uv, hermitian, subset_by_index)
    return SVDResult(*made) if compute_uv else made


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:  # noqa: N803
    """The eigenvalues of Hermitian matrices, ascending, and their eigenvectors.

    Args:
      a: the matrices.
      UPLO: "L" or "U", the triangle to read if ``symmetrize_input`` is False.
      symmetrize_input: whether to average ``a`` with its conjugate transpose first.
    """
    return EighResult(*_linalg._eigh(a, UPLO, symmetrize_input))


def eig(a: Any) -> EigResult:
    """The complex eigenvalues and right eigenvectors of square matrices, in no particular order."""
    return EigResult(*_linalg._eig(a))


def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The sign (modulus 1 or 0) of the determinant, and the logarithm of its modulus.

    Args:
      a: the matrices.
      method: "lu", the only one.
    """
    if method not in (None, "lu"):
        raise ValueError(f'slogdet: method must be "lu", got {method!r}')
    return SlogdetResult(*_linalg._slogdet(a))
