"""Reductions of short rows, of narrow columns and over windows, against numpy and JAX."""

from __future__ import annotations

from itertools import product

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall import lax

pytestmark = pytest.mark.usefixtures("x64")

NAMES = ("max", "min", "sum", "prod", "any", "all")
DTYPES = ("float32", "float64", "int32", "uint8", "float16", "complex64", "bool")


def operand(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    random = np.random.default_rng(len(shape) + shape[-1])
    if dtype == "bool":
        return random.random(shape) < 0.7
    values = random.normal(size=shape) * 2
    if dtype == "complex64":
        values = values + 1j * random.normal(size=shape)
    return np.abs(values).astype(dtype) if dtype[0] == "u" else values.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_short_rows_and_narrow_columns(name: str, dtype: str) -> None:
    if dtype == "complex64" and name in ("max", "min"):
        pytest.skip("numpy orders complex numbers by their parts, JAX too")
    tolerance = {"float16": 4e-3, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-12)
    for size, count in product((1, 2, 3, 4, 5, 8, 31, 33), (1, 3, 700)):
        x = operand((count, size), dtype)
        for axis, values in ((1, x), (0, x), (1, np.stack([x, x[::-1]])), (0, x[None])):
            if name == "prod" and values.shape[axis] > (5 if dtype == "float16" else 40):
                continue
            found = np.asarray(getattr(fnp, name)(values, axis=axis))
            wide = values.astype("complex128" if dtype == "complex64" else "float64")
            exact = dtype in ("int32", "uint8", "bool") or name in ("any", "all")
            wanted = getattr(np, name)(values if exact else wide, axis=axis)
            np.testing.assert_allclose(
                found.astype(wide.dtype), wanted.astype(wide.dtype), rtol=tolerance, atol=tolerance
            )


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_signed_zeros_in_short_rows_and_narrow_columns(name: str, dtype: str) -> None:
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0]
    random = np.random.default_rng(0)
    for size in (2, 3, 4, 5):
        rows = random.choice(special, (5000, size)).astype(dtype)
        quiet = np.where(np.isnan(rows), 0, rows).astype(dtype)
        for x, axis in product((rows, quiet), (0, 1)):
            found = np.asarray(fc.jit(lambda x, a=axis: getattr(fnp, name)(x, axis=a))(x))
            wanted = getattr(np, name)(x, axis=axis)
            np.testing.assert_array_equal(found, wanted)
            # +0 is greater than -0.
            negative = np.signbit(np.where(x == 0, x, -1 if name == "max" else 1))
            signs = (negative.all if name == "max" else negative.any)(axis=axis)
            np.testing.assert_array_equal(np.signbit(found[wanted == 0]), signs[wanted == 0])


@pytest.mark.parametrize("name", ["max", "min", "add", "mul"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_windows_side_by_side(name: str, dtype: str) -> None:
    start = {"max": -np.inf, "min": np.inf, "add": 0, "mul": 1}[name]
    if dtype == "int32":
        limits = np.iinfo(dtype)
        start = {"max": limits.min, "min": limits.max}.get(name, start)
    tolerance = 1e-2 if dtype == "float16" else 1e-4
    for shape, window in (
        ((640,), (16,)),
        ((640,), (32,)),
        ((7, 96), (1, 48)),
        ((64, 50), (16, 1)),
        ((64, 5), (16, 1)),
        ((3, 64, 33), (1, 32, 1)),
        ((650,), (16,)),  # some elements are left out
        ((32, 32), (16, 16)),
    ):
        x = operand(shape, dtype) if name != "mul" else (operand(shape, dtype) % 2).astype(dtype)
        value = np.asarray(start, dtype)

        def reduced(lib, f, x, window=window, value=value):
            return lib.reduce_window(x, value, f, window, window, "VALID")

        found = np.asarray(reduced(lax, getattr(lax, name), fnp.asarray(x)))
        wanted = np.asarray(reduced(jax.lax, getattr(jax.lax, name), jnp.asarray(x)))
        np.testing.assert_allclose(
            found.astype("float64"), wanted.astype("float64"), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize(
    ("shape", "window", "strides"),
    [
        ((4, 12, 12, 200), (1, 2, 2, 1), (1, 2, 2, 1)),
        ((4, 12, 12, 5), (1, 3, 3, 1), (1, 1, 1, 1)),
        ((3, 2, 9, 9), (1, 1, 3, 2), (1, 1, 2, 1)),
        ((40, 30), (3, 1), (2, 1)),
        ((500,), (5,), (2,)),
        ((6, 7), (1, 1), (1, 1)),
    ],
)
@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_gradients_of_extremes_over_windows(
    shape: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    dtype: str,
) -> None:
    """Some elements are equal: the first one of a window gets the gradient."""
    x = np.round(operand(shape, dtype) * 2).astype(dtype)

    def total(lib, np, extreme, start):
        def f(x):
            found = lib.reduce_window(x, x.dtype.type(start), extreme, window, strides, padding)
            return (found * np.arange(found.size, dtype=dtype).reshape(found.shape) / 64).sum()

        return f

    for name, start in (("max", -np.inf), ("min", np.inf)):
        found = fc.jit(fc.grad(total(lax, fnp, getattr(lax, name), start)))(x)
        wanted = jax.grad(total(jax.lax, jnp, getattr(jax.lax, name), start))(jnp.asarray(x))
        np.testing.assert_allclose(
            np.asarray(found).astype("float64"), np.asarray(wanted).astype("float64"), rtol=2e-2
        )
