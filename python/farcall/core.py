"""Programs and traced arrays, under the names of ``jax.core``."""

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
    """For isinstance: traced arrays, which stand for values of a function and have no values."""

    def __init__(self) -> None:
        raise TypeError("Tracer: traced arrays are made by transformations alone")


def is_concrete(x: Any) -> bool:
    """Whether ``x`` is a concrete array, or a value that can become one."""
    return not isinstance(x, Tracer)


def eval_jaxpr(jaxpr: _core.Program, consts: Any, *args: Any) -> list[Array]:
    """Runs a program and returns its results as a list.

    Args:
      jaxpr: the result of make_jaxpr, or its ``jaxpr``.
      consts: the constants of the program, ``jaxpr.consts``.
      *args: one array for each input.

    Raises:
      TypeError: if ``jaxpr`` is not a program.
      NotImplementedError: if ``consts`` are not the constants of the program.
      ValueError: for a wrong number or types of arguments.
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
