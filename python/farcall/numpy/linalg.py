"""Linear algebra with numpy's names and meaning.

Integers become float32. All take matrices stacked along any number of leading dimensions. A matrix
for which a factorisation fails gives NaN.
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


def qr(a: Any, mode: str = "reduced") -> Any:
    """``a = Q @ R`` with orthonormal ``Q`` and upper triangular ``R``.

    Args:
      a: the matrices.
      mode: "reduced", "complete" (square ``Q``), "r" (``R`` alone) or "raw" (the reflections and
        their factors, as LAPACK gives them, transposed).
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
    """``U, S, Vh`` with ``a = U * S @ Vh``; ``S`` alone without ``compute_uv``.

    Args:
      a: the matrices.
      full_matrices: whether ``U`` and ``Vh`` are square.
      compute_uv: whether they are computed.
      hermitian: whether ``a`` is known to be Hermitian, which is faster.
      subset_by_index: first singular value and the one after the last, in descending order.
    """
    made = _linalg._svd(a, full_matrices, compute_uv, hermitian, subset_by_index)
    return SVDResult(*made) if compute_uv else made


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:  # noqa: N803
    """Ascending eigenvalues of Hermitian matrices, and their eigenvectors.

    Args:
      a: the matrices.
      UPLO: "L" or "U", the triangle that is read where ``symmetrize_input`` is False.
      symmetrize_input: whether the mean of ``a`` and its adjoint is taken first.
    """
    return EighResult(*_linalg._eigh(a, UPLO, symmetrize_input))


def eig(a: Any) -> EigResult:
    """Complex eigenvalues and right eigenvectors of square matrices, in no order."""
    return EigResult(*_linalg._eig(a))


def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Sign, a number of modulus 1 or 0, and logarithm of the modulus of the determinant.

    Args:
      a: the matrices.
      method: "lu", the only one.
    """
    if method not in (None, "lu"):
        raise ValueError(f'slogdet: method must be "lu", got {method!r}')
    return SlogdetResult(*_linalg._slogdet(a))
