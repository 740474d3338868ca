"""Clusters that read rows of slices in place give what numpy and the operations one by one give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax, nn

# Below and above the sizes from which rows are read in place, and longer than a tile.
COLUMNS = [9, 63, 98, 130, 514, 1026, 5003]


def whole(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Small whole numbers, whose sums have no rounding."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(dtype)


def results(f: Callable[..., Any], *args: Any) -> list[Any]:
    """With machine code and without."""
    compiled = fc.jit(f).lower(*args).compile()
    compiled.report()  # makes the code
    coded = compiled(*args)
    fc.config.update("jit_loops", False)
    try:
        return [coded, compiled(*args)]
    finally:
        fc.config.update("jit_loops", True)


def laplacian(x: Any) -> Any:
    return (
        x[1:-1, 2:] + x[1:-1, :-2] + x[2:, 1:-1] + x[:-2, 1:-1] - 4 * x[1:-1, 1:-1]
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "float16", "complex64"])
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("rows", [3, 4, 40])
@pytest.mark.usefixtures("x64")
def test_a_stencil(rows: int, columns: int, dtype: str) -> None:
    x = whole((rows, columns), dtype)
    for result in results(laplacian, x):
        np.testing.assert_array_equal(result, laplacian(x))


@pytest.mark.parametrize("shape", [(12, 11, 70), (5, 6, 200), (3, 4, 1030), (70, 5, 5)])
def test_a_stencil_of_three_dimensions(shape: tuple[int, int, int]) -> None:
    def f(x: Any) -> Any:
        inner = slice(1, -1)
        return (
            6 * x[1:-1, 1:-1, 1:-1] - x[2:, inner, inner] - x[:-2, inner, inner]
            - x[inner, 2:, inner] - x[inner, :-2, inner] - x[inner, inner, 2:]
            - x[inner, inner, :-2]
        )  # fmt: skip

    x = whole(shape)
    for result in results(f, x):
        np.testing.assert_array_equal(result, f(x))


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "runs of several lengths": lambda x, m: x[:, 1:] * 2 + m.concatenate([x, x])[: len(x), :-1],
    "rows beside whole operands": lambda x, m: x[1:] * x[:-1] + m.roll(x, 1, axis=1)[1:],
    "reversed rows": lambda x, m: x[:, 1:] + x[:, ::-1][:, :-1] * 3,
    "every other row": lambda x, m: x[::2, 1:] - x[::2, :-1] * 2,
    "every other element": lambda x, m: x[:, 1::2] + x[:, : x.shape[1] // 2 * 2 : 2] * 2,
    "sums of rows": lambda x, m: (x[:, 1:] * x[:, :-1]).sum(axis=1),
    "sums of rows and the rows": lambda x, m: x[:, 1:] - x[:, :-1].max(axis=1, keepdims=True),
    "sums of columns": lambda x, m: (x[:, 1:] * x[:, :-1]).sum(axis=0),
    "the slice itself": lambda x, m: (x[:, 1:] * 2, x[:, 1:]),
    "one number for each row": lambda x, m: x[:, 1:] * x[:, :1] + x[:, :-1],
    "one number for each column": lambda x, m: x[:, 1:] * x[0, :-1] + x[:, :-1],
    "only one row": lambda x, m: x[1, 1:] * 2 + x[1, :-1],
}


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_slices_with_other_operands(name: str, columns: int) -> None:
    program = PROGRAMS[name]
    x = whole((20, columns))
    if name == "every other element":
        x = x[:, : columns // 2 * 2].copy()
    wanted = program(x, np)
    for result in results(lambda x: program(x, fnp), x):
        for got, want in zip(fc.tree.leaves(result), fc.tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("start", [(0, 0), (3, 2), (100, 100), (-1, 1)])
def test_dynamic_slices(start: tuple[int, int], columns: int) -> None:
    x = whole((30, columns))
    sizes = (20, columns - 3)

    def f(x: Any, i: Any, j: Any) -> Any:
        return lax.dynamic_slice(x, (i, j), sizes) * 2 + x[:20, 3:]

    i, j = (np.int32(n) for n in start)
    row, column = min(max(start[0] + 30 * (start[0] < 0), 0), 10), min(max(start[1], 0), 3)
    wanted = x[row : row + 20, column : column + columns - 3] * 2 + x[:20, 3:]
    for result in results(f, x, i, j):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("columns", [130, 514, 1026])
def test_a_softmax_of_a_slice(columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(50, columns)).astype("float32")
    coded, plain = results(lambda x: nn.softmax(x[:, 1:-1] * 2), x)
    np.testing.assert_array_equal(coded, plain)
    z = np.exp(x[:, 1:-1].astype("float64") * 2)
    np.testing.assert_allclose(coded, z / z.sum(axis=1, keepdims=True), rtol=1e-5)


def test_many_rows_over_threads() -> None:
    x = whole((1500, 1400))
    for result in results(laplacian, x):
        np.testing.assert_array_equal(result, laplacian(x))


def test_the_operand_is_not_overwritten_while_rows_are_read() -> None:
    def f(x: Any) -> Any:
        return lax.pad(x[1:-1, 1:-1] + x[2:, 1:-1], 0.0, [(1, 1, 0), (1, 1, 0)]) + x

    x = whole((300, 700))
    wanted = np.pad(x[1:-1, 1:-1] + x[2:, 1:-1], 1) + x
    step = fc.jit(f, donate_argnums=0)
    for _ in range(40):
        np.testing.assert_array_equal(step(fnp.array(x)), wanted)
    loop = fc.jit(lambda x: lax.fori_loop(0, 3, lambda _, y: f(y), x))
    for _ in range(2):
        wanted = np.pad(wanted[1:-1, 1:-1] + wanted[2:, 1:-1], 1) + wanted
    np.testing.assert_array_equal(loop(x), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "complex64"])
@pytest.mark.parametrize(
    "shape", [(30, 40), (900, 1200), (20, 100000), (200, 60, 90), (2, 4, 200000), (5, 5000, 60)]
)
def test_transposed_operands(shape: tuple[int, ...], dtype: str) -> None:
    # Those of at least 1 MiB, with short enough rows, are read by the cluster.
    def f(x: Any, y: Any) -> Any:
        a = x.swapaxes(-1, -2) * y + 1
        rows = a.real.max(-1, keepdims=True)
        return a, rows, a - rows, x.T * 2

    x = whole(shape, dtype)
    y = whole((*shape[:-2], shape[-1], shape[-2]), dtype, seed=1)
    for result in results(f, x, y):
        for found, wanted in zip(result, f(x, y), strict=True):
            np.testing.assert_array_equal(found, wanted)
