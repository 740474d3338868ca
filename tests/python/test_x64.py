"""Which dtype data has that comes in, and results of which none was asked for, with enable_x64 off
and on; JAX, under the same flag, is the oracle.
"""

from __future__ import annotations

import warnings

import farcall
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall import ffi, lax

F64 = np.array([0.1, 0.2, 0.3])
I64 = np.array([1, 2, 3])
C128 = F64 + 1j


def dtypes_of(module, package, make):
    """The dtypes of the arrays that ``make`` gives, weak ones marked."""
    values = make(module, package)
    arrays = values if isinstance(values, (tuple, list)) else [values]
    return [(str(x.dtype), bool(x.weak_type)) for x in arrays]


# Each makes arrays with a module like numpy and a package like jax.
INCOMING = {
    "array": lambda m, _: m.array(F64),
    "asarray": lambda m, _: m.asarray(I64),
    "complex": lambda m, _: m.asarray(C128),
    "unsigned": lambda m, _: m.asarray(I64.astype("uint64")),
    "scalar": lambda m, _: m.asarray(np.float64(0.1)),
    "list of scalars": lambda m, _: m.array([np.float64(1), np.float64(2)]),
    "list of arrays": lambda m, _: m.array([F64, F64]),
    "scalars and numbers": lambda m, _: m.array([np.int64(1), 2]),
    "list with an array": lambda m, _: m.array([m.float32(1), np.float64(2)]),
    "times a numpy scalar": lambda m, _: m.ones(3, "float32") * np.sqrt(2),
    "numpy scalar first": lambda m, _: np.float64(2) / m.ones(3, "float32"),
    "plus a numpy array": lambda m, _: m.ones(3, "float32") + F64,
    "int plus numpy ints": lambda m, _: m.arange(3, dtype="int32") + I64,
    "function": lambda m, _: m.sin(F64),
    "reduction": lambda m, _: m.sum(I64),
    "where": lambda m, _: m.where(F64 > 0.1, F64, 0),
    "concatenate": lambda m, _: m.concatenate([F64, m.ones(2, "float32")]),
    "zeros_like": lambda m, _: m.zeros_like(F64),
    "full_like": lambda m, _: m.full_like(I64, 2),
    "full": lambda m, _: m.full((2,), np.float64(3)),
    "arange": lambda m, _: m.arange(np.float64(3)),
    "linspace": lambda m, _: m.linspace(np.float64(0), np.float64(1), 3),
    "jit": lambda m, p: p.jit(lambda x, y: (x, y["a"]))(F64, {"a": I64}),
    "jit of a scalar": lambda m, p: p.jit(lambda x: x)(np.float64(2)),
    "closure": lambda m, p: p.jit(lambda x: x * F64)(m.ones(3, "float32")),
    "vmap": lambda m, p: p.vmap(lambda x: x * 1)(F64),
    "grad": lambda m, p: p.grad(lambda x: (x * x).sum())(F64),
    "scan": lambda m, p: p.lax.scan(lambda c, x: (c + x, x), m.asarray(F64)[0], F64),
    "cond": lambda m, p: p.lax.cond(True, lambda x: x, lambda x: x, F64),
    "device_put": lambda m, p: p.device_put(F64),
    "pure_callback": lambda m, p: p.pure_callback(
        np.sin, p.ShapeDtypeStruct((3,), m.asarray(F64).dtype), F64
    ),
}

i32, f32 = np.arange(3, dtype="int32"), np.ones(3, "float32")
i8, u8, truth = i32.astype("int8"), i32.astype("uint8"), i32 > 0

DEFAULTS = {
    "zeros": lambda m, _: [m.zeros(2), m.ones(2), m.empty(2), m.eye(2), m.identity(2)],
    "eye off the diagonal": lambda m, _: m.eye(3, k=1),
    "python dtypes": lambda m, _: [m.zeros(2, t) for t in (bool, int, float, complex)],
    "numbers": lambda m, _: [m.asarray(1), m.asarray(1.0), m.asarray(1j), m.asarray(True)],
    "lists": lambda m, _: [m.array([1]), m.array([1.0]), m.array([1j]), m.array([True, 2])],
    "arange": lambda m, _: [m.arange(3), m.arange(3.0), m.arange(0, 1, 0.5)],
    "linspace": lambda m, _: [m.linspace(0, 1, 3), m.logspace(0, 1, 3), m.geomspace(1, 2, 3)],
    "weak": lambda m, _: [m.asarray(i32) * 2, m.asarray(i32) * 2.0, m.asarray(f32) * 2.0],
    "weak and bool": lambda m, _: [m.asarray(truth) * 2, m.asarray(truth) * 2.0],
    "weak alone": lambda m, _: [m.sqrt(2), m.sin(1), 1 + m.asarray(1)],
    "floats of ints": lambda m, _: [m.sin(i32), m.asarray(i32) / i32, m.mean(i32), m.exp(truth)],
    "sums": lambda m, _: [m.sum(x) for x in (truth, i8, i32, u8, f32)],
    "products": lambda m, _: [m.prod(x) for x in (truth, i8, u8, f32)],
    "running sums": lambda m, _: [m.cumsum(x) for x in (truth, i8, i32, f32)],
    "places": lambda m, _: [m.argmax(f32), m.argmin(i32), m.argsort(f32), m.lexsort((f32,))],
    "places that hold": lambda m, _: [*m.nonzero(truth), m.flatnonzero(truth), m.argwhere(truth)],
    "places of a size": lambda m, _: m.nonzero(truth, size=2),
    "counts": lambda m, _: [m.count_nonzero(truth), m.bincount(i32)],
    "searchsorted": lambda m, _: [m.searchsorted(f32, f32), m.digitize(f32, f32)],
    "unique": lambda m, _: m.unique(
        i32, return_index=True, return_inverse=True, return_counts=True
    ),
    "indices": lambda m, _: [m.indices((2, 2)), *m.tril_indices(2), *m.triu_indices(2)],
    "frequencies": lambda m, _: [m.fft.fftfreq(3), m.fft.rfftfreq(3), m.fft.fft(f32)],
    "windows": lambda m, _: [m.hanning(3), m.bartlett(3)],
    "one_hot": lambda m, p: p.nn.one_hot(i32, 3),
    "full": lambda m, _: [m.full((2,), 1), m.full((2,), 1.0)],
    "trace": lambda m, _: [
        m.trace(truth[None]),
        m.trace(i32[None]),
        m.linalg.matrix_rank(m.eye(2)),
    ],
    "fori_loop": lambda m, p: p.lax.fori_loop(0, 3, lambda i, c: c + i, 0),
}


@pytest.fixture(params=[False, True], ids=["32 bits", "64 bits"])
def x64(request):
    with farcall.enable_x64(request.param), jax.enable_x64(request.param):
        yield request.param


@pytest.mark.parametrize("case", INCOMING)
def test_numpy_data_comes_in_as_in_jax(case, x64):
    make = INCOMING[case]
    assert dtypes_of(fnp, farcall, make) == dtypes_of(jnp, jax, make)


@pytest.mark.parametrize("case", DEFAULTS)
def test_default_dtypes_are_those_of_jax(case, x64):
    make = DEFAULTS[case]
    assert dtypes_of(fnp, farcall, make) == dtypes_of(jnp, jax, make)


# ---- what is asked for ----

ASKED = {
    "array": lambda: fnp.array(F64, "float64"),
    "asarray": lambda: fnp.asarray(F64, dtype=fnp.float64),
    "list": lambda: fnp.array([0.1, 0.2, 0.3], "float64"),
    "list of scalars": lambda: fnp.array(list(F64), "float64"),
    "astype": lambda: fnp.astype(F64, "float64"),
    "float64": lambda: fnp.float64(F64),
    "convert_element_type": lambda: lax.convert_element_type(F64, "float64"),
    "callback": lambda: farcall.pure_callback(
        lambda: F64, farcall.ShapeDtypeStruct((3,), "float64")
    ),
    "dlpack": lambda: fnp.from_dlpack(F64),
    "in jit": lambda: farcall.jit(lambda x: fnp.sin(x) * 0 + x)(fnp.array(F64, "float64")),
    "tangent": lambda: farcall.jvp(lambda x: x * 1, (fnp.array(F64, "float64"),), (F64,))[1],
}


@pytest.mark.parametrize("case", ASKED)
def test_a_dtype_of_64_bits_that_is_asked_for_is_exact(case):
    made = ASKED[case]()
    assert made.dtype == "float64"
    np.testing.assert_array_equal(made, F64)


def test_a_numpy_scalar_keeps_its_number_for_an_array_of_64_bits():
    x = fnp.ones(2, "float64") * np.float64(0.1)
    assert x.dtype == "float64"
    np.testing.assert_array_equal(x, [0.1, 0.1])
    with pytest.warns(UserWarning, match="wrap around"):
        big = fnp.zeros(1, "int64") + np.int64(2**40)
    assert big.dtype == "int64"
    assert big[0] == 2**40
    assert (fnp.ones(2) * np.float64(0.1)).dtype == "float32"


def test_arrays_of_64_bits_stay_so():
    x = fnp.array(F64, "float64")
    y, z = farcall.jit(lambda x: (x + 1, fnp.sort(x)))(x)
    assert {y.dtype.name, z.dtype.name, fnp.asarray(x).dtype.name} == {"float64"}


def test_an_example_of_numpy_declares_what_comes_in():
    call = ffi.ffi_call("any_target", F64)
    assert call.result_shape_dtypes is F64
    types = farcall.eval_shape(lambda x: farcall.pure_callback(np.sin, F64, x), F64)
    assert types == farcall.ShapeDtypeStruct((3,), "float32")


def test_a_handler_of_f32_takes_random_numbers_of_numpy(handlers):
    x = np.random.default_rng(0).standard_normal(4)
    call = ffi.ffi_call("scale", farcall.ShapeDtypeStruct((4,), "float32"))
    want = x.astype("float32") * np.float32(3)
    np.testing.assert_array_equal(call(x, factor=np.float32(3)), want)
    np.testing.assert_array_equal(farcall.jit(lambda x: call(x, factor=np.float32(3)))(x), want)


# ---- what does not fit ----


@pytest.mark.parametrize("value", [np.array([2**40 + 5]), np.int64(2**40 + 5)])
def test_integers_that_do_not_fit_wrap_around_with_a_warning(value):
    with pytest.warns(UserWarning, match=r"i64\[.* is converted to int32.*wrap around") as caught:
        made = fnp.asarray(value)
    assert caught[0].filename == __file__
    assert np.asarray(made).item() == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fnp.asarray(value, dtype="int64")


def test_floats_that_do_not_fit_become_infinite_with_a_warning():
    with pytest.warns(UserWarning, match="become infinite"):
        assert np.isinf(fnp.asarray(np.array([1e300]))).all()


@pytest.mark.parametrize("layout", ["strided", "swapped", "transposed"])
def test_any_layout_is_cut(layout):
    x = np.arange(12.0).reshape(3, 4)
    given = {"strided": x[:, ::2], "swapped": x.astype(">f8"), "transposed": x.T}[layout]
    made = fnp.asarray(given)
    assert made.dtype == "float32"
    np.testing.assert_array_equal(made, given)


# ---- caches ----


def test_a_jitted_function_is_recorded_for_each_value_of_the_flag():
    f = farcall.jit(lambda x: x + fnp.zeros(()))
    x = fnp.ones(2, "float32")
    for _ in range(2):
        assert f(x).dtype == "float32"
        with farcall.enable_x64():
            assert f(x).dtype == "float64"
    body = lambda c, x: (c, fnp.zeros(2))  # noqa: E731
    for on in (False, True, False):
        with farcall.enable_x64(on):
            ys = lax.scan(body, 0.0, fnp.ones(2))[1]
            assert ys.dtype == ("float64" if on else "float32")


# ---- numbers of Python in a dtype ----


@pytest.mark.parametrize(
    ("value", "dtype", "error"),
    [
        (300, "int8", OverflowError),
        (-1, "uint8", OverflowError),
        (-1, "uint64", OverflowError),
        (2**63, "int64", OverflowError),
        (2**64, "uint64", OverflowError),
        (300.0, "int8", OverflowError),
        (1e30, "int64", OverflowError),
        (float("inf"), "int32", OverflowError),
        (float("nan"), "int32", ValueError),
        (8, "int4", OverflowError),
        (1 + 2j, "float32", TypeError),
        (1 + 2j, "int32", TypeError),
    ],
)
def test_a_number_that_a_dtype_does_not_have_is_an_error(value, dtype, error):
    for given in (value, [value]):
        with pytest.raises(error):
            fnp.array(given, dtype)
        with pytest.raises(error):
            fnp.asarray(given, dtype=dtype)
    with pytest.raises(error):
        getattr(fnp, dtype)(value)


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [
        (2**63, "uint64", 2**63),
        (2**64 - 1, "uint64", 2**64 - 1),
        (2.0**63, "uint64", 2**63),
        (-128, "int8", -128),
        (1.9, "int8", 1),
        (-1.9, "int32", -1),
        (True, "int8", 1),
        (2, "bool", True),
        (0.1, "float64", 0.1),
        (2**70, "float64", 2.0**70),
        (2**70, "float32", 2.0**70),
        (1, "complex64", 1),
    ],
)
def test_a_number_in_a_dtype_is_exact(value, dtype, want):
    made = fnp.array(value, dtype)
    assert made.dtype == dtype
    assert not made.weak_type
    assert made.item() == want


def test_what_a_dtype_does_not_have_is_named():
    with pytest.raises(OverflowError, match=r"array: .*the number 300 does not fit into int8"):
        fnp.array(300, "int8")
    with pytest.raises(ValueError, match="cannot convert float NaN to int32"):
        fnp.array(float("nan"), "int32")


def test_complex_to_real_warns():
    with pytest.warns(UserWarning, match=r"astype: c64\[2\] becomes float32") as caught:
        x = fnp.array([1 + 2j, 3]).astype("float32")
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(x, [1, 3])


# ---- memory that comes in ----

RETURNS_THE_SAME = {
    "ravel": fnp.ravel,
    "squeeze": fnp.squeeze,
    "atleast_1d": fnp.atleast_1d,
    "reshape": lambda x: fnp.reshape(x, (4, 4)),
    "astype": lambda x: fnp.astype(x, "float32"),
    "array": fnp.array,
    "vmap": farcall.vmap(lambda x: x),
    "jit": farcall.jit(lambda x: x),
    "device_put": farcall.device_put,
    "real": fnp.real,
    "positive": fnp.positive,
    "stop_gradient": lax.stop_gradient,
    "linearize": lambda x: farcall.linearize(lambda y: y, x)[0],
    "cond": lambda x: lax.cond(True, lambda y: y, lambda y: y, x),
    "tree": lambda x: farcall.tree.map(fnp.ravel, {"a": x})["a"],
}


def aligned(dtype="float32"):
    memory = np.zeros(16 * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 64].view(dtype)


@pytest.mark.parametrize("case", RETURNS_THE_SAME)
def test_results_do_not_share_memory_that_the_user_may_write(case):
    x = aligned()
    y = RETURNS_THE_SAME[case](x)
    x[:] = 7
    assert not np.asarray(y).any()


def test_asarray_alone_shares_memory():
    x = aligned()
    shared, copied = fnp.asarray(x), fnp.asarray(x, copy=True)
    x[:] = 7
    assert np.asarray(shared).all()
    assert not np.asarray(copied).any()


# ---- bools of other bytes ----


@pytest.mark.parametrize("way", ["numpy", "asarray", "aligned", "dlpack", "strided"])
def test_bools_of_other_bytes_count_as_one(way):
    odd = aligned("uint8")
    odd[:6] = [0, 1, 2, 255, 128, 0]
    odd = odd.view(bool)
    given = odd[::2] if way == "strided" else odd if way == "aligned" else odd[:6]
    if way == "dlpack":
        made = fnp.from_dlpack(given)
    elif way == "asarray":
        made = fnp.asarray(given)
    else:
        made = fnp.array(given) if way == "numpy" else fnp.logical_or(given, False)
    want = given.view("uint8") != 0 if way != "strided" else np.array(odd.view("uint8")[::2] != 0)
    assert int(fnp.sum(made)) == int(want.sum())
    np.testing.assert_array_equal(np.asarray(made).view("uint8"), want.astype("uint8"))
    assert bool(fnp.all(fnp.equal(made, fnp.array(want))))
