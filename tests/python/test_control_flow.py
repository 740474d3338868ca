"""Programs of loops and branches, against JAX: values, batches, derivatives, and how they nest."""

from __future__ import annotations

import numpy as np
import pytest
from control_flow import F32, S, X, both, floats_of, scalar_of, vector

# ---- programs: functions of a module that return a function of (x: f32[3], s: f32[]) ----


def rnn(m):
    def f(x, s):
        return m.lax.scan(lambda c, a: (m.numpy.sin(c * a) + s, c * s), s, x)

    return f


def reversed_scan(m):
    def f(x, s):
        return m.lax.scan(lambda c, a: (c * a + s, (c, a * a)), s * 2, x, reverse=True)

    return f


def counting_scan(m):
    def f(x, s):
        def step(carry, a):
            i, c = carry
            return (i + 1, c * a + i), {"c": c, "i": i}

        return m.lax.scan(step, (0, s), x)

    return f


def constant_carry(m):
    """A carry that never varies, one that begins to vary, and a result that is known."""

    def f(x, s):
        def step(carry, a):
            k, c, d = carry
            return (k * 2.0, d, a * s), (k, c)

        return m.lax.scan(step, (np.float32(1), np.float32(0), np.float32(0)), x)

    return f


def hoisted(m):
    def f(x, s):
        w = m.numpy.exp(s)
        return m.lax.scan(lambda c, _: (c * m.numpy.cos(w), m.numpy.sum(c * w)), x, None, length=3)

    return f


def scan_in_scan(m):
    def f(x, s):
        def outer(c, a):
            d, ys = m.lax.scan(lambda e, b: (e * b + a, e), c, x)
            return d * s, ys

        return m.lax.scan(outer, s, x)

    return f


def cond_in_scan(m):
    def f(x, s):
        def step(c, a):
            n = m.lax.cond(a > 0.8, lambda u: m.numpy.sin(u) * a, lambda u: u * u * s, c)
            return n, n * a

        return m.lax.scan(step, s, x)

    return f


def fori(m):
    def f(x, s):
        return m.lax.fori_loop(0, 4, lambda i, c: c * s + i * x, x)

    return f


def switched(m):
    def f(x, s):
        branches = [lambda u: u * s, lambda u: m.numpy.sin(u), lambda u: u * 0.0 + 1.0]
        return [m.lax.switch(i, branches, x) for i in (-1, 0, 1, 2, 5)]

    return f


def checked_cond(m):
    def f(x, s):
        return m.lax.cond(
            s > 0.9, lambda u, v: (u * v, v), lambda u, v: (u + 1.0, m.numpy.sin(v)), x, s
        )

    return f


def mapped(m):
    def f(x, s):
        return m.lax.map(lambda a: {"y": a * s, "z": m.numpy.exp(a)}, x)

    return f


def mapped_in_batches(m):
    def f(x, s):
        return m.lax.map(lambda a: m.numpy.exp(a) * s, x, batch_size=2)

    return f


def associative(m):
    def f(x, s):
        def compose(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        return m.lax.associative_scan(compose, (x * s, x), reverse=True)

    return f


DIFFERENTIABLE = [
    rnn,
    reversed_scan,
    counting_scan,
    constant_carry,
    hoisted,
    scan_in_scan,
    cond_in_scan,
    fori,
    switched,
    checked_cond,
    mapped,
    mapped_in_batches,
    associative,
]


def doubling(m):
    """Each element ends after another number of steps."""

    def f(x, s):
        return m.lax.while_loop(
            lambda c: m.numpy.sum(c[0]) < 20.0, lambda c: (c[0] * 2.0 + s, c[1] + 1), (x, 0)
        )

    return f


def while_with_own_constants(m):
    def f(x, s):
        limit = m.numpy.exp(s) * 5
        return m.lax.while_loop(lambda c: c < limit, lambda c: c * (1.5 + s), m.numpy.sum(x))

    return f


def while_in_cond(m):
    def f(x, s):
        def loop(u):
            return m.lax.while_loop(lambda c: m.numpy.sum(c) < 9.0, lambda c: c * 2.0, u)

        return m.lax.cond(s > 0.9, loop, lambda u: u * s, x)

    return f


def dynamic_fori(m):
    def f(x, s):
        n = m.numpy.where(s > 0.9, 3, 2)
        return m.lax.fori_loop(0, n, lambda i, c: c * 1.5 + i, x)

    return f


FORWARD = [doubling, while_with_own_constants, while_in_cond, dynamic_fori]
ALL = DIFFERENTIABLE + FORWARD


@pytest.mark.parametrize("program", ALL)
class TestPrograms:
    def test_values(self, program):
        both(program, X, S)

    @pytest.mark.parametrize(
        "in_axes", [(0, 0), (None, 0), (1, None), (1, 0)], ids=lambda axes: str(axes)
    )
    def test_vmap(self, program, in_axes):
        x = {0: vector(4, 3), 1: vector(3, 4), None: X}[in_axes[0]]
        s = vector(4, seed=1) if in_axes[1] == 0 else S
        both(lambda m: m.vmap(program(m), in_axes=in_axes), x, s)

    def test_nested_vmap(self, program):
        x, s = vector(2, 4, 3), vector(4, seed=1)
        both(lambda m: m.vmap(m.vmap(program(m)), in_axes=(0, None)), x, s)

    def test_jvp(self, program):
        def make(m):
            f = program(m)

            def g(x, s, dx, ds):
                primals, tangents = m.jvp(f, (x, s), (dx, ds))
                return primals, floats_of(m, tangents)

            return g

        both(make, X, S, vector(3, seed=2), F32(0.3))

    def test_jvp_of_vmap(self, program):
        def make(m):
            f = m.vmap(scalar_of(m, program(m)))
            return lambda x, s: m.jvp(f, (x, s), (x * 0.5, s))

        both(make, vector(4, 3), vector(4, seed=1))


@pytest.mark.parametrize("program", DIFFERENTIABLE)
class TestReverseMode:
    def test_grad(self, program):
        both(lambda m: m.grad(scalar_of(m, program(m)), argnums=(0, 1)), X, S)

    def test_grad_of_one_argument(self, program):
        both(lambda m: m.grad(scalar_of(m, program(m))), X, S)
        both(lambda m: m.grad(scalar_of(m, program(m)), argnums=1), X, S)

    def test_grad_of_jit(self, program):
        both(lambda m: m.grad(m.jit(scalar_of(m, program(m))), argnums=(0, 1)), X, S)

    def test_grad_of_vmap(self, program):
        def make(m):
            f = m.vmap(scalar_of(m, program(m)), in_axes=(0, None))
            return m.grad(lambda x, s: m.numpy.sum(f(x, s)), argnums=(0, 1))

        both(make, vector(4, 3), S)

    def test_vmap_of_grad(self, program):
        both(
            lambda m: m.vmap(m.grad(scalar_of(m, program(m)), argnums=(0, 1)), in_axes=(0, 0)),
            vector(4, 3),
            vector(4, seed=1),
        )

    def test_grad_of_grad(self, program):
        def make(m):
            first = m.grad(scalar_of(m, program(m)), argnums=1)
            return m.grad(lambda x, s: first(x, s) ** 2, argnums=(0, 1))

        both(make, X, S, tolerance=3e-4)
