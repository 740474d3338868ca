"""Shape rules of definitions: functions and signatures."""

from __future__ import annotations

from typing import Any

import farcall as fc
import numpy as np
import pytest
from defining import F64, X
from farcall import ffi, testing
from farcall.ffi import define

pytestmark = pytest.mark.usefixtures("x64")


def test_a_shape_rule_may_be_a_function(names: dict[str, str]) -> None:
    copy = define(names["copy"])
    seen = []

    @copy.shape
    def _(x: Any, *, twice: Any = None) -> Any:
        seen.append((x.shape, np.dtype(x.dtype)))
        return fc.ShapeDtypeStruct(x.shape[::-1], x.dtype)

    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    result = copy(x)
    assert (result.shape, result.dtype) == ((3, 2), np.int16)
    assert seen == [((2, 3), np.dtype(np.int16))]
    copy.shape(lambda *xs: list(xs))
    results = copy(x, X)
    assert isinstance(results, tuple)
    np.testing.assert_array_equal(results[0], x)
    np.testing.assert_array_equal(results[1], X)


def test_a_shape_rule_gets_attributes_with_defaults(names: dict[str, str]) -> None:
    rule_saw = {}

    def rule(**attributes: Any) -> Any:
        rule_saw.update(attributes)
        return fc.ShapeDtypeStruct((attributes["size"],), np.uint8)

    text = define(names["describe"], shape=rule, attributes={"size": 40, "mode": "fast"})
    assert bytes(np.asarray(text(size=25))) == b"mode=str:fast size=s64:25"
    assert rule_saw == {"size": 25, "mode": "fast"}


@pytest.mark.parametrize(
    ("signature", "shapes", "wanted"),
    [
        ("[] -> []", [()], [()]),
        ("[n] -> [n], [n]", [(3,)], [(3,), (3,)]),
        ("[m, n], [n, k] -> [m, k]", [(2, 3), (3, 4)], [(2, 4)]),
        ("[..., n], [n] -> [..., n], [...]", [(5, 2, 3), (3,)], [(5, 2, 3), (5, 2)]),
        ("[...], [...] -> [...]", [(2, 3), (2, 3)], [(2, 3)]),
        ("[n], [n+1] -> [2*n+1], [n-1]", [(3,), (4,)], [(7,), (2,)]),
        ("[n, 2] -> [n*n*2]", [(3, 2)], [(18,)]),
        ("[..., n] -> [..., 2]", [(4,)], [(2,)]),
        ("[n]->[n]", [(0,)], [(0,)]),
        ("-> [3]", [], [(3,)]),
        (
            "[n] -> [n//2], [(n+1)*2], [(n + 7) // 8 * 8], [n % 4]",
            [(7,)],
            [(3,), (16,), (8,), (3,)],
        ),
        ("[n] -> [n-(n-1)//2*2]", [(6,)], [(2,)]),
        ("[n//2], [n] -> [n]", [(3,), (7,)], [(7,)]),
        ("[2*n] -> [n]", [(4,)], [(2,)]),
        ("[2*n+1, n*k], [k] -> [n]", [(7, 6), (2,)], [(3,)]),
        ("[a+b], [2*b] -> [a, b]", [(5,), (4,)], [(3, 2)]),
    ],
)
def test_signatures(names: dict[str, str], signature: str, shapes: Any, wanted: Any) -> None:
    target = define(names["copy"], shape=signature)
    results = fc.eval_shape(target, *(fc.ShapeDtypeStruct(shape, F64) for shape in shapes))
    results = results if isinstance(results, tuple) else (results,)
    assert [result.shape for result in results] == wanted
    dtype = F64 if shapes else np.float32
    assert all(result.dtype == dtype for result in results)


def test_dtypes_in_signatures(names: dict[str, str]) -> None:
    target = define(names["copy"], shape="f32[n], i32[] -> bf16[n], [n], u8[2]")
    x = fc.ShapeDtypeStruct((3,), np.float32)
    results = fc.eval_shape(target, x, fc.ShapeDtypeStruct((), np.int32))
    assert [str(result.dtype) for result in results] == ["bfloat16", "float32", "uint8"]
    with pytest.raises(ValueError, match=r"operand 1 should be i32, got f32\[3\]"):
        target(np.ones(3, np.float32), np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        ("", 'expected "[" at column 1'),
        ("[n]", 'expected "->" at column 4'),
        ("[n] ->", 'expected "[" at column 7'),
        ("[n -> [n]", 'expected "]" at column 4'),
        ("[n] -> [n] x", "expected the end at column 12"),
        ("[n,] -> [n]", "expected the name of a dimension or a number at column 4"),
        ("[n+] -> [n]", "expected the name of a dimension or a number at column 4"),
        ("[n, ...] -> [n]", "expected the name of a dimension or a number at column 5"),
        ("[... n] -> [n]", 'expected "," at column 6'),
        ("real[n] -> [n]", '"real" is not a dtype at column 5'),
        ("[n] -> [n/2]", 'expected "//", a division that rounds down, at column 10'),
        ("[n] -> [(n]", 'expected ")" at column 11'),
    ],
)
def test_signatures_that_cannot_be_read(names: dict[str, str], signature: str, text: str) -> None:
    with pytest.raises(ValueError, match="shape signature") as caught:
        define(names["copy"], shape=signature)
    assert str(caught.value) == (
        f'shape signature "{signature}": {text}; write for instance "[..., n], [n] -> [..., n]"'
    )


@pytest.mark.parametrize(
    ("signature", "shapes", "text"),
    [
        ("[n] -> [n]", [(3,), (3,)], "expected 1 operands, got 2"),
        ("[n] -> [n]", [(3, 2)], "operand 0 should have 1 dimensions, got f64[3,2]"),
        ("[..., m, n] -> [n]", [(3,)], "operand 0 should have at least 2 dimensions, got f64[3]"),
        ("[n], [n] -> [n]", [(3,), (4,)], "dimension 0 of operand 1, f64[4], should be 3"),
        ("[n, n] -> [n]", [(3, 4)], "dimension 1 of operand 0, f64[3,4], should be 3"),
        ("[n], [2*n] -> [n]", [(3,), (4,)], "dimension 0 of operand 1, f64[4], should be 6"),
        ("[2] -> [2]", [(3,)], "dimension 0 of operand 0, f64[3], should be 2"),
        ("[n] -> [m]", [(3,)], "dimension m appears in no operand"),
        ("[2*n] -> [n]", [(5,)], "dimension 0 of operand 0, f64[5], should be 2*n for some n"),
        ("[n+2] -> [n]", [(1,)], "dimension 0 of operand 0, f64[1], should be n+2 for some n"),
        (
            "[n//2] -> [n]",
            [(4,)],
            "dimension 0 of operand 0, f64[4], does not tell n from n//2; let each stand alone in "
            "a dimension of an operand",
        ),
        (
            "[a+b] -> [a]",
            [(4,)],
            "dimension 0 of operand 0, f64[4], does not tell a and b from a+b; let each stand "
            "alone in a dimension of an operand",
        ),
        ("[n] -> [4//n]", [(0,)], "a division by zero"),
        ("[n] -> [n-4]", [(3,)], "a dimension would have the size -1"),
        ("[n] -> [...]", [(3,)], '"..." of a result appears in no operand'),
        (
            "[..., n], [..., n] -> [n]",
            [(2, 3), (3,)],
            "the leading dimensions of operand 1 are [], those of operands before are [2]",
        ),
    ],
)
def test_operands_that_do_not_fit_a_signature(
    names: dict[str, str], signature: str, shapes: Any, text: str
) -> None:
    target = define(names["copy"], shape=signature)
    with pytest.raises(ValueError, match="shapes do not fit") as caught:
        target(*(np.zeros(shape) for shape in shapes))
    wanted = f'ffi_call("{target.target_name}"): shapes do not fit "{signature}": {text}'
    assert str(caught.value) == wanted


def test_shape_rules_that_are_wrong_or_missing(names: dict[str, str]) -> None:
    copy = define(names["copy"])
    with pytest.raises(RuntimeError, match="has no shape rule; give it one"):
        copy(X)
    undefined = 'target "no_such" has no definition, and no handler of this name is registered'
    with pytest.raises(RuntimeError, match=undefined):
        testing.check_derivatives("no_such", (X,))
    copy.shape(lambda x: 3)
    with pytest.raises(ValueError, match="shape rule: result 0 must have attributes shape and"):
        copy(X)

    def divides(x: Any) -> Any:
        return 1 // 0

    copy.shape(divides)
    with pytest.raises(ZeroDivisionError):
        copy(X)


@pytest.mark.parametrize("run", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_calls_with_their_own_result_types_are_checked(names: dict[str, str], run: Any) -> None:
    define(names["copy"], shape="[n] -> [n]")
    call = ffi.ffi_call(names["copy"], fc.ShapeDtypeStruct((7,), F64))
    with pytest.raises(ValueError, match="by the shape rule") as caught:
        run(call)(np.zeros(3))
    assert str(caught.value) == (
        f'ffi_call("{names["copy"]}"): the results for operands (f64[3]) are (f64[3]) by the shape '
        "rule of the target's definition; the call asks for (f64[7])"
    )
    np.testing.assert_array_equal(run(call)(np.ones(7)), np.ones(7))
