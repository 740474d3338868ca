"""shard_map on four devices: collectives, effects, errors, interrupts."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from both import FARCALL, JAX, Modules
from farcall import lax

# XLA has no way to stop a run, and waits for ever for a device that does not come.
on_native = pytest.mark.skipif(
    fc.devices()[0].engine != "native", reason="plugins do not end a run before its end"
)

P = fc.P
X = np.arange(32, dtype=np.float32).reshape(8, 4)
MESH = fc.make_mesh((4,), ("x",))
GRID = fc.make_mesh((2, 2), ("a", "b"))


def mapped(
    f: Any, mesh: Any = MESH, in_specs: Any = None, out_specs: Any = None, **more: Any
) -> Any:
    specs = P(mesh.axis_names[0])
    return fc.shard_map(
        f,
        mesh=mesh,
        in_specs=specs if in_specs is None else in_specs,
        out_specs=specs if out_specs is None else out_specs,
        **more,
    )


# ---- collectives ---------------------------------------------------------------------------------

BODIES: dict[str, Any] = {
    "psum": lambda m, x: m.lax.psum(x, "a"),
    "psum of both": lambda m, x: m.lax.psum(x, ("b", "a")),
    "pmean": lambda m, x: m.lax.pmean(x, "b"),
    "pmax": lambda m, x: m.lax.pmax(x, ("a", "b")),
    "pmin": lambda m, x: m.lax.pmin(x, "b"),
    "gather": lambda m, x: m.lax.all_gather(x, "a", axis=1),
    "gather of both": lambda m, x: m.lax.all_gather(x, ("b", "a")),
    "tiled gather": lambda m, x: m.lax.all_gather(x, "b", axis=1, tiled=True),
    "scatter": lambda m, x: m.lax.psum_scatter(x, "b", scatter_dimension=1, tiled=True),
    "scatter over both": lambda m, x: m.lax.psum_scatter(
        x, ("b", "a"), scatter_dimension=1, tiled=True
    ),
    "untiled scatter over both": lambda m, x: m.lax.psum_scatter(x.reshape(4, 2, 2), ("a", "b")),
    "to all": lambda m, x: m.lax.all_to_all(x, "a", 0, 1, tiled=True),
    "to all, untiled": lambda m, x: m.lax.all_to_all(x, "b", 0, 1),
    "to all of both": lambda m, x: m.lax.all_to_all(x, ("a", "b"), 1, 0, tiled=True),
    "to all of both, untiled": lambda m, x: m.lax.all_to_all(x.reshape(2, 4, 2), ("b", "a"), 1, 0),
    "permutation of both": lambda m, x: m.lax.ppermute(x, ("a", "b"), [(0, 3), (3, 1), (1, 0)]),
    "permute": lambda m, x: m.lax.ppermute(x, "b", [(0, 1), (1, 0)]),
    "part of a permutation": lambda m, x: m.lax.ppermute(x, "a", [(0, 1)]),
    "index": lambda m, x: x + m.lax.axis_index("a") * 10 + m.lax.axis_index("b"),
    "index of both": lambda m, x: x + m.lax.axis_index(("b", "a")),
    "size": lambda m, x: x * m.lax.axis_size("a") + m.lax.psum(1, ("a", "b")),
    "swap": lambda m, x: m.lax.pswapaxes(x, "a", 0),
    "in vmap": lambda m, x: m.root.vmap(lambda y: m.lax.psum(y * 2, ("a", "i")), axis_name="i")(x),
    "in scan": lambda m, x: m.lax.scan(lambda c, y: (c + m.lax.psum(y, "a"), c), x[0], x)[1],
    "in jit": lambda m, x: m.root.jit(lambda y: m.lax.psum(y, "b") * 2)(x),
    "in grad": lambda m, x: m.root.grad(lambda y: (m.lax.psum(y**2, "a") * y).sum())(x),
    "shuffle": lambda m, x: m.lax.pshuffle(x, "b", [1, 0]),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in BODIES for kind in ("float32", "int32") if "grad" not in name]
    + [("in grad", "float32")],
)
def test_collectives_are_those_of_jax(name: str, kind: str) -> None:
    data = np.arange(64).reshape(4, 16).astype(kind)

    def run(m: Modules) -> Any:
        auto = (m.root.sharding.AxisType.Auto,) * 2
        spec = m.root.sharding.PartitionSpec("a", "b")
        f = m.root.shard_map(
            lambda x: BODIES[name](m, x),
            mesh=m.root.make_mesh((2, 2), ("a", "b"), auto),
            in_specs=spec,
            out_specs=spec,
            check_vma=False,
        )
        return m.root.jit(f)(data)

    ours, theirs = run(FARCALL), run(JAX)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("groups", [[[0], [1, 2, 3]], [[3, 1], [0], [2]]])
@pytest.mark.parametrize("name", ["psum", "pmax", "pmin", "pmean"])
def test_reductions_in_groups_of_several_sizes(name: str, groups: Any) -> None:
    f = fc.shard_map(
        lambda x: getattr(lax, name)(x, "x", axis_index_groups=groups),
        mesh=fc.make_mesh((4,), ("x",)),
        in_specs=P("x"),
        out_specs=P("x"),
        check_vma=False,
    )
    x = X[:4]
    reduce = {"psum": np.sum, "pmax": np.max, "pmin": np.min, "pmean": np.mean}[name]
    expected = np.empty_like(x)
    for group in groups:
        expected[group] = reduce(x[group], 0)
    np.testing.assert_allclose(f(x), expected, rtol=1e-6)
    if name == "psum":
        theirs = jax.shard_map(
            lambda x: jax.lax.psum(x, "x", axis_index_groups=groups),
            mesh=jax.make_mesh((4,), ("x",), (jax.sharding.AxisType.Auto,)),
            in_specs=jax.P("x"),
            out_specs=jax.P("x"),
            check_vma=False,
        )
        np.testing.assert_array_equal(f(x), theirs(x))


GROUPS = [[2, 0], [1, 3]]
IN_GROUPS: dict[str, Any] = {
    "psum": lambda m, x, **groups: m.lax.psum({"x": x}, "x", **groups)["x"],
    "pmean": lambda m, x, **groups: m.lax.pmean(x, "x", **groups),
    "pmax": lambda m, x, **groups: m.lax.pmax(x, "x", **groups),
    "gather": lambda m, x, **groups: m.lax.all_gather(x, "x", axis=1, **groups),
    "tiled gather": lambda m, x, **groups: m.lax.all_gather(x, "x", tiled=True, **groups),
    "scatter": lambda m, x, **groups: m.lax.psum_scatter(x, "x", **groups),
    "tiled scatter": lambda m, x, **groups: m.lax.psum_scatter(
        x, "x", scatter_dimension=1, tiled=True, **groups
    ),
    "to all": lambda m, x, **groups: m.lax.all_to_all(x, "x", 1, 0, tiled=True, **groups),
    "to all, untiled": lambda m, x, **groups: m.lax.all_to_all(x, "x", 0, 1, **groups),
    "swap": lambda m, x, **groups: m.lax.pswapaxes(x, "x", 0, **groups),
}


@pytest.mark.parametrize("name", IN_GROUPS)
def test_collectives_in_groups_are_those_of_jax(name: str) -> None:
    def run(m: Modules) -> Any:
        spec = m.root.sharding.PartitionSpec("x")
        f = m.root.shard_map(
            lambda x: IN_GROUPS[name](m, x, axis_index_groups=GROUPS),
            mesh=m.root.make_mesh((4,), ("x",), (m.root.sharding.AxisType.Auto,)),
            in_specs=spec,
            out_specs=spec,
            check_vma=False,
        )
        return m.root.jit(f)(X)

    ours, theirs = run(FARCALL), run(JAX)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "complex64", "bool", "int8", "uint32"])
def test_collectives_of_every_kind(kind: str) -> None:
    data = fnp.asarray(np.arange(8) % 3, kind)
    summed = mapped(lambda x: lax.psum(x, "x"), out_specs=P())(data)
    np.testing.assert_array_equal(
        summed, fnp.asarray(data).reshape(4, 2).sum(0).astype(summed.dtype)
    )
    gathered = mapped(lambda x: lax.all_gather(x, "x", tiled=True), out_specs=P())(data)
    np.testing.assert_array_equal(gathered, data)
    turned = mapped(lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]))(data)
    np.testing.assert_array_equal(np.asarray(turned), np.roll(np.asarray(data), 2))


COLLECTIVES: dict[str, Any] = {
    "psum": lambda x: lax.psum(x, "x"),
    "pmax": lambda x: lax.pmax(x, "x"),
    "pmin": lambda x: lax.pmin(x, "x"),
    "gather": lambda x: lax.all_gather(x, "x", tiled=True),
    "scatter": lambda x: lax.psum_scatter(x, "x", tiled=True),
    "to all": lambda x: lax.all_to_all(x, "x", 0, 0, tiled=True),
    "permute": lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]),
}


@pytest.mark.parametrize("kind", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn"])
def test_collectives_of_elements_below_a_byte_are_those_of_bytes(kind: str) -> None:
    data: Any = fnp.asarray(np.arange(64) % 7).astype(kind)
    wide = data.astype("float32" if kind.startswith("float") else "int32")
    for name, collective in COLLECTIVES.items():
        f: Any = fc.jit(mapped(collective, check_vma=False))
        np.testing.assert_array_equal(
            np.asarray(f(data).astype("float32")),
            np.asarray(f(wide).astype(kind).astype("float32")),
            name,
        )


@pytest.mark.parametrize("reduce", [lax.pmax, lax.pmin])
def test_extremes_of_complex_numbers_are_those_of_numpy(reduce: Any) -> None:
    rng = np.random.default_rng(0)
    data = (rng.integers(-1, 2, (4, 9)) + 1j * rng.integers(-1, 2, (4, 9))).astype("complex64")
    data[2, :3] = complex(0, np.nan), complex(np.nan, 1), complex(-np.inf, 2)
    expected = np.maximum if reduce is lax.pmax else np.minimum
    found = mapped(lambda x: reduce(x, "x"), out_specs=P())(data)
    np.testing.assert_array_equal(found[0], expected.reduce(data))
    found = mapped(lambda x: reduce(x, "b"), GRID, P(("a", "b")), P("a"))(data)
    np.testing.assert_array_equal(found, expected(data[::2], data[1::2]))


@pytest.mark.parametrize("size", [0, 1, 4095, 4097, 16384, 70001])
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "complex128", "int8"])
def test_a_reduction_of_any_size_is_that_of_a_batch_on_every_device(size: int, kind: str) -> None:
    rng = np.random.default_rng(size)
    data = fnp.asarray(rng.uniform(-9, 9, (4, size)), kind)
    on_devices = mapped(lambda x: lax.psum(x, "x"), check_vma=False)(data)
    batched = fc.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(data)
    for row, expected in zip(np.asarray(on_devices), np.asarray(batched), strict=True):
        if fc.devices()[0].engine == "native":
            np.testing.assert_array_equal(row, expected)
        else:
            tolerance = 0.25 if kind == "bfloat16" else 1e-5
            np.testing.assert_allclose(
                row.astype("complex128"), expected.astype("complex128"), tolerance, tolerance
            )


# ---- what a call is ------------------------------------------------------------------------------


def test_trees_closures_and_specs() -> None:
    scale = fnp.float32([2.0, 3.0, 4.0, 5.0])

    def body(tree: Any, y: Any) -> Any:
        return {"rows": tree["a"] * scale + y, "total": lax.psum(tree["a"].sum(), "x")}

    f = mapped(body, in_specs=({"a": P("x")}, P()), out_specs={"rows": P("x"), "total": P()})
    for g in (f, fc.jit(f)):
        result = g({"a": X}, 1.0)
        np.testing.assert_array_equal(result["rows"], X * np.asarray(scale) + 1)
        assert result["total"] == X.sum()
    optional = mapped(lambda x, n: x + 1 if n is None else n, in_specs=(P("x"), None))
    np.testing.assert_array_equal(optional(X, None), X + 1)
    np.testing.assert_array_equal(optional(X, X[:2]), np.tile(X[:2], (4, 1)))
    gradient = fc.grad(lambda s: mapped(lambda x: x * s, in_specs=P("x"))(X).sum())(scale)
    np.testing.assert_array_equal(gradient, X.sum(0))
    placed = fc.device_put(X, fc.NamedSharding(MESH, P(None, "x")))
    inferred = fc.shard_map(lambda x: x.sum(1, keepdims=True), mesh=MESH, out_specs=P(None, "x"))
    np.testing.assert_array_equal(inferred(placed), X)
    with fc.set_mesh(MESH):
        current = fc.shard_map(lambda x: lax.psum(x, "x"), in_specs=P("x"), out_specs=P())
        np.testing.assert_array_equal(current(X), X.reshape(4, 2, 4).sum(0))


def test_some_axes_are_bound() -> None:
    f = mapped(lambda x: lax.psum(x, "a"), GRID, P("a"), P(), axis_names={"a"})
    np.testing.assert_array_equal(f(X), X[:4] + X[4:])
    with pytest.raises(NameError, match='unbound axis name "b"'):
        mapped(lambda x: lax.psum(x, "b"), GRID, P("a"), P("a"), axis_names={"a"})(X)


def test_one_shard_map_in_another() -> None:
    def outer(x: Any) -> Any:
        inner = mapped(lambda y: lax.psum(y, "x"), in_specs=P("x"), out_specs=P())
        return inner(x) * (1 + lax.axis_index("a"))

    result = mapped(outer, GRID, P("a"), P("a"))(X)
    halves = [X[:4].reshape(4, 1, 4).sum(0), 2 * X[4:].reshape(4, 1, 4).sum(0)]
    np.testing.assert_array_equal(result, np.concatenate(halves))


@pytest.mark.parametrize(
    ("body", "is_fine"),
    [
        (lambda x: lax.psum(x, "x"), True),
        (lambda x: lax.all_gather(x, "x").sum(0), True),
        (lambda x: x, False),
        (lambda x: x * 0 + lax.axis_index("x"), False),
        (lambda x: lax.scan(lambda c, y: (c + y, 0), lax.psum(x[0], "x"), x)[0], False),
        (lambda x: lax.scan(lambda c, y: (c + lax.psum(y, "x"), 0), x[0] * 0, x)[0], False),
        (lambda x: lax.while_loop(lambda c: c < x.sum(), lambda c: c + 1, np.float32(0)), False),
        (lambda x: lax.cond(x.sum() > 0, lambda: 1, lambda: 2), False),
        (lambda x: fc.jit(lambda y: lax.pmax(y, "x"))(x), True),
        (lambda x: lax.fori_loop(0, 3, lambda i, c: c + i, 0), True),
    ],
)
def test_results_that_differ_are_found(body: Any, is_fine: bool) -> None:
    if is_fine:
        mapped(body, out_specs=P())(X)
        return
    with pytest.raises(ValueError, match=r'spec \(\) of result leaves out axis "x", along which'):
        mapped(body, out_specs=P())(X)


def test_pmap() -> None:
    def body(x: Any, n: int, scale: Any = 1.0) -> Any:
        return {"sum": lax.psum(x, "i") * n * scale, "own": x + lax.axis_index("i")}

    f = fc.pmap(body, axis_name="i", static_broadcasted_argnums=1, in_axes=(1, None))
    result = f(X, 3)
    np.testing.assert_array_equal(result["sum"], np.stack([3 * X.sum(1)] * 4))
    np.testing.assert_array_equal(result["own"], X.T + np.arange(4)[:, None])
    theirs = jax.pmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i", out_axes=1)(X[:4])
    ours = fc.pmap(lambda x: lax.pmean(x, "i"), axis_name="i", out_axes=1)(X[:4])
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(
        fc.pmap(lambda x, y: x + y, in_axes=(0, None))(X[:2], 1.0), X[:2] + 1
    )
    with pytest.raises(ValueError, match="has size 8, but there are 4 devices; use vmap"):
        fc.pmap(lambda x: x)(X)
    with pytest.raises(ValueError, match=r"must have one size, they have \[2, 4\]"):
        fc.pmap(lambda x, y: x + y)(X[:2], X[:4])


def test_pmap_leaves_each_part_on_its_device() -> None:
    given = fc.devices()[1:3]
    ours = fc.pmap(lambda x: x + 1, devices=given)(X[:2])
    assert [shard.data.device for shard in ours.addressable_shards] == given
    assert [shard.data.shape for shard in ours.addressable_shards] == [(1, *X.shape[1:])] * 2
    np.testing.assert_array_equal(ours, X[:2] + 1)


# ---- foreign code --------------------------------------------------------------------------------


def test_foreign_calls_run_on_each_device(handlers: Any) -> None:
    def scaled(x: Any) -> Any:
        call = fc.ffi.ffi_call("scale", fc.ShapeDtypeStruct(x.shape, x.dtype))
        return call(x, factor=np.float32(3))

    @fc.custom_vjp
    def f(x: Any) -> Any:
        return scaled(x)

    f.defvjp(lambda x: (scaled(x), None), lambda _, g: (scaled(g),))
    over = mapped(lambda x: lax.psum(f(x), "x"), out_specs=P())
    for g in (over, fc.jit(over)):
        np.testing.assert_allclose(g(X), 3 * X.reshape(4, 2, 4).sum(0))
    gradient = fc.jit(fc.grad(lambda x: (over(x) ** 2).sum()))(X)
    wanted = 2 * 3 * np.tile(3 * X.reshape(4, 2, 4).sum(0), (4, 1))
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6)
    report = fc.jit(over).lower(X).compile().report()
    assert len(report) == 1
    assert report[0].target_name == "scale"


def test_callbacks_run_on_each_device() -> None:
    seen = []

    def doubled(x: Any) -> Any:
        seen.append(threading.get_ident())
        return 2 * np.asarray(x)

    def body(x: Any) -> Any:
        y = fc.pure_callback(doubled, fc.ShapeDtypeStruct(x.shape, x.dtype), x)
        fc.debug.callback(lambda i: seen.append(int(i)), lax.axis_index("x"))
        return lax.psum(y, "x")

    np.testing.assert_array_equal(mapped(body, out_specs=P())(X), 2 * X.reshape(4, 2, 4).sum(0))
    assert {0, 1, 2, 3} <= set(seen)
    assert len([entry for entry in seen if entry > 3]) == 4
    # What a callback keeps of its operand stays what it was.
    kept: list[Any] = []
    keep = mapped(lambda x: fc.debug.callback(kept.append, x) or x * 2)
    for _ in range(20):
        fc.jit(keep)(X)
    assert sorted(np.asarray(k)[0, 0] for k in kept) == sorted([0, 8, 16, 24] * 20)
    nested = mapped(lambda x: fc.pure_callback(lambda v: np.asarray(fc.jit(fnp.sin)(v)), x, x))
    np.testing.assert_allclose(nested(X), np.sin(X), rtol=1e-6)


# ---- failures ------------------------------------------------------------------------------------


def test_a_condition_with_effects_runs_on_each_device() -> None:
    calls: list[tuple[int, int]] = []

    def note(place: Any, step: Any) -> None:
        calls.append((int(place), int(step)))
        if place == 3 and step == 7:
            raise ValueError("seven")

    def body(x: Any) -> Any:
        def goes_on(i: Any) -> Any:
            fc.debug.callback(note, lax.axis_index("x"), i)
            return lax.pmax(i, "x") < x.shape[0]

        return x + lax.while_loop(goes_on, lambda i: i + 1, lax.axis_index("x"))

    f: Any = fc.jit(mapped(body))
    np.testing.assert_array_equal(f(X[:, 0]), X[:, 0] + np.repeat([0, 1, 2, 3], 2))
    assert sorted(calls) == [(i, i) for i in range(4)]
    calls.clear()
    with pytest.raises(ValueError, match="seven"):
        f(np.arange(40, dtype="float32"))
    np.testing.assert_array_equal(f(X[:, 0]), X[:, 0] + np.repeat([0, 1, 2, 3], 2))


@pytest.mark.parametrize("failing", range(4))
def test_an_error_on_one_device_hangs_none(failing: int) -> None:
    def check(i: Any, x: Any) -> Any:
        if int(i) == failing:
            raise KeyError(f"device {failing}")
        return np.asarray(x)

    def body(x: Any) -> Any:
        y = fc.pure_callback(check, x, lax.axis_index("x"), x)
        return lax.fori_loop(0, 100, lambda i, c: c + lax.psum(y, "x"), x)

    f = fc.jit(mapped(body))
    for _ in range(3):
        with pytest.raises(KeyError, match=f"device {failing}"):
            f(X)
    np.testing.assert_array_equal(
        fc.jit(mapped(lambda x: lax.psum(x, "x")))(X)[:2], X.reshape(4, 2, 4).sum(0)
    )


@on_native
def test_a_deadlock_is_reported() -> None:
    def body(x: Any) -> Any:
        return lax.cond(lax.axis_index("x") == 2, lambda c: c + lax.psum(c, "x"), lambda c: c, x)

    with pytest.raises(RuntimeError, match="deadlock: 3 of 4 devices have ended"):
        mapped(body)(X)

    def differ(x: Any) -> Any:
        return lax.cond(
            lax.axis_index("x") == 2,
            lambda c: lax.psum(c, "x"),
            lambda c: lax.pmax(c, "x"),
            x,
        )

    with pytest.raises(RuntimeError, match="the devices run different collectives"):
        mapped(differ)(X)


def test_programs_run_from_several_threads() -> None:
    f = fc.jit(mapped(lambda x: lax.fori_loop(0, 20, lambda i, c: lax.pmean(c, "x") + 1, x)))
    wanted = np.asarray(f(X))
    results: list[Any] = []

    def work() -> None:
        for _ in range(5):
            results.append(np.asarray(f(X)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    for result in results:
        np.testing.assert_array_equal(result, wanted)


@on_native
@pytest.mark.parametrize("meets", [True, False])
def test_an_interrupt_ends_all_devices(meets: bool) -> None:
    def forever(x: Any) -> Any:
        return lax.while_loop(
            lambda c: (lax.psum(c, "x") if meets else c).sum() > -1, lambda c: c + 1, x
        )

    f = fc.jit(mapped(forever))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        f(X)
    assert time.monotonic() - begin < 30
    np.testing.assert_array_equal(mapped(lambda x: x + 1)(X), X + 1)


# ---- wrong arguments -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: mapped(lambda x: x)(X[:6]), ValueError, "argument .*dimension 0 .* multiple of 4"),
        (lambda: mapped(lambda x: x, in_specs=P("z"))(X), ValueError, "names axis 'z'"),
        (lambda: mapped(lambda x: x, in_specs=P(None, None, "x"))(X), ValueError, "3 entries"),
        (lambda: mapped(lambda x: x.sum(), out_specs=P("x"))(X), ValueError, "1 entries"),
        (lambda: mapped(lambda x: x, in_specs=(P(), P()))(X), ValueError, "tree prefix"),
        (lambda: lax.psum(X, "x"), NameError, "unbound axis name"),
        (lambda: fc.make_mesh((8,), ("x",)), ValueError, "needs 8 devices, but there are 4"),
        (lambda: fc.sharding.Mesh(np.array(fc.devices()), ("x", "y")), ValueError, "axis names"),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_the_text_of_a_program_parses_back() -> None:
    f = mapped(lambda x: lax.psum(x * 2, "x"), out_specs=P())
    program = fc.make_jaxpr(f)(X)
    text = str(program)
    assert "shard_map" in text
    assert "psum" in text
    parsed = fc.parse_program(text)
    assert parsed == program
    np.testing.assert_array_equal(parsed(X)[0], 2 * X.reshape(4, 2, 4).sum(0))
