"""typeof(x).vma, the axes of a mesh over which a value varies, is that of JAX in the body of a
shard_map; derivatives that are zero have it too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import numpy as np
import pytest
from both import FARCALL, JAX, Modules

X = np.arange(1, 17, dtype=np.float32).reshape(4, 4)  # split over both axes


def pullback(m: Modules, f: Any, x: Any, cotangent: Any) -> Any:
    return m.root.vjp(f, x)[1](cotangent)[0]


# Of x, which varies over both axes, w = psum(x, ("a", "b")) and n = axis_index("a").
VALUES: dict[str, Callable[[Modules, Any, Any, Any], Any]] = {
    "argument": lambda m, w, x, n: x,
    "sum": lambda m, w, x, n: w,
    "sum over one axis": lambda m, w, x, n: m.lax.psum(x, "a"),
    "maximum over one axis": lambda m, w, x, n: m.lax.pmax(x, "b"),
    "index": lambda m, w, x, n: n,
    "sum of the index": lambda m, w, x, n: m.lax.psum(n, "a"),
    "constant": lambda m, w, x, n: np.ones(3),
    "number": lambda m, w, x, n: 1.0,
    "product": lambda m, w, x, n: w * n,
    "comparison": lambda m, w, x, n: x > 0,
    "position": lambda m, w, x, n: m.np.argmax(x),
    "element": lambda m, w, x, n: w[n],
    "changed element": lambda m, w, x, n: w.at[0].set(x[0]),
    "gather": lambda m, w, x, n: m.lax.all_gather(x, "a"),
    "scatter": lambda m, w, x, n: m.lax.psum_scatter(w, "a", tiled=True),
    "permutation": lambda m, w, x, n: m.lax.ppermute(w, "b", [(0, 1)]),
    "marked": lambda m, w, x, n: m.lax.pcast(w, "a", to="varying"),
    "scan": lambda m, w, x, n: m.lax.scan(lambda c, _: (c, c), x, None, length=2)[1],
    "jit": lambda m, w, x, n: m.root.jit(lambda y: y * 2)(w + n),
    "vmap": lambda m, w, x, n: m.root.vmap(lambda y: y * n)(w),
    "inverse": lambda m, w, x, n: m.np.linalg.inv(x[:, :2] + 9 * m.np.eye(2)),
    "gradient that is zero": lambda m, w, x, n: m.root.grad(lambda y: w.sum())(x),
    "pullback of another value": lambda m, w, x, n: pullback(m, lambda y: w, x, w),
    "pullback of a constant": lambda m, w, x, n: pullback(
        m, lambda y: m.np.ones(3), x, m.np.ones(3)
    ),
    "tangent that is zero": lambda m, w, x, n: m.root.jvp(lambda y: x, (w,), (w,))[1],
    "linear map to zero": lambda m, w, x, n: m.root.linearize(lambda y: x, w)[1](w),
    "jacobian that is zero": lambda m, w, x, n: m.root.jacrev(lambda y: w[0])(x),
    "forward jacobian that is zero": lambda m, w, x, n: m.root.jacfwd(lambda y: x[0])(w),
}


def run(m: Modules, body: Any, check_vma: bool = True) -> Any:
    spec = m.root.sharding.PartitionSpec
    mesh = m.root.make_mesh((2, 2), ("a", "b"), (m.root.sharding.AxisType.Auto,) * 2)
    specs = {"in_specs": spec("a", "b"), "out_specs": spec("a", "b")}
    return m.root.jit(m.root.shard_map(body, mesh=mesh, **specs, check_vma=check_vma))(X)


def axes_of(m: Modules, value: Any) -> frozenset[str]:
    made = m.root.typeof(value)
    return made.vma if m is FARCALL else made.manual_axis_type.varying


def varying_axes(m: Modules, name: str, check_vma: bool = True) -> frozenset[str]:
    found: list[frozenset[str]] = []

    def body(x: Any) -> Any:
        value = VALUES[name](m, m.lax.psum(x, ("a", "b")), x, m.lax.axis_index("a"))
        found.append(axes_of(m, value))
        return x

    run(m, body, check_vma)
    return found[-1]


@pytest.mark.parametrize("name", VALUES)
def test_the_axes_over_which_values_vary_are_those_of_jax(name: str) -> None:
    assert varying_axes(FARCALL, name) == varying_axes(JAX, name)


@pytest.mark.parametrize("transformation", ["jit", "vmap", "grad", "jvp", "scan", "cond"])
def test_values_of_inner_functions_have_axes(transformation: str) -> None:
    seen = []

    def inner(x: Any) -> Any:
        seen.append(fc.typeof(x).vma)
        return x.sum()

    def body(x: Any) -> Any:
        {
            "jit": lambda: fc.jit(inner)(x),
            "vmap": lambda: fc.vmap(inner)(x),
            "grad": lambda: fc.grad(inner)(x),
            "jvp": lambda: fc.jvp(inner, (x,), (x,)),
            "scan": lambda: fc.lax.scan(lambda c, y: (c, inner(y)), 0, x),
            "cond": lambda: fc.lax.cond(True, inner, lambda x: x.sum(), x),
        }[transformation]()
        return x

    run(FARCALL, body)
    assert seen[0] == {"a", "b"}


def test_without_the_check_and_outside_there_are_no_axes() -> None:
    assert varying_axes(FARCALL, "argument", check_vma=False) == frozenset()
    assert varying_axes(JAX, "argument", check_vma=False) == frozenset()
    assert fc.typeof(X).vma == frozenset()
    assert fc.jit(lambda x: x * len(fc.typeof(x).vma))(X).sum() == 0


def test_the_type_tells_its_axes() -> None:
    types = []
    run(FARCALL, lambda x: types.append(fc.typeof(x)) or x)
    assert str(types[0]) == "float32[2,2]{V:a,b}"
    assert types[0] != fc.ShapeDtypeStruct((2, 2), "float32")
    assert types[0] == types[0].update()
    assert types[0].update(vma=()) == fc.ShapeDtypeStruct((2, 2), "float32")
    assert types[0].update(shape=(3,)).vma == {"a", "b"}


@pytest.mark.parametrize("mode", ["grad", "vjp", "jvp"])
def test_a_zero_derivative_that_meets_shared_values_varies_as_its_value(mode: str) -> None:
    """So the cotangent of the shared value is summed over the devices."""

    def zero(m: Modules, w: Any, x: Any) -> Any:
        if mode == "grad":
            return m.root.grad(lambda y: w.sum())(x)
        if mode == "vjp":
            return pullback(m, lambda y: w, x, w)
        return m.root.jvp(lambda y: x, (w,), (w,))[1]

    def slope(m: Modules) -> Any:
        def body(x: Any) -> Any:
            w = m.lax.psum(x, ("a", "b"))
            return m.root.grad(lambda w: (m.np.sin(w) + zero(m, w, x)).sum())(w) + x * 0

        return run(m, body)

    np.testing.assert_allclose(slope(FARCALL), slope(JAX), rtol=1e-5)
