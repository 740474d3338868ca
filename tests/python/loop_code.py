"""Helpers of the tests of loops that run as machine code."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

MARKS = [
    pytest.mark.usefixtures("x64"),
    pytest.mark.skipif(
        os.environ.get("FARCALL_JIT") == "0"
        or not fc.jit(lambda x: lax.fori_loop(0, 9, lambda _, c: c + 1, x))
        .lower(0)
        .compile()
        .report()
        .loops[0]
        .is_machine_code,
        reason="there is no machine code here",
    ),
]

FLOATS = ("float32", "float64")
SIGNED, UNSIGNED = ("int32", "int64"), ("uint32", "uint64")
INTS = SIGNED + UNSIGNED


def loops_of(f: Callable[..., Any], *args: Any) -> tuple[Any, list[Any]]:
    """The compiled function, whose loops have machine code if they can, and the report on them."""
    compiled = fc.jit(f).lower(*args).compile()
    return compiled, compiled.report().loops


def assert_same(results: Any, expected: Any, what: str = "") -> None:
    results, expected = fc.tree.leaves(results), fc.tree.leaves(expected)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        got, want = np.asarray(result), np.asarray(wanted)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), what
        if got.dtype.kind == "f":
            # NaN is NaN, whatever its bits: which operand's are taken is the processor's choice.
            got, want = (np.where(np.isnan(a), np.nan, a) for a in (got, want))
            got, want = (np.ascontiguousarray(a).view(f"u{a.itemsize}") for a in (got, want))
        np.testing.assert_array_equal(got, want, err_msg=what)


def check(f: Callable[..., Any], *args: Any, what: str = "") -> None:
    """Machine code for all loops of `f`, and the bits of the operations one by one."""
    compiled, loops = loops_of(f, *args)
    assert loops, what
    assert [loop.why_not for loop in loops] == [""] * len(loops), what
    with fc.disable_jit():
        expected = f(*args)
    assert_same(compiled(*args), expected, what)


def same_without_code(f: Any, *args: Any) -> None:
    """The bits of the operations one by one, with machine code or without."""
    args = tuple(fnp.asarray(arg) for arg in args)
    compiled, loops = loops_of(f, *args)
    assert loops
    with fc.disable_jit():
        expected = f(*args)
    assert_same(compiled(*args), expected)
    assert_same(compiled(*args), expected)


def corners(dtype: str) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind == "f":
        info = np.finfo(kind)
        tiny, low = info.smallest_subnormal, info.tiny
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 7.3, -19.7, 88.0]
        values += [np.inf, -np.inf, np.nan, tiny, -tiny, low, -low, 3 * tiny, info.max, info.min]
        values += [2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 4294967000.0, 1e-5]
        return np.array(values, kind)
    info = np.iinfo(kind)
    values = [0, 1, 2, 3, 5, 7, 16, 31, 32, 33, 63, 64, 65, 1000003, info.max, info.max - 1]
    values += [info.max // 2 + 1, info.min, info.min + 1]
    values += [-1, -2, -7, -16, -33, -1000003] if info.min < 0 else [info.max - 6]
    return np.array(values, kind)
