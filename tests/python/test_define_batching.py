"""Batches of defined targets: rules and methods."""

from __future__ import annotations

import ctypes
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from defining import F64, W, X, weigh_transpose
from farcall import ffi
from farcall.testing import check_batching

pytestmark = pytest.mark.usefixtures("x64")


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


# ---- derivatives of batches ----


def _backward(call: Any, residuals: Any, cotangents: Any) -> Any:
    """Of one element: the cotangent of its sum is a number."""
    x, w = residuals
    assert (x.shape, w.shape, cotangents[1].shape) == ((3,), (3,), ())
    total = cotangents[0] + cotangents[1]
    return call(total, w)[0], call(x, total)[0]


def _jvp(call: Any, primals: Any, tangents: Any) -> Any:
    (x, w), (dx, dw) = primals, tangents
    assert x.shape == dw.shape == (3,)
    dy = call.attributes["factor"] * (dx * w + x * dw)
    return call(x, w), (dy, dy.sum())


def _transpose(call: Any, cotangents: Any, x: Any, w: Any) -> Any:
    assert [x is None or x.shape == (3,), cotangents[0].shape] == [True, (3,)]
    return weigh_transpose(call, cotangents, x, w)


RULES: dict[str, dict[str, Any]] = {
    "vjp": {"forward": lambda call, x, w: (call(x, w), (x, w)), "backward": _backward},
    "jvp": {"jvp": _jvp},
    "linear": {"linear_in": (0, 1)},
    "transpose": {"linear_in": (0, 1), "transpose": _transpose},
}


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all", "sequential"])
@pytest.mark.parametrize("in_axes", [(0, 1), (0, None), (None, 1)])
def test_rules_see_one_element_also_where_a_batch_is_differentiated(
    names: dict[str, str], rules: str, method: str, in_axes: tuple[int | None, int | None]
) -> None:
    weigh = ffi.define(
        names["weigh"],
        shape="[n], [n] -> [n], []",
        attributes={"factor": 2.0},
        vmap_method=method,
    )
    weigh._set(**RULES[rules])
    rows = np.arange(6.0).reshape(2, 3) - 2
    x, w = X if in_axes[0] is None else rows, W if in_axes[1] is None else rows.T

    def plainly(x: Any, w: Any) -> Any:
        return 2 * x * w, 2 * (x * w).sum()

    def loss_of(function: Any) -> Any:
        def loss(x: Any, w: Any) -> Any:
            y, total = fc.vmap(function, in_axes)(x, w)
            y2, _ = fc.vmap(fc.vmap(function, (None, 0)), (0, None))(y, y)
            return (y * y).sum() + (total * total).sum() + y2.sum()

        return loss

    for wrap in (lambda f: f, fc.jit):
        got = wrap(fc.grad(loss_of(weigh), (0, 1)))(x, w)
        for a, b in zip(got, fc.grad(loss_of(plainly), (0, 1))(x, w), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    if rules in ("jvp", "linear"):
        for a, b in zip(
            fc.jvp(fc.grad(loss_of(weigh)), (x, w), (x, w)),
            fc.jvp(fc.grad(loss_of(plainly)), (x, w), (x, w)),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_program_tells_which_operands_have_the_dimensions_of_a_batch(
    weigh: ffi.Definition,
) -> None:
    mapped = fc.vmap(fc.vmap(weigh), (0, None))
    program = fc.make_program(mapped)(np.ones((2, 4, 3)), np.ones((4, 3)))
    assert "batched_operands=((0, 1), (0, 1))" in str(program)
    assert str(fc.parse_program(str(program))) == str(program)


def test_batched_operands_in_text_must_have_their_dimension(weigh: ffi.Definition) -> None:
    text = str(fc.make_program(weigh)(X, W))
    with pytest.raises(ValueError, match="batched_operands names operand 2, which has no such"):
        fc.parse_program(text.replace("batched_operands=()", "batched_operands=((2,),)"))
    with pytest.raises(ValueError, match="batched_operands has 1 entries, but a result is f64"):
        fc.parse_program(text.replace("batched_operands=()", "batched_operands=((0,),)"))
