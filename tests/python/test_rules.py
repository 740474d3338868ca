"""Derivatives and batches of the primitives, against JAX's.

JAX's are compiled as one program: operation by operation it would compile each of them, which takes
longer.
"""

from __future__ import annotations

import functools

import farcall as fc
import numpy as np
import pytest
from elementwise_rows import unary
from farcall import lax

jax = pytest.importorskip("jax")
from jax import lax as jlax  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def wide_types():
    """JAX keeps 64-bit types, as farcall does by itself."""
    with fc.enable_x64(True), jax.enable_x64(True):
        yield


SHAPES = [
    ((), ()),
    ((2, 3), ()),
    ((), (2, 3)),
    ((0, 2), (0, 2)),
    ((1, 2, 1, 3, 2, 1), (1, 2, 1, 3, 2, 1)),
]
TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 4e-6,
    "float64": 1e-12,
    "complex64": 4e-6,
    "complex128": 1e-12,
}


def values(shape, dtype, low=-1.5, high=1.5, seed=0):
    random = np.random.default_rng(seed)

    def real():
        return low + (high - low) * random.random(shape)

    if np.dtype(dtype).kind == "c":
        return np.asarray(real() + 1j * real(), dtype)
    return np.asarray(real()).astype(dtype)


def agree(got, expected, dtype="float64"):
    """Same type, same values: of every leaf of a tuple."""
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            agree(a, b, dtype)
        return
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(
        got.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance
    )


def check(function, *operands, dtype="float64", has_gradient=True):
    """jvp, vjp, vmap and vmap of vjp of function(module, *operands)."""
    ours, theirs = lambda *x: function(lax, *x), lambda *x: function(jlax, *x)
    operands = tuple(np.asarray(x) for x in operands)
    along = tuple(values(x.shape, x.dtype, seed=7 + i) for i, x in enumerate(operands))
    batches = [batched(operands, which) for which in sorted({1, (1 << len(operands)) - 1})]
    result = jax.eval_shape(theirs, *operands)
    cotangent = values(result.shape, result.dtype, seed=3) if has_gradient else None

    def results(m, f, operands, along, cotangent, stacks):
        def pull_back(*x):
            return m.vjp(f, *x)[1](cotangent)

        made = [m.jvp(f, operands, along), pull_back(*operands)] if has_gradient else []
        for (axes, _), stack in zip(batches, stacks, strict=True):
            made.append(m.vmap(f, in_axes=axes)(*stack))
            if has_gradient:
                made.append(m.vmap(pull_back, in_axes=axes)(*stack))
        return made

    given = (operands, along, cotangent, [stack for _, stack in batches])
    expected = jax.jit(functools.partial(results, jax, theirs))(*given)
    agree(results(fc, ours, *given), expected, dtype)
    agree(fc.jit(functools.partial(results, fc, ours))(*given), expected, dtype)


def batched(operands, which):
    """Axes of a batch of the operands whose bits are set, and the operands."""
    axes = [(which + i) % (x.ndim + 1) if which >> i & 1 else None for i, x in enumerate(operands)]
    return axes, [
        x if axis is None else np.stack([x, x * x.dtype.type(0.9)], axis)
        for x, axis in zip(operands, axes, strict=True)
    ]


def named(name):
    return lambda m, *x: getattr(m, name)(*x)


SMOOTH_IN = {
    "kAnywhere": (-1.4, 1.4),
    "kPositive": (0.3, 3),
    "kAboveOne": (1.2, 3),
    "kInside": (-0.8, 0.8),
    "kUnit": (0.2, 0.8),
}
REAL = [row for row in unary("F") if row.result != "kBool" and hasattr(jlax, row.name)]


def functions_of_one_operand():
    cases = []
    for row in REAL:
        dtypes = ["float16", "float64"]
        # JAX has no derivative of the sign of complex numbers, and another branch of acosh.
        if "C" in row.kinds and row.name not in ("sign", "acosh"):
            dtypes.append("complex128")
        for dtype in dtypes:
            at = (row.name, dtype, *SMOOTH_IN[row.domain])
            cases.append(pytest.param(*at, id=f"{row.name}-{dtype}"))
    return cases


@pytest.mark.parametrize(("name", "dtype", "low", "high"), functions_of_one_operand())
def test_functions_of_one_operand(name, dtype, low, high):
    x = values((2, 3), dtype, low, high)
    if dtype == "float16":  # JAX computes in float16, farcall in float32
        got, wide = (fc.grad(lambda v: named(name)(lax, v).sum())(y) for y in (x, np.float32(x)))
        np.testing.assert_allclose(np.float32(got), np.float32(wide), rtol=0.02, atol=0.02)
    else:
        check(named(name), x, dtype=dtype)


@pytest.mark.parametrize("name", ["real", "imag", "conj"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_numbers(name, dtype):
    check(named(name), values((2, 3), dtype), dtype=dtype)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "max", "min", "atan2", "pow", "rem"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_functions_of_two_operands(name, shapes):
    x, y = (values(shape, "float64", 0.2, 2, seed=i) for i, shape in enumerate(shapes))
    check(named(name), x, y)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
def test_functions_of_two_complex_operands(name):
    x, y = (values((2, 3), "complex128", 0.2, 2, seed=i) for i in (0, 1))
    check(named(name), x, y)


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_share_the_derivative(name):
    x = np.array([1.0, 2.0, 3.0, np.nan, 0.0])
    y = np.array([1.0, 3.0, 2.0, 1.0, -0.0])
    check(named(name), x, y)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_sum", "reduce_prod"])
def test_reductions(name):
    random = np.random.default_rng(0)
    for shape, axes in [
        ((4,), (0,)),
        ((2, 3, 2), (0, 2)),
        ((3, 1), ()),
        ((), ()),
        ((0, 3), (1,)),
    ]:
        # Few distinct values, zero among them, so that there are ties and products of zero.
        x = random.integers(-1, 3, shape).astype(np.float64)
        check(lambda m, v, axes=axes: getattr(m, name)(v, axes), x)


def test_sums_at_rank_six():
    check(lambda m, v: m.reduce_sum(v, (1, 3, 5)), values((1, 2, 1, 3, 2, 1), np.float64))


def test_sums_and_products_of_complex_numbers():
    x = values((3, 2), np.complex128)
    check(lambda m, v: m.reduce_sum(v, (0,)), x)
    check(lambda m, v: m.reduce_prod(v, (0,)), x)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_powers(dtype):
    x = values((2, 3), dtype, 0.5, 1.5)
    for y in (-3, 0, 1, 2, 5):
        check(lambda m, v, y=y: m.integer_pow(v, y), x, dtype=dtype)


def test_choices():
    x, y, z = (values((2, 3), np.float64, seed=i) for i in range(3))
    mask = np.array([[True, False, True], [False, False, True]])
    check(lambda m, a, b: m.select_n(mask, a, b), x, y)
    check(lambda m, a, b, c: m.select_n(np.int32([[0, 1, 2], [2, 1, 0]]), a, b, c), x, y, z)
    check(lambda m, a, b: m.select_n(np.bool_(True), a, b), x, y)
    check(lambda m, a, b, c: m.clamp(a, b, c), x - 1, y, z + 1)
    check(lambda m, v: m.clamp(np.float64(-0.5), v, np.float64(0.5)), y)


def test_casts():
    x = values((2, 3), np.float64)
    for dtype in (np.float32, np.complex128, np.float64):
        check(lambda m, v, d=dtype: m.convert_element_type(v, d), x, dtype="float32")
    check(lambda m, v: m.reduce_precision(v, 5, 10), x)
    check(lambda m, v: m.stop_gradient(v) * v, x)
    check(lambda m, v: m.bitcast_convert_type(v, np.int64), x, has_gradient=False)
    check(lambda m, v: m.convert_element_type(v, np.int32), x, has_gradient=False)
    for name in ("argmax", "argmin"):
        check(lambda m, v, n=name: getattr(m, n)(v, 1, np.int32), x, has_gradient=False)


def test_moves():
    x = values((2, 3, 4), np.float64)
    for function in (
        lambda m, v: m.transpose(v, (2, 0, 1)),
        lambda m, v: m.reshape(v, (4, 6)),
        lambda m, v: m.rev(v, (0, 2)),
        lambda m, v: m.slice(v, (0, 1, 0), (2, 3, 4)),
        lambda m, v: m.slice(v, (1, 0, 1), (2, 3, 4), (3, 2, 2)),
        lambda m, v: m.slice(v, (0, 2, 0), (2, 2, 4), (1, 2, 3)),
        lambda m, v: m.broadcast_in_dim(v, (5, 2, 3, 4), (1, 2, 3)),
        lambda m, v: m.broadcast_in_dim(m.slice(v, (0, 0, 0), (2, 1, 4)), (2, 7, 3, 4), (0, 2, 3)),
        lambda m, v: m.concatenate([v, v, m.slice(v, (0, 0, 0), (2, 1, 4))], 1),
        lambda m, v: m.expand_dims(v, (0, 2)),
        lambda m, v: m.squeeze(m.slice(v, (0, 1, 0), (2, 2, 4)), (1,)),
    ):
        check(function, x)
    check(
        lambda m, a, b: m.concatenate([a, b], 0), values((0, 3), np.float64), values((2, 3), "f8")
    )


def test_products():
    dtype = "complex128"
    for left, right, dimensions in [
        ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
        ((3,), (3,), (((0,), (0,)), ((), ()))),
        ((2,), (3,), (((), ()), ((), ()))),
        ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
        ((2, 3, 4, 5), (5, 4, 3, 2), (((3, 1), (0, 2)), ((2,), (1,)))),
        ((2, 3, 4), (4, 2, 3), (((0,), (1,)), ((2, 1), (0, 2)))),
        ((2, 0), (0, 4), (((1,), (0,)), ((), ()))),
    ]:
        check(
            lambda m, a, b, d=dimensions: m.dot_general(a, b, d),
            values(left, dtype),
            values(right, dtype, seed=1),
            dtype=dtype,
        )


STEPS = ("sign", "floor", "ceil")
SMOOTH = [r.name for r in REAL if r.name not in STEPS and r.domain != "kAboveOne"]


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives(name):
    x = np.float64(0.7)
    ours = fc.grad(fc.grad(lambda v: named(name)(lax, v)))(x)
    theirs = jax.jit(jax.grad(jax.grad(lambda v: named(name)(jlax, v))))(x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_derivatives_at_points_where_care_is_needed():
    for function, x in [
        (lambda m, v: m.abs(v), 0.0),
        (lambda m, v: m.pow(v, v * 0 + 2.0), 0.0),
        (lambda m, v: m.pow(v * 0, v), 2.0),
        (lambda m, v: m.abs(m.complex(v, v)), 0.0),
        (lambda m, v: m.select(v > 0, m.log(m.select(v > 0, v, v * 0 + 1)), v * 0), -1.0),
        (lambda m, v: m.clamp(0.0, v, 1.0), 0.0),
        (lambda m, v: m.clamp(0.0, v, 1.0), 1.0),
        (lambda m, v: m.sqrt(v), 0.0),
        (lambda m, v: m.log(v), 0.0),
        (lambda m, v: m.integer_pow(v, 0), 0.0),
    ]:
        ours = fc.grad(lambda v, f=function: f(lax, v))(np.float64(x))
        theirs = jax.jit(jax.grad(lambda v, f=function: f(jlax, v)))(np.float64(x))
        np.testing.assert_array_equal(ours, theirs)
