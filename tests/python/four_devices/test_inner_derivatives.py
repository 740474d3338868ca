"""Derivatives that are taken inside of shard_map: each device's results are those of JAX, with and
without check_vma."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from both import FARCALL, JAX, Modules, assert_same, same_as_jax
from farcall import lax

# Arguments of each body: `w` is whole on every device, `v` is split over axis b, `x` over axis a.
W = np.array([0.5, -1.0, 0.25], np.float32)
V = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
X = np.sin(np.arange(24, dtype=np.float32)).reshape(8, 3)
CONSTANT = np.array([1.0, 2.0, -0.5], np.float32)


def loss(m: Modules, w: Any, x: Any) -> Any:
    return (m.np.tanh(x @ w) ** 2).sum()


def mlp(m: Modules, params: Any, x: Any) -> Any:
    hidden = m.np.tanh(x @ params["first"] + params["bias"])
    return ((hidden @ params["second"]) ** 2).mean()


def params_of(m: Modules, w: Any) -> Any:
    return {"first": m.np.outer(w, w), "bias": w * 0.1, "second": w}


def twice(m: Modules) -> Any:
    @m.root.custom_jvp
    def f(w: Any, x: Any) -> Any:
        return w * x

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (w, x), (dw, dx) = primals, tangents
        return w * x, 2 * (dw * x + w * dx)

    return f


def scaled(m: Modules) -> Any:
    """The product; the gradient of w, which all devices share, is the sum of all devices."""

    @m.root.custom_vjp
    def f(w: Any, x: Any) -> Any:
        return w * x

    def forward(w: Any, x: Any) -> Any:
        return w * x, (w, x)

    def backward(saved: Any, g: Any) -> Any:
        w, x = saved
        return m.lax.psum(3 * g * x, "a"), g * w

    f.defvjp(forward, backward)
    return f


def summed(m: Modules) -> Any:
    """A sum over the devices with its own derivative."""

    @m.root.custom_vjp
    def f(x: Any) -> Any:
        return m.lax.psum(x, "a")

    f.defvjp(
        lambda x: (m.lax.psum(x, "a"), None),
        lambda _, g: (m.lax.pcast(2 * g, "a", to="varying"),),
    )
    return f


def train(m: Modules, w: Any, x: Any) -> Any:
    def step(w: Any, _: Any) -> Any:
        value, slope = m.root.value_and_grad(lambda w: m.lax.pmean(loss(m, w, x), "a"))(w)
        return w - 0.1 * slope, value

    return m.lax.scan(step, w, None, length=3)


def pipeline(m: Modules, w: Any, x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        return m.lax.ppermute(m.np.tanh(c * w), "a", [(0, 1), (1, 0)]), None

    return (m.lax.scan(step, x[0], None, length=3)[0] ** 2).sum()


def local(m: Modules, w: Any) -> Any:
    return m.lax.pcast(w, ("a", "b"), to="varying")


BODIES: dict[str, Callable[[Modules, Any, Any, Any], Any]] = {
    # data-parallel training
    "grad of a local loss": lambda m, w, v, x: m.root.grad(lambda w: loss(m, w, x))(w),
    "value and grad": lambda m, w, v, x: m.root.value_and_grad(lambda w: loss(m, w, x))(w),
    "psum in the loss": lambda m, w, v, x: m.root.grad(lambda w: m.lax.psum(loss(m, w, x), "a"))(w),
    "pmean in the loss": lambda m, w, v, x: m.root.grad(lambda w: m.lax.pmean(loss(m, w, x), "a"))(
        w
    ),
    "pmean of the gradient": lambda m, w, v, x: m.lax.pmean(
        m.root.grad(lambda w: loss(m, w, x))(w), "a"
    ),
    "parameters in a tree": lambda m, w, v, x: m.root.grad(lambda p: mlp(m, p, x))(params_of(m, w)),
    "argument split over the axis": lambda m, w, v, x: m.root.grad(
        lambda x: m.lax.psum(loss(m, w, x), "a")
    )(x),
    "both kinds of arguments": lambda m, w, v, x: m.root.grad(
        lambda w, x: loss(m, w, x), argnums=(0, 1)
    )(w, x),
    "training in a scan": lambda m, w, v, x: train(m, w, x),
    "has_aux": lambda m, w, v, x: m.root.grad(lambda w: (loss(m, w, x), x.sum()), has_aux=True)(w),
    "integer argument": lambda m, w, v, x: m.root.grad(lambda w, n: loss(m, w, x) * n)(
        w, m.lax.axis_index("a")
    ),
    # the argument by itself, and with others
    "invariant loss": lambda m, w, v, x: m.root.grad(lambda w: (w**2).sum())(w),
    "invariant and varying use": lambda m, w, v, x: m.root.grad(
        lambda w: (w**2).sum() + m.lax.psum(loss(m, w, x), "a")
    )(w),
    "closed-over constant": lambda m, w, v, x: m.root.grad(lambda w: loss(m, w * CONSTANT, x))(w),
    "marked before": lambda m, w, v, x: m.root.grad(lambda w: loss(m, w, x))(local(m, w)),
    "marked inside": lambda m, w, v, x: m.root.grad(lambda w: (local(m, w) ** 2).sum())(w),
    "index in the loss": lambda m, w, v, x: m.root.grad(
        lambda w: (w * m.lax.axis_index("b")).sum()
    )(w),
    "indexed by the index": lambda m, w, v, x: m.root.grad(lambda w: w[m.lax.axis_index("a")])(w),
    # collectives
    "psum of an invariant": lambda m, w, v, x: m.root.grad(lambda w: m.lax.psum(w, "a").sum())(w),
    "pmean of an invariant": lambda m, w, v, x: m.root.grad(lambda w: m.lax.pmean(w, "b").sum())(w),
    "psum times varying": lambda m, w, v, x: m.root.grad(
        lambda x: (m.lax.psum(x, "a") * m.np.sin(x)).sum()
    )(x),
    "gather": lambda m, w, v, x: m.root.grad(
        lambda w, x: (m.lax.all_gather(x * w, "a") ** 2).sum(), argnums=(0, 1)
    )(w, x),
    "tiled gather": lambda m, w, v, x: m.root.grad(
        lambda x: m.np.sin(m.lax.all_gather(x, "a", tiled=True)).sum()
    )(x),
    "gather of an invariant": lambda m, w, v, x: m.root.grad(
        lambda w: (m.lax.all_gather(w, "b") ** 2).sum()
    )(w),
    "scatter": lambda m, w, v, x: m.root.grad(
        lambda w: (m.lax.psum_scatter(x * w, "a", tiled=True) ** 2).sum()
    )(w),
    "permutation": lambda m, w, v, x: m.root.grad(
        lambda w: (m.lax.ppermute(x * w, "a", [(0, 1)]) ** 2).sum()
    )(w),
    "permutation of an invariant": lambda m, w, v, x: m.root.grad(
        lambda w: (m.lax.ppermute(w, "a", [(0, 1)]) ** 2).sum()
    )(w),
    "to all": lambda m, w, v, x: m.root.grad(
        lambda w: (m.lax.all_to_all(x * w, "a", 0, 0, tiled=True) ** 2 * x).sum()
    )(w),
    "pmax of the gradient": lambda m, w, v, x: m.lax.pmax(
        m.root.grad(lambda x: loss(m, w, x))(x), "a"
    ),
    # tensor-parallel and data-parallel
    "two axes": lambda m, w, v, x: m.root.grad(
        lambda w, v: m.lax.psum((m.np.tanh(x @ v.T) * w.sum()).sum(), ("a", "b")), argnums=(0, 1)
    )(w, v),
    "sum over one of two axes": lambda m, w, v, x: m.root.grad(
        lambda w, v: (m.lax.psum(x @ (v * w).T, "b") ** 2).sum(), argnums=(0, 1)
    )(w, v),
    "sums one after the other": lambda m, w, v, x: m.root.grad(
        lambda v: m.lax.pmean((m.lax.psum(x @ v.T, "b") ** 2).sum(), "a")
    )(v),
    # forward mode and further derivatives
    "jvp": lambda m, w, v, x: m.root.jvp(lambda w: m.lax.psum(w * x, "a"), (w,), (w,)),
    "jvp with a varying tangent": lambda m, w, v, x: m.root.jvp(
        lambda w: (w * x).sum(), (local(m, w),), (x[0] * m.lax.axis_index("b"),)
    ),
    "vjp": lambda m, w, v, x: m.root.vjp(lambda w: w * x, w)[1](x),
    "vjp of a sum": lambda m, w, v, x: m.root.vjp(lambda x: m.lax.psum(x, "a"), x)[1](
        m.lax.psum(x * 2, "a")
    ),
    "jacrev": lambda m, w, v, x: m.root.jacrev(lambda w: x @ w)(w),
    "jacfwd": lambda m, w, v, x: m.root.jacfwd(lambda w: m.lax.psum(m.np.sin(x @ w), "a"))(w),
    "hessian": lambda m, w, v, x: m.root.hessian(lambda w: loss(m, w, x))(w),
    "grad of grad": lambda m, w, v, x: m.root.grad(
        lambda w: (m.root.grad(lambda w: loss(m, w, x))(w) ** 2).sum()
    )(w),
    "grad of a vjp": lambda m, w, v, x: m.root.grad(
        lambda u: (m.root.vjp(lambda w: w * w * x, w)[1](u * x)[0] ** 2).sum()
    )(w),
    "linear transpose": lambda m, w, v, x: m.root.linear_transpose(lambda w: w * x, w)(x),
    "linearize": lambda m, w, v, x: m.root.linearize(lambda w: m.np.sin(w) * x, w)[1](w),
    # loops, branches, calls
    "scan": lambda m, w, v, x: m.root.grad(
        lambda w: m.lax.scan(lambda c, y: (c + (w * y).sum(), c), m.np.sum(x) * 0, x)[0]
    )(w),
    "scan with an invariant carry": lambda m, w, v, x: m.root.grad(
        lambda w: m.lax.scan(lambda c, y: (m.np.sin(c), (c * y).sum()), w, x)[1].sum()
    )(w),
    "scan with a permutation": lambda m, w, v, x: m.root.grad(lambda w: pipeline(m, w, x))(w),
    "grad in scan": lambda m, w, v, x: m.lax.scan(
        lambda c, y: (c, m.root.grad(lambda w: m.np.sin(w * y).sum())(w)), w, x
    )[1],
    "fori_loop": lambda m, w, v, x: m.root.grad(
        lambda w: m.lax.fori_loop(0, 3, lambda i, c: m.np.sin(c * w), x).sum()
    )(w),
    "jvp of while_loop": lambda m, w, v, x: m.root.jvp(
        lambda w: m.lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, m.np.sin(c[1] * w)), (0, x)
        )[1],
        (w,),
        (w,),
    ),
    "grad in while_loop": lambda m, w, v, x: m.lax.while_loop(
        lambda c: c[0] < 3,
        lambda c: (c[0] + 1, c[1] - 0.1 * m.root.grad(lambda w: loss(m, w, x))(c[1])),
        (0, w),
    )[1],
    "cond": lambda m, w, v, x: m.root.grad(
        lambda w: m.lax.cond(w[0] > 0, lambda: loss(m, w, x), lambda: (x * w).sum())
    )(w),
    "grad in cond": lambda m, w, v, x: m.lax.cond(
        w[0] > 0, lambda w: m.root.grad(lambda w: loss(m, w, x))(w), lambda w: w, w
    ),
    "switch": lambda m, w, v, x: m.root.grad(
        lambda w: m.lax.switch(1, [lambda w, x: (w - x).sum(), lambda w, x: (w * x).sum()], w, x)
    )(w),
    "checkpoint": lambda m, w, v, x: m.root.grad(
        lambda w: m.root.checkpoint(lambda w: m.lax.psum(loss(m, m.np.sin(w), x), "a"))(w)
    )(w),
    "jit": lambda m, w, v, x: m.root.grad(lambda w: m.root.jit(lambda w, x: loss(m, w, x))(w, x))(
        w
    ),
    "one jit of both kinds": lambda m, w, v, x: (
        lambda f: (m.root.grad(f)(w, x[0]), m.root.grad(f)(x[0], w), m.root.grad(f)(w, w))
    )(m.root.jit(lambda a, b: m.np.sin(a * b).sum())),
    "grad in jit": lambda m, w, v, x: m.root.jit(
        lambda w, x: m.root.grad(lambda w: loss(m, w, x))(w)
    )(w, x),
    "vmap inside": lambda m, w, v, x: m.root.vmap(
        lambda y: m.root.grad(lambda w: m.np.sin(w * y).sum())(w)
    )(x),
    "vmap of the loss": lambda m, w, v, x: m.root.grad(
        lambda w: m.root.vmap(lambda y: m.lax.psum(m.np.sin(w * y).sum(), "a"))(x).sum()
    )(w),
    # functions with their own derivatives
    "foreign call": lambda m, w, v, x: m.root.grad(
        lambda w: m.np.linalg.solve(m.np.outer(w, w) + 4 * m.np.eye(3), x[0]).sum()
    )(w),
    "custom_jvp": lambda m, w, v, x: m.root.grad(lambda w: twice(m)(w, x).sum())(w),
    "custom_vjp": lambda m, w, v, x: m.root.grad(
        lambda w, x: scaled(m)(w, x[0]).sum(), argnums=(0, 1)
    )(w, x),
    "custom_vjp with a sum": lambda m, w, v, x: m.root.grad(
        lambda x: (summed(m)(x) ** 2).sum(),
    )(x),
    "custom_jvp in scan": lambda m, w, v, x: m.root.grad(
        lambda w: m.lax.scan(lambda c, y: (c, twice(m)(w, y).sum()), 0.0, x)[1].sum()
    )(w),
    "custom_vjp in scan": lambda m, w, v, x: m.root.grad(
        lambda w: m.lax.scan(lambda c, y: (c, scaled(m)(w, y).sum()), 0.0, x)[1].sum()
    )(w),
}


def every_device(m: Modules, bodies: Any, check_vma: bool) -> Any:
    """The results of each device, along a new leading dimension."""
    auto = (m.root.sharding.AxisType.Auto,) * 2
    spec = m.root.sharding.PartitionSpec

    def run(w: Any, v: Any, x: Any) -> Any:
        found = {name: body(m, w, v, x) for name, body in bodies.items()}
        return m.root.tree.map(lambda leaf: m.np.asarray(leaf)[None], found)

    f = m.root.shard_map(
        run,
        mesh=m.root.make_mesh((2, 2), ("a", "b"), auto),
        in_specs=(spec(), spec("b"), spec("a")),
        out_specs=spec(("a", "b")),
        check_vma=check_vma,
    )
    return m.root.jit(f)(W, V, X)


@functools.cache
def results_of_jax(check_vma: bool) -> Any:
    return every_device(JAX, BODIES, check_vma)


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_derivatives_inside_are_those_of_jax(name: str, check_vma: bool) -> None:
    ours = every_device(FARCALL, {name: BODIES[name]}, check_vma)[name]
    assert_same(ours, results_of_jax(check_vma)[name], rtol=1e-4, atol=1e-5)


# ---- derivatives outside -------------------------------------------------------------------------

WHOLE: dict[str, Callable[[Modules, Any, Any, Any], Any]] = {
    "gradient inside": lambda m, w, v, x: m.lax.psum(
        (m.root.grad(lambda w: loss(m, w, x))(w) * x.sum()).sum(), "a"
    ),
    "training inside": lambda m, w, v, x: (train(m, w, x)[0] ** 2).sum(),
    "custom_jvp": lambda m, w, v, x: m.lax.psum(twice(m)(w, x).sum(), "a"),
    "custom_vjp": lambda m, w, v, x: m.lax.psum((scaled(m)(w, x[0]) ** 2).sum(), "a"),
    "custom_vjp of a sum": lambda m, w, v, x: (summed(m)(x * w) ** 2).sum(),
    "custom_vjp in scan": lambda m, w, v, x: m.lax.psum(
        m.lax.scan(lambda c, y: (c, m.np.sin(scaled(m)(w, y)).sum()), 0.0, x)[1].sum(), "a"
    ),
    "custom_vjp in vmap": lambda m, w, v, x: m.lax.psum(
        m.root.vmap(lambda y: m.np.sin(scaled(m)(w, y)).sum())(x).sum(), "a"
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_derivatives_outside_are_those_of_jax(name: str) -> None:
    def run(m: Modules) -> Any:
        auto = (m.root.sharding.AxisType.Auto,) * 2
        spec = m.root.sharding.PartitionSpec
        f = m.root.shard_map(
            lambda w, v, x: WHOLE[name](m, w, v, x),
            mesh=m.root.make_mesh((2, 2), ("a", "b"), auto),
            in_specs=(spec(), spec("b"), spec("a")),
            out_specs=spec(),
        )
        return m.root.jit(m.root.grad(f, argnums=(0, 2)))(W, V, X)

    same_as_jax(run, rtol=1e-4, atol=1e-5)


# ---- what JAX refuses, or cannot transpose -------------------------------------------------------


def on_every_device(body: Any) -> Any:
    return every_device(FARCALL, {"it": lambda m, w, v, x: body(w, x)}, True)["it"]


def test_a_carry_that_becomes_varying_is_so_from_the_beginning() -> None:
    def last(w: Any, x: Any) -> Any:
        return lax.scan(lambda c, y: (fnp.sin(c * y), None), w, x)[0].sum()

    def unrolled(w: Any, x: Any) -> Any:
        for y in x:
            w = fnp.sin(w * y)
        return w.sum()

    def slope(f: Any) -> Any:
        return on_every_device(lambda w, x: fc.grad(lambda w: f(w, x))(w))

    np.testing.assert_allclose(slope(last), slope(unrolled), rtol=1e-5)


@pytest.mark.parametrize("decides", ["one device", "all devices"])
def test_branches_may_vary_over_different_axes(decides: str) -> None:
    def is_first(w: Any) -> Any:
        return lax.axis_index("a") == 0 if decides == "one device" else w[0] > 0

    def chosen(w: Any, x: Any) -> Any:
        return lax.cond(is_first(w), lambda: (w**2).sum(), lambda: (w * x).sum())

    def selected(w: Any, x: Any) -> Any:
        return fnp.where(is_first(w), (w**2).sum(), (w * x).sum())

    def slope(f: Any) -> Any:
        return on_every_device(lambda w, x: fc.grad(lambda w: f(w, x))(w))

    np.testing.assert_allclose(slope(chosen), slope(selected), rtol=1e-5)


def test_a_gradient_in_a_loop_whose_length_varies_does_not_wait_for_other_devices() -> None:
    def body(w: Any, x: Any) -> Any:
        def step(c: Any) -> Any:
            return c[0] + 1, fc.grad(lambda w: (w**2 * c[0]).sum())(c[1])

        return lax.while_loop(lambda c: c[0] < 1 + lax.axis_index("a"), step, (0, w))[1]

    found = on_every_device(body)
    np.testing.assert_allclose(found, [0 * W, 0 * W, 0 * W, 0 * W], atol=1e-6)


def test_a_gradient_in_a_nested_shard_map() -> None:
    grid = fc.make_mesh((2, 2), ("a", "b"))

    def outer(w: Any, v: Any, x: Any) -> Any:
        def inner(w: Any, v: Any, x: Any) -> Any:
            return fc.grad(lambda w: lax.psum(fnp.tanh(x @ (v * w).T).sum(), "b"))(w)

        # The inner one cannot sum over axis a.
        specs = (fc.P(), fc.P("b"), fc.P())
        slope = fc.shard_map(inner, mesh=grid, in_specs=specs, out_specs=fc.P(), axis_names={"b"})
        return lax.psum(slope(w, v, x), "a")

    nested = fc.shard_map(
        outer, mesh=grid, in_specs=(fc.P(), fc.P(), fc.P("a")), out_specs=fc.P(), axis_names={"a"}
    )
    wanted = fc.grad(lambda w: fnp.tanh(X @ (V * w).T).sum())(W)
    np.testing.assert_allclose(nested(W, V, X), wanted, rtol=1e-4)

    def whole(w: Any) -> Any:
        return (nested(w, V, X) ** 2).sum()

    def plain(w: Any) -> Any:
        return (fc.grad(lambda w: fnp.tanh(X @ (V * w).T).sum())(w) ** 2).sum()

    np.testing.assert_allclose(fc.grad(whole)(W), fc.grad(plain)(W), rtol=1e-4, atol=1e-5)


def test_a_gradient_through_a_nested_shard_map() -> None:
    grid = fc.make_mesh((2, 2), ("a", "b"))

    def sums(check_vma: bool) -> Any:
        def total(w: Any, v: Any, x: Any) -> Any:
            inner = fc.shard_map(
                lambda w, v, x: lax.psum(fnp.tanh(x @ (v * w).T).sum(), "b"),
                mesh=grid,
                in_specs=(fc.P(), fc.P("b"), fc.P()),
                out_specs=fc.P(),
                axis_names={"b"},
                check_vma=check_vma,
            )
            return fc.grad(lambda w: inner(w, v, x))(w)

        return fc.shard_map(
            total,
            mesh=grid,
            in_specs=(fc.P(), fc.P(), fc.P("a")),
            out_specs=fc.P(),
            axis_names={"a"},
        )(W, V, X)

    wanted = fc.grad(lambda w: fnp.tanh(X @ (V * w).T).sum())(W)
    np.testing.assert_allclose(sums(True), wanted, rtol=1e-4)
    np.testing.assert_allclose(sums(False), wanted, rtol=1e-4)


def test_errors() -> None:
    with pytest.raises(ValueError, match="a cotangent varies over a, over which the output does"):
        on_every_device(lambda w, x: fc.vjp(lambda w: lax.psum(w * x, "a"), w)[1](x))
    product = fc.custom_vjp(lambda w, x: w * x)
    product.defvjp(lambda w, x: (w * x, (w, x)), lambda saved, g: (g * saved[1], g * saved[0]))
    with pytest.raises(ValueError, match="for argument 0 varies over a, over which the argument"):
        on_every_device(lambda w, x: fc.grad(lambda w: product(w, x[0]).sum())(w))
    for call in (lax.psum, functools.partial(lax.pcast, to="varying")):
        with pytest.raises(NameError, match='unbound axis name "c"'):
            on_every_device(lambda w, x, call=call: fc.grad(lambda w: call(w, "c").sum())(w))


def test_a_solution_varies_over_the_axes_of_the_matrix_and_of_the_right_hand_side() -> None:
    def diagonal(w: Any, x: Any) -> Any:
        return (2 + fnp.tanh(x[0])) * w**2

    def solved(m: Modules, w: Any, v: Any, x: Any) -> Any:
        def squares(w: Any) -> Any:
            d = diagonal(w, x)
            u = lax.custom_linear_solve(lambda u: d * u, w, lambda _, b: b / d, symmetric=True)
            return (u**2).sum()

        return fc.grad(squares)(w)

    def divided(m: Modules, w: Any, v: Any, x: Any) -> Any:
        return fc.grad(lambda w: ((w / diagonal(w, x)) ** 2).sum())(w)

    found = every_device(FARCALL, {"solved": solved, "divided": divided}, True)
    np.testing.assert_allclose(found["solved"], found["divided"], rtol=1e-5)
