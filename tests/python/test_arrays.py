"""Array: making one, its attributes, operators, indexing and conversion to Python's numbers."""

from __future__ import annotations

import array
import copy
import ctypes
import math
import pickle

import farcall as fc
import farcall.numpy as fnp
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture
def x() -> fc.Array:
    return fnp.array([[1.0, 2.0], [3.0, 4.0]])


# ---- making ----


@pytest.mark.parametrize(
    ("value", "dtype", "weak"),
    [
        (True, "bool", False),
        (3, "int32", True),
        (2**40, "int64", True),
        (3.0, "float32", True),
        (1j, "complex64", True),
        ([1, 2], "int32", False),
        ([2**40, 1], "int64", False),
        ([-(2**31)], "int32", False),
        ([-(2**31) - 1], "int64", False),
        ([1.0, 2], "float32", False),
        ([1j, 2], "complex64", False),
        ([True, False], "bool", False),
        ([], "float32", False),
        (np.float64(1), "float32", False),
        (np.array([1.0]), "float32", False),
        (np.int8(1), "int8", False),
    ],
)
def test_an_array_takes_the_dtype_of_its_values(value, dtype, weak):
    made = fnp.array(value)
    assert made.dtype == np.dtype(dtype)
    assert made.weak_type is weak
    np.testing.assert_array_equal(np.asarray(made), np.asarray(value))


@pytest.mark.parametrize(
    "dtype", [np.float64, "float64", "int8", np.dtype("complex128"), fnp.bfloat16]
)
def test_an_explicit_dtype_is_honoured(dtype):
    for made in (fnp.array([1, 2], dtype), fnp.asarray(1, dtype), fnp.zeros(3, dtype)):
        assert made.dtype == np.dtype(dtype)
        assert not made.weak_type


def test_a_python_float_keeps_its_precision_when_it_meets_float64():
    assert float(fnp.zeros((), "float64") + 0.1) == 0.1
    assert float(fnp.array(0.1, dtype="float64")) == 0.1


def test_lists_may_hold_arrays(x):
    np.testing.assert_array_equal(fnp.array([x[0], [5.0, 6.0]]), [[1, 2], [5, 6]])
    np.testing.assert_array_equal(fc.jit(lambda v: fnp.array([v, 1.0]))(2.0), [2, 1])


@pytest.mark.parametrize(
    "value",
    [range(3), memoryview(np.arange(3.0)), array.array("f", [1, 2]), (ctypes.c_int16 * 2)(3, 4)],
    ids=lambda value: type(value).__name__,
)
def test_what_numpy_takes_for_an_array_is_one(value):
    made = fnp.asarray(value)
    narrow = {np.dtype("int64"): "int32", np.dtype("float64"): "float32"}
    wanted = np.asarray(value).dtype
    assert made.dtype == narrow.get(wanted, wanted)
    np.testing.assert_array_equal(made, np.asarray(value))
    np.testing.assert_array_equal(fnp.array(value, "float64"), np.asarray(value, "float64"))


def test_ndmin_puts_dimensions_before(x):
    assert fnp.array(x, ndmin=4).shape == (1, 1, 2, 2)


def test_creation_functions_agree_with_numpy():
    np.testing.assert_array_equal(fnp.arange(5), np.arange(5))
    np.testing.assert_array_equal(fnp.arange(1, 2, 0.25), np.arange(1, 2, 0.25))
    assert fnp.arange(3).dtype == np.int32
    assert fnp.arange(3.0).dtype == np.float32
    np.testing.assert_array_equal(fnp.arange(2**33, 2**33 + 2), [2**33, 2**33 + 1])
    np.testing.assert_array_equal(fnp.eye(2, 3), np.eye(2, 3))
    np.testing.assert_array_equal(fnp.full((2, 1), 7), [[7], [7]])
    np.testing.assert_array_equal(fnp.ones_like(fnp.zeros(2, "int8")), np.ones(2, "int8"))
    np.testing.assert_allclose(fnp.linspace(0, 1, 5), np.linspace(0, 1, 5))
    np.testing.assert_array_equal(fnp.empty((0, 3)), np.zeros((0, 3)))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 16, (2,) * 10])
def test_any_shape_can_be_had(shape):
    made = fnp.ones(shape)
    assert (made.shape, made.ndim, made.size) == (shape, len(shape), math.prod(shape))
    assert made.nbytes == 4 * made.size
    np.testing.assert_array_equal(made + 1, np.full(shape, 2, np.float32))


# ---- attributes and text ----


def test_attributes(x):
    assert (x.shape, x.dtype, x.ndim, x.size) == ((2, 2), np.float32, 2, 4)
    assert (x.nbytes, x.itemsize, len(x), x.weak_type, x.is_traced) == (16, 4, 2, False, False)
    assert x.aval == fc.ShapeDtypeStruct((2, 2), "float32")
    assert x.block_until_ready() is x
    assert fc.block_until_ready(x) is x


def test_text(x):
    assert repr(x) == "Array([[1., 2.],\n       [3., 4.]], dtype=float32)"
    assert str(x) == "[[1. 2.]\n [3. 4.]]"
    assert repr(fnp.array(3)) == "Array(3, dtype=int32, weak_type=True)"
    assert f"{fnp.array(1.5):.3f} {fnp.array(3):04d}" == "1.500 0003"
    assert f"{x}" == str(x)


@pytest.mark.parametrize("form", ["{}", "{:.3f}", "{:>12}", "{:g}"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int32"])
def test_scalars_are_formatted_as_jax_formats_them(form, dtype):
    jax = pytest.importorskip("jax")
    with fc.enable_x64(True), jax.enable_x64(True):
        wanted = form.format(jax.numpy.array(0.1, dtype))
    assert form.format(fnp.array(0.1, dtype)) == wanted


def test_what_numpy_does_not_format_is_a_type_error(x):
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{x:.2f}"
    with pytest.raises(TypeError, match="no value yet and cannot be formatted"):
        fc.jit(lambda x: f"{x:.2f}")(x)
    assert fc.eval_shape(lambda x: [fnp.zeros(len(f"{x}"))], x)


def test_methods_are_numpys_functions(x):
    value = np.asarray(x)
    for name in ("sum", "prod", "max", "min", "mean", "var", "std", "argmax", "argmin", "ravel"):
        np.testing.assert_allclose(getattr(x, name)(), getattr(value, name)(), rtol=1e-6)
    np.testing.assert_array_equal(x.sum(axis=0, keepdims=True), value.sum(axis=0, keepdims=True))
    np.testing.assert_array_equal(x.reshape(4, 1), value.reshape(4, 1))
    np.testing.assert_array_equal(x.reshape((-1,)), value.reshape(-1))
    np.testing.assert_array_equal(x.transpose(1, 0), value.T)
    np.testing.assert_array_equal(x.T, value.T)
    np.testing.assert_array_equal(x[None].mT, value.T[None])
    np.testing.assert_array_equal(x.flatten(), value.flatten())
    np.testing.assert_array_equal(x.swapaxes(0, 1), value.T)
    np.testing.assert_array_equal(x.clip(2, 3), value.clip(2, 3))
    assert x.astype("int8").dtype == np.int8
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert (x > 0).all()
    assert (x > 3).any()
    z = fnp.array([1 + 2j])
    assert (z.real[0], z.imag[0]) == (1, 2)


# ---- operators ----

OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
BIT_OPERATORS = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("other", ["array", "number", "numpy", "numpy scalar"])
def test_operators_agree_with_numpy_on_either_side(x, operator, other):
    apply = OPERATORS[operator]
    value = np.asarray(x)
    theirs = np.array([[2, 3], [2, 1]], np.float32)
    ours = {
        "array": fnp.array(theirs),
        "number": 2.0,
        "numpy": theirs,
        "numpy scalar": theirs[0, 0],
    }
    theirs = theirs if other in ("array", "numpy") else np.float32(2)
    for got, expected in [
        (apply(x, ours[other]), apply(value, theirs)),
        (apply(ours[other], x), apply(theirs, value)),
    ]:
        assert isinstance(got, fc.Array)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("operator", BIT_OPERATORS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_integer_operators_agree_with_numpy(operator, dtype):
    apply = BIT_OPERATORS[operator]
    a = np.array([1, 5, 100, 7], dtype)
    b = np.array([1, 3, 2, 4], dtype)
    got = apply(fnp.array(a), fnp.array(b))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, apply(a, b))


def test_unary_operators(x):
    value = np.asarray(x)
    np.testing.assert_array_equal(-x, -value)
    np.testing.assert_array_equal(+x, value)
    np.testing.assert_array_equal(abs(-x), value)
    np.testing.assert_array_equal(~fnp.array([1, 2]), [-2, -3])
    np.testing.assert_array_equal(~fnp.array([True, False]), [False, True])
    quotient, rest = divmod(x, 2)
    np.testing.assert_array_equal(quotient, value // 2)
    np.testing.assert_array_equal(rest, value % 2)
    np.testing.assert_array_equal(x @ x, value @ value)
    np.testing.assert_array_equal(value @ x, value @ value)


def test_an_array_is_unequal_to_what_is_no_array(x):
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    with pytest.raises(TypeError, match="'<' not supported"):
        x < "a"  # noqa: B015


def test_an_operator_with_what_is_no_array_is_a_type_error(x):
    for other in ("a", [1, 2], None, object()):
        with pytest.raises(TypeError, match="unsupported operand"):
            x + other


def test_shapes_that_do_not_broadcast_are_named(x):
    message = (
        r"add: shapes \[2,2\], \[3\] cannot be broadcast: dimension 1 from the last is 2 and 3"
    )
    with pytest.raises(ValueError, match=message):
        x + fnp.ones(3)


# ---- indexing ----


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        np.int64(1),
        slice(None),
        slice(1, None),
        slice(None, None, -1),
        slice(10, -10, -2),
        slice(5, 1),
        slice(None, None, 3),
        (slice(None), 0),
        (Ellipsis, 1),
        (0, Ellipsis),
        None,
        (None, 0, None),
        (slice(0, 2), slice(1, 3), -1),
        (1, 2, 3),
        (),
        Ellipsis,
    ],
    ids=str,
)
def test_basic_indexing_agrees_with_numpy(index):
    value = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
    array = fnp.array(value)
    np.testing.assert_array_equal(array[index], value[index])
    np.testing.assert_array_equal(fc.jit(lambda a: a[index])(array), value[index])


def test_an_array_of_one_integer_is_an_index(x):
    np.testing.assert_array_equal(x[fnp.array(1)], [3, 4])
    assert [10, 20][fnp.array(1)] == 20


def test_indexing_errors(x):
    with pytest.raises(
        IndexError, match=r"indexing f32\[2,2\]: index 5 is out of range for dimension 0"
    ):
        x[5]
    with pytest.raises((IndexError, ValueError), match="3 indices were given for 2 dimensions"):
        x[0, 0, 0]
    with pytest.raises(ValueError, match="only one ellipsis"):
        x[..., ...]
    for index in ("a", 1.0, fnp.array(1.0)):
        with pytest.raises(TypeError, match="can be indexed by integers, slices, None, "):
            x[index]


def test_iteration_and_membership(x):
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    _, b = x
    np.testing.assert_array_equal(b, [3, 4])
    assert 2.0 in x[0]
    assert 5.0 not in x[0]
    with pytest.raises(TypeError, match="a scalar array cannot be iterated over"):
        iter(fnp.array(1.0))
    with pytest.raises(TypeError, match=r"a scalar array has no len\(\)"):
        len(fnp.array(1.0))


def test_arrays_are_immutable(x):
    with pytest.raises(TypeError, match="arrays are immutable"):
        x[0] = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(TypeError):
        type(x)()


# ---- Python's numbers ----


def test_conversion_to_numbers():
    assert bool(fnp.array(2.0)) is True
    assert int(fnp.array(3.7)) == 3
    for number in (int, float, complex):
        with pytest.raises(TypeError, match=r"only a scalar array .* f32\[1,1\]; .*\.item\(\)"):
            number(fnp.array([[2.5]]))
    assert fnp.array([[2.5]]).item() == 2.5
    assert complex(fnp.array(1 + 2j)) == 1 + 2j
    assert fnp.array(2, "int64").item() == 2
    assert float(fnp.array(1.5, "bfloat16")) == 1.5


def test_conversion_errors(x):
    with pytest.raises(
        TypeError, match=r"only a scalar array can be converted to a Python number, got f32\[2,2\]"
    ):
        float(x)
    with pytest.raises(
        ValueError, match=r"the truth value of f32\[2,2\] is not defined; use .any\(\)"
    ):
        bool(x)
    with pytest.raises(TypeError, match="only an integer scalar can be used as an index"):
        [1, 2][fnp.array(1.0)]
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        x + 2**70


# ---- copies ----


def test_copies_and_pickles_are_equal(x):
    weak = fnp.asarray(2.0)
    for original in (x, weak, fnp.zeros((0, 3), "int4"), fnp.ones(3, "bfloat16")):
        for same in (
            copy.copy(original),
            copy.deepcopy(original),
            pickle.loads(pickle.dumps(original)),
        ):
            assert (same.dtype, same.shape) == (original.dtype, original.shape)
            assert same.weak_type == original.weak_type
            np.testing.assert_array_equal(np.asarray(same), np.asarray(original))
    assert x.copy().unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


# ---- errors when making ----


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("abc", TypeError, "array: argument object must be an array or a number, got 'abc'"),
        (None, TypeError, "array: argument object must be an array or a number, got None"),
        ({"a": 1}, TypeError, "must be an array or a number"),
        (np.array(["a"]), TypeError, "dtype <U1 has no counterpart"),
        (np.array([None]), TypeError, "dtype object has no counterpart"),
        ([[1], [1, 2]], ValueError, "array: .*inhomogeneous"),
        (["a"], TypeError, "<U1 has no counterpart"),
        (2**70, OverflowError, "does not fit into 64 bits"),
    ],
    ids=repr,
)
def test_what_is_no_array_is_refused(value, error, message):
    with pytest.raises(error, match=message):
        fnp.array(value)


def test_dtypes_and_shapes_that_do_not_exist_are_refused():
    with pytest.raises(TypeError, match="is not a dtype of farcall"):
        fnp.zeros(3, "nonsense")
    with pytest.raises(TypeError, match="is not a dtype of farcall"):
        fnp.zeros(3, object)
    with pytest.raises(ValueError, match="dimension 0 is negative"):
        fnp.zeros(-1)
    with pytest.raises(TypeError, match="zeros: shape must be integers"):
        fnp.zeros((1.5,))
    with pytest.raises(ValueError, match=r"2\^63 bytes or more"):
        fnp.zeros((2**40, 2**40))
    with pytest.raises(ValueError, match="at most 32"):
        fnp.zeros((1,) * 33)
    with pytest.raises(MemoryError, match="out of memory: cannot allocate"):
        fnp.zeros(2**50)


def test_shape_dtype_struct():
    made = fc.ShapeDtypeStruct((2, 3), "float32")
    assert (made.shape, made.dtype, made.ndim, made.size) == ((2, 3), np.float32, 2, 6)
    assert made == fc.ShapeDtypeStruct([2, 3], np.float32)
    assert made != fc.ShapeDtypeStruct((2, 3), "float32", weak_type=True)
    assert len({made, fc.ShapeDtypeStruct((2, 3), "float32")}) == 1
    assert repr(made) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"
    assert pickle.loads(pickle.dumps(made)) == made
    assert fc.ShapeDtypeStruct(3, "int4").dtype == fnp.int4
    with pytest.raises(ValueError, match="dtype must be given"):
        fc.ShapeDtypeStruct((2,), None)
    for dtype in ("nonsense", object, "datetime64[s]", ">f4"):
        with pytest.raises(TypeError, match="is not a dtype of farcall"):
            fc.ShapeDtypeStruct((2,), dtype)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (1, 0, 4)])
def test_arrays_without_elements_show_their_shape_as_in_jax(shape: tuple[int, ...]) -> None:
    assert repr(fnp.zeros(shape)) == repr(jnp.zeros(shape))


def test_a_large_transposed_array_of_numpy_is_copied_in_order():
    x = np.arange(2 * 3 * 500 * 700).reshape(2, 3, 500, 700)
    for dtype in ("int16", "float32", "complex128", "bool"):
        value = (x % 251).astype(dtype)
        for turned in (value.T, value.transpose(2, 0, 3, 1), value.swapaxes(0, 3)):
            with fc.enable_x64():
                got = fnp.array(turned)
            np.testing.assert_array_equal(np.asarray(got), turned)
            assert np.asarray(got).flags.c_contiguous
