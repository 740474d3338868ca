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
    """Makes a handler that runs ``fun``: a capsule for ``register_ffi_target`` of JAX and farcall.

    The handler reads operands and writes results in the caller's memory. It may be called from any
    thread, and takes the interpreter lock only if the program calls Python. It lives until the
    process ends. A process can have 1,024 such handlers; exporting the same program again returns
    the same handler.

    Args:
      fun: a function, jitted or not; or a program: a Program or the result of ``lower``,
        ``compile`` or ``export``. The operands and results of the handler are the leaves of its
        arguments and of its result, in order.
      args, kwargs: for a function, example arguments that give the types of the operands: arrays or
        ShapeDtypeStructs. The handler then accepts these types and batches of them: for additional
        leading dimensions, as JAX's vmap methods ``broadcast_all`` and ``expand_dims`` pass them,
        it runs a batched program. Without example arguments, every operand is an argument, and the
        function is recorded and compiled at the first call with new types.
      name: the name in error messages; by default the function's own.
      static_argnames: arguments that the caller passes as attributes of the call; each combination
        of values has its own program. The function gets bool, int, float and str as such, arrays as
        tuples, and other numbers as numpy scalars. An omitted attribute has the argument's default.
        The default is the ``static_argnames`` of a jitted function.

    Raises:
      TypeError: for a ``fun`` that cannot be exported, and for arguments or static_argnames beside
        a program.
      ValueError: for arguments or results that are random keys, and for static_argnames that the
        function does not have.
      FfiError: if the process already has 1,024 exported handlers.
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
    """Describes a function that is exported.

    Returns:
      Its name; its program, or None; without a program, a function that records it for operand
      types, result types and attributes; the names of the attributes.
    """
    program = fun if isinstance(fun, _core.Program) else None
    if isinstance(fun, (_core.Lowered, _core.Compiled, Exported)):
        program = fun.program
    if program is not None:
        if args or kwargs or static_argnames:
            raise TypeError(
                f"{where}: a program has its types already; call without example arguments and "
                "static_argnames"
            )
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
    """Converts an attribute to the value that a Python caller would pass."""
    if isinstance(value, numpy.ndarray):
        return tuple(value.tolist())
    is_plain = isinstance(value, numpy.generic) and value.dtype.name in ("bool", "int64", "float64")
    return value.item() if is_plain else value
