"""Batches of defined targets: rules and methods."""

from __future__ import annotations

import ctypes
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from defining import F64, W, X
from farcall import ffi
from farcall.testing import check_batching


def test_a_batch_rule(weigh: ffi.Definition) -> None:
    weigh._set(vmap_method=None)
    seen = []

    @weigh.batch
    def _(call: Any, size: int, axes: Any, x: Any, w: Any) -> Any:
        seen.append((size, axes, call.attributes))
        x, w = (
            fnp.broadcast_to(a, (size, *a.shape)) if axis is None else fnp.moveaxis(a, axis, 0)
            for a, axis in zip((x, w), axes, strict=True)
        )
        return weigh(x, w, **call.attributes), 0

    check_batching(weigh, (X, W))
    seen.clear()
    fc.vmap(lambda x, w: weigh(x, w, factor=5), (1, None))(np.ones((3, 4)), W)
    assert seen == [(4, (1, None), {"factor": 5.0})]


def test_a_batch_rule_places_its_results(grow: ffi.Definition) -> None:
    grow._set(vmap_method=None)
    grow.batch(lambda call, size, axes, x: (fnp.exp(x), axes[0]))
    check_batching(grow, (X,))
    grow.batch(lambda call, size, axes, x: (fnp.ones(3, F64), None))
    np.testing.assert_array_equal(fc.vmap(grow)(np.zeros((2, 3))), np.ones((2, 3)))


def test_a_batch_rule_may_make_its_call_on_the_whole_batch(grow: ffi.Definition) -> None:
    grow._set(vmap_method=None)
    grow.batch(lambda call, size, axes, x: (call(x), axes[0]))
    check_batching(grow, (X,), rate=0.5)
    rows = np.linspace(0, 1, 6).reshape(2, 3)
    np.testing.assert_allclose(fc.jit(fc.vmap(fc.vmap(grow), 1, 1))(rows), np.exp(rows))


def test_without_a_shape_rule_a_call_on_other_types_is_refused(names: dict[str, str]) -> None:
    """The handler would write past results of the types that the call itself has."""
    ffi.define(names["grow"], batch=lambda call, size, axes, x: (call(x), axes[0]))
    call = ffi.ffi_call(names["grow"], fc.ShapeDtypeStruct((3,), F64))
    with pytest.raises(ValueError, match="where it was on") as caught:
        fc.vmap(lambda x: call(x, rate=1.0))(np.ones((2, 3)))
    assert str(caught.value) == (
        f'a rule of target "{names["grow"]}" makes its call on (f64[2,3]), where it was on '
        "(f64[3]). What the results are then, a shape rule says: give one with define, or use "
        "ffi_call"
    )


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims"])
def test_a_vmap_method_for_calls_that_give_none(weigh: ffi.Definition, method: str) -> None:
    weigh._set(vmap_method=method)
    check_batching(weigh, (X, W))
    types = (fc.ShapeDtypeStruct((3,), F64), fc.ShapeDtypeStruct((), F64))
    check_batching(ffi.ffi_call(weigh.target_name, types), (X, W), factor=3.0)


def test_the_method_of_a_call_goes_before_the_definition(
    grow: ffi.Definition, libraries: dict[str, ctypes.CDLL]
) -> None:
    grow._set(vmap_method="sequential")
    counter = libraries["batched.cpp"].batched_calls
    spec = fc.ShapeDtypeStruct((), F64)
    for method, count in [(None, 3), ("broadcast_all", 1)]:
        call = ffi.ffi_call(grow.target_name, spec, vmap_method=method)
        before = counter()
        np.testing.assert_allclose(fc.vmap(call)(X), np.exp(X))
        assert counter() - before == count


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (lambda c, n, axes, x: (None, 0), "result 0 must be an array"),
        (lambda c, n, axes, x: ((x, x), 0), "expected 1 results and axes, got 2 and 2"),
        (lambda c, n, axes, x: (x, 5), "axis 5 of result 0 is none of its dimensions"),
        (lambda c, n, axes, x: (x[:1], 0), "result 0 should be f64[2,3], got f64[1,3]"),
    ],
)
def test_batches_of_other_types_are_refused(grow: ffi.Definition, rule: Any, text: str) -> None:
    grow._set(vmap_method=None, batch=rule)
    with pytest.raises((TypeError, ValueError)) as caught:
        fc.vmap(grow)(np.ones((2, 3)))
    assert text in str(caught.value)


def test_negative_axes_of_results_count_from_the_end(grow: ffi.Definition) -> None:
    grow._set(vmap_method=None, batch=lambda c, n, axes, x: (fnp.moveaxis(x, axes[0], -1), -1))
    np.testing.assert_array_equal(fc.vmap(grow)(np.eye(3)[:2]), np.eye(3)[:2])
