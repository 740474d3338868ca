#!/usr/bin/env python3
"""The native engine, the engine pjrt and JAX: programs on one device, and divided among four.

  benchmarks/python/engines.py [--handlers libbench_handlers.so] [--quick] [--json]

The arguments are on the devices before, and calls end when their results are there. The four
devices are those of one CPU, so that programs are not faster on them: the table shows what the
division costs. Their threads wait for one another, and how long depends on where the system runs
them, so the ratios of these rows are those of medians; the others are those of the least times.
"""

import argparse
import ctypes
import importlib
import importlib.util
import json
import os
import sys
from typing import NamedTuple

import numpy as np
from foreign_calls import find_handlers
from timing import compare, divided, least_and_median, unit

DEVICES = 4
CHAIN = 50
# What farcall promises of pjrt: the most times JAX, and the most nanoseconds.
MOST_OF_JAX = 1.3
MOST_OF_JAX_DIVIDED = 1.0
MOST_NS = {"x + 1 of 4 floats": 5e3}
MOST_NS_ABOVE_JAX = {f"one of {CHAIN} foreign calls": 150}

random = np.random.default_rng(0)


def normal(*shape):
    return (random.normal(size=shape) * 0.5).astype(np.float32)


class Program(NamedTuple):
    """A function of a framework and arrays, and the arrays."""

    function: object
    arrays: tuple
    calls: int = 1  # foreign calls in one run


class Divided(NamedTuple):
    """A program inside shard_map: for arrays and results, the axis that is divided, or None."""

    function: object
    arrays: tuple
    inputs: tuple
    output: int | None


# ---- on one device ----


def noop(m, x):
    return m.ffi.ffi_call("engines_noop", m.root.ShapeDtypeStruct((4,), np.float32))(x)


def chain(m, x):
    for _ in range(CHAIN):
        x = noop(m, x)
    return x


def rms_norm(m, x, scale):
    return x / m.numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def loss(m, w, x, y):
    return ((m.numpy.tanh(x @ w) - y) ** 2).mean()


def train(m, w, x, y):
    def step(w, _):
        return w - 0.3 * m.root.grad(lambda v: loss(m, v, x, y))(w), None

    return m.lax.scan(step, w, None, length=10)[0]


def add_one(m, x):
    return x + 1


def tanh_chain(m, x):
    return m.numpy.tanh(x) * x + 1


def softmax(m, x):
    return m.root.nn.softmax(x, axis=-1)


def matmul(m, a, b):
    return a @ b


def sort(m, x):
    return m.numpy.sort(x)


ON_ONE = {
    "x + 1 of 4 floats": Program(add_one, (normal(4),)),
    "tanh(x) x + 1 of 1M floats": Program(tanh_chain, (normal(1 << 20),)),
    "rms norm, 4096 x 256": Program(rms_norm, (normal(4096, 256), normal(256))),
    "softmax, 4096 x 256": Program(softmax, (normal(4096, 256),)),
    "matmul, 512": Program(matmul, (normal(512, 512), normal(512, 512))),
    "sort of 1M floats": Program(sort, (normal(1 << 20),)),
    "ten steps of training, 64 x 32": Program(
        train, (normal(32, 8), normal(64, 32), normal(64, 8))
    ),
    "a foreign call of 4 floats": Program(noop, (normal(4),)),
    f"one of {CHAIN} foreign calls": Program(chain, (normal(4),), CHAIN),
}


# ---- divided among four ----


def data_parallel(m, w, x, y):
    def step(w, _):
        return w - 0.3 * m.lax.pmean(m.root.grad(lambda v: loss(m, v, x, y))(w), "x"), None

    return m.lax.scan(step, w, None, length=5)[0]


def tensor_parallel(m, x, first, second):
    return m.lax.psum(m.numpy.tanh(x @ first) @ second, "x")


def ring_matmul(m, a, b):
    me, rows = m.lax.axis_index("x"), b.shape[0]

    def step(i, state):
        total, part = state
        columns = m.lax.dynamic_slice_in_dim(a, (me + i) % DEVICES * rows, rows, axis=1)
        ring = [(j, (j - 1) % DEVICES) for j in range(DEVICES)]
        return total + columns @ part, m.lax.ppermute(part, "x", ring)

    zeros = m.numpy.zeros((a.shape[0], b.shape[1]), a.dtype)
    return m.lax.fori_loop(0, DEVICES, step, (zeros, b))[0]


def halo(m, u):
    right = [(j, (j + 1) % DEVICES) for j in range(DEVICES)]
    left = [(j, (j - 1) % DEVICES) for j in range(DEVICES)]

    def step(u, _):
        before, after = m.lax.ppermute(u[-1:], "x", right), m.lax.ppermute(u[:1], "x", left)
        full = m.numpy.concatenate([before, u, after])
        return (full[:-2] + full[1:-1] + full[2:]) / 3, None

    return m.lax.scan(step, u, None, length=10)[0]


def attention(m, q, k, v):
    k, v = (m.lax.all_gather(x, "x", axis=0, tiled=True) for x in (k, v))
    return m.root.nn.softmax(q @ k.T / 8, axis=-1) @ v


ON_FOUR = {
    "data-parallel training, 5 steps": Divided(
        data_parallel, (normal(64, 8), normal(512, 64), normal(512, 8)), (None, 0, 0), None
    ),
    "tensor-parallel layers with psum": Divided(
        tensor_parallel, (normal(256, 256), normal(256, 512), normal(512, 256)), (None, 1, 0), None
    ),
    "ring matmul by ppermute, 256": Divided(
        ring_matmul, (normal(256, 256), normal(256, 256)), (0, 0), 0
    ),
    "halo exchange, 10 steps of 64k": Divided(halo, (normal(1 << 16),), (0,), 0),
    "sequence-parallel attention, 256 x 64": Divided(
        attention, (normal(256, 64), normal(256, 64), normal(256, 64)), (0, 0, 0), 0
    ),
}


# ---- what is compared ----


class Engine:
    """JAX, or one engine of farcall. Methods return functions to be timed."""

    def __init__(self, root, devices, library):
        self.root, self.devices = root, devices
        for name in ("numpy", "lax", "ffi", "nn"):
            setattr(self, name, importlib.import_module(f"{root.__name__}.{name}"))
        if library is not None:
            self.ffi.register_ffi_target(
                "engines_noop", self.ffi.pycapsule(library.noop_1), platform="cpu"
            )

    def timed(self, f, arrays, shardings):
        placed = [
            self.root.device_put(x, where) for x, where in zip(arrays, shardings, strict=True)
        ]
        return lambda: f(*placed).block_until_ready()

    def on_one(self, program):
        f = self.root.jit(lambda *arrays: program.function(self, *arrays))
        return self.timed(f, program.arrays, [self.devices[0]] * len(program.arrays))

    def on_four(self, program):
        sharding = self.root.sharding
        mesh = sharding.Mesh(np.array(self.devices), ("x",))

        def spec(axis):
            return sharding.PartitionSpec(*([] if axis is None else [None] * axis + ["x"]))

        f = self.root.shard_map(
            lambda *arrays: program.function(self, *arrays),
            mesh=mesh,
            in_specs=tuple(map(spec, program.inputs)),
            out_specs=spec(program.output),
            check_vma=False,
        )
        shardings = [sharding.NamedSharding(mesh, spec(axis)) for axis in program.inputs]
        return self.timed(self.root.jit(f), program.arrays, shardings)


def engines(library):
    os.environ["FARCALL_NUM_CPU_DEVICES"] = str(DEVICES)
    flag = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
    import farcall

    try:
        found = {"pjrt": Engine(farcall, farcall.devices("pjrt"), library)}
    except RuntimeError as error:
        sys.exit(str(error))
    found = {"native": Engine(farcall, farcall.devices("native"), None)} | found
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_platforms", "cpu")
        found["jax"] = Engine(jax, jax.devices(), library)
    return found


# ---- output ----


def verdict(case, times, most, which):
    if "jax" not in times:
        return ""
    ours, jax = times["pjrt"][which], times["jax"][which]
    if case in MOST_NS_ABOVE_JAX:
        promises = {
            f"{MOST_NS_ABOVE_JAX[case]} ns above JAX": ours - jax <= MOST_NS_ABOVE_JAX[case]
        }
    else:
        promises = {f"{most} of JAX": ours <= most * jax}
    if case in MOST_NS:
        promises[unit(MOST_NS[case])] = ours <= MOST_NS[case]
    return "; ".join(f"{text}: {'met' if met else 'MISSED'}" for text, met in promises.items())


def ratio(times, of, which):
    return times[of][which] / times["jax"][which]


def print_table(head, cases, most, which):
    names = "native | pjrt | JAX | native / JAX | pjrt / JAX | promised"
    print(f"| {head}, least (median) of | {names} |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for case, times in cases.items():
        cells = [
            least_and_median(times[name]) if name in times else "-"
            for name in ("native", "pjrt", "jax")
        ]
        for name in ("native", "pjrt"):
            cells.append(f"{ratio(times, name, which):.2g}" if "jax" in times else "-")
        print(f"| {case} | {' | '.join(cells)} | {verdict(case, times, most, which)} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--handlers", help="the library of handlers")
    parser.add_argument("--json", action="store_true", help="numbers, in nanoseconds")
    parser.add_argument("--quick", action="store_true", help="fewer blocks")
    args = parser.parse_args()
    blocks, block_ns, most_ns = (20, 1e6, 1e9) if args.quick else (400, 1e6, 8e9)
    found = engines(ctypes.CDLL(str(args.handlers or find_handlers())))

    results = {"on one device": {}, "divided among four devices": {}}
    for head, programs, method in zip(
        results, (ON_ONE, ON_FOUR), ("on_one", "on_four"), strict=True
    ):
        for case, program in programs.items():
            functions = {name: getattr(each, method)(program) for name, each in found.items()}
            times = compare(functions, blocks, block_ns, most_ns)
            results[head][case] = divided(times, getattr(program, "calls", 1))
    if args.json:
        json.dump(results, sys.stdout, indent=2)
        print()
        return
    for (head, cases), most, which in zip(
        results.items(), (MOST_OF_JAX, MOST_OF_JAX_DIVIDED), ("min", "median"), strict=True
    ):
        print_table(head, cases, most, which)


if __name__ == "__main__":
    main()
