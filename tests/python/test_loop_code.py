"""Loops as machine code give the bits of their operations one by one."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from loop_code import FLOATS, INTS, MARKS, assert_same, check, corners, loops_of

pytestmark = MARKS

# ---- loops ---------------------------------------------------------------------------------------


def test_scans_load_and_store_slices_both_ways() -> None:
    xs = np.arange(36, dtype="float64").reshape(12, 3) / 7
    ns = np.arange(12, dtype="int32")
    flags = ns % 3 == 0

    def f(xs: Any, ns: Any, flags: Any, reverse: bool) -> Any:
        def step(c: Any, x: Any) -> Any:
            row, n, flag = x
            c = fnp.where(flag, c + row.sum() * n, c - row[1])
            return c, (row * c, ~flag, n + 1, c)

        return lax.scan(step, 0.25, (xs, ns, flags), reverse=reverse)

    for reverse in (False, True):
        check(functools.partial(f, reverse=reverse), xs, ns, flags)


def test_carries_that_change_places() -> None:
    def step(_: Any, c: Any) -> Any:
        a, b, _n, d = c
        return b, a + b, a, d

    check(lambda *c: lax.fori_loop(0, 21, step, c), 1, 2, 3, 4.5)
    check(lambda *c: lax.fori_loop(0, 20, lambda _, v: (v[2], v[0], v[1]), c), 1.0, 2.0, 3.0)


def test_no_steps_and_one() -> None:
    def f(n: Any, x: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 3), (0, x))

    compiled, _ = loops_of(f, 0, 2.5)
    for n in (0, 1, 2, 7):
        assert_same(compiled(n, 2.5), (n, 2.5 * 3**n))
    check(lambda x: lax.fori_loop(3, 3, lambda _, c: c + 1, x), 5)
    check(lambda x: lax.scan(lambda c, v: (c + v, c), 5.0, x), np.zeros(0))
    check(lambda x: lax.scan(lambda c, v: (c + v, c), 5.0, x), np.ones(1))


def test_loops_in_loops() -> None:
    def f(x: Any, n: Any) -> Any:
        def inner(c: Any) -> Any:
            return lax.while_loop(lambda v: (v > 1) & (v < 1e6), lambda v: v * 0.75 + n, c)

        def middle(i: Any, c: Any) -> Any:
            c = lax.cond(
                c > i, lambda: inner(c), lambda: lax.fori_loop(0, i, lambda _, v: v + n, c)
            )
            return c * 1.5

        def outer(c: Any, _: Any) -> Any:
            c = lax.fori_loop(0, 4, middle, c) + x
            return c, lax.scan(lambda s, v: (s + v, s * v), c, fnp.arange(3.0))[1]

        return lax.scan(outer, x, None, length=9)

    check(f, 3.25, 0.125)


def test_many_values_and_deep_nests() -> None:
    # More than there are registers.
    def step(_: Any, c: Any) -> Any:
        total = sum(c[1:], c[0])
        return tuple(c[i - 1] * 0.5 + c[i] / 3 - total * 0.01 * i for i in range(len(c)))

    for dtype in FLOATS:
        start = tuple(np.dtype(dtype).type(i) for i in range(24))
        check(lambda *c: lax.fori_loop(0, 30, step, c), *start)

    def integers(_: Any, c: Any) -> Any:
        total = sum(c[1:], c[0])
        return tuple((c[i - 1] ^ (c[i] << i)) + total // (i + 1) for i in range(len(c)))

    check(lambda *c: lax.fori_loop(0, 30, integers, c), *range(24))

    def nest(depth: int) -> Callable[[Any], Any]:
        if depth == 0:
            return lambda c: c * 1.0001 + depth
        below = nest(depth - 1)
        return lambda c: lax.fori_loop(0, 2, lambda i, v: below(v) + i, c)

    check(nest(8), 1.0)


def test_constants_of_a_loop() -> None:
    table = np.linspace(0, 1, 5)
    large = np.linspace(0, 1, 5000)

    def f(x: Any, scale: Any) -> Any:
        known = fnp.asarray(table)
        return lax.fori_loop(0, 7, lambda i, c: c * scale + known * known[2] + i, x)

    check(f, np.ones(5), 1.5)
    # One that no step reads may be of any size.
    check(lambda x, y: lax.scan(lambda c, _: (c + 1, None), (x, y)[0], None, length=5), 1.0, large)


def test_a_loop_that_becomes_code_on_its_way() -> None:
    def f(n: Any, x: Any) -> Any:
        def step(c: Any) -> Any:
            i, a, b = c
            return i + 1, b * 0.5 + a, a - i

        return lax.while_loop(lambda c: c[0] < n, step, (0, x, x))

    run = fc.jit(f)  # nothing asks for the code before it pays
    n = 60001
    i, a, b = 0, 1.25, 1.25
    for _ in range(n):
        i, a, b = i + 1, b * 0.5 + a, a - i
    assert_same(run(n, 1.25), (n, a, b))
    assert_same(run(3, 1.25), f(3, 1.25))


def test_donated_carries() -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 1000, lambda i, c: c * 0.5 + i, x)

    expected = fc.jit(f)(fnp.arange(4.0))
    assert_same(fc.jit(f, donate_argnums=0)(fnp.arange(4.0)), expected)


def test_batches_and_derivatives_of_loops() -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 40, lambda _, c: fnp.sin(c) * 1.1 + fnp.exp(-c * c), x)

    check(fc.vmap(f), np.linspace(-1, 1, 6))
    check(
        fc.vmap(lambda n: lax.while_loop(lambda v: v < 100, lambda v: v * 2 + 1, n)), np.arange(5)
    )
    value = fc.jit(fc.grad(f))(0.3)
    with fc.disable_jit():
        assert_same(value, fc.grad(f)(0.3))


# ---- what is left to kernels ---------------------------------------------------------------------


def test_the_report_says_why_a_loop_has_no_code() -> None:
    def why(f: Callable[..., Any], *args: Any) -> list[str]:
        return [loop.why_not for loop in loops_of(f, *args)[1]]

    big = np.ones((40, 40))
    assert why(lambda x: lax.fori_loop(0, 3, lambda _, c: fnp.sort(c), x), np.ones(3)) == ["sort"]
    assert why(lambda x: lax.fori_loop(0, 3, lambda _, c: c + 1, x), big) == [
        "an array of 1600 elements"
    ]
    assert why(lambda x: lax.fori_loop(0, 3, lambda _, c: c + 1, x), np.float16(1)) == [
        "elements of f16"
    ]
    assert why(lambda x: lax.fori_loop(0, 3, lambda _, c: c + 1, x), 1.0) == [""]
    loops = loops_of(
        lambda x: lax.fori_loop(
            0, 3, lambda _, c: lax.fori_loop(0, 2, lambda _, v: v + 1, c[0, 0]) + c, x
        ),
        big,
    )[1]
    assert [(loop.operation, loop.is_machine_code) for loop in loops] == [
        ("scan", False),
        ("scan", True),
    ]
    assert loops[0].location[0].endswith("test_loop_code.py")
    assert repr(loops[1]).startswith("scan runs as machine code at ")
    assert "equation by equation: an array of 1600 elements" in repr(loops[0])


def test_programs_that_become_too_long_are_left_to_kernels() -> None:
    def nest(depth: int) -> Callable[[Any], Any]:
        if depth == 0:
            return lambda c: c + 1
        below = nest(depth - 1)
        return lambda c: lax.scan(lambda v, x: (below(v) + x, v), c, fnp.arange(16))[0]

    outer, *_ = loops_of(nest(8), 0)[1]
    assert outer.why_not == "too many operations"
    compiled, _ = loops_of(nest(3), 0)
    with fc.disable_jit():
        assert_same(compiled(0), nest(3)(0))


SCRIPT = """
import ctypes, sys
import farcall as fc, numpy as np
from farcall import lax

if sys.argv[1] == "refuse":
    PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
    if ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0:
        sys.exit(77)
f = fc.jit(lambda x: lax.fori_loop(0, 100000, lambda i, c: c * np.float32(0.75) + i, x))
print(np.asarray(f(np.float32(1))).tobytes().hex())
print([loop.why_not for loop in f.lower(np.float32(1)).compile().report().loops])
"""


def run_script(argument: str, **environment: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, argument],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip("this kernel cannot refuse executable memory")
    assert done.returncode == 0, done.stderr
    bits, loops = done.stdout.splitlines()
    return bits, loops


def test_without_code_the_bits_are_the_same() -> None:
    bits, loops = run_script("")
    assert loops == "['']"
    assert run_script("", FARCALL_JIT="0") == (bits, "['the flag jit_loops is off']")
    without_avx2 = "['the processor has no AVX2, or FARCALL_ISA turns it off']"
    assert run_script("", FARCALL_ISA="baseline") == (bits, without_avx2)
    assert run_script("refuse") == (
        bits,
        "['the operating system does not allow executable memory']",
    )


def test_the_flag_switches_compiled_loops() -> None:
    compiled, (loop,) = loops_of(
        lambda x: lax.fori_loop(0, 50_000, lambda i, c: c * 0.75 + i, x), 1.5
    )
    assert loop.is_machine_code
    expected = compiled(1.5)
    assert fc.config.jit_loops is True
    fc.config.update("jit_loops", False)
    try:
        (loop,) = compiled.report().loops
        assert (loop.is_machine_code, loop.why_not) == (False, "the flag jit_loops is off")
        assert_same(compiled(1.5), expected)
        assert_same(fc.jit(lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))(9), 9)
    finally:
        fc.config.update("jit_loops", True)
    (loop,) = compiled.report().loops
    assert loop.is_machine_code
    assert_same(compiled(1.5), expected)


# ---- interrupts and threads ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        lambda c: c + 1,
        lambda c: (c * 3) // 7,
        lambda c: fnp.sin(c * 1e-3).astype("int64") + c * 0,
        lambda c: lax.lgamma(c * 1e-3).astype("int64") + c * 0,
    ],
    ids=["sum", "division", "function", "call"],
)
def test_endless_loops_can_be_interrupted(body: Callable[[Any], Any]) -> None:
    run = fc.jit(lambda x: lax.while_loop(lambda c: c != -1, body, x))

    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            run(5)
    finally:
        signal.signal(signal.SIGINT, before)
        thread.join()
    # It is whole afterwards.
    check(lambda x: lax.fori_loop(0, 100, lambda _, c: c + 2, x), 5)


def test_threads_make_the_code_once_and_share_it() -> None:
    run = fc.jit(lambda x: lax.fori_loop(0, 30000, lambda i, c: c * np.float32(0.5) + i, x))
    results: list[Any] = [None] * 8

    def call(i: int) -> None:
        results[i] = run(np.float32(i))

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = np.arange(8, dtype="float32")
    for n in range(30000):
        expected = expected * np.float32(0.5) + np.float32(n)
    assert_same(results, list(expected))


# ---- random loops --------------------------------------------------------------------------------


class RandomLoop:
    """A step of random operations on values of random dtypes and small shapes."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        width = self.random.choice([1, 1, 2, 3, 4, 8])
        self.dtypes = self.random.sample(("bool", *FLOATS, *INTS), self.random.randint(1, 3))
        self.shapes = [() if self.random.random() < 0.5 else (width,) for _ in range(5)]
        self.seed = seed

    def start(self) -> list[np.ndarray]:
        picked = np.random.default_rng(self.seed)
        return [
            np.asarray(picked.choice(corners(self.dtypes[i % len(self.dtypes)]), shape))
            for i, shape in enumerate(self.shapes)
        ]

    def operation(self, r: random.Random, values: list[Any]) -> Any:
        x = r.choice(values)
        same = [v for v in values if v.dtype == x.dtype and (v.shape == x.shape or v.shape == ())]
        y = r.choice(same)
        kind = x.dtype.kind
        choices: list[Callable[[], Any]] = [
            lambda: fnp.where(x < y, x, y),
            lambda: fnp.where(x == y, y, x),
            lambda: fnp.maximum(x, y),
            lambda: x.astype(r.choice(self.dtypes)),
        ]
        if x.shape:
            choices += [lambda: x[::-1], lambda: x[0]]
            choices += [lambda: fnp.concatenate([x[1:], x[:1]])] if x.size > 1 else []
        else:
            choices += [lambda: lax.cond(x > y, lambda: x, lambda: y)]
            choices += [lambda: lax.fori_loop(0, 3, lambda _, c: fnp.where(c < y, y, c), x)]
        if kind == "b":
            choices += [lambda: x & y, lambda: x | y, lambda: x ^ y, lambda: ~x]
        elif kind in "iu":
            choices += [lambda: x + y, lambda: x - y, lambda: x * y, lambda: lax.div(x, y)]
            choices += [lambda: lax.rem(x, y), lambda: x ^ y, lambda: x << y, lambda: x >> y]
        else:
            choices += [lambda: x + y, lambda: x - y, lambda: x * y, lambda: x / y]
            choices += [lambda: fnp.exp(x), lambda: fnp.tanh(x), lambda: fnp.floor(x), lambda: -x]
            choices += [lambda: fnp.sin(x), lambda: fnp.sqrt(fnp.abs(x))]
        return r.choice(choices)()

    def __call__(self, carry: list[Any], xs: Any) -> Any:
        r = random.Random(self.seed + 1)

        def step(carry: Any, x: Any) -> Any:
            r.seed(self.seed + 1)
            values = [*carry, *([x] if x is not None else [])]
            for _ in range(12):
                values.append(self.operation(r, values))
            new = [
                next(v for v in reversed(values) if (v.dtype, v.shape) == (c.dtype, c.shape))
                for c in carry
            ]
            return new, values[-1]

        return lax.scan(step, carry, xs)


@pytest.mark.parametrize("block", range(8))
def test_random_loops(block: int) -> None:
    for seed in range(25 * block, 25 * block + 25):
        loop = RandomLoop(seed)
        xs = np.resize(corners(loop.dtypes[0]), (9,))
        check(loop, [fnp.asarray(v) for v in loop.start()], xs, what=f"seed {seed}")
