"""Roots of functions and linear systems, differentiated by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall._core import control_flow as _control_flow

__all__ = ["custom_linear_solve", "custom_root"]


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """The root that ``solve`` finds, differentiable in the values that ``f`` closes over.

    The derivative is that of the root as a function of these values. The three functions are
    traced. ``solve`` is not differentiated, so it may use any loop. What the solvers close over
    counts as constant.

    Args:
      f: takes a pytree of arrays and returns one of the same structure, which is zero at the root.
      initial_guess: the start value for ``solve``.
      solve: ``solve(f, initial_guess)`` returns the root, or a pair of the root and auxiliary
        results. The root has the types of the initial guess.
      tangent_solve: ``tangent_solve(g, y)`` returns x with g(x) = y for a linear ``g``. It must be
        linear in ``y``, and reverse mode must be able to transpose it.
      has_aux: whether ``solve`` returns a pair.

    Raises:
      TypeError: if a function is not callable, if ``f`` does not return the structure of its
        argument, and if the root has other types than the initial guess.
    """
    return _control_flow.custom_root(f, initial_guess, solve, tangent_solve, bool(has_aux))


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solves matvec(x) = b with ``solve``, with derivatives by implicit differentiation.

    Derivatives are with respect to ``b`` and the values that ``matvec`` closes over; each solves
    another system with the same matrix. ``solve`` is never differentiated, so it may be a while
    loop or a foreign call. The solution is not checked.

    Args:
      matvec: a linear function; takes and returns a pytree of arrays like ``b``. Derivatives are
        with respect to the values that it closes over.
      b: a pytree of arrays.
      solve: ``solve(matvec, b)`` returns x, with the structure, shapes and dtypes of ``b``.
      transpose_solve: ``transpose_solve(vecmat, b)``, which solves with the transpose of
        ``matvec``. Reverse mode needs it, or ``symmetric``.
      symmetric: whether ``matvec`` is its own transpose; ``solve`` then also solves the transposed
        system, unless ``transpose_solve`` is given.
      has_aux: whether the solvers return pairs (x, aux); aux, a pytree of arrays, has no
        derivative.

    Returns:
      x, or the pair with ``has_aux``.

    Raises:
      TypeError: if a function is not callable or does not return the structure of ``b``; for
        integers in ``b`` if ``matvec`` must be transposed; in reverse mode without
        ``transpose_solve`` or ``symmetric``.
      ValueError: if a function does not return the shapes and dtypes of ``b``.
    """
    return _control_flow.custom_linear_solve(
        matvec, b, solve, transpose_solve, bool(symmetric), bool(has_aux)
    )
