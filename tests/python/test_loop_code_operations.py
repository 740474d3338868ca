"""Every operation in loops as machine code: the bits are those of the operation by itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from loop_code import FLOATS, INTS, MARKS, SIGNED, check, corners

pytestmark = MARKS


def over_slices(f: Callable[..., Any], *arrays: np.ndarray) -> None:
    """`f` of slices of these, one after the other, by a scan."""
    name = f"{getattr(f, '__name__', f)} of {[f'{a.dtype}{list(a.shape)}' for a in arrays]}"

    def step(carry: Any, slices: Any) -> Any:
        return carry, f(*slices)

    check(lambda *xs: lax.scan(step, 0, xs)[1], *arrays, what=name)


def pairs(dtype: str, other: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    all_pairs = list(itertools.product(corners(dtype), corners(other or dtype)))
    return (
        np.array([p[0] for p in all_pairs], dtype),
        np.array([p[1] for p in all_pairs], other or dtype),
    )


def in_rows(x: np.ndarray, width: int) -> np.ndarray:
    return np.resize(x, (-(-x.size // width), width))


ARITHMETIC = (lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min)
COMPARISONS = (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)
BITS = (lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor)
SHIFTS = (lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic)
FLOAT_FUNCTIONS = tuple(
    getattr(lax, name)
    for name in (
        *("neg", "abs", "sign", "floor", "ceil", "round", "is_finite", "square", "sqrt", "rsqrt"),
        *("exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "sinh", "cosh", "cbrt"),
        *("asinh", "acosh", "atanh", "sin", "cos", "tan", "asin", "acos", "atan", "erf", "erfc"),
        *("erf_inv", "lgamma", "digamma", "reciprocal"),
    )
)


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_binary_operations(dtype: str) -> None:
    x, y = pairs(dtype)
    for f in ARITHMETIC + COMPARISONS + (SHIFTS + BITS if dtype in INTS else ()):
        over_slices(f, x, y)
    if dtype in FLOATS:
        for f in (lax.pow, lax.atan2, lax.nextafter):
            over_slices(f, x, y)


def test_operations_on_bools() -> None:
    x, y = pairs("bool")
    for f in (*BITS, *COMPARISONS, lax.max, lax.min):
        over_slices(f, x, y)
    over_slices(lax.bitwise_not, x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_floats(dtype: str) -> None:
    random_values = np.random.default_rng(3).normal(size=200) * 10.0 ** np.arange(-4, 4).repeat(25)
    x = np.concatenate([corners(dtype), random_values.astype(dtype)])
    for f in FLOAT_FUNCTIONS:
        over_slices(f, x)
    over_slices(lambda v: lax.round(v, lax.RoundingMethod.TO_NEAREST_EVEN), x)
    for power in (-5, -2, -1, 0, 1, 2, 3, 4, 5, 11):
        over_slices(lambda v, n=power: lax.integer_pow(v, n), x)
    over_slices(lambda v: lax.clamp(v.dtype.type(-1.5), v, v.dtype.type(2)), x)


@pytest.mark.parametrize("dtype", INTS)
def test_functions_of_integers(dtype: str) -> None:
    x = corners(dtype)
    functions = [lax.abs, lax.sign, lax.square, lax.bitwise_not, lax.population_count, lax.clz]
    for f in functions + ([lax.neg] if dtype in SIGNED else []):
        over_slices(f, x)
    for power in (0, 1, 2, 5):
        over_slices(lambda v, n=power: lax.integer_pow(v, n), x)
    divisors = [1, 2, 3, 8, 10, 1 << 30, np.iinfo(dtype).max, 0]
    divisors += [-1, -2, -3, np.iinfo(dtype).min] if dtype in SIGNED else []
    for divisor in divisors:
        known = np.dtype(dtype).type(divisor)
        over_slices(lambda v, d=known: (lax.div(v, d), lax.rem(v, d)), x)
        over_slices(lambda v, d=known: (v // d, v % d) if d else v, x)
    for count in (0, 1, 5, 31, 32, 40, 63, 64):
        known = np.dtype(dtype).type(count)
        over_slices(lambda v, c=known: tuple(f(v, c) for f in SHIFTS), x)


@pytest.mark.parametrize("dtype", ["bool", *FLOATS, *INTS])
def test_conversions(dtype: str) -> None:
    for other in ("bool", *FLOATS, *INTS):
        over_slices(lambda v, to=other: v.astype(to), corners(dtype))
        if other != "bool" != dtype and np.dtype(dtype).itemsize == np.dtype(other).itemsize:
            over_slices(lambda v, to=other: lax.bitcast_convert_type(v, to), corners(dtype))


@pytest.mark.parametrize("dtype", ["bool", *FLOATS, *INTS])
def test_choices(dtype: str) -> None:
    x, y = pairs(dtype)
    over_slices(lambda a, b: fnp.where(a < b, a, b), x, y)
    over_slices(lambda a, b: fnp.where(a == a, b, a), x, y)
    over_slices(
        lambda c, a: fnp.where(c, a, a | a if a.dtype == bool else a + a), *pairs("bool", dtype)
    )
    over_slices(lambda a, b: lax.cond(a > b, lambda: (a, b), lambda: (b, a)), x, y)
    branches = [lambda a: a, lambda a: a * a, lambda a: a.astype(bool).astype(dtype)]
    over_slices(lambda i, a: lax.switch(i, branches, a), *pairs("int32", dtype))


@pytest.mark.parametrize("width", [2, 3, 4, 7, 8, 12])
@pytest.mark.parametrize("dtype", FLOATS)
def test_several_floats_at_a_time(dtype: str, width: int) -> None:
    x, y = (in_rows(each, width) for each in pairs(dtype))
    for f in (*ARITHMETIC, *COMPARISONS, lax.pow):
        over_slices(f, x, y)
    for f in FLOAT_FUNCTIONS:
        over_slices(f, x)
    over_slices(lambda a, b: fnp.where((a < b) & ~(b == 1), a * 2, b + a.dtype.type(0.5)), x, y)
    over_slices(lambda a: (a > 0).astype(a.dtype), x)
    over_slices(lambda a: lax.integer_pow(a, 7), x)


@pytest.mark.parametrize("width", [3, 4, 8])
@pytest.mark.parametrize("dtype", INTS)
def test_several_integers_at_a_time(dtype: str, width: int) -> None:
    x, y = (in_rows(each, width) for each in pairs(dtype))
    for f in (*ARITHMETIC, *COMPARISONS, *BITS, *SHIFTS):
        over_slices(f, x, y)
    for f in (lax.abs, lax.sign, lax.bitwise_not, lax.population_count):
        over_slices(f, x)
    over_slices(lambda a: a << a.dtype.type(3), x)


# ---- elements of small arrays --------------------------------------------------------------------


def test_elements_are_moved_and_combined() -> None:
    start = np.random.default_rng(1).normal(size=(2, 3)).astype("float32")

    def step(_: Any, c: Any) -> Any:
        a, b = c[0], c[1]
        turned = fnp.stack([b[::-1], a + b[1]])
        turned = fnp.concatenate([turned[:, 1:], turned[:, :1]], axis=1) + c.T.reshape(2, 3)
        total = turned.sum() + turned.max() - turned[:, 2].min() + turned.prod(axis=1).sum()
        return fnp.where(turned > total, turned, 0.5 * turned) + fnp.arange(3, dtype="float32")

    check(lambda x: lax.fori_loop(0, 50, step, x), start)


@pytest.mark.parametrize("dtype", ["bool", *FLOATS, *INTS])
def test_reductions(dtype: str) -> None:
    x = in_rows(corners(dtype), 5)
    for f in (fnp.sum, fnp.prod, fnp.max, fnp.min, fnp.any, fnp.all):
        over_slices(f, x)
    deep = np.resize(corners(dtype), (6, 2, 3))
    for f in (fnp.max, fnp.min, fnp.any, fnp.all):
        over_slices(lambda a, g=f: (g(a, axis=0), g(a, axis=1), g(a)), deep)
    over_slices(lambda a: (fnp.sum(a, axis=1), fnp.sum(a)), deep)
