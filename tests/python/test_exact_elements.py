"""Elementwise functions whose every bit is known: integer division, neighbours, complex numbers."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

pytestmark = pytest.mark.usefixtures("x64")

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of small types; of others, pairs of edges and random pairs of all magnitudes."""
    info = np.iinfo(dtype)
    if info.bits == 8:
        every = np.arange(info.min, info.max + 1).astype(dtype)
        return np.repeat(every, len(every)), np.tile(every, len(every))
    edges = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, 0, 1, 2, 3, 5, 7, 11]
    if info.min < 0:
        edges += [-1, -2, -3, -7]
    every = np.array(edges, dtype=object)
    rng = np.random.default_rng(0)
    values = [
        (
            rng.integers(info.min, info.max, 3000, dtype=dtype)
            >> rng.integers(0, info.bits - 1, 3000).astype(dtype)
        )
        for _ in range(2)
    ]
    return (
        np.concatenate([np.repeat(every, len(every)), values[0]]).astype(dtype),
        np.concatenate([np.tile(every, len(every)), values[1]]).astype(dtype),
    )


def truncated(x: int, y: int) -> tuple[int, int]:
    """Python's quotient rounded to zero and its remainder; XLA's results for a divisor of 0."""
    if y == 0:
        return -1, x
    whole = abs(x) // abs(y)
    whole = whole if (x < 0) == (y < 0) else -whole
    return whole, x - whole * y


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_quotients_and_remainders_of_integers_are_exact(dtype: str) -> None:
    x, y = pairs(dtype)
    expected = [truncated(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    bits = np.iinfo(dtype).bits
    wrapped = [
        np.array([value % 2**bits for value in part], dtype=object)
        for part in zip(*expected, strict=True)
    ]
    for number, f in enumerate([lax.div, lax.rem]):
        got = np.asarray(fc.jit(f)(x, y))
        want = wrapped[number].astype(f"uint{bits}").view(dtype)
        np.testing.assert_array_equal(got, want)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbours_are_those_of_numpy(dtype: str) -> None:
    info = np.finfo(dtype)
    tiny = info.smallest_subnormal
    edges = [0.0, -0.0, 1.0, -1.0, tiny, -tiny, info.tiny, info.max, -info.max]
    values = np.array([*edges, np.inf, -np.inf, np.nan, 2.0, 0.1], dtype)
    x, y = (part.ravel() for part in np.meshgrid(values, values))
    got, want = np.asarray(lax.nextafter(x, y)), np.nextafter(x, y)
    np.testing.assert_array_equal(got, want)
    is_number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[is_number], np.signbit(want)[is_number])


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    1e38,
    88.0,
    -104.0,
    20.5,
    1.5707964,
]


def complex_numbers() -> np.ndarray:
    """Special numbers, numbers of all magnitudes, and numbers near the unit circle and poles."""
    rng = np.random.default_rng(0)

    def wide(size: int) -> np.ndarray:
        return rng.normal(size=size) * 10.0 ** rng.integers(-6, 3, size)

    return np.concatenate(
        [
            [complex(a, b) for a in SPECIAL for b in SPECIAL],
            wide(5000) + 1j * wide(5000),
            np.exp(1j * rng.uniform(0, 7, 1000)),
            1j * (rng.integers(-5, 5, 1000) + 0.5) * np.pi + rng.normal(size=1000) * 1e-3,
        ]
    ).astype(np.complex64)


def assert_rounded(got: np.ndarray, want: np.ndarray) -> None:
    """Both parts are those of `want` in double precision, rounded, or beside it."""
    for part in ("real", "imag"):
        a, b = getattr(got, part), getattr(want, part)
        rounded = b.astype(np.float32)
        is_finite = np.isfinite(a) & np.isfinite(rounded)
        np.testing.assert_array_equal(a[~is_finite], rounded[~is_finite])
        unit = np.spacing(np.abs(rounded[is_finite])).astype(np.float64)
        assert (np.abs(a[is_finite] - b[is_finite]) <= 0.6 * unit).all()
        zeros = is_finite & (a == 0) & (b == 0)
        np.testing.assert_array_equal(np.signbit(a[zeros]), np.signbit(b[zeros]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "abs"]
)
def test_functions_of_complex64_are_rounded_from_double_precision(name: str) -> None:
    x = complex_numbers()
    got = np.asarray(getattr(fnp, name)(x))
    assert got.dtype == (np.float32 if name == "abs" else np.complex64)
    assert_rounded(got, getattr(np, name)(x.astype(np.complex128)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quotients_and_powers_of_complex64_are_rounded_from_double_precision() -> None:
    x = complex_numbers()[len(SPECIAL) ** 2 :]
    y = x[np.random.default_rng(1).permutation(len(x))]
    wide_x, wide_y = x.astype(np.complex128), y.astype(np.complex128)
    for got, want in [(fnp.divide(x, y), wide_x / wide_y), (fnp.power(x, y), wide_x**wide_y)]:
        is_ordinary = (np.abs(want) > 1e-37) & (np.abs(want) < 1e37)
        got, want = np.asarray(got)[is_ordinary], want[is_ordinary]
        assert (np.abs(got - want) <= 1e-7 * np.abs(want)).all()


def test_complex64_divided_by_zero_and_infinity() -> None:
    x = np.array([1 + 1j, 0, complex(np.inf, 0), 1 - 2j], np.complex64)
    y = np.array([0, 0, 2, complex(np.inf, 1)], np.complex64)
    quotient = np.asarray(fnp.divide(x, y))
    np.testing.assert_array_equal(np.isinf(quotient), [True, False, True, False])
    assert np.isnan(quotient[1])
    assert quotient[3] == 0
