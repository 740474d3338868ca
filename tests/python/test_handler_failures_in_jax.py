"""Handlers that fail, and calls that they refuse: JAX and farcall report the same code and text."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
from hosted import EVERY_MISTAKE, F32, PICKY, PICKY_ARGS, PICKY_RESULT, failure_in_both, registered
from hosts import FARCALL, HOSTS, JAX, Host


@pytest.fixture(scope="module", autouse=True)
def library() -> ctypes.CDLL:
    return registered()


@pytest.fixture(params=HOSTS, ids=repr)
def host(request: pytest.FixtureRequest) -> Host:
    return request.param


CODES = [
    (1, "CANCELLED"),
    (2, "UNKNOWN"),
    (3, "INVALID_ARGUMENT"),
    (4, "DEADLINE_EXCEEDED"),
    (5, "NOT_FOUND"),
    (6, "ALREADY_EXISTS"),
    (7, "PERMISSION_DENIED"),
    (8, "RESOURCE_EXHAUSTED"),
    (9, "FAILED_PRECONDITION"),
    (10, "ABORTED"),
    (11, "OUT_OF_RANGE"),
    (12, "UNIMPLEMENTED"),
    (13, "INTERNAL"),
    (14, "UNAVAILABLE"),
    (15, "DATA_LOSS"),
    (16, "UNAUTHENTICATED"),
]


@pytest.mark.parametrize(("number", "code"), CODES)
def test_codes_and_texts_of_errors(number: int, code: str) -> None:
    text = f"«{code}»: 100% {{}}\nsecond line"
    assert failure_in_both("hosted_fail", F32, code=np.int32(number), message=text) == (code, text)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("runtime_error", "it does not work"),
        ("bad_alloc", "std::bad_alloc"),
        ("int", "unknown exception"),
    ],
)
def test_exceptions_that_leave_a_handler(what: str, text: str) -> None:
    expected = ("INTERNAL", f"hosted_throw: {text}")
    assert failure_in_both("hosted_throw", F32, what=what) == expected


MISTAKES: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "dtype": (
        (PICKY_ARGS[0], np.ones(1, np.uint32)),
        PICKY_RESULT,
        {},
        "argument 1: wanted s32, got u32[1]",
    ),
    "rank": (
        (np.ones(3, np.float32), PICKY_ARGS[1]),
        PICKY_RESULT,
        {},
        "argument 0: wanted f32[?,?], got f32[3]",
    ),
    "result": (PICKY_ARGS, ((3, 1), np.float64), {}, "result 0: wanted f64[?], got f64[3,1]"),
    "argument count": (PICKY_ARGS[:1], PICKY_RESULT, {}, "wanted 2 arguments, got 1"),
    "result count": (PICKY_ARGS, [PICKY_RESULT] * 2, {}, "wanted 1 result, got 2"),
    "unknown attribute": (
        PICKY_ARGS,
        PICKY_RESULT,
        {"speed": 1},
        'attribute "speed": unknown (wanted "n", "name", "weights", "mode", "window")',
    ),
    "all at once": EVERY_MISTAKE,
}
# What JAX hands over as it is, and the handler refuses, farcall refuses when the call is made.
ATTRIBUTE_MISTAKES: dict[str, tuple[dict[str, Any], str, str]] = {
    "type": (
        {"n": 1.5},
        '"n": wanted s64 scalar, got f64 scalar',
        "n as int64, from -9223372036854775808 to 9223372036854775807; 1.5 cannot be "
        "represented exactly",
    ),
    "kind": (
        {"weights": "heavy"},
        '"weights": wanted f32 array, got string',
        'weights as an array of float32; got "heavy"',
    ),
    "enumerator": (
        {"mode": np.int32(2)},
        '"mode": wanted s32 scalar of kAdd=1, kMultiply=7, got s32 scalar 2',
        "mode as int32, one of 1 (kAdd), 7 (kMultiply); got 2",
    ),
    "member": (
        {"window": {"size": np.float64(1), "name": "w"}},
        '"window.size": wanted s64 scalar, got f64 scalar',
        "window.size as int64; got 1.0:f64. Typed values are not converted: pass a plain "
        "number, or an int64",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_said_in_one_message(case: str) -> None:
    args, result, change, text = MISTAKES[case]
    expected = ("INVALID_ARGUMENT", f"hosted_picky: {text}")
    assert failure_in_both("hosted_picky", result, *args, **{**PICKY, **change}) == expected


@pytest.mark.parametrize("case", ATTRIBUTE_MISTAKES)
def test_mistakes_in_attributes(case: str) -> None:
    change, theirs, ours = ATTRIBUTE_MISTAKES[case]
    given = {**PICKY, **change}
    failed = JAX.failure(lambda: JAX.call("hosted_picky", PICKY_RESULT, *PICKY_ARGS, **given))
    assert failed == ("INVALID_ARGUMENT", f"hosted_picky: attribute {theirs}")
    with pytest.raises(ValueError, match="its handler declares") as caught:
        FARCALL.call("hosted_picky", PICKY_RESULT, *PICKY_ARGS, **given)
    first = str(caught.value).split("\n")[0]
    assert first == f'ffi_call("hosted_picky"): its handler declares attribute {ours}'


def test_a_call_without_mistakes(host: Host) -> None:
    host.call("hosted_picky", PICKY_RESULT, *PICKY_ARGS, **PICKY)


def test_a_failure_leaves_the_target_usable(host: Host) -> None:
    for what in ("int", "nothing") * 3:
        call = lambda what=what: host.call("hosted_throw", F32, what=what)  # noqa: E731
        if what == "int":
            assert host.failure(call)[0] == "INTERNAL"
        else:
            assert call().shape == ()
