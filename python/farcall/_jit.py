"""jit, and programs of functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)


def _static_arguments(
    function: Callable[..., Any], numbers: Any, names: Any
) -> tuple[list[int], list[str]]:
    """Static arguments by position and by name, each filled in from the other."""
    all_numbers = [int(n) for n in _as_tuple(numbers)]
    all_names = [str(n) for n in _as_tuple(names)]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    by_position = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    takes_any = any(p.kind == p.VAR_POSITIONAL for p in parameters) or not parameters
    for i, number in enumerate(all_numbers):
        if number < 0:
            number += len(by_position)
            all_numbers[i] = number
        if number < 0 or (number >= len(by_position) and not takes_any):
            raise ValueError(
                f"jit({_name_of(function)}): static_argnums has {number}, but the function takes "
                f"{len(by_position)} positional arguments: {', '.join(by_position)}"
            )
    known = {p.name for p in parameters}
    takes_names = any(p.kind == p.VAR_KEYWORD for p in parameters) or not parameters
    for name in all_names:
        if name not in known and not takes_names:
            raise ValueError(
                f"jit({_name_of(function)}): static_argnames has {name!r}, but the function's "
                f"arguments are {', '.join(by_position)}"
            )
    all_names += [by_position[n] for n in all_numbers if n < len(by_position)]
    all_numbers += [by_position.index(n) for n in all_names if n in by_position]
    return sorted(set(all_numbers)), sorted(set(all_names))


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    inline: bool = False,
) -> Any:
    """A compiled version of ``fun``.

    The first call with arguments of some types records the function as a program and compiles it;
    later calls with the same types, structure and static arguments run that program.

    Args:
      fun: takes and returns arrays, numbers, and containers of these (pytrees). Left out: returns a
        decorator.
      static_argnums, static_argnames: arguments that are constants of the program; hashable.
      donate_argnums, donate_argnames: arguments whose memory the call may use for its results. It
        is permission, not command: this version keeps them.
      keep_unused, inline: for programs written for JAX; without effect on results.

    Raises:
      ValueError: a static argument that the function does not have, or one that is not hashable.
      TypeError: at a call, an argument or a result that is no array.
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            inline=inline,
        )
    if not callable(fun):
        raise TypeError(f"jit: expected a function, got {fun!r} of type {type(fun).__name__}")
    numbers, names = _static_arguments(fun, static_argnums, static_argnames)
    jitted = _core.make_jit(fun, _name_of(fun), numbers, names)
    functools.update_wrapper(jitted, fun)
    return jitted


def _lower(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The program for arguments of these types; ShapeDtypeStructs will do."""
    return _core.jit_lower(self, *args, **kwargs)


def _clear_cache(self: Any) -> None:
    """Forgets the compiled programs."""
    _core.jit_clear_cache(self)


def _cache_size(self: Any) -> int:
    return _core.jit_cache_size(self)


for _method in (_lower, _clear_cache, _cache_size):
    _name = "_cache_size" if _method is _cache_size else _method.__name__[1:]
    setattr(_core.JitFunction, _name, _method)


def make_jaxpr(
    fun: Callable[..., Any], static_argnums: int | Sequence[int] = (), return_shape: bool = False
) -> Callable[..., Any]:
    """A function that returns the program of ``fun`` for its arguments' types.

    Args:
      fun: as for jit.
      static_argnums: arguments that are constants.
      return_shape: also return the results' ShapeDtypeStructs, in ``fun``'s structure.
    """
    fun = getattr(fun, "__wrapped__", fun) if isinstance(fun, _core.JitFunction) else fun
    numbers, _ = _static_arguments(fun, static_argnums, None)

    def make(*args: Any, **kwargs: Any) -> Any:
        program, tree = _core.trace(fun, _name_of(fun), numbers, *args, **kwargs)
        return (program, tree.unflatten(program.out_avals)) if return_shape else program

    make.__name__ = f"make_jaxpr({_name_of(fun)})"
    return make


make_program = make_jaxpr


def _rebuild_program(text: str) -> _core.Program:
    """The program that was pickled as ``text``."""
    return _core.parse_program(text)


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of ``fun(*args, **kwargs)``, without computing it."""
    program, tree = _core.trace(fun, _name_of(fun), [], *args, **kwargs)
    return tree.unflatten(program.out_avals)


def clear_caches() -> None:
    """Forgets the programs of eager operations and foreign calls, and their handlers' states.

    Jitted functions keep theirs; each has ``clear_cache()``.
    """
    _core.ffi.clear_caches()
