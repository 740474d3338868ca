"""Extremes of floats: zeros of both signs, NaNs and infinities in rows of every length."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

SIZES = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 255, 256, 257, 511, 1000, 5000)
PLACED = {
    "random": [],
    "a NaN": [np.nan],
    "a negative NaN": [-np.nan],
    "infinities": [np.inf, -np.inf],
    "zeros of both signs": [-0.0, 0.0],
    "a negative zero": [-0.0],
}


def rows(size: int, placed: str) -> np.ndarray:
    random = np.random.default_rng(size)
    x = -np.abs(random.normal(size=(3, size)))
    if placed == "random":
        return random.normal(size=(3, size))
    for value in PLACED[placed]:
        x[:, random.integers(size)] = value
    return x


@pytest.mark.parametrize("placed", PLACED)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_extremes_and_their_positions_are_those_of_numpy(dtype: str, placed: str) -> None:
    for size in SIZES:
        for sign in (1, -1):
            x = fnp.asarray(sign * rows(size, placed)).astype(dtype)
            y = np.asarray(x).astype(np.float64)
            for axis in (0, 1, None):
                for name in ("max", "min", "argmax", "argmin"):
                    np.testing.assert_array_equal(
                        np.asarray(getattr(fnp, name)(x, axis)).astype(np.float64),
                        getattr(np, name)(y, axis),
                        f"{name} of {size} numbers along {axis}",
                    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("size", SIZES)
def test_positive_zero_is_above_negative_zero(size: int, dtype: str) -> None:
    x = np.full(size, -0.0, fnp.dtype(dtype))
    assert np.signbit(fnp.max(x))
    assert np.signbit(fnp.min(x))
    x[size // 2] = 0.0
    assert not np.signbit(fnp.max(x))
    assert np.signbit(fnp.min(x)) == (size > 1)


@pytest.mark.parametrize("along", ["rows", "columns"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [4, 9, 16, 40, 200])
def test_many_runs_with_nans_and_zeros_in_some(size: int, dtype: str, along: str) -> None:
    random = np.random.default_rng(size)
    x = random.normal(size=(300, size)).astype(dtype)
    x[random.integers(300, size=20), random.integers(size, size=20)] = np.nan
    x[random.integers(300, size=40)] *= 0.0
    with fc.enable_x64():
        for name in ("max", "min"):
            reduce = getattr(fnp, name)
            got = np.asarray(reduce(x, axis=1) if along == "rows" else reduce(x.T.copy(), axis=0))
            np.testing.assert_array_equal(got, getattr(np, name)(x, axis=1))
            zeros = [np.signbit(row[row == 0]) for row in x]
            for value, signs in zip(got, zeros, strict=True):
                if value == 0:
                    assert np.signbit(value) == (signs.all() if name == "max" else signs.any())
        for name in ("argmax", "argmin"):
            got = np.asarray(getattr(fnp, name)(x, axis=1))
            np.testing.assert_array_equal(got, getattr(np, name)(x, axis=1))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("placed", PLACED)
def test_clip_between_arrays_is_numpys_for_zeros_and_nans_in_any_block(
    dtype: str, placed: str
) -> None:
    random = np.random.default_rng(3)
    for size in (1, 63, 64, 65, 130, 1000):
        for moved in range(3):  # the operand that holds the placed values
            operands = [random.normal(size=size).astype(dtype) for _ in range(3)]
            for value in PLACED[placed]:
                operands[moved][random.integers(size, size=2)] = value
            x, low, high = operands
            want = np.clip(x, low, high)
            with fc.enable_x64():
                got = np.asarray(fnp.clip(x, low, high))
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, want)
            is_negative = np.signbit(want) & ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got) & ~np.isnan(got), is_negative)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_two_have_the_right_size_at_any_angle(dtype: str, x64: None) -> None:
    exponents = np.array([-2.0, 0.0, 3.0])
    largest = np.finfo(dtype).max / 4
    for angle in (0.5, 1e3, 1e7, 1e9, 1e15, 1e20, 1e30, largest):
        z = (exponents + 1j * angle).astype(dtype)
        power = np.asarray(fc.lax.exp2(fnp.asarray(z))).astype(np.complex128)
        np.testing.assert_allclose(np.abs(power), 2**exponents, rtol=1e-6)
        if angle < 1e7:
            np.testing.assert_allclose(power, np.exp2(z.astype(np.complex128)), rtol=1e-6)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_positions_of_the_first_extreme_integer(dtype: str, x64: None) -> None:
    random = np.random.default_rng(0)
    for size in (*range(1, 20), 31, 33, 63, 64, 65, 100):
        x = random.integers(0, 4, (300, size)).astype(dtype)
        if dtype != "bool":
            bounds = np.iinfo(dtype)
            x[random.random(x.shape) < 0.1] = bounds.min
            x[random.random(x.shape) < 0.1] = bounds.max
        for name in ("argmax", "argmin"):
            got = np.asarray(getattr(fnp, name)(x, axis=1))
            np.testing.assert_array_equal(got, getattr(np, name)(x, axis=1), f"{name} of {size}")
