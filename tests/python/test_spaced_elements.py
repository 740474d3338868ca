"""Elements at fixed distances, joined in turn, repeated in short runs, and taken along axes, all
against numpy and JAX. Sizes are around those of vectors, blocks and tiles."""

from __future__ import annotations

from itertools import product

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("x64")

DTYPES = ("int8", "float32", "complex128")
SIZES = (1, 17, 5001)


def counted(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 117).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 8, 9, -1, -2, -3])
def test_slices_with_steps(step: int, dtype: str) -> None:
    for size in SIZES:
        x = counted((size,), dtype)
        rows = counted((5, size), dtype)
        high = counted((size, 3, 2), dtype)
        for cut in (lambda x: x[::step], lambda x: x[..., ::step] + x[..., :1]):
            for operand in (x, rows, high):
                found = np.asarray(fc.jit(cut)(operand))
                np.testing.assert_array_equal(found, cut(operand))
        np.testing.assert_array_equal(np.asarray(fnp.asarray(high)[::step, 1]), high[::step, 1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_short_parts_of_rows(dtype: str) -> None:
    """Parts that could be one wider element each, but are not multiples of it apart."""
    for columns, first, last in ((3, 0, 2), (3, 1, 3), (5, 1, 5), (7, 2, 4), (9, 1, 9)):
        x = counted((300, columns), dtype)
        found = np.asarray(fc.jit(lambda x, a=first, b=last: x[:, a:b])(x))
        np.testing.assert_array_equal(found, x[:, first:last])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [2, 3, 4, 5, 9])
def test_arrays_are_stacked_in_turn(number: int, dtype: str) -> None:
    for size, run in product(SIZES, (1, 2, 3)):
        operands = [counted((size, run), dtype) + i for i in range(number)]
        found = np.asarray(fc.jit(lambda *x: fnp.concatenate(x, 1))(*operands))
        np.testing.assert_array_equal(found, np.concatenate(operands, 1))
        found = np.asarray(fc.jit(lambda *x: fnp.stack(x, -1) * 1)(*operands))
        np.testing.assert_array_equal(found, np.stack(operands, -1))


def test_operands_of_different_widths_are_joined() -> None:
    a, b = counted((300, 1), "float32"), counted((300, 2), "float32")
    for parts in ((a, b), (b, a, a), (a, b[:, :0], a)):
        found = np.asarray(fc.jit(lambda *x: fnp.concatenate(x, 1))(*parts))
        np.testing.assert_array_equal(found, np.concatenate(parts, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(64, 16), (3, 5), (1, 9), (100, 33), (7, 1), (2, 300)])
def test_short_runs_are_repeated(shape: tuple[int, int], dtype: str) -> None:
    rows, columns = shape
    a, b = counted((rows,), dtype), counted((columns,), dtype)
    c, d = counted((11, rows), dtype), counted((11, columns), dtype)
    for f, operands in (
        (lambda np, a, b: a[:, None] + b, (a, b)),
        (lambda np, a, b: a[:, None, None] + b[None, :, None] + a[None, None, :], (a, b)),
        (lambda np, c, d: c[:, :, None] - d[:, None, :], (c, d)),
        (lambda np, c, d: c[:, None, :, None] + d[None, :, None, :], (c, d)),
        (lambda np, a, b: np.outer(a, b), (a, b)),
    ):
        found = np.asarray(fc.jit(lambda *x, f=f: f(fnp, *x))(*operands))
        np.testing.assert_array_equal(found, f(np, *operands))


@pytest.mark.parametrize("k", [0, 1, -1, 3, -4, 1000, -1000, 2**40, -(2**40)])
def test_triangles_at_any_diagonal(k: int) -> None:
    for shape in ((4, 7), (7, 4), (2, 65, 33), (1, 1), (0, 3)):
        x = counted(shape, "float32") + 1
        np.testing.assert_array_equal(np.asarray(fnp.tril(x, k)), np.tril(x, k))
        np.testing.assert_array_equal(np.asarray(fnp.triu(x, k)), np.triu(x, k))


@pytest.mark.parametrize("mode", ["fill", "clip", "promise_in_bounds"])
@pytest.mark.parametrize("index", ["int8", "int32", "int64"])
@pytest.mark.parametrize("shape", [(5, 300, 17), (300, 9), (4, 3), (2, 3, 70), (1000,)])
def test_elements_along_an_axis(shape: tuple[int, ...], index: str, mode: str) -> None:
    random = np.random.default_rng(len(shape))
    for dtype, axis in product(("int8", "float32", "complex128"), range(len(shape))):
        x = counted(shape, dtype)
        for length in (1, 300):
            size = shape[axis]
            low, high = (0, size) if mode == "promise_in_bounds" else (-size - 2, size + 2)
            places = random.integers(
                max(low, np.iinfo(index).min),
                min(high, 120),
                (*shape[:axis], length, *shape[axis + 1 :]),
            ).astype(index)
            found = fc.jit(lambda x, i, a=axis: fnp.take_along_axis(x, i, a, mode=mode))(x, places)
            wanted = jnp.take_along_axis(jnp.asarray(x), jnp.asarray(places), axis, mode=mode)
            np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_short_rows_along_an_axis(width: int) -> None:
    """Windows of several elements in a batch, forwards and their gradient."""
    random = np.random.default_rng(width)
    x = random.normal(size=(6, 50, width)).astype("float32")
    places = random.integers(-2, 52, (6, 33)).astype("int32")

    def rows(lib, np):
        return lib.vmap(lambda x, i: np.take(x, i, axis=0, mode="clip"))

    found = fc.jit(rows(fc, fnp))(x, places)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(rows(jax, jnp)(x, places)))
    gradient = fc.jit(fc.grad(lambda x: (rows(fc, fnp)(x, places) ** 2).sum()))(x)
    wanted = jax.grad(lambda x: (rows(jax, jnp)(x, places) ** 2).sum())(x)
    np.testing.assert_allclose(np.asarray(gradient), np.asarray(wanted), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_transposes_of_few_rows_or_columns(dtype: str) -> None:
    for few, many in product(range(1, 7), (1, 17, 1500)):
        x = counted((many, few), dtype)
        np.testing.assert_array_equal(np.asarray(fnp.asarray(x).T.copy()), x.T)
        np.testing.assert_array_equal(np.asarray(fnp.asarray(x.T.copy()).T.copy()), x)
        stack = counted((3, many, few), dtype)
        found = np.asarray(fnp.transpose(stack, (0, 2, 1)))
        np.testing.assert_array_equal(found, stack.transpose(0, 2, 1))
        found = np.asarray(fnp.transpose(stack, (2, 1, 0)))
        np.testing.assert_array_equal(found, stack.transpose(2, 1, 0))
    large = counted((70_000, 3), dtype)  # on several threads
    np.testing.assert_array_equal(np.asarray(fnp.transpose(large)), large.T)
    np.testing.assert_array_equal(np.asarray(fnp.transpose(large.T.copy())), large)
