"""Types of attributes, declared by definitions and by handlers."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import farcall as fc
import ml_dtypes
import numpy as np
import pytest
from farcall import ffi
from farcall.ffi import define
from handler_library import load

pytestmark = pytest.mark.usefixtures("x64")

INT32 = "int32, from -2147483648 to 2147483647"
FLOAT32 = "float32, from -3.4028235e+38 to 3.4028235e+38"


def text_of(array: Any) -> str:
    return bytes(np.asarray(array)).decode().strip()


# ---- declared by a definition ----


def described(names: dict[str, str], default: Any, **given: Any) -> str:
    """What a handler without declarations gets."""
    target = define(names["describe"], shape="-> u8[60]", attributes={"name": default})
    return text_of(target(**given))


@pytest.mark.parametrize(
    ("default", "value", "text"),
    [
        (np.int8(1), -128, "s8:-128"),
        (np.uint8(1), 255, "u8:255"),
        (np.int32(1), 2**31 - 1, "s32:2147483647"),
        (np.uint32(1), 2**32 - 1, "u32:4294967295"),
        (np.int8(1), True, "s8:1"),
        (np.int32(1), 2.0, "s32:2"),
        (np.uint64(1), 2.0**63, "u64:9223372036854775808"),
        (np.int32(1), 2 + 0j, "s32:2"),
        (np.bool_(True), 0, "pred:0"),
        (np.bool_(True), 1.0, "pred:1"),
        (True, False, "pred:0"),
        (np.float32(1), 2, "f32:2.000000"),
        (np.float32(1), 0.5, "f32:0.500000"),
        (np.float32(1), 0.1, "f32:0.100000"),
        (np.float32(1), True, "f32:1.000000"),
        (np.float32(1), 2 + 0j, "f32:2.000000"),
        (np.float32(1), float("inf"), "f32:inf"),
        (np.float64(1), 3, "f64:3.000000"),
        (1.0, 3, "f64:3.000000"),
        (np.complex64(1), 2, "c64:2.000000,0.000000"),
        (np.complex64(1), 0.5j, "c64:0.000000,0.500000"),
        (1j, True, "c128:1.000000,0.000000"),
        (np.int32(1), np.int32(5), "s32:5"),
        (1.0, np.float64(5), "f64:5.000000"),
    ],
    ids=repr,
)
def test_numbers_take_the_dtype_of_the_default(
    names: dict[str, str], default: Any, value: Any, text: str
) -> None:
    assert described(names, default, name=value) == f"name={text}"


@pytest.mark.parametrize(
    ("default", "value", "text"),
    [
        (np.zeros(0, np.float32), [1, 2.5], "f32[2]:1.000000,2.500000,"),
        (np.zeros(0, np.float32), [], "f32[0]:"),
        (np.zeros(0, np.float32), np.arange(2), "f32[2]:0.000000,1.000000,"),
        (np.zeros(0, np.int16), (1.0, -2.0), "s16[2]:1,-2,"),
        (np.zeros(0, np.int16), [True, False], "s16[2]:1,0,"),
        (np.zeros(0, np.int32), np.array([3, 4], np.uint8), "s32[2]:3,4,"),
        (np.zeros(0, np.int32), np.array([3], ml_dtypes.bfloat16), "s32[1]:3,"),
        ([1.5], np.array([1, 2], np.int8), "f64[2]:1.000000,2.000000,"),
        ({"n": np.int8(1)}, {"n": 2, "other": 3}, "{n=s8:2 other=s64:3 }"),
        ({"a": {"b": np.float32(1)}}, {"a": {"b": 2}}, "{a={b=f32:2.000000 } }"),
    ],
    ids=repr,
)
def test_the_elements_of_lists_arrays_and_dicts_take_the_declared_dtype(
    names: dict[str, str], default: Any, value: Any, text: str
) -> None:
    assert described(names, default, name=value) == f"name={text}"


@pytest.mark.parametrize(
    ("default", "value", "text"),
    [
        (np.int8(1), 128, "name as int8, from -128 to 127; 128 cannot be represented exactly"),
        (np.int8(1), -129, "name as int8, from -128 to 127; -129 cannot be represented exactly"),
        (np.uint8(1), -1, "name as uint8, from 0 to 255; -1 cannot be represented exactly"),
        (np.int32(1), 2.5, f"name as {INT32}; 2.5 cannot be represented exactly"),
        (np.int32(1), float("nan"), f"name as {INT32}; nan cannot be represented exactly"),
        (np.int32(1), 1j, f"name as {INT32}; (0.0+1.0j) cannot be represented exactly"),
        (np.bool_(True), 2, "name as bool, True or False; 2 cannot be represented exactly"),
        (np.float32(1), 1e300, f"name as {FLOAT32}; 1e+300 cannot be represented exactly"),
        (np.float32(1), 1e-300, f"name as {FLOAT32}; 1e-300 would become 0"),
        (np.float32(1), 2**24 + 1, f"name as {FLOAT32}; 16777217 cannot be represented exactly"),
        (
            np.complex64(1),
            1e300j,
            "name as complex64, with parts from -3.4028235e+38 to 3.4028235e+38; "
            "(0.0+1e+300j) cannot be represented exactly",
        ),
        (
            np.zeros(0, np.uint8),
            [1, 256],
            "name as an array of uint8, from 0 to 255; element 1, 256 cannot be represented "
            "exactly",
        ),
        (
            {"n": np.int8(1)},
            {"n": 300},
            "name.n as int8, from -128 to 127; 300 cannot be represented exactly",
        ),
        (
            np.int32(1),
            np.int16(5),
            "name as int32; got 5:i16. Typed values are not converted: pass a plain number, or "
            "an int32",
        ),
        (
            np.float32(1),
            np.float64(2),
            "name as float32; got 2.0:f64. Typed values are not converted: pass a plain number, or "
            "a float32",
        ),
        (np.int32(1), np.array(5), "name as int32; got 5:i64. Typed values are not converted"),
        (np.int32(1), [5], "name as int32; got [5]"),
        (np.zeros(0, np.int32), 5, "name as an array of int32; got 5"),
        (np.int32(1), "5", 'name as int32; got "5"'),
        ("text", 5, "name as a string; got 5"),
        ({"n": 1}, 5, "name as a dictionary; got 5"),
    ],
    ids=repr,
)
def test_values_that_the_declared_type_has_not(
    names: dict[str, str], default: Any, value: Any, text: str
) -> None:
    with pytest.raises(ValueError, match="its definition declares attribute") as caught:
        described(names, default, name=value)
    message = f'ffi_call("{names["describe"]}"): its definition declares attribute {text}'
    assert str(caught.value).startswith(message)


def test_defaults_hold_for_every_call_of_the_target(names: dict[str, str]) -> None:
    assert described(names, np.int16(7)) == "name=s16:7"
    call = ffi.ffi_call(names["describe"], fc.ShapeDtypeStruct((60,), np.uint8))
    assert text_of(call()) == "name=s16:7"
    assert text_of(call(name=8, other=True)) == "name=s16:8 other=pred:1"


def test_a_new_definition_holds_for_calls_that_were_made_before(names: dict[str, str]) -> None:
    call = ffi.ffi_call(names["describe"], fc.ShapeDtypeStruct((60,), np.uint8))
    assert text_of(call(name=8)) == "name=s64:8"
    assert described(names, np.int16(7), name=8) == "name=s16:8"
    assert text_of(call(name=8)) == "name=s16:8"
    define(names["describe"], attributes={"name": np.float32(7)})
    assert text_of(call(name=8)) == "name=f32:8.000000"
    define(names["describe"], attributes={"other": True})
    assert text_of(call(name=8)) == "name=s64:8 other=pred:1"


# ---- declared by a handler ----


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return load("declared.cpp")


@pytest.fixture
def call(library: ctypes.CDLL) -> Any:
    """Calls the handler of this short name, which answers with what it got."""

    def run(name: str, **attributes: Any) -> str:
        target = f"declared_{name}"
        ffi.register_ffi_target(target, ffi.pycapsule(getattr(library, target)))
        made = ffi.ffi_call(target, fc.ShapeDtypeStruct((40,), np.uint8))
        texts = {text_of(made(**attributes)), text_of(fc.jit(lambda: made(**attributes))())}
        assert len(texts) == 1
        return texts.pop()

    return run


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("bool", True, "True"),
        ("bool", 1, "True"),
        ("s8", -128, "-128"),
        ("s8", 2.0, "2"),
        ("s8", np.int8(3), "3"),
        ("s32", True, "1"),
        ("s64", 2.0, "2"),
        ("u64", 2**64 - 1, "18446744073709551615"),
        ("f32", 0.5, "0.500000"),
        ("f32", 2, "2.000000"),
        ("f32", np.float32(2), "2.000000"),
        ("f64", True, "1.000000"),
        ("c64", 2, "2.000000,0.000000"),
        ("c64", 1 + 2j, "1.000000,2.000000"),
        ("str", "word", "word"),
        ("s32s", [1, 2], "[1 2 ]"),
        ("s32s", np.arange(2), "[0 1 ]"),
        ("f32s", (1, 2.5), "[1.000000 2.500000 ]"),
        ("f32s", [], "[]"),
        ("mode", 4, "shift"),
        ("mode", 1.0, "scale"),
        ("window", {"size": 3}, "3x1.000000"),
        ("window", {"size": 3.0, "weight": 2}, "3x2.000000"),
        # Of several types: the one that it has, then one of its sort, then any.
        ("variant", np.int32(2), "2@1"),
        ("variant", 2, "2@1"),
        ("variant", 2.0, "2.000000@0"),
        ("variant", True, "1.000000@0"),
        ("variant", [1, 2], "[1.000000 2.000000 ]@2"),
        ("optional", 2, "2"),
    ],
    ids=repr,
)
def test_numbers_take_the_dtype_that_the_handler_declares(
    call: Any, name: str, value: Any, text: str
) -> None:
    assert call(name, value=value) == f"{name}={text}"


def test_what_is_optional_may_be_absent(call: Any) -> None:
    assert call("optional") == "optional=none"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("s8", 128, "value as int8, from -128 to 127; 128 cannot be represented exactly"),
        ("s32", 2.5, f"value as {INT32}; 2.5 cannot be represented exactly"),
        ("f32", 1e39, f"value as {FLOAT32}; 1e+39 cannot be represented exactly"),
        ("f32", np.float64(1), "value as float32; got 1.0:f64. Typed values are not converted"),
        ("f64", np.float32(1), "value as float64; got 1.0:f32. Typed values are not converted"),
        ("f32", "1", 'value as float32; got "1"'),
        ("str", 1, "value as a string; got 1"),
        ("s32s", [1, 2**31], f"value as an array of {INT32}; element 1, 2147483648 cannot be"),
        ("s32s", 1, "value as an array of int32; got 1"),
        ("mode", 2, "value as int32, one of 1 (kScale), 4 (kShift); got 2"),
        (
            "window",
            {"size": 2**40},
            f"value.size as {INT32}; 1099511627776 cannot be represented exactly",
        ),
        ("window", 3, "value as a dictionary; got 3"),
        ("variant", "x", 'value as float32 or int32 or an array of float32; got "x"'),
        ("variant", np.int64(2), "value as float32 or int32 or an array of float32; got 2:i64"),
    ],
    ids=repr,
)
def test_values_that_the_handler_does_not_take(call: Any, name: str, value: Any, text: str) -> None:
    with pytest.raises(ValueError, match="its handler declares attribute") as caught:
        call(name, value=value)
    message = f'ffi_call("declared_{name}"): its handler declares attribute {text}'
    assert str(caught.value).startswith(message)


def test_the_error_comes_when_the_call_is_made(call: Any) -> None:
    call("f32", value=1)

    def traced() -> Any:
        made = ffi.ffi_call("declared_f32", fc.ShapeDtypeStruct((40,), np.uint8))
        with pytest.raises(ValueError, match="its handler declares attribute value as float32"):
            made(value="1")
        return made(value=2)

    assert text_of(fc.jit(traced)()) == "f32=2.000000"


def test_attributes_that_the_handler_lacks_or_does_not_know_are_refused(call: Any) -> None:
    with pytest.raises(ValueError, match='attribute "value": missing'):
        call("f32")
    with pytest.raises(ValueError, match='attribute "other": unknown'):
        call("f32", value=1, other=2)


def test_programs_hold_attributes_of_the_declared_types(call: Any) -> None:
    call("f32", value=1)
    made = ffi.ffi_call("declared_f32", fc.ShapeDtypeStruct((40,), np.uint8))
    texts = {str(fc.make_jaxpr(lambda value=value: made(value=value))()) for value in (2, 2.0)}
    assert len(texts) == 1
    assert "attributes={value=2.0:f32}" in texts.pop()


def test_every_stage_declares_attributes(library: ctypes.CDLL) -> None:
    stages = {
        "instantiate": ffi.pycapsule(library.declared_start),
        "execute": ffi.pycapsule(library.declared_use_start),
    }
    ffi.register_ffi_target("declared stages", stages)
    made = ffi.ffi_call("declared stages", fc.ShapeDtypeStruct((40,), np.uint8))
    assert text_of(made(start=3)) == "start=3.000000"


def test_the_handler_goes_before_the_definition(library: ctypes.CDLL) -> None:
    name = "declared_f32 and defined"
    ffi.register_ffi_target(name, ffi.pycapsule(library.declared_f32))
    target = define(name, shape="-> u8[40]", attributes={"value": 0.25})
    assert text_of(target()) == "f32=0.250000"
    assert text_of(target(value=2)) == "f32=2.000000"
    target = define(name, shape="-> u8[40]", attributes={"value": np.float64(0.25)})
    with pytest.raises(
        ValueError, match=re.escape("as float32; got 0.25:f64. Typed values are not")
    ):
        target()


def test_declarations_that_come_later_hold_for_later_calls(library: ctypes.CDLL) -> None:
    name = "declared_f32 later"
    made = ffi.ffi_call(name, fc.ShapeDtypeStruct((40,), np.uint8))
    assert "value=2:i64" in str(fc.make_jaxpr(lambda: made(value=2))())
    ffi.register_ffi_target(name, ffi.pycapsule(library.declared_f32))
    assert "value=2.0:f32" in str(fc.make_jaxpr(lambda: made(value=2))())
    assert text_of(made(value=2)) == "f32=2.000000"


def test_what_cannot_be_an_attribute_is_called_by_its_name(grow: ffi.Definition) -> None:
    for value, name in ((None, "rate"), ({"n": None}, "rate.n")):
        with pytest.raises(TypeError, match=f'^attribute "{name}" is None of type NoneType'):
            grow(np.ones(3), rate=value)
        with pytest.raises(TypeError, match=f'^attribute "{name}" is None of type NoneType'):
            ffi.define(grow.target_name, attributes={"rate": value})
