"""What random programs call besides farcall: functions with rules of their own, which say what the
derived ones would say, and foreign functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
from farcall import ffi, lax
from farcall.experimental import io_callback
from farcall.experimental.custom_partitioning import custom_partitioning
from handler_library import load

Function = Callable[..., Any]


def with_own_jvp(f: Function) -> Function:
    wrapped = fc.custom_jvp(f)
    wrapped.defjvp(lambda primals, tangents: fc.jvp(f, primals, tangents))
    return wrapped


def with_own_vjp(f: Function) -> Function:
    wrapped = fc.custom_vjp(f)

    def backward(args: Any, cotangents: Any) -> Any:
        return fc.vjp(f, *args)[1](cotangents)

    wrapped.defvjp(lambda *args: (f(*args), args), backward)
    return wrapped


def with_own_vmap(f: Function) -> Function:
    wrapped = fc.custom_batching.custom_vmap(f)

    @wrapped.def_vmap
    def rule(axis_size: int, in_batched: list[bool], *args: Any) -> Any:
        axes = tuple(0 if batched else None for batched in in_batched)
        results = fc.vmap(f, axes, axis_size=axis_size)(*args)
        return results, fc.tree.map(lambda _: True, results)

    return wrapped


def with_own_partition(f: Function) -> Function:
    wrapped = custom_partitioning(f)

    @wrapped.def_partition
    def partition(mesh: Any, args: Any, result: Any) -> Any:
        of_args, of_result = fc.tree.map(lambda part: part.sharding, (args, result))
        return mesh, f, of_result, of_args

    return wrapped


def linearized(f: Function, primals: Any, tangents: Any) -> Any:
    results, linear = fc.linearize(f, *primals)
    return results, linear(*tangents)


def scaled(factor: Any, x: Any) -> Any:
    """x times a scalar, as a linear function that comes with its transpose."""

    def times(factor: Any, x: Any) -> Any:
        return factor * x

    return fc.custom_derivatives.linear_call(times, times, factor, x)


def solved(factor: Any, b: Any) -> Any:
    """The solution x of (factor^2 + 1.5) x = b, a system that is its own transpose."""
    diagonal = factor * factor + 1.5
    return lax.custom_linear_solve(
        lambda x: diagonal * x, b, lambda _, b: b / diagonal, symmetric=True
    )


def over_one_device(f: Function) -> Function:
    mesh = fc.make_mesh((1,), ("d",))
    spec = fc.sharding.PartitionSpec()
    return fc.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)


def without_nan(x: Any, least_size: int = 0) -> Any:
    """x with zeros for NaN; x itself if it has fewer elements."""
    is_number = x.size < least_size or not fnp.issubdtype(x.dtype, np.inexact)
    return x if is_number else fnp.where(fnp.isnan(x), fnp.zeros_like(x), x)


def small_complex(x: Any) -> Any:
    """x with zeros for complex numbers that are large."""
    if not fnp.issubdtype(x.dtype, np.complexfloating):
        return x
    return fnp.where((abs(x.real) < 1e2) & (abs(x.imag) < 1e5), x, fnp.zeros_like(x))


def positive(x: Any) -> Any:
    """x without signs; complex numbers and integers as they are."""
    return abs(x) if fnp.issubdtype(x.dtype, np.floating) else x


def without_negative_zeros(x: Any) -> Any:
    """x with 0.0 for -0.0 in both parts of complex numbers."""
    if not fnp.issubdtype(x.dtype, np.complexfloating):
        return x
    return lax.complex(x.real + 0.0, x.imag + 0.0)


def finite(x: Any) -> Any:
    """x with zeros for infinities and NaN."""
    return fnp.where(fnp.isfinite(x), x, fnp.zeros_like(x))


# ---- foreign functions ----

TARGETS = ("weigh", "grow", "increment", "memory", "add_to")


@functools.cache
def register_targets() -> None:
    """The handlers of tests/handlers/batched.cpp under other names, grow with a derivative."""
    library = load("batched.cpp")
    for name in TARGETS:
        handler = getattr(library, f"batched_{name}")
        ffi.register_ffi_target(f"random_{name}", ffi.pycapsule(handler))
    grow = ffi.define("random_grow")

    @grow.jvp
    def rule(call: Any, primals: Any, tangents: Any) -> Any:
        y = call(*primals)
        y = y[0] if isinstance(y, (tuple, list)) else y
        return y, y * tangents[0] * fnp.asarray(0.25, y.dtype)


def _call(name: str, result: Any, vmap_method: str, **options: Any) -> Any:
    register_targets()
    return ffi.ffi_call(f"random_{name}", result, vmap_method=vmap_method, **options)


def _half(x: Any) -> np.ndarray:
    return np.asarray(x) * np.asarray(x).dtype.type(0.5)


def halve(x: Any, kind: str, vmap_method: str) -> Any:
    """Half of ``x``, by a callback of this kind."""
    if kind == "pure":
        return fc.pure_callback(_half, _like(x), x, vmap_method=vmap_method)
    if kind == "io":
        return io_callback(_half, _like(x), x, vmap_method=vmap_method)

    def write(ctx: Any, out: Any, x: Any) -> None:
        np.asarray(out)[...] = _half(x)

    return fc.buffer_callback(write, _like(x), vmap_method=vmap_method)(x)


def watched(x: Any) -> Any:
    fc.debug.callback(lambda _: None, x)
    return x


def _like(x: Any) -> fc.ShapeDtypeStruct:
    return fc.ShapeDtypeStruct(x.shape, x.dtype)


def weigh(x: Any, w: Any, vmap_method: str) -> Any:
    total = fc.ShapeDtypeStruct(x.shape[:-1], x.dtype)
    return _call("weigh", (_like(x), total), vmap_method)(x, w, factor=0.5)


def grow(x: Any, vmap_method: str) -> Any:
    return _call("grow", _like(x), vmap_method)(x, rate=0.25)


def increment(x: Any, vmap_method: str) -> Any:
    return _call("increment", _like(x), vmap_method, input_output_aliases={0: 0})(x)


def add_to(x: Any, y: Any, vmap_method: str) -> Any:
    return _call("add_to", _like(x), vmap_method, input_output_aliases={0: 0})(x, y)


def reorder(x: Any, vmap_method: str, before: Any, after: Any) -> Any:
    """Reads ``x`` in one order of dimensions and writes it in another one."""
    options = {"input_layouts": [before], "output_layouts": after}
    return _call("memory", _like(x), vmap_method, **options)(x)
