"""What farcall.random refuses, and what it says."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import random

KEY = random.key(0)

# Of every function that draws: a call with everything but the key.
CALLS: dict[str, Any] = {
    "ball": lambda k: random.ball(k, 2),
    "bernoulli": lambda k: random.bernoulli(k),
    "beta": lambda k: random.beta(k, 1.0, 2.0),
    "binomial": lambda k: random.binomial(k, 3, 0.5),
    "bits": lambda k: random.bits(k),
    "categorical": lambda k: random.categorical(k, np.zeros(3, "float32")),
    "cauchy": lambda k: random.cauchy(k),
    "chisquare": lambda k: random.chisquare(k, 2.0),
    "choice": lambda k: random.choice(k, 3),
    "dirichlet": lambda k: random.dirichlet(k, np.ones(3, "float32")),
    "double_sided_maxwell": lambda k: random.double_sided_maxwell(k, 0.0, 1.0),
    "exponential": lambda k: random.exponential(k),
    "f": lambda k: random.f(k, 2.0, 3.0),
    "fold_in": lambda k: random.fold_in(k, 1),
    "gamma": lambda k: random.gamma(k, 1.0),
    "generalized_normal": lambda k: random.generalized_normal(k, 2.0),
    "geometric": lambda k: random.geometric(k, 0.5),
    "gumbel": lambda k: random.gumbel(k),
    "laplace": lambda k: random.laplace(k),
    "loggamma": lambda k: random.loggamma(k, 1.0),
    "logistic": lambda k: random.logistic(k),
    "lognormal": lambda k: random.lognormal(k),
    "maxwell": lambda k: random.maxwell(k),
    "multinomial": lambda k: random.multinomial(k, 3, np.ones(2, "float32") / 2),
    "multivariate_normal": lambda k: random.multivariate_normal(
        k, np.zeros(2, "float32"), np.eye(2, dtype="float32")
    ),
    "normal": lambda k: random.normal(k),
    "orthogonal": lambda k: random.orthogonal(k, 2),
    "pareto": lambda k: random.pareto(k, 1.0),
    "permutation": lambda k: random.permutation(k, 3),
    "poisson": lambda k: random.poisson(k, 1.0),
    "rademacher": lambda k: random.rademacher(k),
    "randint": lambda k: random.randint(k, (), 0, 3),
    "rayleigh": lambda k: random.rayleigh(k, 1.0),
    "split": lambda k: random.split(k),
    "t": lambda k: random.t(k, 3.0),
    "triangular": lambda k: random.triangular(k, 0.0, 1.0, 2.0),
    "truncated_normal": lambda k: random.truncated_normal(k, -1.0, 1.0),
    "uniform": lambda k: random.uniform(k),
    "wald": lambda k: random.wald(k, 1.0),
    "weibull_min": lambda k: random.weibull_min(k, 1.0, 1.0),
}


def test_the_list_is_complete() -> None:
    no_draw = {"PRNGKey", "clone", "key", "key_data", "key_dtype", "key_impl", "wrap_key_data"}
    assert set(CALLS) | no_draw == set(random.__all__)


def test_every_function_of_jax_random_is_there() -> None:
    jax = pytest.importorskip("jax")
    public = {name for name in dir(jax.random) if not name.startswith("_")}
    assert public - {"random_gamma_p"} <= set(random.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_keys_that_are_none(name: str) -> None:
    for wrong in (3, np.float32(1), np.zeros(2, "int32"), np.zeros(3, "uint32"), fnp.zeros(2)):
        with pytest.raises(TypeError, match=f"{name}: key must be a key made by random.key"):
            CALLS[name](wrong)
    for wrong in (None, "key", [0, 1]):
        with pytest.raises(TypeError, match=f"{name}: argument key must be an array"):
            CALLS[name](wrong)


@pytest.mark.parametrize("name", CALLS)
def test_several_keys(name: str) -> None:
    keys = random.split(KEY, 3)
    for several in (keys, random.key_data(keys)):
        with pytest.raises(
            ValueError, match=rf"{name}: takes a single key, got .* of shape \[3\].*vmap"
        ):
            CALLS[name](several)


@pytest.mark.parametrize("name", CALLS)
def test_raw_keys_serve_as_well(name: str) -> None:
    raw = random.PRNGKey(7)
    typed, words = CALLS[name](random.wrap_key_data(raw)), CALLS[name](raw)
    if name in ("split", "fold_in"):
        typed = random.key_data(typed)
    np.testing.assert_array_equal(typed, words)


P = np.array([0.5, 0.5], "float32")

ERRORS: dict[str, tuple[Any, type, str]] = {
    "seed of floats": (lambda: random.key(1.5), TypeError, "key: seed must be an integer"),
    "seed of a key": (
        lambda: random.key(KEY),
        TypeError,
        "key: seed must be an integer, got a key",
    ),
    "several seeds": (lambda: random.key(np.arange(3)), TypeError, "seed must be a scalar.*vmap"),
    "large seed": (lambda: random.key(2**63), OverflowError, "key: seed .* 64 bits"),
    "unknown generator": (
        lambda: random.key(0, impl="rbg"),
        ValueError,
        'unknown random number generator "rbg"; available:',
    ),
    "impl and dtype": (
        lambda: random.key(0, impl="threefry2x32", dtype=KEY.dtype),
        ValueError,
        "not both",
    ),
    "impl of another type": (lambda: random.key(0, impl=3), TypeError, "named by a string"),
    "words of another dtype": (
        lambda: random.wrap_key_data(np.zeros(2, "int32")),
        TypeError,
        "wrap_key_data: .* uint32",
    ),
    "words of another size": (
        lambda: random.wrap_key_data(np.zeros(3, "uint32")),
        TypeError,
        "last dimension has size 2",
    ),
    "no words": (lambda: random.wrap_key_data(np.uint32(3)), TypeError, "last dimension"),
    "negative number of keys": (lambda: random.split(KEY, -1), ValueError, "split: shape"),
    "number of keys that is none": (lambda: random.split(KEY, 1.5), TypeError, "split: num"),
    "data of several": (lambda: random.fold_in(KEY, np.arange(2)), TypeError, "must be a scalar"),
    "negative data": (lambda: random.fold_in(KEY, -1), OverflowError, "fold_in: data"),
    "negative shape": (lambda: random.normal(KEY, (2, -1)), ValueError, "normal: shape"),
    "shape of floats": (lambda: random.normal(KEY, (2.5,)), TypeError, "normal: shape"),
    "shape of text": (lambda: random.normal(KEY, "ab"), TypeError, "normal: shape"),
    "large shape": (lambda: random.bits(KEY, (2**40, 2**40)), ValueError, "random_bits"),
    "uniform integers": (lambda: random.uniform(KEY, (), "int32"), ValueError, "must be a float"),
    "uniform bounds": (
        lambda: random.uniform(KEY, (2,), minval=np.zeros(3, "float32")),
        ValueError,
        "uniform: .*broadcast",
    ),
    "bounds of a larger shape": (
        lambda: random.uniform(KEY, (), minval=np.zeros(3, "float32")),
        ValueError,
        r"uniform: parameters of shapes \[3\], \[\] do not broadcast to shape \[\]",
    ),
    "bits of signed integers": (lambda: random.bits(KEY, (), "int32"), ValueError, "bits: dtype"),
    "randint of floats": (
        lambda: random.randint(KEY, (), 0, 2, "float32"),
        TypeError,
        "randint: dtype",
    ),
    "randint between complex numbers": (
        lambda: random.randint(KEY, (), 0, 2j),
        TypeError,
        "minval and maxval must be integers",
    ),
    "bernoulli of integers": (lambda: random.bernoulli(KEY, 1), TypeError, "p must be a float"),
    "bernoulli mode": (lambda: random.bernoulli(KEY, mode="up"), ValueError, "mode must be"),
    "gumbel mode": (lambda: random.gumbel(KEY, mode="up"), ValueError, "mode must be"),
    "normal integers": (lambda: random.normal(KEY, (), "int32"), ValueError, "float or complex"),
    "geometric floats": (
        lambda: random.geometric(KEY, 0.5, dtype="float32"),
        ValueError,
        "must be an integer",
    ),
    "poisson floats": (
        lambda: random.poisson(KEY, 0.5, dtype="float32"),
        ValueError,
        "must be an integer",
    ),
    "gamma integers": (lambda: random.gamma(KEY, 0.5, dtype="int32"), ValueError, "gamma: dtype"),
    "parameters that lose digits": (
        lambda: random.beta(KEY, fnp.ones(2, "float64"), 1.0, dtype="float32"),
        TypeError,
        "beta: a parameter of dtype float64 does not fit into dtype float32",
    ),
    "choice of nothing": (lambda: random.choice(KEY, 0), ValueError, "no entries"),
    "too many without replacement": (
        lambda: random.choice(KEY, 3, (4,), replace=False),
        ValueError,
        "4 entries cannot be drawn from 3 without replacement",
    ),
    "probabilities of another shape": (
        lambda: random.choice(KEY, 3, (4,), p=P),
        ValueError,
        r"choice: p must have a probability for each of the 3 entries.* got shape \[2\]",
    ),
    "choice axis": (lambda: random.choice(KEY, P, (), axis=2), ValueError, "choice"),
    "choice of a float": (lambda: random.choice(KEY, 2.5), TypeError, "choice: a"),
    "permutation of a float": (lambda: random.permutation(KEY, 2.5), TypeError, "permutation: x"),
    "permutation axis": (lambda: random.permutation(KEY, P, axis=1), ValueError, "permutation"),
    "categorical of a scalar": (
        lambda: random.categorical(KEY, np.float32(1)),
        ValueError,
        "at least one dimension",
    ),
    "categorical of integers": (
        lambda: random.categorical(KEY, np.arange(3, dtype="int32")),
        ValueError,
        "categorical",
    ),
    "categorical shape": (
        lambda: random.categorical(KEY, np.ones((2, 3), "float32"), shape=(3,)),
        ValueError,
        "categorical: .*broadcast",
    ),
    "categories without replacement": (
        lambda: random.categorical(KEY, P, shape=(3,), replace=False),
        ValueError,
        "3 of 2",
    ),
    "dirichlet of a scalar": (lambda: random.dirichlet(KEY, 1.0), ValueError, "got a scalar"),
    "multinomial of a scalar": (
        lambda: random.multinomial(KEY, 3, 0.5),
        ValueError,
        "got a scalar",
    ),
    "covariance of another shape": (
        lambda: random.multivariate_normal(KEY, P, np.eye(3, dtype="float32")),
        ValueError,
        r"cov must have shape \[..., 2, 2\]",
    ),
    "covariance that is a vector": (
        lambda: random.multivariate_normal(KEY, P, P),
        ValueError,
        "cov a matrix",
    ),
    "method": (
        lambda: random.multivariate_normal(KEY, P, np.eye(2, dtype="float32"), method="lu"),
        ValueError,
        'method must be "cholesky"',
    ),
    "negative rows": (lambda: random.orthogonal(KEY, -1), ValueError, "orthogonal: n must be"),
    "negative dimensions": (lambda: random.ball(KEY, -1), ValueError, "ball: d must be"),
    "dtype that is none": (lambda: random.normal(KEY, (), "what"), TypeError, "dtype"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call()


def test_traced_sizes_are_refused() -> None:
    with pytest.raises(TypeError):
        fc.jit(lambda n: random.normal(KEY, (n,)))(3)
    with pytest.raises((TypeError, ValueError)):
        fc.jit(lambda n: random.permutation(KEY, n))(3)


def test_arguments_that_do_nothing_are_accepted() -> None:
    np.testing.assert_array_equal(
        random.uniform(KEY, (2,), out_sharding=None), random.uniform(KEY, (2,))
    )
