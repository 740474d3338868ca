"""Statistics, polynomials, sets, places, windows and functions of slices, against numpy."""

from __future__ import annotations

import itertools

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from both import same_as_jax

X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4) ** 3
V = np.array([3, -1, 4, 1, 5, 9, 2, 6], np.float32)
W = np.array([2, 7, 1, 8, 2, 8, 1, 8], np.float32)
N = np.array([[12, -18, 0], [7, 35, 64]], np.int32)
K = np.array([4, 0, 2, 2, 7], np.int32)

# By name: what both modules compute.
CASES = {
    "cov": lambda m: m.cov(X),
    "cov_columns": lambda m: m.cov(X, rowvar=False),
    "cov_two": lambda m: m.cov(V, W, bias=True),
    "cov_one": lambda m: m.cov(V),
    "cov_weights": lambda m: m.cov(X, fweights=K[:4], aweights=np.abs(X[1])),
    "cov_complex": lambda m: m.cov(X + 1j * X[::-1]),
    "corrcoef": lambda m: m.corrcoef(V, W),
    "corrcoef_rows": lambda m: m.corrcoef(X),
    "histogram": lambda m: m.histogram(V, 4),
    "histogram_range": lambda m: m.histogram(V, 3, (0, 5), density=True),
    "histogram_edges": lambda m: m.histogram(V, [0, 1, 4, 9], weights=W),
    "histogram_point": lambda m: m.histogram(np.zeros(3, np.float32), 2),
    "histogram2d": lambda m: m.histogram2d(V, W, (2, 3)),
    "histogram2d_edges": lambda m: m.histogram2d(V, W, [0, 2, 9.5], density=True),
    "bincount": lambda m: m.bincount(K),
    "bincount_weights": lambda m: m.bincount(K, np.arange(5, dtype=np.float32), minlength=10),
    "gradient": lambda m: m.gradient(V),
    "gradient_axes": lambda m: m.gradient(X, 0.5, np.array([0, 1, 3, 4], np.float32)),
    "gradient_axis": lambda m: m.gradient(X, 2.0, axis=1),
    "unwrap": lambda m: m.unwrap(V * 2),
    "unwrap_period": lambda m: m.unwrap(K, period=6),
    "gcd": lambda m: m.gcd(N, np.array([[8], [14]], np.int32)),
    "lcm": lambda m: m.lcm(N, np.array([[8], [14]], np.int32)),
    "frexp": lambda m: m.frexp(np.array([0, 1, -3, 1e-3, 1e30, np.inf, 1e-40], np.float32)),
    "polyadd": lambda m: m.polyadd(V, V[:3]),
    "polysub": lambda m: m.polysub(V[:3], V),
    "polymul": lambda m: m.polymul(V[:3], W[:4]),
    "polyder": lambda m: m.polyder(V, 2),
    "polyint": lambda m: m.polyint(V, 2, [1, 2]),
    "polyval": lambda m: m.polyval(V, X),
    "polyfit": lambda m: m.polyfit(V, W, 2),
    "polyfit_weights": lambda m: m.polyfit(V, W, 1, w=np.abs(V)),
    "polyfit_cov": lambda m: m.polyfit(V, np.stack([W, V * V], 1), 2, cov=True),
    "poly": lambda m: m.poly(V[:4]),
    "unique_values": lambda m: m.sort(m.unique_values(K)),
    "isin": lambda m: m.isin(N, [0, 7, 12]),
    "isin_invert": lambda m: m.isin(N, K, invert=True),
    "union1d": lambda m: m.union1d(K, N),
    "intersect1d": lambda m: m.intersect1d(K, [7, 4, 9], return_indices=True),
    "setdiff1d": lambda m: m.setdiff1d(K, [2]),
    "setxor1d": lambda m: m.setxor1d(K, [2, 3]),
    "unique_all": lambda m: tuple(m.unique_all(N)),
    "unique_counts": lambda m: tuple(m.unique_counts(K)),
    "unique_inverse": lambda m: tuple(m.unique_inverse(N)),
    "diag_indices": lambda m: m.diag_indices(3),
    "diag_indices_from": lambda m: m.diag_indices_from(np.zeros((2, 2, 2))),
    "tril_indices_from": lambda m: m.tril_indices_from(X, 1),
    "triu_indices_from": lambda m: m.triu_indices_from(X),
    "ix_": lambda m: m.ix_([2, 0], np.array([True, False, True])),
    "unravel_index": lambda m: m.unravel_index(np.array([5, 0, 11]), (3, 4)),
    "ravel_multi_index": lambda m: m.ravel_multi_index(([1, 2], [3, 0]), (3, 4)),
    "ravel_multi_index_wrap": lambda m: m.ravel_multi_index(
        (np.array([4, -1]), np.array([1, 5])), (3, 4), mode="wrap", order="F"
    ),
    "mgrid": lambda m: m.mgrid[1:4, 0:2:0.5],
    "mgrid_one": lambda m: m.mgrid[0:1:5j],
    "ogrid": lambda m: m.ogrid[0:3, -1:1:3j],
    "choose": lambda m: m.choose(np.array([1, 0, 2]), [V[:3], W[:3], np.float32(7)]),
    "choose_clip": lambda m: m.choose(np.array([5, -2]), [V[:2], W[:2]], mode="clip"),
    "delete": lambda m: m.delete(X, [0, -1], 1),
    "delete_flat": lambda m: m.delete(X, slice(2, 9)),
    "delete_bools": lambda m: m.delete(V, V > 2),
    "insert": lambda m: m.insert(X, 1, 7, axis=1),
    "insert_rows": lambda m: m.insert(X, [0, 2], X[:2], axis=0),
    "insert_flat": lambda m: m.insert(V, [2, 2, -1], [7, 8, 9]),
    "insert_several": lambda m: m.insert(V, 3, [1, 2]),
    "block": lambda m: m.block([[X, X[:, :1]], [V[:4], np.float32(7)]]),
    "block of one": lambda m: m.block([V, 1.0]),
    "linalg_cross": lambda m: m.linalg.cross(X[:, :3], X[:, 1:]),
    "linalg_tensordot": lambda m: m.linalg.tensordot(X, X, axes=((0,), (0,))),
    "resize": lambda m: m.resize(V, (3, 5)),
    "bartlett": lambda m: m.bartlett(7).astype(np.float32),
    "blackman": lambda m: m.blackman(6).astype(np.float32),
    "hamming": lambda m: m.hamming(1).astype(np.float32),
    "hanning": lambda m: m.hanning(5).astype(np.float32),
    "kaiser": lambda m: m.kaiser(8, 14.0).astype(np.float32),
    "apply_along_axis": lambda m: m.apply_along_axis(lambda v: m.stack([v.sum(), v[0]]), 0, X),
    "apply_over_axes": lambda m: m.apply_over_axes(m.sum, X, [0, -1]),
    "piecewise": lambda m: m.piecewise(X, [X < 0, X > 1], [lambda v: -v, lambda v: v * v, 2]),
    "piecewise_default": lambda m: m.piecewise(V, [V < 4, V < 2], [1, 2]),
}


def flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [np.asarray(value)]


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_numpy(name):
    ours, theirs = flat(CASES[name](fnp)), flat(CASES[name](np))
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        assert a.dtype.kind == b.dtype.kind or name.startswith("histogram")
        assert a.dtype in (np.int32, np.int64, np.float32, np.complex64, np.bool_)
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


# Those whose functions can be recorded, on values that are not known.
@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda m, x: m.histogram(x, 3), V),
        (lambda m, x: m.bincount(x, length=4), K),
        (lambda m, x: m.isin(x, x[:2]), K),
        (lambda m, x: m.gcd(x, 6), N),
        (lambda m, x: m.unravel_index(x, (2, 4)), K),
        (lambda m, x: m.polydiv(x, x[:2]), V[:4]),
        (lambda m, x: m.roots(x, strip_zeros=False), V[:3]),
        (lambda m, x: m.piecewise(x, [x > 0], [lambda v: v, 3]), V),
        (lambda m, x: m.fill_diagonal(x, 7, inplace=False), X),
        (lambda m, x: m.place(x, x > 0, W[:3], inplace=False), X),
        (lambda m, x: m.put(x, np.array([0, -1, 5]), W[:2], inplace=False), X),
        (lambda m, x: m.cov(x), X),
    ],
)
def test_recorded_functions_are_those_of_jax(function, values):
    same_as_jax(lambda m: m.root.jit(lambda x: function(m.np, x))(values), rtol=1e-4, atol=1e-5)


def test_derivatives_pass_through():
    for function in (
        lambda x: fnp.corrcoef(x, fnp.array(W))[0, 1],
        lambda x: fnp.gradient(x).sum(),
        lambda x: fnp.polyfit(x, fnp.array(W), 1)[0],
        lambda x: fnp.unwrap(x).sum(),
    ):
        fc.testing.check_derivatives(function, (V / 4,), modes="rev")


def test_roots():
    for p in ([1, -6, 11, -6], [0, 2, 0, -8, 0, 0], [5.0], [0, 0]):
        ours = np.sort_complex(np.asarray(fnp.roots(p)))
        np.testing.assert_allclose(ours, np.sort_complex(np.roots(p)), rtol=1e-3, atol=1e-5)


def test_sizes_that_are_given():
    np.testing.assert_array_equal(fnp.union1d(K, [1], size=3), [0, 1, 2])
    np.testing.assert_array_equal(fnp.setdiff1d(K, [2], size=5, fill_value=9), [0, 4, 7, 9, 9])
    np.testing.assert_array_equal(fnp.bincount(K, length=2), [1, 0])
    np.testing.assert_array_equal(fnp.bincount(np.array([-3, 1])), [1, 1])


def test_fill_diagonal_of_a_high_matrix():
    for wrap in (False, True):
        wanted = np.zeros((7, 3), np.float32)
        np.fill_diagonal(wanted, [1, 2], wrap)
        ours = fnp.fill_diagonal(np.zeros((7, 3), np.float32), [1, 2], wrap, inplace=False)
        np.testing.assert_array_equal(ours, wanted)


# ---- vectorize ----


@pytest.mark.parametrize(
    ("signature", "shapes"),
    [
        (None, [(3, 1), (4,)]),
        ("(n),(n)->()", [(2, 1, 3), (4, 3)]),
        ("(m,n),(n)->(m)", [(2, 3), (5, 3)]),
        ("(n)->(),(n)", [(2, 3)]),
    ],
)
def test_vectorize(signature, shapes):
    functions = {
        None: lambda a, b: a * b + 1,
        "(n),(n)->()": lambda a, b: (a * b).sum(),
        "(m,n),(n)->(m)": lambda a, b: a @ b,
        "(n)->(),(n)": lambda a: (a.sum(), a * 2),
    }
    arrays = [np.arange(np.prod(s), dtype=np.float32).reshape(s) for s in shapes]
    f = functions[signature]
    wanted = np.vectorize(f, signature=signature)(*arrays)
    for a, b in zip(
        flat(fnp.vectorize(f, signature=signature)(*arrays)), flat(wanted), strict=True
    ):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_vectorize_leaves_arguments_out():
    @fnp.vectorize
    def plain(x):
        return x + 1

    assert float(plain(2.0)) == 3
    f = fnp.vectorize(lambda x, table, *, scale: table[0] * x * scale, excluded={1, "scale"})
    np.testing.assert_array_equal(f(V, [10.0], scale=2.0), V * 20)


def test_vectorize_refuses_what_does_not_fit():
    with pytest.raises(
        ValueError, match=r"signature must be like .\(m,n\),\(n\)->\(m\)., got 'n->n'"
    ):
        fnp.vectorize(abs, signature="n->n")
    f = fnp.vectorize(lambda a, b: a, signature="(n),(n)->(n)")
    with pytest.raises(ValueError, match=r"an argument of shape \(8,\) does not fit \(n\) with"):
        f(X, V)
    with pytest.raises(TypeError, match="the signature has 2 inputs, got 1"):
        f(V)
    with pytest.raises(ValueError, match=r"does not have the dimensions \(n\)"):
        f(1.0, V)
    g = fnp.vectorize(lambda a: a, signature="(n)->()")
    with pytest.raises(ValueError, match=r"a result of shape \(8,\) does not fit \(\)"):
        g(V)


# ---- dtypes ----


def test_types():
    for args in (
        ("int8", "uint8"),
        (np.float16, "bfloat16"),
        (V, 3),
        (N, 2.0),
        (1, 2.0),
        (True, 1),
    ):
        assert fnp.result_type(*args) == jnp.result_type(*args), args
    assert fnp.promote_types("int32", "float16") == np.float16
    assert fnp.issubdtype(fnp.bfloat16, fnp.floating)
    assert not fnp.issubdtype(fnp.bfloat16, fnp.integer)
    assert fnp.issubdtype(np.int8, fnp.signedinteger)
    assert fnp.isdtype(np.float32, "real floating")
    assert fnp.isdtype("bfloat16", ("integral", "numeric"))
    assert not fnp.isdtype(np.int8, ("bool", np.int16))
    assert fnp.can_cast("int8", "int16")
    with pytest.raises(ValueError, match=r"isdtype: kind must be a dtype or one of .*got 'whole'"):
        fnp.isdtype(np.int8, "whole")


def test_what_is_refused():
    refused = {
        "bincount: x must be integers in one dimension": lambda: fnp.bincount(V),
        "cov: fweights must be one number for each of 4": lambda: fnp.cov(X, fweights=K),
        "histogram: bins must be a number or edges, got 'auto'": lambda: fnp.histogram(V, "auto"),
        "gradient: edge_order must be 1": lambda: fnp.gradient(V, edge_order=2),
        "gradient: needs at least two points": lambda: fnp.gradient(V[:1]),
        "gradient: takes 0, 1 or 2 distances, got 3": lambda: fnp.gradient(X, 1, 2, 3),
        "gcd: takes integers, got float32 and int32": lambda: fnp.gcd(V, 2),
        "polyder: the order must not be negative": lambda: fnp.polyder(V, -1),
        "polyfit: x must be a vector and y": lambda: fnp.polyfit(X, V, 1),
        "choose: index 2 is out of range": lambda: fnp.choose(np.array([2]), [V[:1]]),
        "fill_diagonal: arrays are immutable; give inplace=False": (
            lambda: fnp.fill_diagonal(X, 1)
        ),
        "ravel_multi_index: index 3 is out of range": lambda: fnp.ravel_multi_index([[3]], (3,)),
        "insert: index 9 is out of range for dimension 0 of size 8": lambda: fnp.insert(V, 9, 1),
        "piecewise: 1 conditions need 1 functions, or one more": lambda: fnp.piecewise(
            V, [V > 0], [1, 2, 3]
        ),
    }
    for text, call in refused.items():
        with pytest.raises((ValueError, TypeError, IndexError, NotImplementedError), match=text):
            call()


def test_nearest_quantiles_between_two_elements():
    q = np.array([1 / 6, 0.5, 5 / 6], np.float32)
    x = np.arange(4, dtype=np.float32)
    same_as_jax(lambda m: m.np.quantile(x, q, method="nearest"))


def test_interpolation_between_points_that_coincide():
    x, xp, fp = (np.float32(v) for v in ([0.5, 1, 1.5, 2, 3], [0, 1, 1, 2], [0, 1, 5, 6]))
    same_as_jax(lambda m: m.np.interp(x, xp, fp))
    # The last points decide at their place, as in numpy; JAX takes the first of them.
    np.testing.assert_array_equal(fnp.interp(x, xp[:3], fp[:3]), np.interp(x, xp[:3], fp[:3]))


def test_variances_of_too_few_numbers_are_nan():
    x = np.array([[1, np.nan, np.nan], [1, 3, np.nan], [np.nan] * 3], np.float32)
    for ddof in (0, 1, 2):
        same_as_jax(lambda m, ddof=ddof: m.np.nanvar(x, axis=1, ddof=ddof))


def test_imaginary_numbers_are_true():
    x = np.array([1j, 0, 1, -2j], np.complex64)
    np.testing.assert_array_equal(fnp.logical_not(x), np.logical_not(x))
    np.testing.assert_array_equal(fnp.where(x, 1, 2), np.where(x, 1, 2))
    assert int(fnp.count_nonzero(x)) == 3


def test_a_wide_number_stays_wide_among_bools():
    result = fnp.array(2**40) + fnp.array([True])
    assert result.dtype == np.int64
    assert result[0] == 2**40 + 1


def test_histograms_have_bins_of_different_numbers_of_edges():
    points = np.stack([V, W], 1)
    for bins in ([[0, 2, 9.5], [0, 3, 6, 9]], [3, [0, 3, 6, 9]]):
        counts, edges = fnp.histogramdd(points, bins)
        expected, expected_edges = np.histogramdd(points, bins)
        np.testing.assert_array_equal(counts, expected)
        for found, wanted in zip(edges, expected_edges, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda p: fnp.roots(p),
        lambda p: fnp.polymul(p, p, trim_leading_zeros=True),
        lambda p: fnp.polydiv(p, p, trim_leading_zeros=True)[1],
        lambda p: fnp.bincount(p.astype("int32")),
        lambda p: fnp.linalg.lstsq(fnp.stack([p, p]).T, p, numpy_resid=True)[1],
    ],
)
def test_what_depends_on_traced_values_says_why_they_are_not_known(function):
    with pytest.raises(fc.errors.ConcretizationTypeError, match=r"traced .* known.*jit"):
        fc.jit(function)(V)
    assert np.asarray(function(fnp.asarray(V))).size >= 0


SETS = ["union1d", "intersect1d", "setdiff1d", "setxor1d"]


@pytest.mark.parametrize("name", SETS)
def test_set_operations_promote_as_in_jax(name):
    dtypes = ["bool", "uint32", "int32", "bfloat16", "float16", "float32"]
    with fc.enable_x64(False), jax.enable_x64(False):
        for a, b in itertools.product(dtypes, dtypes):
            for options in ({}, {"size": 2}, {"size": 6, "fill_value": 7}):
                if a == b == "bool" and "fill_value" in options:
                    continue  # JAX's dtype follows the filling
                got, wanted = (
                    getattr(m, name)(m.array([1, 0, 1, 3], a), m.array([1, 2, 0, 2], b), **options)
                    for m in (fnp, jnp)
                )
                assert got.dtype == wanted.dtype
                np.testing.assert_array_equal(got, wanted, err_msg=f"{a} {b} {options}")


@pytest.mark.parametrize("name", ["unique", *SETS])
def test_set_operations_are_differentiated_outside_of_jit(name):
    x, other = fnp.array([1.0, 2.0, 1.0]), fnp.array([3.0, 1.0])
    slopes = {"unique": [2, 4, 0], "union1d": [2, 4, 0], "intersect1d": [2, 0, 0]}

    def total(x):
        found = fnp.unique(x) if name == "unique" else getattr(fnp, name)(x, other)
        return (found**2).sum()

    assert fc.grad(total)(x).tolist() == slopes.get(name, [0, 4, 0])
    assert float(fc.jvp(total, (x,), (fnp.ones(3),))[1]) == sum(slopes.get(name, [0, 4, 0]))
    with pytest.raises(fc.errors.ConcretizationTypeError, match=name):
        fc.jit(total)(x)


def test_dtypes_of_results_are_those_of_jax():
    def results(m):
        points, weights = m.arange(8.0).reshape(4, 2), m.array([1, 2, 3, 4])
        return [
            m.histogram2d(*points.T, bins=2)[0],
            m.histogramdd(points, bins=2, weights=weights)[0],
            m.histogramdd(points, bins=2, density=True)[0],
            m.histogram(m.arange(4), bins=m.array([0.0, 2.0, 4.0]), weights=weights)[0],
            m.histogram(m.arange(4), bins=2, weights=m.ones(4, bool))[0],
            m.histogram(m.arange(4, dtype="float16"), bins=2)[0],
            m.std(m.array([True, False]), dtype="complex64"),
            m.var(m.arange(3.0), dtype="complex64"),
            *(m.angle(m.asarray(1, dtype)) for dtype in ("bfloat16", "int8", "complex64")),
            *(m.rint(m.ones(2, dtype)) for dtype in ("uint32", "bool", "float16")),
        ]

    for x64 in (False, True):
        with fc.enable_x64(x64), jax.enable_x64(x64):
            for got, wanted in zip(results(fnp), results(jnp), strict=True):
                assert got.dtype == wanted.dtype
                np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("mode", [None, "wrap", "clip"])
def test_put_treats_indices_out_of_range_as_jax_does(mode):
    for index in ([0, 5], [-7, -1], [-1, 1], [2, -3]):
        got, wanted = (
            m.put(m.arange(3.0), m.array(index), m.array([7.0, 8.0]), mode=mode, inplace=False)
            for m in (fnp, jnp)
        )
        np.testing.assert_array_equal(got, wanted)


def test_arange_needs_an_end():
    with pytest.raises(TypeError, match="arange: argument stop must be a number, got None"):
        fnp.arange(None)
