"""Functions of farcall as handlers that other runtimes register."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._functions import check_callable, name_of
from farcall._jit import jit
from farcall._program import Exported

_exchange = _core.exchange


def export_handler(fun: Any, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
    """A capsule of a handler that runs ``fun``, for ``register_ffi_target`` of JAX and of farcall.

    The handler reads the operands and writes the results where the caller has them. It may be
    called from any thread, without the interpreter lock unless the program calls Python. It stays
    for the life of the process, which has room for 1,024 of them; the same program again gives the
    same one.

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

    Raises:
      TypeError: for a ``fun`` that cannot be exported, or arguments beside a program.
      ValueError: for arguments or results that are keys of random numbers.
      FfiError: when the process has no room for another handler.
    """
    name, program, record = recorder_of("export_handler", fun, args, kwargs, name)
    if program is not None:
        return _exchange.export_program(name, program)
    return _exchange.export_recorded(name, record)


def recorder_of(
    where: str, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None
) -> tuple[str, _core.Program | None, Any]:
    """The name of a function, and its program or what records it for the types of operands."""
    program = fun if isinstance(fun, _core.Program) else None
    if isinstance(fun, (_core.Lowered, _core.Compiled, Exported)):
        program = fun.program
    if program is not None:
        if args or kwargs:
            raise TypeError(f"{where}: a program knows its types; give it without arguments")
        return name or "a program", program, None
    check_callable(fun, where)
    function: Any = fun
    name = name or name_of(function)
    jitted: Any = function if isinstance(function, _core.JitFunction) else jit(function)
    if args or kwargs:
        return name, jitted.lower(*args, **kwargs).program, None
    return name, None, lambda types, _: jitted.lower(*types).program
