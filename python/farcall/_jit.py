"""jit, and programs of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall._functions import arguments_by_both, check_callable, name_of, share_copies

share_copies(_core.JitFunction, _core.Lowered, _core.Compiled)


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
      donate_argnums, donate_argnames: arguments whose memory the call may use for its results. One
        that it has used is deleted: using it again raises RuntimeError. Memory that anyone else
        sees (numpy, DLPack, another argument) is never used; the call then works on a copy.
      keep_unused: for programs written for JAX; without effect on results.
      inline: whether a call inside another function that is recorded adds the operations of ``fun``
        to it one by one, in place of one operation ``jit``.

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
    check_callable(fun, "jit")
    name = name_of(fun)
    where = f"jit({name})"
    statics = arguments_by_both(fun, where, "static", static_argnums, static_argnames)
    donated = arguments_by_both(fun, where, "donate", donate_argnums, donate_argnames)
    both = sorted({*statics[1]} & {*donated[1]}) or sorted({*statics[0]} & {*donated[0]})
    if both:
        raise ValueError(f"{where}: {both} are static and donated; a constant has no memory to use")
    jitted = _core.make_jit(fun, name, *statics, *donated, inline)
    functools.update_wrapper(jitted, fun)
    return jitted


def _lower(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The program for arguments of these types; ShapeDtypeStructs will do."""
    return _core.jit_lower(self, *args, **kwargs)


def _eval_shape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of the results for arguments of these types."""
    return self.lower(*args, **kwargs).out_info


def _clear_cache(self: Any) -> None:
    """Forgets the compiled programs."""
    _core.jit_clear_cache(self)


def _cache_size(self: Any) -> int:
    return _core.jit_cache_size(self)


for _method in (_lower, _eval_shape, _clear_cache, _cache_size):
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

    Concrete arrays that ``fun`` closes over become constants. Traced arrays of functions around it
    become the program's first inputs.
    """
    check_callable(fun, "make_jaxpr")
    name = name_of(fun)
    where = f"make_jaxpr({name})"
    numbers, _ = arguments_by_both(fun, where, "static", static_argnums, None)

    def make(*args: Any, **kwargs: Any) -> Any:
        program, tree = _core.trace(fun, where, name, numbers, *args, **kwargs)
        return (program, tree.unflatten(program.out_avals)) if return_shape else program

    make.__name__ = where
    return make


make_program = make_jaxpr


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of ``fun(*args, **kwargs)``, without computing it."""
    name = name_of(fun)
    program, tree = _core.trace(fun, f"eval_shape({name})", name, [], *args, **kwargs)
    return tree.unflatten(program.out_avals)


def clear_caches() -> None:
    """Forgets the programs of eager operations and foreign calls, and their handlers' states.

    Jitted functions keep theirs; each has ``clear_cache()``.
    """
    _core.ffi.clear_caches()
