"""Products of vectors and matrices in loops that run as machine code."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from loop_code import FLOATS, MARKS, assert_same, loops_of

pytestmark = MARKS


def normal(seed: int, *shape: int, dtype: str = "float32", scale: float = 1) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def check(f: Any, *args: Any, what: str = "") -> None:
    """Machine code for all loops of `f`, and the bits of the same program without it."""
    compiled, loops = loops_of(f, *args)
    assert loops, what
    assert [loop.why_not for loop in loops] == [""] * len(loops), what
    results = compiled(*args)
    fc.config.update("jit_loops", False)
    try:
        assert_same(results, compiled(*args), what)
    finally:
        fc.config.update("jit_loops", True)


def over_rows(f: Any, rows: np.ndarray, *others: Any) -> None:
    """Checks f(row, *others) for each row, in a scan whose slices are the rows."""
    check(
        lambda rows, *others: lax.scan(lambda c, row: (c, f(row, *others)), 0.0, rows)[1],
        rows,
        *others,
        what=f"{rows.dtype}{rows.shape} and {[np.shape(other) for other in others]}",
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("depth", [2, 3, 4, 5, 7, 8, 30, 32, 64, 127, 255, 256])
def test_a_vector_times_a_matrix_gives_the_bits_of_the_kernel(depth: int, dtype: str) -> None:
    rows = normal(0, 6, depth, dtype=dtype)
    square = normal(1, depth, depth, dtype=dtype)
    over_rows(lambda row, m: row @ m, rows, square)
    over_rows(lambda row, m: m.T @ row, rows, square)
    over_rows(lambda row, m: m @ row, rows, square)
    over_rows(lambda row, m: row @ m.T, rows, square)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(16, 64), (64, 16), (32, 128), (128, 32), (240, 16), (16, 256)])
def test_matrices_that_are_not_square(shape: tuple[int, int], dtype: str) -> None:
    depth, columns = shape
    matrix = normal(2, depth, columns, dtype=dtype)
    over_rows(lambda row, m: row @ m, normal(3, 5, depth, dtype=dtype), matrix)
    over_rows(lambda row, m: m @ row, normal(4, 5, columns, dtype=dtype), matrix)
    over_rows(lambda row, m: row[None] @ m, normal(3, 5, depth, dtype=dtype), matrix)


def test_special_values_pass_through_products() -> None:
    rows = np.float32(
        [
            [np.nan, 1, -0.0, np.inf] * 4,
            [0, -np.inf, 1e-40, 3e38] * 4,
            [-0.0] * 16,
        ]
    )
    matrix = normal(5, 16, 16)
    matrix[3, :4] = [np.inf, np.nan, 0, -0.0]
    over_rows(lambda row, m: row @ m, rows, matrix)
    over_rows(lambda row, m: m @ row, rows, matrix)


def test_products_of_matrices_that_the_loop_changes() -> None:
    start = normal(6, 4, 4, scale=0.3)
    check(lambda x: lax.fori_loop(0, 5, lambda _, c: c @ c + x, x), start)
    check(lambda x: lax.fori_loop(0, 5, lambda _, c: c @ c.T - x, x), start)
    vector = normal(7, 4)
    step = lambda _, c: (c[0] @ c[1], c[1] * c[1])  # noqa: E731
    check(lambda x, v: lax.fori_loop(0, 5, step, (v, x)), np.outer(vector, vector), vector)
    numbers = np.arange(16, dtype=np.int32).reshape(4, 4)
    check(lambda m, v: lax.fori_loop(0, 5, lambda _, c: c @ m - v, v), numbers, numbers[1] - 5)


def test_inner_products_and_outer_products() -> None:
    x = normal(8, 16)
    check(lambda x: lax.fori_loop(0, 5, lambda _, c: c * (c @ x), x), x)
    check(lambda x: lax.fori_loop(0, 3, lambda _, c: c + (x[:, None] @ x[None]) @ c, x), x)


def cell(weights: Any, bias: Any, state: Any, x: Any) -> tuple[Any, Any]:
    """A step of an LSTM."""
    h, c = state
    gates = fnp.concatenate([x, h]) @ weights + bias
    i, f, g, o = fnp.split(gates, 4)
    c = fc.nn.sigmoid(f) * c + fc.nn.sigmoid(i) * fnp.tanh(g)
    h = fc.nn.sigmoid(o) * fnp.tanh(c)
    return (h, c), h


@pytest.mark.parametrize("size", [4, 16, 32])
def test_recurrent_networks(size: int) -> None:
    weights, bias = normal(9, 2 * size, 4 * size, scale=0.3), normal(10, 4 * size)
    xs, zero = normal(11, 20, size), np.zeros(size, np.float32)

    def run(weights: Any, bias: Any, xs: Any) -> Any:
        step = lambda state, x: cell(weights, bias, state, x)  # noqa: E731
        return lax.scan(step, (zero, zero), xs)[1]

    check(run, weights, bias, xs)
    compiled, loops = loops_of(fc.grad(lambda *args: run(*args).sum()), weights, bias, xs)
    assert loops[0].is_machine_code
    with fc.disable_jit():
        expected = fc.grad(lambda *args: run(*args).sum())(weights, bias, xs)
    np.testing.assert_allclose(compiled(weights, bias, xs), expected, rtol=1e-4, atol=1e-5)


def test_slices_that_do_not_begin_at_a_register() -> None:
    matrix = normal(12, 32, 32, scale=0.3)

    def run(x: Any) -> Any:
        def step(_: Any, c: Any) -> Any:
            y = c @ matrix
            return fnp.concatenate([y[1:17], y[:16]])

        return lax.fori_loop(0, 6, step, x)

    check(run, normal(13, 32))


def test_large_products_and_other_dtypes_run_on_kernels() -> None:
    def code(f: Any, x: Any) -> bool:
        compiled, loops = loops_of(lambda x: lax.fori_loop(0, 3, lambda _, c: f(c), x), x)
        with fc.disable_jit():
            expected = lax.fori_loop(0, 3, lambda _, c: f(c), x)
        np.testing.assert_allclose(
            np.asarray(compiled(x), np.float64), np.asarray(expected, np.float64), rtol=1e-2
        )
        return loops[0].is_machine_code

    assert not code(lambda c: c @ normal(14, 300, 300, scale=0.05), normal(15, 300))
    assert not code(lambda c: c @ normal(16, 8, 8, dtype="float16"), normal(17, 8, dtype="float16"))
    assert code(lambda c: c @ normal(18, 8, 8, dtype="float64"), normal(19, 8, dtype="float64"))


def test_a_product_inside_a_loop_inside_a_loop() -> None:
    matrix = normal(20, 16, 16, scale=0.2)

    def inner(x: Any) -> Any:
        return lax.while_loop(
            lambda state: state[1] < 4, lambda state: (state[0] @ matrix, state[1] + 1), (x, 0)
        )[0]

    check(lambda x: lax.fori_loop(0, 4, lambda _, c: inner(c) + x, x), normal(21, 16))


SCRIPT = """
import numpy as np, farcall as fc
from farcall import lax
random = np.random.default_rng(0)
m = (random.standard_normal((64, 64)) * 0.2).astype(np.float32)
x = random.standard_normal(64).astype(np.float32)
f = fc.jit(lambda x, m: lax.fori_loop(0, 2000, lambda _, c: fc.numpy.tanh(c @ m + m @ c), x))
print(np.asarray(f(x, m)).tobytes().hex())
"""


@pytest.mark.parametrize(
    "environment",
    [{"FARCALL_ISA": "avx2"}, {"FARCALL_JIT": "0"}],
    ids=["avx2", "no code"],
)
def test_products_in_loops_have_the_same_bits_with_avx2_and_without_code(
    environment: dict[str, str],
) -> None:
    def bits(**changed: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, **changed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert bits(**environment) == bits()
