"""checkpoint: the same derivatives, computed again instead of kept; and named calls."""

from __future__ import annotations

import farcall as fc
import numpy as np
import pytest
from both import FARCALL, JAX, same_as_jax
from farcall._checkpoint import SavePolicy
from farcall.ad_checkpoint import checkpoint_name
from farcall.experimental import io_callback
from farcall.experimental.buffer_callback import buffer_callback
from jax.ad_checkpoint import checkpoint_name as jax_checkpoint_name

X = np.linspace(0.1, 1, 6, dtype=np.float32).reshape(2, 3)


def test_derivatives_are_those_of_the_function():
    def function(m):
        @m.root.checkpoint
        def layer(p, x, *, power):
            return {"h": m.np.sin(x @ p["w"]) ** power, "n": None}

        def loss(p, x):
            return layer(p, layer(p, x, power=2)["h"], power=3)["h"].sum()

        p = {"w": np.eye(3, dtype=np.float32) + 0.1}
        gradient = m.root.grad(loss, (0, 1))
        return (
            gradient(p, X),
            m.root.jit(gradient)(p, X),
            m.root.vmap(gradient, (None, 0))(p, X),
            m.root.jvp(lambda x: loss(p, x), (X,), (X,)),
        )

    same_as_jax(function, rtol=1e-4, atol=1e-5)


def test_the_inside_is_computed_again():
    @fc.checkpoint
    def f(x):
        return fc.numpy.sin(fc.numpy.sin(x))

    _, pullback = fc.vjp(lambda x: f(x).sum(), X)
    assert "sin" in str(fc.make_jaxpr(pullback)(1.0))
    _, pullback = fc.vjp(lambda x: fc.numpy.sin(fc.numpy.sin(x)).sum(), X)
    assert "sin" not in str(fc.make_jaxpr(pullback)(1.0))


def test_it_is_one_operation_of_a_program():
    program = fc.make_jaxpr(fc.checkpoint(lambda x: x * 2, prevent_cse=False))(X)
    assert program.primitives == ["checkpoint"]
    assert "prevent_cse=False" in str(program)


def test_static_arguments_are_not_arrays():
    f = fc.remat(lambda x, names: x * len(names), static_argnums=(1,))
    np.testing.assert_array_equal(f(X, ["a", "b"]), X * 2)
    assert float(fc.grad(lambda x: f(x, ["a"]))(1.0)) == 1.0


def test_closures_are_differentiated():
    same_as_jax(
        lambda m: m.root.grad(lambda w: m.root.checkpoint(lambda x: m.np.sin(x * w))(X).sum())(
            np.float32(2)
        )
    )


def test_what_is_refused():
    with pytest.raises(TypeError, match="checkpoint: expected a function, got 3"):
        fc.checkpoint(3)
    text = r"checkpoint\(abs\): policy must be None or one of farcall.checkpoint_policies, .*got "
    with pytest.raises(TypeError, match=text):
        fc.checkpoint(abs, policy=lambda *_: True)
    with pytest.raises(
        ValueError, match="checkpoint: unknown policy all; expected one of: nothing_"
    ):
        fc.checkpoint(abs, policy=SavePolicy("all"))(X)
    with pytest.raises(TypeError, match=r"checkpoint\(abs\): argument 0 is 'a' of type str"):
        fc.checkpoint(abs)("a")


def test_named_calls_keep_their_name_in_programs():
    f = fc.named_call(lambda x: {"r": x * 2}, name="twice")
    np.testing.assert_array_equal(f(X)["r"], X * 2)
    program = fc.make_jaxpr(f)(X)
    assert program.primitives == ["jit"]
    assert "name=twice" in str(program)
    same_as_jax(lambda m: m.root.grad(lambda x: m.root.named_call(m.np.sin, name="s")(x).sum())(X))


# ---- policies ----

W = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)


def layers(m, x):
    """Two products, one batched, a name and nonlinear functions between."""
    name = checkpoint_name if m.root is fc else jax_checkpoint_name
    h = m.np.sin(m.root.jit(lambda a: m.np.cos(a @ W))(x))
    h = name(h * 2, "h")
    h = m.np.sin(name(m.np.tanh(h), "t"))
    return m.np.sin(m.np.einsum("ij,ijk->ik", h, m.np.stack([W, W + 1])))


POLICIES = {
    "nothing": lambda p: p.nothing_saveable,
    "everything": lambda p: p.everything_saveable,
    "dots": lambda p: p.dots_saveable,
    "dots_with_no_batch_dims": lambda p: p.dots_with_no_batch_dims_saveable,
    "only_h": lambda p: p.save_only_these_names("h", "u"),
    "any_but_h": lambda p: p.save_any_names_but_these("h"),
    "anything_except_h": lambda p: p.save_anything_except_these_names("h"),
    "dots_or_t": lambda p: p.save_from_both_policies(
        p.dots_with_no_batch_dims_saveable, p.save_only_these_names("t")
    ),
    "h_or_t": lambda p: p.save_from_both_policies(
        p.save_only_these_names("h"), p.save_only_these_names("t", "h")
    ),
    "h_or_any_but_h": lambda p: p.save_from_both_policies(
        p.save_only_these_names("h"), p.save_any_names_but_these("h", "u")
    ),
    "any_but_h_or_any_but_t": lambda p: p.save_from_both_policies(
        p.save_any_names_but_these("h"), p.save_any_names_but_these("t")
    ),
    "except_h_or_any_but_t": lambda p: p.save_from_both_policies(
        p.save_anything_except_these_names("h"), p.save_any_names_but_these("t")
    ),
    "dots_or_h_or_t": lambda p: p.save_from_both_policies(
        p.save_from_both_policies(p.dots_saveable, p.save_only_these_names("h")),
        p.save_from_both_policies(p.nothing_saveable, p.save_only_these_names("t")),
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_decides_what_is_computed_again_as_in_jax(policy):
    def counts(m):
        chosen = POLICIES[policy](m.root.checkpoint_policies)
        f = m.root.checkpoint(lambda x: layers(m, x), policy=chosen)
        pullback = m.root.vjp(lambda x: f(x).sum(), X)[1]
        text = str(m.root.make_jaxpr(pullback)(np.float32(1)))
        return [text.count(f"= {name}") for name in ("dot_general", "tanh")]

    assert counts(FARCALL) == counts(JAX)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_changes_no_derivative(policy):
    chosen = POLICIES[policy](fc.checkpoint_policies)
    f = fc.checkpoint(lambda x: layers(FARCALL, x), policy=chosen)
    wanted = fc.grad(lambda x: layers(FARCALL, x).sum())(X)
    gradient = fc.grad(lambda x: f(x).sum())
    np.testing.assert_allclose(gradient(X), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fc.jit(gradient)(X), wanted, rtol=1e-5, atol=1e-6)
    rows = fc.vmap(fc.jacrev(f), out_axes=2)(np.stack([X, X]))
    np.testing.assert_allclose(rows[:, :, 0], fc.jacfwd(f)(X), rtol=1e-5, atol=1e-6)


def test_a_policy_in_a_loop():
    def function(m):
        dots = m.root.checkpoint_policies.dots_saveable
        step = m.root.checkpoint(lambda c, w: (m.np.sin(c @ w), None), policy=dots)
        return m.root.grad(lambda x: m.lax.scan(step, x, np.stack([W, W + 1]))[0].sum())(X)

    same_as_jax(function)


def test_names_are_nothing_but_names():
    x = {"a": fc.numpy.arange(3.0), "b": 2.0}
    named = checkpoint_name(x, "n")
    np.testing.assert_array_equal(named["a"], [0, 1, 2])
    f = fc.jit(lambda x: checkpoint_name(x * 2, "n") + 1)
    assert "name[name=n]" in str(f.lower(X).program)
    np.testing.assert_array_equal(f(X), X * 2 + 1)
    y, dy = fc.jvp(lambda x: checkpoint_name(x, "n") * 3, (X,), (X,))
    np.testing.assert_array_equal(dy, y)
    (back,) = fc.linear_transpose(lambda x: checkpoint_name(x, "n"), X)(X)
    np.testing.assert_array_equal(back, X)


# ---- named scopes ----


def test_a_scope_stands_before_the_function_in_locations():
    def inner(x):
        with fc.named_scope("attention"):
            return x * 2

    @fc.named_scope("layer")
    def outer(x):
        y = inner(x)
        return y + 1

    program = fc.make_jaxpr(outer)(X)
    functions = [equation.location[2] for equation in program.equations]
    assert functions == ["layer/attention/inner", "layer/outer"]
    assert [e.location[2] for e in fc.make_jaxpr(inner)(X).equations] == ["attention/inner"]


def test_a_scope_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), fc.named_scope("broken"):
        raise ZeroDivisionError
    program = fc.make_jaxpr(lambda x: x + 1)(X)
    assert program.equations[0].location[2] == "<lambda>"
    with pytest.raises(TypeError, match="named_scope: the name must be a str, got 3"):
        fc.named_scope(3)


def test_dots_saveable_keeps_convolutions_as_in_jax():
    image, kernel = np.ones((1, 2, 5), np.float32), np.ones((2, 2, 3), np.float32)

    def convolutions(m, name):
        policy = getattr(m.root.checkpoint_policies, name)
        f = m.root.checkpoint(
            lambda x: m.np.sin(m.lax.conv(x, kernel, (1,), "SAME")), policy=policy
        )
        pullback = m.root.vjp(lambda x: f(x).sum(), image)[1]
        return str(m.root.make_jaxpr(pullback)(np.float32(1))).count("= conv_general_dilated")

    for name in ("dots_saveable", "nothing_saveable"):
        assert convolutions(FARCALL, name) == convolutions(JAX, name)
    assert convolutions(FARCALL, "dots_saveable") < convolutions(FARCALL, "nothing_saveable")


# ---- effects ----


def counting(ordered=False):
    """A callback that returns the number of the call, and its log."""
    log = []

    def count(x):
        log.append(float(x))
        return np.float32(len(log))

    return lambda x: io_callback(
        count, fc.ShapeDtypeStruct((), np.float32), fc.lax.stop_gradient(x), ordered=ordered
    ), log


PLACES = {
    "alone": lambda call: fc.checkpoint(lambda x: x * call(x) * call(x)),
    "jit": lambda call: fc.checkpoint(lambda x: fc.jit(lambda x: x * call(x))(x) * call(x)),
    "scan": lambda call: fc.checkpoint(
        lambda x: fc.lax.scan(lambda c, _: (c * call(x), None), x, None, length=2)[0]
    ),
    "in scan": lambda call: (
        lambda x: fc.lax.scan(fc.checkpoint(lambda c, _: (c * call(x), None)), x, None, length=2)[0]
    ),
    "cond": lambda call: fc.checkpoint(
        lambda x: fc.lax.cond(x > 0, lambda x: x * call(x) * call(x), lambda x: x, x)
    ),
    "while": lambda call: fc.checkpoint(
        lambda x: (
            x * fc.lax.while_loop(lambda c: c < 2, lambda c: call(np.float32(3)) * c, np.float32(1))
        )
    ),
    "nested": lambda call: fc.checkpoint(
        lambda x: fc.checkpoint(lambda x: x * call(x))(x) * call(x)
    ),
    "policy": lambda call: fc.checkpoint(
        lambda x: x * call(x) * call(x), policy=fc.checkpoint_policies.dots_saveable
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("run", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_effects_happen_once_and_derivatives_read_their_results(place, run):
    call, log = counting()
    value, slope = run(fc.value_and_grad(PLACES[place](call)))(np.float32(3))
    assert (float(value), float(slope)) == (6, 2)
    assert log == [3, 3]


def test_linear_functions_do_not_repeat_the_effects_of_a_checkpoint():
    call, log = counting(ordered=True)
    f = fc.checkpoint(lambda x: fc.numpy.sin(x) * call(x))
    _, pushforward = fc.linearize(f, np.float32(0))
    _, pullback = fc.vjp(f, np.float32(0))
    assert [float(pushforward(1.0)), float(pullback(1.0)[0])] == [1, 2]
    assert [float(pushforward(1.0)), float(pullback(1.0)[0])] == [1, 2]
    assert log == [0, 0]


def test_foreign_calls_with_effects_run_once_in_a_checkpoint():
    log = []

    def note(ctx, out, x):
        log.append(float(np.asarray(x)))
        np.asarray(out)[...] = len(log)

    call = buffer_callback(note, fc.ShapeDtypeStruct((), np.float32), has_side_effect=True)
    f = fc.checkpoint(lambda x: x * x * call(fc.lax.stop_gradient(x)))
    assert [float(v) for v in fc.jit(fc.value_and_grad(f))(np.float32(3))] == [9, 6]
    assert log == [3]


def test_callbacks_without_effects_are_computed_again():
    log = []

    def cosine(x):
        log.append(float(x))
        return np.cos(x)

    def f(x):
        y = fc.pure_callback(cosine, fc.ShapeDtypeStruct((), np.float32), fc.lax.stop_gradient(x))
        return x * y * y

    fc.grad(fc.checkpoint(f))(np.float32(0))
    assert log == [0, 0]
