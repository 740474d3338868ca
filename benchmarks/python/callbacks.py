#!/usr/bin/env python3
"""farcall against JAX: what a Python function inside a program costs.

  benchmarks/python/callbacks.py [--quick] [--json]

The same functions are called by programs of both, and directly with Buffers or arrays that are
there already, which is the least that a call can cost. Calls end when their results are there.
"""

import argparse
import importlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable
from operator import methodcaller
from typing import NamedTuple

import numpy as np
from timing import compare, divided, least_and_median, unit

STEPS = 1000
# What farcall promises: the least ratio to JAX, and the most times the direct call.
LEAST_RATIO = {
    "buffer_callback": 10,
    "pure_callback": 40,
    "io_callback, ordered": 100,
    "debug.callback": 40,
    f"buffer_callback, a step of {STEPS} in a scan": 10,
}
MOST_FLOOR = {
    "buffer_callback that adds 1,000 floats": 2.5,
    "buffer_callback of x * 2 + 1, 1,000 floats": 2.5,
}


# ---- the functions that are called ----


def nothing_in_place(ctx, out, x):
    pass


def add_in_place(ctx, out, x, y):
    np.add(np.asarray(x), np.asarray(y), out=np.asarray(out))


def double_and_add_one(ctx, out, x):
    result = np.asarray(out)
    np.multiply(np.asarray(x), 2, out=result)
    np.add(result, 1, out=result)


def itself(x):
    return x


def nothing(x):
    pass


# ---- what is compared ----


class Framework:
    """One of the two, under the names that they share. Methods return functions to be timed."""

    def __init__(self, name):
        self.module = importlib.import_module(name)
        self.experimental = importlib.import_module(f"{name}.experimental")
        self.lax = importlib.import_module(f"{name}.lax")
        in_place = importlib.import_module(f"{name}.experimental.buffer_callback")
        self.buffer_callback = in_place.buffer_callback
        self.few = self.array(4)
        self.many = self.array(1000)

    def array(self, size):
        return self.module.numpy.asarray(np.arange(size, dtype=np.float32))

    def like(self, x):
        return self.module.ShapeDtypeStruct(x.shape, x.dtype)

    # Each makes what a program does with x.
    def buffer(self, x):
        return self.buffer_callback(nothing_in_place, self.like(x))(x)

    def pure(self, x):
        return self.module.pure_callback(itself, self.like(x), x)

    def io(self, x):
        return self.experimental.io_callback(itself, self.like(x), x, ordered=True)

    def debug(self, x):
        self.module.debug.callback(nothing, x)
        return x

    def timed(self, f, *arrays):
        return lambda: f(*arrays).block_until_ready()

    def jitted(self, body):
        return self.timed(self.module.jit(getattr(self, body)), self.few)

    def eager(self, body):
        return self.timed(getattr(self, body), self.few)

    def eager_buffer(self):
        return self.timed(self.buffer_callback(nothing_in_place, self.like(self.few)), self.few)

    def loop(self, body):
        step = getattr(self, body)

        def steps(x):
            return self.lax.scan(lambda x, _: (step(x), None), x, None, length=STEPS)[0]

        return self.timed(self.module.jit(steps), self.few)

    def kernel(self, function, *arrays):
        call = self.buffer_callback(function, self.like(arrays[0]))
        return self.timed(self.module.jit(lambda *arrays: call(*arrays)), *arrays)

    def add(self):
        return self.kernel(add_in_place, self.many, self.many)

    def double(self):
        return self.kernel(double_and_add_one, self.many)


class Case(NamedTuple):
    make: Callable  # of a framework: what is timed
    function: Callable  # the function that is called
    size: int = 4  # of its arguments
    num_arguments: int = 1
    steps: int = 1  # calls of the function in one of what is timed


def with_direct_call(case, farcall, measure):
    """What ``measure`` says of the function called with arguments that are there already.

    Buffers are there inside a callback alone, so that this is where functions on them are measured.
    """
    arguments = [farcall.array(case.size)] * case.num_arguments
    if case.function in (itself, nothing):
        return measure(lambda: case.function(*arguments))
    found = []

    def inside(ctx, out, *buffers):
        found.append(measure(lambda: case.function(ctx, out, *buffers)))

    farcall.buffer_callback(inside, farcall.like(arguments[0]))(*arguments)
    return found[0]


def make_cases():
    bodies = {
        "buffer_callback": ("buffer", nothing_in_place),
        "pure_callback": ("pure", itself),
        "io_callback, ordered": ("io", itself),
        "debug.callback": ("debug", nothing),
    }
    cases = {}
    for case, (body, function) in bodies.items():
        cases[case] = Case(methodcaller("jitted", body), function)
        cases[f"{case}, a step of {STEPS} in a scan"] = Case(
            methodcaller("loop", body), function, steps=STEPS
        )
        made_anew = " made anew" if body == "buffer" else ""
        cases[f"{case}{made_anew}, eager"] = Case(methodcaller("eager", body), function)
    cases["buffer_callback kept, eager"] = Case(methodcaller("eager_buffer"), nothing_in_place)
    cases["buffer_callback that adds 1,000 floats"] = Case(
        methodcaller("add"), add_in_place, 1000, 2
    )
    cases["buffer_callback of x * 2 + 1, 1,000 floats"] = Case(
        methodcaller("double"), double_and_add_one, 1000
    )
    return cases


# ---- output ----


def verdict(case, times):
    promises = []
    ours = times["farcall"]["min"]
    if case in LEAST_RATIO and "jax" in times:
        met = times["jax"]["min"] >= LEAST_RATIO[case] * ours
        promises.append(f"{LEAST_RATIO[case]} times less: {'met' if met else 'MISSED'}")
    if case in MOST_FLOOR:
        met = ours <= MOST_FLOOR[case] * times["direct"]["min"]
        promises.append(f"at most {MOST_FLOOR[case]} direct calls: {'met' if met else 'MISSED'}")
    return "; ".join(promises)


def print_table(cases):
    head = "a Python function called, least (median) of"
    print(f"| {head} | farcall | JAX | ratio | direct | farcall / direct | promised |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for case, times in cases.items():
        cells = [
            least_and_median(times[name]) if name in times else "-" for name in ("farcall", "jax")
        ]
        ratio = times["jax"]["min"] / times["farcall"]["min"] if "jax" in times else None
        direct = times["direct"]["min"]
        cells += [f"{ratio:.3g}" if ratio else "-", unit(direct)]
        cells.append(f"{times['farcall']['min'] / direct:.2g}")
        print(f"| {case} | {' | '.join(cells)} | {verdict(case, times)} |")


def main():
    warnings.filterwarnings("ignore", "buffer_callback .* returned without writing")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="numbers, in nanoseconds")
    parser.add_argument("--quick", action="store_true", help="fewer blocks")
    args = parser.parse_args()
    # Short blocks find the moments in which nothing else runs.
    blocks, block_ns, most_ns = (50, 2e5, 5e8) if args.quick else (500, 2e5, 5e9)

    found = {"farcall": Framework("farcall")}
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_platforms", "cpu")
        found["jax"] = Framework("jax")
    results = {}
    for name, case in make_cases().items():
        functions = {key: case.make(framework) for key, framework in found.items()}
        times = with_direct_call(
            case,
            found["farcall"],
            lambda direct, functions=functions: compare(
                functions | {"direct": direct}, blocks, block_ns, most_ns
            ),
        )
        results[name] = divided(times, case.steps) | {"direct": times["direct"]}
    if args.json:
        json.dump(results, sys.stdout, indent=2)
        print()
    else:
        print_table(results)


if __name__ == "__main__":
    main()
