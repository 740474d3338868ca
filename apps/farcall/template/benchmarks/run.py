"""Times of my_kernel, in farcall and in JAX where it is installed: python benchmarks/run.py"""

from __future__ import annotations

import importlib.util
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

import farcall
import numpy as np

from my_kernel import for_farcall


def least_time(call: Callable[[], Any]) -> float:
    """Seconds of one call, the least of several measurements."""
    call()
    timer = timeit.Timer(call)
    count, _ = timer.autorange()
    return min(timer.repeat(5, count)) / count


def run(kernel: Callable[[Any], Any], x: Any) -> None:
    kernel(x).block_until_ready()


def main() -> None:
    hosts = {"farcall": (farcall.numpy.asarray, farcall.jit(for_farcall.my_kernel))}
    if importlib.util.find_spec("jax"):
        import jax

        from my_kernel import for_jax

        hosts["jax"] = (jax.numpy.asarray, jax.jit(for_jax.my_kernel))
    print(f"{'elements':>10}" + "".join(f"{host:>12} µs {'GB/s':>8}" for host in hosts))
    for size in (16, 1 << 10, 1 << 16, 1 << 20, 1 << 24):
        x = np.ones(size, np.float32)
        line = f"{size:>10}"
        for asarray, kernel in hosts.values():
            array = asarray(x)
            seconds = least_time(partial(run, kernel, array))
            line += f"{seconds * 1e6:>12.2f}    {2 * x.nbytes / seconds / 1e9:>8.2f}"
        print(line)


if __name__ == "__main__":
    main()
