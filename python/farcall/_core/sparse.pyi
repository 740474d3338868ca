"""Iterative solvers, behind farcall.scipy.sparse.linalg."""

from typing import Any

def cg(A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Any) -> Any: ...
def bicgstab(A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Any) -> Any: ...
def gmres(
    A: Any,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    restart: int,
    maxiter: Any,
    M: Any,
    is_incremental: bool,
) -> Any: ...
