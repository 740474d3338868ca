"""Foreign code in programs of several devices: how often it runs, where, in which order, and what
happens when it fails. The same on every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from farcall.experimental import io_callback

P = fc.P
X = np.arange(32, dtype=np.float32).reshape(8, 4)
DEVICES = fc.devices()
MESH = fc.make_mesh((4,), ("x",))
REVERSED = fc.make_mesh((4,), ("x",), devices=DEVICES[::-1])
GRID = fc.make_mesh((2, 2), ("a", "b"))
ONE = fc.ShapeDtypeStruct((), np.float32)


def rows(mesh: Any = MESH) -> Any:
    return fc.device_put(X, fc.NamedSharding(mesh, P("x")))


class MineError(Exception):
    pass


def fail(x: Any) -> Any:
    raise MineError("negative")


# ---- how often, where, in which order ------------------------------------------------------------


def test_a_callback_outside_of_shard_map_runs_once() -> None:
    seen: list[Any] = []

    def note(x: Any) -> Any:
        seen.append(np.asarray(x).shape)
        return np.asarray(x) * 2

    @fc.jit
    def f(x: Any) -> Any:
        return fc.pure_callback(note, x, x + 1) * 3

    for _ in range(3):
        seen.clear()
        np.testing.assert_array_equal(f(rows()), (X + 1) * 6)
        assert seen == [(8, 4)]


def test_effects_keep_their_order() -> None:
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(x))
        return np.float32(x + 1)

    @fc.jit
    def f(x: Any) -> Any:
        a = io_callback(note, ONE, x[0, 0], ordered=True)
        b = io_callback(note, ONE, x[0, 0] * 10 + 20, ordered=True)
        io_callback(note, ONE, a * 0 + 7, ordered=True)
        c = lax.fori_loop(0, 3, lambda i, c: io_callback(note, ONE, c, ordered=True), a + b)
        return lax.cond(c > 0, lambda c: io_callback(note, ONE, c, ordered=True), fnp.sin, c)

    for _ in range(3):
        seen.clear()
        assert f(rows()) == 26
        assert seen == [0, 20, 7, 22, 23, 24, 25]


def test_effects_of_a_device_keep_their_order() -> None:
    seen: list[tuple[int, int]] = []

    def body(x: Any) -> Any:
        me = lax.axis_index("x")

        def step(i: Any, c: Any) -> Any:
            io_callback(lambda me, i: seen.append((int(me), int(i))), None, me, i, ordered=True)
            return c + lax.psum(c, "x") / 8

        return lax.fori_loop(0, 4, step, x)

    fc.jit(fc.shard_map(body, mesh=MESH, in_specs=P("x"), out_specs=P("x")))(X)
    for device in range(4):
        assert [i for me, i in seen if me == device] == [0, 1, 2, 3]


@pytest.mark.parametrize("mesh", [MESH, REVERSED])
def test_the_devices_of_a_mesh_may_have_any_order(mesh: Any) -> None:
    def body(x: Any) -> Any:
        seen = fc.pure_callback(lambda i: np.float32(i), ONE, lax.axis_index("x"))
        return x + 100 * seen + lax.ppermute(x, "x", [(0, 1)])

    f = fc.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    wanted = X + 100 * np.repeat(np.arange(4), 2)[:, None]
    wanted[2:4] += X[:2]
    for g in (f, fc.jit(f)):
        result = g(rows(mesh))
        np.testing.assert_array_equal(result, wanted)
        for shard in result.addressable_shards:
            np.testing.assert_array_equal(shard.data, wanted[shard.index])
            assert shard.data.device == shard.device
    np.testing.assert_array_equal(fc.jit(f)(X), wanted)


def test_constants_and_closures_reach_every_device() -> None:
    table = np.arange(400, dtype=np.float32).reshape(100, 4)

    def body(x: Any) -> Any:
        mine = fnp.asarray(table)[lax.axis_index("x")]
        return fc.pure_callback(lambda v, t: np.asarray(v) + np.asarray(t), x, x, mine) + table[1]

    f = fc.shard_map(body, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    wanted = X + np.repeat(table[:4], 2, axis=0) + table[1]
    for g in (f, fc.jit(f), fc.jit(lambda x: f(x * table[0, 1]))):
        np.testing.assert_array_equal(g(X), wanted)


def test_the_maximum_of_nan() -> None:
    data = np.float32([1, np.nan, 3, 4])
    f = fc.shard_map(
        lambda x: (lax.pmax(x, "x"), lax.pmin(x, "x"), lax.psum(x, "x")),
        mesh=MESH,
        in_specs=P("x"),
        out_specs=P(),
    )
    assert np.isnan(f(data)).all()
    assert [float(x[0]) for x in f(data[[0, 2, 3, 0]])] == [4, 1, 9]


def test_meshes_of_other_sizes_and_names() -> None:
    half = fc.make_mesh((2,), ("y",))

    def f(x: Any) -> Any:
        over_half = fc.shard_map(
            lambda v: lax.psum(v, "y"), mesh=half, in_specs=P("y"), out_specs=P()
        )
        over_grid = fc.shard_map(
            lambda v: lax.all_gather(v, "b", tiled=True),
            mesh=GRID,
            in_specs=P(("a", "b")),
            out_specs=P("a"),
            check_vma=False,
        )
        return over_half(x) + over_grid(x).sum()

    wanted = X[:4] + X[4:] + X.sum()
    np.testing.assert_allclose(fc.jit(f)(X), wanted)


def test_a_program_runs_on_the_device_that_was_named() -> None:
    f = fc.shard_map(lambda x: lax.psum(x, "x"), mesh=MESH, in_specs=P("x"), out_specs=P())
    for device in DEVICES[1:3]:
        result = fc.jit(f, device=device)(X)
        assert result.device == device
        np.testing.assert_array_equal(result, X.reshape(4, 2, 4).sum(0))


# ---- failures ------------------------------------------------------------------------------------


def test_a_failure_ends_a_program_on_sharded_arrays() -> None:
    later: list[int] = []

    @fc.jit
    def f(x: Any) -> Any:
        y = fc.pure_callback(lambda v: fail(v) if v[0, 0] < 0 else np.asarray(v), x, x)
        return fc.pure_callback(lambda v: later.append(1) or np.asarray(v), x, y * 2).sum()

    bad = fc.device_put(X - 1, fc.NamedSharding(MESH, P("x")))
    for _ in range(2):
        later.clear()
        with pytest.raises(MineError, match="negative"):
            f(bad)
        assert later == []
        assert f(rows()) == 2 * X.sum()


def assert_ends(body: Callable[[Any], Any], where: str) -> None:
    """The failure of a call arrives, and the next program runs."""
    is_outside = where == "outside"
    on_each = fc.shard_map(body, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(MineError, match="negative"):
        fc.jit(body if is_outside else on_each)(rows())
    np.testing.assert_array_equal(fc.jit(lambda x: x + 1)(rows()), X + 1)


@pytest.mark.parametrize("where", ["outside", "inside", "inside, meeting"])
def test_a_loop_that_waits_for_a_failing_call_ends(where: str) -> None:
    def body(x: Any) -> Any:
        def condition(c: Any) -> Any:
            return (lax.psum(c, "x") if where == "inside, meeting" else c).sum() > -1

        return lax.while_loop(condition, lambda c: fc.pure_callback(fail, c, c), x)

    assert_ends(body, where)


@pytest.mark.parametrize("where", ["outside", "inside", "inside, meeting"])
def test_the_steps_after_a_failing_call_are_left_out(where: str) -> None:
    num_calls = 0

    def passed_on(c: Any) -> Any:
        nonlocal num_calls
        num_calls += 1
        return c if num_calls < 9 else fail(c)

    def body(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            c = fc.pure_callback(passed_on, c, c)
            return lax.pmean(c, "x") + c * 0 if where == "inside, meeting" else c

        return lax.fori_loop(0, 2**40, step, x)  # would take days

    assert_ends(body, where)


def test_callbacks_may_run_programs_of_their_own() -> None:
    def inner(v: Any) -> Any:
        return np.asarray(fc.jit(fnp.sin)(np.asarray(v)))

    def body(x: Any) -> Any:
        return lax.psum(fc.pure_callback(inner, x, x), "x")

    f = fc.shard_map(body, mesh=MESH, in_specs=P("x"), out_specs=P())
    np.testing.assert_allclose(f(X), np.sin(X).reshape(4, 2, 4).sum(0), rtol=1e-5)
    outside = fc.jit(lambda x: fc.pure_callback(inner, x, x) * 2)
    np.testing.assert_allclose(outside(rows()), 2 * np.sin(X), rtol=1e-5)


@pytest.mark.skipif(DEVICES[0].engine == "native", reason="devices that are free")
def test_callbacks_may_not_use_the_devices_that_wait_for_them() -> None:
    on_device = fc.jit(fnp.sin, device=DEVICES[1])
    f = fc.shard_map(
        lambda x: fc.pure_callback(lambda v: np.asarray(on_device(np.asarray(v))), x, x),
        mesh=MESH,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    with pytest.raises(RuntimeError, match="busy until it ends"):
        f(X)
