"""farcall.lax: strict operations, against jax.lax."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall import lax
from jax import lax as jlax

F = np.array([[0.3, -1.5, 2.0], [0.9, 0.1, -0.4]], np.float32)
G = np.array([[0.2, 1.5, -0.7], [0.5, 3.0, 2.0]], np.float32)
I = np.array([[3, -7, 12], [0, 5, 100]], np.int32)  # noqa: E741
J = np.array([[1, 2, -3], [4, 5, 6]], np.int32)
B = np.array([[True, False, True], [False, False, True]])

UNARY_FLOAT = [
    "neg",
    "sign",
    "floor",
    "ceil",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "rsqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "erf_inv",
    "lgamma",
    "digamma",
    "logistic",
    "is_finite",
    "abs",
    "square",
]


def names(candidates: list[str]) -> list[str]:
    """Those that farcall has; JAX has all of them."""
    return [name for name in candidates if hasattr(lax, name)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names(UNARY_FLOAT))
def test_functions_of_floats_agree_with_jax(name):
    x = np.abs(F) + 1 if name == "acosh" else F
    expected = getattr(jlax, name)(jnp.asarray(x))
    got = getattr(lax, name)(x)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=4e-6, atol=1e-6)


@pytest.mark.parametrize(
    "name", names(["add", "sub", "mul", "div", "rem", "pow", "max", "min", "atan2", "nextafter"])
)
def test_functions_of_two_floats_agree_with_jax(name):
    x = np.abs(F) if name == "pow" else F
    got, expected = getattr(lax, name)(x, G), getattr(jlax, name)(x, G)
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=4e-6)


@pytest.mark.parametrize("name", names(["eq", "ne", "lt", "le", "gt", "ge"]))
def test_comparisons_agree_with_jax(name):
    for x, y in [(F, G), (I, J), (F, F)]:
        got = getattr(lax, name)(x, y)
        assert got.dtype == np.bool_
        np.testing.assert_array_equal(got, getattr(jlax, name)(x, y))


INTEGER = "add sub mul div rem max min bitwise_and bitwise_or bitwise_xor"
SHIFTS = "shift_left shift_right_arithmetic shift_right_logical"


@pytest.mark.parametrize("name", names(INTEGER.split()))
def test_functions_of_integers_agree_with_jax(name):
    np.testing.assert_array_equal(getattr(lax, name)(I, J), getattr(jlax, name)(I, J))


@pytest.mark.parametrize("name", names(SHIFTS.split()))
def test_shifts_agree_with_jax_also_beyond_the_width(name):
    by = np.array([[0, 1, 5], [31, 32, 40]], np.int32)
    x = np.array([[3, -7, 12], [-1, -5, 100]], np.int32)
    np.testing.assert_array_equal(getattr(lax, name)(x, by), getattr(jlax, name)(x, by))


@pytest.mark.parametrize(
    "name", names(["population_count", "clz", "bitwise_not", "neg", "abs", "sign"])
)
def test_functions_of_one_integer_agree_with_jax(name):
    np.testing.assert_array_equal(getattr(lax, name)(I), getattr(jlax, name)(I))


def test_structural_functions_agree_with_jax():
    for call in (
        lambda m: m.reshape(F, (3, 2)),
        lambda m: m.transpose(F, (1, 0)),
        lambda m: m.broadcast_in_dim(F, (4, 2, 3), (1, 2)),
        lambda m: m.slice(F, (0, 1), (2, 3)),
        lambda m: m.slice(F, (0, 0), (2, 3), (1, 2)),
        lambda m: m.concatenate([F, G], 1),
        lambda m: m.rev(F, (0, 1)),
        lambda m: m.broadcasted_iota(np.int32, (2, 3), 1),
        lambda m: m.iota(np.float32, 4),
        lambda m: m.select(B, F, G),
        lambda m: m.select_n(B, F, G),
        lambda m: m.clamp(-1.0, F, 1.0),
        lambda m: m.integer_pow(F, 3),
        lambda m: m.integer_pow(F, -2),
        lambda m: m.convert_element_type(F, np.int32),
        lambda m: m.bitcast_convert_type(F, np.int32),
        lambda m: m.round(F * 5),
        lambda m: m.round(F * 5, m.RoundingMethod.TO_NEAREST_EVEN),
        lambda m: m.argmax(F, 1, np.int32),
        lambda m: m.argmin(F, 0, np.int32),
        lambda m: m.dot_general(F, G, (((1,), (1,)), ((), ()))),
        lambda m: m.dot_general(F, G, (((1,), (1,)), ((0,), (0,)))),
    ):
        got, expected = call(lax), call(jlax)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-6)


def test_reductions_agree_with_numpy():
    np.testing.assert_allclose(lax.reduce_sum(F, (0,)), F.sum(0), rtol=1e-6)
    np.testing.assert_allclose(lax.reduce_prod(F, (0, 1)), F.prod(), rtol=1e-6)
    np.testing.assert_array_equal(lax.reduce_max(F, (1,)), F.max(1))
    np.testing.assert_array_equal(lax.reduce_min(F, (1,)), F.min(1))
    np.testing.assert_array_equal(lax.reduce_and(B, (1,)), B.all(1))
    np.testing.assert_array_equal(lax.reduce_or(B, (0,)), B.any(0))


def test_operands_must_have_one_dtype_and_one_shape():
    with pytest.raises(
        ValueError, match=r"add: operands must have one dtype; got f32\[2,3\], f64\[2,3\]"
    ):
        lax.add(F, F.astype(np.float64))
    with pytest.raises(ValueError, match=r"add: .*shape"):
        lax.add(F, F[0])
    with pytest.raises(TypeError, match="add: argument x must be an array or a number, got 'a'"):
        lax.add("a", F)
    np.testing.assert_array_equal(lax.add(F, 1), F + 1)
    np.testing.assert_array_equal(lax.add(1, F), F + 1)


def test_mistakes_of_structure_are_named():
    for call, message in [
        (lambda: lax.reshape(F, (7,)), r"reshape: f32\[2,3\] has 6 elements"),
        (lambda: lax.transpose(F, (0, 0)), "transpose: "),
        (lambda: lax.broadcast_in_dim(F, (2, 3), (0,)), "broadcast_in_dim: "),
        (lambda: lax.slice(F, (0, 0), (3, 3)), "slice: "),
        (lambda: lax.concatenate([F, G[0]], 0), "concatenate: "),
        (lambda: lax.rev(F, (2,)), "rev: "),
        (lambda: lax.clamp(0, F, fnp.ones(5)), "clamp: "),
        (lambda: lax.dot_general(F, G, (((1,), (0,)), ((), ()))), "dot_general: "),
        (lambda: lax.bitcast_convert_type(F, np.int64), "bitcast_convert_type: "),
        (lambda: lax.reduce_and(F, (0,)), "reduce_and: "),
        (lambda: lax.sin(I), "sin: takes floats"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_primitives_print_under_their_names():
    program = fc.make_jaxpr(lambda x: lax.reduce_sum(lax.mul(lax.sin(x), x), (0,)))(F)
    assert program.primitives == ["sin", "mul", "reduce_sum"]
    assert jax.make_jaxpr(lambda x: jlax.sin(x))(F).eqns[0].primitive.name == "sin"
