"""Sharded programs on four devices: the same values and gradients as on one, and as in JAX.

Over several processes (``test_mpi.py``) without JAX, which has its devices in one process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import farcall as fc
import jax
import numpy as np
import pytest
from both import FARCALL, JAX, Modules
from farcall.experimental.multihost_utils import process_allgather

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return (RNG.normal(size=shape) * 0.5).astype(np.float32)


def mesh_of(m: Modules, **sizes: int) -> Any:
    auto = (m.root.sharding.AxisType.Auto,) * len(sizes)
    return m.root.make_mesh(tuple(sizes.values()), tuple(sizes), auto)


class Sharded(NamedTuple):
    """A function for each module as it is written for several devices, the same for one device, and
    arguments."""

    mesh: dict[str, int]
    in_specs: Any
    out_specs: Any
    body: Callable[..., Any]
    plain: Callable[..., Any]
    args: tuple[Any, ...]

    def over(self, m: Modules) -> Any:
        def specs(entries: Any) -> Any:
            if isinstance(entries, list):
                return tuple(specs(entry) for entry in entries)
            return m.root.sharding.PartitionSpec(*entries)

        return m.root.shard_map(
            lambda *args: self.body(m, *args),
            mesh=mesh_of(m, **self.mesh),
            in_specs=specs(self.in_specs),
            out_specs=specs(self.out_specs),
            check_vma=False,
        )


def loss(m: Modules, w: Any, x: Any, y: Any) -> Any:
    return ((m.np.tanh(x @ w) - y) ** 2).mean()


def train(m: Modules, w: Any, x: Any, y: Any, mean: Callable[[Any], Any]) -> Any:
    def step(w: Any, _: Any) -> Any:
        value, gradient = m.root.value_and_grad(lambda v: loss(m, v, x, y))(w)
        return w - 0.3 * mean(gradient), mean(value)

    return m.lax.scan(step, w, None, length=5)


def ring_matmul(m: Modules, a: Any, b: Any) -> Any:
    """Rows of ``a @ b`` where each device has some rows of both."""
    n, me = m.lax.axis_size("x"), m.lax.axis_index("x")
    rows = b.shape[0]

    def step(i: Any, state: Any) -> Any:
        total, part = state
        columns = m.lax.dynamic_slice_in_dim(a, (me + i) % n * rows, rows, axis=1)
        total = total + columns @ part
        return total, m.lax.ppermute(part, "x", [(j, (j - 1) % 4) for j in range(4)])

    start = m.np.zeros((a.shape[0], b.shape[1]), a.dtype)
    return m.lax.fori_loop(0, 4, step, (start, b))[0]


def pipeline(m: Modules, w: Any, x: Any) -> Any:
    """Each device is one layer; batches wander from one to the next."""
    me = m.lax.axis_index("x")
    layer, batches = w[0], x.shape[0]

    def step(state: Any, i: Any) -> Any:
        fresh = x[m.np.clip(i, 0, batches - 1)]
        out = m.np.tanh(m.np.where(me == 0, fresh, state) @ layer)
        passed_on = m.lax.ppermute(out, "x", [(0, 1), (1, 2), (2, 3)])
        return passed_on, m.np.where(me == 3, out, 0.0)

    _, outs = m.lax.scan(step, m.np.zeros_like(x[0]), m.np.arange(batches + 3))
    return m.lax.psum(outs[3:], "x")


def layers(m: Modules, w: Any, x: Any) -> Any:
    for i in range(4):
        x = m.np.tanh(x @ w[i])
    return x


def stencil(m: Modules, x: Any) -> Any:
    up, down = [(i, i + 1) for i in range(3)], [(i + 1, i) for i in range(3)]

    def step(u: Any, _: Any) -> Any:
        above = m.lax.ppermute(u[-1:], "x", up)
        below = m.lax.ppermute(u[:1], "x", down)
        full = m.np.concatenate([above, u, below])
        return u + 0.2 * (full[2:] - 2 * u + full[:-2]), u.max()

    return m.lax.scan(step, x, None, length=6)[0]


def whole_stencil(m: Modules, x: Any) -> Any:
    for _ in range(6):
        full = m.np.pad(x, ((1, 1), (0, 0)))
        x = x + 0.2 * (full[2:] - 2 * x + full[:-2])
    return x


def fft2(m: Modules, x: Any) -> Any:
    """Of rows, then of columns, for which the array changes hands."""
    rows = m.np.fft.fft(x, axis=1)
    columns = m.lax.all_to_all(rows, "x", split_axis=1, concat_axis=0, tiled=True)
    back = m.lax.all_to_all(
        m.np.fft.fft(columns, axis=0), "x", split_axis=0, concat_axis=1, tiled=True
    )
    return m.np.real(back), m.np.imag(back)


def attention(m: Modules, q: Any, k: Any, v: Any) -> Any:
    scores = m.root.nn.softmax(q @ k.T / np.float32(2), axis=-1)
    return scores @ v


def while_loop(m: Modules, x: Any) -> Any:
    """Doubles until the sum over all devices is large: all stop together."""
    return m.lax.while_loop(
        lambda u: m.lax.psum((u * u).sum(), "x") < 1e4, lambda u: u * 2 + 0.1, x
    )


def branches(m: Modules, x: Any) -> Any:
    total = m.lax.psum(x.sum(), "x")
    return m.lax.cond(
        total > 0, lambda u: u * m.lax.pmax(u, "x"), lambda u: u - m.lax.pmin(u, "x"), x
    )


def sharded_weights(m: Modules, w: Any, x: Any) -> Any:
    """Weights are gathered when they are needed; gradients come back scattered."""
    whole = m.lax.all_gather(w, "x", tiled=True)
    return m.np.tanh(x @ whole)


X, Y = normal(8, 6), normal(8, 3)
W = normal(6, 3)

PROGRAMS: dict[str, Sharded] = {
    "data-parallel loss": Sharded(
        {"x": 4},
        [(), ("x",), ("x",)],
        (),
        lambda m, w, x, y: m.lax.pmean(loss(m, w, x, y), "x"),
        loss,
        (W, X, Y),
    ),
    "data-parallel training": Sharded(
        {"x": 4},
        [(), ("x",), ("x",)],
        [(), ()],
        lambda m, w, x, y: train(m, w, x, y, lambda v: m.lax.pmean(v, "x")),
        lambda m, w, x, y: train(m, w, x, y, lambda v: v),
        (W, X, Y),
    ),
    "tensor-parallel layers": Sharded(
        {"x": 4},
        [(), (None, "x"), ("x",)],
        (),
        lambda m, x, v, w: m.lax.psum(m.np.tanh(x @ v) @ w, "x"),
        lambda m, x, v, w: m.np.tanh(x @ v) @ w,
        (X, normal(6, 8), normal(8, 3)),
    ),
    "data and tensor parallel": Sharded(
        {"d": 2, "t": 2},
        [("d",), (None, "t"), ("t",)],
        ("d",),
        lambda m, x, v, w: m.lax.psum(m.np.tanh(x @ v) @ w, "t"),
        lambda m, x, v, w: m.np.tanh(x @ v) @ w,
        (X, normal(6, 8), normal(8, 3)),
    ),
    "ring matmul": Sharded(
        {"x": 4},
        [("x",), ("x",)],
        ("x",),
        ring_matmul,
        lambda m, a, b: a @ b,
        (normal(8, 8), normal(8, 5)),
    ),
    "scattered matmul": Sharded(
        {"x": 4},
        [(None, "x"), ("x",)],
        ("x",),
        lambda m, a, b: m.lax.psum_scatter(a @ b, "x", scatter_dimension=0, tiled=True),
        lambda m, a, b: a @ b,
        (normal(8, 8), normal(8, 5)),
    ),
    "pipeline": Sharded(
        {"x": 4}, [("x",), ()], (), pipeline, layers, (normal(4, 5, 5), normal(6, 2, 5))
    ),
    "halo exchange": Sharded({"x": 4}, [("x",)], ("x",), stencil, whole_stencil, (normal(12, 3),)),
    "fft": Sharded(
        {"x": 4},
        [("x",)],
        [("x",), ("x",)],
        fft2,
        lambda m, x: (m.np.real(m.np.fft.fft2(x)), m.np.imag(m.np.fft.fft2(x))),
        (normal(8, 8),),
    ),
    "sequence-parallel attention": Sharded(
        {"x": 4},
        [("x",), ("x",), ("x",)],
        ("x",),
        lambda m, q, k, v: attention(
            m, q, m.lax.all_gather(k, "x", tiled=True), m.lax.all_gather(v, "x", tiled=True)
        ),
        attention,
        (normal(8, 4), normal(8, 4), normal(8, 3)),
    ),
    "sharded weights": Sharded(
        {"x": 4},
        [("x",), ("x",)],
        ("x",),
        sharded_weights,
        lambda m, w, x: m.np.tanh(x @ w),
        (normal(8, 3), normal(4, 8)),
    ),
    "both axes at once": Sharded(
        {"a": 2, "b": 2},
        [(("b", "a"),), ()],
        (),
        lambda m, x, w: m.lax.psum(m.np.sin(x @ w).sum(), ("a", "b")),
        lambda m, x, w: m.np.sin(x @ w).sum(),
        (X, W),
    ),
}
# What has no reverse mode, or whose plain form is another program.
FORWARD: dict[str, Sharded] = {
    "while": Sharded(
        {"x": 4},
        [("x",)],
        ("x",),
        while_loop,
        lambda m, x: m.lax.while_loop(lambda u: (u * u).sum() < 1e4, lambda u: u * 2 + 0.1, x),
        (normal(8, 3),),
    ),
    "cond": Sharded(
        {"x": 4},
        [("x",)],
        ("x",),
        branches,
        lambda m, x: m.lax.cond(
            x.sum() > 0,
            lambda u: (u.reshape(4, 2, 3) * u.reshape(4, 2, 3).max(0)).reshape(8, 3),
            lambda u: (u.reshape(4, 2, 3) - u.reshape(4, 2, 3).min(0)).reshape(8, 3),
            x,
        ),
        (normal(8, 3),),
    ),
}


def number(m: Modules, f: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar in which every element of every result has a weight of its own."""

    def weighed(*args: Any) -> Any:
        total = 0.0
        for leaf in m.root.tree.leaves(f(*args)):
            total = total + (leaf * m.np.cos(m.np.arange(leaf.size)).reshape(leaf.shape)).sum()
        return total

    return weighed


def values(array: Any) -> np.ndarray[Any, Any]:
    if isinstance(array, fc.Array) and not array.is_fully_addressable:
        return process_allgather(array)
    return np.asarray(array)


def close(ours: Any, theirs: Any) -> None:
    for a, b in zip(fc.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(values(a), values(b), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", [*PROGRAMS, *FORWARD])
def test_values_are_those_of_one_device_and_of_jax(name: str) -> None:
    program = {**PROGRAMS, **FORWARD}[name]
    ours = fc.jit(program.over(FARCALL))(*program.args)
    close(ours, program.plain(FARCALL, *program.args))
    if fc.process_count() == 1:
        close(ours, jax.jit(program.over(JAX))(*program.args))
    eager = program.over(FARCALL)(*program.args)
    close(eager, ours)
    for leaf in fc.tree.leaves(eager):
        assert leaf.devices() == set(fc.devices())
    again = fc.jit(program.over(FARCALL))(*program.args)
    for a, b in zip(fc.tree.leaves(ours), fc.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(values(a), values(b))  # the order of threads changes no bit


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_one_device_and_of_jax(name: str) -> None:
    program = PROGRAMS[name]
    argnums = tuple(range(len(program.args)))
    f = fc.grad(number(FARCALL, program.over(FARCALL)), argnums)
    ours = fc.jit(f)(*program.args)
    plain = fc.grad(number(FARCALL, lambda *a: program.plain(FARCALL, *a)), argnums)
    close(ours, plain(*program.args))
    if fc.process_count() == 1:
        theirs = jax.jit(jax.grad(number(JAX, program.over(JAX)), argnums))
        close(ours, theirs(*program.args))
    close(f(*program.args), ours)


# XLA takes seconds to compile what comes of one program here.
TRANSFORMED = PROGRAMS if fc.devices()[0].engine == "native" else ["data-parallel loss", "fft"]


@pytest.mark.parametrize("name", TRANSFORMED)
def test_other_transformations(name: str) -> None:
    program = PROGRAMS[name]
    f, plain = program.over(FARCALL), lambda *a: program.plain(FARCALL, *a)
    tangents = tuple(np.cos(arg).astype(arg.dtype) for arg in program.args)
    close(fc.jvp(f, program.args, tangents), fc.jvp(plain, program.args, tangents))
    # Of forward over reverse there are second derivatives.
    first = 0
    hessian = [
        fc.jvp(fc.grad(number(FARCALL, g), first), program.args, tangents)[1] for g in (f, plain)
    ]
    close(*hessian)
    for axis in (0, -1):
        stacked = [np.stack([arg, 0.5 * arg, -arg], axis=axis) for arg in program.args]
        close(
            fc.vmap(f, in_axes=axis)(*stacked),
            fc.vmap(plain, in_axes=axis)(*stacked),
        )
    some = (0,) + (None,) * (len(program.args) - 1)
    mixed = (np.stack([program.args[0]] * 2), *program.args[1:])
    close(fc.vmap(f, in_axes=some)(*mixed), fc.vmap(plain, in_axes=some)(*mixed))

    # Around it a loop, a branch and a function whose results are computed again.
    def looped(g: Callable[..., Any]) -> Any:
        def step(carry: Any, scale: Any) -> Any:
            return carry + number(FARCALL, g)(*(arg * scale for arg in program.args)), scale

        return fc.lax.scan(step, 0.0, np.float32([1, 0.5]))[0]

    close(fc.jit(lambda: looped(f))(), looped(plain))
    chosen = fc.jit(lambda go: fc.lax.cond(go, f, lambda *a: f(*a), *program.args))
    close(chosen(True), plain(*program.args))
    again = fc.grad(number(FARCALL, fc.checkpoint(f)))
    close(again(*program.args), fc.grad(number(FARCALL, plain))(*program.args))


def test_sharded_arguments_stay_sharded() -> None:
    program = PROGRAMS["tensor-parallel layers"]
    mesh = mesh_of(FARCALL, x=4)
    put = [
        fc.device_put(arg, fc.NamedSharding(mesh, fc.P(*spec)))
        for arg, spec in zip(program.args, program.in_specs, strict=True)
    ]
    gradients = fc.jit(fc.grad(number(FARCALL, program.over(FARCALL)), (0, 1, 2)))(*put)
    for gradient, spec in zip(gradients, program.in_specs, strict=True):
        wanted = fc.NamedSharding(mesh, fc.P(*spec))
        assert gradient.sharding.is_equivalent_to(wanted, gradient.ndim)
