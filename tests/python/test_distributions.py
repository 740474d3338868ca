"""farcall.scipy.stats: every function of every distribution against scipy, derivatives against
differences; statistics of samples; wrong arguments."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax.scipy.stats
import numpy as np
import pytest
import scipy.stats
from farcall.scipy import stats

X = np.float32([-2.5, -1.0, -0.1, 0.0, 0.3, 0.5, 1.0, 1.7, 3.0])
K = np.float32([-1.0, 0.0, 1.0, 2.0, 5.0])
Q = np.float32([0.01, 0.25, 0.5, 0.9, 0.999])
PLACE = (np.float32(0.2), np.float32(1.3))  # loc and scale

# For each distribution: the points, and the parameters before loc and scale, which come if it has
# them.
CONTINUOUS: dict[str, tuple[tuple[float, ...], bool]] = {
    "norm": ((), True),
    "uniform": ((), True),
    "expon": ((), True),
    "logistic": ((), True),
    "laplace": ((), True),
    "cauchy": ((), True),
    "gumbel_l": ((), True),
    "gumbel_r": ((), True),
    "t": ((3.5,), True),
    "chi2": ((3.0,), True),
    "gamma": ((2.2,), True),
    "beta": ((2.0, 1.5), True),
    "pareto": ((1.7,), True),
    "truncnorm": ((-1.0, 1.2), True),
    "gennorm": ((1.4,), False),
    "vonmises": ((1.8,), False),
    "wrapcauchy": ((0.4,), False),
}
DISCRETE: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,),
    "binom": (4.0, 0.3),
    "nbinom": (3.0, 0.4),
    "geom": (0.3,),
    "poisson": (1.6,),
    "betabinom": (4.0, 1.2, 2.1),
}


def functions(name: str) -> list[str]:
    module = importlib.import_module(f"farcall.scipy.stats.{name}")
    return list(module.__all__)


def both(name: str, function: str) -> tuple[Any, Any]:
    ours = getattr(importlib.import_module(f"farcall.scipy.stats.{name}"), function)
    return ours, getattr(getattr(scipy.stats, name), function)


def compare(ours: Any, theirs: Any, rtol: float = 3e-5, atol: float = 2e-6) -> None:
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=rtol, atol=atol)


CASES = [
    (name, function, parameters + (PLACE if has_place else ()))
    for name, (parameters, has_place) in CONTINUOUS.items()
    for function in functions(name)
] + [
    (name, function, parameters)
    for name, parameters in DISCRETE.items()
    for function in functions(name)
]


# What JAX has besides, and why it is left out: docs/jax_names.md.
LEFT_OUT = {"poisson.entropy"}


def test_every_distribution_of_jax_is_there() -> None:
    missing = {
        f"{name}.{function}"
        for name, module in vars(jax.scipy.stats).items()
        if inspect.ismodule(module) and name[0] != "_"
        for function in vars(module)
        if function[0] != "_" and not hasattr(getattr(stats, name, None), function)
    }
    assert missing == LEFT_OUT


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "function", "parameters"), CASES, ids=lambda v: str(v)[:12])
def test_values_are_those_of_scipy(name: str, function: str, parameters: tuple[Any, ...]) -> None:
    ours, theirs = both(name, function)
    points = Q if function in ("ppf", "isf") else K if name in DISCRETE else X
    found = ours(points, *map(np.float32, parameters))
    assert found.dtype == np.float32
    compare(found, theirs(np.float64(points), *map(np.float64, parameters)))


def test_the_dtype_and_the_shape_are_those_of_jax() -> None:
    for arguments in [(1, 0, 2), (1.0, 0, 2), (np.int32([1, 2]), 0.0, np.float16(2)), (X, X, X)]:
        theirs = jax.scipy.stats.norm.logpdf(*arguments)
        ours = stats.norm.logpdf(*arguments)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_derivatives_of_log_densities_are_those_of_differences(name: str) -> None:
    parameters, has_place = CONTINUOUS[name]
    arguments = [fnp.float64(v) for v in (*parameters, *(PLACE if has_place else ()))]
    inside = {"beta": 0.9, "uniform": 0.7, "truncnorm": 0.4, "pareto": 2.4}.get(name, 1.9)
    ours, _ = both(name, "logpdf")
    with fc.enable_x64(True):
        fc.testing.check_derivatives(ours, [fnp.float64(inside), *arguments], rtol=1e-5, atol=1e-6)


def test_outside_of_the_domain_no_derivative_is_nan() -> None:
    for name in ("gamma", "beta", "expon", "pareto", "chi2"):
        parameters = CONTINUOUS[name][0]
        ours, _ = both(name, "logpdf")
        assert fc.grad(lambda x, f=ours, p=parameters: f(x, *p))(-3.0) == 0.0, name


def test_dirichlet() -> None:
    alpha = np.float32([0.5, 1.5, 2.0])
    x = np.float32([[0.2, 0.3], [0.3, 0.3], [0.5, 0.4]])
    compare(stats.dirichlet.logpdf(x, alpha), scipy.stats.dirichlet.logpdf(x, alpha))
    compare(stats.dirichlet.pdf(x[:2], alpha), scipy.stats.dirichlet.pdf(x, alpha))
    assert stats.dirichlet.pdf(x[:, 0] + np.float32(0.1), alpha) == 0.0
    with pytest.raises(ValueError, match="alpha must be a vector"):
        stats.dirichlet.logpdf(x[:1], alpha)


def test_multinomial() -> None:
    x, p = np.int32([[1, 2, 0], [1, 1, 1], [2, 2, 2]]), np.float32([0.2, 0.5, 0.3])
    compare(
        stats.multinomial.logpmf(x, 3, p), scipy.stats.multinomial.logpmf(x, 3, [0.2, 0.5, 0.3])
    )
    compare(stats.multinomial.pmf(x, 3, p), scipy.stats.multinomial.pmf(x, 3, [0.2, 0.5, 0.3]))


def test_multivariate_normal(rng: np.random.Generator) -> None:
    mean = rng.normal(size=3).astype(np.float32)
    root = rng.normal(size=(3, 3)).astype(np.float32)
    cov = root @ root.T + np.eye(3, dtype=np.float32)
    x = rng.normal(size=(4, 3)).astype(np.float32)
    theirs, ours = scipy.stats.multivariate_normal, stats.multivariate_normal
    compare(ours.logpdf(x, mean, cov), theirs.logpdf(x, mean, cov), 2e-4)
    compare(ours.pdf(x, mean, cov), theirs.pdf(x, mean, cov), 2e-4)
    many = np.stack([cov, 2 * cov, 3 * cov, 4 * cov])
    each = [theirs.logpdf(row, mean, (i + 1) * cov) for i, row in enumerate(x)]
    compare(ours.logpdf(x, mean, many), each, 2e-4)
    compare(ours.logpdf(np.float32(0.3), 0.1, 2.0), theirs.logpdf(0.3, 0.1, 2.0))
    wide = (fnp.float64(mean), fnp.float64(cov))
    with fc.enable_x64(True):
        fc.testing.check_derivatives(
            lambda m, c: ours.logpdf(fnp.float64(x[0]), m, c @ c.T), wide, rtol=1e-4, atol=1e-6
        )
    with pytest.raises(ValueError, match="cov must be"):
        ours.logpdf(x, mean, np.eye(2, dtype=np.float32))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        ours.logpdf(x, mean, cov, allow_singular=True)  # type: ignore[arg-type]


SAMPLES = np.float32([[1, 2, 2, 3, 3], [5, 5, 1, 1, 0], [4, 4, 4, 2, 4]])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_statistics_of_samples(axis: int | None) -> None:
    for keepdims in (False, True):
        ours = stats.mode(SAMPLES, axis, keepdims=keepdims)
        theirs = scipy.stats.mode(SAMPLES, axis, keepdims=keepdims)
        np.testing.assert_array_equal(ours.mode, theirs.mode)
        np.testing.assert_array_equal(ours.count, theirs.count)
    compare(stats.sem(SAMPLES, axis), scipy.stats.sem(SAMPLES, axis))
    for method in ("average", "min", "max", "dense", "ordinal"):
        np.testing.assert_array_equal(
            np.ravel(stats.rankdata(SAMPLES, method, axis=axis)),
            np.ravel(scipy.stats.rankdata(SAMPLES, method, axis=axis)),
        )


def test_samples_with_nan() -> None:
    x = SAMPLES.copy()
    x[0, 1] = np.nan
    compare(stats.sem(x, 1, nan_policy="omit"), scipy.stats.sem(x, 1, nan_policy="omit"))
    compare(stats.rankdata(x, axis=1), scipy.stats.rankdata(x, axis=1))
    assert stats.mode(np.float32([np.nan, 1, np.nan]), 0).count == 2


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: stats.norm.pdf("a"), TypeError, "norm.pdf: argument x"),
        (lambda: stats.gamma.logpdf(1.0, [2.0]), TypeError, "gamma.logpdf: argument a"),
        (lambda: stats.rankdata(X, "best"), ValueError, "method must be one of"),
        (lambda: stats.mode(X, nan_policy="raise"), NotImplementedError, "nan_policy"),
        (lambda: stats.sem(X, nan_policy="raise"), ValueError, "nan_policy"),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
