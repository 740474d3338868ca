#!/usr/bin/env python3
"""farcall against JAX: array programs that call nothing foreign, small ones and large ones.

  benchmarks/python/arrays.py [--quick] [--json] [--minimum] [word …]

Each program is jitted, runs on one array or a few, and is waited for. Ratios below one: farcall is
faster. With words, only the rows that have one of them in their names.
"""

import argparse
import importlib
import importlib.util
import json
import sys

import numpy as np
from timing import compare, unit

SMALL, ROWS, LARGE, HUGE = (16,), (4096, 1024), (1 << 22,), (1 << 24,)


class Programs:
    """The rows, as functions without arguments."""

    def __init__(self, name):
        self.module = importlib.import_module(name)
        importlib.import_module(f"{name}.nn")
        self.numpy, self.lax, self.nn = self.module.numpy, self.module.lax, self.module.nn
        self.random = np.random.default_rng(0)

    def array(self, *shape):
        return self.numpy.asarray(self.random.standard_normal(shape, np.float32))

    def call(self, function, *arrays):
        jitted = self.module.jit(function)
        return lambda: self.module.block_until_ready(jitted(*arrays))

    def rms_norm(self, x):
        return x * self.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    def lstm(self, size, steps):
        weights, bias = self.array(2 * size, 4 * size), self.array(4 * size)

        def step(carry, x):
            hidden, cell = carry
            gates = self.numpy.concatenate([x, hidden]) @ weights + bias
            i, f, g, o = self.numpy.split(gates, 4)
            cell = self.nn.sigmoid(f) * cell + self.nn.sigmoid(i) * self.numpy.tanh(g)
            hidden = self.nn.sigmoid(o) * self.numpy.tanh(cell)
            return (hidden, cell), hidden

        def run(xs):
            zero = self.numpy.zeros(size, "float32")
            return self.lax.scan(step, (zero, zero), xs)[1]

        return run, self.array(steps, size)

    def mlp_gradient(self):
        layers = [self.array(256, 256) * 0.06 for _ in range(3)]

        def loss(weights, x):
            for w in weights:
                x = self.numpy.tanh(x @ w)
            return (x * x).mean()

        return self.call(self.module.grad(loss), layers, self.array(128, 256))

    def integers(self, below, *shape):
        return self.numpy.asarray(self.random.integers(0, below, shape, np.int32))

    def ordering(self):
        fnp, million = self.numpy, self.array(1 << 20)
        ranks = self.integers(1000, 1 << 20)
        return {
            "sort, 1M": self.call(fnp.sort, million),
            "sort, 1,024 rows of 1,024": self.call(fnp.sort, self.array(1024, 1024)),
            "argsort, 1M": self.call(fnp.argsort, million),
            "sort by two keys, 1M": self.call(
                lambda *a: self.lax.sort(a, num_keys=2), ranks, million
            ),
            "top 16 of 1M": self.call(lambda x: self.lax.top_k(x, 16), million),
            "largest of each row, 4096 by 1024": self.call(
                lambda x: x.argmax(1), self.array(*ROWS)
            ),
            "running sum of each row, 4096 by 1024": self.call(
                lambda x: x.cumsum(1), self.array(*ROWS)
            ),
            "running sum of each column, 4096 by 1024": self.call(
                lambda x: x.cumsum(0), self.array(*ROWS)
            ),
        }

    def indexing(self):
        def take(a, i):
            return a[i]

        def add(a, i, b):
            return a.at[i].add(b)

        segment_sum = importlib.import_module(f"{self.module.__name__}.ops").segment_sum
        table, rows, elements = self.array(1024, 64), 1 << 16, 1 << 20
        million, anywhere = self.array(elements), self.integers(elements, elements)
        return {
            "rows taken, 65,536 of 1,024 by 64": self.call(take, table, self.integers(1024, rows)),
            "rows taken, 1M of 65,536 by 8": self.call(
                take, self.array(rows, 8), self.integers(rows, elements)
            ),
            "elements taken, 1M of 1M": self.call(take, million, anywhere),
            "rows added, 65,536 to 1,024 by 64": self.call(
                add, table, self.integers(1024, rows), self.array(rows, 64)
            ),
            "elements added, 1M to 1M": self.call(add, million, anywhere, million),
            "sums of 1,024 segments of 1M": self.call(
                lambda x, i: segment_sum(x, i, num_segments=1024),
                million,
                self.integers(1024, elements),
            ),
        }

    def moving(self):
        fnp, square = self.numpy, self.array(2048, 2048)
        return {
            "transpose, 2048 by 2048": self.call(lambda a: a.T + 0, square),
            "transpose, 256 of 128 by 128": self.call(
                lambda a: fnp.swapaxes(a, 1, 2) + 0, self.array(256, 128, 128)
            ),
            "reversed, 4M": self.call(lambda a: a[::-1] + 0, self.array(*LARGE)),
            "padded by 1, 2048 by 2048": self.call(lambda a: fnp.pad(a, 1) + 0, square),
            "joined, 2 of 2048 by 2048": self.call(
                lambda a: fnp.concatenate([a, a], 1) + 0, square
            ),
        }

    def rows(self):
        fnp, random = self.numpy, importlib.import_module(f"{self.module.__name__}.random")
        key = random.key(0)
        elementwise = {
            "tanh(x) x + 1": lambda x: fnp.tanh(x) * x + 1,
            "x z + x - 2 z": lambda x, z: x * z + x - 2 * z,
        }
        found = {}
        for name, function in elementwise.items():
            for size, shape in (("16", SMALL), ("4M", LARGE), ("16M", HUGE)):
                arrays = [self.array(*shape) for _ in range(function.__code__.co_argcount)]
                found[f"{name}, {size}"] = self.call(function, *arrays)
        x = self.array(*ROWS)
        found["RMS norm, 4096 by 1024"] = self.call(self.rms_norm, x)
        found["softmax, 4096 by 1024"] = self.call(self.nn.softmax, x)
        found["sum of each row, 4096 by 1024"] = self.call(lambda a: a.sum(1), x)
        found["sum of each column, 4096 by 1024"] = self.call(lambda a: a.sum(0), x)
        found |= self.ordering() | self.indexing() | self.moving()
        for size in (8, 64, 256, 1024):
            pair = self.array(size, size), self.array(size, size)
            found[f"matmul, {size}"] = self.call(fnp.matmul, *pair)
        found["matmul, 1024, both transposed"] = self.call(lambda a, b: a.T @ b.T, *pair)
        found["matmul, 1024 by 64 by 1024"] = self.call(
            fnp.matmul, self.array(1024, 64), self.array(64, 1024)
        )
        found["matmul, 32 of 128"] = self.call(
            fnp.matmul, self.array(32, 128, 128), self.array(32, 128, 128)
        )
        found["matrix and vector, 1024"] = self.call(
            fnp.matmul, self.array(1024, 1024), self.array(1024)
        )
        found["vector and matrix, 64 by 128"] = self.call(
            fnp.matmul, self.array(64), self.array(64, 128)
        )
        found["normal numbers, 1M"] = self.call(lambda k: random.normal(k, (1 << 20,)), key)
        run, xs = self.lstm(32, 1000)
        found["LSTM of 32, 1,000 steps"] = self.call(run, xs)
        found["gradient of three layers of 256, batch 128"] = self.mlp_gradient()
        return found


def print_table(results, which):
    print(f"| {which} of | farcall | JAX | farcall / JAX |\n|---|---:|---:|---:|")
    for row, times in results.items():
        ours = times["farcall"][which]
        theirs = times["jax"][which] if "jax" in times else None
        ratio = "-" if theirs is None else f"{ours / theirs:.2g}"
        print(f"| {row} | {unit(ours)} | {unit(theirs) if theirs else '-'} | {ratio} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="numbers, in nanoseconds")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--minimum", action="store_true", help="the least times, not the median")
    parser.add_argument("words", nargs="*", help="which rows; all without any")
    args = parser.parse_args()

    found = {"farcall": Programs("farcall").rows()}
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_platforms", "cpu")
        found["jax"] = Programs("jax").rows()
    blocks, block_ns = (5, 2e7) if args.quick else (15, 1e8)
    results = {
        row: compare(
            {name: rows[row] for name, rows in found.items()}, blocks, block_ns, most_ns=2e10
        )
        for row in found["farcall"]
        if not args.words or any(word in row for word in args.words)
    }
    if args.json:
        json.dump(results, sys.stdout, indent=2)
        print()
    else:
        print_table(results, "min" if args.minimum else "median")


if __name__ == "__main__":
    main()
