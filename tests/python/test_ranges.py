"""Ranges, quantiles, lines and slopes are right to the last places of their dtype."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import mpmath
import numpy as np
import pytest

F64 = "float64"
INF, NAN = np.inf, np.nan


def exact(values: list, dtype: str = F64) -> np.ndarray:
    return np.array([complex(v) if isinstance(v, mpmath.mpc) else float(v) for v in values]).astype(
        dtype
    )


def assert_within(got, want, ulps: float, scale: float = 0.0):
    """Within so many units of the last place of ``want``, or of ``scale`` where that is larger."""
    got = np.asarray(got)
    want = np.asarray(want, got.dtype)
    assert got.shape == want.shape
    unit = np.spacing(np.maximum(np.abs(want), got.dtype.type(scale)))
    np.testing.assert_array_less(np.abs(got - want), ulps * unit + np.finfo(got.dtype).tiny)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("ends", [(0.1, 1.3), (-7.7, 3.3), (1e-30, 1e30), (5.0, 5.0)])
def test_linspace(dtype, endpoint, ends):
    with mpmath.workprec(200):
        first, last = (mpmath.mpf(float(np.dtype(dtype).type(e))) for e in ends)
        intervals = 10 if endpoint else 11
        want = [first + (last - first) * i / intervals for i in range(11)]
    got = fnp.linspace(*ends, 11, endpoint=endpoint, dtype=dtype)
    assert got.dtype == dtype
    assert_within(got, exact(want, dtype), 1.5, max(abs(e) for e in ends))
    assert got[0] == np.dtype(dtype).type(ends[0])
    if endpoint:
        assert got[-1] == np.dtype(dtype).type(ends[1])


def test_linspace_of_numbers_that_float32_does_not_hold():
    got = fnp.linspace(0.1, 0.3, 3, dtype=F64)
    np.testing.assert_allclose(got, [0.1, 0.2, 0.3], rtol=2e-16)
    _, step = fnp.linspace(0.1, 0.7, 4, dtype=F64, retstep=True)
    np.testing.assert_allclose(step, 0.2, rtol=1e-15)
    np.testing.assert_array_equal(
        fnp.linspace(2**40 + 1, 2**40 + 3, 3, dtype="int64"), [2**40 + 1, 2**40 + 2, 2**40 + 3]
    )


def test_linspace_with_infinite_ends():
    np.testing.assert_array_equal(fnp.linspace(0.0, INF, 3), [0, INF, INF])
    np.testing.assert_array_equal(fnp.linspace(-INF, 1.0, 3), [-INF, -INF, 1])
    np.testing.assert_array_equal(fnp.linspace(-1e308, 1e308, 3, dtype=F64), [-1e308, 0, 1e308])


def test_linspace_of_narrow_floats_is_rounded_once():
    got = fnp.linspace(0.0, 1.0, 1001, dtype="float16")
    want = np.linspace(0.0, 1.0, 1001, dtype=np.float32).astype(np.float16)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("num", [0, 1, 2])
def test_short_ranges(num):
    for name in ("linspace", "logspace", "geomspace"):
        for endpoint in (True, False):
            got = getattr(fnp, name)(1.0, 3.0, num, endpoint=endpoint, dtype=F64)
            np.testing.assert_allclose(got, getattr(np, name)(1.0, 3.0, num, endpoint=endpoint))


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_ranges_of_arrays_along_an_axis(name):
    first, last = np.array([[1.0, 2.0]]), np.array([[3.0], [5.0]])
    for axis in (0, 1, -1):
        got = getattr(fnp, name)(
            fnp.asarray(first, dtype=F64), fnp.asarray(last, dtype=F64), 5, axis=axis
        )
        np.testing.assert_allclose(got, getattr(np, name)(first, last, 5, axis=axis), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logspace_and_geomspace(dtype):
    with mpmath.workprec(200):
        ends = [mpmath.mpf(v) for v in (-20.3, 30.7)]
        powers = [ends[0] + (ends[1] - ends[0]) * i / 12 for i in range(13)]
        want = exact([mpmath.mpf(10) ** p for p in powers], dtype)
        ratio = mpmath.mpf(10) ** mpmath.mpf(40)
        steps = exact(
            [mpmath.mpf(10) ** -20 * ratio ** (mpmath.mpf(i) / 12) for i in range(13)], dtype
        )
    # An exponent of float64 is wrong by half a unit, its power by as many as it has digits.
    ulps = 1 if dtype == "float32" else 64
    assert_within(fnp.logspace(-20.3, 30.7, 13, dtype=dtype), want, ulps)
    assert_within(fnp.geomspace(1e-20, 1e20, 13, dtype=dtype), steps, ulps)
    np.testing.assert_array_equal(fnp.geomspace(1, 1000, 4, dtype=dtype), [1, 10, 100, 1000])
    np.testing.assert_allclose(
        fnp.geomspace(-2, -32, 5, dtype=dtype), [-2, -4, -8, -16, -32], rtol=1e-6
    )


def test_geomspace_of_complex_numbers():
    got = fnp.geomspace(1 + 0j, -16 + 0j, 5, dtype="complex128")
    np.testing.assert_allclose(got, np.geomspace(1 + 0j, -16 + 0j, 5), rtol=1e-13)


def test_ranges_refuse_a_negative_number_of_values():
    for name in ("linspace", "logspace", "geomspace"):
        with pytest.raises(ValueError, match=f"{name}: num must not be negative, got -1"):
            getattr(fnp, name)(0, 1, -1)


def test_ranges_are_traced_and_differentiated():
    def total(a, b):
        return fnp.linspace(a, b, 5).sum() + fnp.geomspace(a, b, 3)[1]

    slopes = fc.grad(fc.jit(total), (0, 1))(1.0, 4.0)
    np.testing.assert_allclose(slopes, [2.5 + 1, 2.5 + 0.25], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_arange(dtype):
    got = np.asarray(fnp.arange(0.1, 700.3, 0.7, dtype=dtype)).astype(np.float64)
    with mpmath.workprec(200):
        want = [mpmath.mpf(0.1) + i * mpmath.mpf(0.7) for i in range(len(got))]
    bits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype]
    np.testing.assert_allclose(got, exact(want), rtol=1.01 * 2.0**-bits)


# ---- quantiles ----


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles(method):
    data = np.random.default_rng(3).standard_normal((7, 11)) * 1e3
    q = [0.0, 0.1, 0.3, 0.5, 0.77, 1.0]
    x = fnp.asarray(data, dtype=F64)
    for axis in (None, 0, (0, 1), -1):
        want = np.quantile(data, q, axis=axis, method=method)
        got = fnp.quantile(x, fnp.asarray(np.array(q), dtype=F64), axis=axis, method=method)
        np.testing.assert_allclose(
            got, want, rtol=1e-15 if method != "nearest" else 0.5, atol=1e-12
        )
        for one in q:  # numbers of Python count as exact
            got = fnp.percentile(x, one * 100, axis=axis, method=method, keepdims=True)
            want = np.percentile(data, one * 100, axis=axis, method=method, keepdims=True)
            if method != "nearest":
                np.testing.assert_allclose(got, want, rtol=1e-14)


def test_a_part_that_names_an_element_gives_it():
    x = fnp.asarray(np.arange(11.0), dtype="float32")
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        for q in (0.3, np.float32(0.3)):
            assert fnp.quantile(x, q, method=method) == 3
        assert fnp.percentile(x, 30, method=method) == 3


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("q", [0.0, 0.3, 1.0, [0.1, 0.5, 0.75], []])
def test_quantiles_by_weights(axis, q):
    rng = np.random.default_rng(5)
    data, weights = rng.normal(size=(4, 5)), rng.integers(0, 4, size=(4, 5)).astype(float)
    x, parts = fnp.asarray(data, dtype=F64), fnp.asarray(np.array(q), dtype=F64)
    for given in (None, weights):
        for keepdims in (False, True):
            options = {"method": "inverted_cdf", "axis": axis, "keepdims": keepdims}
            want = np.quantile(data, q, weights=given, **options)
            found = fnp.quantile(x, parts, weights=given, **options)
            np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(
        fnp.percentile(x, 30, 1, method="inverted_cdf", weights=weights[0]),
        np.percentile(data, 30, 1, method="inverted_cdf", weights=weights[0]),
    )


def test_quantiles_by_weights_with_nans_and_what_is_refused():
    data, weights = np.array([[3, NAN, 1], [2, 5, 4]]), np.array([1.0, 9.0, 1.0])
    options = {"axis": 1, "method": "inverted_cdf", "weights": weights}
    np.testing.assert_array_equal(fnp.quantile(data, 0.6, **options), [NAN, 5])
    np.testing.assert_array_equal(fnp.nanquantile(data, 0.6, **options), [3, 5])
    np.testing.assert_array_equal(fnp.nanpercentile(data, 60, **options), [3, 5])
    assert np.isnan(fnp.quantile(data, 0.6, 1, method="inverted_cdf", weights=0 * weights)).all()
    with pytest.raises(NotImplementedError, match="quantile: weights need method='inverted_cdf'"):
        fnp.quantile(data, 0.6, 1, weights=weights)
    with pytest.raises(ValueError, match="quantile: weights must have the shape of"):
        fnp.quantile(data, 0.6, method="inverted_cdf", weights=weights)


def test_quantiles_of_extreme_values():
    highest = np.finfo(np.float32).max
    x = fnp.asarray(np.array([-highest, highest], np.float32))
    assert fnp.median(x) == 0
    assert fnp.median(fnp.asarray(np.array([highest, highest], np.float32))) == highest
    x = fnp.asarray(np.array([1.0, INF], np.float32))
    assert fnp.quantile(x, 0.0) == 1
    assert fnp.quantile(x, 0.5) == INF
    same = fnp.asarray(np.full(5, 0.1), dtype=F64)
    assert fnp.percentile(same, 37) == 0.1


def test_quantiles_and_nan():
    data = np.array([[1.0, NAN, 3.0], [4.0, 5.0, 7.0], [NAN, NAN, NAN]], np.float32)
    x = fnp.asarray(data)
    np.testing.assert_array_equal(fnp.median(x, 1), [NAN, 5, NAN])
    np.testing.assert_array_equal(fnp.nanmedian(x, 1), [2, 5, NAN])
    np.testing.assert_array_equal(fnp.nanquantile(x, 1.0, 1), [3, 7, NAN])
    np.testing.assert_array_equal(fnp.nanpercentile(x, 50, 1), [2, 5, NAN])
    assert np.isnan(fnp.quantile(x[1], NAN))


def test_quantiles_of_narrow_floats():
    data = np.arange(300, dtype=np.float16)
    got = fnp.quantile(fnp.asarray(data), 0.333)
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, np.float16(299 * 0.333))


def test_quantiles_have_derivatives():
    x = fnp.asarray(np.array([3.0, 1.0, 2.0, 7.0]), dtype=F64)
    slopes = fc.grad(lambda x: fnp.quantile(x, 0.5))(x)
    np.testing.assert_allclose(slopes, [0.5, 0, 0.5, 0])
    np.testing.assert_allclose(fc.grad(lambda q: fnp.quantile(x, q))(0.9), 12, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fnp.quantile(np.ones(3), 0.5, method="best"), "quantile: method must be"),
        (
            lambda: fnp.percentile(np.ones(3), np.ones((1, 1))),
            "percentile: q must be a scalar or a",
        ),
        (
            lambda: fnp.quantile(np.ones((0, 2)), 0.5),
            "quantile: an array of shape .* has no elements",
        ),
        (lambda: fnp.nanquantile(np.ones(2, np.complex64), 0.5), "nanquantile: complex numbers"),
        (
            lambda: fnp.interp(1.0, np.ones(2), np.ones(3)),
            "interp: xp and fp must be vectors of one",
        ),
        (
            lambda: fnp.interp(1.0, np.ones(2), np.ones(2), period=0),
            "interp: period must not be zero",
        ),
        (lambda: fnp.gradient(np.ones(1)), "gradient: needs at least two points"),
        (lambda: fnp.gradient(np.ones(3), np.ones(2)), "gradient: dimension 0 has 3 points"),
        (lambda: fnp.searchsorted(np.ones((2, 2)), 1.0), "searchsorted: a must be a vector"),
        (lambda: fnp.gcd(1.5, 2), "gcd: takes integers"),
    ],
)
def test_errors_name_the_function_and_the_argument(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call()


# ---- lines and slopes ----


def test_interp_in_float64():
    xp, fp = np.array([0.0, 0.1, 0.7, 1.9]), np.array([1.0, -3.0, 0.3, 1e3])
    x = np.array([-1.0, 0.0, 0.05, 0.1, 0.3, 1.2, 1.9, 5.0])
    args = [fnp.asarray(a, dtype=F64) for a in (x, xp, fp)]
    np.testing.assert_allclose(fnp.interp(*args), np.interp(x, xp, fp), rtol=1e-14)
    for one in x.tolist():  # a number of Python beside arrays of float64
        np.testing.assert_allclose(fnp.interp(one, *args[1:]), np.interp(one, xp, fp), rtol=1e-14)
    np.testing.assert_allclose(
        fnp.interp(*args, period=0.9), np.interp(x, xp, fp, period=0.9), rtol=1e-13
    )
    np.testing.assert_array_equal(
        fnp.interp(*args, left=-7, right=8.5)[np.array([0, 7])], [-7, 8.5]
    )
    np.testing.assert_array_equal(fnp.interp(args[1], *args[1:]), fp)


def test_interp_of_complex_values():
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([1j, 2.0, 3 - 1j])
    got = fnp.interp(
        fnp.asarray(np.array([0.5, 2.0]), dtype=F64), xp, fnp.asarray(fp, "complex128")
    )
    np.testing.assert_allclose(got, np.interp([0.5, 2.0], xp, fp), rtol=1e-7)


def test_gradient_in_float64():
    f = np.random.default_rng(4).standard_normal((4, 5))
    x = fnp.asarray(f, dtype=F64)
    for got, want in zip(fnp.gradient(x, 0.1), np.gradient(f, 0.1), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    places = np.array([0.1, 0.2, 0.35, 0.9, 1.7])
    np.testing.assert_allclose(
        fnp.gradient(x, fnp.asarray(places, dtype=F64), axis=1),
        np.gradient(f, places, axis=1),
        rtol=1e-12,
    )
    whole = np.array([2**30, 2**30 + 1, 2**30 + 3, 2**30 + 8])
    np.testing.assert_allclose(
        fnp.gradient(x, whole, axis=0), np.gradient(f, whole.astype(float), axis=0), rtol=1e-12
    )


def test_searchsorted():
    a, v = np.array([1.0, 2, 2, 5, NAN]), np.array([[0.0, 1, 2], [3, 5, 9]])
    for side in ("left", "right"):
        np.testing.assert_array_equal(fnp.searchsorted(a, v, side), np.searchsorted(a, v, side))


def test_numbers_of_python_count_as_float64_beside_it():
    """Whatever function they are given to: 0.1 is not the float32 next to it."""
    x = fnp.asarray(np.array([0.7, 1.3]), dtype=F64)
    wide = fnp.asarray(0.1, dtype=F64)
    names = "hypot float_power logaddexp logaddexp2 arctan2 fmod remainder copysign"
    for name in names.split():
        got, want = getattr(fnp, name)(x, 0.1), getattr(fnp, name)(x, wide)
        np.testing.assert_array_equal(got, want, err_msg=name)
    with_numbers = [fnp.clip(x, 0.1, 0.9), fnp.where(x > 1, x, 0.1), fnp.heaviside(x - x, 0.1)]
    np.testing.assert_array_equal(with_numbers[0], [0.7, 0.9])
    np.testing.assert_array_equal(with_numbers[1], [0.1, 1.3])
    np.testing.assert_array_equal(with_numbers[2], [0.1, 0.1])


@pytest.mark.parametrize("ends", [(5_000_000,), (7, 5_000_000), (3, -13_000_000, -3)])
@pytest.mark.parametrize("x64", [False, True])
def test_arange_of_many_integers(ends, x64):
    with fc.enable_x64(x64):
        got = fnp.arange(*ends)
    want = np.arange(*ends, dtype=np.int64 if x64 else np.int32)
    assert (got.dtype, got.weak_type) == (want.dtype, False)
    np.testing.assert_array_equal(np.asarray(got), want)
