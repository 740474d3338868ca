"""Means and deviations of narrow floats, with every option, against JAX."""

from __future__ import annotations

import farcall.numpy as fnp
import numpy as np
import pytest
from both import FARCALL, JAX, Modules, assert_same

ONES = np.ones(1000, bool)
HALF = np.arange(1000) % 2 == 0


def hundreds(m: Modules, dtype: str):
    """Elements whose sum, and the squares of which, leave the range of float16."""
    return m.np.full((1000,), 100, dtype)


def spread(m: Modules, dtype: str):
    return m.np.where(m.np.asarray(HALF), m.np.asarray(300, dtype), m.np.asarray(-300, dtype))


OPTIONS = {
    "plain": {},
    "where": {"where": ONES},
    "half": {"where": HALF},
    "dtype": {"dtype": "float16"},
    "both": {"where": ONES, "dtype": "float16"},
    "keepdims": {"where": ONES, "keepdims": True},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "nanstd"])
def test_sums_of_narrow_floats_keep_their_range(name: str, dtype: str, options: str) -> None:
    def run(m: Modules):
        given = {
            key: m.np.asarray(value) if key == "where" else value
            for key, value in OPTIONS[options].items()
        }
        return getattr(m.np, name)(hundreds(m, dtype), **given)

    ours, theirs = run(FARCALL), run(JAX)  # some of which are infinite in JAX
    assert np.asarray(ours).astype(np.float64) == (100 if "mean" in name else 0)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)


@pytest.mark.parametrize("options", [{}, {"where": ONES}, {"dtype": "float16"}])
@pytest.mark.parametrize("name", ["std", "nanstd"])
def test_a_deviation_fits_where_its_square_does_not(name: str, options: dict) -> None:
    found = getattr(fnp, name)(spread(FARCALL, "float16"), **options)
    assert found.dtype == np.float16
    assert float(found) == 300


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_an_average_keeps_its_range(dtype: str) -> None:
    weights = fnp.full((1000,), 100, dtype)
    mean, total = fnp.average(hundreds(FARCALL, dtype), weights=weights, returned=True)
    assert (float(mean), mean.dtype.name, total.dtype.name) == (100, dtype, dtype)
    assert float(fnp.average(hundreds(FARCALL, dtype))) == 100


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.np.average(x, 1, m.np.asarray([1.0, 2, 3])),
        lambda m, x: m.np.average(x, weights=m.np.abs(x), returned=True),
        lambda m, x: m.np.average(x, (0, 1), m.np.abs(x), keepdims=True),
        lambda m, x: m.np.average(x, 0, returned=True),
        lambda m, x: m.np.mean(x, 1, where=x > 0),
        lambda m, x: m.np.mean(x > 0, dtype="float32"),
        lambda m, x: m.np.var(x, 0, ddof=1, where=x > -1),
        lambda m, x: m.np.var(x, 0, mean=m.np.ones((1, 3)), keepdims=True),
        lambda m, x: m.np.std(x, None, correction=1),
        lambda m, x: m.np.std(x * (1 + 2j), 0),
        lambda m, x: m.np.var(x * (1 + 2j), 0, where=x > -1),
        lambda m, x: m.np.nanstd(m.np.where(x > 0, x, m.np.nan), 0, ddof=1),
        lambda m, x: m.np.mean(m.np.asarray([1, 2, 4]), dtype="int32"),
    ],
)
def test_options_mean_what_they_mean_in_jax(call, rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 3)).astype(np.float32)
    assert_same(call(FARCALL, FARCALL.np.asarray(x)), call(JAX, JAX.np.asarray(x)))


def test_wrong_options_are_named() -> None:
    x = fnp.ones((4, 3))
    with pytest.raises(ValueError, match=r"var: dtype must be complex as c64\[4,3\] is, got f32"):
        fnp.var(x * 1j, dtype="float32")
    with pytest.raises(ValueError, match=r"mean: .*\[5\]"):
        fnp.mean(x, where=np.ones(5, bool))
    with pytest.raises(ValueError, match=r"std: .*\[5\]"):
        fnp.std(x, where=np.ones(5, bool))
    with pytest.raises(ValueError, match=r"average: weights must .* got f32\[4\]"):
        fnp.average(x, 1, fnp.ones(4))
    with pytest.raises(ValueError, match=r"average: weights must"):
        fnp.average(x, weights=fnp.ones(3))
    with pytest.raises(ValueError, match="std: ddof and correction are the same option"):
        fnp.std(x, ddof=1, correction=1)


@pytest.mark.parametrize("decimals", [2**40, -(2**40), 39, -39])
def test_round_refuses_powers_of_ten_that_the_dtype_lacks(decimals: int) -> None:
    with pytest.raises(ValueError, match=rf"round: decimals must lie in \[-38, 38\].*{decimals}"):
        fnp.round(fnp.ones(3), decimals)
    assert fnp.round(fnp.asarray(1.25), 38).dtype == np.float32
    with pytest.raises(TypeError):
        fnp.round(fnp.ones(3), 1.5)  # type: ignore[arg-type]


def test_differences_of_a_very_high_order_are_refused_or_none() -> None:
    with pytest.raises(ValueError, match=r"diff: n must lie in \[0, 2147483647\], got 10995"):
        fnp.diff(fnp.ones(3), 2**40)
    assert fnp.diff(fnp.ones((2, 3)), 2**31 - 1).shape == np.diff(np.ones((2, 3)), 9).shape
    assert fnp.diff(fnp.ones((2, 3)), 3, axis=1).shape == (2, 0)


def test_public_names_are_names_of_numpy_or_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    public = {name for name in dir(fnp) if not name.startswith("_")}
    assert {name for name in public if not hasattr(np, name) and not hasattr(jnp, name)} == set()
