"""ShapeDtypeStruct: the type of an array as a value."""

import inspect
import pickle

import farcall as fc
import numpy as np
import pytest


def test_it_has_what_it_was_made_with() -> None:
    spec = fc.ShapeDtypeStruct((2, 3), np.float32)
    assert (spec.shape, spec.dtype, spec.ndim, spec.size) == ((2, 3), np.dtype("f4"), 2, 6)
    assert not spec.weak_type
    assert fc.ShapeDtypeStruct(4, "bfloat16").shape == (4,)
    assert fc.ShapeDtypeStruct((), "token").dtype == "token"


def test_equal_types_are_equal_and_hash_alike() -> None:
    spec = fc.ShapeDtypeStruct([2], "int8")
    assert spec == fc.ShapeDtypeStruct((2,), np.int8)
    assert hash(spec) == hash(fc.ShapeDtypeStruct((2,), np.int8))
    assert spec != fc.ShapeDtypeStruct((2,), np.int8, weak_type=True)
    assert spec != None  # noqa: E711
    assert spec != "int8[2]"


def test_it_prints_as_it_is_made() -> None:
    assert repr(fc.ShapeDtypeStruct((2,), "f8")) == "ShapeDtypeStruct(shape=(2,), dtype=float64)"
    assert "weak_type=True" in repr(fc.ShapeDtypeStruct((), "f4", weak_type=True))


def test_it_pickles() -> None:
    for spec in (
        fc.ShapeDtypeStruct((2, 0), "bfloat16"),
        fc.ShapeDtypeStruct((), "f4", weak_type=True),
        fc.ffi.abstract_token,
    ):
        assert pickle.loads(pickle.dumps(spec)) == spec


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (((2,), None), ValueError, "dtype must be given"),
        (((2,), "U4"), TypeError, "is not a dtype of farcall"),
        (((-1,), "f4"), ValueError, "dimension 0 is negative"),
        ((("a",), "f4"), TypeError, "shape must be integers"),
        (((2,), "token"), ValueError, r"a token has shape \[\]"),
    ],
)
def test_mistakes_are_named(arguments: tuple, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        fc.ShapeDtypeStruct(*arguments)


def test_the_constructor_has_a_signature() -> None:
    for each in (fc.ShapeDtypeStruct, fc.core.ShapedArray):
        parameters = inspect.signature(each).parameters
        assert list(parameters)[:3] == ["shape", "dtype", "sharding"]
        fc.ShapeDtypeStruct(
            (2,),
            "float32",
            **{name: p.default for name, p in parameters.items() if p.default is not p.empty},
        )
