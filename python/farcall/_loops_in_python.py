"""Loops and branches under ``disable_jit``: Python calls their functions step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core, tree
from farcall._config import config

Array = _core.Array

_native: Any = vars(_core)["control_flow"]


def wanted() -> bool:
    """Whether loops and branches run in Python."""
    return config.disable_jit


def _arrays(values: Any) -> Any:
    return tree.map(_core.as_array, values)


def scan(f: Callable[..., Any], init: Any, xs: Any, length: Any, reverse: bool) -> Any:
    """``lax.scan``; None for zero steps, since the types of the results are then unknown."""
    count = _native.scan_length(xs, length)
    if count == 0:
        return None
    carry, slices = _arrays(init), _arrays(xs)
    ys: list[Any] = []
    for i in range(count):
        place = count - 1 - i if reverse else i
        carry, y = f(carry, tree.map(lambda x, place=place: x[place], slices))
        ys.append(_arrays(y))
    if reverse:
        ys.reverse()
    return carry, tree.map(lambda *parts: _core.numpy.stack(list(parts), 0), *ys)


def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any) -> Any:
    """``lax.while_loop``; None if a condition has no single concrete value."""
    value = _arrays(init_val)
    try:
        while cond_fun(value):
            value = body_fun(value)
    except _core.ConcretizationTypeError:
        return None
    return value


def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any) -> Any:
    """``lax.fori_loop``; None if a bound is not concrete."""
    first, count = _native.for_bounds(lower, upper)
    if count is None:
        return None
    value = _arrays(init_val)
    for i in range(count):
        value = body_fun(first + i, value)
    return value


def branch(index: Any, branches: Sequence[Callable[..., Any]], operands: Any, clamp: bool) -> Any:
    """``lax.cond`` and ``lax.switch``, as a tuple of the result; None for a traced index."""
    try:
        chosen = min(max(int(index), 0), len(branches) - 1) if clamp else int(bool(index))
    except _core.ConcretizationTypeError:
        return None
    return (branches[chosen](*_arrays(operands)),)
