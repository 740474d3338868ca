"""Jitted functions whose arguments are on no mesh, but which contain one: they run over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from both import FARCALL, JAX, Modules

X = np.arange(32, dtype=np.float32).reshape(8, 4)


def spec(m: Modules, *axes: Any) -> Any:
    return m.root.sharding.PartitionSpec(*axes)


def mesh(m: Modules) -> Any:
    return m.root.sharding.Mesh(np.asarray(m.root.devices()[:4]), ("x",))


def doubled(m: Modules, x: Any) -> Any:
    rows = spec(m, "x")
    return m.root.shard_map(lambda a: a * 2, mesh=mesh(m), in_specs=rows, out_specs=rows)(x)


def summed(m: Modules, x: Any) -> Any:
    return m.root.shard_map(
        lambda a: m.lax.psum(a.sum(), "x"), mesh=mesh(m), in_specs=spec(m, "x"), out_specs=spec(m)
    )(x)


def constrained(m: Modules, x: Any) -> Any:
    rows = m.root.sharding.NamedSharding(mesh(m), spec(m, "x"))
    return m.lax.with_sharding_constraint(x * 3, rows)


PROGRAMS: dict[str, Callable[[Modules, Any], Any]] = {
    "shard_map": doubled,
    "a sum over the devices": summed,
    "a constraint": constrained,
    "inside an inner jit": lambda m, x: m.root.jit(lambda a: doubled(m, a))(x),
    "gradient": lambda m, x: m.root.grad(lambda a: summed(m, m.np.sin(a)))(x),
    "tangent": lambda m, x: m.root.jvp(lambda a: doubled(m, a), (x,), (x,))[1],
    "inside a loop": lambda m, x: m.lax.fori_loop(0, 3, lambda _, a: doubled(m, a), x),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("is_numpy", [True, False])
def test_results_lie_over_the_mesh(program: str, is_numpy: bool) -> None:
    def result(m: Modules) -> Any:
        return m.root.jit(lambda x: PROGRAMS[program](m, x))(X if is_numpy else m.np.asarray(X))

    ours, theirs = result(FARCALL), result(JAX)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert len(ours.sharding.device_set) == len(theirs.sharding.device_set) == 4
    for _ in range(2):  # later calls too
        assert result(FARCALL).sharding == ours.sharding


@pytest.mark.parametrize("program", ["shard_map", "a sum over the devices", "a constraint"])
def test_results_have_the_sharding_that_was_asked_for(program: str) -> None:
    wanted = {"a sum over the devices": fc.P()}.get(program, fc.P("x"))
    result = fc.jit(lambda x: PROGRAMS[program](FARCALL, x))(X)
    assert result.sharding == fc.NamedSharding(mesh(FARCALL), wanted)


def test_the_mesh_may_have_its_devices_in_another_order() -> None:
    backwards = fc.make_mesh((4,), ("x",), devices=fc.devices()[:4][::-1])
    rows = fc.P("x")
    result = fc.jit(fc.shard_map(lambda a: a + 1, mesh=backwards, in_specs=rows, out_specs=rows))(X)
    assert result.sharding == fc.NamedSharding(backwards, rows)
    assert result.addressable_shards[0].data.devices() == {fc.devices()[3]}
    np.testing.assert_array_equal(result, X + 1)


def test_every_device_runs_its_part() -> None:
    threads: set[str] = set()

    def note(i: Any) -> None:
        threads.add(str(int(i)))

    def body(a: Any) -> Any:
        fc.debug.callback(note, fc.lax.axis_index("x"))
        return a

    rows = fc.P("x")
    fc.jit(fc.shard_map(body, mesh=mesh(FARCALL), in_specs=rows, out_specs=rows))(X)
    fc.effects_barrier()
    assert threads == {"0", "1", "2", "3"}


def test_committed_arguments_and_a_device_of_the_call_take_precedence() -> None:
    there = fc.devices()[1]
    on_one = fc.jit(lambda x: doubled(FARCALL, x), device=there)(X)
    assert on_one.devices() == {there}
    committed = fc.jit(lambda x: doubled(FARCALL, x))(fc.device_put(X, there))
    assert committed.devices() == {there}
    np.testing.assert_array_equal(on_one, X * 2)
    np.testing.assert_array_equal(committed, X * 2)


def test_a_function_without_arguments_runs_over_its_mesh() -> None:
    result = fc.jit(lambda: doubled(FARCALL, fnp.ones((8, 4))))()
    assert len(result.devices()) == 4
    assert len(jax.jit(lambda: doubled(JAX, jnp.ones((8, 4))))().devices()) == 4
    np.testing.assert_array_equal(result, np.full((8, 4), 2))


def test_compiled_calls_run_over_the_mesh() -> None:
    compiled = fc.jit(lambda x: doubled(FARCALL, x)).lower(X).compile()
    assert len(compiled(X).devices()) == 4
