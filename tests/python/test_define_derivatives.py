"""Derivatives of defined targets: jvp, vjp, linearity, and what follows from them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from defining import F64, W, X, grow_backward, grow_forward, grow_jvp, weigh_transpose
from farcall import ffi
from farcall.ffi import define
from farcall.testing import check_batching, check_derivatives

pytestmark = pytest.mark.usefixtures("x64")


def test_without_a_definition_the_error_names_the_remedies() -> None:
    undefined = ffi.ffi_call("batched_unheard_of", fc.ShapeDtypeStruct((3,), F64))
    for derive in [*FORWARD.values(), *REVERSE.values()]:
        with pytest.raises(ValueError, match="cannot be differentiated") as caught:
            derive(lambda x: undefined(x, rate=1.0))
        assert str(caught.value).split("\n")[0] == NOTHING.format("batched_unheard_of")


def test_a_jvp_rule_gives_both_modes(grow: ffi.Definition) -> None:
    assert grow.jvp(grow_jvp) is grow_jvp
    check_derivatives(grow, (X,), rate=0.5, order=2)
    check_batching(grow, (X,))
    got = fc.grad(lambda x: grow(x, rate=0.5).sum())(X)
    np.testing.assert_allclose(got, 0.5 * np.exp(0.5 * X), rtol=1e-14)


def test_a_vjp_rule_gives_reverse_mode(grow: ffi.Definition) -> None:
    grow.vjp(grow_forward, grow_backward)
    check_derivatives(grow, (X,), modes="rev", rate=0.5)
    got = fc.jit(fc.grad(lambda x: grow(x).sum()))(X)
    np.testing.assert_allclose(got, np.exp(X), rtol=1e-14)


def test_forward_mode_from_a_vjp_rule_of_ordinary_operations(grow: ffi.Definition) -> None:
    grow.vjp(grow_forward, grow_backward)
    check_derivatives(grow, (X,), rate=0.5)
    check_derivatives(grow, (X,), rate=0.5, order=2)


def test_jvp_and_vjp_together_serve_one_mode_each(grow: ffi.Definition) -> None:
    used = []

    def forward(call: Any, x: Any) -> Any:
        used.append("forward")
        return grow_forward(call, x)

    def backward(call: Any, residuals: Any, cotangents: Any) -> Any:
        used.append("backward")
        return grow_backward(call, residuals, cotangents)

    def jvp(call: Any, primals: Any, tangents: Any) -> Any:
        used.append("jvp")
        return grow_jvp(call, primals, tangents)

    grow.jvp(jvp)
    grow.vjp(forward, backward)
    check_derivatives(grow, (X,), rate=0.5, order=2)
    used.clear()
    fc.jvp(grow, (X,), (W,))
    assert "backward" not in used
    fc.vjp(grow, X)[1](W)
    assert used[-1] == "backward"


def test_rules_of_several_operands_and_results(weigh: ffi.Definition) -> None:
    def forward(call: Any, x: Any, w: Any) -> Any:
        return call(x, w), (x, w)

    def backward(call: Any, residuals: Any, cotangents: Any) -> Any:
        x, w = residuals
        ct_y, ct_sum = cotangents
        total = call.attributes["factor"] * (ct_y + fnp.expand_dims(ct_sum, -1))
        return total * w, total * x

    weigh.vjp(forward, backward)
    check_derivatives(weigh, (X, W), order=2)
    check_derivatives(weigh, (X, W), modes="rev", factor=-1)
    # One operand alone, and one result alone.
    np.testing.assert_allclose(fc.grad(lambda x: weigh(x, W)[1])(X), 2 * W)
    np.testing.assert_allclose(fc.grad(lambda w: weigh(X, w)[0].sum())(W), 2 * X)


def test_none_is_a_cotangent_of_zero(weigh: ffi.Definition) -> None:
    weigh.vjp(
        lambda call, x, w: (call(x, w), w),
        lambda call, residuals, cts: (call.attributes["factor"] * cts[0] * residuals[0], None),
    )
    by_x, by_w = fc.grad(lambda x, w: weigh(x, w)[0].sum(), (0, 1))(X, W)
    np.testing.assert_allclose(by_x, 2 * W)
    np.testing.assert_array_equal(by_w, np.zeros(3))


# ---- linearity ----


def test_forward_mode_where_the_backward_half_gives_no_cotangent(weigh: ffi.Definition) -> None:
    weigh.vjp(
        lambda call, x, w: (call(x, w), w),
        lambda call, residuals, cotangents: (
            2 * residuals[0] * (cotangents[0] + fnp.expand_dims(cotangents[1], -1)),
            None,
        ),
    )
    (_, _), (dy, dsum) = fc.jvp(weigh, (X, W), (W, X))
    np.testing.assert_allclose(dy, 2 * W * W)
    np.testing.assert_allclose(dsum, np.sum(2 * W * W))
    _, tangents = fc.jvp(lambda w: weigh(X, w), (W,), (X,))
    for tangent in tangents:
        np.testing.assert_array_equal(tangent, np.zeros(np.shape(tangent)))


@pytest.mark.parametrize("with_transpose", [True, False])
def test_linear_in_each_operand(weigh: ffi.Definition, with_transpose: bool) -> None:
    weigh._set(linear_in=(0, 1))
    if with_transpose:
        assert weigh.transpose(weigh_transpose) is weigh_transpose
    check_derivatives(weigh, (X, W), order=2)
    check_derivatives(lambda x: weigh(x, x), (X,), order=2)
    transposed = fc.linear_transpose(lambda x: weigh(x, W)[0], X)
    np.testing.assert_allclose(transposed(X)[0], 2 * W * X)


def test_linear_in_one_operand_alone(weigh: ffi.Definition) -> None:
    weigh._set(linear_in=1)
    check_derivatives(lambda w: weigh(X, w), (W,))
    with pytest.raises(ValueError, match="cannot be differentiated with respect to operand 0"):
        fc.jvp(weigh, (X, W), (X, W))


def test_operands_that_are_linear_together(names: dict[str, str]) -> None:
    copy = define(names["copy"], shape=lambda a, b: (a, b), linear_in=[(0, 1)])
    calls = []
    copy.transpose(lambda call, cts, *operands: (calls.append(operands), cts)[1])
    check_derivatives(copy, (X, W))
    assert set(calls) == {(None, None)}


def test_transposes_of_matrices(names: dict[str, str]) -> None:
    memory = define(names["memory"], shape="[m, n] -> [n, m]", linear_in=0)
    check_derivatives(memory, (np.arange(6.0).reshape(2, 3),), order=2)
    copy = define(names["copy"], shape="[n] -> [n]", linear_in=0)
    check_derivatives(copy, (np.array([1 + 2j, 3.0]),))
    check_derivatives(copy, (np.zeros(0),))


# ---- side effects ----


@pytest.fixture
def effect(weigh: ffi.Definition) -> ffi.FfiCall:
    """A call with a side effect, linear in both operands."""
    weigh._set(linear_in=(0, 1))
    types = (fc.ShapeDtypeStruct((3,), F64), fc.ShapeDtypeStruct((), F64))
    return ffi.ffi_call(weigh.target_name, types, has_side_effect=True)


@pytest.mark.parametrize("wrap", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_the_handler_runs_once_for_the_results_and_once_for_each_varying_operand(
    effect: ffi.FfiCall, libraries: dict[str, ctypes.CDLL], wrap: Any
) -> None:
    counter = libraries["batched.cpp"].batched_calls
    cases: list[tuple[Callable[..., Any], int]] = [
        (lambda x, t: effect(x, W), 1),
        (lambda x, t: fc.jvp(lambda v: effect(v, W), (x,), (t,)), 2),
        (lambda x, t: fc.jvp(effect, (x, W), (t, t)), 3),
    ]
    if wrap is fc.jit:  # tangents that nobody reads are not computed
        cases.append((lambda x, t: fc.jvp(effect, (x, W), (t, t))[0], 1))
    for function, calls in cases:
        before = counter()
        fc.tree.map(np.asarray, wrap(function)(X, W))
        assert counter() - before == calls


def test_calls_for_derivatives_have_no_side_effect(
    weigh: ffi.Definition, effect: ffi.FfiCall
) -> None:
    def effects(f: Any) -> list[bool]:
        text = str(fc.make_jaxpr(f)(X))
        return [found == "True" for found in re.findall(r"has_side_effect=(\w+)", text)]

    assert effects(lambda x: effect(x, W)) == [True]
    assert effects(lambda x: fc.jvp(lambda v: effect(v, W), (x,), (x,))) == [True, False]
    assert effects(fc.grad(lambda x: effect(x, W)[1])).count(True) == 1
    transposed = fc.linear_transpose(lambda x: effect(x, W), X)
    assert True not in effects(lambda x: transposed((x, x.sum())))
    weigh.transpose(weigh_transpose)
    assert effects(fc.grad(lambda x: effect(x, W)[1])).count(True) == 1
    check_derivatives(lambda x: effect(x, W), (X,))


# ---- what is missing ----

NOTHING = (
    'ffi_call("{}"): cannot be differentiated. Wrap the call in custom_jvp or custom_vjp, or give '
    "the target its derivative with define"
)
NO_JVP = (
    'ffi_call("{}"): forward mode needs a jvp. The target\'s definition has a vjp alone, and its '
    "backward half cannot be transposed to make one. Add a jvp to the definition."
)
NOT_LINEAR = (
    'ffi_call("{}"): cannot be transposed, which reverse mode needs here: it is not known to be '
    "linear in operand 0. Say so with define(..., linear_in=...), or wrap the call in custom_vjp"
)
NOT_LINEAR_IN_0 = (
    'ffi_call("{}"): cannot be differentiated with respect to operand 0: its definition is linear '
    "in other operands only, and gives no jvp or vjp"
)
FORWARD = {
    "jvp": lambda f: fc.jvp(f, (X,), (W,)),
    "jacfwd": lambda f: fc.jacfwd(f)(X),
    "linearize": lambda f: fc.linearize(f, X)[1](W),
    "hessian": lambda f: fc.hessian(lambda x: f(x).sum())(X),
}
REVERSE = {
    "vjp": lambda f: fc.vjp(f, X)[1](W),
    "grad": lambda f: fc.grad(lambda x: f(x).sum())(X),
    "jacrev": lambda f: fc.jacrev(f)(X),
    "value_and_grad": lambda f: fc.value_and_grad(lambda x: f(x).sum())(X),
}
TRANSPOSE = {"linear_transpose": lambda f: fc.linear_transpose(f, X)(W)}


def foreign_backward(call: Any, residuals: Any, cotangents: Any) -> Any:
    """A call that nothing is known of."""
    return ffi.ffi_call(call.target_name, fc.ShapeDtypeStruct((3,), F64))(cotangents[0])


def scaled_jvp(call: Any, primals: Any, tangents: Any) -> Any:
    """Right, but with the target itself as the linear function, which is not said to be one."""
    return call(*primals), call(*tangents)


@pytest.mark.parametrize("wrap", [lambda f: f, fc.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("parts", "modes", "message"),
    [
        ({}, FORWARD | REVERSE, NOTHING),
        ({}, TRANSPOSE, NOT_LINEAR),
        ({"forward": lambda c, x: (c(x), ()), "backward": foreign_backward}, FORWARD, NO_JVP),
        ({"forward": lambda c, x: (c(x), ()), "backward": foreign_backward}, REVERSE, None),
        ({"forward": lambda c, x: (c(x), ()), "backward": foreign_backward}, TRANSPOSE, NOT_LINEAR),
        ({"jvp": scaled_jvp}, {"jvp": FORWARD["jvp"]}, None),
        ({"jvp": scaled_jvp}, REVERSE | TRANSPOSE, NOT_LINEAR),
        ({"linear_in": 1}, FORWARD | REVERSE, NOT_LINEAR_IN_0),
        ({"linear_in": 1}, TRANSPOSE, NOT_LINEAR),
        ({"linear_in": 0}, FORWARD | REVERSE | TRANSPOSE, None),
    ],
    ids=[
        "nothing",
        "nothing, transposed",
        "vjp, forward",
        "vjp, reverse",
        "vjp, transposed",
        "jvp, forward",
        "jvp, reverse",
        "linear elsewhere",
        "linear elsewhere, transposed",
        "linear",
    ],
)
def test_what_a_definition_lacks_is_said(
    names: dict[str, str], parts: Any, modes: Any, message: str | None, wrap: Any
) -> None:
    copy = define(names["copy"], shape=lambda x: x, vmap_method="sequential")
    copy._set(**parts)
    for mode, derive in modes.items():
        if message is None:
            derive(wrap(copy))
            continue
        with pytest.raises((TypeError, ValueError)) as caught:
            derive(wrap(copy))
        assert str(caught.value).split("\n")[0] == message.format(names["copy"]), mode
    np.testing.assert_array_equal(copy(X), X)


def test_operands_that_vary_together_must_be_linear_together(weigh: ffi.Definition) -> None:
    weigh._set(linear_in=(0, 1))
    with pytest.raises(ValueError, match="it is not known to be linear in operands 0 and 1 toge"):
        fc.linear_transpose(lambda x: weigh(x, x)[0], X)(X)


# ---- rules that return something else ----


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (lambda call, p, t: 3, "must return a pair, got 3 of type int"),
        (lambda call, p, t: ((p[0], p[0]), t), "results: expected 1 arrays, got 2"),
        (lambda call, p, t: (p[0], (t[0], t[0])), "tangents of results: expected 1 arrays, got 2"),
        (lambda call, p, t: (p[0], t[0][:1]), "tangent of result 0 must have the shape [3]"),
    ],
    ids=["no pair", "results", "tangents", "shape"],
)
def test_jvp_rules_that_return_something_else(grow: ffi.Definition, rule: Any, text: str) -> None:
    grow.jvp(rule)
    with pytest.raises(TypeError) as caught:
        fc.jvp(grow, (X,), (X,))
    assert str(caught.value).startswith(f'the jvp rule of target "{grow.target_name}"')
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"jvp": lambda c, p, t: (None, t[0])}, "result 0 must be an array"),
        ({"jvp": lambda c, p, t: (p[0][:1], t[0])}, "result 0 should be f64[3], got f64[1]"),
        ({"vjp": (lambda c, x: (None, ()), grow_backward)}, "result 0 must be an array"),
        (
            {"vjp": (lambda c, x: (x[:1], x), grow_backward)},
            "result 0 should be f64[3], got f64[1]",
        ),
        ({"vjp": (grow_forward, lambda c, r, ct: (ct[0], ct[0]))}, "expected 1 cotangents, got 2"),
        (
            {"vjp": (grow_forward, lambda c, r, ct: ct[0][:1])},
            "cotangent 0 should be f64[3], got f64[1]",
        ),
        ({"linear_in": 0, "transpose": lambda c, ct, x: ct[0][:1]}, "cotangent 0 should be f64[3]"),
    ],
)
def test_derivatives_of_other_types_are_refused(
    grow: ffi.Definition, parts: Any, text: str
) -> None:
    if "vjp" in parts:
        grow.vjp(*parts["vjp"])
    else:
        grow._set(**parts)
    with pytest.raises((TypeError, ValueError)) as caught:
        fc.vjp(grow, X)[1](X)
    assert text in str(caught.value)


@pytest.mark.parametrize("rule", ["backward", "transpose"])
def test_cotangents_are_a_tuple(grow: ffi.Definition, weigh: ffi.Definition, rule: str) -> None:
    def give(target: ffi.Definition, result: Any) -> None:
        if rule == "backward":
            target.vjp(lambda call, *xs: (call(*xs), None), lambda *args: result)
        else:
            target._set(linear_in=(0, 1)[: 1 + (target is weigh)], transpose=lambda *args: result)

    def refused(target: ffi.Definition, result: Any, operands: Any, got: str) -> None:
        give(target, result)
        with pytest.raises(TypeError) as caught:
            fc.grad(lambda *xs: fnp.sum(fc.tree.leaves(target(*xs))[0]))(*operands)
        assert str(caught.value) == (
            f'the {rule} rule of target "{target.target_name}" must return a tuple with a '
            f"cotangent, or None, for each of the {len(operands)} operands; got {got}"
        )

    refused(grow, None, (X,), "None of type NoneType")
    refused(weigh, None, (X, W), "None of type NoneType")
    refused(weigh, 3.0, (X, W), "3.0 of type float")
    give(grow, (None,))
    np.testing.assert_array_equal(fc.grad(lambda x: grow(x).sum())(X), X * 0)
    give(grow, W)
    np.testing.assert_array_equal(fc.grad(lambda x: grow(x).sum())(X), W)


def test_float0_is_a_cotangent_of_ints(names: dict[str, str]) -> None:
    copy = define(names["copy"], shape=lambda a, b: (a, b))
    copy.vjp(lambda call, a, b: (call(a, b), None), lambda call, residuals, cotangents: cotangents)
    check_derivatives(copy, (X, np.int32(3)), modes="rev")
