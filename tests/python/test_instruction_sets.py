"""Every instruction set of the processor gives the same bits; FARCALL_ISA chooses among them."""

from __future__ import annotations

import os
import subprocess
import sys

NAMES = ("baseline", "sse4", "avx2", "avx512", "vnni", "amx")

# Prints a line for each operation: its name and a hash of the bits of its results.
SCRIPT = """
import hashlib
import farcall.numpy as fnp
import numpy as np
from farcall import jit, lax, nn
from farcall.scipy import special

random = np.random.default_rng(5)
special_values = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 1e-38, 3e38, 1.0, -1.0, 0.5]
drawn = random.normal(size=997) * 2.0 ** random.integers(-20, 20, 997)
x = np.concatenate([special_values, drawn])
y = random.permutation(x)
table = random.normal(size=(131, 331))
rows = random.integers(-131, 131, 500)


def show(name, result):
    result = np.asarray(result)
    if result.dtype.kind not in "biu":
        result = result.astype("complex128" if result.dtype.kind == "c" else "float64")
        result = np.where(np.isnan(result), np.nan, result)
    print(name, hashlib.sha256(result.tobytes()).hexdigest()[:16])


UNARY = [
    *(getattr(fnp, n) for n in "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan".split()),
    *(getattr(fnp, n) for n in "sinh cosh tanh arcsin arccos arctan arcsinh arccosh".split()),
    *(getattr(fnp, n) for n in "arctanh floor ceil rint abs sign square negative".split()),
    *(getattr(special, n) for n in "erf erfc erfinv expit".split()),
    lax.rsqrt,
]
BINARY = [getattr(fnp, n) for n in "add subtract multiply divide maximum minimum".split()]
BINARY += [getattr(fnp, n) for n in "less less_equal equal not_equal arctan2 power".split()]
REDUCTIONS = [getattr(fnp, n) for n in "sum prod max min mean argmax argmin any all".split()]
np.seterr(all="ignore")
for dtype in ("float16", "bfloat16", "float32", "float64"):
    a, b, t = (fnp.asarray(v).astype(dtype) for v in (x, y, table))
    for f in UNARY:
        show(f"{f.__name__} {dtype}", f(a))
    for f in BINARY:
        show(f"{f.__name__} {dtype}", f(a, b))
    for f in REDUCTIONS:
        for axis in (0, 1, None):
            show(f"{f.__name__} {dtype} {axis}", f(t, axis=axis))
    for f in (fnp.sort, fnp.argsort):
        show(f"{f.__name__} {dtype}", f(a))
        for axis in (0, 1):
            show(f"{f.__name__} {dtype} {axis}", f(t, axis=axis))
    show(f"lexsort {dtype}", fnp.lexsort((a, fnp.rint(b))))
    show(f"take {dtype}", t[rows])
    show(f"take elements {dtype}", t[:, 0][rows])
    show(f"columns {dtype}", jit(lambda t: ((t - t[0]) * t).sum(0))(t))
    show(f"add at rows {dtype}", t.at[rows].add(t[rows[::-1]]))
    show(f"add at elements {dtype}", a.at[rows].add(b[: rows.size]))
    show(f"clip {dtype}", fnp.clip(a, -1.5, 2))
    show(f"where {dtype}", fnp.where(a < b, a, b))
    for other in ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "complex64"):
        show(f"{dtype} to {other}", a.astype(other))
for dtype in ("int8", "uint16", "int32", "uint32", "int64"):
    a = fnp.asarray(random.integers(0, 1 << 30, 1001)).astype(dtype)
    b = fnp.asarray(random.integers(0, 1 << 30, 1001)).astype(dtype)
    t = fnp.asarray(random.integers(-(1 << 30), 1 << 30, (131, 331))).astype(dtype)
    for f in BINARY[:3] + BINARY[4:10]:
        show(f"{f.__name__} {dtype}", f(a, b))
    for f in REDUCTIONS:
        for axis in (0, 1, None):
            show(f"{f.__name__} {dtype} {axis}", f(t, axis=axis))
    for other in ("bool", "int8", "uint32", "int64", "float16", "float32", "float64"):
        show(f"{dtype} to {other}", a.astype(other))
SIZES = ((1, 64, 1), (3, 65, 17), (16, 64, 16), (33, 130, 40), (64, 2049, 31), (700, 64, 530))
for dtype in ("int8", "uint8", "int16"):
    for m, k, n in SIZES:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        a, b = (random.integers(low, high + 1, s).astype(dtype) for s in ((m, k), (k, n)))
        a[0, 0] = b[0, 0] = low
        exact = (a.astype("int64") @ b.astype("int64")).astype("int32")
        for rows, columns in ((1, 0), (0, 0), (1, 1)):
            left = a if rows == 1 else a.T.copy()
            right = b if columns == 0 else b.T.copy()
            dims = (((rows,), (columns,)), ((), ()))
            found = np.asarray(lax.dot_general(left, right, dims, preferred_element_type="int32"))
            assert (found == exact).all(), (dtype, m, k, n, dims)
        show(f"product {dtype} {m} {k} {n}", found)
c = fnp.asarray((x + 1j * y).astype("complex64"))
show("complex", c * c[::-1] - c)
for dtype in ("float16", "bfloat16"):
    a, b, t = (fnp.asarray(v).astype(dtype) for v in (x, y, table))
    show(f"chain {dtype}", jit(lambda a, b: fnp.tanh(a * b + a) - 2 * b)(a, b))
    show(f"softmax {dtype}", jit(nn.softmax)(t))
for dtype in ("float32", "float64", "int32", "complex64"):
    a = fnp.asarray(x[12:] * 3).astype(dtype)
    for power in (3, 4, 7) if dtype == "int32" else (-7, -2, -1, 0, 3, 4, 7, 50):
        show(f"integer power {power} {dtype}", lax.integer_pow(a, power))
for shape in ((331,), (4, 4096), (30, 77), (3, 143), (19, 1000)):
    for dtype in ("complex64", "complex128"):
        a = fnp.asarray(random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)
        for f in (fnp.fft.fft, fnp.fft.ifft, fnp.fft.irfft, fnp.fft.fftn):
            show(f"{f.__name__} {shape} {dtype}", f(a))
        show(f"rfft {shape} {dtype}", fnp.fft.rfft(a.real))
"""


def run(name: str, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "FARCALL_ISA": name, "FARCALL_ENABLE_X64": "1"},
        text=True,
        capture_output=True,
        check=False,
    )


def test_all_instruction_sets_give_the_same_bits() -> None:
    lines: dict[str, list[str]] = {}
    for name in NAMES:
        done = run(name, SCRIPT)
        told = f"{name} is not supported by this processor or this "
        if f"{told}build." in done.stderr or f"{told}system." in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
        lines[name] = done.stdout.splitlines()
        assert len(lines[name]) > 400
    assert lines
    first = next(iter(lines.values()))
    for name, found in lines.items():
        assert [pair for pair in zip(first, found, strict=True) if pair[0] != pair[1]] == [], name


def test_an_unknown_instruction_set_is_told() -> None:
    done = run("sse9", "import farcall.numpy as fnp; fnp.exp(fnp.ones(3))")
    assert done.returncode != 0
    names = '"baseline", "sse4", "avx2", "avx512", "vnni" or "amx"'
    text = f'environment variable FARCALL_ISA: expected {names}, got "sse9".'
    assert text in done.stderr
