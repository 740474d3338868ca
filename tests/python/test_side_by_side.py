"""Independent equations that run for long, which the engine runs at the same time."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax


def normal(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) / 8).astype(np.float32)


def powers(x: Any) -> Any:
    """A loop of products: about a millisecond."""
    return lax.fori_loop(0, 200, lambda _, c: fnp.tanh(c @ x), x)


def until_small(x: Any) -> Any:
    return lax.while_loop(lambda c: fnp.abs(c).max() > 1e-3, lambda c: fnp.tanh(c @ x) * 0.9, x)


def assert_each_as_alone(functions: list[Any], arguments: list[np.ndarray]) -> None:
    def all_of_them(*args: Any) -> Any:
        return [f(x) for f, x in zip(functions, args, strict=True)]

    run = fc.jit(all_of_them)
    alone = [np.array(fc.jit(f)(x)) for f, x in zip(functions, arguments, strict=True)]
    for _ in range(3):
        for got, wanted in zip(run(*arguments), alone, strict=True):
            np.testing.assert_array_equal(np.array(got), wanted)


def test_results_have_the_bits_of_each_alone() -> None:
    assert_each_as_alone([powers, until_small], [normal(0, 32, 32), normal(1, 32, 32)])
    lines = [normal(seed, 1 << 17) for seed in range(4)]
    assert_each_as_alone(
        [fnp.cumsum, fnp.fft.fft, lambda x: lax.top_k(x, 5)[0], fnp.cumprod], lines
    )


def test_chains_of_them() -> None:
    """What a loop needs, and what needs its results, is computed before and after it."""
    x, y = normal(2, 32, 32), normal(3, 32, 32)

    def f(x: Any, y: Any) -> Any:
        first = powers(x).sum() + 1
        second = powers(powers(y * 2) + 1)
        return first * second

    wanted = (fc.jit(powers)(x).sum() + 1) * fc.jit(powers)(fc.jit(powers)(y * 2) + 1)
    np.testing.assert_allclose(np.array(fc.jit(f)(x, y)), np.array(wanted), rtol=1e-6)


def test_a_donated_array_that_two_loops_read() -> None:
    x = normal(4, 32, 32)
    wanted = np.array(fc.jit(powers)(x)), np.array(fc.jit(until_small)(x))
    f = fc.jit(lambda x: (powers(x), until_small(x)), donate_argnums=0)
    for _ in range(3):
        for got, each in zip(f(fnp.array(x)), wanted, strict=True):
            np.testing.assert_array_equal(np.array(got), each)


def test_within_a_callback_of_a_program_and_a_derivative() -> None:
    x, y = normal(5, 32, 32), normal(6, 32, 32)
    both = fc.jit(lambda x, y: powers(x) + powers(y))

    def inside(x: Any, y: Any) -> Any:
        return np.array(both(x, y))

    outside = fc.jit(
        lambda x, y: fc.pure_callback(inside, fc.ShapeDtypeStruct(x.shape, x.dtype), x, y)
    )
    np.testing.assert_array_equal(np.array(outside(x, y)), np.array(both(x, y)))

    def loss(x: Any) -> Any:
        return powers(x).sum() + powers(x.T * 0.5).sum()

    got = fc.jit(fc.grad(loss))(x)
    wanted = fc.grad(lambda x: powers(x).sum())(x) + fc.grad(lambda x: powers(x.T * 0.5).sum())(x)
    np.testing.assert_allclose(np.array(got), np.array(wanted), rtol=2e-4, atol=1e-5)


def test_a_profile_has_both() -> None:
    f = fc.jit(lambda x, y: (powers(x), powers(y)))
    x, y = normal(7, 32, 32), normal(8, 32, 32)
    wanted = f(x, y)
    with fc.profile() as profile:
        got = f(x, y)
    assert sum(row.calls for row in profile.rows if row.category == "loop") == 2
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(np.array(a), np.array(b))


def test_endless_loops_are_interrupted() -> None:
    def endless(x: Any) -> Any:
        return lax.while_loop(lambda _: True, lambda c: fnp.tanh(c @ x), x)

    f = fc.jit(lambda x, y: (endless(x), endless(y)))
    x, y = normal(9, 32, 32), normal(10, 32, 32)
    f.lower(x, y).compile()

    def interrupt() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begin = time.monotonic()
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            f(x, y)
    finally:
        signal.signal(signal.SIGINT, before)
        thread.join()
    assert time.monotonic() - begin < 10
    both = fc.jit(lambda x, y: (powers(x), powers(y)))
    np.testing.assert_array_equal(np.array(both(x, y)[1]), np.array(fc.jit(powers)(y)))
