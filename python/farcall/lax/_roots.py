"""Roots of functions and linear systems, differentiated by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall import _core, tree
from farcall._closures import closure_convert
from farcall._core import control_flow as _control_flow
from farcall._custom_rules import custom_jvp
from farcall._derivatives import jvp, linearize
from farcall._functions import check_callable

__all__ = ["custom_linear_solve", "custom_root"]


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """The root that ``solve`` finds, with a derivative by what ``f`` closes over.

    The derivative is that of the root as a function of these values. ``solve`` is any function: it
    is not differentiated.

    Args:
      f: takes a pytree of arrays, returns one of the same structure, which the root makes zero.
      initial_guess: where ``solve`` begins.
      solve: ``solve(f, initial_guess)`` returns the root, or a pair of it and other results. It may
        use ``f``, and close over known values alone.
      tangent_solve: ``tangent_solve(g, y)`` returns x with g(x) = y for a linear ``g``; linear in
        ``y`` itself, made of operations that reverse mode can transpose.
      has_aux: whether ``solve`` returns a pair.

    Raises:
      TypeError: for what is no function, and when ``f`` returns another structure than it takes.
    """
    for name, function in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        check_callable(function, f"custom_root: {name}")
    guess = tree.map(_core.as_array, initial_guess)
    converted, consts = closure_convert(f, guess)

    @custom_jvp
    def root(guess: Any, *consts: Any) -> Any:
        return solve(lambda x: converted(x, *consts), guess)

    @root.defjvp
    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        guess, *consts = primals
        _, *moves = tangents
        result = root(guess, *consts)
        x, aux = result if has_aux else (result, None)
        residual, linear = linearize(lambda y: converted(y, *consts), x)
        if tree.structure(residual) != tree.structure(x):
            raise TypeError(
                f"custom_root: f must return the structure that it takes, {tree.structure(x)}, got "
                f"{tree.structure(residual)}"
            )
        _, pushed = jvp(lambda *values: converted(x, *values), tuple(consts), tuple(moves))
        moved = tree.map(lambda leaf: -leaf, tangent_solve(linear, pushed))
        if not has_aux:
            return result, moved
        return result, (moved, tree.map(_core.transforms.zero_from_primal, aux))

    return root(guess, *consts)


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """x with matvec(x) = b, as ``solve`` finds it, differentiated as the solution of the equation.

    The derivative is that by ``b`` and by what ``matvec`` closes over; it solves one more system
    with the same matrix. ``solve`` is never differentiated, so that it may be a while loop or a
    foreign call. That x solves the equation is not checked.

    Args:
      matvec: linear; takes and returns a pytree of arrays like ``b``. Derivatives are by what it
        closes over.
      b: a pytree of arrays.
      solve: ``solve(matvec, b)`` returns x, of the structure, shapes and dtypes of ``b``.
      transpose_solve: ``transpose_solve(vecmat, b)``, which solves with the transpose of
        ``matvec``. Reverse mode needs it, or ``symmetric``.
      symmetric: whether ``matvec`` is its own transpose; ``solve`` then solves for both unless
        ``transpose_solve`` is given.
      has_aux: whether the solvers return pairs (x, aux); aux, a pytree of arrays, has no
        derivative.

    Returns:
      x, or with ``has_aux`` the pair.

    Raises:
      TypeError: for what is no function; when a function returns another structure than ``b`` has;
        for integers in ``b`` where ``matvec`` is to be transposed; in reverse mode without
        ``transpose_solve`` or ``symmetric``.
      ValueError: when a function returns other shapes or dtypes than those of ``b``.
    """
    return _control_flow.custom_linear_solve(
        matvec, b, solve, transpose_solve, bool(symmetric), bool(has_aux)
    )
