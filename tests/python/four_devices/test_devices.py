"""Devices of an engine, and arrays that lie over several of them."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from farcall import lax
from farcall._plugins import find_plugin
from farcall.sharding import NamedSharding, SingleDeviceSharding

ENGINE = fc.devices()[0].engine
on_native = pytest.mark.skipif(ENGINE != "native", reason="the plugin does not count its memory")

P = fc.P
X = np.arange(32, dtype=np.float32).reshape(8, 4)
MESH = fc.make_mesh((4,), ("x",))
GRID = fc.make_mesh((2, 2), ("a", "b"))
JAX_MESH = jax.make_mesh((4,), ("x",))
JAX_GRID = jax.make_mesh((2, 2), ("a", "b"))


# ---- devices -------------------------------------------------------------------------------------


def test_there_are_four() -> None:
    devices = fc.devices()
    assert [(d.id, d.platform, d.engine) for d in devices] == [(i, "cpu", ENGINE) for i in range(4)]
    name = {"native": "cpu", "pjrt": "pjrt"}[ENGINE]
    assert [str(d) for d in devices] == [f"{name}:{i}" for i in range(4)]
    assert fc.device_count() == fc.local_device_count() == len(fc.local_devices()) == 4
    assert fc.devices(ENGINE) == devices
    assert len(fc.devices("native")) == 4
    assert pickle.loads(pickle.dumps(devices[2])) == devices[2]


def test_programs_run_where_their_arrays_are() -> None:
    device = fc.devices()[2]
    x = fc.device_put(X, device)
    f = fc.jit(lambda a, b: (fnp.sin(a) @ b.T, a))
    assert (x.device, x.committed, x.sharding) == (device, True, SingleDeviceSharding(device))
    for y in (x + 1, x[1:], *f(x, X), fc.grad(lambda a: (a * a).sum())(x), x.T, x.sum()):
        assert (y.device, y.committed) == (device, True)
    np.testing.assert_array_equal(f(x, X)[0], f(X, X)[0])
    assert fc.device_put(x, fc.devices()[0]).device == fc.devices()[0]
    with fc.default_device(device):
        assert fnp.ones(3).device == device
        assert not fnp.ones(3).committed
    assert fc.jit(lambda a: a, device=device)(X).device == device


MAKERS: dict[str, Any] = {
    "asarray": lambda m: m.numpy.asarray(X),
    "array": lambda m: m.numpy.array([1.0, 2.0]),
    "a copy of an array": lambda m: m.numpy.array(m.on_first),
    "asarray of an array": lambda m: m.numpy.asarray(m.on_first),
    "a scalar type": lambda m: m.numpy.float32(3),
    "device_put": lambda m: m.root.device_put({"a": X})["a"],
    "device_put of an array": lambda m: m.root.device_put(m.on_first),
    "frombuffer": lambda m: m.numpy.frombuffer(b"abcd", np.uint8),
    "arange": lambda m: m.numpy.arange(0, 1, 0.25),
    "ones": lambda m: m.numpy.ones(3),
    "unique": lambda m: m.numpy.unique(X),
    "nonzero": lambda m: m.numpy.nonzero(X)[0],
    "a sum": lambda m: m.numpy.add(X, 1),
    "a traced constant": lambda m: m.root.jit(lambda: m.numpy.asarray(X))(),
    "an unpickled array": lambda m: pickle.loads(pickle.dumps(m.on_first)),
    "random bits": lambda m: m.root.random.bits(m.root.random.key(0), (3,)),
}


class Module:
    """JAX, or farcall under the same names, and an array that its first device has."""

    def __init__(self, root: Any) -> None:
        self.root, self.numpy = root, root.numpy
        self.on_first = root.numpy.ones(3)


@pytest.mark.parametrize("name", MAKERS)
def test_new_arrays_are_on_the_default_device(name: str) -> None:
    places = []
    for root in (fc, jax):
        module = Module(root)
        with root.default_device(root.devices()[2]):
            made = MAKERS[name](module)
        (device,) = made.devices()
        places.append((device.id, made.committed))
        if root is fc:
            assert device.engine == ENGINE
    assert places[0] == places[1]


@on_native
def test_an_array_on_the_default_device_is_moved_there_once() -> None:
    device = fc.devices()[3]
    before = device.memory_stats()["bytes_in_use"]
    with fc.default_device(device):
        x = fnp.asarray(np.zeros(1 << 20, np.uint8))
        assert device.memory_stats()["bytes_in_use"] == before + (1 << 20)
        f = fc.jit(lambda a: a[0])
        f(x)
        peak = device.memory_stats()["peak_bytes_in_use"]
        for _ in range(3):
            f(x)
        assert device.memory_stats()["peak_bytes_in_use"] == peak


def test_arrays_of_different_devices_do_not_meet() -> None:
    x, y = (fc.device_put(X, device) for device in fc.devices()[1:3])
    with pytest.raises(ValueError, match=r"operand 0 to \w+:1, operand 1 to \w+:2. Move one"):
        x + y
    with pytest.raises(ValueError, match=r"different devices"):
        fc.jit(fnp.add)(x, y)
    over = fc.device_put(X, NamedSharding(MESH, P("x")))
    with pytest.raises(ValueError, match=r"operand 0 to \w+:1, operand 1 to \w+:0, \w+:1, \w+:2"):
        x + over
    assert (over + X).sharding == over.sharding


@on_native
def test_each_device_counts_its_memory() -> None:
    device = fc.devices()[3]
    before = device.memory_stats()["bytes_in_use"]
    x = fc.device_put(np.zeros(1 << 20, np.uint8), device)
    assert device.memory_stats()["bytes_in_use"] == before + (1 << 20)
    y = fc.jit(lambda a: a + 1)(x)
    assert device.memory_stats()["bytes_in_use"] == before + (2 << 20)
    assert device.memory_stats()["peak_bytes_in_use"] >= before + (2 << 20)
    assert device.memory_stats()["bytes_limit"] > 1 << 20
    del x, y
    assert device.memory_stats()["bytes_in_use"] == before


@on_native
def test_donated_arrays_of_a_device_are_used() -> None:
    device = fc.devices()[1]
    f = fc.jit(lambda a: a + 1, donate_argnums=0)
    x = fc.device_put(np.zeros(1 << 18, np.float32), device)
    before = device.memory_stats()["bytes_in_use"]
    y = f(x)
    assert x.is_deleted()
    assert device.memory_stats()["bytes_in_use"] == before
    assert y.device == device
    view = np.asarray(y)
    z = f(y)
    assert (view[0], z[0]) == (1, 2)


def test_repeated_calls_run_where_their_arguments_are() -> None:
    f = fc.jit(lambda a, b: (a + b, a * b))
    on_last = fc.jit(lambda a: a + 1, device=fc.devices()[3])
    plain = fnp.arange(3.0)
    for _ in range(3):
        for device in fc.devices():
            x = fc.device_put(plain, device)
            results = f(x, x)
            for result in results:
                assert (result.device, result.committed) == (device, True)
            np.testing.assert_array_equal(results[0], [0, 2, 4])
            mixed = f(x, plain)[1]
            assert (mixed.device, mixed.committed) == (device, True)
            assert on_last(x).device == on_last(plain).device == fc.devices()[3]
            assert on_last(plain).committed
            with fc.default_device(device):
                uncommitted = f(plain, plain)[0]
                again = f(uncommitted, uncommitted)[0]
            assert not uncommitted.committed
            assert uncommitted.device == again.device == device
            assert f(uncommitted, uncommitted)[0].device == fc.devices()[0]
        first, last = (fc.device_put(plain, fc.devices()[i]) for i in (0, 3))
        with pytest.raises(ValueError, match="different devices"):
            f(first, last)
        del x, results
    x = fc.device_put(plain, fc.devices()[1])
    f(x, x)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f(x, x)


# ---- arrays over several devices -----------------------------------------------------------------

SPECS = [(), ("x",), (None, "x")]
GRID_SPECS = [("a",), ("a", "b"), ("b", "a"), (("a", "b"),), (("b", "a"),), (None, ("b", "a"))]


def cases() -> list[Any]:
    return [(MESH, JAX_MESH, spec) for spec in SPECS] + [
        (GRID, JAX_GRID, spec) for spec in GRID_SPECS
    ]


@pytest.mark.parametrize(("ours", "theirs", "spec"), cases())
def test_shards_are_those_of_jax(ours: Any, theirs: Any, spec: Any) -> None:
    sharding = NamedSharding(ours, P(*spec))
    wanted = jax.sharding.NamedSharding(theirs, jax.sharding.PartitionSpec(*spec))
    x, y = fc.device_put(X, sharding), jax.device_put(X, wanted)
    assert x.sharding == sharding
    assert x.committed
    assert x.is_fully_replicated == y.is_fully_replicated
    assert sharding.shard_shape(X.shape) == wanted.shard_shape(X.shape)
    assert [d.id for d in sorted(x.devices(), key=lambda d: d.id)] == [0, 1, 2, 3]
    mine = sorted(x.addressable_shards, key=lambda shard: shard.device.id)
    his = sorted(y.addressable_shards, key=lambda shard: shard.device.id)
    for a, b in zip(mine, his, strict=True):
        assert (a.device.id, a.index, a.replica_id) == (b.device.id, b.index, b.replica_id)
        np.testing.assert_array_equal(a.data, b.data)
        assert a.data.device == a.device
    np.testing.assert_array_equal(np.asarray(x), X)
    assert x.tolist() == X.tolist()
    assert {d.id: i for d, i in sharding.devices_indices_map(X.shape).items()} == {
        d.id: i for d, i in wanted.devices_indices_map(X.shape).items()
    }


@pytest.mark.parametrize(("mesh", "_", "spec"), cases())
def test_arrays_are_made_from_parts(mesh: Any, _: Any, spec: Any) -> None:
    sharding = NamedSharding(mesh, P(*spec))
    asked = []

    def part(index: Any) -> Any:
        asked.append(index)
        return X[index]

    x = fc.make_array_from_callback(X.shape, sharding, part)
    assert x.sharding == sharding
    assert len(asked) == len({str(index) for index in asked})
    parts = [shard.data for shard in x.addressable_shards]
    y = fc.make_array_from_single_device_arrays(X.shape, sharding, parts[::-1])
    z = fc.make_array_from_process_local_data(sharding, X)
    for array in (x, y, z):
        np.testing.assert_array_equal(array, X)
        assert array.sharding == sharding
    same = fc.make_array_from_callback(X.shape, sharding, part, dtype="float32")
    assert same.dtype == np.float32
    for make, given in (
        (fc.make_array_from_callback, part),
        (fc.make_array_from_single_device_arrays, parts),
    ):
        with pytest.raises(ValueError, match="dtype is float16, but the parts are float32"):
            make(X.shape, sharding, given, dtype="float16")


def test_parts_that_do_not_fit_are_refused() -> None:
    sharding = NamedSharding(MESH, P("x"))
    parts = [shard.data for shard in fc.device_put(X, sharding).addressable_shards]
    make = fc.make_array_from_single_device_arrays
    with pytest.raises(ValueError, match="sequence of 4 arrays"):
        make(X.shape, sharding, parts[:3])
    with pytest.raises(ValueError, match="the arrays lie on"):
        make(X.shape, sharding, [parts[0]] * 4)
    with pytest.raises(ValueError, match=r"must have the shape \(4, 4\), got \(2, 4\)"):
        make((16, 4), sharding, parts)
    halves = [fc.device_put(part.astype("float16"), part.device) for part in parts[:2]]
    with pytest.raises(ValueError, match="must have one dtype, got float16, float32"):
        make(X.shape, sharding, halves + parts[2:])
    with pytest.raises(ValueError, match=r"dimension 0 of .*6.* must be a multiple of 4"):
        fc.device_put(np.zeros(6), sharding)
    with pytest.raises(ValueError, match="1 entries, but the array of shape"):
        fc.device_put(1.0, sharding)


@pytest.mark.parametrize("kind", ["float16", "int8", "bool", "complex64", "uint32"])
def test_every_kind_of_number_is_spread(kind: str) -> None:
    data = np.arange(24).reshape(4, 3, 2).astype(kind)
    for spec in (P("a"), P(None, None, "b"), P("a", None, "b"), P(("a", "b"))):
        x = fc.device_put(data, NamedSharding(GRID, spec))
        np.testing.assert_array_equal(np.asarray(x), data)
        np.testing.assert_array_equal(np.asarray(x[1:]), data[1:])
    empty = fc.device_put(np.zeros((4, 0)), NamedSharding(MESH, P("x")))
    assert empty.addressable_shards[0].data.shape == (1, 0)


def test_shardings_are_equivalent_as_in_jax() -> None:
    orders = ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2])
    grids = [((4,), "x"), ((2, 2), "xy"), ((4, 1), "xy")]
    specs = [(), ("x",), ("y",), (None, "x"), (("y", "x"),), ("x", "y")]

    def all_of(library: Any, devices: Any, spec_of: Any) -> list[Any]:
        return [
            library.NamedSharding(
                library.Mesh(np.array([devices[i] for i in order]).reshape(sizes), tuple(names)),
                spec_of(*spec),
            )
            for order in orders
            for sizes, names in grids
            for spec in specs
            if set(names) == {"x", "y"} or "y" not in str(spec)
        ]

    ours = all_of(fc.sharding, fc.devices(), P)
    theirs = all_of(jax.sharding, jax.devices(), jax.sharding.PartitionSpec)
    for a, c in zip(ours, theirs, strict=True):
        for b, d in zip(ours, theirs, strict=True):
            assert a.is_equivalent_to(b, 2) == c.is_equivalent_to(d, 2), (a, b)


def test_operations_on_sharded_arrays() -> None:
    x = fc.device_put(X, NamedSharding(MESH, P("x")))
    w = fc.device_put(X.T, NamedSharding(MESH, P()))
    f = fc.jit(lambda a, b: (fnp.tanh(a) * 2 + a, a @ b, a.sum(axis=1), a.T, a.sum()))
    specs = [P("x"), P("x"), P("x"), P(None, "x"), P()]
    for found, wanted, spec in zip(f(x, w), f(X, X.T), specs, strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
        assert found.sharding.is_equivalent_to(NamedSharding(MESH, spec), found.ndim), spec
    for found, wanted in ((x + x, X + X), (-x, -X), (x[3], X[3]), (x.at[0].set(7.0), None)):
        assert found.devices() == set(fc.devices())
        if wanted is not None:
            np.testing.assert_array_equal(found, wanted)
    gradient = fc.grad(lambda a: (a @ w).sum())(x)
    np.testing.assert_array_equal(gradient, fc.grad(lambda a: (a @ X.T).sum())(X))
    # Where JAX is wrong: updates one after the other of a sharded array.
    updated = x.at[2:5].set(1).at[7].add(2)
    wanted = X.copy()
    wanted[2:5], wanted[7] = 1, wanted[7] + 2
    np.testing.assert_array_equal(updated, wanted)


def addresses(x: Any) -> list[int]:
    """Of the shards; of the whole array if that is what the engine's programs use."""
    if ENGINE != "pjrt":
        return [x.unsafe_buffer_pointer()]
    return [shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards]


@pytest.mark.parametrize("spec", [P("x"), P(None, "x"), P()])
@pytest.mark.parametrize("names_shardings", [False, True])
def test_donated_arrays_over_a_mesh_are_used(spec: Any, names_shardings: bool) -> None:
    sharding = NamedSharding(MESH, spec)
    shardings: dict[str, Any] = {"in_shardings": sharding, "out_shardings": (sharding, None)}
    donating = fc.jit(
        lambda a, b: (a + b, b.sum()), donate_argnums=0, **shardings if names_shardings else {}
    )
    x, b = fc.device_put(X, sharding), fc.device_put(X, sharding)
    x = x + 1  # not memory of numpy
    before = addresses(x)
    for _ in range(3):
        given = x
        x, total = donating(given, b)
        assert given.is_deleted()
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=f32\[8,4\]"):
            given + 1
        assert float(total) == X.sum()
        assert x.sharding == sharding
        assert addresses(x) == before
        del given
    np.testing.assert_array_equal(x, X + 1 + 3 * X)
    np.testing.assert_array_equal(b, X)


@pytest.mark.parametrize("spec", [P("x"), P(None, "x"), P()])
def test_donated_arrays_of_a_shard_map_are_used(spec: Any) -> None:
    ring = [(i, (i + 1) % 4) for i in range(4)]

    def body(w: Any, g: Any) -> Any:
        total = lax.psum(g.sum(), "x")
        return lax.pmean(w, "x") + lax.ppermute(w, "x", ring) * g.sum() + w, total

    rows = NamedSharding(MESH, P("x"))
    step: Any = fc.shard_map(
        body, mesh=MESH, in_specs=(spec, P("x")), out_specs=(spec, P()), check_vma=False
    )
    donating, keeping = fc.jit(step, donate_argnums=0), fc.jit(step)
    x, g = fc.device_put(X, NamedSharding(MESH, spec)) + 1, fc.device_put(X / 100, rows)
    wanted, before = fc.device_put(X, NamedSharding(MESH, spec)) + 1, addresses(x)
    for _ in range(5):
        given = x
        x, _ = donating(given, g)
        wanted, _ = keeping(wanted, g)
        assert given.is_deleted()
        if ENGINE != "pjrt":  # XLA decides whether collectives write over what they read
            assert addresses(x) == before
    np.testing.assert_array_equal(x, wanted)


def test_donated_shards_are_used() -> None:
    sharding = NamedSharding(MESH, P("x"))
    donating = fc.jit(lambda a: a * 2, donate_argnums=0)
    x = fc.device_put(X, sharding)
    shard = x.addressable_shards[1].data + 0
    np.testing.assert_array_equal(donating(x), X * 2)
    assert x.is_deleted()
    np.testing.assert_array_equal(shard, X[2:4])


def test_a_call_that_fails_before_it_runs_keeps_its_donated_arrays() -> None:
    sharding = NamedSharding(MESH, P("x"))
    x, y = fc.device_put(X, sharding) + 0, fc.device_put(X, sharding) + 0
    both = fc.jit(lambda a, b: (a + 1, b + a), donate_argnums=(0, 1))
    both(fc.device_put(X, sharding) + 0, y)
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        both(x, y)
    np.testing.assert_array_equal(x, X)


@pytest.mark.skipif(ENGINE == "pjrt", reason="a plugin's programs with callbacks overwrite nothing")
def test_a_run_that_fails_deletes_the_donated_arrays_that_it_may_have_overwritten() -> None:
    def fail(a: Any) -> Any:
        raise KeyError("no")

    def f(a: Any) -> Any:
        return a + 1, fc.pure_callback(fail, fc.ShapeDtypeStruct((8, 4), "float32"), a + 1)

    x = fc.device_put(X, NamedSharding(MESH, P("x"))) + 0
    with pytest.raises(KeyError, match="no"):
        fc.jit(f, donate_argnums=0)(x)
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        x + 1


def test_memory_of_a_donated_array_over_a_mesh_that_is_seen_elsewhere_is_not_overwritten() -> None:
    donating = fc.jit(lambda a: a * 2, donate_argnums=0)
    sharding = NamedSharding(MESH, P("x"))
    mine = X.copy()
    np.testing.assert_array_equal(donating(fc.device_put(mine, sharding)), X * 2)
    np.testing.assert_array_equal(mine, X)
    x = fc.device_put(X, sharding) + 0
    shard = x.addressable_shards[1].data
    view, whole = np.asarray(shard), np.asarray(x)
    again = fc.device_put(x, NamedSharding(fc.make_mesh((4, 1), ("x", "y")), P("x", "y")))
    np.testing.assert_array_equal(donating(x), X * 2)
    np.testing.assert_array_equal(shard, X[2:4])
    np.testing.assert_array_equal(view, X[2:4])
    np.testing.assert_array_equal(whole, X)
    np.testing.assert_array_equal(again, X)
    # The same array twice, and one with another sharding than the program wants.
    both = fc.jit(lambda a, b: (a + 1, b + a), donate_argnums=(0, 1))
    x = fc.device_put(X, sharding) + 0
    first, second = both(x, x)
    np.testing.assert_array_equal(first, X + 1)
    np.testing.assert_array_equal(second, X + X)
    columns = fc.device_put(X, NamedSharding(MESH, P(None, "x"))) + 0
    moving = fc.jit(lambda a: a + 1, donate_argnums=0, in_shardings=sharding)
    np.testing.assert_array_equal(moving(columns), X + 1)
    np.testing.assert_array_equal(columns, X)


def test_donation_over_a_mesh_with_shard_map_and_checks_of_results() -> None:
    def body(a: Any) -> Any:
        return a + lax.psum(a, "x").sum()

    mapped = fc.shard_map(body, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    step = fc.jit(lambda a: mapped(a) * 2, donate_argnums=0)
    x = fc.device_put(X, NamedSharding(MESH, P("x"))) + 0
    y = step(x)
    assert x.is_deleted()
    np.testing.assert_allclose(y, (X + X.sum()) * 2, rtol=1e-6)
    with fc.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        step(y * np.nan)
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        step(x)


def test_functions_that_make_arrays_put_them_on_devices() -> None:
    rows, second = NamedSharding(MESH, P("x")), fc.devices()[1]
    makers: list[Any] = [
        lambda **where: fnp.zeros((8, 4), **where),
        lambda **where: fnp.ones((8, 4), "int32", **where),
        lambda **where: fnp.full((8, 4), 3.0, **where),
        lambda **where: fnp.empty((8, 4), **where),
        lambda **where: fnp.array(X, **where),
        lambda **where: fnp.asarray(X, **where),
        lambda **where: fnp.arange(8, **where),
        lambda **where: fnp.zeros_like(X, **where),
        lambda **where: fnp.ones_like(X, "int8", **where),
        lambda **where: fnp.full_like(X, 2, **where),
        lambda **where: fnp.empty_like(X, **where),
        lambda **where: fnp.eye(8, **where),
        lambda **where: fnp.linspace(0, 1, 8, **where),
        lambda **where: fnp.linspace(0, 1, 8, retstep=True, **where)[0],
        lambda **where: fnp.astype(X, "int32", **where),
        lambda **where: fnp.asarray(X).astype("int32", **where),
        lambda **where: fnp.from_dlpack(X, **where),
        lambda **where: fnp.fft.fftfreq(8, **where),
        lambda **where: fnp.fft.rfftfreq(14, **where),
        lambda **where: lax.full((8, 4), 3, sharding=where.get("device")),
        lambda **where: lax.full_like(X, 3, sharding=where.get("device")),
    ]
    for make in makers:
        x = make(device=rows)
        assert x.sharding == rows
        np.testing.assert_array_equal(x, make())
        assert make(device=second).devices() == {second}
        with fc.set_mesh(MESH):
            assert make(device=P("x")).sharding == rows
    spread = fc.device_put(X, rows)
    assert fnp.zeros_like(spread).sharding == rows
    assert fnp.ones_like(spread, shape=(3,)).devices() == {fc.devices()[0]}
    assert fc.jit(lambda x: fnp.zeros_like(x) + 1)(spread).sum() == 32
    with pytest.raises(ValueError, match=r"dimension 0 of size 6 must be a multiple of 4"):
        fnp.zeros(6, device=rows)


def test_the_flag_default_device() -> None:
    second = fc.devices()[1]
    fc.config.update("jax_default_device", second)
    try:
        assert fnp.ones(2).devices() == fc.jit(fnp.sin)(X).devices() == {second}
        fc.config.update("jax_default_device", "native")
        assert fnp.ones(2).devices() == {fc.devices("native")[0]}
        wanted = "None, a Device, or the name of a platform or engine; got 'mars'"
        with pytest.raises(ValueError, match=wanted):
            fc.config.update("default_device", "mars")
    finally:
        fc.config.update("jax_default_device", None)
    assert fnp.ones(2).devices() == {fc.devices()[0]}


def test_arrays_move_between_shardings() -> None:
    x = fc.device_put(X, NamedSharding(GRID, P("a", "b")))
    y = fc.device_put(x, NamedSharding(MESH, P(None, "x")))
    z = fc.device_put(y, fc.devices()[3])
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(z, X)
    assert z.devices() == {fc.devices()[3]}
    with fc.set_mesh(GRID):
        assert fc.device_put(X, P("b")).sharding == NamedSharding(GRID, P("b"))
        assert lax.with_sharding_constraint(x, P("b")).sharding == NamedSharding(GRID, P("b"))


# ---- jit -----------------------------------------------------------------------------------------


def test_jit_places_arguments_and_results() -> None:
    rows, columns = NamedSharding(MESH, P("x")), NamedSharding(MESH, P(None, "x"))
    seen = []

    def f(a: Any, b: Any, n: int) -> Any:
        seen.append(n)
        return {"sum": lax.with_sharding_constraint(a, rows) + b * n, "a": a}

    jitted = fc.jit(
        f,
        static_argnums=2,
        in_shardings=(rows, None),
        out_shardings={"sum": columns, "a": None},
    )
    for _ in range(3):
        result = jitted(X, X, 2)
        assert result["sum"].sharding == columns
        assert result["a"].sharding == rows
        np.testing.assert_array_equal(result["sum"], 3 * X)
    assert seen == [2]
    assert jitted.cache_info().size == 1
    one = fc.jit(lambda a: a * 2, out_shardings=rows)
    assert one(X).sharding == rows
    np.testing.assert_array_equal(fc.jit(lambda a: one(a) + 1)(X), 2 * X + 1)
    with pytest.raises(ValueError, match=r"in_shardings: dimension 0 .* must be a multiple of 4"):
        jitted(X[:6], X[:6], 2)
    with pytest.raises(ValueError, match="out_shardings: it must be a tree prefix"):
        fc.jit(lambda a: a, out_shardings=(rows, rows))(X)


def test_a_mesh_has_each_device_once() -> None:
    first = fc.devices()[0]
    mesh = fc.sharding.Mesh(np.array([first, first]), ("x",))
    with pytest.raises(ValueError, match=r"mesh \(x: 2\) has .*:0 at two places"):
        fc.device_put(X, NamedSharding(mesh, P("x")))
    with pytest.raises(ValueError, match="at two places"):
        fc.shard_map(lambda x: x, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(X)


def test_in_shardings_describe_no_arguments_by_name() -> None:
    rows = NamedSharding(MESH, P("x"))
    for given in (rows, (rows,), P("x")):
        f = fc.jit(lambda a, b=1: a * b, in_shardings=given)
        with fc.sharding.use_mesh(MESH) if isinstance(given, P) else contextlib.nullcontext():
            with pytest.raises(ValueError, match="passed by position, got 'a' by name"):
                f(a=X)
            with pytest.raises(ValueError, match="passed by position, got 'b' by name"):
                f.lower(X, b=2)
            np.testing.assert_array_equal(f(X), X)


def test_devices_of_another_engine_show_it() -> None:
    other = "pjrt" if ENGINE == "native" else "native"
    assert repr(fc.devices()[1]) == "CpuDevice(id=1)"
    if other == "native" or find_plugin():
        assert repr(fc.devices(other)[1]) == f"CpuDevice(id=1, engine='{other}')"
