"""Copies of arrays, and results whose sizes depend on values: they stay on their devices."""

from __future__ import annotations

import copy
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall.sharding import NamedSharding

P = fc.P
X = np.arange(32, dtype=np.float32).reshape(8, 4)
MESH = fc.make_mesh((4,), ("x",))
GRID = fc.make_mesh((2, 2), ("a", "b"))


def places(x: Any) -> Any:
    return x.sharding, x.committed, [shard.data.device for shard in x.addressable_shards]


@pytest.mark.parametrize("where", ["first", "third", "rows", "both", "whole"])
@pytest.mark.parametrize("is_key", [False, True])
def test_copies_stay_where_the_array_is(where: str, is_key: bool) -> None:
    target = {
        "first": fc.devices()[0],
        "third": fc.devices()[2],
        "rows": NamedSharding(MESH, P("x")),
        "both": NamedSharding(GRID, P("a", "b")),
        "whole": NamedSharding(MESH, P()),
    }[where]
    given = fc.random.split(fc.random.key(0), (8, 4)) if is_key else X
    x = fc.device_put(given, target)
    for copied in (x.copy(), fnp.copy(x), fnp.array(x), copy.copy(x), copy.deepcopy(x)):
        assert places(copied) == places(x)
        assert (copied.dtype, copied.weak_type) == (x.dtype, x.weak_type)
    kept = x.copy()
    x.delete()
    same = (lambda a: np.asarray(fc.random.key_data(a))) if is_key else np.asarray
    np.testing.assert_array_equal(same(kept), same(fnp.asarray(given)))


def test_copies_with_other_dtypes_and_ranks_stay_where_the_array_is() -> None:
    x = fc.device_put(X, fc.devices()[2])
    for made in (fnp.array(x, ndmin=3), fnp.array(x, dtype="int32"), x.astype("int8")):
        assert (made.device, made.committed) == (fc.devices()[2], True)
    rows = fc.device_put(X, NamedSharding(MESH, P("x")))
    assert fnp.array(rows, dtype="int32").sharding == rows.sharding


def test_a_copy_of_an_array_that_nobody_placed_is_uncommitted() -> None:
    x = fnp.asarray(1.5)
    assert not x.copy().committed
    assert fnp.asarray(2).copy().weak_type
    key = fc.random.key(3)
    assert (fnp.array(key) == key).all()


@pytest.mark.parametrize(
    "find",
    [
        fnp.nonzero,
        fnp.where,
        fnp.argwhere,
        fnp.flatnonzero,
        lambda x: fnp.unique(x, return_index=True, return_counts=True),
        fnp.unique_values,
        lambda x: fnp.union1d(x, x + 1),
        lambda x: fnp.intersect1d(X, x),
        lambda x: fnp.setdiff1d(x, x[:1]),
        lambda x: fnp.setxor1d(x, x + 1),
    ],
)
def test_what_depends_on_values_stays_on_their_devices(find: Any) -> None:
    expected = fc.tree.leaves(find(X))
    for place in (fc.devices()[2], NamedSharding(MESH, P("x"))):
        x = fc.device_put(X, place)
        for result, wanted in zip(fc.tree.leaves(find(x)), expected, strict=True):
            assert result.committed
            assert result.sharding.device_set == x.sharding.device_set
            np.testing.assert_array_equal(result, wanted)
    assert not any(leaf.committed for leaf in expected)
