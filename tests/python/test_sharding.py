"""Devices, meshes, shardings, shard_map and pmap on the one device; what arrays tell of it."""

from __future__ import annotations

import pickle
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from farcall import lax
from farcall.experimental.shard_map import shard_map as early_shard_map
from farcall.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

P = PartitionSpec
MESH = fc.make_mesh((1, 1), ("x", "y"))
X = np.float32([[1, 2], [3, 4], [5, 6]])

# ---- devices -------------------------------------------------------------------------------------


def test_devices_are_those_of_jax_on_one_cpu() -> None:
    ours, theirs = fc.devices()[0], jax.devices()[0]
    for name in ("platform", "id", "process_index", "device_kind", "host_id", "local_hardware_id"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert (str(ours), repr(ours)) == (str(theirs), repr(theirs))
    for name in ("device_count", "local_device_count", "process_count", "process_index"):
        assert getattr(fc, name)() == getattr(jax, name)(), name
    assert fc.local_devices() == fc.devices("cpu") == [ours]
    assert fc.host_ids() == fc.process_indices() == [0]


def test_default_device_is_a_scope_and_a_decorator() -> None:
    with fc.default_device(fc.devices()[0]):
        assert fnp.ones(2).device == fc.devices()[0]
    assert fc.default_device("cpu")(lambda: 3)() == 3
    with pytest.raises(ValueError, match='default_device: unknown platform or engine "gpu"'):
        fc.default_device("gpu")
    with pytest.raises(TypeError, match="expected a Device or the name of a platform, got 3"):
        fc.default_device(3)


@pytest.mark.parametrize("name", ["devices", "local_devices", "device_count", "process_count"])
def test_other_platforms_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=f'{name}: unknown platform or engine "gpu"'):
        getattr(fc, name)(backend="gpu")


# ---- specs, meshes, shardings --------------------------------------------------------------------


@pytest.mark.parametrize(
    "entries", [(), ("x",), ("x", None, ("a", "b")), (("a",), ()), (None,), (["a", "b"],)]
)
def test_specs_are_those_of_jax(entries: tuple[Any, ...]) -> None:
    ours, theirs = P(*entries), jax.sharding.PartitionSpec(*entries)
    assert repr(ours) == repr(theirs)
    assert tuple(ours) == tuple(theirs)
    assert len(ours) == len(theirs)
    assert ours == P(*entries)
    assert hash(ours) == hash(P(*entries))
    assert pickle.loads(pickle.dumps(ours)) == ours


def test_a_mesh_has_the_attributes_of_that_of_jax() -> None:
    theirs = jax.make_mesh((1, 1), ("x", "y"))
    for name in (
        "axis_names",
        "axis_sizes",
        "shape",
        "shape_tuple",
        "size",
        "empty",
        "is_multi_process",
    ):
        assert getattr(MESH, name) == getattr(theirs, name), name
    assert str(MESH.axis_types) == str(theirs.axis_types)
    assert MESH.devices.shape == theirs.devices.shape
    assert MESH.device_ids.tolist() == theirs.device_ids.tolist()
    assert fc.make_mesh((1, 1), ("x", "y")) == MESH
    assert hash(MESH) == hash(MESH.local_mesh)
    assert fc.make_mesh((1,), ("x",)) != MESH
    own = Mesh(np.array(fc.devices()), ("x",))
    assert own.axis_types == (AxisType.Auto,)
    assert own.auto_axes == ("x",)
    assert own.abstract_mesh.shape == {"x": 1}


def test_a_named_sharding_has_the_attributes_of_that_of_jax() -> None:
    ours = NamedSharding(MESH, P("x", "y"))
    theirs = jax.sharding.NamedSharding(
        jax.make_mesh((1, 1), ("x", "y")), jax.sharding.PartitionSpec("x", "y")
    )
    for name in ("num_devices", "is_fully_replicated", "is_fully_addressable", "memory_kind"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.shard_shape((3, 2)) == theirs.shard_shape((3, 2))
    assert list(ours.devices_indices_map((3, 2)).values()) == list(
        theirs.devices_indices_map((3, 2)).values()
    )
    assert ours.is_equivalent_to(SingleDeviceSharding(fc.devices()[0]), 2)
    assert ours == NamedSharding(MESH, P("x", "y")) != NamedSharding(MESH, P("x"))
    assert ours.update(spec=P()).spec == P()


def test_the_current_mesh() -> None:
    assert fc.sharding.get_mesh().empty
    with fc.set_mesh(MESH) as mesh:
        assert mesh is fc.sharding.get_mesh()
        assert fc.sharding.get_abstract_mesh() == MESH.abstract_mesh
        assert fc.device_put(X, P("x")).sharding == NamedSharding(MESH, P("x"))
    with MESH:
        assert fc.sharding.get_mesh() == MESH
    assert fc.sharding.get_mesh().empty


# ---- arrays --------------------------------------------------------------------------------------


def test_arrays_tell_where_they_lie() -> None:
    ours, theirs = fnp.array(X), jax.numpy.array(X)
    assert str(ours.device) == str(theirs.device)
    assert len(ours.devices()) == len(ours.addressable_shards) == len(ours.global_shards) == 1
    shard, wanted = ours.addressable_shards[0], theirs.addressable_shards[0]
    assert (shard.index, shard.replica_id) == (wanted.index, wanted.replica_id)
    np.testing.assert_array_equal(shard.data, X)
    np.testing.assert_array_equal(ours.addressable_data(0), X)
    with pytest.raises(TypeError, match=r"addressable_data: index must be an integer, got slice"):
        ours.addressable_data(slice(0, 1))  # type: ignore[arg-type]
    with pytest.raises(IndexError, match=r"index 1 is out of range for an array on 1 of this"):
        ours.addressable_data(1)
    for name in ("is_fully_addressable", "is_fully_replicated", "committed", "platform"):
        assert getattr(ours, name) == (
            theirs.platform() if name == "platform" else getattr(theirs, name)
        )
    assert ours.on_device_size_in_bytes() == theirs.on_device_size_in_bytes()
    assert ours.is_ready()
    assert ours.copy_to_host_async() is None
    assert isinstance(ours.sharding, SingleDeviceSharding)
    assert fc.copy_to_host_async({"a": ours})["a"] is ours


def test_an_array_keeps_the_sharding_that_it_was_given() -> None:
    sharding = NamedSharding(MESH, P("x"))
    x = fnp.array(X)
    placed = fc.device_put({"a": x, "b": 1.0}, {"a": sharding, "b": fc.devices()[0]})
    assert placed["a"].sharding == sharding
    assert placed["a"].committed
    assert isinstance(x.sharding, SingleDeviceSharding)
    assert isinstance((placed["a"] + 1).sharding, SingleDeviceSharding)
    assert isinstance(placed["b"].sharding, SingleDeviceSharding)
    assert x.to_device(sharding).sharding == sharding
    for _ in range(100):  # entries go with their arrays, whose identities come again
        fc.device_put(X, sharding)
        assert isinstance(fnp.array(X).sharding, SingleDeviceSharding)


def test_delete_gives_the_memory_up() -> None:
    x = fnp.array(X)
    view = np.asarray(x)
    x.delete()
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="delete"):
        x + 1
    np.testing.assert_array_equal(view, X)
    with pytest.raises(TypeError, match="traced"):
        fc.jit(lambda y: y.delete())(X)


def test_arrays_are_made_from_parts() -> None:
    sharding = NamedSharding(MESH, P("x"))
    made = fc.make_array_from_callback(X.shape, sharding, lambda index: X[index])
    np.testing.assert_array_equal(made, X)
    assert made.sharding == sharding
    parts = [fnp.array(X)]
    np.testing.assert_array_equal(
        fc.make_array_from_single_device_arrays(X.shape, sharding, parts), X
    )
    np.testing.assert_array_equal(fc.make_array_from_process_local_data(sharding, X), X)
    with pytest.raises(ValueError, match=r"must have the shape \(3, 2\), got \(1, 2\)"):
        fc.make_array_from_callback(X.shape, sharding, lambda index: X[:1])
    with pytest.raises(ValueError, match="a sequence of 1 arrays, one for each device"):
        fc.make_array_from_single_device_arrays(X.shape, sharding, parts * 2)
    for make in (
        lambda: fc.make_array_from_callback(X.shape, None, lambda index: X[index]),
        lambda: fc.make_array_from_single_device_arrays(X.shape, None, parts),
        lambda: fc.make_array_from_process_local_data(None, X),
    ):
        with pytest.raises(TypeError, match=r"sharding must be a Device, a Sharding or a Part"):
            make()


# ---- jit -----------------------------------------------------------------------------------------


def test_jit_takes_shardings() -> None:
    sharding = NamedSharding(MESH, P("x"))
    f = fc.jit(
        lambda x, y: {"r": x + y},
        in_shardings=(sharding, None),
        out_shardings=sharding,
    )
    np.testing.assert_array_equal(f(X, 1.0)["r"], X + 1)
    with fc.set_mesh(MESH):
        constrained = fc.jit(lambda x: lax.with_sharding_constraint(x * 2, P("x", "y")))
        np.testing.assert_array_equal(constrained(X), X * 2)
        assert lax.with_sharding_constraint(fnp.array(X), P("x")).sharding == sharding
    optional = fc.jit(lambda x, n: x if n is None else n, in_shardings=(sharding, None))
    np.testing.assert_array_equal(optional(X, None), X)
    statics = fc.jit(lambda n, x: x * n, static_argnums=0, in_shardings=(sharding,))
    np.testing.assert_array_equal(statics(3, X), X * 3)


# ---- shard_map, pmap -----------------------------------------------------------------------------

BODIES: dict[str, Any] = {
    "psum": lambda m, x: m.lax.psum(x, "x"),
    "two axes": lambda m, x: m.lax.psum(x, ("x", "y")),
    "pmean": lambda m, x: m.lax.pmean(x, "x"),
    "pmax": lambda m, x: m.lax.pmax(x, "y"),
    "index": lambda m, x: x + m.lax.axis_index("x"),
    "size": lambda m, x: x * m.lax.axis_size("x"),
    "gather": lambda m, x: m.lax.all_gather(x, "x"),
    "tiled gather": lambda m, x: m.lax.all_gather(x, "x", tiled=True),
    "scatter": lambda m, x: m.lax.psum_scatter(x, "x", tiled=True),
    "permute": lambda m, x: m.lax.ppermute(x, "x", [(0, 0)]),
    "to all": lambda m, x: m.lax.all_to_all(x, "x", 0, 0, tiled=True),
    "swapped": lambda m, x: m.lax.pswapaxes(x[None], "x", 0)[0],
    "scan": lambda m, x: m.lax.scan(lambda c, y: (c + m.lax.psum(y, "x"), y), x[0], x)[0],
    "jit": lambda m, x: m.jit(lambda y: m.lax.psum(y, "x") * 2)(x),
    "grad": lambda m, x: m.grad(lambda y: m.lax.psum((y**2).sum(), "x"))(x),
    "vmap": lambda m, x: m.vmap(lambda y: m.lax.psum(y, ("x", "b")), axis_name="b")(x),
}


@pytest.mark.parametrize("name", BODIES)
def test_collectives_in_shard_map_are_those_of_jax(name: str) -> None:
    def run(module: Any) -> Any:
        mesh = module.make_mesh((1, 1), ("x", "y"), (module.sharding.AxisType.Auto,) * 2)
        spec = module.sharding.PartitionSpec()
        mapped = module.shard_map(
            lambda x: BODIES[name](module, x),
            mesh=mesh,
            in_specs=spec,
            out_specs=spec,
            check_vma=False,
        )
        return module.jit(mapped)(X)

    ours = run(fc)
    np.testing.assert_array_equal(ours, run(jax))
    assert isinstance(ours, fc.Array)


def test_shard_map_runs_eagerly_is_transformed_and_takes_trees() -> None:
    def body(x: Any, tree: Any) -> Any:
        return {"sum": lax.psum(x, "x") + tree["b"], "i": lax.axis_index("y")}

    mapped = fc.shard_map(
        body, mesh=MESH, in_specs=(P("x"), {"b": P()}), out_specs={"sum": P("x"), "i": P()}
    )
    np.testing.assert_array_equal(mapped(X, {"b": 1.0})["sum"], X + 1)
    assert mapped(X, {"b": 1.0})["i"] == 0
    loss = fc.grad(lambda x: (mapped(x, {"b": 1.0})["sum"] ** 2).sum())
    np.testing.assert_array_equal(loss(X), 2 * (X + 1))
    many = fc.vmap(lambda x: mapped(x, {"b": 0.0})["sum"])(np.stack([X, X]))
    np.testing.assert_array_equal(many, np.stack([X, X]))
    with fc.set_mesh(MESH):
        np.testing.assert_array_equal(
            fc.shard_map(lambda x: lax.psum(x, "x"), out_specs=P("x"))(X), X
        )
    named = fc.shard_map(mesh=MESH, in_specs=P(), out_specs=P(), axis_names={"x"})
    with pytest.raises(NameError, match='unbound axis name "y"'):
        named(lambda x: lax.psum(x, "y"))(X)


def test_custom_rules_and_callbacks_work_in_shard_map() -> None:
    @fc.custom_vjp
    def f(x: Any) -> Any:
        return lax.psum(x, "x") ** 2

    f.defvjp(lambda x: (f(x), x), lambda x, g: (10.0 * g * lax.axis_size("x"),))

    def body(x: Any) -> Any:
        doubled = fc.pure_callback(
            lambda v: 2 * np.asarray(v), fc.ShapeDtypeStruct(x.shape, "float32"), x
        )
        return fc.grad(lambda y: f(y).sum())(x) + doubled

    mapped = fc.shard_map(body, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_array_equal(mapped(X), 10 + 2 * X)
    np.testing.assert_array_equal(fc.jit(mapped)(X), 10 + 2 * X)


def test_pmap_maps_over_the_one_device() -> None:
    def body(x: Any, n: int, scale: float = 1.0) -> Any:
        return {"r": lax.psum(x, "i") * n * scale}

    f = fc.pmap(body, axis_name="i", static_broadcasted_argnums=1)
    np.testing.assert_array_equal(f(X[None], 3)["r"], 3 * X[None])
    np.testing.assert_array_equal(
        fc.pmap(lambda x, y: x + y, in_axes=(0, None), devices=fc.devices())(X[None], 1.0),
        X[None] + 1,
    )
    with pytest.raises(ValueError, match="has size 3, but there is one device; use vmap"):
        fc.pmap(lambda x: x)(X)
    with pytest.raises(ValueError, match=r"must have one size, they have \[2, 3\]"):
        fc.pmap(lambda x: x, axis_size=2)(X)


# ---- wrong arguments -----------------------------------------------------------------------------


WHOLE = P()


def permuted(perm: Any) -> Any:
    return fc.shard_map(
        lambda x: lax.ppermute(x, "x", perm), mesh=MESH, in_specs=P("x"), out_specs=P("x")
    )(X)


def mapped(in_specs: Any = WHOLE, out_specs: Any = WHOLE, **options: Any) -> Any:
    return fc.shard_map(
        lambda *xs: xs[0], **{"mesh": MESH, "in_specs": in_specs, "out_specs": out_specs, **options}
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: P(1), TypeError, "each entry must be an axis name"),
        (lambda: P("x", "x"), ValueError, "names axis 'x' twice"),
        (lambda: fc.make_mesh((2,), ("x",)), ValueError, "needs 2 devices, but there is 1"),
        (lambda: fc.make_mesh((1,), ("x", "y")), ValueError, "axis names"),
        (lambda: Mesh(np.array(fc.devices()), ("x", "y")), ValueError, "2 axis names"),
        (lambda: fc.make_mesh((1, 1), ("x", "x")), ValueError, "named twice"),
        (lambda: fc.make_mesh((-1,), ("x",)), ValueError, r"at least 1, got \(-1,\)"),
        (lambda: fc.make_mesh((1, 0), ("x", "y")), ValueError, r"at least 1, got \(1, 0\)"),
        (
            lambda: Mesh([0], ("x",)),
            TypeError,
            r"devices of farcall, .* got 0 of type builtins.int",
        ),
        (lambda: Mesh(jax.devices()[:1], ("x",)), TypeError, "got CpuDevice.* of type jax"),
        (lambda: Mesh(np.array(fc.devices()), ("x",), ("Auto",)), ValueError, "axis_types"),
        (lambda: NamedSharding(MESH, P("z")), ValueError, "names axis 'z', but the axes"),
        (lambda: NamedSharding(MESH, "x"), TypeError, "spec must be a PartitionSpec"),
        (lambda: NamedSharding("x", P()), TypeError, "mesh must be a Mesh"),
        (lambda: fc.device_put(X, NamedSharding(MESH, P(None, None, "x"))), ValueError, "rank 2"),
        (lambda: fc.device_put(X, P("x")), ValueError, "needs a mesh"),
        (lambda: fc.device_put(X, "cpu"), TypeError, "expected a Device"),
        (lambda: fc.device_put({"a": X}, {"b": None}), ValueError, "tree prefix"),
        (lambda: lax.with_sharding_constraint(X, P("x")), ValueError, "needs a mesh"),
        (lambda: fc.set_mesh(3), TypeError, "expected a Mesh"),
        (lambda: fc.Device("cpu", 1), TypeError, "Device"),
        (lambda: fc.jit(lambda x: x, device=3), TypeError, "device: expected a Device"),
        (lambda: fc.jit(lambda x: x, backend="gpu"), RuntimeError, 'platform or engine "gpu"'),
        (
            lambda: fc.jit(lambda x: x, in_shardings=NamedSharding(MESH, P(None, None, "x")))(X),
            ValueError,
            "in_shardings: P.* has 3 entries",
        ),
        (
            lambda: fc.jit(lambda x: x, out_shardings=(None, None))(X),
            ValueError,
            "out_shardings: it must be a tree prefix",
        ),
        (
            lambda: fc.make_array_from_callback((2,), NamedSharding(MESH, P()), lambda _: None),
            TypeError,
            "make_array_from_callback: the result of data_callback",
        ),
        (lambda: mapped(P("z"))(X), ValueError, "names axis 'z'"),
        (lambda: mapped(P(None, None, "x"))(X), ValueError, "has 3 entries"),
        (lambda: mapped((P(), P()))(X), ValueError, "in_specs: it must be a tree prefix"),
        (
            lambda: mapped(out_specs=P(None, None, "x"))(X),
            ValueError,
            "out_specs: result: the spec",
        ),
        (lambda: mapped("x")(X), TypeError, "expected PartitionSpecs"),
        (lambda: mapped(mesh=None)(X), ValueError, "there is no mesh"),
        (lambda: mapped(mesh=np.zeros(1)), TypeError, "mesh must be a Mesh or an AbstractMesh"),
        (lambda: mapped(axis_names={"z"})(X), ValueError, "the mesh has no axis 'z'"),
        (lambda: permuted([0]), TypeError, r"a sequence of pairs .*, got \[0\]; pshuffle takes"),
        (lambda: permuted([(0.5, 0)]), TypeError, "a sequence of pairs"),
        (lambda: permuted(None), TypeError, "a sequence of pairs .*, got None"),
        (lambda: permuted([(0, 1)]), ValueError, r"\(0, 1\) does not lie in axis"),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_the_earlier_shard_map_takes_its_own_arguments() -> None:
    for check_rep in (True, False):
        f = early_shard_map(lambda x: lax.psum(x, "y") * 2, MESH, P("x"), P("x"), check_rep)
        np.testing.assert_array_equal(f(X), X * 2)
    part = early_shard_map(lambda x: x + 1, MESH, in_specs=P("x"), out_specs=P("x"), auto={"y"})
    np.testing.assert_array_equal(part(X), X + 1)
    with pytest.raises(NameError, match='unbound axis name "y"'):
        early_shard_map(lambda x: lax.psum(x, "y"), MESH, P("x"), P("x"), auto={"y"})(X)
