"""Checks of rules: derivatives against finite differences, batches against single calls.

``check_handler`` checks handlers, like the command ``farcall check``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core, tree
from farcall._check_handler import check_handler
from farcall._functions import name_of
from farcall.numpy import asarray

__all__ = [
    "check_batching",
    "check_derivatives",
    "check_handler",
]


def check_derivatives(
    f: Callable[..., Any] | str,
    args: Sequence[Any],
    *,
    order: int = 1,
    modes: str | Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    **attributes: Any,
) -> None:
    """Compares the derivatives of ``f`` with central differences, element by element.

    ``f`` is called several times for each element of the arguments and results, so use small
    arrays. Differences are computed in float64, but ``f`` computes in the dtypes of its arguments:
    pass float64 arrays if it accepts them. A complex number counts as a pair of real numbers.

    Args:
      f: a function, a definition, or the name of a target with a shape rule.
      args: its arguments, pytrees. Ints and bools are not differentiated.
      order: the number of orders to check; each higher order is checked along one direction.
      modes: ``"fwd"``, ``"rev"`` or both.
      atol, rtol: the tolerance; the default depends on the narrowest float dtype among arguments
        and results.
      eps: the step, relative for numbers greater than 1; the default depends on that dtype.
      attributes: keyword arguments of ``f``.

    Raises:
      AssertionError: for the element with the largest error, and if a rule changes the results. The
        text names the kind of finding, ``derivative``.
      ValueError: for an unknown mode, an order below 1, and if no argument can be differentiated.
    """
    function, name = _named(f)
    _core.testing.check_derivatives(
        function,
        f"check_derivatives({name})",
        _arrays("check_derivatives", args),
        attributes,
        order,
        modes,
        atol,
        rtol,
        eps,
    )


def check_batching(
    f: Callable[..., Any] | str,
    args: Sequence[Any],
    *,
    in_axes: Sequence[int | None] | None = None,
    sizes: tuple[int, int] = (3, 2),
    atol: float | None = None,
    rtol: float | None = None,
    **attributes: Any,
) -> None:
    """Compares ``vmap`` of ``f``, and nested ``vmap``, with one call for each element.

    Args:
      f: a function, a definition, or the name of a target with a shape rule.
      args: its arguments for one element, pytrees. Batches are built from them: floats and complex
        numbers times factors between 1/2 and 1, other values unchanged.
      in_axes: the batch dimension of each argument, or None. By default every combination of None,
        the first and the last dimension is checked, for one vmap and for two nested ones.
      sizes: the batch sizes, outer and inner for nested vmaps. Batches of one element are
        checked too.
      atol, rtol: the tolerance; the default allows for a different order of additions.
      attributes: keyword arguments of ``f``.

    Raises:
      AssertionError: if an element differs (the text has the in_axes and the element), if the
        structure, shape or dtype of a result differs, and for an error that occurs only under vmap.
        The text names the kind of finding, ``vmap``.
      ValueError: if the number of in_axes is not the number of arguments, or all are None.
    """
    function, name = _named(f)
    _core.testing.check_batching(
        function,
        f"check_batching({name})",
        _arrays("check_batching", args),
        attributes,
        in_axes,
        sizes,
        atol,
        rtol,
    )


def _named(f: Callable[..., Any] | str) -> tuple[Callable[..., Any], str]:
    """The function, and its name in reports."""
    if isinstance(f, str):
        target = f
        return lambda *args, **attributes: _core.ffi.call_defined(target, *args, **attributes), f
    return f, getattr(f, "target_name", None) or name_of(f)


def _arrays(where: str, args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, with arrays as leaves."""
    if not isinstance(args, Sequence) or isinstance(args, str):
        raise TypeError(
            f"{where}: args must be a tuple of the function's arguments, (x,) for a single one, "
            f"got {type(args).__name__}"
        )
    return tree.map(asarray, tuple(args))
