"""farcall.lax: strict operations, against jax.lax."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from elementwise_rows import unary
from farcall import lax
from jax import lax as jlax

F = np.array([[0.3, -1.5, 2.0], [0.9, 0.1, -0.4]], np.float32)
G = np.array([[0.2, 1.5, -0.7], [0.5, 3.0, 2.0]], np.float32)
I = np.array([[3, -7, 12], [0, 5, 100]], np.int32)  # noqa: E741
J = np.array([[1, 2, -3], [4, 5, 6]], np.int32)
B = np.array([[True, False, True], [False, False, True]])


def names(candidates: list[str]) -> list[str]:
    """Those that both have."""
    return [name for name in candidates if hasattr(lax, name) and hasattr(jlax, name)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names([row.name for row in unary("F")]))
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
        lambda m: m.rev(F, (1, 0)),
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
        lambda m: m.expand_dims(F, (0, -1)),
        lambda m: m.squeeze(F[:, None, :, None], (1, -1)),
        lambda m: m.squeeze(F[None], (0,)),
        lambda m: m.stop_gradient(F),
        lambda m: m.stop_gradient(I),
        lambda m: m.dot_general(F, G, (((1,), (1,)), ((), ()))),
        lambda m: m.dot_general(F, G, (((1,), (1,)), ((0,), (0,)))),
    ):
        got, expected = call(lax), call(jlax)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-6)


def test_rounding_to_fewer_bits_agrees_with_jax():
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 4000, dtype=np.uint32)
    x = np.concatenate([bits.view(np.float32), np.float32([0, -0.0, np.inf, np.nan, 65520, 65519])])
    for exponent, mantissa in [(5, 10), (8, 7), (4, 3), (8, 23), (2, 1), (11, 52), (8, 0)]:
        got = np.asarray(lax.reduce_precision(x, exponent, mantissa))
        expected = np.asarray(
            jax.jit(jlax.reduce_precision, static_argnums=(1, 2))(x, exponent, mantissa)
        )
        # XLA has several compilers, of which one makes infinities of some NaNs.
        numbers = ~np.isnan(x)
        np.testing.assert_array_equal(got[numbers], expected[numbers])
        assert np.isnan(got[~numbers]).all()
        np.testing.assert_array_equal(np.signbit(got), np.signbit(x))
    half = np.float16([1.7e-6, 3, 65504])  # a subnormal number is as wide as the dtype
    np.testing.assert_array_equal(lax.reduce_precision(half, 5, 10), half)
    with pytest.raises(ValueError, match="reduce_precision: needs exponent_bits of at least 1"):
        lax.reduce_precision(F, 0, 3)


@pytest.mark.usefixtures("x64")
def test_polygamma_agrees_with_scipy():
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(0.01, 40, 400), np.linspace(-20.03, -0.013, 300)])
    for order in [0, 1, 2, 5, 20]:
        got = np.asarray(lax.polygamma(np.float64(order), x))
        expected = special.polygamma(order, x[x > 0])
        np.testing.assert_allclose(got[x > 0], expected, rtol=1e-12, atol=1e-14)
        # The recurrence leads from the negative axis to the positive one.
        left = x[x < 0]
        step = (-1) ** order * special.factorial(order) * left ** (-1.0 - order)
        after = np.asarray(lax.polygamma(np.float64(order), left + 1))
        np.testing.assert_allclose(got[x < 0], after - step, rtol=1e-9)
    corners = np.array([0.0, -1.0, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(lax.polygamma(1.0, corners), [np.inf, np.inf, 0, np.inf, np.nan])
    np.testing.assert_array_equal(np.isnan(lax.polygamma(np.float64([1.5, -1]), 2.0)), [True, True])


def test_reductions_agree_with_numpy():
    np.testing.assert_allclose(lax.reduce_sum(F, (0,)), F.sum(0), rtol=1e-6)
    np.testing.assert_allclose(lax.reduce_prod(F, (0, 1)), F.prod(), rtol=1e-6)
    np.testing.assert_array_equal(lax.reduce_max(F, (1,)), F.max(1))
    np.testing.assert_array_equal(lax.reduce_min(F, (1,)), F.min(1))
    np.testing.assert_array_equal(lax.reduce_and(B, (1,)), B.all(1))
    np.testing.assert_array_equal(lax.reduce_or(B, (0,)), B.any(0))


@pytest.mark.usefixtures("x64")
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


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        *(("float32", "int16"), ("int64", "uint8"), ("uint8", "float16"), ("int16", "float64")),
        *(("uint4", "int8"), ("float8_e4m3fn", "float32")),
    ],
)
def test_bitcasts_between_widths_agree_with_jax(given, wanted):
    given, wanted = getattr(jnp, given), getattr(jnp, wanted)
    with fc.enable_x64(), jax.enable_x64(True):
        ratio = fc.dtypes.itemsize_bits(wanted) // fc.dtypes.itemsize_bits(given)
        x = np.random.default_rng(0).integers(0, 7, (2, ratio or 3)).astype(given)
        expected = jlax.bitcast_convert_type(jnp.asarray(x), wanted)
        for run in (lax.bitcast_convert_type, fc.jit(lax.bitcast_convert_type, static_argnums=1)):
            got = run(fnp.asarray(x), wanted)
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            assert np.asarray(got).tobytes() == np.asarray(expected).tobytes()
        batched = fc.vmap(lambda v: lax.bitcast_convert_type(v, wanted))(fnp.asarray(x))
        assert np.asarray(batched).tobytes() == np.asarray(expected).tobytes()


def test_mistakes_of_structure_are_named():
    for call, message in [
        (lambda: lax.reshape(F, (7,)), r"reshape: f32\[2,3\] has 6 elements"),
        (lambda: lax.transpose(F, (0, 0)), "transpose: "),
        (lambda: lax.broadcast_in_dim(F, (2, 3), (0,)), "broadcast_in_dim: "),
        (lambda: lax.slice(F, (0, 0), (3, 3)), "slice: "),
        (lambda: lax.concatenate([F, G[0]], 0), "concatenate: "),
        (lambda: lax.rev(F, (2,)), "rev: "),
        (lambda: lax.rev(F, (1, 1)), "rev: "),
        (lambda: lax.expand_dims(F, (5,)), "expand_dims: dimensions"),
        (lambda: lax.squeeze(F, (0,)), r"squeeze: dimension 0 of f32\[2,3\] has size 2"),
        (lambda: lax.clamp(0, F, fnp.ones(5)), "clamp: "),
        (lambda: lax.dot_general(F, G, (((1,), (0,)), ((), ()))), "dot_general: "),
        (lambda: lax.bitcast_convert_type(F, np.int64), "bitcast_convert_type: "),
        (lambda: lax.reduce_and(F, (0,)), "reduce_and: "),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="sin: takes floats"):
        lax.sin(I)


def test_primitives_print_under_their_names():
    program = fc.make_jaxpr(lambda x: lax.reduce_sum(lax.mul(lax.sin(x), x), (0,)))(F)
    assert program.primitives == ["sin", "mul", "reduce_sum"]
    assert jax.make_jaxpr(lambda x: jlax.sin(x))(F).eqns[0].primitive.name == "sin"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_top_k_orders_special_values_as_jax_does(dtype):
    dtype = getattr(jnp, dtype)
    values = [-0.0, 0.0, -0.0, np.nan, 1.0, -1.0, np.inf, -np.inf, 1.0]
    with fc.enable_x64(), jax.enable_x64(True):
        x = np.array(values).astype(dtype)
        got, expected = lax.top_k(x, len(x)), jlax.top_k(x, len(x))
    np.testing.assert_array_equal(got[1], expected[1])
    for values in (got[0], expected[0]):
        sorted_by_jax = x[np.asarray(expected[1])].astype(np.float64)
        np.testing.assert_array_equal(np.asarray(values).astype(np.float64), sorted_by_jax)


@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "float32"])
def test_top_k_of_any_number_of_rows_of_any_size(dtype):
    random = np.random.default_rng(0)
    for shape in [(1,), (3, 17), (40, 100), (2, 5000), (3, 40, 7)]:
        x = (random.normal(size=shape) * 5).astype(np.int64).astype(dtype)  # many are equal
        if dtype.startswith("float"):
            x[random.random(shape) < 0.1] = np.nan
        for k in (0, 1, 2, 5, 16, 17, 100):
            if k > shape[-1]:
                continue
            got, expected = lax.top_k(x, k), jlax.top_k(x, k)
            np.testing.assert_array_equal(got[1], expected[1])
            np.testing.assert_array_equal(got[0], np.take_along_axis(x, np.asarray(got[1]), -1))


# Not against JAX, which takes subnormal numbers for zero where the processor's bfloat16 does.
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_top_k_tells_subnormal_numbers_from_zero(dtype):
    dtype = getattr(jnp, dtype)
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    x = np.array([0.0, 2 * tiny, -tiny, 1.0, tiny, -1.0, 0.0, 2 * tiny]).astype(dtype)
    with fc.enable_x64():
        values, indices = lax.top_k(x, len(x))
    expected = np.argsort(-x.astype(np.float64), kind="stable")
    np.testing.assert_array_equal(indices, expected)
    assert np.asarray(values).tobytes() == x[expected].tobytes()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "bool"])
def test_top_k_orders_integers_as_jax_does(dtype):
    x = np.array([[3, 250, 0, 128, 3], [127, 1, 255, 0, 0]]).astype(dtype)
    for k in range(6):
        got, expected = lax.top_k(x, k), jlax.top_k(x, k)
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])


def test_top_k_takes_every_nan_for_the_greatest():
    x = np.array([1.0, np.nan, np.inf, -np.nan, 2.0], np.float32)
    np.testing.assert_array_equal(lax.top_k(x, 3)[1], [1, 3, 2])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [2, 100])
def test_top_k_finds_late_elements_above_the_others_by_a_sign_of_zero_or_nan(dtype, k):
    with fc.enable_x64():
        zeros = np.full(5000, -0.0, dtype)
        zeros[3000:4000] = 0.0
        np.testing.assert_array_equal(lax.top_k(zeros, k)[1], np.arange(3000, 3000 + k))
        zeros[:] = np.nan
        zeros[:100] = np.inf
        np.testing.assert_array_equal(lax.top_k(zeros, k)[1], np.arange(100, 100 + k))


@pytest.mark.parametrize(
    "dtype", ["int2", "int4", "uint2", "uint4", "float8_e4m3fn", "float4_e2m1fn"]
)
def test_top_k_orders_elements_of_few_bits(dtype):
    x = np.array([[1, 0, -2, 1], [0, 1, -1, -2]])
    x = (x if dtype.startswith("int") or dtype.startswith("float") else abs(x)).astype(
        getattr(ml_dtypes, dtype)
    )
    for k in range(5):
        values, indices = lax.top_k(x, k)
        wide = x.astype(np.float64)
        expected = np.argsort(-wide, axis=-1, kind="stable")[:, :k]
        np.testing.assert_array_equal(indices, expected)
        wanted = np.take_along_axis(wide, expected, -1)
        np.testing.assert_array_equal(np.asarray(values).astype(np.float64), wanted)


def test_top_k_refuses_what_has_no_order():
    with pytest.raises(TypeError, match=r"top_k: c64\[2\] has no order"):
        lax.top_k(np.ones(2, np.complex64), 1)
