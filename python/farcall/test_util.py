"""Checks of derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from farcall import _core, tree
from farcall import testing as _testing
from farcall._functions import check_callable, name_of

__all__ = ["check_grads", "check_jvp", "check_vjp"]

# For each dtype, the tolerance of derivatives and the step of the differences.
_TOLERANCES = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 2e-2, "float64": 1e-5}
_STEP = {"float64": 1e-6}
_DEFAULT_STEP = 1e-4


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
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not modes or any(mode not in ("fwd", "rev") for mode in modes):
        raise ValueError(f"check_grads: modes must be of 'fwd' and 'rev', got {modes!r}")
    if order < 1:
        raise ValueError(f"check_grads: order must be at least 1, got {order!r}")
    _testing.check_derivatives(
        f, tuple(args), order=order, modes=modes, atol=atol, rtol=rtol, eps=eps
    )


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

    Checks one direction, the same at each call. Raises AssertionError if they differ.
    """
    args = _arrays(args)
    random = np.random.default_rng(0)
    tangents = _random_like(random, args)
    results, found = f_jvp(args, tangents)
    _compare(results, f(*args), atol, rtol, f"{err_msg} JVP: the results".lstrip())
    wanted = _differences(f, args, tangents, eps)
    _compare(found, wanted, atol, rtol, f"{err_msg} JVP: the tangents".lstrip())


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

    Checks one direction, the same at each call. Raises AssertionError if they differ.
    """
    args = _arrays(args)
    random = np.random.default_rng(0)
    results, pullback = f_vjp(*args)
    _compare(results, f(*args), atol, rtol, f"{err_msg} VJP of {name_of(f)}: the results".lstrip())
    tangents = _random_like(random, args)
    cotangents = _random_like(random, results)
    wanted = _inner(cotangents, _differences(f, args, tangents, eps))
    found = _inner(pullback(cotangents), tangents)
    _compare(found, wanted, atol, rtol, f"{err_msg} VJP: cotangents times tangents".lstrip())


def _arrays(args: Sequence[Any]) -> tuple[Any, ...]:
    return tree.map(_core.as_array, tuple(args))


def _random_like(random: np.random.Generator, value: Any) -> Any:
    def one(leaf: Any) -> np.ndarray:
        made = random.normal(size=leaf.shape)
        if leaf.dtype.kind == "c":
            made = made + 1j * random.normal(size=leaf.shape)
        return np.asarray(made).astype(leaf.dtype)

    return tree.map(one, value)


def _wide(leaf: Any) -> np.ndarray:
    array = np.asarray(leaf)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _differences(f: Callable[..., Any], args: Any, tangents: Any, eps: float | None) -> Any:
    """(f(args + h tangents) - f(args - h tangents)) / 2 h."""
    names = [str(leaf.dtype) for leaf in tree.leaves(args)]
    step = max((_STEP.get(n, _DEFAULT_STEP) for n in names), default=1e-6) if eps is None else eps

    def moved(sign: float) -> Any:
        return tree.map(
            lambda x, t: np.asarray(_wide(x) + sign * step * _wide(t)).astype(x.dtype),
            args,
            tangents,
        )

    ahead, behind = f(*moved(0.5)), f(*moved(-0.5))
    return tree.map(lambda a, b: ((_wide(a) - _wide(b)) / step).astype(a.dtype), ahead, behind)


def _inner(x: Any, y: Any) -> np.ndarray:
    products = tree.map(lambda a, b: np.vdot(_wide(a).conj(), _wide(b)), x, y)
    return np.asarray(sum(np.real(each) for each in tree.leaves(products)))


def _compare(got: Any, wanted: Any, atol: Any, rtol: Any, what: str) -> None:
    found, structure = tree.flatten(got)
    leaves, like = tree.flatten(wanted)
    if structure != like:
        raise AssertionError(f"{what} have structure {structure}, expected {like}")
    for a, b in zip(found, leaves, strict=True):
        tolerance = _TOLERANCES.get(str(b.dtype), 1e-2)
        np.testing.assert_allclose(
            _wide(a),
            _wide(b),
            atol=tolerance if atol is None else atol,
            rtol=tolerance if rtol is None else rtol,
            err_msg=f"{what} differ from what differences give",
        )
