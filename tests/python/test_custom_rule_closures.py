"""custom_jvp and custom_vjp functions that close over what vmap maps."""

from __future__ import annotations

import numpy as np
import pytest
from both import same_as_jax


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_functions_may_close_over_what_vmap_maps(kind):
    def outer(m, x):
        f = getattr(m.root, kind)(lambda y: x * y)
        if kind == "custom_jvp":
            f.defjvp(lambda primals, tangents: (x * primals[0], 10 * x * tangents[0]))
        else:
            f.defvjp(lambda y: (x * y, None), lambda _, g: (10 * x * g,))
        looped = m.lax.scan(lambda c, _: (f(c), c), x, None, length=2)[0]
        return f(x + 1.0), looped, m.root.grad(f)(x)

    x = np.arange(3, dtype=np.float32)
    same_as_jax(lambda m: m.root.vmap(lambda x: outer(m, x))(x))
    same_as_jax(lambda m: m.root.jit(m.root.vmap(lambda x: outer(m, x)))(x))


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
@pytest.mark.parametrize("axis_name", [None, "i"])
def test_functions_that_close_over_what_vmap_maps_take_what_it_does_not(kind, axis_name):
    def of(m, x, mapped_in_results=True):
        scale = x if mapped_in_results else 3.0
        f = getattr(m.root, kind)(lambda y: {"scaled": scale * y, "own": y + 1})
        if kind == "custom_jvp":
            f.defjvp(lambda p, t: (f(*p), {"scaled": 10 * scale * t[0], "own": t[0]}))
        else:
            f.defvjp(
                lambda y: (f(y), y), lambda y, g: (10 * y * scale * g["scaled"] + g["own"] * y,)
            )
        return f

    def outer(m, x):
        f = of(m, x)
        ys = m.np.arange(4.0)
        loss = lambda y: f(y)["scaled"] * f(y)["own"]  # noqa: E731
        return f(2.0), m.root.value_and_grad(loss)(2.0), m.root.vmap(m.root.grad(loss))(ys)

    x = np.arange(3, dtype=np.float32)

    def batch(m, function, **options):
        return m.root.vmap(lambda x: function(m, x), axis_name=axis_name, **options)

    same_as_jax(lambda m: batch(m, outer)(x))
    same_as_jax(lambda m: m.root.jit(batch(m, outer))(x))
    same_as_jax(
        lambda m: batch(m, lambda m, x: of(m, x)(2.0), out_axes={"scaled": 0, "own": None})(x)
    )
    # What does not depend on the mapped array is not mapped.
    same_as_jax(
        lambda m: batch(
            m,
            lambda m, x: m.root.grad(lambda y: of(m, x, mapped_in_results=False)(y)["own"])(2.0),
            out_axes=None,
        )(x)
    )


def test_a_rule_may_close_over_what_vmap_maps_though_its_function_does_not():
    def derivative(m, x):
        f = m.root.custom_jvp(lambda y: y * 2)
        f.defjvp(lambda p, t: (p[0] * 2, t[0] * x))
        return m.root.value_and_grad(f)(2.0)

    x = np.arange(3, dtype=np.float32)
    same_as_jax(lambda m: m.root.vmap(lambda x: derivative(m, x))(x))
