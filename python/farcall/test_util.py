"""Checks of derivatives against finite differences, with the names and arguments of JAX.

The functions are called several times for each element of the arguments and results, so use small
arrays. ``farcall.testing`` has more options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core, tree
from farcall._custom_rules import custom_jvp, custom_vjp
from farcall._functions import check_callable, name_of
from farcall.numpy import asarray

__all__ = ["check_grads", "check_jvp", "check_vjp"]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compares the derivatives of ``f`` with finite differences, up to ``order``.

    Args:
      f: takes and returns pytrees of floats.
      args: the arguments at which to check.
      order: the highest order of derivatives.
      modes: ``"fwd"``, ``"rev"`` or both.
      atol, rtol: the tolerance; by default it depends on the dtypes.
      eps: the step of the differences.

    Raises:
      AssertionError: for a wrong derivative; the text has the position and both values.
      ValueError: for an unknown mode, and an order below 1.
    """
    check_callable(f, "check_grads")
    _check(f, f"check_grads({name_of(f)})", args, order, modes, atol, rtol, eps)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[[Any, Any], tuple[Any, Any]],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compares ``f_jvp(primals, tangents)`` with ``f`` and its finite differences.

    Raises AssertionError if the results or the tangents differ.
    """
    ruled = custom_jvp(f)
    ruled.defjvp(f_jvp)
    _check(ruled, f"{err_msg} check_jvp({name_of(f)})", args, 1, "fwd", atol, rtol, eps)


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple[Any, Callable[[Any], Any]]],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compares ``f_vjp(*args)``, a result and a pullback, with ``f`` and its finite differences.

    Raises AssertionError if the results or the cotangents differ.
    """

    def backward(residuals: Any, cotangents: Any) -> Any:
        return f_vjp(*residuals)[1](cotangents)

    ruled = custom_vjp(f)
    ruled.defvjp(lambda *primals: (f_vjp(*primals)[0], primals), backward)
    _check(ruled, f"{err_msg} check_vjp({name_of(f)})", args, 1, "rev", atol, rtol, eps)


def _check(
    f: Callable[..., Any],
    where: str,
    args: Sequence[Any],
    order: int,
    modes: str | Sequence[str],
    atol: float | None,
    rtol: float | None,
    eps: float | None,
) -> None:
    arrays = tree.map(asarray, tuple(args))
    _core.testing.check_derivatives(f, where.lstrip(), arrays, {}, order, modes, atol, rtol, eps)
