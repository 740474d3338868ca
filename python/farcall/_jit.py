"""jit, and programs of functions."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, overload

import numpy as np

from farcall import _core, tree
from farcall._devices import Device, default_backend, devices_of
from farcall._functions import (
    P,
    R,
    arguments_by_both,
    check_callable,
    name_of,
    share_copies,
    wraps,
)
from farcall._partition_spec import PartitionSpec
from farcall._placement import check_shardings, device_put, spread, with_sharding_constraint
from farcall._sharding import NamedSharding, Sharding, check_sharding, is_spread, the_device

if TYPE_CHECKING:
    from typing_extensions import Unpack

    class _JitOptions(TypedDict, total=False):
        static_argnums: int | Sequence[int] | None
        static_argnames: str | Sequence[str] | None
        donate_argnums: int | Sequence[int] | None
        donate_argnames: str | Sequence[str] | None
        keep_unused: bool
        inline: bool
        in_shardings: Any
        out_shardings: Any
        device: Any
        backend: str | None
        compiler_options: dict[str, Any] | None


share_copies(_core.JitFunction, _core.Lowered, _core.Compiled)


@overload
def jit(fun: Callable[P, R], /, **options: Unpack[_JitOptions]) -> _core.JitFunction[P, R]: ...
@overload
def jit(
    fun: None = None, /, **options: Unpack[_JitOptions]
) -> Callable[[Callable[P, R]], _core.JitFunction[P, R]]: ...


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
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Makes a compiled version of ``fun``.

    The first call with arguments of some types records the function as a program and compiles it;
    later calls with the same types, structure and static arguments run that program.

    Args:
      fun: takes and returns pytrees of arrays and numbers. Without it, ``jit`` returns a decorator.
      static_argnums, static_argnames: arguments that are constants of the program; hashable.
      donate_argnums, donate_argnames: donated arguments: the call may reuse their memory for its
        results. A reused argument is deleted: using it again raises RuntimeError. Memory shared
        with anything else (numpy, DLPack, another argument) is never reused; the call then works on
        a copy.
      keep_unused: accepted for compatibility with JAX; no effect on results.
      inline: whether a call inside another recorded function adds the operations of ``fun``
        individually, instead of a single operation ``jit``.
      in_shardings, out_shardings: the shardings of arguments and results: Shardings, PartitionSpecs
        of the current mesh or None, as tree prefixes of the arguments (a tuple) and of the result.
        Arguments are moved as needed. The function runs on the devices of these shardings. With
        in_shardings, no argument may be passed by name.
      device, backend: where the function runs: a device, or the name of a platform or engine, which
        stands for its first device. Arguments are moved there. By default the device of the
        committed arguments, else the default device.
      compiler_options: accepted for compatibility with JAX; ignored.

    Raises:
      ValueError: for a static argument that the function does not have or that is not hashable; at
        a call, for arguments on different devices; for shardings together with a device; at a
        call, for arguments passed by name to a function with in_shardings.
      RuntimeError: for an unknown backend.
      TypeError: at a call, for an argument or a result that is not an array.
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
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            device=device,
            backend=backend,
            compiler_options=compiler_options,
        )
    check_callable(fun, "jit")
    name = name_of(fun)
    where = f"jit({name})"
    runs_on = _device_of_options(device, backend, where)
    statics = arguments_by_both(fun, where, "static", static_argnums, static_argnames)
    donated = arguments_by_both(fun, where, "donate", donate_argnums, donate_argnames)
    if statics[0] or statics[1]:
        both = {*statics[1]} & {*donated[1]} or {*statics[0]} & {*donated[0]}
        if both:
            raise ValueError(
                f"{where}: {sorted(both)} are static and donated; a constant has no memory to use"
            )
    run, around = fun, None
    if runs_on is not None and (in_shardings is not None or out_shardings is not None):
        raise ValueError(
            f"{where}: device or backend was given, so in_shardings and out_shardings must not be"
        )
    if in_shardings is not None or out_shardings is not None:
        run = _with_checked_shardings(fun, where, statics, in_shardings, out_shardings)
        if _are_placed(in_shardings) or _are_placed(out_shardings):
            around = _placed_around(where, statics[0], in_shardings, out_shardings)
    jitted = _core.make_jit(run, name, *statics, *donated, inline, runs_on, around)
    _core.update_wrapper(jitted, fun)
    jitted._options = {
        "static_argnums": statics[0],
        "static_argnames": statics[1],
        "donate_argnums": donated[0],
        "donate_argnames": donated[1],
        "inline": inline,
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "device": runs_on,
    }
    return jitted


def _device_of_options(device: Any, backend: str | None, where: str) -> Device | None:
    if device is None and backend is None:
        return None
    found = None if backend is None else devices_of(backend, where)
    sharding = check_sharding(device, None, f"{where}: device")
    if sharding is None:
        return None if found is None or backend == default_backend() else found[0]
    chosen = the_device(sharding, f"{where}: device")
    if found is not None and chosen not in found:
        raise ValueError(f"{where}: device {chosen!r} is none of backend {backend!r}: {found}")
    return chosen


def _rebuild(fun: Callable[..., Any], options: dict[str, Any]) -> Any:
    return jit(fun, **options)


def _reduce(self: Any) -> Any:
    """For pickle: the name if the module exports it, else the function and its options."""
    module, name = getattr(self, "__module__", None), getattr(self, "__qualname__", "")
    if module != "__main__" and getattr(sys.modules.get(module or ""), name, None) is self:
        return name
    return _rebuild, (self.__wrapped__, self._options)


_core.JitFunction.__reduce__ = _reduce


def _with_checked_shardings(
    fun: Callable[..., Any],
    where: str,
    statics: tuple[list[int], list[str]],
    in_shardings: Any,
    out_shardings: Any,
) -> Callable[..., Any]:
    """Wraps ``fun`` so that recording it checks the shardings."""

    @wraps(fun)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if in_shardings is not None:
            _refuse_named(kwargs, where)
            dynamic = tuple(arg for i, arg in enumerate(args) if i not in statics[0])
            check_shardings(in_shardings, dynamic, f"{where}: in_shardings")
            rest = iter(_constrain_traced(dynamic, in_shardings))
            args = tuple(arg if i in statics[0] else next(rest) for i, arg in enumerate(args))
        result = fun(*args, **kwargs)
        check_shardings(out_shardings, result, f"{where}: out_shardings")
        # The calls that compute a result are divided by its sharding.
        return result if out_shardings is None else _constrain_traced(result, out_shardings)

    return checked


def _refuse_named(kwargs: dict[str, Any], where: str) -> None:
    """Raises ValueError for arguments passed by name, which in_shardings do not describe."""
    if kwargs:
        names = ", ".join(map(repr, kwargs))
        raise ValueError(
            f"{where}: in_shardings describe the arguments passed by position, got {names} by "
            "name; pass all by position, or leave in_shardings out"
        )


def _constrain_traced(values: Any, shardings: Any) -> Any:
    leaves, structure = tree.flatten(values)
    return structure.unflatten(
        [
            with_sharding_constraint(leaf, one)
            if isinstance(leaf, _core.Array) and leaf.is_traced and one is not None
            else leaf
            for leaf, one in zip(leaves, spread(shardings, values, "out_shardings"), strict=True)
        ]
    )


def _are_placed(shardings: Any) -> bool:
    """Whether any of these is a sharding."""
    return bool(tree.leaves(shardings, lambda node: isinstance(node, (Sharding, PartitionSpec))))


def _placed_around(
    where: str, statics: list[int], in_shardings: Any, out_shardings: Any
) -> Callable[..., Any]:
    """Makes a wrapper of calls that places the arguments before and the results after the call."""

    def placed(jitted: Any, *args: Any, **kwargs: Any) -> Any:
        if in_shardings is not None:
            _refuse_named(kwargs, where)
            dynamic = tuple(arg for i, arg in enumerate(args) if i not in statics)
            check_shardings(in_shardings, dynamic, f"{where}: in_shardings")
            rest = iter(_put_given(dynamic, in_shardings))
            args = tuple(arg if i in statics else next(rest) for i, arg in enumerate(args))
        mesh = _mesh_of(out_shardings)
        if mesh is not None:
            args, kwargs = tree.map(lambda leaf: _spread_unplaced(leaf, mesh), (args, kwargs))
        result = _core.jit_run(jitted, *args, **kwargs)
        return result if out_shardings is None else _put_given(result, out_shardings)

    return placed


def _mesh_of(shardings: Any) -> Any:
    """The first mesh of several devices in the shardings, as a sharding of the core, or None."""
    for one in tree.leaves(shardings, lambda node: isinstance(node, (Sharding, PartitionSpec))):
        sharding = check_sharding(one, None, "jit: out_shardings") if one is not None else None
        if isinstance(sharding, NamedSharding) and is_spread(sharding):
            return NamedSharding(sharding.mesh, PartitionSpec()).in_core()
    return None


def _spread_unplaced(leaf: Any, sharding: Any) -> Any:
    """Puts an uncommitted array whole on the devices of a mesh; returns other leaves unchanged."""
    if isinstance(leaf, (_core.Array, np.ndarray, np.generic)):
        return _core.sharding.spread_unplaced(leaf, sharding)
    return leaf


def _put_given(values: Any, shardings: Any) -> Any:
    """``values``, with those that have a sharding moved to it."""
    leaves, structure = tree.flatten(values)
    wanted = spread(shardings, values, "shardings")
    return structure.unflatten(
        [
            leaf if sharding is None else device_put(leaf, sharding)
            for leaf, sharding in zip(leaves, wanted, strict=True)
        ]
    )


def lowered_for(jitted: Any, args: Any, kwargs: Any) -> _core.Lowered:
    """The program for these arguments, with their shardings and those that ``jit`` was given."""
    options = jitted._options
    dynamic = tuple(arg for i, arg in enumerate(args) if i not in options["static_argnums"])
    wanted = _spread_over_meshes(options["in_shardings"], dynamic, "lower: in_shardings")
    lowered = _core.jit_lower(jitted, wanted, *args, **kwargs)
    results = lowered.out_avals
    lowered._place_results(
        _spread_over_meshes(options["out_shardings"], results, "lower: out_shardings")
    )
    return lowered


def _lower(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The program for arguments of these types; arrays or ShapeDtypeStructs.

    It is compiled for the shardings and the device of these arguments, or for the ``in_shardings``
    of ``jit``; the compiled program moves its arguments there. ``compile().report()`` shows the
    division of foreign calls.

    Raises:
      ValueError: for arguments on different devices.
    """
    return lowered_for(self, args, kwargs)


def _spread_over_meshes(shardings: Any, values: Any, where: str) -> list[Any]:
    """For each leaf its sharding over several devices, in the core's form, else None."""
    if not _are_placed(shardings):
        return []
    wanted = [check_sharding(one, None, where) for one in spread(shardings, values, where)]
    return [
        one.in_core() if isinstance(one, NamedSharding) and is_spread(one) else None
        for one in wanted
    ]


def _eval_shape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of the results for arguments of these types."""
    return self.lower(*args, **kwargs).out_info


def _clear_cache(self: Any) -> None:
    """Removes the compiled programs from the cache."""
    _core.jit_clear_cache(self)


class CacheInfo(NamedTuple):
    """The state of a cache of programs."""

    size: int  #: number of programs in the cache
    limit: int  #: its maximum: the flag ``cache_limit``
    misses: int  #: programs compiled because the cache did not have them
    evictions: int  #: programs removed for others, least recently used first


def _cache_info(self: Any) -> CacheInfo:
    """The state of this function's cache.

    Each combination of types, structure and static arguments has its own program.
    """
    return CacheInfo(*_core.jit_cache_info(self))


def _cache_size(self: Any) -> int:
    return self.cache_info().size


for _method in (_lower, _eval_shape, _clear_cache, _cache_info, _cache_size):
    _name = "_cache_size" if _method is _cache_size else _method.__name__[1:]
    setattr(_core.JitFunction, _name, _method)


def _axis(axis: Any, where: str) -> tuple[str, int]:
    match axis:
        case (str() as name, int() as size) if size >= 0:
            return name, size
    raise TypeError(
        f"{where}: axis_env must list pairs of a name and a size, as [('batch', 4)]; got {axis!r}"
    )


def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[str, int]] | None = None,
    return_shape: bool = False,
) -> Callable[P, Any]:
    """Makes a function that returns the program of ``fun`` for the types of its arguments.

    Args:
      fun: as for jit.
      static_argnums: arguments that are constants of the program.
      axis_env: names and sizes of axes that ``fun`` may refer to, as inside of vmaps over them.
      return_shape: also return the results' ShapeDtypeStructs, in ``fun``'s structure.

    Concrete arrays that ``fun`` closes over become constants. Traced arrays of enclosing functions
    become the program's first inputs.
    """
    check_callable(fun, "make_jaxpr")
    name = name_of(fun)
    where = f"make_jaxpr({name})"
    numbers, _ = arguments_by_both(fun, where, "static", static_argnums, None)
    axes = [_axis(each, where) for each in axis_env or ()]

    def make(*args: Any, **kwargs: Any) -> Any:
        program, tree = _core.trace(fun, where, name, numbers, axes, *args, **kwargs)
        return (program, tree.unflatten(program.out_avals)) if return_shape else program

    make.__name__ = where
    return make


make_program = make_jaxpr


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of ``fun(*args, **kwargs)``; computes no values.

    The ``out_shardings`` of a jitted function are those of the results.
    """
    if isinstance(fun, _core.JitFunction) and fun._options["out_shardings"] is not None:
        return fun.eval_shape(*args, **kwargs)
    name = name_of(fun)
    program, tree = _core.trace(fun, f"eval_shape({name})", name, [], [], *args, **kwargs)
    return tree.unflatten(program.out_avals)


def clear_caches() -> None:
    """Clears the caches of eager operations and foreign calls, and their handlers' states.

    Jitted functions keep their caches; each has ``clear_cache()``.
    """
    _core.ffi.clear_caches()


class ProcessCaches(NamedTuple):
    """The caches that all threads share. Each jitted function also has its own cache."""

    eager: CacheInfo  #: programs of operations on concrete arrays
    ffi_calls: CacheInfo  #: ``ffi_call``s by their options
    num_array_types: int  #: distinct shapes and dtypes, about a hundred bytes each


def cache_info() -> ProcessCaches:
    """The state of the process-wide caches; see ``jitted.cache_info()`` for a jitted function."""
    eager, ffi_calls, num_array_types = _core.cache_info()
    return ProcessCaches(CacheInfo(*eager), CacheInfo(*ffi_calls), num_array_types)
