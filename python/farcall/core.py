"""Programs and traced arrays, by the names that programs written for JAX use."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import _core
from farcall._array import Array
from farcall._compile_time import ensure_compile_time_eval as ensure_compile_time_eval
from farcall._types import ShapedArray as ShapedArray
from farcall._types import typeof as get_aval

__all__ = [
    "AbstractValue",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "ShapedArray",
    "Tracer",
    "Var",
    "ensure_compile_time_eval",
    "eval_jaxpr",
    "get_aval",
    "is_concrete",
]

AbstractValue = _core.ShapeDtypeStruct
ClosedJaxpr = Jaxpr = _core.Program
JaxprEqn, Literal, Var = _core.Equation, _core.Literal, _core.Var


class _IsTraced(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Array) and instance.is_traced


class Tracer(metaclass=_IsTraced):
    """For isinstance: the arrays whose values are not there, but stand for those of a function."""

    def __init__(self) -> None:
        raise TypeError("Tracer: traced arrays are made by transformations alone")


def is_concrete(x: Any) -> bool:
    """Whether ``x`` has a value, or is what can become an array."""
    return not isinstance(x, Tracer)


def eval_jaxpr(jaxpr: _core.Program, consts: Any, *args: Any) -> list[Array]:
    """The results of a program, as a list.

    Args:
      jaxpr: what make_jaxpr gave, or its ``jaxpr``.
      consts: the program's own constants, ``jaxpr.consts``.
      *args: arrays, one for each input.

    Raises:
      TypeError: for something else than a program.
      NotImplementedError: for other constants than its own, which a program holds.
      ValueError: for another number of arguments, or other types.
    """
    if not isinstance(jaxpr, _core.Program):
        raise TypeError(f"eval_jaxpr: expected a program, got {jaxpr!r}")
    own = jaxpr.consts
    given = list(consts)
    if given and (
        len(given) != len(own)
        or not all(np.array_equal(a, b) for a, b in zip(given, own, strict=True))
    ):
        raise NotImplementedError(
            "eval_jaxpr: consts must be the program's own: programs hold their constants"
        )
    return jaxpr(*args)
