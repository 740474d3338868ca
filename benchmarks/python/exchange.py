#!/usr/bin/env python3
"""What calls between farcall and other libraries cost, beside the other library's own.

  benchmarks/python/exchange.py [--quick]

In JAX: one of 100 calls in a jitted chain, of a handler that does nothing, of an exported program
and of a function of to_jax; in farcall: one of 100 calls of a function of tvm-ffi that does
nothing. From Python: single calls of functions of tvm-ffi and operators of torch, where these are
installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np

LENGTH = 100
X = np.ones(4, np.float32)
TYPE = fc.ShapeDtypeStruct((4,), "float32")
ADD_ONE = """
#include <farcall/ffi.h>
using F32 = farcall::ffi::Buffer<farcall::ffi::F32>;
void add_one(F32 x, farcall::ffi::Result<F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + 1;
}
"""


def chain(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for _ in range(LENGTH):
            x = call(x)
        return x

    return run


def rows() -> Iterator[tuple[str, Callable[[], Any], int]]:
    """Name, what is timed, and of how many calls it is."""
    x = jnp.asarray(X)

    def in_jax(call: Callable[[Any], Any]) -> tuple[Callable[[], Any], int]:
        run = jax.jit(chain(call))
        return lambda: run(x).block_until_ready(), LENGTH

    def foreign(name: str, capsule: Any) -> Callable[[Any], Any]:
        jax.ffi.register_ffi_target(name, capsule, platform="cpu")
        return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((4,), jnp.float32))

    library = fc.ffi.load_inline("exchange_bench", ADD_ONE, functions=["add_one"])
    yield "JAX: a handler", *in_jax(foreign("bench_handler", library.handlers["add_one"]))
    exported = fc.ffi.export_handler(lambda x: x + 1, TYPE)
    yield "JAX: export_handler of x + 1", *in_jax(foreign("bench_exported", exported))
    yield "JAX: to_jax of x + 1", *in_jax(fc.to_jax(lambda x: x + 1))
    if importlib.util.find_spec("tvm_ffi"):
        yield from rows_of_tvm_ffi()
    if importlib.util.find_spec("torch"):
        yield from rows_of_torch()


def rows_of_tvm_ffi() -> Iterator[tuple[str, Callable[[], Any], int]]:
    import tvm_ffi
    from farcall.tvm_ffi import function, register

    nothing = tvm_ffi.get_global_func("testing.nop")
    tensors = [tvm_ffi.from_dlpack(array) for array in (X, np.empty_like(X))]
    yield "tvm-ffi: its testing.nop, from Python", lambda: nothing(*tensors), 1
    own = function(lambda x: x + 1, TYPE)
    yield "tvm-ffi: function of x + 1, from Python", lambda: own(*tensors), 1
    register("bench_nop", nothing)
    run = fc.jit(chain(fc.ffi.ffi_call("bench_nop", TYPE)))
    array = fnp.asarray(X)
    yield "farcall: testing.nop as a target", lambda: run(array), LENGTH


def rows_of_torch() -> Iterator[tuple[str, Callable[[], Any], int]]:
    import torch
    from farcall.torch import register

    tensor = torch.ones(4)
    library = torch.library.Library("bench_own", "DEF")
    library.define("add_one(Tensor x) -> Tensor")
    library.impl("add_one", lambda x: x + 1, "CPU")
    yield "torch: an operator in Python", lambda: torch.ops.bench_own.add_one(tensor), 1
    own = register("bench_farcall::add_one", lambda x: x + 1)
    yield "torch: register of x + 1", lambda: own(tensor), 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    repeat = 5 if parser.parse_args().quick else 40
    print("| one call | ns |\n| --- | ---: |")
    for name, run, calls in rows():
        run()
        number = max(1, 2000 // calls)
        best = min(timeit.repeat(run, number=number, repeat=repeat)) / number / calls
        print(f"| {name} | {best * 1e9:,.0f} |")


if __name__ == "__main__":
    main()
