#!/usr/bin/env python3
"""farcall against JAX: functions of numpy, scipy and lax, their gradients and batches, one by one.

  benchmarks/python/functions.py [--size ELEMENTS] [--dtype DTYPE] [--json] [WORD ...]

With words, only functions whose names contain one of them. The dtype is that of all floats;
functions that do not take it are left out. Both libraries' functions are jitted and take turns in
one process; the table has the functions that take longest beside JAX first.
"""

import argparse
import importlib
import json
import sys
import types

import ml_dtypes
import numpy as np
from timing import compare, least_and_median

UNARY = (
    "exp exp2 expm1 log log2 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh "
    "arcsinh abs sign floor ceil rint trunc square reciprocal isnan nan_to_num sinc i0"
)
BINARY = (
    "add multiply divide maximum arctan2 power hypot fmod remainder floor_divide copysign "
    "logaddexp heaviside nextafter less equal"
)
INTEGER = "add multiply floor_divide remainder bitwise_and gcd power maximum"
REDUCTIONS = "sum prod max min mean std var argmax any all median cumsum cumprod count_nonzero"
SPECIAL = "erf erfc erfinv gammaln digamma expit logit i0e ndtr ndtri log_ndtr entr"
ACTIVATIONS = "relu sigmoid softplus silu elu gelu leaky_relu log_sigmoid selu mish"
MATRICES = "cholesky inv det qr svd eigh slogdet pinv"
DTYPES = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}


class Library(types.SimpleNamespace):
    def __init__(self, name):
        self.module = importlib.import_module(name)
        for part in ("numpy", "lax", "nn", "random", "scipy.special", "scipy.linalg"):
            setattr(self, part.rpartition(".")[2], importlib.import_module(f"{name}.{part}"))
        self.np = self.numpy

    def ready(self, results):
        for result in self.module.tree_util.tree_leaves(results):
            result.block_until_ready()


def operands(size):
    """numpy arrays, by name; `size` is a square of a power of two."""
    random = np.random.default_rng(0)
    side = int(size**0.5)
    x, y = random.standard_normal((2, size), np.float32)
    part = max(16, side // 4)
    square = x[: part * part].reshape(part, part)
    return {
        "x": x,
        "y": y,
        "p": (0.98 * random.random(size) + 0.01).astype(np.float32),
        "i": random.integers(-1000, 1000, size).astype(np.int32),
        "k": random.integers(1, side, size).astype(np.int32),
        "m": random.standard_normal((side, side), np.float32),
        "t": random.standard_normal((side // 16, side // 16, 256), np.float32),
        "image": random.standard_normal((max(1, size // 65536), 64, 64, 16), np.float32),
        "rows": x[: size // 3 * 3].reshape(-1, 3),
        "pairs": y[: size // 3 * 3].reshape(-1, 3),
        "c": (x + 1j * y).astype(np.complex64),
        "h": x.astype(np.float16),
        "definite": (square @ square.T / part + np.eye(part)).astype(np.float32),
        "small": (random.standard_normal((size // 256, 4, 4)) + 4 * np.eye(4)).astype(np.float32),
    }


def named(part, names, *taken):
    """Functions of a module of the library that take these operands."""
    return {
        name: (lambda lib, *a, name=name: getattr(getattr(lib, part), name)(*a), taken)
        for name in names.split()
    }


def elementwise():
    rows = named("np", UNARY, "p") | named("np", BINARY, "p", "y") | named("special", SPECIAL, "p")
    rows |= named("nn", ACTIVATIONS, "x")
    rows |= {f"{name} of int32": row for name, row in named("np", INTEGER, "i", "k").items()}
    rows["where"] = lambda lib, x, y: lib.np.where(x > 0, x, y), ("x", "y")
    rows["clip"] = lambda lib, x: lib.np.clip(x, -1, 1), ("x",)
    rows["complex product"] = lambda lib, c: c * c + 1, ("c",)
    rows["complex abs"] = lambda lib, c: lib.np.abs(c), ("c",)
    rows["float16 sum of two"] = lambda lib, h: h + h, ("h",)
    rows["to uint8"] = lambda lib, p: (p * 255).astype("uint8"), ("p",)
    return rows


def reductions():
    rows = {}
    for name, axis in ((name, axis) for name in REDUCTIONS.split() for axis in (0, 1)):
        f = (lambda lib, m, name=name, axis=axis: getattr(lib.np, name)(m, axis=axis)), ("m",)
        rows[f"{name} along {axis}"] = f
    for name in ("max", "sum", "prod", "any", "argmax"):
        rows[f"{name} of rows of 3"] = (
            lambda lib, rows, name=name: getattr(lib.np, name)(rows, axis=1),
            ("rows",),
        )
        rows[f"{name} of 3 columns"] = (
            lambda lib, rows, name=name: getattr(lib.np, name)(rows, axis=0),
            ("rows",),
        )
    rows["softmax"] = lambda lib, m: lib.nn.softmax(m), ("m",)
    rows["logsumexp"] = lambda lib, m: lib.special.logsumexp(m, axis=-1), ("m",)
    rows["standardize"] = lambda lib, m: lib.nn.standardize(m), ("m",)
    rows["norm of rows"] = lambda lib, m: lib.np.linalg.norm(m, axis=1), ("m",)
    rows["cummax"] = lambda lib, m: lib.lax.cummax(m, axis=1), ("m",)
    rows["windows of 64"] = (
        lambda lib, x: lib.lax.reduce_window(x, -np.inf, lib.lax.max, (64,), (64,), "VALID"),
        ("x",),
    )
    rows["max pool"] = max_pool, ("image",)
    rows["average pool"] = (
        lambda lib, image: lib.lax.reduce_window(
            image, 0.0, lib.lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"
        ),
        ("image",),
    )
    return rows


def max_pool(lib, image):
    window = (1, 2, 2, 1)
    return lib.lax.reduce_window(image, -np.inf, lib.lax.max, window, window, "VALID")


def movements():
    return {
        "transpose": (lambda lib, m: m.T, ("m",)),
        "transpose of 3 columns": (lambda lib, rows: rows.T, ("rows",)),
        "transpose of 3 dimensions": (lambda lib, t: lib.np.transpose(t, (0, 2, 1)), ("t",)),
        "concatenate": (lambda lib, m: lib.np.concatenate([m, m], 1), ("m",)),
        "stack": (lambda lib, x, y: lib.np.stack([x, y], -1), ("x", "y")),
        "tile": (lambda lib, x: lib.np.tile(x, (4, 1)), ("x",)),
        "repeat": (lambda lib, x: lib.np.repeat(x, 4), ("x",)),
        "roll": (lambda lib, m: lib.np.roll(m, 5, axis=1), ("m",)),
        "pad": (lambda lib, m: lib.np.pad(m, 3), ("m",)),
        "pad by reflection": (lambda lib, m: lib.np.pad(m, 3, mode="reflect"), ("m",)),
        "slice with a step": (lambda lib, x: x[::2] * 1.0, ("x",)),
        "columns with a step": (lambda lib, m: m[:, ::2] * 1.0, ("m",)),
        "reversed": (lambda lib, m: m[::-1], ("m",)),
        "tril": (lambda lib, m: lib.np.tril(m), ("m",)),
        "outer": (lambda lib, m: lib.np.outer(m[0], m[1]), ("m",)),
        "kron": (
            lambda lib, m: lib.np.kron(m[:32, :32], m[: len(m) // 32, : len(m) // 32]),
            ("m",),
        ),
        "cross": (lambda lib, a, b: lib.np.cross(a, b), ("rows", "pairs")),
        "take rows": (lambda lib, m, k: m[k[: len(m)]], ("m", "k")),
        "take columns": (lambda lib, m, k: m[:, k[: len(m)]], ("m", "k")),
        "take along": (
            lambda lib, m, k: lib.np.take_along_axis(m, k.reshape(m.shape), 1),
            ("m", "k"),
        ),
        "set elements": (lambda lib, x, k: x.at[k].set(1.0), ("x", "k")),
        "add to columns": (lambda lib, m, k: m.at[:, k[: len(m)]].add(1.0), ("m", "k")),
        "one hot": (lambda lib, k: lib.nn.one_hot(k[:65536], 100), ("k",)),
        "sort": (lambda lib, m: lib.np.sort(m), ("m",)),
        "argsort": (lambda lib, m: lib.np.argsort(m), ("m",)),
        "searchsorted": (
            lambda lib, x, y: lib.np.searchsorted(lib.np.sort(y[:1000]), x),
            ("x", "y"),
        ),
        "histogram": (lambda lib, x: lib.np.histogram(x, 50)[0], ("x",)),
        "bincount": (lambda lib, k: lib.np.bincount(k, length=1024), ("k",)),
        "interp": (
            lambda lib, x: lib.np.interp(
                x, lib.np.linspace(-3, 3, 100), lib.np.linspace(0, 1, 100)
            ),
            ("x",),
        ),
    }


def algebra():
    rows = {
        name: (lambda lib, a, name=name: getattr(lib.np.linalg, name)(a), ("definite",))
        for name in MATRICES.split()
    }
    rows |= {
        "solve": (lambda lib, a: lib.np.linalg.solve(a, a[:, :8]), ("definite",)),
        "expm": (lambda lib, a: lib.linalg.expm(0.1 * a[:64, :64]), ("definite",)),
        "inverses of 4 by 4": (lambda lib, a: lib.np.linalg.inv(a), ("small",)),
        "eigh of 4 by 4": (lambda lib, a: lib.np.linalg.eigh(a), ("small",)),
        "dot": (lambda lib, x, y: lib.np.dot(x, y), ("x", "y")),
        "matrix and vector": (lambda lib, m: m @ m[0], ("m",)),
        "products of int32": (
            lambda lib, i: i[:16384].reshape(128, 128) @ i[:16384].reshape(128, 128),
            ("i",),
        ),
        "einsum bij,bkj->bik": (lambda lib, t: lib.np.einsum("bij,bkj->bik", t, t), ("t",)),
        "einsum ij,ij->j": (lambda lib, m: lib.np.einsum("ij,ij->j", m, m), ("m",)),
        "fft": (lambda lib, c: lib.np.fft.fft(c.reshape(-1, 1024)), ("c",)),
        "rfft": (lambda lib, m: lib.np.fft.rfft(m), ("m",)),
        "convolve": (lambda lib, x: lib.np.convolve(x, x[:15], mode="same"), ("x",)),
        "random normal": (
            lambda lib, x: x * lib.random.normal(lib.random.key(0), x.shape),
            ("x",),
        ),
    }
    return rows


def gradients():
    """Of the sum of the function's squares."""
    wanted = elementwise() | reductions() | movements() | algebra()
    names = (
        "tanh log power softplus gelu where clip",
        "softmax logsumexp standardize",
        "transpose stack pad roll outer cross sort interp dot cholesky inv solve",
    )
    rows = {name: wanted[name] for name in " ".join(names).split()}
    rows |= {
        name: wanted[name]
        for name in (
            "sum along 0",
            "max along 1",
            "cumsum along 1",
            "max pool",
            "average pool",
            "take columns",
            "slice with a step",
        )
    }
    rows["diff"] = lambda lib, m: m[1:] - m[:-1], ("m",)
    rows["5-point stencil"] = stencil, ("m",)

    def gradient(f):
        def total(lib, *a):
            return (f(lib, *a) ** 2).sum()

        return lambda lib, *a: lib.module.grad(lambda *b: total(lib, *b))(*a)

    return {f"gradient of {name}": (gradient(f), taken) for name, (f, taken) in rows.items()}


def stencil(lib, m):
    inside = m[1:-1, 1:-1]
    return m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2] - 4 * inside


def batches():
    def along(axes, f):
        return lambda lib, *a: lib.module.vmap(lambda *b: f(lib, *b), in_axes=axes)(*a)

    return {
        "vmap of dot, rows": (along((0, 0), lambda lib, a, b: lib.np.dot(a, b)), ("m", "m")),
        "vmap of dot, columns": (along((1, 1), lambda lib, a, b: lib.np.dot(a, b)), ("m", "m")),
        "vmap of norm": (along(0, lambda lib, a: lib.np.linalg.norm(a)), ("m",)),
        "vmap of softmax, columns": (along(1, lambda lib, a: lib.nn.softmax(a)), ("m",)),
        "vmap of cond": (
            along(0, lambda lib, a: lib.lax.cond(a > 0, lib.np.sin, lambda a: a * 2, a)),
            ("x",),
        ),
        "vmap of fori_loop": (
            along(0, lambda lib, a: lib.lax.fori_loop(0, 20, lambda i, c: c * c - 0.5, a)),
            ("x",),
        ),
        "vmap of scan": (
            along(
                0,
                lambda lib, a: lib.lax.scan(lambda c, q: (c * 0.9 + q, c), lib.np.float32(0), a)[1],
            ),
            ("m",),
        ),
        "vmap of inverse": (along(0, lambda lib, a: lib.np.linalg.inv(a)), ("small",)),
    }


def measured(row, arrays, libraries):
    function, taken = row
    calls = {}
    for name, lib in libraries.items():
        compiled = lib.module.jit(lambda *a, lib=lib: function(lib, *a))
        own = [lib.np.asarray(arrays[operand]) for operand in taken]
        calls[name] = lambda compiled=compiled, own=own, lib=lib: lib.ready(compiled(*own))
        calls[name]()
    times = compare(calls, blocks=8, block_ns=2e6, most_ns=1e9)
    ratios = {key: times["farcall"][key] / times["jax"][key] for key in ("min", "median")}
    return {**times, "ratio": ratios}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*")
    parser.add_argument("--size", type=int, default=1 << 20)
    parser.add_argument("--dtype", default="float32", choices=sorted(DTYPES))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.size < 65536 or options.size != int(options.size**0.5) ** 2:
        parser.error("--size must be a square number, at least 65536")
    libraries = {"farcall": Library("farcall"), "jax": Library("jax")}
    for library in libraries.values():
        library.module.config.update("jax_enable_x64", options.dtype == "float64")
    arrays = {
        name: array.astype(DTYPES[options.dtype]) if array.dtype == np.float32 else array
        for name, array in operands(options.size).items()
    }
    rows = elementwise() | reductions() | movements() | algebra() | gradients() | batches()
    chosen = {
        name: row
        for name, row in rows.items()
        if not options.words or any(word in name for word in options.words)
    }
    found = {}
    for name, row in chosen.items():
        try:
            found[name] = measured(row, arrays, libraries)
        except (TypeError, ValueError) as error:
            if options.dtype == "float32":
                raise
            print(f"{name}: {error}".splitlines()[0], file=sys.stderr)
    order = sorted(found, key=lambda name: found[name]["ratio"]["min"], reverse=True)
    if options.json:
        print(json.dumps({name: found[name] for name in order}, indent=1))
        return
    print(f"{'least (median) time':32} {'farcall':>20} {'JAX':>20}  farcall / JAX")
    for name in order:
        times = found[name]
        print(
            f"{name:32} {least_and_median(times['farcall']):>20} "
            f"{least_and_median(times['jax']):>20} {times['ratio']['min']:8.2f} "
            f"({times['ratio']['median']:.2f})"
        )


if __name__ == "__main__":
    main()
