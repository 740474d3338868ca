"""Definitions of targets: what is said once holds for every call, in any transformation."""

from __future__ import annotations

from typing import Any

import farcall as fc
import numpy as np
import pytest
from defining import F64, W, X, grow_backward, grow_forward, grow_jvp
from farcall import ffi
from farcall.ffi import define
from farcall.testing import check_batching, check_derivatives

pytestmark = pytest.mark.usefixtures("x64")


def test_a_definition_is_called_and_described(weigh: ffi.Definition, names: dict[str, str]) -> None:
    y, total = weigh(X, W)
    np.testing.assert_array_equal(y, 2 * X * W)
    np.testing.assert_array_equal(total, (2 * X * W).sum())
    y, total = fc.jit(lambda x, w: weigh(x, w, factor=3))(X, W)
    np.testing.assert_array_equal(y, 3 * X * W)
    assert weigh.target_name == names["weigh"]
    assert repr(weigh) == (
        f"<definition of target {names['weigh']!r}: attributes, shape, vmap_method>"
    )
    # More than one row at once.
    y, total = weigh(np.stack([X, W]), np.stack([W, W]))
    assert (y.shape, total.shape) == ((2, 3), (2,))


@pytest.mark.parametrize("rules", ["jvp", "vjp"])
def test_vmap_of_grad_of_vmap(grow: ffi.Definition, rules: str) -> None:
    if rules == "jvp":
        grow.jvp(grow_jvp)
    else:
        grow.vjp(grow_forward, grow_backward)
    x = np.stack([X, W, X + W, X - W])

    def total(row: Any) -> Any:
        return fc.vmap(grow)(row).sum()

    for run in (lambda f: f, fc.jit):
        got = run(fc.vmap(fc.grad(total)))(x)
        np.testing.assert_allclose(got, np.exp(x), rtol=1e-14)
        got = run(fc.vmap(fc.grad(lambda row: fc.grad(total)(row).sum())))(x)
        np.testing.assert_allclose(got, np.exp(x), rtol=1e-14)
    check_batching(fc.grad(lambda v: grow(v).sum()), (X,))


def test_rules_hold_inside_rules_of_others(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)

    @fc.custom_jvp
    def product(x: Any, y: Any) -> Any:
        return grow(x) * y

    @product.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        x, y = primals
        return product(x, y), product(x, y) * tangents[0] + grow(x) * tangents[1]

    check_derivatives(product, (X, W), order=3)
    check_batching(product, (X, W))


def test_every_call_of_the_target_has_its_rules(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)
    call = ffi.ffi_call(grow.target_name, fc.ShapeDtypeStruct((3,), F64))
    check_derivatives(call, (X,), rate=0.25)
    check_derivatives(grow.target_name, (X,), rate=0.25)
    check_batching(call, (X,))


def test_derivatives_inside_loops(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)

    def looped(x: Any) -> Any:
        return fc.lax.scan(lambda c, _: (grow(c, rate=0.3), None), x, None, length=3)[0]

    check_derivatives(looped, (X,))
    check_derivatives(lambda x: fc.lax.cond(x[0] > 0, grow, lambda a: a, x), (X,))


def test_what_a_rule_is_told_of_the_call(grow: ffi.Definition) -> None:
    seen = []

    @grow.jvp
    def _(call: Any, primals: Any, tangents: Any) -> Any:
        seen.append((call.target_name, call.attributes, call.result_shape_dtypes))
        return grow_jvp(call, primals, tangents)

    fc.jvp(lambda x: grow(x, rate=2), (X,), (W,))
    ((name, attributes, types),) = seen
    assert (name, attributes) == (grow.target_name, {"rate": 2.0})
    assert [(t.shape, t.dtype) for t in types] == [((3,), F64)]


# ---- mistakes ----


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"transpose": lambda call, cts, x: cts}, "a transpose needs linear_in"),
        ({"linear_in": -1}, "linear_in names operand -1; count from 0"),
        (
            {"linear_in": [(0, 2)], "shape": "[n], [n] -> [n]"},
            r'linear_in names operand 2, but the shape signature "\[n\], \[n\] -> \[n\]" has 2 '
            "operands; count from 0",
        ),
        ({"vmap_method": "sideways"}, "vmap_method must be one of"),
        (
            {"vmap_method": "sequential", "batch": lambda call, *rest: rest},
            "give a batching rule or a vmap_method, not both",
        ),
    ],
    ids=["transpose", "linear_in", "operands", "unknown", "both"],
)
def test_parts_that_make_no_sense(parts: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        define("never registered", **parts)


@pytest.mark.parametrize("part", ["shape", "jvp", "transpose", "batch", "workspace"])
def test_rules_are_functions(part: str) -> None:
    with pytest.raises(TypeError) as caught:
        define("never registered", **{part: 3})
    assert str(caught.value) == (
        f"define('never registered'): {part}: expected a function, got 3 of type int"
    )


def test_vjp_is_a_pair_of_functions() -> None:
    with pytest.raises(TypeError, match=r"vjp must be a pair \(forward, backward\), got 3"):
        define("never registered", vjp=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="forward: expected a function, got 1"):
        define("never registered", vjp=(1, 2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reverse mode needs both halves"):
        define("never registered", vjp=(grow_forward, None))  # type: ignore[arg-type]


def test_a_name_is_a_string_and_attributes_are_a_dict() -> None:
    with pytest.raises(TypeError, match="define: target_name must be a string, got 3"):
        define(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"attributes must be a dict, got \[1\]"):
        define("never registered", attributes=[1])  # type: ignore[arg-type]


def test_attributes_may_have_any_name(names: dict[str, str]) -> None:
    text = define(names["describe"], shape="-> u8[20]")
    assert bytes(np.asarray(text(self=2))).strip() == b"self=s64:2"


def test_a_part_that_is_refused_changes_nothing(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)
    with pytest.raises(ValueError, match="a transpose needs linear_in"):
        define(grow.target_name, jvp=lambda *args: None, transpose=lambda *args: None)
    check_derivatives(grow, (X,))
    check_batching(grow, (X,))
    with pytest.raises(ValueError, match="target_name is empty"):
        define("")


# ---- several definitions of one target ----


def test_a_second_definition_adds_its_parts(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)
    again = define(grow.target_name, workspace=lambda *args, **attributes: 64)
    parts = "attributes, jvp, shape, vmap_method, workspace"
    assert repr(grow) == repr(again) == f"<definition of target {grow.target_name!r}: {parts}>"
    grow.workspace(lambda *args, **attributes: 128)
    for handle in (grow, again):
        np.testing.assert_array_equal(handle(X), np.exp(X))
        check_derivatives(handle, (X,))
        check_batching(handle, (X,))


def test_all_handles_see_a_part_that_one_of_them_sets(grow: ffi.Definition) -> None:
    other = define(grow.target_name)
    other.jvp(grow_jvp)
    grow.jvp(lambda call, p, t: (call(*p), 5 * t[0]))
    np.testing.assert_array_equal(fc.grad(lambda x: other(x).sum())(X), np.full(3, 5))
    assert define(grow.target_name, sharding_rule="n -> n").sharding_rule == "n -> n"
    assert grow.sharding_rule == other.sharding_rule == "n -> n"


def test_ways_of_batching_replace_each_other(grow: ffi.Definition) -> None:
    grow.batch(lambda call, size, axes, x: (0 * x, axes[0]))
    np.testing.assert_array_equal(fc.vmap(grow)(np.stack([X, X])), np.zeros((2, 3)))
    define(grow.target_name, vmap_method="sequential")
    np.testing.assert_array_equal(fc.vmap(grow)(np.stack([X, X])), np.exp(np.stack([X, X])))


def test_jitted_functions_follow_a_change_of_the_rules(grow: ffi.Definition) -> None:
    call = ffi.ffi_call(grow.target_name, fc.ShapeDtypeStruct((3,), F64))
    f = fc.jit(fc.grad(lambda x: call(x).sum()))
    inner = fc.jit(lambda x: call(x).sum())
    g = fc.grad(inner)
    batched = fc.jit(fc.vmap(call))
    for factor in (2, 3):
        grow.jvp(lambda call, p, t, factor=factor: (call(*p), factor * t[0]))
        define(grow.target_name, batch=lambda call, n, axes, x, f=factor: (f * x, axes[0]))
        for gradient in (f, g):
            np.testing.assert_array_equal(gradient(X), np.full(3, factor))
        np.testing.assert_array_equal(batched(X[None]), factor * X[None])


def test_definitions_of_other_targets_leave_jitted_functions_alone(grow: ffi.Definition) -> None:
    traced = []

    @fc.jit
    def f(x: Any) -> Any:
        traced.append(x)
        return grow(x)

    f(X)
    define(f"not {grow.target_name}", vmap_method="sequential")
    f(X)
    assert len(traced) == 1


@pytest.mark.parametrize("part", ["jvp", "forward", "backward", "transpose", "batch"])
def test_errors_of_rules_reach_the_caller(grow: ffi.Definition, part: str) -> None:
    def fails(*args: Any) -> Any:
        raise LookupError("where is it?")

    if part == "jvp":
        grow.jvp(fails)
    elif part == "forward":
        grow.vjp(fails, grow_backward)
    elif part == "backward":
        grow.vjp(grow_forward, fails)
    elif part == "transpose":
        grow._set(linear_in=0, transpose=fails)
    else:
        grow._set(vmap_method=None, batch=fails)
    run = {
        "jvp": lambda: fc.jvp(grow, (X,), (X,)),
        "batch": lambda: fc.vmap(grow)(np.ones((2, 3))),
    }.get(part, lambda: fc.vjp(grow, X)[1](X))
    with pytest.raises(LookupError, match="where is it"):
        run()
    np.testing.assert_allclose(grow(X), np.exp(X))
