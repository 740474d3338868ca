"""Promotion: JAX's table with 64-bit types on, and its rules for Python's numbers."""

from __future__ import annotations

import itertools

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

NAMES = [name for name in fc.dtypes.names if name not in ("int1", "uint1")]
NUMBERS = [True, 2, 2.0, 2j]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def jax_promotes(a: str, b: str) -> np.dtype | None:
    try:
        with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
            return np.dtype(jnp.promote_types(dtype_of(a), dtype_of(b)))
    except (TypeError, ValueError):
        return None


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("a", NAMES)
def test_every_pair_of_dtypes_is_promoted_as_in_jax(a):
    zero = {name: np.zeros((), dtype_of(name)) for name in NAMES}
    wrong = {}
    for b in NAMES:
        try:
            got = fc.eval_shape(fnp.multiply, fnp.asarray(zero[a]), fnp.asarray(zero[b])).dtype
        except (TypeError, ValueError) as error:
            got = None if "no common dtype" in str(error) else error
        if a == b == "bool":
            continue  # no product of bools
        if got != jax_promotes(a, b):
            wrong[b] = (got, jax_promotes(a, b))
    assert not wrong


NARROW = [name for name in NAMES if name not in ("int64", "uint64", "float64", "complex128")]
SCALARS = [*NUMBERS, *map(np.dtype, ["i1", "u4", "i8", "u8", "f4", "f8"])]
MIXING = {
    "multiply": lambda m, x, y: m.multiply(x, y),
    "where": lambda m, x, y: m.where(True, x, y),
    "stack": lambda m, x, y: m.stack([m.asarray(x), m.asarray(y)]),
    "maximum": lambda m, x, y: m.maximum(x, y),
}


def result_of(root, m, name, x, y):
    try:
        with root.numpy_dtype_promotion("standard"):
            result = root.eval_shape(lambda: MIXING[name](m, x, y))
    except (TypeError, ValueError):
        return None
    return result.dtype, result.weak_type


@pytest.mark.parametrize("name", MIXING)
@pytest.mark.parametrize("a", NARROW)
def test_without_x64_every_pair_is_promoted_as_in_jax(a, name):
    def pairs(m):
        x = m.zeros((), dtype_of(a))
        others = [m.zeros((), dtype_of(b)) for b in NARROW]
        scalars = [s.type(1) if isinstance(s, np.dtype) else s for s in SCALARS]
        return [(x, y) for y in (*others, *scalars)]

    if name == "multiply" and a == "bool":
        return  # JAX and farcall differ in the product of two bools
    with fc.enable_x64(False), jax.enable_x64(False):
        got = [result_of(fc, fnp, name, x, y) for x, y in pairs(fnp)]
        wanted = [result_of(jax, jnp, name, x, y) for x, y in pairs(jnp)]
    assert got == wanted


def test_uint32_and_signed_integers_stay_at_32_bits():
    n, bits = fnp.arange(3), fnp.uint32(5)
    for value in (bits * n, bits ^ n, bits & n, fnp.cross(fnp.uint32([1, 2, 3]), n), bits << n):
        assert value.dtype == np.int32
    for value in (
        fnp.append(bits, n),
        fnp.concatenate([bits[None], n]),
        fnp.matmul(n, fnp.uint32([1, 2, 3])),
    ):
        assert value.dtype == np.int32
    assert fnp.promote_types("uint32", "int32") == np.int32
    assert fnp.result_type(np.uint64(1), fnp.int8(1)) == np.int32
    assert (bits * fnp.arange(3, dtype="int64")).dtype == np.int64
    with fc.enable_x64():
        assert (bits * fnp.int32(3)).dtype == np.int64


POWERS = [
    3,
    True,
    np.int8(3),
    np.int64(3),
    np.uint64(3),
    np.bool_(True),
    np.array(2),
    np.array([2]),
]


@pytest.mark.parametrize("x64", [False, True])
def test_known_integer_exponents_keep_the_dtype_as_in_jax(x64):
    names = ["bool", "int8", "uint8", "uint16", "int32", "uint32", "bfloat16", "float32"]
    with fc.enable_x64(x64), jax.enable_x64(x64):
        for name in (*names, "uint64", "float64") if x64 else names:
            for exponent in (*POWERS, np.float32(2)):
                got = fnp.full(2, 2, name) ** exponent
                wanted = jnp.full(2, 2, name) ** exponent
                assert (got.dtype, got.tolist()) == (wanted.dtype, wanted.tolist()), name
    assert (fnp.full(2, 2, "int8") ** fnp.int32(3)).dtype == np.int8
    assert fc.jit(lambda x, y: x**y)(fnp.int8(2), np.int32(3)).dtype == np.int32
    with pytest.raises(TypeError, match="negative power -1"):
        fnp.array([2]) ** np.int64(-1)


@pytest.mark.parametrize(
    "name", ["bool", "int8", "uint32", "int64", "bfloat16", "float64", "complex64"]
)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_give_way_to_arrays_as_in_jax(name, number):
    array = np.ones(2, dtype_of(name))
    wide = name in ("int64", "float64")
    with fc.enable_x64(wide), jax.enable_x64(wide):
        expected = jnp.asarray(array) + number
        got = fnp.asarray(array) + number
    assert (got.dtype, got.weak_type) == (expected.dtype, expected.weak_type)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NUMBERS, NUMBERS)), ids=repr)
def test_numbers_among_themselves_stay_weak_as_in_jax(a, b):
    with jax.enable_x64(False):
        expected = jnp.asarray(a) * jnp.asarray(b)
    got = fnp.asarray(a) * fnp.asarray(b)
    assert (got.dtype, got.weak_type) == (expected.dtype, expected.weak_type)
    assert got == expected.item()


def test_float64_is_honoured_without_a_switch():
    x = fnp.float64(0.1)
    assert (x + 0.2).dtype == np.float64
    assert float(x + 0.2) == 0.1 + 0.2
    assert float(fc.jit(lambda v: v + 0.2)(x)) == 0.1 + 0.2
    assert float(fc.jit(lambda v, w: v + w)(x, 0.25)) == 0.35


def test_weakness_survives_jit():
    assert fc.jit(lambda v: v * 2)(3).weak_type
    assert not fc.jit(lambda v: v * 2)(np.int32(3)).weak_type
    assert fc.jit(lambda v, w: v + w)(fnp.float64(1), 2).dtype == np.float64


def test_integers_wrap_as_in_jax():
    assert (fnp.ones(2, "uint8") + 300).tolist() == [45, 45]
    assert (fnp.ones(2, "uint8") + -2).tolist() == [255, 255]


KINDS = {
    "weak float": lambda m: m.asarray(1.5),
    "weak int": lambda m: m.asarray(2),
    "float32": lambda m: m.float32(1),
    "int8": lambda m: m.int8(1),
    "bfloat16": lambda m: m.asarray(1, "bfloat16"),
    "bool": lambda m: m.asarray(True),
    "Python's int": lambda m: 3,
    "Python's float": lambda m: 2.5,
    "Python's bool": lambda m: True,
    "numpy's float32": lambda m: np.float32(2),
    "numpy's int32": lambda m: np.int32(3),
}


@pytest.mark.parametrize("a", KINDS)
@pytest.mark.parametrize("b", KINDS)
def test_lists_of_several_kinds_of_numbers_become_arrays_as_in_jax(a, b):
    def types(m, root):
        x, y = KINDS[a](m), KINDS[b](m)
        flat, nested = m.array([x, y]), m.asarray([[x], [y]])
        traced = root.jit(lambda x, y: m.array([x, y]))(x, y)
        return [(r.dtype, r.weak_type, r.tolist()) for r in (flat, nested, traced)]

    assert types(fnp, fc) == types(jnp, jax)


def test_result_type_of_traced_arrays():
    found = []

    def f(x, y):
        found.append(fnp.result_type(x, y, 2.0))
        return x

    program = fc.make_jaxpr(f)(np.int8(1), np.ones(2, "float16"))
    fc.vmap(f)(np.ones(2, "int8"), np.ones(2, "float16"))
    assert found == [np.float16, np.float16]
    assert "convert" not in str(program)


@pytest.mark.parametrize("python_type", [bool, int, float, complex])
def test_types_of_python_are_the_default_dtypes_as_in_jax(python_type):
    def results(m, root):
        x = m.arange(3)
        return [
            m.ones(2, python_type),
            m.asarray([1, 2], dtype=python_type),
            (x > 1).astype(python_type),
            m.full_like(x, 2, dtype=python_type),
            m.sum(x, dtype=python_type),
            root.lax.convert_element_type(x, python_type),
        ]

    got, wanted = results(fnp, fc), results(jnp, jax)
    assert [x.dtype for x in got] == [x.dtype for x in wanted]


def test_a_number_too_large_for_the_integers_it_meets_is_an_error():
    with pytest.raises(OverflowError, match="1099511627776 does not fit into int32"):
        fnp.ones(2, "int32") + 2**40
    with pytest.raises(OverflowError, match="does not fit into uint8"):
        fc.jit(lambda x: x * 2**33)(np.ones(2, "uint8"))
    assert (fnp.ones(2, "uint8") + 300).tolist() == (jnp.ones(2, "uint8") + 300).tolist()
    assert (fnp.uint32(3) * 2654435761).tolist() == 3 * 2654435761 % 2**32
    assert (fnp.ones(1, "int64") + 2**40).tolist() == [2**40 + 1]
    assert (fnp.ones(1) + 2**40).tolist() == [2.0**40]


def test_integers_have_no_negative_powers():
    with pytest.raises(TypeError, match=r"i32\[1\] cannot be raised to the negative power -1"):
        fnp.array([2]) ** -1
    assert (fnp.array([2.0]) ** -1).tolist() == [0.5]


def test_reductions_of_weak_arrays_are_strong_as_in_jax():
    for name in ("sum", "prod", "max", "min", "mean", "var", "std"):
        got, wanted = getattr(fnp, name)(2.0), getattr(jnp, name)(2.0)
        assert (got.dtype, got.weak_type) == (wanted.dtype, wanted.weak_type), name
