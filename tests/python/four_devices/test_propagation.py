"""Propagation of specs through programs, forward and backward, to the foreign calls in them;
reports on these calls; and the shardings of jit.

The handler multiplies by the number of rows that it gets: by 2 if each device has its part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi, lax
from handler_library import load

SOURCE = r"""
#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

ffi::Error TimesRows(ffi::AnyBuffer x, ffi::ResultBuffer<ffi::F32> y) {
  const auto rows = x.dimensions().empty() ? 1.f : static_cast<float>(x.dimensions()[0]);
  for (size_t i = 0; i < y->element_count(); ++i) {
    y->typed_data()[i] = x.typed_data<float>()[i] * rows;
  }
  return {};
}
FARCALL_DEFINE_HANDLER(times_rows, TimesRows);

// x + w, of which w has one row or as many as x; and 100 for each row that it sees.
ffi::Error AddRows(ffi::Buffer<ffi::F32, 2> x, ffi::Buffer<ffi::F32, 2> w,
                   ffi::ResultBuffer<ffi::F32, 2> y) {
  const size_t rows = x.dimensions()[0], width = x.dimensions()[1];
  for (size_t i = 0; i < rows * width; ++i) {
    const size_t j = w.dimensions()[0] == 1 ? i % width : i;
    y->typed_data()[i] = x.typed_data()[i] + w.typed_data()[j] + 100.f * static_cast<float>(rows);
  }
  return {};
}
FARCALL_DEFINE_HANDLER(add_rows, AddRows);
"""

jit: Any = fc.jit
X = np.arange(16, dtype=np.float32).reshape(8, 2) / 4
MESH = fc.make_mesh((4,), ("x",))
GRID = fc.make_mesh((2, 2), ("a", "b"))
ROWS, WHOLE = (fc.NamedSharding(MESH, fc.P(*spec)) for spec in (("x",), ()))
FACTOR = 2  # each part has two rows


@pytest.fixture(scope="module", autouse=True)
def targets() -> None:
    for name, symbol in (
        ("spread_plain", "times_rows"),
        ("spread_rule", "times_rows"),
        ("spread_batch", "times_rows"),
        ("spread_add", "add_rows"),
    ):
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(load(SOURCE), symbol)))
    ffi.define("spread_rule", sharding_rule="n d -> n d")
    ffi.register_ffi_target_as_batch_partitionable("spread_batch")


def call(x: Any, name: str = "rule", **options: Any) -> Any:
    result = fc.ShapeDtypeStruct(x.shape, x.dtype)
    return ffi.ffi_call(f"spread_{name}", result, **options)(x)


def rows(x: Any = X) -> Any:
    return fc.device_put(x, ROWS)


def divisions(function: Any, *args: Any) -> Any:
    return function.lower(*args).compile().report().divisions


def to_rows(x: Any) -> Any:
    return lax.with_sharding_constraint(x, ROWS)


# ---- no program with a rule gathers --------------------------------------------------------------

W = np.ones((2, 2), np.float32)


def through_scan(x: Any) -> Any:
    return lax.scan(lambda c, _: (call(c), c[0, 0]), x, None, length=2)[0]


def through_while(x: Any) -> Any:
    return lax.fori_loop(0, fnp.asarray(2), lambda _, c: call(c), x)


def through_branches(x: Any) -> Any:
    return lax.cond(x[0, 0] >= 0, call, lambda y: call(y) * 2, x)


def carry_from_zeros(x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        return c + call(x), None

    return lax.scan(step, fnp.zeros_like(x), None, length=3)[0]


# Programs on rows, and the same in numpy; each calls the handler at least once.
FORWARD: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "elementwise": (lambda x: call(fnp.sin(x) + 1), lambda x: FACTOR * (np.sin(x) + 1)),
    "product": (lambda x: call(x @ W), lambda x: FACTOR * (x @ W)),
    "transposed twice": (lambda x: call((x.T * 2).T), lambda x: FACTOR * 2 * x),
    "reshaped": (
        lambda x: call(x.reshape(8, 1, 2).reshape(8, 2)),
        lambda x: FACTOR * x,
    ),
    "flat and back": (
        lambda x: call((x.reshape(16) + 1).reshape(8, 2)),
        lambda x: FACTOR * (x + 1),
    ),
    "broadcast": (
        lambda x: call(x[:, :1] + fnp.zeros((1, 2), np.float32)),
        lambda x: FACTOR * np.repeat(x[:, :1], 2, 1),
    ),
    "concatenated": (
        lambda x: call(fnp.concatenate([x, x], 1)),
        lambda x: FACTOR * np.concatenate([x, x], 1),
    ),
    "padded": (
        lambda x: call(fnp.pad(x, ((0, 0), (1, 1)))),
        lambda x: FACTOR * np.pad(x, ((0, 0), (1, 1))),
    ),
    "columns taken": (
        lambda x: call(x[:, fnp.asarray([1, 0])]),
        lambda x: FACTOR * x[:, [1, 0]],
    ),
    "reduced": (
        lambda x: call(x.sum(1, keepdims=True) + x),
        lambda x: FACTOR * (x.sum(1, keepdims=True) + x),
    ),
    "arg of the maximum": (
        lambda x: call(x + fnp.argmax(x, 1)[:, None]),
        lambda x: FACTOR * (x + 1),
    ),
    "sorted": (lambda x: call(fnp.sort(-x, 1)), lambda x: FACTOR * np.sort(-x, 1)),
    "cumulative": (lambda x: call(fnp.cumsum(x, 1)), lambda x: FACTOR * np.cumsum(x, 1)),
    "call after call": (lambda x: call(call(x) - 1), lambda x: FACTOR * (FACTOR * x - 1)),
    "batch partitionable": (lambda x: call(x, "batch"), lambda x: FACTOR * x),
    "inner jit": (lambda x: jit(jit(call))(x), lambda x: FACTOR * x),
    "checkpoint": (
        lambda x: fc.checkpoint(lambda y: call(fnp.sin(y)))(x),
        lambda x: FACTOR * np.sin(x),
    ),
    "scan": (through_scan, lambda x: FACTOR**2 * x),
    "while": (through_while, lambda x: FACTOR**2 * x),
    "cond": (through_branches, lambda x: FACTOR * x),
    "carry from zeros": (carry_from_zeros, lambda x: 3 * FACTOR * x),
    "after shard_map": (
        lambda x: call(
            fc.shard_map(lambda y: y + 1, mesh=MESH, in_specs=fc.P("x"), out_specs=fc.P("x"))(x)
        ),
        lambda x: FACTOR * (x + 1),
    ),
    "vmap": (
        lambda x: fc.vmap(lambda y: call(y, "plain", vmap_method="broadcast_all"))(x),
        lambda x: FACTOR * x,
    ),
}


@pytest.mark.parametrize("name", FORWARD)
def test_no_program_on_rows_gathers(name: str) -> None:
    program, expected = FORWARD[name]
    jitted = jit(program)
    told = divisions(jitted, rows())
    assert told
    assert [one.why_not for one in told if not one.is_divided] == []
    np.testing.assert_allclose(jitted(rows()), expected(X), rtol=1e-5)


# Programs on whole arrays whose result is wanted as rows.
BACKWARD: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "the call": (call, lambda x: FACTOR * x),
    "elementwise": (lambda x: fnp.exp(-call(x)), lambda x: np.exp(-FACTOR * x)),
    "product": (lambda x: call(x) @ W, lambda x: FACTOR * x @ W),
    "transposed": (lambda x: (call(x).T + 1).T, lambda x: FACTOR * x + 1),
    "reduced": (
        lambda x: call(x) - call(x).mean(1, keepdims=True),
        lambda x: FACTOR * (x - x.mean(1, keepdims=True)),
    ),
    "call before call": (lambda x: call(call(x) + 1), lambda x: FACTOR * (FACTOR * x + 1)),
    "inner jit": (lambda x: jit(call)(x) + 1, lambda x: FACTOR * x + 1),
    "scan": (through_scan, lambda x: FACTOR**2 * x),
    "while": (through_while, lambda x: FACTOR**2 * x),
    "cond": (through_branches, lambda x: FACTOR * x),
    "carry from zeros": (carry_from_zeros, lambda x: 3 * FACTOR * x),
    "stacked": (
        lambda x: lax.map(call, fnp.stack([x, x]))[0],
        lambda x: FACTOR * x,
    ),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_no_program_whose_result_is_wanted_as_rows_gathers(name: str) -> None:
    program, expected = BACKWARD[name]
    whole = fc.device_put(X, WHOLE)
    constrained = jit(lambda x: to_rows(program(x)))
    told = divisions(constrained, whole)
    assert told
    assert [one.why_not for one in told if not one.is_divided] == []
    np.testing.assert_allclose(constrained(whole), expected(X), rtol=1e-5)
    # The same by jit, for uncommitted arrays.
    placed = jit(program, out_shardings=ROWS)
    for x in (X, fnp.asarray(X), whole):
        result = placed(x)
        np.testing.assert_allclose(result, expected(X), rtol=1e-5)
        assert result.sharding == ROWS


def test_what_is_said_goes_before_what_is_wanted() -> None:
    columns = fc.NamedSharding(MESH, fc.P(None, "x"))
    x = fc.device_put(np.ones((8, 4), np.float32), columns)
    by_columns = jit(lambda x: to_rows(call(x)))
    np.testing.assert_array_equal(by_columns(x), np.full((8, 4), 8))  # all rows, of each column
    whole = jit(lambda x: to_rows(call(lax.with_sharding_constraint(x, WHOLE), "plain")))
    assert not divisions(whole, rows())[0].is_divided


def test_two_axes() -> None:
    both = fc.NamedSharding(GRID, fc.P("a", "b"))
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    jitted = jit(lambda x: call(x * 2))
    result = jitted(fc.device_put(x, both))
    np.testing.assert_array_equal(result, 2 * 2 * x)
    assert result.sharding.spec == fc.P("a", "b")
    (told,) = divisions(jitted, fc.device_put(x, both))
    assert told.rule == 'its sharding rule "n d -> n d" over a, b'


# ---- reports -------------------------------------------------------------------------------------


def test_reports_tell_what_was_divided_and_why_not() -> None:
    def program(x: Any) -> Any:
        y = call(x)
        y = call(y, "plain")
        y = call(y, "rule", has_side_effect=True)
        return call(lax.with_sharding_constraint(y, WHOLE))

    def told(*args: Any) -> list[tuple[str, bool, bool, str, str]]:
        return [
            (one.target_name, one.is_divided, one.is_gathered, one.rule, one.why_not)
            for one in divisions(jit(program), *args)
        ]

    rule = 'its sharding rule "n d -> n d" over x'
    assert told(rows()) == [
        ("spread_rule", True, False, rule, ""),
        ("spread_plain", False, True, "", "its target has no sharding rule"),
        ("spread_rule", False, True, "", "it has side effects"),
        ("spread_rule", False, False, "", "none of its operands or results is divided"),
    ]
    undivided = "none of its operands or results is divided"
    assert [one[1:] for one in told(X)] == [(False, False, "", undivided)] * 4
    assert divisions(jit(call), X) == []  # on no mesh
    report = jit(program).lower(rows()).compile().report()
    text = str(report)
    assert f"is divided by {rule}\n" in text
    assert "gathers its operands and runs once: its target has no sharding rule\n" in text
    assert "spread_rule at " in text
    assert "test_propagation.py" in str(report.divisions[0])
    assert str(report.divisions[0].location).count("test_propagation.py") == 1
    # in_shardings have the same effect as arguments with these shardings.
    placed = jit(program, in_shardings=ROWS).lower(X).compile().report()
    assert [one.rule for one in placed.divisions] == [one[3] for one in told(rows())]


def test_a_rule_that_names_other_dimensions_is_told() -> None:
    ffi.register_ffi_target("spread_columns", ffi.pycapsule(load(SOURCE).times_rows))
    ffi.define("spread_columns", sharding_rule="... d -> ... d")
    one_row = fc.device_put(np.ones((8, 4, 4), np.float32), fc.NamedSharding(MESH, fc.P(None, "x")))
    (told,) = divisions(jit(lambda x: call(x, "columns")), one_row)
    assert told.is_divided
    uneven = jit(lambda x: call(x, "batch"))
    (told,) = divisions(uneven, one_row)
    assert told.is_gathered
    assert told.why_not == (
        "its leading dimension, by register_ffi_target_as_batch_partitionable divides none of the "
        "dimensions that are split: operand 0 f32[8,4,4] lies as (None, x)"
    )


# ---- batches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled"])
def test_a_sequential_vmap_of_a_sharded_batch(method: str) -> None:
    batch = np.arange(64, dtype=np.float32).reshape(8, 4, 2)
    mapped = jit(fc.vmap(lambda x: call(x, "plain", vmap_method=method)))
    spread = rows(batch)
    np.testing.assert_array_equal(mapped(spread), batch * 4)  # rows of one element
    told = divisions(mapped, spread)
    if method == "sequential":
        assert [one.rule for one in told] == ["the steps of the scan around it over x"]
        result = mapped(spread)
        assert result.sharding.spec == fc.P("x")
        with fc.profile() as profile:
            mapped(spread)
        calls = [row.calls for row in profile.rows if row.name.startswith("ffi_call spread_plain")]
        assert sum(calls) == 8
    # Divides the rows of each element of the batch.
    inner = fc.device_put(batch, fc.NamedSharding(MESH, fc.P(None, "x")))
    by_rule = jit(fc.vmap(lambda x: call(x, vmap_method="sequential")))
    np.testing.assert_array_equal(by_rule(inner), batch)  # each call has one row


def test_a_loop_with_effects_or_a_carry_is_not_divided() -> None:
    batch = rows(np.ones((8, 4, 2), np.float32))
    effects = jit(lambda x: lax.map(lambda y: call(y, "plain", has_side_effect=True), x))
    np.testing.assert_array_equal(effects(batch), np.full((8, 4, 2), 4))
    assert not any(one.is_divided for one in divisions(effects, batch))
    carry = jit(lambda x: lax.scan(lambda c, y: (c + 1, call(y, "plain") + c), 0.0, x)[1])
    expected = np.full((8, 4, 2), 4) + np.arange(8)[:, None, None]
    np.testing.assert_array_equal(carry(batch), expected)


def test_an_operand_without_a_batch_does_not_keep_others_whole() -> None:
    w = np.array([[1, 2]], np.float32)

    def add(x: Any, w: Any) -> Any:
        result = fc.ShapeDtypeStruct(x.shape, x.dtype)
        return ffi.ffi_call("spread_add", result, vmap_method="expand_dims")(x, w)

    mapped = jit(fc.vmap(add, in_axes=(0, None)))
    np.testing.assert_array_equal(mapped(rows(), w[0]), X + w + 200)  # each call has two rows
    (told,) = divisions(mapped, rows(), w[0])
    assert told.rule == "the batch of its vmap over x"
