"""Iterative solvers, behind farcall.scipy.sparse.linalg."""

from typing import Any

def cg(a: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, m: Any) -> Any: ...
def bicgstab(a: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, m: Any) -> Any: ...
def gmres(
    a: Any,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    restart: int,
    maxiter: Any,
    m: Any,
    is_incremental: bool,
) -> Any: ...
