"""searchsorted and isin find what numpy finds; transposes of a few rows move every element."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

DTYPES = ("float16", "float32", "float64", "int8", "int32", "uint64", "bool", "complex64")


def numbers(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Small numbers, many of them equal; of floats also NaN and -0."""
    x = rng.integers(0, 6, shape)
    if dtype == "complex64":
        return (x + 1j * rng.integers(0, 3, shape)).astype(dtype)
    x = np.asarray(x).astype(dtype)
    if dtype.startswith("float"):
        x = np.where(rng.random(shape) < 0.2, np.nan, np.where(x == 0, -0.0, x)).astype(dtype)
    return x


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted_is_numpys(dtype: str, side: str) -> None:
    rng = np.random.default_rng(0)

    def f(a: fc.Array, v: fc.Array) -> fc.Array:
        return fnp.searchsorted(a, v, side)

    for size in (0, 1, 2, 3, 7, 8, 9, 100):
        a = np.sort(numbers((size,), dtype, rng))
        for shape in ((), (0,), (5,), (3, 40)):
            v = numbers(shape, dtype, rng)
            want = np.searchsorted(a, v, side)
            for got in (f(fnp.asarray(a), fnp.asarray(v)), fc.jit(f)(a, v)):
                assert got.dtype == np.int32
                np.testing.assert_array_equal(got, want)
        stacked = numbers((4, 3), dtype, rng)
        got = fc.vmap(f, (None, 0))(a, stacked)
        np.testing.assert_array_equal(got, np.searchsorted(a, stacked, side))


def test_searchsorted_in_a_long_array() -> None:
    rng = np.random.default_rng(0)
    a = np.sort(rng.normal(size=100_003)).astype(np.float32)
    v = np.concatenate([a[::1000], rng.normal(size=500).astype(np.float32), [-9, 9]])
    np.testing.assert_array_equal(fnp.searchsorted(a, v), np.searchsorted(a, v))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("size", [0, 1, 3, 16, 17, 100])
@pytest.mark.parametrize("dtype", DTYPES)
def test_isin_is_numpys(dtype: str, size: int) -> None:
    rng = np.random.default_rng(size)
    x, tests = numbers((30, 7), dtype, rng), numbers((size,), dtype, rng)
    for invert in (False, True):
        np.testing.assert_array_equal(
            fnp.isin(x, tests, invert=invert), np.isin(x, tests, invert=invert)
        )


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_transposes_of_a_few_rows_and_columns(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for few in range(1, 10):
        for many in (1, 5, 511, 512, 513, 3000):
            x = rng.integers(-100, 100, (2, few, many)).astype(dtype)
            got = fc.jit(lambda x: fnp.swapaxes(x, 1, 2))(x)
            np.testing.assert_array_equal(got, np.swapaxes(x, 1, 2))
            back = fc.jit(lambda x: fnp.swapaxes(x, 1, 2))(np.asarray(got))
            np.testing.assert_array_equal(back, x)
