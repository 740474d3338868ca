"""Calls of every public function with arguments that do not fit."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import farcall as fc
import numpy as np

from hostile.functions import Function, public_functions
from hostile.values import TRACED, choose, make


class Call(NamedTuple):
    function: Function
    args: tuple[str, ...]
    kwargs: dict[str, str]
    inside: str  # the transformation around it, or ""
    then: tuple[str, ...]  # arguments of what it returns, if that can be called

    def __str__(self) -> str:
        given = [*self.args, *(f"{name}={value}" for name, value in self.kwargs.items())]
        text = f"{self.function.name}({', '.join(given)})"
        if self.then:
            text += f"; what it returns called with ({', '.join(self.then)})"
        return f"{text} inside {self.inside}" if self.inside else text


_INSIDE: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "jit": lambda f: fc.jit(f)(np.ones((2, 3), np.float32)),
    "vmap": lambda f: fc.vmap(f)(np.ones((2, 3), np.float32)),
    "grad": lambda f: fc.jvp(f, (np.ones(3, np.float32),), (np.ones(3, np.float32),)),
}


_functions = functools.cache(public_functions)


def plan(seed: int, index: int) -> Call:
    """The call of this number."""
    functions = _functions()
    rng = random.Random(f"{seed} {index}")
    function = rng.choice(functions)
    hostility = rng.choice((0.2, 0.5, 0.9))
    args: list[str] = []
    kwargs: dict[str, str] = {}
    for parameter in function.parameters:
        if not parameter.is_required and rng.random() < 0.6:
            continue
        value = choose(rng, parameter.name, hostility)
        if parameter.can_be_positional and len(args) == function.parameters.index(parameter):
            args.append(value)
        else:
            kwargs[parameter.name] = value
    if function.takes_more or rng.random() < 0.02:
        args += (choose(rng, "", hostility) for _ in range(rng.randrange(3)))
    if rng.random() < 0.02:
        kwargs["unknown"] = choose(rng, "", hostility)
    inside = rng.choice(list(_INSIDE)) if rng.random() < 0.25 or TRACED in args else ""
    then = tuple(choose(rng, "", hostility) for _ in range(rng.randrange(4)))
    return Call(function, tuple(args), kwargs, inside, then)


def _make_call(call: Call, tracer: Any) -> None:
    def value(name: str) -> Any:
        return tracer if name == TRACED else make(name)

    result = call.function.call(
        *map(value, call.args), **{name: value(v) for name, v in call.kwargs.items()}
    )
    if callable(result) and not isinstance(result, type) and call.then:
        result = result(*map(value, call.then))
    repr(result)


def run(call: Call) -> None:
    """Makes the call."""
    # The print options are numpy's, which takes anything for them.
    with warnings.catch_warnings(), np.errstate(all="ignore"), np.printoptions():
        warnings.simplefilter("ignore")
        if call.inside:
            _INSIDE[call.inside](lambda x: (_make_call(call, x), x)[1])
        else:
            _make_call(call, np.ones(2, np.float32))
