"""checkpoint: the same derivatives, computed again instead of kept; and named calls."""

from __future__ import annotations

import farcall as fc
import numpy as np
import pytest
from both import same_as_jax

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
    with pytest.raises(NotImplementedError, match=r"checkpoint\(abs\): policy must be None"):
        fc.checkpoint(abs, policy=lambda *_: True)
    with pytest.raises(TypeError, match=r"checkpoint\(abs\): argument 0 is 'a' of type str"):
        fc.checkpoint(abs)("a")


def test_named_calls_keep_their_name_in_programs():
    f = fc.named_call(lambda x: {"r": x * 2}, name="twice")
    np.testing.assert_array_equal(f(X)["r"], X * 2)
    program = fc.make_jaxpr(f)(X)
    assert program.primitives == ["jit"]
    assert "name=twice" in str(program)
    same_as_jax(lambda m: m.root.grad(lambda x: m.root.named_call(m.np.sin, name="s")(x).sum())(X))
