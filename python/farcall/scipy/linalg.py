"""Linear algebra with scipy's names and semantics.

``overwrite_*`` and ``check_finite`` are accepted and ignored: arrays are immutable, and non-finite
values give NaN.
"""

from __future__ import annotations

from farcall._core.scipy_linalg import (
    cho_factor,
    cho_solve,
    cholesky,
    circulant,
    companion,
    det,
    dft,
    eigh,
    expm,
    expm_frechet,
    fiedler,
    hadamard,
    hankel,
    hilbert,
    inv,
    lu,
    lu_factor,
    lu_solve,
    pascal,
    polar,
    qr,
    schur,
    solve,
    solve_sylvester,
    solve_triangular,
    sqrtm,
    svd,
    toeplitz,
)
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
    "fiedler",
    "hadamard",
    "hankel",
    "hilbert",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]
