"""Scratch memory that definitions announce: planned, shared, handed to the handler's allocator."""

from __future__ import annotations

from typing import Any

import farcall as fc
import numpy as np
import pytest
from defining import X
from farcall import ffi
from farcall.ffi import define

pytestmark = pytest.mark.usefixtures("x64")

BLOCK = 64  # a block of three doubles, rounded up


def result_types(x: Any, **attributes: Any) -> Any:
    """y, and what the handler says of the memory: in one piece; where."""
    return x, fc.ShapeDtypeStruct((2,), np.int64)


@pytest.fixture
def twice(names: dict[str, str]) -> ffi.Definition:
    """2 * x by way of blocks of scratch as large as x."""
    return define(names["twice"], shape=result_types, attributes={"blocks": 2})


def scratch_bytes(function: Any, *args: Any) -> list[int]:
    report = fc.jit(function).lower(*args).compile().report()
    return [call.planned_scratch_bytes for call in report]


def test_scratch_is_planned_and_reported(twice: ffi.Definition) -> None:
    assert scratch_bytes(twice, X) == [0]
    seen = []

    @twice.workspace
    def _(x: Any, *, blocks: int) -> int:
        seen.append((x.shape, np.dtype(x.dtype), int(blocks)))
        return BLOCK * blocks

    assert scratch_bytes(twice, X) == [2 * BLOCK]
    assert scratch_bytes(lambda x: twice(x, blocks=5), X) == [5 * BLOCK]
    assert seen == [((3,), np.dtype(np.float64), 2), ((3,), np.dtype(np.float64), 5)]
    compiled = fc.jit(twice).lower(X).compile()
    assert "scratch: 0 bytes, 128 planned" in str(compiled.report())
    compiled(X)
    assert "scratch: 48 bytes, 128 planned" in str(compiled.report())


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_the_handler_gets_the_planned_memory(twice: ffi.Definition, blocks: int) -> None:
    twice.workspace(lambda x, *, blocks: BLOCK * blocks)
    run = fc.jit(lambda x: twice(x, blocks=blocks))
    places = set()
    for _ in range(3):
        y, (is_behind, address) = run(X)
        np.testing.assert_array_equal(y, 2 * X)
        assert is_behind == 1
        places.add(int(address))
    assert len(places) == 1  # every run has the same memory


def test_what_does_not_fit_comes_from_the_heap(twice: ffi.Definition) -> None:
    twice.workspace(lambda x, *, blocks: BLOCK * (blocks - 1))
    y, (is_behind, _) = fc.jit(lambda x: twice(x, blocks=3))(X)
    np.testing.assert_array_equal(y, 2 * X)
    assert is_behind == 0
    twice.workspace(lambda x, *, blocks: 0)
    np.testing.assert_array_equal(twice(X, blocks=3)[0], 2 * X)


def test_calls_and_values_share_the_memory(twice: ffi.Definition) -> None:
    n = 100
    twice.workspace(lambda x, *, blocks: 8 * n * 8)
    x = np.arange(float(n))

    def chain(x: Any, times: int) -> Any:
        for _ in range(times):
            x = fc.numpy.sin(twice(x, blocks=1)[0])
        return x

    def temporary(times: int) -> int:
        compiled = fc.jit(lambda x: chain(x, times)).lower(x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert temporary(8) < temporary(1) + 8 * n * 8
    wanted = x
    for _ in range(8):
        wanted = np.sin(2 * wanted)
    np.testing.assert_allclose(fc.jit(lambda x: chain(x, 8))(x), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("method", "bytes_of_a_call"), [("sequential", 64), ("broadcast_all", 128)]
)
def test_under_vmap_the_size_is_that_of_the_operands_that_come(
    twice: ffi.Definition, method: str, bytes_of_a_call: int
) -> None:
    twice._set(vmap_method=method)
    twice.workspace(lambda x, *, blocks: -(-x.size * 8 // 64) * 64)
    rows = np.stack([X, X + 1, X + 2, X + 3])
    mapped = fc.vmap(lambda x: twice(x, blocks=1)[0])
    assert scratch_bytes(mapped, rows) == [bytes_of_a_call]
    np.testing.assert_array_equal(fc.jit(mapped)(rows), 2 * rows)
    np.testing.assert_array_equal(mapped(rows), 2 * rows)


def test_in_loops_and_branches(twice: ffi.Definition) -> None:
    twice.workspace(lambda x, *, blocks: BLOCK * blocks)

    def looped(x: Any) -> Any:
        return fc.lax.scan(lambda c, _: (twice(c)[0], twice(c)[1]), x, None, length=4)

    assert scratch_bytes(looped, X) == [2 * BLOCK, 2 * BLOCK]
    y, where = fc.jit(looped)(X)
    np.testing.assert_array_equal(y, 16 * X)
    np.testing.assert_array_equal(np.asarray(where)[:, 0], 1)
    chosen = fc.jit(lambda x: fc.lax.cond(x[0] > 0, lambda a: twice(a)[0], lambda a: a, x))
    np.testing.assert_array_equal(chosen(X), 2 * X)
    np.testing.assert_array_equal(chosen(-X), -X)


def test_a_new_rule_holds_for_calls_that_are_compiled_later(twice: ffi.Definition) -> None:
    assert twice(X)[0].shape == (3,)
    asked = []
    twice.workspace(lambda x, *, blocks: asked.append(1) or BLOCK)
    twice(X)
    assert asked == [1]
    twice(X)
    assert asked == [1]  # compiled once
    twice.workspace(lambda x, *, blocks: 0)
    assert scratch_bytes(twice, X) == [0]


@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (lambda x, **_: -8, ValueError, "expected a number of bytes from 0 to 2^48, got -8"),
        (lambda x, **_: 2**50, ValueError, "from 0 to 2^48, got 1125899906842624"),
        (lambda x, **_: 2.5, TypeError, "returns must be a number of bytes, got 2.5 of type float"),
        (lambda x, **_: None, TypeError, "must be a number of bytes, got None of type NoneType"),
        (lambda x, **_: 2**70, TypeError, "must be a number of bytes, got 1180591620717411303424"),
    ],
    ids=["negative", "too many", "float", "none", "beyond 64 bits"],
)
def test_rules_that_return_no_number_of_bytes(
    twice: ffi.Definition, rule: Any, error: type[Exception], text: str
) -> None:
    twice.workspace(rule)
    for run in (twice, fc.jit(twice)):
        with pytest.raises(error) as caught:
            run(X)
        assert f'the workspace rule of target "{twice.target_name}"' in str(caught.value)
        assert text in str(caught.value)


def test_errors_of_a_rule_reach_the_caller(twice: ffi.Definition) -> None:
    def fails(x: Any, **attributes: Any) -> int:
        raise LookupError("how much?")

    twice.workspace(fails)
    with pytest.raises(LookupError, match="how much"):
        twice(X)
    twice.workspace(lambda x, **_: np.int64(BLOCK))
    np.testing.assert_array_equal(twice(X)[0], 2 * X)
