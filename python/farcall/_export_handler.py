"""Functions of farcall as handlers that other runtimes register."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._functions import check_callable, name_of
from farcall._jit import jit
from farcall._program import Exported

_exchange = _core.exchange


def export_handler(fun: Any, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
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

    Raises:
      TypeError: for a ``fun`` that cannot be exported, and for arguments beside a program.
      ValueError: for arguments or results that are random keys.
      FfiError: if the process already has 1,024 exported handlers.
    """
    name, program, record = recorder_of("export_handler", fun, args, kwargs, name)
    if program is not None:
        return _exchange.export_program(name, program)
    return _exchange.export_recorded(name, record)


def recorder_of(
    where: str, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None
) -> tuple[str, _core.Program | None, Any]:
    """The name of a function, and its program or a function that records it for operand types."""
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
