"""Corners of dtypes, ties, zeros and infinities, against JAX."""

from __future__ import annotations

import farcall as fc
import farcall.nn
import farcall.numpy as fnp
import jax
import jax.nn
import numpy as np
import pytest
from both import FARCALL, same_as_jax

INF = np.inf
BOOLS = np.array([True, False, True])
NARROW = {"int8": np.array([1, -3, 0], "int8"), "uint16": np.array([1, 3, 0], "uint16")}
COMPLEX = np.array([0, 1j, -1 - 0.5j, 2], np.complex64)
NN = {FARCALL: farcall.nn}


def nn(m):
    return NN.get(m, jax.nn)


BINARY = ["floor_divide", "remainder", "power", "left_shift", "right_shift", "fmod", "gcd", "lcm"]


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("function", BINARY)
def test_bools_take_the_dtype_of_the_integers_that_they_meet(function, dtype):
    same_as_jax(lambda m: getattr(m.np, function)(BOOLS, NARROW[dtype]))
    same_as_jax(lambda m: getattr(m.np, function)(m.np.abs(NARROW[dtype]), BOOLS))


@pytest.mark.parametrize("number", [300, -1, -300])
def test_numbers_wrap_in_narrow_integers(number):
    narrow = np.array([1, 200], "uint8")

    def f(m, x):
        x = m.np.asarray(x)
        return x + number, x == number, x < number, x.at[0].set(number), m.np.maximum(x, number)

    same_as_jax(lambda m: f(m, narrow))
    same_as_jax(lambda m: m.root.jit(lambda x: f(m, x))(narrow))
    same_as_jax(lambda m: m.np.full((2,), number, "int8"))


# By name: what both modules compute.
CASES = {
    "integers_by_zero": lambda m: [m.np.array([5, -5]) % 0, m.np.fmod(m.np.array([5, -5]), 0)],
    "floats_by_zero": lambda m: [
        m.np.array([5.0, -5, 0]) // 0.0,
        m.np.floor_divide(m.np.array([5.0, -5.0]), m.np.array([0.0, 2.0])),
    ],
    "complex_truth": lambda m: [
        m.np.asarray(COMPLEX).astype("bool"),
        m.np.logical_not(COMPLEX),
        m.np.logical_and(COMPLEX, 1j),
        m.np.count_nonzero(COMPLEX),
        m.np.nonzero(COMPLEX),
        m.root.lax.convert_element_type(COMPLEX, "bool"),  # of the real part
    ],
    "complex_logaddexp": lambda m: [
        m.np.logaddexp(COMPLEX, 3j),
        m.np.logaddexp2(COMPLEX, COMPLEX[::-1]),
        m.np.log2(COMPLEX),
        m.np.log10(COMPLEX),
    ],
    "cumulative_in_own_dtype": lambda m: [
        m.np.cumsum(np.array([100, 100], "int8")),
        m.np.cumprod(np.array([100, 200], "uint8")),
        m.np.cumsum(BOOLS),
        m.np.cumulative_sum(np.array([100, 100], "int8")),
    ],
    "mean_beyond_half": lambda m: [
        m.np.mean(np.array([6e4, 6e4], "float16")),
        m.np.var(np.array([300, -300], "float16")),
    ],
    "frexp": lambda m: [
        m.np.frexp(np.array([0, 3, -0.1, INF, -1e30], np.float32)),
        m.np.frexp(m.np.array([0.75, 1e4, -3e-6], "bfloat16")),
        m.root.grad(lambda x: m.np.frexp(x)[0])(3.0),
    ],
    "unique_of_narrow_floats": lambda m: m.np.unique(
        m.np.array([2, np.nan, 1, np.nan], "bfloat16")
    ),
    "unique_of_a_number": lambda m: m.np.unique(2.5),
    "polyval": lambda m: [m.np.polyval(BOOLS, True), m.np.polyval(np.arange(3), 0.5)],
    "bits_of_bools": lambda m: [m.np.bitwise_count(BOOLS), m.np.bincount(BOOLS)],
    "concatenate_array": lambda m: [
        m.np.concatenate(m.np.ones((2, 3))),
        m.np.stack(m.np.ones((2, 3))),
    ],
    "list_among_indices": lambda m: [
        m.np.arange(12).reshape(3, 4)[:, [0, 2]],
        m.np.arange(12).reshape(3, 4)[[True, False, True], 1:],
        m.np.arange(12).reshape(3, 4)[..., []],
        m.np.arange(12).reshape(3, 4).at[:, [0, 2]].set(-1),
    ],
    "relu_of_nan": lambda m: [nn(m).relu(np.float32(np.nan)), nn(m).relu6(np.float32(np.nan))],
    "relu6": lambda m: nn(m).relu6(np.array([-1, 0, 3, 6, 7], np.float32)),
    "issubdtype": lambda m: [
        m.np.issubdtype(dtype, getattr(m.np, kind))
        for dtype in ("int4", "uint4", "bfloat16", "int32")
        for kind in ("integer", "signedinteger", "floating")
    ],
    "ints_give_strong_floats": lambda m: m.np.deg2rad(np.arange(3)) * m.np.ones(3, "bfloat16"),
}


@pytest.mark.parametrize("case", CASES)
def test_values(case):
    same_as_jax(CASES[case])


ROLLS = {
    "flat": lambda m, x: m.np.roll(x, 1),
    "axis": lambda m, x: m.np.roll(x, -1, -1),
    "axes": lambda m, x: m.np.roll(x, (1, 2), (0, 1)),
    "one_shift": lambda m, x: m.np.roll(x, 1, (0, 1)),
    "array": lambda m, x: m.np.roll(x, m.np.array([1, 2]), (0, 1)),
}


@pytest.mark.parametrize("roll", ROLLS)
def test_roll_by_known_shifts_under_transformations(roll):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    same_as_jax(lambda m: m.root.jit(lambda x: ROLLS[roll](m, x))(x))
    same_as_jax(lambda m: m.root.jit(m.root.grad(lambda x: (ROLLS[roll](m, x) * x).sum()))(x))
    program = fc.make_jaxpr(lambda x: fnp.roll(x, 1, 0))(x)
    assert [each.primitive.name for each in program.equations] == ["slice", "slice", "concatenate"]


DERIVATIVES = {
    "softplus": (lambda m, x: nn(m).softplus(x), [0.0, 3.0, -INF]),
    "logaddexp": (lambda m, x: m.np.logaddexp(x, 0.0), [0.0, -1.0, -INF]),
    "logaddexp2": (lambda m, x: m.np.logaddexp2(1.0, x), [1.0, -INF]),
    "zeroth_powers": (lambda m, x: m.np.power(x, m.np.array([0, 1, 2])), [0.0, 2.0]),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_at_ties_and_zeros(name):
    function, points = DERIVATIVES[name]
    for x in points:
        same_as_jax(lambda m, x=x: m.root.grad(lambda v: m.np.sum(function(m, v)))(x))
        same_as_jax(lambda m, x=x: m.root.jvp(lambda v: function(m, v), (x,), (1.0,)))


def test_cumulative_logsumexp_of_equal_elements():
    gradient = jax.grad(lambda m_x: jax.lax.cumlogsumexp(m_x)[-1])
    x = np.zeros(3, np.float32)
    ours = fc.grad(lambda v: fc.lax.cumlogsumexp(v)[-1])(x)
    np.testing.assert_allclose(ours, gradient(x), rtol=1e-6)


@pytest.mark.parametrize("function", ["hypot", "signbit", "isposinf", "isneginf"])
def test_functions_of_real_numbers_refuse_complex_ones(function):
    arguments = (COMPLEX, 1.0) if function == "hypot" else (COMPLEX,)
    with pytest.raises(ValueError, match=f"{function}: is not defined for complex numbers"):
        getattr(fnp, function)(*arguments)


def test_dtypes_that_an_operation_does_not_take_are_type_errors():
    with pytest.raises(TypeError, match="and: takes bool, signed integers"):
        fnp.bitwise_and(fnp.ones(2), 1)
    with pytest.raises(TypeError, match="neg: takes signed integers"):
        _ = -fnp.array(True)
    with pytest.raises(ValueError, match=r"median: an array of shape .* has no elements to choose"):
        fnp.median(fnp.zeros((0, 3)))
    with pytest.raises(TypeError, match="concatenate: argument arrays must be a sequence"):
        fnp.concatenate(1.0)
