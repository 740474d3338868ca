"""Jitted functions whose arguments are on no mesh, but which contain one: they run over it."""

from __future__ import annotations

import functools
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


# ---- meshes of another engine, and in another order ----------------------------------------------

OTHER = "native" if fc.devices()[0].engine == "pjrt" else "pjrt"
MESHES = {
    "another engine": fc.devices(OTHER)[:4],
    "the same engine": fc.devices()[:4],
    "another order": fc.devices()[:4][::-1],
}


def repeated(x: Any, f: Any) -> Any:
    return fc.lax.scan(lambda c, _: (f(c), None), x, None, 1)[0]


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "jit": lambda f, x: fc.jit(f)(x),
    "compiled": lambda f, x: fc.jit(f).lower(x).compile()(x),
    "donated": lambda f, x: fc.jit(f, donate_argnums=0)(fnp.asarray(x) + 0),
    "vmap of jit": lambda f, x: fc.vmap(fc.jit(f))(x[None])[0],
    "checkpoint": lambda f, x: fc.checkpoint(f)(x),
    "eager scan": lambda f, x: repeated(fnp.asarray(x), f),
    "eager cond": lambda f, x: fc.lax.cond(True, f, lambda a: a, fnp.asarray(x)),
    "linearize of jit": lambda f, x: fc.linearize(fc.jit(f), fnp.asarray(x))[0],
}


@pytest.mark.parametrize("way", WAYS)
def test_equal_programs_run_over_their_own_meshes(way: str) -> None:
    for devices in [*MESHES.values(), *MESHES.values()]:
        rows = fc.P("x")
        f = fc.shard_map(
            lambda a: a + fc.lax.psum(a.sum(), "x"),
            mesh=fc.make_mesh((4,), ("x",), devices=devices),
            in_specs=rows,
            out_specs=rows,
        )
        result = WAYS[way](f, X)
        assert [shard.data.device for shard in result.addressable_shards] == list(devices)
        np.testing.assert_array_equal(result, X + X.sum())


@pytest.mark.parametrize("engine", ["native", "pjrt"])
def test_the_engine_of_the_mesh_computes(engine: str) -> None:
    # Last digits tell whether the native engine, whose bits never vary, computed a tanh.
    x = np.linspace(0, 5, 4096, dtype=np.float32)
    by_native = np.asarray(fc.jit(fnp.tanh, device=fc.devices("native")[0])(x))
    rows = fc.P("x")
    devices = fc.make_mesh((4,), ("x",), devices=fc.devices(engine)[:4])
    mapped = fc.jit(fc.shard_map(fnp.tanh, mesh=devices, in_specs=rows, out_specs=rows))
    constrain = functools.partial(
        fc.lax.with_sharding_constraint, shardings=fc.NamedSharding(devices, rows)
    )
    for f in (mapped, fc.jit(lambda a: constrain(fnp.tanh(a)))):
        np.testing.assert_allclose(f(x), by_native, rtol=1e-6)
        assert np.array_equal(f(x), by_native) == (engine == "native")


# ---- one device ----------------------------------------------------------------------------------


def on(m: Modules, number: int) -> Any:
    return m.root.sharding.SingleDeviceSharding(m.root.devices()[number])


def one(m: Modules, number: int) -> Any:
    """A mesh of one device, and a sharding over it."""
    grid = np.asarray(m.root.devices()[number : number + 1])
    return m.root.sharding.NamedSharding(m.root.sharding.Mesh(grid, ("x",)), spec(m))


def put(m: Modules, number: int) -> Any:
    return m.root.device_put(X, m.root.devices()[number])


ONE_DEVICE: dict[str, Callable[[Modules], Any]] = {
    "in_shardings": lambda m: m.root.jit(lambda x: x + 1, in_shardings=on(m, 1))(X),
    "in_shardings, committed elsewhere": lambda m: m.root.jit(
        lambda x: x + 1, in_shardings=on(m, 1)
    )(put(m, 2)),
    "in_shardings, a mesh": lambda m: m.root.jit(lambda x: x + 1, in_shardings=one(m, 2))(X),
    "in_shardings of one": lambda m: m.root.jit(lambda x, y: x + y, in_shardings=(None, on(m, 2)))(
        X, X
    ),
    "in_shardings, static": lambda m: m.root.jit(
        lambda n, x: x * n, static_argnums=0, in_shardings=(on(m, 3),)
    )(2, X),
    "out_shardings": lambda m: m.root.jit(lambda x: x + 1, out_shardings=on(m, 3))(X),
    "out_shardings, no argument": lambda m: m.root.jit(
        lambda: m.np.ones(3), out_shardings=on(m, 3)
    )(),
    "out_shardings, a mesh": lambda m: m.root.jit(lambda x: x + 1, out_shardings=one(m, 2))(X),
    "inner jit": lambda m: m.root.jit(
        lambda x: m.root.jit(lambda y: y + 1, in_shardings=on(m, 2))(x)
    )(X),
    "gradient": lambda m: m.root.grad(m.root.jit(lambda x: (x * x).sum(), in_shardings=on(m, 2)))(
        X
    ),
    "vmap": lambda m: m.root.vmap(m.root.jit(lambda x: x * x, in_shardings=on(m, 2)))(X),
    "compiled": lambda m: m.root.jit(lambda x: x + 1, in_shardings=on(m, 1)).lower(X).compile()(X),
    "compiled, out": lambda m: (
        m.root.jit(lambda x: x + 1, out_shardings=on(m, 1)).lower(X).compile()(X)
    ),
    "constraint": lambda m: m.root.jit(lambda x: m.lax.with_sharding_constraint(x, on(m, 1)) + 1)(
        X
    ),
    "device_put": lambda m: m.root.jit(lambda x: m.root.device_put(x, on(m, 1)) + 1)(X),
    "device_put to a Device": lambda m: m.root.jit(
        lambda x: m.root.device_put(x, m.root.devices()[1]) + 1
    )(X),
    "shard_map": lambda m: m.root.jit(
        m.root.shard_map(
            lambda x: m.lax.psum(x, "x"),
            mesh=one(m, 2).mesh,
            in_specs=spec(m, "x"),
            out_specs=spec(m),
        )
    )(X),
}


@pytest.mark.parametrize("program", ONE_DEVICE)
def test_programs_with_a_sharding_on_one_device_run_there(program: str) -> None:
    ours, theirs = ONE_DEVICE[program](FARCALL), ONE_DEVICE[program](JAX)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert {device.id for device in ours.devices()} == {device.id for device in theirs.devices()}
    assert ours.committed == theirs.committed
    assert {device.id for device in ONE_DEVICE[program](FARCALL).devices()} == {
        device.id for device in theirs.devices()
    }


DIFFERENT_DEVICES: dict[str, Callable[[Modules], Any]] = {
    "two in_shardings": lambda m: m.root.jit(lambda x, y: x + y, in_shardings=(on(m, 1), on(m, 2)))(
        X, X
    ),
    "an argument without a sharding": lambda m: m.root.jit(
        lambda x, y: x + y, in_shardings=(None, on(m, 2))
    )(put(m, 1), X),
    "in_shardings of an inner jit": lambda m: m.root.jit(
        lambda x: m.root.jit(lambda y: y + 1, in_shardings=on(m, 2))(x)
    )(put(m, 1)),
    "out_shardings": lambda m: m.root.jit(lambda x: x + 1, out_shardings=on(m, 1))(put(m, 2)),
    "constraint": lambda m: m.root.jit(lambda x: m.lax.with_sharding_constraint(x, on(m, 1)))(
        put(m, 2)
    ),
    "device and in_shardings": lambda m: m.root.jit(
        lambda x: x + 1, in_shardings=on(m, 1), device=m.root.devices()[1]
    )(X),
}


@pytest.mark.filterwarnings("ignore:.*is deprecated")
@pytest.mark.parametrize("program", DIFFERENT_DEVICES)
def test_programs_of_different_devices_are_errors(program: str) -> None:
    with pytest.raises(ValueError, match=r"device"):
        DIFFERENT_DEVICES[program](JAX)
    with pytest.raises(ValueError, match=r"committed to|device or backend was given"):
        DIFFERENT_DEVICES[program](FARCALL)


def test_one_device_of_another_engine() -> None:
    device = fc.devices(OTHER)[2]
    sharding = fc.sharding.SingleDeviceSharding(device)
    for f in (fc.jit(fnp.tanh, in_shardings=sharding), fc.jit(fnp.tanh, out_shardings=sharding)):
        result = f(X)
        assert result.device == device
        np.testing.assert_array_equal(result, fc.jit(fnp.tanh, device=device)(X))
