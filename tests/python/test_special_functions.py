"""farcall.nn and farcall.scipy.special, against JAX and scipy."""

from __future__ import annotations

import functools

import farcall as fc
import numpy as np
import pytest
from elementwise_rows import SPECIAL
from farcall import lax, nn
from farcall.scipy import special

pytestmark = pytest.mark.usefixtures("x64")

jax = pytest.importorskip("jax")
scipy_special = pytest.importorskip("scipy.special")
jspecial = jax.scipy.special

R = np.random.default_rng(5)
X = np.concatenate([np.linspace(-6, 6, 25), [0.0, 1e-3, -1e-3, 30, -30]]).astype(np.float32)
M = R.standard_normal((3, 4)).astype(np.float32)
B = M > 0.3
P = np.linspace(0.1, 40, 60)

NN = {
    "identity": lambda n: n.identity(X),
    "log1mexp": lambda n: n.log1mexp(np.abs(X) + 1e-2),
    "logmeanexp": lambda n: n.logmeanexp(M, 1),
    "logmeanexp where": lambda n: n.logmeanexp(M, (0,), B | (M < 0), keepdims=True),
    "sparse_plus": lambda n: n.sparse_plus(X),
    "sparse_sigmoid": lambda n: n.sparse_sigmoid(X),
    "celu": lambda n: n.celu(X, 2.0),
    "elu": lambda n: n.elu(X),
    "gelu": lambda n: n.gelu(X),
    "gelu exact": lambda n: n.gelu(X, approximate=False),
    "glu": lambda n: n.glu(M),
    "hard_sigmoid": lambda n: n.hard_sigmoid(X),
    "hard_silu": lambda n: n.hard_silu(X),
    "hard_tanh": lambda n: n.hard_tanh(X),
    "leaky_relu": lambda n: n.leaky_relu(X),
    "log_sigmoid": lambda n: n.log_sigmoid(X),
    "log_softmax": lambda n: n.log_softmax(M * 50),
    "logsumexp": lambda n: n.logsumexp(M * 50, axis=0, keepdims=True),
    "logsumexp factors": lambda n: n.logsumexp(M, axis=1, b=np.float32(-2), return_sign=True),
    "logsumexp of infinities": lambda n: n.logsumexp(np.full((3,), -np.inf, np.float32)),
    "mish": lambda n: n.mish(X),
    "one_hot": lambda n: n.one_hot(np.array([0, 2, 5, -1]), 4),
    "one_hot axis": lambda n: n.one_hot(np.array([[0, 2], [1, 1]]), 3, axis=0, dtype="int32"),
    "relu": lambda n: n.relu(X),
    "relu6": lambda n: n.relu6(X),
    "selu": lambda n: n.selu(X),
    "sigmoid": lambda n: n.sigmoid(X),
    "silu": lambda n: n.silu(X),
    "soft_sign": lambda n: n.soft_sign(X),
    "softmax": lambda n: n.softmax(M * 50, axis=(0, 1)),
    "softmax where": lambda n: n.softmax(M, axis=0, where=B),
    "softplus": lambda n: n.softplus(X),
    "squareplus": lambda n: n.squareplus(X),
    "standardize": lambda n: n.standardize(M),
    "standardize given": lambda n: n.standardize(M, mean=B, variance=2.0),
}


@pytest.mark.parametrize("name", NN)
def test_nn(name):
    got, want = NN[name](nn), jax.jit(lambda: NN[name](jax.nn))()
    got, want = (each if isinstance(each, tuple) else (each,) for each in (got, want))
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["celu", "elu", "gelu", "mish", "relu", "relu6", "selu", "silu"])
def test_slope_of_an_activation(name):
    x = X[::2]
    np.testing.assert_allclose(
        fc.vmap(fc.grad(getattr(nn, name)))(x),
        jax.jit(jax.vmap(jax.grad(getattr(jax.nn, name))))(x),
        rtol=1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_slope_along_an_axis(name):
    def squares(module):
        return lambda x: (getattr(module, name)(x, axis=0) ** 2).sum()

    np.testing.assert_allclose(
        fc.grad(squares(nn))(M), jax.jit(jax.grad(squares(jax.nn)))(M), rtol=1e-5, atol=1e-6
    )


UNARY = ["digamma", "erf", "erfc", "expit", "gamma", "gammaln", "i0", "i0e", "i1", "i1e", "ndtr"]
UNARY += ["log_ndtr", "entr"]


@pytest.mark.parametrize("name", UNARY)
def test_special_functions_of_one_argument(name):
    x = np.concatenate([P, -P - 0.03]) if name not in ("digamma", "gamma", "gammaln") else P
    tolerance = 1e-5 if name == "log_ndtr" else 1e-12
    np.testing.assert_allclose(
        getattr(special, name)(x), getattr(scipy_special, name)(x), rtol=tolerance, atol=1e-300
    )


@pytest.mark.parametrize("name", ["erfinv", "logit", "ndtri"])
def test_inverses(name):
    x = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(
        getattr(special, name)(x), getattr(scipy_special, name)(x), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "beta", "betaln", "xlogy", "xlog1py"])
def test_special_functions_of_two_arguments(name):
    a, x = np.meshgrid([0.3, 1.0, 2.5, 10.0, 60.0], np.concatenate([P, [1e-3, 100.0]]))
    np.testing.assert_allclose(
        getattr(special, name)(a, x), getattr(scipy_special, name)(a, x), rtol=1e-11, atol=1e-290
    )


BESSEL = ["i0", "i0e", "i1", "i1e"]


@pytest.mark.parametrize("name", ["erfinv", "ndtri", "logit", "erfcx", "log_ndtr", *BESSEL])
def test_functions_of_float64_are_those_of_scipy_to_a_few_units(name: str) -> None:
    """In the middle, near the ends, and at numbers of all magnitudes."""
    random = np.random.default_rng(0)
    tiny = 10.0 ** -random.uniform(0, 300, 2000)
    ends = 1 - 10.0 ** -random.uniform(0, 15.9, 2000)
    operands = {
        "erfinv": np.concatenate([random.uniform(-1, 1, 5000), ends, -ends, tiny, [0, -0.0]]),
        "ndtri": np.concatenate([random.uniform(0, 1, 5000), ends, tiny]),
        "logit": np.concatenate([random.uniform(0, 1, 5000), ends, tiny, [5e-324, 1e-310]]),
        "erfcx": np.concatenate([random.uniform(-26, 60, 5000), 1 / tiny, tiny]),
        "log_ndtr": np.concatenate([random.uniform(-60, 30, 5000), -1 / tiny[tiny > 1e-150], tiny]),
    }
    operands |= dict.fromkeys(
        BESSEL, np.concatenate([random.uniform(-700, 700, 5000), random.uniform(-9, 9, 5000), tiny])
    )
    x = operands[name]
    with np.errstate(over="ignore"):
        wanted = getattr(scipy_special, name)(x)
    # scipy rounds the square in e^(x^2), which is a factor here.
    has_factor = {"erfcx": x < 0, "log_ndtr": x > 0}.get(name, np.zeros(x.shape, bool))
    units = np.where(has_factor & (abs(x) < 40), 1 + np.clip(x, -40, 40) ** 2, 1)
    bound = abs(wanted) * (3e-15 * units) + 1e-320
    found = np.asarray(getattr(special, name)(x))
    assert (abs(found - wanted) <= bound)[np.isfinite(wanted)].all()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    special_values = np.array([0.0, -0.0, 1, -1, 2, -2, np.nan, np.inf, -np.inf, -30, 0.5])
    with np.errstate(all="ignore"):
        wanted = getattr(scipy_special, name)(special_values)
    if name in ("i0", "i1"):  # scipy multiplies infinity by zero
        wanted[7:9] = np.inf, np.inf if name == "i0" else -np.inf
    np.testing.assert_allclose(getattr(special, name)(special_values), wanted, rtol=3e-15)


def test_zeta():
    s, q = np.meshgrid([1.5, 2.0, 3.7, 12.0], np.concatenate([P, [1e-3]]))
    np.testing.assert_allclose(special.zeta(s, q), scipy_special.zeta(s, q), rtol=1e-12)
    np.testing.assert_array_equal(special.zeta(1.0, 3.0), np.inf)


def test_corners():
    inf, nan = np.inf, np.nan
    x, two = np.array([0.0, 1.0, inf, nan, -1.0], np.float32), np.full(5, 2, np.float32)
    np.testing.assert_array_equal(np.asarray(lax.igamma(two, x))[[0, 2]], [0, 1])
    np.testing.assert_array_equal(np.asarray(lax.igammac(two, x))[[0, 2]], [1, 0])
    np.testing.assert_array_equal(np.isnan(np.asarray(lax.igamma(two, x)))[3:], True)
    np.testing.assert_array_equal(special.xlogy(np.float32(0), np.float32(0)), 0)
    np.testing.assert_array_equal(special.entr(np.array([0.0, -1.0], np.float32)), [0, -inf])
    p, q = np.array([0.0, 1, 1, -1, 0.5]), np.array([0.0, 0, 2, 1, 0.25])
    np.testing.assert_allclose(special.rel_entr(p, q), scipy_special.rel_entr(p, q))
    np.testing.assert_allclose(special.kl_div(p, q), scipy_special.kl_div(p, q))
    np.testing.assert_allclose(special.factorial(np.arange(5.0)), [1, 1, 2, 6, 24], rtol=1e-14)
    np.testing.assert_allclose(
        special.multigammaln(np.array([3.5]), 3), scipy_special.multigammaln([3.5], 3), rtol=1e-13
    )


@pytest.mark.parametrize("name", ["i0e", "i1e"])
def test_slopes_of_bessel_functions(name):
    x = np.array([-3.0, -0.5, 0.0, 0.5, 8.0], np.float32)
    np.testing.assert_allclose(
        fc.vmap(fc.grad(getattr(special, name)))(x),
        jax.jit(jax.vmap(jax.grad(getattr(jspecial, name))))(x),
        rtol=1e-5,
        atol=1e-6,
    )


def test_slopes_of_the_incomplete_gamma_functions():
    for name in ("gammainc", "gammaincc"):
        np.testing.assert_allclose(
            fc.grad(getattr(special, name), 1)(2.5, 1.5),
            jax.grad(getattr(jspecial, name), 1)(2.5, 1.5),
            rtol=1e-5,
        )


# ---- incomplete functions ----


def test_betainc():
    a = np.array([0.5, 2, 10, 30, 1, -1])
    b = np.array([0.5, 5, 1, 0.2, 3, 2])
    for x in (0.0, 0.01, 0.3, 0.5, 0.9, 1.0, 1.5):
        ours = special.betainc(a, b, x)
        np.testing.assert_allclose(ours, scipy_special.betainc(a, b, x), rtol=1e-12)
    f = functools.partial(special.betainc, a[:5], b[:5])
    fc.testing.check_derivatives(f, (np.full(5, 0.4),), order=2)
    np.testing.assert_allclose(fc.vmap(f)(np.array([0.2, 0.7]))[1], f(0.7), rtol=1e-12)
    with pytest.raises(NotImplementedError, match="has no derivative with respect to a and b"):
        fc.grad(lambda a: special.betainc(a, 2.0, 0.5))(1.0)
    with pytest.raises(ValueError, match="regularized_incomplete_beta: takes floats; got"):
        lax.betainc(1, 2, 3)


@pytest.mark.parametrize(("a", "b"), [(9e11, 3e12), (2e12, 2e12), (1e13, 4e13), (1e17, 1e17)])
def test_betainc_of_large_parameters_is_the_normal_distribution(a: float, b: float) -> None:
    mean = a / (a + b)
    deviation = np.sqrt(mean * (1 - mean) / (a + b + 1))
    z = np.array([-3, -1, 0, 1, 3])
    found = np.asarray(special.betainc(a, b, mean + z * deviation))
    np.testing.assert_allclose(found, scipy_special.ndtr(z), rtol=1e-5)


def test_betainc_of_the_largest_parameters_ends() -> None:
    found = special.betainc(np.float32([1e30, 3e38]), np.float32(1e30), np.float32(0.5))
    np.testing.assert_array_equal(found, [0.5, 0])


def test_incomplete_gamma_functions_have_derivatives_in_both_arguments():
    a = np.array([0.3, 1, 2.5, 10, 80, 80])
    x = np.array([0.1, 3, 2.5, 4, 60, 110])
    fc.testing.check_derivatives(special.gammainc, (a, x))
    fc.testing.check_derivatives(special.gammaincc, (a, x), modes="rev")
    ends = lax.igamma_grad_a(np.array([2.0, -1]), np.array([0.0, 1]))
    np.testing.assert_array_equal(ends, [0, np.nan])
    with pytest.raises(NotImplementedError, match="igamma_grad_a: has no derivatives"):
        fc.grad(lax.igamma_grad_a)(1.0, 2.0)


def test_gammasgn_and_box_cox():
    x = np.array([2.5, 0.5, 1e-3, 7])
    for exponent in (0.0, 0.5, -2.0):
        for name in ("boxcox", "boxcox1p"):
            ours = getattr(special, name)(x, exponent)
            np.testing.assert_allclose(ours, getattr(scipy_special, name)(x, exponent), rtol=1e-10)
    x = np.array([3.5, -0.5, -1.5, -2.0, 0.0, -0.0])
    np.testing.assert_array_equal(special.gammasgn(x), scipy_special.gammasgn(x))


def test_logsumexp_leaves_out_what_has_the_factor_zero():
    a, b = np.array([np.inf, 0, 1], np.float32), np.array([0, 1, 2], np.float32)
    found = special.logsumexp(a, b=b)
    np.testing.assert_allclose(found, np.log(1 + 2 * np.e), rtol=1e-6)


def test_every_row_of_a_special_function_makes_a_public_one() -> None:
    assert {row.name for row in SPECIAL} <= set(special.__all__)
    np.testing.assert_allclose(special.erfcx(P), scipy_special.erfcx(P), rtol=1e-14)


# ---- exponential integrals, the dilogarithm, combinatorics ----

WIDE = np.concatenate([np.geomspace(1e-300, 1e-3, 20), np.linspace(1e-2, 60, 300), [300, 700, 745]])
COMPOSED = {
    "expi": lambda m, x: m.expi(x),
    "expi below 0": lambda m, x: m.expi(-x),
    "exp1": lambda m, x: m.exp1(x),
    "spence": lambda m, x: m.spence(x),
    "poch": lambda m, x: m.poch(x, 2.5),
    "poch by m": lambda m, x: m.poch(3.25, x),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", COMPOSED)
def test_composed_functions_are_those_of_scipy(name, dtype):
    x = WIDE.astype(dtype)
    ours, exact = COMPOSED[name](special, x), COMPOSED[name](scipy_special, x.astype("float64"))
    assert ours.dtype == dtype
    rtol = {"float64": 2e-13, "float32": 2e-6}[dtype] * (100 if "poch" in name else 1)
    least = np.finfo(dtype).tiny
    np.testing.assert_allclose(ours, exact.astype(dtype), rtol=rtol, atol=max(least, rtol / 100))


@pytest.mark.filterwarnings("ignore")
def test_exponential_integrals_of_all_orders():
    n = np.array([0, 1, 2, 3, 4, 7, 12, 20, 23, 24, 25, 40, 100, 1000, 6000])[:, None]
    x = np.concatenate([[0.0, 1e-300, 1e-9, 0.99, 1.0, 1.01, 2, 700], np.linspace(0.05, 30, 60)])
    np.testing.assert_allclose(
        special.expn(n, x), scipy_special.expn(n, x), rtol=2e-13, atol=1e-310
    )
    ours = special.expn(n.astype("float32"), x.astype("float32"))
    np.testing.assert_allclose(
        ours, scipy_special.expn(n, x.astype("float32")), rtol=3e-6, atol=1e-37
    )


def test_composed_functions_at_their_ends():
    inf, nan = np.inf, np.nan
    for function, x, exact in [
        (special.expi, [0.0, inf, -inf, nan, 716.3], [-inf, inf, 0, nan, 1.7e308]),
        (special.exp1, [0.0, inf, -1.0, nan], [inf, 0, nan, nan]),
        (special.spence, [0.0, 1.0, inf, -0.1, nan], [np.pi**2 / 6, 0, -inf, nan, nan]),
        (lambda x: special.expn(x, 1.0), [-1.0, 1.5, nan], [nan, nan, nan]),
        (lambda x: special.poch(x, 0), [0.0, -2.0, 1e300], [1, 1, 1]),
        (lambda x: special.poch(x, 1.0), [-1.5, 180.5, -0.5], [-1.5, 180.5, -0.5]),
        (lambda k: special.comb(5, k), [-1, 0, 2, 5, 6], [0, 1, 10, 1, 0]),
        (lambda k: special.comb(5, k, repetition=True), [0, 2, 3], [1, 15, 35]),
    ]:
        np.testing.assert_allclose(function(np.array(x)), exact, rtol=2e-2 if 716.3 in x else 1e-12)
    half = special.exp1(np.float16([0.5, 2]))
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, scipy_special.exp1([0.5, 2]), rtol=1e-3)
    with pytest.raises((TypeError, ValueError), match="expi"):
        special.expi(1j)
    with pytest.raises(ValueError, match="bernoulli: n must not be negative, got -1"):
        special.bernoulli(-1)


def test_bernoulli_numbers_and_binomials_are_those_of_scipy():
    for n in (0, 1, 2, 30):
        np.testing.assert_allclose(special.bernoulli(n), scipy_special.bernoulli(n)[: n + 1])
    n, k = np.arange(40.0)[:, None], np.arange(40.0)
    np.testing.assert_allclose(special.comb(n, k), scipy_special.comb(n, k), rtol=1e-12)
    np.testing.assert_allclose(special.comb(4.5, 2.25), scipy_special.binom(4.5, 2.25), rtol=1e-13)


@pytest.mark.parametrize("name", [*COMPOSED, "expn", "comb"])
def test_slopes_of_composed_functions(name):
    functions = COMPOSED | {
        "expn": lambda m, x: m.expn(np.arange(6)[:, None], x),
        "comb": lambda m, x: m.comb(x + 7, x + 1),
    }
    x = fc.numpy.array([0.3, 0.8, 1.2, 2.5])
    fc.test_util.check_grads(lambda x: functions[name](special, x), (x,), order=2)
    slope = fc.jit(fc.vmap(fc.grad(lambda x: functions[name](special, x).sum())))(x)
    assert np.isfinite(slope).all()
    assert fc.grad(special.spence)(1.0) == -1
