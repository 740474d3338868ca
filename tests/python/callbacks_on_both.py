"""Running a function with callbacks on farcall and on JAX, and comparing results and calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import jax
import jax.experimental
import jax.experimental.buffer_callback
import numpy as np
from both import assert_same


class Calls(list):
    """What callbacks were called with, in order: use it as the callback, or note from within."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.append([plain(a) for a in args] + [(k, plain(kwargs[k])) for k in sorted(kwargs)])


def plain(value: Any) -> Any:
    """As Python's own numbers and lists, which compare."""
    if isinstance(value, dict):
        return {name: plain(value[name]) for name in value}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(v) for v in value)
    return value if isinstance(value, str) else np.asarray(value).tolist()


def run(make: Callable[[Any, Calls], Any], module: Any) -> tuple[Any, Calls]:
    calls = Calls()
    result = make(module, calls)
    if module is jax:
        result = jax.block_until_ready(result)
    module.effects_barrier()
    return result, calls


def same_calls(make: Callable[[Any, Calls], Any], unordered: bool = False) -> tuple[Any, Calls]:
    """Farcall's result and calls, after comparing both with JAX's."""
    result, calls = run(make, fc)
    wanted, wanted_calls = run(make, jax)
    assert_same(result, wanted)
    if unordered:
        assert sorted(map(repr, calls)) == sorted(map(repr, wanted_calls))
    else:
        assert calls == wanted_calls
    return result, calls


def noting(m: Any, calls: Calls, ordered: bool) -> Callable[[str, Any], Any]:
    """note(tag, x): an io_callback that returns x + 1."""

    def note(tag: str, x: Any) -> Any:
        def function(x: Any) -> Any:
            calls(tag, x)
            return np.asarray(x) + np.float32(1)

        result = m.ShapeDtypeStruct((), np.float32)
        return m.experimental.io_callback(function, result, x, ordered=ordered)

    return note
