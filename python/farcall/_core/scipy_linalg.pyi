"""farcall.scipy.linalg. Untyped parameters are ignored."""
# ruff: noqa: N803

from typing import Any

from farcall._core import Array

def toeplitz(c: Any, r: Any = None) -> Array: ...
def hankel(c: Any, r: Any = None) -> Array: ...
def circulant(c: Any) -> Array: ...
def companion(a: Any) -> Array: ...
def sqrtm(A: Any, blocksize: int = 1) -> Array: ...
def solve_sylvester(
    A: Any,
    B: Any,
    C: Any,
    *,
    method: str = "schur",
    tol: float = 1e-8,
) -> Array: ...
def fiedler(a: Any) -> Array: ...
def pascal(n: int, kind: str | None = None) -> Array: ...
def hilbert(n: int) -> Array: ...
def hadamard(n: int, dtype: Any = "int32") -> Array: ...
def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Array: ...
def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "svd",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]: ...
def _block_diag(arrs: Any) -> Array: ...
def cholesky(
    a: Any, lower: bool = False, overwrite_a: Any = False, check_finite: Any = True
) -> Array: ...
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: Any = False, check_finite: Any = True
) -> tuple[Array, bool]: ...
def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: Any = False, check_finite: Any = True
) -> Array: ...
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: Any = False,
    debug: Any = None,
    check_finite: Any = True,
) -> Array: ...
def lu_factor(
    a: Any, overwrite_a: Any = False, check_finite: Any = True
) -> tuple[Array, Array]: ...
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int | str = 0,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Array: ...
def lu(
    a: Any, permute_l: bool = False, overwrite_a: Any = False, check_finite: Any = True
) -> tuple[Array, ...]: ...
def inv(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Array: ...
def det(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Array: ...
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    debug: Any = False,
    check_finite: Any = True,
    assume_a: str = "gen",
) -> Array: ...
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: Any = False,
    check_finite: Any = True,
    lapack_driver: str = "gesdd",
) -> Any: ...
def qr(
    a: Any,
    overwrite_a: Any = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: Any = True,
) -> tuple[Array, ...]: ...
def eigh(
    a: Any,
    b: None = None,
    lower: Any = True,
    eigvals_only: bool = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    turbo: Any = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: Any = True,
) -> Any: ...
def schur(a: Any, output: str = "real") -> tuple[Array, Array]: ...
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array: ...
def expm_frechet(A: Any, E: Any, *, method: Any = None, compute_expm: bool = True) -> Any: ...
def fiedler_companion(a: Any) -> Array: ...
def leslie(f: Any, s: Any) -> Array: ...
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Array: ...
def invpascal(n: int, kind: str | None = None) -> Array: ...
def invhilbert(n: int) -> Array: ...
def helmert(n: int, full: bool = False) -> Array: ...
def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: Any = False, check_finite: Any = True
) -> Any: ...
def rsf2csf(T: Any, Z: Any, check_finite: Any = True) -> tuple[Array, Array]: ...
def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[int, int] | None = None,
    tol: Any = None,
    key: Any = None,
) -> Any: ...
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: Any = False,
    overwrite_c: Any = False,
) -> tuple[Array, ...]: ...
def _funm(T: Any, Z: Any, values: Any) -> tuple[Array, Array]: ...
