"""Long constants 0, 1, 2, … are counted where they are read, and take no memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

COUNT = 10_000


def constant_bytes(compiled: Any) -> int:
    return compiled.memory_analysis().constant_size_in_bytes


def compiled(f: Callable[..., Any], *args: Any) -> Any:
    return fc.jit(f).lower(*args).compile()


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
def test_a_constant_that_counts_takes_no_memory(dtype: str) -> None:
    number = np.asarray(3, dtype)
    run = compiled(lambda n: fnp.arange(COUNT, dtype=dtype) * n, number)
    assert constant_bytes(run) < COUNT
    expected = np.arange(COUNT, dtype=dtype) * number
    np.testing.assert_array_equal(run(number), expected, strict=True)


def test_its_readers_may_broadcast_reshape_and_convert_it() -> None:
    x = fnp.ones((3, COUNT))

    def f(x: fc.Array) -> tuple[fc.Array, ...]:
        count = fnp.arange(COUNT)
        return x * count, count.reshape(100, -1) + 0.5, x[:, count[::1]] * (count % 7 == 0)

    run = compiled(f, x)
    assert constant_bytes(run) < COUNT
    count = np.arange(COUNT)
    wide, square, taken = run(x)
    np.testing.assert_array_equal(wide, np.broadcast_to(count.astype("f4"), (3, COUNT)))
    np.testing.assert_array_equal(square, count.reshape(100, -1) + np.float32(0.5))
    np.testing.assert_array_equal(taken, np.broadcast_to(count % 7 == 0, (3, COUNT)))


def test_loops_and_derivatives_read_it() -> None:
    @fc.jit
    def f(x: fc.Array) -> fc.Array:
        return fc.lax.fori_loop(0, 3, lambda _, y: y + x * fnp.arange(float(COUNT)), x)

    x = fnp.ones(COUNT)
    np.testing.assert_array_equal(f(x), 1 + 3 * np.arange(COUNT, dtype=np.float32))
    gradient = fc.grad(lambda x: f(x).sum())(x)
    np.testing.assert_array_equal(gradient, 1 + 3 * np.arange(COUNT, dtype=np.float32))


@pytest.mark.parametrize(
    "values",
    [
        np.arange(1, COUNT + 1),
        np.where(np.arange(COUNT) == COUNT - 1, 0, np.arange(COUNT)),
        np.concatenate([[-0.0], np.arange(1, COUNT)]).astype(np.float32),
        np.arange(COUNT).reshape(2, -1),
    ],
    ids=["from one", "another last one", "from negative zero", "of two dimensions"],
)
def test_other_constants_stay(values: np.ndarray) -> None:
    constant = fnp.asarray(values)
    run = compiled(lambda x: constant * x, fnp.ones(()))
    assert constant_bytes(run) >= COUNT
    found = np.asarray(run(fnp.ones(())))
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(values))


def test_results_and_what_is_read_out_of_order_stay() -> None:
    constant = fnp.arange(COUNT)
    places = fnp.asarray([5, 3])
    for f in (lambda _: constant, lambda i: constant[i], lambda i: fnp.sort(constant)[i]):
        run = compiled(f, places)
        assert constant_bytes(run) >= COUNT
    np.testing.assert_array_equal(compiled(lambda i: constant[i], places)(places), [5, 3])
