"""Sharding rules of definitions: how they are read, and what calls they fit."""

from __future__ import annotations

from typing import Any

import farcall as fc
import numpy as np
import pytest
from farcall import ffi
from farcall.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
)
from farcall.ffi import define

pytestmark = pytest.mark.usefixtures("x64")


@pytest.fixture
def copy(names: dict[str, str]) -> ffi.Definition:
    """Any operands, and results like them."""
    return define(names["copy"], shape=lambda *xs: xs)


def test_the_rule_is_kept(copy: ffi.Definition) -> None:
    assert copy.sharding_rule is None
    copy._set(sharding_rule="b n, n -> b n, n")
    assert copy.sharding_rule == "b n, n -> b n, n"
    assert "sharding" in repr(copy)


@pytest.mark.parametrize(
    ("rule", "shapes"),
    [
        ("b n, n -> b n, n", [(2, 3), (3,)]),
        ("... n -> ... n", [(3,)]),
        ("... n -> ... n", [(2, 4, 3)]),
        ("..., ... n -> ..., ... n", [(2,), (2, 3)]),
        ("->", [()]),
        (", n -> , n", [(), (3,)]),
        ("rows cols_2 -> rows cols_2", [(2, 3)]),
        ("n->n", [(0,)]),
        ("i j -> k l", [(2, 3)]),
    ],
)
def test_calls_that_fit(copy: ffi.Definition, rule: str, shapes: Any) -> None:
    copy._set(sharding_rule=rule)
    arrays = [np.zeros(shape) for shape in shapes]
    results = copy(*arrays)
    assert [r.shape for r in (results if len(shapes) > 1 else [results])] == shapes
    fc.eval_shape(copy, *arrays)


@pytest.mark.parametrize(
    ("rule", "shapes", "text"),
    [
        ("n -> n", [(3,), (3,)], "expected 1 operands, got 2"),
        ("n -> n, n", [(3,)], "expected 2 results, got 1"),
        (
            "n -> n",
            [(2, 3)],
            'operand 0 should have 1 dimensions, got f64[2,3]; "..." in front stands for any '
            "leading ones",
        ),
        ("m n -> m n", [(3,)], "operand 0 should have 2 dimensions, got f64[3]"),
        ("... m n -> m n", [(3,)], "operand 0 should have at least 2 dimensions, got f64[3]"),
        (
            "n, n -> n, n",
            [(3,), (4,)],
            "dimension n is 3 in operand 0 and 4 in operand 1",
        ),
        (
            "... n, ... n -> ... n, ... n",
            [(2, 3), (5, 3)],
            '"..." stands for [2] and, in operand 1, for [5]',
        ),
    ],
)
def test_calls_that_do_not_fit(copy: ffi.Definition, rule: str, shapes: Any, text: str) -> None:
    copy._set(sharding_rule=rule)
    arrays = [np.zeros(shape) for shape in shapes]
    for run in (copy, lambda *xs: fc.eval_shape(copy, *xs)):
        with pytest.raises(ValueError, match="sharding rule") as caught:
            run(*arrays)
        first = str(caught.value).split("\n")[0]
        assert first == f'ffi_call("{copy.target_name}"): sharding rule "{rule}": {text}'


def test_a_rule_of_mappings_is_a_rule(copy: ffi.Definition) -> None:
    rows = ArrayMapping(BATCHING, CompoundFactor("a", "b"), "n")
    rule = SdyShardingRule((rows,), (rows,), need_replication_factors=("n",), a=2, b=3)
    copy._set(sharding_rule=rule)
    assert copy.sharding_rule == "... (a b) n -> ... (a b) n"
    assert copy(np.zeros((4, 6, 5))).shape == (4, 6, 5)
    with pytest.raises(ValueError, match=r"sharding rule .* operand 0"):
        copy(np.zeros((4, 5, 6)))


def test_batches_are_no_business_of_the_rule(copy: ffi.Definition) -> None:
    copy._set(sharding_rule="n -> n", vmap_method="broadcast_all")
    np.testing.assert_array_equal(fc.vmap(copy)(np.eye(3)), np.eye(3))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("", 'expected a name, "," or "->" at column 1'),
        ("b n", 'expected a name, "," or "->" at column 4'),
        ("b [n] -> b", 'expected a name, "," or "->" at column 3'),
        ("2 -> b", 'expected a name, "," or "->" at column 1'),
        ("b -> n -> b", 'expected a name, "," or the end at column 8'),
        ("b n ... -> b", 'expected a name, "," or "->" at column 5'),
        ("n n -> n", "n names two dimensions of one array at column 4"),
    ],
)
def test_rules_that_cannot_be_read(copy: ffi.Definition, rule: str, text: str) -> None:
    with pytest.raises(ValueError, match="sharding rule") as caught:
        copy._set(sharding_rule=rule)
    assert str(caught.value) == (
        f'sharding rule "{rule}": {text}; write for instance "... n, n -> ... n"'
    )
    assert copy.sharding_rule is None


def test_a_rule_is_text(copy: ffi.Definition) -> None:
    with pytest.raises(
        TypeError, match="define: sharding_rule must be a string, got 3 of type int"
    ):
        define(copy.target_name, sharding_rule=3)  # type: ignore[arg-type]
