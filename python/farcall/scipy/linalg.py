"""Linear algebra with scipy's names and semantics.

``overwrite_*`` and ``check_finite`` are accepted and ignored: arrays are immutable, and non-finite
values give NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall._core import Array
from farcall._core.scipy_linalg import (
    _funm,
    cho_factor,
    cho_solve,
    cholesky,
    circulant,
    companion,
    convolution_matrix,
    det,
    dft,
    eigh,
    eigh_tridiagonal,
    expm,
    expm_frechet,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hessenberg,
    hilbert,
    inv,
    invhilbert,
    invpascal,
    leslie,
    lu,
    lu_factor,
    lu_solve,
    pascal,
    polar,
    qr,
    qr_multiply,
    rsf2csf,
    schur,
    solve,
    solve_sylvester,
    solve_triangular,
    sqrtm,
    svd,
    toeplitz,
)
from farcall.numpy.linalg import diagonal
from farcall.scipy._matrices import block_diag as block_diag

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]


def funm(A: Any, func: Callable[[Array], Array], disp: bool = True) -> Any:  # noqa: N803
    """The function of a matrix, complex, by its Schur form; it has no derivative.

    Args:
      A: a square matrix.
      func: the function of scalars; it is called with the vector of the eigenvalues.
      disp: whether to return only the matrix.

    Returns:
      The matrix; without ``disp`` a tuple of it and an estimate of the relative error, which grows
      where eigenvalues nearly coincide.

    Raises:
      ValueError: unless ``A`` is one square matrix.
    """
    if len(getattr(A, "shape", ())) != 2:
        raise ValueError(f"funm: A must be one square matrix, got {A!r}")
    form, vectors = rsf2csf(*schur(A))
    value, error = _funm(form, vectors, func(diagonal(form)))
    return value if disp else (value, error)
