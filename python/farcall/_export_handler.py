"""Functions of farcall as handlers that other runtimes register."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy

from farcall import _core
from farcall._functions import check_callable, name_of
from farcall._jit import jit
from farcall._program import Exported

_exchange = _core.exchange


def export_handler(
    fun: Any,
    *args: Any,
    name: str | None = None,
    static_argnames: str | Sequence[str] = (),
    **kwargs: Any,
) -> Any:
    """A capsule of a handler that runs ``fun``, for ``register_ffi_target`` of JAX and of farcall.

    The handler reads operands and writes results in the caller's memory. It may be called from any
    thread, and takes the interpreter lock only if the program calls Python. It lives until the
    process ends. A process can have 1,024 such handlers; exporting the same program again returns
    the same handler.

    Args:
      fun: a function or what jit made of it; or a program: a Program, what ``lower``, ``compile``
        and ``export`` give. Operands and results of the handler are the leaves of its arguments and
        of its result, in order.
      args, kwargs: for a function, arguments that tell the types of the operands (arrays, or
        ShapeDtypeStruct). The handler is then for these types, and for batches of them: with more
        dimensions in front, as JAX's vmap methods ``broadcast_all`` and ``expand_dims`` pass them,
        it runs a batched program. Without arguments the function is recorded and compiled for
        the types of each call, when the first such call comes; every operand is then an argument.
      name: stands in the messages of errors; by default the function's own.
      static_argnames: arguments that the caller passes as attributes of the call, which choose the
        program: bool, int, float and str as such, arrays as tuples, other numbers as numpy's
        scalars. One that a call leaves out has its default. Those of a function that jit made
        are attributes too, unless they are given here.

    Raises:
      TypeError: for a ``fun`` that cannot be exported, or arguments beside a program.
      ValueError: for arguments or results that are keys of random numbers, and static_argnames that
        the function does not have.
      FfiError: when the process has no room for another handler.
    """
    name, program, record, attributes = recorder_of(
        "export_handler", fun, args, kwargs, name, static_argnames
    )
    if program is not None:
        return _exchange.export_program(name, program)
    return _exchange.export_recorded(name, record, attributes)


def recorder_of(
    where: str,
    fun: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str | None,
    static_argnames: str | Sequence[str] = (),
) -> tuple[str, _core.Program | None, Any, list[str]]:
    """What is known of a function that is exported.

    Returns:
      Its name; its program, or what records it for the types of operands and results, and
      attributes; the names of the attributes.
    """
    program = fun if isinstance(fun, _core.Program) else None
    if isinstance(fun, (_core.Lowered, _core.Compiled, Exported)):
        program = fun.program
    if program is not None:
        if args or kwargs or static_argnames:
            raise TypeError(f"{where}: a program knows its types; give it without arguments")
        return name or "a program", program, None, []
    check_callable(fun, where)
    function: Any = fun
    name = name or name_of(function)
    is_jitted = isinstance(function, _core.JitFunction) and not static_argnames
    jitted: Any = function if is_jitted else jit(function, static_argnames=static_argnames)
    given = inspect.signature(function).bind_partial(*args, **kwargs).arguments if args else kwargs
    attributes = [n for n in jitted._options["static_argnames"] if n not in given]
    if (args or kwargs) and not attributes:
        return name, jitted.lower(*args, **kwargs).program, None, []

    def record(types: list[Any], _: list[Any], values: dict[str, Any]) -> _core.Program:
        statics = {name: _static(value) for name, value in values.items()}
        return jitted.lower(*(args or types), **kwargs, **statics).program

    return name, None, record, attributes


def _static(value: Any) -> Any:
    """An attribute as a function would be called with it from Python."""
    if isinstance(value, numpy.ndarray):
        return tuple(value.tolist())
    is_plain = isinstance(value, numpy.generic) and value.dtype.name in ("bool", "int64", "float64")
    return value.item() if is_plain else value
