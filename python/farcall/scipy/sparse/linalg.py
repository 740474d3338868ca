"""Iterative solvers of linear systems, with scipy's names and JAX's semantics.

``A`` is a square matrix, an object with the operator ``@``, or a linear function of pytrees like
``b``. The derivatives with respect to ``b`` and to what ``A`` closes over are those of the exact
solution; each solves another system with the same method.
"""

from __future__ import annotations

from typing import Any

import farcall.numpy as _numpy
from farcall import tree as _tree
from farcall._core import sparse as _sparse

__all__ = ["bicgstab", "cg", "gmres"]


def cg(
    A: Any,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,  # noqa: N803
) -> tuple[Any, None]:
    """Solves ``A @ x = b`` for a Hermitian positive definite ``A`` by conjugate gradients.

    Args:
      A: a matrix, or a function that returns ``A @ x``.
      b: an array, or a pytree of arrays, of one floating-point or complex dtype.
      x0: the start, like ``b``; zeros by default.
      tol, atol: iterations end when ``norm(b - A @ x) <= max(tol * norm(b), atol)``.
      maxiter: the maximum number of iterations; 10 for each element of ``b`` by default.
      M: a preconditioner, which approximates the inverse of ``A``, given like ``A``.

    Returns:
      The solution, like ``b``, and None.

    Raises:
      TypeError: if ``A`` or ``M`` is neither a function nor a matrix or returns another structure;
        for integers and several dtypes in ``b``.
      ValueError: for matrices that are not square; if ``x0`` or what a function returns does not
        have the structure, shapes and dtypes of ``b``.
    """
    return _sparse.cg(A, b, x0, tol, atol, maxiter, M), None


def bicgstab(
    A: Any,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,  # noqa: N803
) -> tuple[Any, None]:
    """Solves ``A @ x = b`` for any square ``A`` by stabilized biconjugate gradients.

    The arguments, results and errors are those of ``cg``.
    """
    return _sparse.bicgstab(A, b, x0, tol, atol, maxiter, M), None


def gmres(
    A: Any,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: Any = None,
    M: Any = None,  # noqa: N803
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """Solves ``A @ x = b`` for any square ``A`` by generalized minimal residuals.

    Args:
      A: as for ``cg``.
      b: as for ``cg``.
      x0: as for ``cg``.
      tol, atol: as for ``cg``, but for the norm of the preconditioned residual.
      restart: the number of products with ``A`` in an iteration, and of vectors that are kept.
      maxiter: the maximum number of iterations (restarts).
      M: as for ``cg``.
      solve_method: "batched" solves one least-squares problem at the end of each iteration;
        "incremental" ends an iteration as soon as it has converged.

    Returns:
      The solution, like ``b``; 0, or -1 if the solution is NaN.

    Raises:
      TypeError: as for ``cg``.
      ValueError: as for ``cg``; for other values of ``solve_method`` and ``restart``.
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"gmres: solve_method must be 'batched' or 'incremental', got {solve_method!r}"
        )
    x = _sparse.gmres(A, b, x0, tol, atol, restart, maxiter, M, solve_method == "incremental")
    has_nan = _tree.reduce(lambda found, part: found | _numpy.isnan(part).any(), x, False)
    return x, _numpy.where(has_nan, -1, 0)
