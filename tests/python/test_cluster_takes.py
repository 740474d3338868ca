"""Clusters that take elements at computed indices give what numpy and the operations give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

# Of one vector and its tail, of several tiles, and of several threads.
SIZES = [2, 17, 515, 9001, 150_001]


def results(f: Callable[..., Any], *args: Any) -> list[Any]:
    """With machine code and without. All of the function must be one cluster."""
    compiled = fc.jit(f).lower(*args).compile()
    report = compiled.report()  # makes the code
    assert report.num_clusters == 1, report
    assert "gather" in report.clusters[0].operations, report
    coded = compiled(*args)
    fc.config.update("jit_loops", False)
    try:
        return [coded, compiled(*args)]
    finally:
        fc.config.update("jit_loops", True)


def numbers(size: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Small whole numbers, whose sums and products have no rounding."""
    return np.random.default_rng(seed).integers(-8, 9, size).astype(dtype)


def places(size: int, limit: int, dtype: str = "int32") -> np.ndarray:
    return np.random.default_rng(1).integers(-limit, limit, size).astype(dtype)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "complex64"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.usefixtures("x64")
def test_elements_at_negative_and_other_indices(size: int, dtype: str, index: str) -> None:
    x, w, i = numbers(100, dtype), numbers(size, dtype, seed=2), places(size, 100, index)
    for result in results(lambda x, w, i: x[i] * w + x[99 - abs(i)], x, w, i):
        np.testing.assert_array_equal(result, x[i] * w + x[99 - abs(i)])


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("size", SIZES)
def test_indices_out_of_bounds(size: int, mode: str) -> None:
    x = numbers(50)
    i = np.random.default_rng(0).integers(-200, 200, size).astype("int32")

    def f(x: Any, i: Any) -> Any:
        return x.at[2 * i].get(mode=mode, fill_value=7.0) + 1

    # As numpy does, negative indices count from the end, once.
    at = np.where(2 * i < 0, 2 * i + 50, 2 * i)
    inside = (at >= 0) & (at < 50)
    wanted = np.where(inside | (mode == "clip"), x[at.clip(0, 49)], 7.0) + 1
    for result in results(f, fnp.asarray(x), i):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("size", SIZES)
def test_elements_of_a_matrix(size: int) -> None:
    x = numbers(70 * 30).reshape(70, 30)
    i, j = places(size, 70), places(size, 30)
    for result in results(lambda x, i, j: x.ravel()[(i % 70) * 30 + j % 30] - 1, x, i, j):
        np.testing.assert_array_equal(result, x[i % 70, j % 30] - 1)


def test_an_operand_that_is_read_in_place_too_is_not_overwritten() -> None:
    def f(x: Any, i: Any) -> Any:
        return x[i] + x

    x, i = numbers(30_000), places(30_000, 30_000)
    step = fc.jit(f, donate_argnums=0)
    for _ in range(20):
        np.testing.assert_array_equal(step(fnp.array(x), i), x[i] + x)
    wanted = x
    for _ in range(3):
        wanted = wanted[i] + wanted
    loop = fc.jit(lambda x, i: lax.fori_loop(0, 3, lambda _, y: f(y, i), x))
    np.testing.assert_array_equal(loop(x, i), wanted)


def test_donated_indices_are_read_before_they_are_overwritten() -> None:
    x, i = numbers(100, "int32"), places(50_000, 100)
    step = fc.jit(lambda x, i: x[i] + i, donate_argnums=1)
    for _ in range(20):
        np.testing.assert_array_equal(step(x, fnp.array(i)), x[i] + i)


def test_chains_of_indices() -> None:
    links, i = np.random.default_rng(0).permutation(5000).astype("int32"), places(20_000, 5000)
    for result in results(lambda links, i: links[links[links[i]]] * 2, links, i):
        np.testing.assert_array_equal(result, links[links[links[i]]] * 2)


@pytest.mark.parametrize("columns", [3, 100, 700])
def test_rows_of_elements_and_their_reductions(columns: int) -> None:
    def f(x: Any, i: Any, w: Any) -> Any:
        a = x[i] * w
        return a - a.max(1, keepdims=True)

    x, w = numbers(64), numbers(columns)
    i = places(90 * columns, 64).reshape(90, columns)
    for result in results(f, x, i, w):
        np.testing.assert_array_equal(result, f(x, i, w))


def test_elements_that_the_program_computes_come_from_memory() -> None:
    x, i = numbers(4000), places(4000, 4000)

    def f(x: Any, i: Any) -> Any:
        y = x * 2 + 1
        return y[i] - y

    np.testing.assert_array_equal(fc.jit(f)(x, i), f(x, i))
    breaks = fc.jit(f).lower(x, i).compile().report().unfused
    whys = [each.why for each in breaks if each.operation == "gather"]
    assert "it reads elements of other tiles than it writes" in whys, breaks


def test_the_derivative_and_the_batched_function() -> None:
    x, i = numbers(300), places(2000, 300)

    def f(x: Any) -> Any:
        return (x[i] * x[i]).sum()

    wanted = np.zeros(300, "float32")
    np.add.at(wanted, i, 2 * x[i])
    np.testing.assert_array_equal(fc.jit(fc.grad(f))(x), wanted)
    rows = np.stack([x, 2 * x, -x])
    batched = fc.jit(fc.vmap(lambda x: x[i] + 1))(rows)
    np.testing.assert_array_equal(batched, rows[:, i] + 1)
