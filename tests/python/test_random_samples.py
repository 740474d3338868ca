"""Samples of the distributions of farcall.random, against jax.random and against their laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax, random

jax = pytest.importorskip("jax")
scipy_stats = pytest.importorskip("scipy.stats")
jrandom = jax.random

A = np.array([0.05, 0.4, 1.0, 2.5, 30.0], "float32")
MEAN = np.array([1.0, -2.0, 0.5], "float32")
COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.7]], "float32")
N = (50,)

# By name: a draw, and how many epsilons samples may differ from JAX's, relative to 1 or to
# themselves, whichever is more. Both libraries approximate the functions, each in its own way.
DRAWS: dict[str, tuple[Callable[..., Any], float]] = {
    "uniform": (lambda r, k, d: r.uniform(k, N, d, -3.0, 10.0), 16),
    "uniform of arrays": (
        lambda r, k, d: r.uniform(k, (2, 3), d, np.array([0, 1, 2], d), np.array([[3], [4]], d)),
        8,
    ),
    "normal": (lambda r, k, d: r.normal(k, N, d), 8),
    "truncated_normal": (lambda r, k, d: r.truncated_normal(k, -2.0, 2.0, N, d), 8),
    "truncated_normal of arrays": (
        lambda r, k, d: r.truncated_normal(
            k, np.array([-1, 0], d), np.array([[1], [5]], d), dtype=d
        ),
        32,
    ),
    "lognormal": (lambda r, k, d: r.lognormal(k, 0.7, N, d), 16),
    "exponential": (lambda r, k, d: r.exponential(k, N, d), 4),
    "gumbel": (lambda r, k, d: r.gumbel(k, N, d), 8),
    "gumbel, high": (lambda r, k, d: r.gumbel(k, N, d, mode="high"), 8),
    "gumbel, highest": (lambda r, k, d: r.gumbel(k, N, d, mode="highest"), 8),
    "laplace": (lambda r, k, d: r.laplace(k, N, d), 8),
    "logistic": (lambda r, k, d: r.logistic(k, N, d), 8),
    "cauchy": (lambda r, k, d: r.cauchy(k, N, d), 600),
    "maxwell": (lambda r, k, d: r.maxwell(k, N, d), 8),
    "double_sided_maxwell": (
        lambda r, k, d: r.double_sided_maxwell(k, np.array([1, 2], d), np.array(0.5, d), (4,), d),
        8,
    ),
    "double_sided_maxwell of the shape of its parameters": (
        lambda r, k, d: r.double_sided_maxwell(k, np.array([1, 2], d), np.array(0.5, d), (), d),
        8,
    ),
    "weibull_min": (lambda r, k, d: r.weibull_min(k, 2.0, 1.5, N, d), 16),
    "pareto": (lambda r, k, d: r.pareto(k, 3.0, N, d), 16),
    "rayleigh": (lambda r, k, d: r.rayleigh(k, np.array([1, 3], d), (20, 2), d), 8),
    "wald": (lambda r, k, d: r.wald(k, np.array(1.5, d), N, d), 2000),
    "triangular": (lambda r, k, d: r.triangular(k, -1.0, 0.5, 2.0, N, d), 8),
    "gamma": (lambda r, k, d: r.gamma(k, A.astype(d), (6, 5), d), 100),
    "gamma of a number": (lambda r, k, d: r.gamma(k, 2.0, dtype=d), 100),
    "gamma of nothing": (lambda r, k, d: r.gamma(k, 2.0, (0, 3), d), 0),
    "loggamma": (lambda r, k, d: r.loggamma(k, A.astype(d), (6, 5), d), 100),
    "beta": (lambda r, k, d: r.beta(k, A.astype(d), 2.0, (6, 5), d), 100),
    "dirichlet": (lambda r, k, d: r.dirichlet(k, A.astype(d), (7,), d), 100),
    "chisquare": (lambda r, k, d: r.chisquare(k, 3.0, N, d), 100),
    "f": (lambda r, k, d: r.f(k, 5.0, 7.0, N, d), 100),
    "t": (lambda r, k, d: r.t(k, 4.0, N, d), 100),
    "generalized_normal": (lambda r, k, d: r.generalized_normal(k, 1.5, N, d), 100),
    "ball": (lambda r, k, d: r.ball(k, 3, 2.0, (8,), d), 100),
    "ball of another norm": (lambda r, k, d: r.ball(k, 4, 1.0, (), d), 100),
    "multivariate_normal": (
        lambda r, k, d: r.multivariate_normal(k, MEAN.astype(d), COV.astype(d), (6,)),
        32,
    ),
    "multivariate_normal, eigh": (
        lambda r, k, d: abs(
            r.multivariate_normal(k, MEAN.astype(d), COV.astype(d), method="cholesky")
        ),
        32,
    ),
    "orthogonal": (lambda r, k, d: r.orthogonal(k, 4, (2,), d), 64),
    "orthogonal, wide": (lambda r, k, d: r.orthogonal(k, 2, (), d, m=5), 64),
    "orthogonal, tall": (lambda r, k, d: r.orthogonal(k, 5, (), d, m=2), 64),
}
NO_NARROW = ("orthogonal", "multivariate", "ball", "double", "wald")
LAPACK = ("orthogonal", "multivariate")


def jax_key(key: Any) -> Any:
    return jrandom.wrap_key_data(np.asarray(random.key_data(key)))


def check_close(got: Any, expected: Any, epsilons: float) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    eps = float(jax.numpy.finfo(expected.dtype).eps)
    wide = "complex128" if np.iscomplexobj(expected) else "float64"
    got, expected = got.astype(wide), expected.astype(wide)
    np.testing.assert_allclose(got, expected, rtol=epsilons * eps, atol=epsilons * eps)


@pytest.mark.parametrize("name", DRAWS)
def test_samples_are_those_of_jax(name: str) -> None:
    draw, epsilons = DRAWS[name]
    key = random.key(21)
    check_close(draw(random, key, "float32"), draw(jrandom, jax_key(key), "float32"), epsilons)


@pytest.mark.parametrize(
    "name",
    ["uniform", "normal", "gumbel, high", "double_sided_maxwell", "weibull_min", "gamma", "ball"],
)
def test_samples_of_float64(name: str) -> None:
    draw, epsilons = DRAWS[name]
    key = random.key(22)
    with jax.enable_x64(True):
        expected = draw(jrandom, jax_key(key), "float64")
    # JAX's functions of float64 are a few hundred epsilons off; ours are compared loosely here.
    with fc.enable_x64():
        check_close(draw(random, key, "float64"), expected, 1000 * (epsilons + 1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "name", ["uniform", "normal", "exponential", "gumbel", "laplace", "logistic", "maxwell"]
)
def test_narrow_samples(name: str, dtype: str) -> None:
    draw, _ = DRAWS[name]
    key, narrow = random.key(23), np.dtype(fnp.dtype(dtype) if hasattr(fnp, "dtype") else dtype)
    # JAX keeps more digits between operations, so that samples differ by a few units.
    check_close(draw(random, key, narrow), draw(jrandom, jax_key(key), narrow), 8)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_samples(dtype: str) -> None:
    key = random.key(24)
    with jax.enable_x64(True):
        expected = jrandom.normal(jax_key(key), N, dtype)
        matrices = jrandom.orthogonal(jax_key(key), 3, (), dtype)
    check_close(random.normal(key, N, dtype), expected, 1e4 if dtype == "complex128" else 32)
    check_close(random.orthogonal(key, 3, (), dtype), matrices, 1e4 if "128" in dtype else 64)


@pytest.mark.parametrize(
    "name",
    [
        "normal",
        "gamma",
        "loggamma",
        "beta",
        "t",
        "ball",
        "gumbel",
        "truncated_normal",
        "multivariate_normal",
    ],
)
def test_samples_by_every_way(name: str) -> None:
    draw, _ = DRAWS[name]
    keys = random.split(random.key(5), 3)

    def each(key: Any) -> Any:
        return draw(random, key, "float32")

    expected = np.stack([np.asarray(each(keys[i])) for i in range(3)])
    np.testing.assert_array_equal(fc.jit(each)(keys[1]), expected[1])
    for got in (
        fc.vmap(each)(keys),
        fc.jit(fc.vmap(each))(keys),
        fc.vmap(fc.jit(each))(random.key_data(keys)),
        lax.map(each, keys),
        lax.scan(lambda c, key: (c, each(key)), 0, keys)[1],
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_methods_of_multivariate_normal_have_the_covariance(method: str) -> None:
    draws = np.asarray(
        random.multivariate_normal(random.key(1), MEAN, COV, (40000,), method=method)
    )
    np.testing.assert_allclose(draws.mean(0), MEAN, atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), COV, atol=0.05)


def test_a_singular_covariance() -> None:
    cov = np.ones((2, 2), "float32")
    draws = np.asarray(random.multivariate_normal(random.key(1), MEAN[:2], cov, (9,), method="svd"))
    np.testing.assert_allclose(draws[:, 0] - MEAN[0], draws[:, 1] - MEAN[1], atol=2e-3)


# ---- laws: the distance of Kolmogorov and Smirnov of many samples

S = scipy_stats
LAWS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "uniform": (lambda k: random.uniform(k, (20000,), minval=-1, maxval=3), S.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, (20000,)), S.norm),
    "truncated_normal": (lambda k: random.truncated_normal(k, -1, 2, (20000,)), S.truncnorm(-1, 2)),
    "lognormal": (lambda k: random.lognormal(k, 0.5, (20000,)), S.lognorm(0.5)),
    "exponential": (lambda k: random.exponential(k, (20000,)), S.expon),
    "gumbel": (lambda k: random.gumbel(k, (20000,)), S.gumbel_r),
    "laplace": (lambda k: random.laplace(k, (20000,)), S.laplace),
    "logistic": (lambda k: random.logistic(k, (20000,)), S.logistic),
    "cauchy": (lambda k: random.cauchy(k, (20000,)), S.cauchy),
    "maxwell": (lambda k: random.maxwell(k, (20000,)), S.maxwell),
    "weibull_min": (lambda k: random.weibull_min(k, 2.0, 1.5, (20000,)), S.weibull_min(1.5, 0, 2)),
    "pareto": (lambda k: random.pareto(k, 3.0, (20000,)), S.pareto(3)),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, (20000,)), S.rayleigh(0, 2)),
    "wald": (lambda k: random.wald(k, np.float32(1), (20000,)), S.invgauss(1)),
    "triangular": (lambda k: random.triangular(k, 0, 1, 4, (20000,)), S.triang(0.25, 0, 4)),
    "gamma": (lambda k: random.gamma(k, 2.5, (20000,)), S.gamma(2.5)),
    "gamma below 1": (lambda k: random.gamma(k, 0.3, (20000,)), S.gamma(0.3)),
    "loggamma": (lambda k: random.loggamma(k, 0.3, (20000,)), S.loggamma(0.3)),
    "beta": (lambda k: random.beta(k, 2.0, 0.5, (20000,)), S.beta(2, 0.5)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (20000,)), S.chi2(3)),
    "f": (lambda k: random.f(k, 5.0, 7.0, (20000,)), S.f(5, 7)),
    "t": (lambda k: random.t(k, 4.0, (20000,)), S.t(4)),
    "generalized_normal": (lambda k: random.generalized_normal(k, 1.5, (20000,)), S.gennorm(1.5)),
}


@pytest.mark.parametrize("name", LAWS)
def test_samples_follow_their_law(name: str) -> None:
    draw, law = LAWS[name]
    # Above 1.95 / sqrt(n) once in a thousand keys; the key is always the same.
    distance = S.kstest(np.asarray(draw(random.key(2024)), "float64"), law.cdf).statistic
    assert distance < 1.95 / np.sqrt(20000)


COUNTS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "poisson": (lambda k: random.poisson(k, 3.5, (20000,)), S.poisson(3.5)),
    "poisson of a large mean": (lambda k: random.poisson(k, 40.0, (20000,)), S.poisson(40)),
    "binomial": (lambda k: random.binomial(k, 12, 0.3, (20000,)), S.binom(12, 0.3)),
    "binomial of many": (lambda k: random.binomial(k, 200, 0.7, (20000,)), S.binom(200, 0.7)),
    "geometric": (lambda k: random.geometric(k, 0.2, (20000,)), S.geom(0.2)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_follow_their_law(name: str) -> None:
    draw, law = COUNTS[name]
    drawn = np.asarray(draw(random.key(77)), "float64")
    values = np.arange(drawn.min(), drawn.max() + 1)
    found = np.searchsorted(np.sort(drawn), values, side="right") / drawn.size
    assert np.abs(found - law.cdf(values)).max() < 1.95 / np.sqrt(drawn.size)


def test_infinitely_many_trials_end() -> None:
    n = np.float32([np.inf, np.inf, np.inf, np.inf, -np.inf, 7])
    p = np.float32([0, 0.5, 1, np.nan, 0.5, 1])
    drawn = np.asarray(random.binomial(random.key(0), n, p))
    np.testing.assert_array_equal(drawn, [0, np.inf, np.inf, np.nan, np.nan, 7])


def test_samples_stay_within_their_bounds() -> None:
    key = random.key(0)
    for dtype in ("float16", "bfloat16", "float32"):
        narrow = fnp.zeros(0, dtype).dtype
        u = np.asarray(random.uniform(key, (100000,), narrow), "float32")
        assert u.min() >= 0
        assert u.max() < 1
        n = np.asarray(random.truncated_normal(key, -1.0, 1.0, (100000,), narrow), "float32")
        assert n.min() > -1
        assert n.max() < 1
        assert np.isfinite(np.asarray(random.normal(key, (100000,), narrow), "float32")).all()


def test_matrices_are_orthogonal() -> None:
    x = np.asarray(random.orthogonal(random.key(0), 5, (3,), "float64"))
    np.testing.assert_allclose(
        x @ x.swapaxes(-1, -2), np.broadcast_to(np.eye(5), (3, 5, 5)), atol=1e-12
    )
    u = np.asarray(random.orthogonal(random.key(0), 2, (), "complex128", m=4))
    np.testing.assert_allclose(u @ u.conj().T, np.eye(2), atol=1e-12)


# ---- derivatives

SLOPES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gamma": lambda r, k, a: r.gamma(k, a),
    "loggamma": lambda r, k, a: r.loggamma(k, a),
    "beta": lambda r, k, a: r.beta(k, a, 1.5),
    "dirichlet": lambda r, k, a: r.dirichlet(k, a)[:2],
    "chisquare": lambda r, k, a: r.chisquare(k, a),
    "t": lambda r, k, a: r.t(k, a),
    "uniform": lambda r, k, a: r.uniform(k, (5,), minval=a, maxval=2 * a),
    "truncated_normal": lambda r, k, a: r.truncated_normal(k, -a, a),
    "rayleigh": lambda r, k, a: r.rayleigh(k, a),
    "pareto": lambda r, k, a: r.pareto(k, a),
}


@pytest.mark.parametrize("name", SLOPES)
def test_derivatives_by_parameters(name: str) -> None:
    draw, key = SLOPES[name], random.key(31)
    a = np.array([0.2, 0.9, 1.0, 3.0, 60.0], "float32")
    if name == "truncated_normal":
        a = np.minimum(a, 3)
    expected = jax.grad(lambda a: draw(jrandom, jax_key(key), a).sum())(a)
    for transform in (fc.grad, lambda f: fc.jit(fc.grad(f))):
        got = transform(lambda a: draw(random, key, a).sum())(a)
        np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-4)
    _, tangent = fc.jvp(lambda a: draw(random, key, a).sum(), (a,), (np.ones_like(a),))
    np.testing.assert_allclose(tangent, np.asarray(expected).sum(), rtol=2e-3, atol=1e-3)


def test_gamma_gradients_under_vmap() -> None:
    keys = random.split(random.key(3), 4)
    a = np.array([0.5, 1.5, 8.0], "float32")

    def slope(key: Any) -> Any:
        return fc.grad(lambda a: random.gamma(key, a).sum())(a)

    expected = np.stack([np.asarray(slope(keys[i])) for i in range(4)])
    np.testing.assert_allclose(fc.vmap(slope)(keys), expected, rtol=1e-6)


def test_random_gamma_grad_keeps_the_distribution_function() -> None:
    # dP(a, x(a)) / da = 0, with P and its derivatives by scipy's differences.
    special = pytest.importorskip("scipy.special")
    a = np.array([0.3, 1.0, 2.0, 7.5, 40.0, 1000.0])
    x = a * np.array([0.2, 0.5, 1.1, 2.0, 0.9, 1.01])
    h = 1e-6 * a
    by_a = (special.gammainc(a + h, x) - special.gammainc(a - h, x)) / (2 * h)
    density = np.exp((a - 1) * np.log(x) - x - special.gammaln(a))
    np.testing.assert_allclose(lax.random_gamma_grad(a, x), -by_a / density, rtol=1e-5)
    ends = np.asarray(lax.random_gamma_grad(np.array([2.0, -1.0, 2.0]), np.array([0.0, 1.0, -1.0])))
    np.testing.assert_array_equal(ends, [0, np.nan, np.nan])
    with pytest.raises(NotImplementedError, match="random_gamma_grad: has no derivatives"):
        fc.grad(lax.random_gamma_grad)(1.0, 2.0)


def test_gamma_gradient_of_large_parameters_is_exact() -> None:
    # Near the mean a sample grows as its parameter does.
    got = fc.grad(lambda a: random.gamma(random.key(0), a))(np.float32(1e6))
    np.testing.assert_allclose(got, 1.0, atol=0.01)
