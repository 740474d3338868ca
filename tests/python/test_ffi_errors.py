"""Mistakes of newcomers: one clear message each, and everything usable afterwards."""

from __future__ import annotations

import ctypes
import pickle

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi

pytestmark = pytest.mark.usefixtures("handlers")
V = fc.ShapeDtypeStruct((3,), "float32")
X = fnp.array([1.0, 2.0, 3.0])
ONE = np.float32(1)


@pytest.fixture(autouse=True)
def everything_stays_usable():
    yield
    np.testing.assert_array_equal(ffi.ffi_call("scale", V)(X, factor=np.float32(2)), [2, 4, 6])
    np.testing.assert_array_equal(fc.jit(ffi.ffi_call("copy_all", V))(X), X)
    np.testing.assert_array_equal(X, [1, 2, 3])


def scale(*operands, **attributes):
    return ffi.ffi_call("scale", V)(*operands, **attributes)


CYCLE: dict = {}
CYCLE["again"] = CYCLE

# ---- mistakes in the call ----

CALLS = [
    (
        lambda: scale(X, factor=1e300),
        ValueError,
        "its handler declares attribute factor as float32, from .*; 1e.300 cannot be "
        "represented exactly",
    ),
    (
        lambda: scale(X, factor=np.float64(2)),
        ValueError,
        "declares attribute factor as float32; got 2.0:f64. Typed values are not "
        "converted: pass a plain",
    ),
    (lambda: scale(X), ValueError, r'scale: attribute "factor": missing \(the call has none\)'),
    (
        lambda: scale(X, facter=ONE),
        ValueError,
        r'attribute "factor": missing \(the call has "facter"\)',
    ),
    (lambda: scale(X, factor=ONE, a=1), ValueError, r'attribute "a": unknown \(wanted "factor"\)'),
    (lambda: scale(np.arange(3), factor=ONE), ValueError, r"argument 0: wanted f32, got s32\[3\]"),
    (lambda: scale(factor=ONE), ValueError, "scale: wanted 1 argument, got 0"),
    (lambda: scale(X, X, factor=ONE), ValueError, "scale: wanted 1 argument, got 2"),
    (
        lambda: ffi.ffi_call("scale", fc.ShapeDtypeStruct((3,), "int32"))(X, factor=ONE),
        ValueError,
        r"scale: result 0: wanted f32, got s32\[3\]",
    ),
    (
        lambda: ffi.ffi_call("wants_many", V)(np.arange(3)),
        ValueError,
        r'wants_many: 4 problems: argument 0: .*; attribute "factor": .*; attribute "axis": '
        r'.*; attribute "mode"',
    ),
    (
        lambda: scale([X, X], factor=ONE),
        TypeError,
        r'ffi_call\("scale"\): argument 0 must be an array or a number, got .* of type list. '
        "Make one array of it with farcall.numpy.array",
    ),
    (
        lambda: scale(None, factor=ONE),
        TypeError,
        "argument 0 must be an array or a number, got None",
    ),
    (lambda: scale("x", factor=ONE), TypeError, "argument 0 must be an array or a number, got 'x'"),
    (
        lambda: scale(np.array([None]), factor=ONE),
        TypeError,
        r'ffi_call\("scale"\): argument 0: a numpy array of dtype object has no counterpart',
    ),
    (
        lambda: scale(X, factor=None),
        TypeError,
        'attribute "factor" is None of type NoneType, which cannot',
    ),
    (lambda: scale(X, factor=object()), TypeError, 'attribute "factor" is <object object'),
    (
        lambda: scale(X, factor=X),
        TypeError,
        "An array is passed as a positional argument; a constant as",
    ),
    (
        lambda: scale(X, factor=2**64),
        OverflowError,
        'attribute "factor" is 18446744073709551616, which',
    ),
    (
        lambda: scale(X, factor=np.ma.array([1.0, 2.0], mask=[False, True])),
        ValueError,
        'attribute "factor": a masked array of numpy would lose its mask',
    ),
    (
        lambda: scale(X, factor=np.ma.masked),
        ValueError,
        'attribute "factor": a masked array of numpy would lose its mask',
    ),
    (lambda: scale(X, factor=["a"]), TypeError, "A list may hold numbers only"),
    (lambda: scale(X, factor=[True, 2]), TypeError, "The list mixes bool and int64"),
    (lambda: scale(X, factor=[[1]]), TypeError, "A list may hold numbers only"),
    (lambda: scale(X, factor={1: 2}), TypeError, "the keys of a dict must be strings, got 1"),
    (lambda: scale(X, factor={"a": {"b": None}}), TypeError, 'attribute "factor.a.b" is None'),
    (lambda: scale(X, factor=CYCLE), RecursionError, "in the attributes of a foreign call"),
    (
        lambda: scale(X, factor=np.datetime64("2020")),
        TypeError,
        'attribute "factor" is .*datetime64',
    ),
    (
        lambda: ffi.ffi_call("token_in", V)(X, X),
        ValueError,
        r"argument 0: wanted token\[\], got f32\[3\]",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), CALLS, ids=[m[:50] for _, _, m in CALLS])
def test_mistakes_in_a_call(call, error, message):
    for run in (call, fc.jit(call), call):
        with pytest.raises(error, match=message) as raised:
            run()
        assert raised.type is error


# ---- what a handler's signature says when the call is made ----


def test_a_call_is_compared_with_the_signature_of_its_handler():
    with pytest.raises(ValueError, match="scale") as caught:
        fc.make_jaxpr(lambda x: scale(x, x, facter=ONE))(np.arange(3))
    assert str(caught.value) == (
        'ffi_call("scale"): scale: 4 problems: wanted 1 argument, got 2; argument 0: wanted f32, '
        'got s32[3]; attribute "factor": missing (the call has "facter"); attribute "facter": '
        'unknown (wanted "factor")'
    )


def test_a_call_before_the_registration_is_compared_when_it_runs(handlers):
    call = ffi.ffi_call("scale registered later", V)
    lowered = fc.jit(call).lower(X)
    ffi.register_ffi_target("scale registered later", ffi.pycapsule(handlers.library.scale))
    with pytest.raises(ValueError, match='attribute "factor": missing'):
        fc.make_jaxpr(call)(X)
    with pytest.raises(fc.FfiError, match='attribute "factor": missing'):
        lowered.compile()(X)


@pytest.mark.parametrize("method", [None, "sequential", "broadcast_all"])
def test_ranks_are_those_of_the_batch_if_the_handler_gets_it(handlers, method):
    """memory_order returns a vector: of a matrix it takes the call on a batch of scalars only."""
    call = ffi.ffi_call("memory_order", fc.ShapeDtypeStruct((), "float32"), vmap_method=method)
    if method == "broadcast_all":
        np.testing.assert_array_equal(fc.vmap(call)(X), X)
        np.testing.assert_array_equal(fc.jit(fc.vmap(fc.jit(call)))(X), X)
        return
    with pytest.raises(ValueError, match=r"result 0: wanted f32\[\?\], got f32\[\]"):
        fc.vmap(call)(X)


# ---- mistakes in the options ----


def make(*args, **options):
    return ffi.ffi_call(*(args or ("scale", V)), **options)


PAIR = fc.ShapeDtypeStruct((2, 3), "float32")
OPTIONS = [
    (
        lambda: make("scale", (3,)),
        ValueError,
        r"result_shape_dtypes\[0\] must have attributes shape and dtype",
    ),
    (
        lambda: make("scale", [V, 3]),
        ValueError,
        r"result_shape_dtypes\[1\] must have attributes .* got 3",
    ),
    (
        lambda: make("scale", None),
        ValueError,
        "result_shape_dtypes must have attributes shape and dtype",
    ),
    (
        lambda: make("scale", type("D", (), {"shape": (3,), "dtype": None})()),
        ValueError,
        "result_shape_dtypes must have a dtype, got None",
    ),
    (
        lambda: make("scale", type("D", (), {"shape": None, "dtype": "f4"})()),
        TypeError,
        "result_shape_dtypes.shape must be an integer or a sequence of them, got None",
    ),
    (
        lambda: make("scale", type("D", (), {"shape": (-3,), "dtype": "f4"})()),
        ValueError,
        r'ffi_call\("scale"\): result_shape_dtypes: shape \[-3\]: dimension 0 is negative',
    ),
    (lambda: make("", V), ValueError, "target_name is empty"),
    (lambda: make(3, V), TypeError, "ffi_call: target_name must be a string, got 3 of type int"),
    (
        lambda: make(vmap_method="sideways"),
        ValueError,
        "vmap_method must be one of broadcast_all, expand_dims, legacy_vectorized, sequential, "
        'sequential_unrolled or None, got "sideways"',
    ),
    (lambda: make(vmap_method=3), TypeError, "vmap_method must be a string or None, got 3"),
    (
        lambda: make(has_side_effect="yes"),
        TypeError,
        "has_side_effect must be True or False, got 'yes'",
    ),
    (
        lambda: make(custom_call_api_version="4"),
        TypeError,
        "custom_call_api_version must be an integer",
    ),
    (
        lambda: make(custom_call_api_version=9),
        ValueError,
        "must be 4, or 0 to 3 for untyped targets, got 9",
    ),
    (lambda: make(legacy_backend_config="a"), ValueError, "is for custom_call_api_version below 4"),
    (
        lambda: make(side_effect=True),
        TypeError,
        "attributes of the target are passed to the callable",
    ),
    (
        lambda: make(input_output_aliases=[0]),
        TypeError,
        r"must be a dict from input to output index, got \[0\]",
    ),
    (lambda: make(input_output_aliases={"a": 0}), TypeError, "must be integers, got 'a'"),
    (lambda: make(input_output_aliases={(): 0}), TypeError, r"must be integers, got \(\)"),
    (
        lambda: make(input_layouts=3),
        TypeError,
        "input_layouts must be a sequence with one layout for each",
    ),
    (
        lambda: make(output_layouts=3),
        TypeError,
        "output_layouts must be a sequence with one layout for each",
    ),
    (
        lambda: make(input_layouts=["ab"]),
        TypeError,
        r"input_layouts\[0\] must be integers, got 'ab'",
    ),
    (
        lambda: make(output_layouts=[None, None]),
        ValueError,
        "output_layouts has 2 entries for 1 results",
    ),
    (lambda: make("scale", PAIR, output_layouts=(0, 0)), ValueError, "not a permutation of 0 to 1"),
    (
        lambda: make("scale", PAIR, output_layouts=(0, 1, 2)),
        ValueError,
        "of rank 3, but result 0 is",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), OPTIONS, ids=[m[:50] for _, _, m in OPTIONS])
def test_mistakes_in_the_options(call, error, message):
    with pytest.raises(error, match=message) as raised:
        call()
    assert raised.type is error


# ---- options that do not fit the operands ----

FITS = [
    ({"input_output_aliases": {-1: 0}}, "the mapping '-1:0' with input index -1 outside the range"),
    ({"input_output_aliases": {1: 0}}, "the mapping '1:0' with input index 1 outside the range"),
    (
        {"input_output_aliases": {0: -1}},
        "the mapping '0:-1' with output index -1 outside the range",
    ),
    ({"input_output_aliases": {0: 2}}, "the mapping '0:2' with output index 2 outside the range"),
    (
        {"input_layouts": [None, None]},
        "input_layouts has 2 entries for 1 operands; give one for each",
    ),
    (
        {"input_layouts": [(1, 0)]},
        r"input_layouts\[0\] is \[1,0\], of rank 2, but operand 0 is f32\[3\]",
    ),
    (
        {"input_layouts": [(1,)]},
        r"input_layouts\[0\] is \[1\], which is not a permutation of 0 to 0",
    ),
]


@pytest.mark.parametrize(("options", "message"), FITS, ids=[m[:40] for _, m in FITS])
def test_options_that_do_not_fit_the_operands(options, message):
    call = ffi.ffi_call("scale", V, **options)
    for run in (call, fc.jit(lambda a: call(a, factor=ONE))):
        with pytest.raises(ValueError, match=r'ffi_call\("scale"\): .*' + message):
            run(X, factor=ONE) if run is call else run(X)


def test_aliases_that_do_not_fit():
    with pytest.raises(ValueError, match="output 0 is named twice"):
        ffi.ffi_call("sum_and_difference", [V, V], input_output_aliases={0: 0, 1: 0})(X, X)
    for other in (fc.ShapeDtypeStruct((4,), "float32"), fc.ShapeDtypeStruct((3,), "int32")):
        with pytest.raises(
            ValueError, match=r"'0:0' referring to an input of f32\[3\] and an output of"
        ):
            ffi.ffi_call("scale", other, input_output_aliases={0: 0})(X, factor=ONE)
    matrix = fnp.ones((2, 3))
    with pytest.raises(ValueError, match="with different layouts"):
        ffi.ffi_call("t", PAIR, input_output_aliases={0: 0}, input_layouts=[(1, 0)])(matrix)


# ---- targets ----


def test_a_misspelt_target_lists_near_names_and_the_line():
    call = ffi.ffi_call("scael", V)
    for run in (call, fc.jit(call), call):
        with pytest.raises(
            fc.FfiError, match=r'no target "scael" on platform "cpu". Near names: "scale"'
        ) as raised:
            run(X)
        assert (raised.value.code, raised.value.target_name) == ("NOT_FOUND", "scael")
        assert str(raised.value).count("test_ffi_errors.py") == 1


def test_a_target_can_be_registered_after_a_failed_call(handler_library):
    call = ffi.ffi_call("registered_late", V)
    with pytest.raises(fc.FfiError, match="no target"):
        call(X)
    ffi.register_ffi_target("registered_late", ffi.pycapsule(handler_library.copy_all))
    np.testing.assert_array_equal(call(X), X)


def test_a_handler_of_another_interface_version(handler_library):
    ffi.register_ffi_target("from_the_future", ffi.pycapsule(handler_library.from_the_future))
    with pytest.raises(
        fc.FfiError, match=r"was built for version 7.3 of the FFI interface"
    ) as raised:
        ffi.ffi_call("from_the_future", V)(X)
    assert raised.value.code == "FAILED_PRECONDITION"


def test_a_library_that_does_not_load_is_ctypes_own_error(tmp_path):
    path = tmp_path / "libnothing.so"
    path.write_bytes(b"no library")
    with pytest.raises(OSError, match=r"libnothing.so"):
        ctypes.CDLL(str(path))


# ---- handlers that fail ----

CODES = [
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]


@pytest.mark.parametrize(("number", "code"), list(enumerate(CODES, 1)), ids=CODES)
def test_every_code_of_a_handler_arrives(number, code):
    call = ffi.ffi_call("fail", V)
    jitted = fc.jit(lambda a: call(a, code=number, text="told to"))
    for _ in range(3):
        for run in (lambda: call(X, code=number, text="told to"), lambda: jitted(X)):
            with pytest.raises(fc.FfiError) as raised:
                run()
            error = raised.value
            assert type(error) is fc.FfiError
            assert (error.code, error.target_name, error.message) == (code, "fail", "told to")
            assert str(error).splitlines()[0] == f'{code}: told to (ffi target "fail")'


def test_ffi_error_is_a_runtime_error_of_the_package():
    assert issubclass(fc.FfiError, RuntimeError)
    assert ffi.FfiError is fc.FfiError
    with pytest.raises(fc.FfiError) as raised:
        ffi.ffi_call("throws", V)(X)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.code) == (str(raised.value), raised.value.code)


@pytest.mark.parametrize(
    "text", ["bad \N{SNOWMAN}", b"bad \xff\xfe", "", "long" * 5000, 'quo"te\n']
)
def test_any_text_of_a_handler_arrives(text):
    with pytest.raises(fc.FfiError) as raised:
        ffi.ffi_call("fail", V)(X, code=3, text=text)
    expected = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    assert raised.value.message == expected


def test_a_handler_that_throws():
    for name, text in [
        ("throws", "throws: the sky fell"),
        ("throws_number", "throws_number: unknown exception"),
    ]:
        call = ffi.ffi_call(name, V)
        for run in (call, fc.jit(call), call):
            with pytest.raises(fc.FfiError, match=text) as raised:
                run(X)
            assert raised.value.code == "INTERNAL"


def test_a_handler_that_fails_on_the_third_call():
    jitted = fc.jit(lambda a: ffi.ffi_call("not_negative", V)(a) * 2)
    eager = ffi.ffi_call("not_negative", V)
    for value, fails in [(1.0, False), (2.0, False), (-1.0, True), (3.0, False), (-2.0, True)]:
        argument = fnp.full((3,), value)
        for run, factor in ((jitted, 2), (eager, 1)):
            if fails:
                with pytest.raises(
                    fc.FfiError, match=r'OUT_OF_RANGE: x is negative .ffi target "not_negative".'
                ):
                    run(argument)
            else:
                np.testing.assert_array_equal(run(argument), argument * factor)


def test_a_handler_that_fails_while_its_state_is_made():
    call = ffi.ffi_call("counter", fc.ShapeDtypeStruct((), "int64"))
    for run in (call, fc.jit(call), call):
        with pytest.raises(fc.FfiError, match="start is negative") as raised:
            run(start=-1) if run is call else fc.jit(lambda: call(start=-1))()
        assert (raised.value.code, raised.value.target_name) == ("INVALID_ARGUMENT", "counter")
