"""Collectives that do not depend on each other, which the engine pjrt writes as one."""

from __future__ import annotations

from typing import Any

import farcall as fc
import jax
import numpy as np
import pytest
from both import FARCALL, JAX, Modules

RING, BACK, PART = [(0, 1), (1, 0)], [(1, 0), (0, 1)], [(0, 1)]


def sums(m: Modules, x: Any) -> Any:
    first, second = m.lax.psum((x, x[0] * 2), "a")
    both = m.lax.psum({"s": x.sum(), "n": (x > 1).astype("int32")}, ("a", "b"))
    return first, second, both["s"], both["n"], m.lax.psum(first * x, "a")


def gathers(m: Modules, x: Any) -> Any:
    return (
        m.lax.all_gather(x, "a"),
        m.lax.all_gather(x[0], "a"),
        m.lax.all_gather(x, "a", axis=2),
        m.lax.all_gather(x[:1] + 1, "a", axis=2),
        m.lax.all_gather(x.T, "a", axis=1, tiled=True),
        m.lax.all_gather(x.sum(), "a"),
    )


def permutations(m: Modules, x: Any) -> Any:
    before, after = m.lax.ppermute(x[-1:], "a", RING), m.lax.ppermute(x[:1], "a", BACK)
    return (
        before,
        after,
        m.lax.ppermute(x, "a", PART),
        m.lax.ppermute(x[:, 1:], "b", PART),
        m.lax.ppermute(x[:1] * 2, "b", PART),
        m.lax.ppermute(x, "a", []),
    )


def long_ones(m: Modules, x: Any) -> Any:
    long = m.np.tile(x.ravel(), 5000)
    return (
        m.lax.ppermute(long, "a", RING),
        m.lax.ppermute(long[::-1], "a", RING),
        m.lax.ppermute(long + 1, "a", PART),
    )


def steps(m: Modules, x: Any) -> Any:
    """Later collectives that need earlier ones, in a loop and in a branch."""

    def step(c: Any, y: Any) -> Any:
        left, right = m.lax.ppermute(c, "a", RING), m.lax.ppermute(c * 2, "a", PART)
        total, count = m.lax.psum((left * y, right), "b")
        return m.lax.cond(y.sum() > 3, lambda: total, lambda: count), m.lax.psum(left, "a")

    return m.lax.scan(step, x[0], x)


def gradient(m: Modules, x: Any) -> Any:
    def loss(y: Any) -> Any:
        z = m.lax.ppermute(y[:1], "a", RING) * m.lax.ppermute(y[1:2], "a", PART)
        return (m.lax.all_gather(y, "b") ** 2).sum() + (z * m.lax.psum(y, "b")).sum()

    return m.root.grad(loss)(x)


@pytest.mark.parametrize("body", [sums, gathers, permutations, long_ones, steps, gradient])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_joint_collectives_are_those_of_jax(body: Any, dtype: str) -> None:
    if body is gradient and dtype == "int32":
        pytest.skip("integers have no derivative")
    x = (np.arange(32) % 7 - 2).astype(dtype).reshape(8, 4)

    def results(m: Modules) -> Any:
        auto = (m.root.sharding.AxisType.Auto,) * 2
        mesh = m.root.make_mesh((2, 2), ("a", "b"), auto)
        spec = m.root.sharding.PartitionSpec(("a", "b"))

        def each(y: Any) -> Any:
            # One leading dimension, so that the parts of the devices lie one after the other.
            return m.root.tree.map(lambda r: r[None], body(m, y))

        return m.root.jit(
            m.root.shard_map(each, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
        )(x)

    ours, theirs = fc.tree.leaves(results(FARCALL)), jax.tree.leaves(results(JAX))
    assert len(ours) == len(theirs)
    for got, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))


def test_the_text_has_one_operation_for_them() -> None:
    mesh = fc.make_mesh((2, 2), ("a", "b"))
    spec = fc.sharding.PartitionSpec(("a", "b"))

    def count(body: Any, operation: str) -> int:
        def each(y: Any) -> Any:
            return fc.tree.map(lambda r: r[None], body(FARCALL, y))

        mapped = fc.shard_map(each, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
        text = fc.jit(mapped).lower(np.ones((8, 4), np.float32)).as_text(dialect="stablehlo")
        return text.count(f'"stablehlo.{operation}"')

    # By axes and dtype, and one more for the sum that needs an earlier one.
    assert count(sums, "all_reduce") == 4
    assert count(gathers, "all_gather") == 3  # by dimension
    # Along "a" all devices get all; along "b" there is one permutation.
    assert count(permutations, "all_gather") == 1
    assert count(permutations, "collective_permute") == 1
    assert count(long_ones, "collective_permute") == 3
