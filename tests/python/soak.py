"""Calls that are new each time, for as long as asked for: ``python soak.py [calls of each kind]``.

Prints how much memory each kind of call left behind.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path

import farcall as fc
import farcall.numpy as fnp
import numpy as np

X = fnp.arange(3.0)


@fc.jit
def double(x: fc.Array) -> fc.Array:
    return x * 2 + 1


@fc.jit
def stacked(x: fc.Array) -> fc.Array:
    return fc.vmap(double)(x)


repeated = fc.jit(lambda x, n: x * n, static_argnums=1)
sized = fc.jit(lambda x, *, name: x + len(name), static_argnames="name")


def step(carry: fc.Array, x: fc.Array) -> tuple[fc.Array, fc.Array]:
    return carry + 1, x


def empty(i: int) -> np.ndarray:
    """Of a shape that no other number has, without elements."""
    return np.zeros((i + 1, 0), np.float32)


def user_function(i: int) -> None:
    function = fc.custom_jvp(lambda v: v * v)
    function.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
    fc.grad(lambda v: function(v).sum())(X)


KINDS: dict[str, Callable[[int], object]] = {
    "shapes of eager operations": lambda i: fnp.asarray(empty(i)) + 1,
    "shapes of a jitted function": lambda i: double(empty(i)),
    "shapes of a nested one": lambda i: stacked(empty(i)),
    "shapes of a scan": lambda i: fc.lax.scan(step, 0, empty(i).T),
    "shapes of an ffi_call": lambda i: fc.ffi.ffi_call(
        "farcall_soak", fc.ShapeDtypeStruct((i + 1, 0), "float32")
    ).replace(has_side_effect=True),
    "static arguments": lambda i: repeated(X, i),
    "static keywords": lambda i: sized(X, name=f"s{i}"),
    "literals of a loop": lambda i: fc.lax.scan(lambda c, v: (c + v, c * float(i)), 0.0, X),
    "jitted lambdas": lambda i: fc.jit(lambda v: v * i)(X),
    "derivatives of lambdas": lambda i: fc.grad(lambda v: (v * v).sum())(X),
    "callbacks": lambda i: fc.pure_callback(lambda v: np.asarray(v) * i, X, X),
    "jitted callbacks": lambda i: fc.jit(lambda v: fc.pure_callback(np.sin, X, v))(X),
    "custom rules": user_function,
    "programs": lambda i: fc.parse_program(str(fc.make_jaxpr(lambda v: v * i)(X))),
    "names": lambda i: fc.jit(fc.named_call(lambda v: v + 1, name=f"n{i}"))(X),
}


def resident_megabytes() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def main(count: int) -> None:
    for kind, call in KINDS.items():
        for i in range(200):
            call(10**9 + i)
        before = resident_megabytes()
        for i in range(count):
            call(i)
        print(f"{resident_megabytes() - before:7.1f} MB  {kind}", flush=True)
    print(fc.cache_info())


if __name__ == "__main__":
    start = resident_megabytes()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 70_000)
    print(f"{resident_megabytes() - start:7.1f} MB  in all")
