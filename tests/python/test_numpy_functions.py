"""farcall.numpy against jax.numpy and numpy, function by function, over dtypes and shapes."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import elementwise_rows
import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

# Types of at most 32 bits are compared with JAX as it comes, the others with its 64-bit types on:
# then "float32 for numbers and integers" is what both do.
NARROW = ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"]
WIDE = ["int64", "uint64", "float64", "complex128"]

_UNARY = """negative positive abs sign square floor ceil rint isfinite isnan isinf real imag
conjugate logical_not bitwise_not"""
UNARY = [r.name for r in elementwise_rows.NUMPY if len(r.operands) == 1] + _UNARY.split()
_BINARY = """divide floor_divide remainder power arctan2 less less_equal greater greater_equal
logical_and logical_or logical_xor left_shift right_shift"""
BINARY = [r.name for r in elementwise_rows.NUMPY if len(r.operands) == 2] + _BINARY.split()
REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin"]
REDUCED = ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32"]
SUMS = ["sum", "prod", "mean", "var", "any", "all"]
REDUCED_ALONG_ROWS = ["complex64", "float64", "int64", "complex128"]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def tolerance(dtype: np.dtype) -> float:
    return {"float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-13, "complex128": 1e-12}.get(
        dtype.name, 4e-6
    )


def values(name: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    dtype = dtype_of(name)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -4, 6, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.uniform(-2, 2, shape).astype(dtype)


def assert_agree(got: fc.Array, expected, rtol: float | None = None) -> None:
    assert isinstance(got, fc.Array)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.weak_type == expected.weak_type
    wide = np.complex128 if np.dtype(got.dtype).kind == "c" else np.float64
    if np.dtype(got.dtype).kind in "iub":
        np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))
        return
    rtol = tolerance(np.dtype(got.dtype)) if rtol is None else rtol
    np.testing.assert_allclose(
        np.asarray(got).astype(wide), np.asarray(expected).astype(wide), rtol=rtol, atol=rtol
    )


# ---- calls of each function and dtype ----

Call = tuple[str, tuple[np.ndarray, ...], dict[str, Any]]


def unary(function: str, name: str) -> Call:
    x = values(name, (2, 3))
    if function == "arccosh" and x.dtype.kind not in "cb":
        x = np.abs(x) + np.ones((), x.dtype)
    return function, (x,), {}


def binary(function: str, name: str) -> Call:
    x, y = values(name, (2, 3)), values(name, (3,), seed=1)
    if function in ("divide", "floor_divide", "remainder", "power", "left_shift", "right_shift"):
        y = np.abs(y).astype(x.dtype) + np.ones((), x.dtype) if name != "bool" else np.ones(3, bool)
        x = np.abs(x).astype(x.dtype) if function == "power" else x
    return function, (x, y), {}


def reduction(function: str, name: str, **options: Any) -> Call:
    return function, (values(name, (3, 4)),), options


def calls(name: str) -> dict[str, Call]:
    """Every call with arguments of one dtype, by the name of its test."""
    made = {f: unary(f, name) for f in UNARY} | {f: binary(f, name) for f in BINARY}
    if name in REDUCED:
        for axis in (None, 0, -1):
            made |= {f"{f} of axis {axis}": reduction(f, name, axis=axis) for f in REDUCTIONS}
    if name in REDUCED_ALONG_ROWS:
        options = {"axis": 1, "keepdims": True}
        made |= {f"{f} of rows": reduction(f, name, **options) for f in SUMS}
    return made


CALLS = {name: calls(name) for name in NARROW + WIDE}


@functools.cache
def in_jax(name: str) -> dict[str, Any]:
    """What JAX gives for the calls, all compiled as one program; None where it refuses."""

    def run(arguments: dict[str, Any]) -> dict[str, Any]:
        results = {}
        for case, (function, _, options) in CALLS[name].items():
            try:
                results[case] = getattr(jnp, function)(*arguments[case], **options)
            except (TypeError, ValueError):
                results[case] = None
        return results

    with warnings.catch_warnings(), jax.enable_x64(name in WIDE):
        warnings.simplefilter("ignore")
        return jax.jit(run)({case: args for case, (_, args, _) in CALLS[name].items()})


@pytest.mark.parametrize(("name", "case"), [(n, c) for n in CALLS for c in CALLS[n]])
def test_functions_agree_with_jax(name: str, case: str) -> None:
    """The same call in both; where JAX refuses, farcall refuses."""
    function, arguments, options = CALLS[name][case]
    expected = in_jax(name)[case]
    if expected is None:
        with pytest.raises((TypeError, ValueError), match=r"^\w+: "):
            getattr(fnp, function)(*arguments, **options)
        return
    with fc.enable_x64(name in WIDE):
        got = getattr(fnp, function)(*arguments, **options)
    assert_agree(got, expected)


SHAPES = [(), (1,), (0,), (2, 0, 3), (5,), (1, 1), (3, 1, 2), (2, 3, 4), (1,) * 9, (33, 65)]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_functions_agree_with_numpy_for_every_shape(shape, rng):
    x = rng.uniform(0.5, 2, shape)
    np.testing.assert_allclose(fnp.exp(x), np.exp(x), rtol=1e-14)
    np.testing.assert_allclose(fnp.add(x, x), x + x)
    np.testing.assert_allclose(fnp.sum(x), np.sum(x), rtol=1e-13)
    np.testing.assert_allclose(fnp.prod(x), np.prod(x), rtol=1e-12)
    np.testing.assert_allclose(fnp.ravel(x), np.ravel(x))
    np.testing.assert_allclose(fnp.transpose(x), np.transpose(x))
    np.testing.assert_allclose(fnp.flip(x), np.flip(x))
    np.testing.assert_allclose(fnp.squeeze(x), np.squeeze(x))
    np.testing.assert_allclose(fnp.reshape(x, (1, *shape)), x[None])
    np.testing.assert_allclose(fnp.broadcast_to(x, (2, *shape)), np.broadcast_to(x, (2, *shape)))
    np.testing.assert_array_equal(fnp.where(x > 1, x, -x), np.where(x > 1, x, -x))
    if x.size:
        np.testing.assert_allclose(fnp.max(x), np.max(x))
        np.testing.assert_allclose(fnp.mean(x), np.mean(x), rtol=1e-13)
    for axis in range(len(shape)):
        np.testing.assert_allclose(fnp.sum(x, axis=axis), np.sum(x, axis=axis), rtol=1e-13)
        np.testing.assert_allclose(fnp.stack([x, x], axis), np.stack([x, x], axis))
        np.testing.assert_allclose(fnp.concatenate([x, x], axis), np.concatenate([x, x], axis))
        np.testing.assert_allclose(fnp.moveaxis(x, axis, 0), np.moveaxis(x, axis, 0))
        np.testing.assert_allclose(fnp.expand_dims(x, axis), np.expand_dims(x, axis))
        np.testing.assert_allclose(fnp.swapaxes(x, axis, -1), np.swapaxes(x, axis, -1))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("axis", [(0, 2), (2, 0), (-1,), (), (0, 1, 2), None])
def test_reductions_take_several_axes(axis, rng):
    x = rng.normal(size=(2, 3, 4))
    for function in ("sum", "max", "min", "prod", "mean", "var"):
        for keepdims in (False, True):
            got = getattr(fnp, function)(x, axis=axis, keepdims=keepdims)
            np.testing.assert_allclose(
                got, getattr(np, function)(x, axis=axis, keepdims=keepdims), rtol=1e-12
            )


def test_var_and_std_take_ddof(rng):
    x = rng.normal(size=(4, 5))
    np.testing.assert_allclose(fnp.var(x, axis=0, ddof=1), np.var(x, axis=0, ddof=1))
    np.testing.assert_allclose(fnp.std(x, ddof=1), np.std(x, ddof=1))


def test_reductions_of_nothing():
    empty = np.zeros((0, 3), np.float32)
    np.testing.assert_array_equal(fnp.sum(empty, axis=0), np.zeros(3))
    np.testing.assert_array_equal(fnp.prod(empty, axis=0), np.ones(3))
    np.testing.assert_array_equal(fnp.any(empty, axis=0), [False] * 3)
    assert fnp.max(empty, axis=1).shape == (0,)
    for function in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=f"{function}: dimension 0 of .* is empty"):
            getattr(fnp, function)(empty, axis=0)


# Not tried at these values: numpy's sign of -0.0 is 0.0, and the others are no functions of floats.
NOT_OF_FLOATS = ("sign", "real", "imag", "conjugate", "logical_not", "bitwise_not")
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e300, 5e-324])


@pytest.mark.usefixtures("x64")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", [name for name in UNARY if name not in NOT_OF_FLOATS])
def test_special_values_agree_with_numpy(function):
    got, expected = getattr(fnp, function)(SPECIAL), getattr(np, function)(SPECIAL)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-13)
    floats = np.asarray(got).dtype.kind == "f"
    if floats:
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(np.asarray(got))[zero], np.signbit(expected)[zero])


@pytest.mark.usefixtures("x64")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "function",
    ["add", "multiply", "divide", "maximum", "minimum", "arctan2", "power", "less", "equal"],
)
def test_special_values_in_pairs_agree_with_numpy(function):
    x, y = SPECIAL[:, None], SPECIAL[None, :]
    np.testing.assert_allclose(
        np.asarray(getattr(fnp, function)(x, y)), getattr(np, function)(x, y), rtol=1e-13
    )


def test_integer_division_rounds_down_and_remainder_has_the_divisors_sign():
    x = np.array([7, -7, 7, -7, 0, -(2**31)], np.int32)
    y = np.array([3, 3, -3, -3, 5, 7], np.int32)
    np.testing.assert_array_equal(fnp.floor_divide(x, y), x // y)
    np.testing.assert_array_equal(fnp.remainder(x, y), x % y)
    f, g = x.astype(np.float32), y.astype(np.float32)
    np.testing.assert_array_equal(fnp.floor_divide(f, g), f // g)
    np.testing.assert_array_equal(fnp.remainder(f, g), f % g)
    rng = np.random.default_rng(0)
    f, g = rng.normal(size=(2, 200, 100)).astype(np.float16)
    g += np.float16(0.001) * (g == 0)
    np.testing.assert_array_equal(fnp.floor_divide(f, g), f // g)


def test_integers_wrap_around():
    x = np.array([127, -128], np.int8)
    np.testing.assert_array_equal(fnp.add(x, x), x + x)
    np.testing.assert_array_equal(fnp.negative(x), -x)
    assert fnp.sum(np.full(4, 2**31 - 1, np.int32)).dtype == np.int32


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_matmul_agrees_with_numpy(x, y, dtype, rng):
    a = rng.integers(-4, 5, x).astype(dtype)
    b = rng.integers(-4, 5, y).astype(dtype)
    got = fnp.matmul(a, b)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, a @ b)
    if len(x) <= 2 and len(y) <= 2:
        np.testing.assert_allclose(fnp.dot(a, b), np.dot(a, b))


def test_outer_and_dot_of_scalars():
    np.testing.assert_array_equal(fnp.outer(np.array([1, 2]), np.array([3, 4])), [[3, 4], [6, 8]])
    assert fnp.dot(2.0, 3.0) == 6


def test_clip_and_where():
    x = np.arange(-3, 4)
    np.testing.assert_array_equal(fnp.clip(x, -1, 2), np.clip(x, -1, 2))
    np.testing.assert_array_equal(fnp.clip(x, None, 2), np.minimum(x, 2))
    np.testing.assert_array_equal(fnp.clip(x, -1), np.maximum(x, -1))
    np.testing.assert_array_equal(fnp.where(x > 0, 1.5, x), np.where(x > 0, 1.5, x))


@pytest.mark.parametrize(
    "to", ["bool", "int8", "uint8", "int64", "bfloat16", "float16", "complex64"]
)
@pytest.mark.parametrize("name", ["bool", "int32", "uint8", "float32", "float64", "bfloat16"])
def test_astype_agrees_with_numpy(name, to):
    x = np.array([0, 1, 2, 100]).astype(dtype_of(name))
    got = fnp.astype(x, dtype_of(to))
    assert got.dtype == dtype_of(to)
    np.testing.assert_array_equal(np.asarray(got), x.astype(dtype_of(to)))


def test_comparisons_of_whole_arrays():
    x = fnp.array([1.0, 2.0])
    assert fnp.allclose(x, x + 1e-7)
    assert not fnp.allclose(x, x + 1)
    assert fnp.allclose(fnp.array([np.nan, np.inf]), fnp.array([np.nan, np.inf]), equal_nan=True)
    assert not fnp.allclose(fnp.array([np.nan]), fnp.array([np.nan]))
    assert fnp.array_equal(x, np.array([1, 2]))
    assert not fnp.array_equal(x, x[:1])
    assert fnp.shape(x) == (2,)
    assert fnp.ndim(x) == 1
    assert fnp.broadcast_shapes((2, 1), (3,)) == (2, 3)


X = fnp.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: fnp.add("a", 1),
            TypeError,
            "add: argument x must be an array or a number, got 'a'",
        ),
        (
            lambda: fnp.sin(None),
            TypeError,
            "sin: argument x must be an array or a number, got None",
        ),
        (lambda: fnp.where(None, X, X), TypeError, "where: argument condition must be an array"),
        (lambda: fnp.sum([1, 2]), TypeError, "Make one array of it with farcall.numpy.array"),
        (
            lambda: fnp.sum(X, axis=2),
            ValueError,
            "sum: axis 2 is out of range for an array of rank 2",
        ),
        (lambda: fnp.sum(X, axis=(0, 0)), ValueError, r"sum: an axis is named twice in \[0,0\]"),
        (lambda: fnp.sum(X, axis=0.5), TypeError, "sum: axis must be an integer or a sequence"),
        (lambda: fnp.reshape(X, (4, 2)), ValueError, r"reshape: f32\[2,3\] has 6 elements"),
        (lambda: fnp.reshape(X, (-1, -1)), ValueError, "reshape: .*-1"),
        (lambda: fnp.reshape(X, (4, -1)), ValueError, "reshape: "),
        (lambda: fnp.transpose(X, (0, 0)), ValueError, "transpose"),
        (lambda: fnp.matmul(X, X), ValueError, "matmul"),
        (lambda: fnp.matmul(X, 2.0), ValueError, "matmul"),
        (lambda: fnp.concatenate([]), ValueError, "concatenate"),
        (lambda: fnp.concatenate([X, X[0]]), ValueError, "concatenate"),
        (lambda: fnp.concatenate(1.0), TypeError, "concatenate: argument arrays must be a seq"),
        (lambda: fnp.stack([X, X[0]]), ValueError, "stack"),
        (lambda: fnp.squeeze(X, 0), ValueError, "squeeze"),
        (lambda: fnp.broadcast_to(X, (3, 2)), ValueError, "broadcast"),
        (lambda: fnp.expand_dims(X, 5), ValueError, "expand_dims"),
        (lambda: fnp.bitwise_and(X, X), (TypeError, ValueError), "and"),
        (lambda: fnp.floor(fnp.array([1j])), (TypeError, ValueError), "floor"),
        (lambda: fnp.array([1], fnp.int4) + fnp.array([1], "int8"), ValueError, "no common dtype"),
        (lambda: fnp.full((2,), "a"), TypeError, "full: argument fill_value must be"),
    ],
)
def test_mistakes_name_the_function_and_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert X.sum() == 6
