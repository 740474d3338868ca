"""The shardings that programs are compiled for, as in JAX: those of ShapeDtypeStructs, of arguments
and of axes of vmap; drawings of shardings."""

from __future__ import annotations

import pickle
from typing import Any

import farcall as fc
import jax
import numpy as np
import pytest
from both import FARCALL, JAX, Modules
from farcall import lax
from farcall.experimental.layout import Format, Layout, with_layout_constraint

X = np.arange(32, dtype=np.float32).reshape(8, 4)
P, NamedSharding = fc.P, fc.NamedSharding
MESH = fc.make_mesh((2, 2), ("a", "b"))
ROWS, TILES = NamedSharding(MESH, P("a")), NamedSharding(MESH, P("a", "b"))
SECOND = fc.sharding.SingleDeviceSharding(fc.devices()[1])
ENGINE = fc.devices()[0].engine


def struct(sharding: Any = None) -> Any:
    return fc.ShapeDtypeStruct(X.shape, X.dtype, sharding=sharding)


def mesh_of(m: Modules) -> Any:
    return m.root.make_mesh((2, 2), ("a", "b"), (m.root.sharding.AxisType.Auto,) * 2)


def tiles_of(m: Modules, *spec: Any) -> Any:
    return m.root.NamedSharding(mesh_of(m), m.root.sharding.PartitionSpec(*spec))


# ---- ShapeDtypeStruct ----------------------------------------------------------------------------


def test_a_struct_keeps_its_sharding() -> None:
    made = struct(TILES)
    assert made.sharding == TILES
    assert made.format == Format(None, TILES)
    assert made == struct(NamedSharding(MESH, P("a", "b")))
    assert hash(made) == hash(struct(NamedSharding(MESH, P("a", "b"))))
    assert made != struct(ROWS)
    assert made != struct()
    assert made.update(dtype="int8").sharding == TILES
    assert made.update(sharding=None) == struct()
    assert pickle.loads(pickle.dumps(made)) == made
    assert fc.ShapeDtypeStruct.like(fc.device_put(X, TILES)) == made
    assert struct(fc.devices()[1]).sharding == SECOND == struct(SECOND).sharding
    assert struct(Format(None, ROWS)).sharding == ROWS
    with pytest.raises(AttributeError):
        made.sharding = ROWS


@pytest.mark.parametrize("m", [FARCALL, JAX])
def test_a_struct_prints_its_sharding(m: Modules) -> None:
    made = m.root.ShapeDtypeStruct((8, 4), "float32", sharding=tiles_of(m, "a"))
    start = "ShapeDtypeStruct(shape=(8, 4), dtype=float32, sharding=NamedSharding(mesh=Mesh('a': 2"
    assert repr(made).startswith(start)
    assert "spec=P('a',)" in repr(made) or "spec=PartitionSpec('a'" in repr(made)


def test_a_spec_of_a_struct_is_one_of_the_mesh_in_use() -> None:
    made = struct(P("a"))
    with pytest.raises(TypeError, match=r"sharding .* needs a mesh"):
        _ = made.sharding
    with fc.set_mesh(MESH):
        assert made.sharding == ROWS
        assert fc.jit(lambda x: x).lower(made).compile().input_shardings == ((ROWS,), {})


@pytest.mark.parametrize(
    ("sharding", "error", "text"),
    [
        ("a", TypeError, "ShapeDtypeStruct: sharding: expected a Device, a Sharding"),
        (P(None, None, "a"), ValueError, "has 3 entries, but the shape .* has rank 2"),
        (NamedSharding(MESH, P(None, None, "a")), ValueError, "has 3 entries"),
        (NamedSharding(MESH, P(None, ("b", "a"))), None, ""),
        (Format(Layout((1, 0)), ROWS), ValueError, "arrays are row-major"),
    ],
)
def test_shardings_that_do_not_fit_a_struct(sharding: Any, error: Any, text: str) -> None:
    if error is None:
        assert struct(sharding).sharding == sharding
        return
    with pytest.raises(error, match=text):
        struct(sharding)


# ---- lower, compile ------------------------------------------------------------------------------


def spec_texts(shardings: Any) -> Any:
    """The specs in a tree of shardings, without trailing None."""

    def text(one: Any) -> Any:
        entries = list(getattr(one, "spec", ["one device"]))
        while entries and entries[-1] is None:
            entries.pop()
        return tuple(entries)

    return jax.tree.map(text, shardings, is_leaf=lambda leaf: hasattr(leaf, "device_set"))


FUNCTIONS: dict[str, Any] = {
    "elementwise": lambda m, x, k: {"y": m.np.tanh(x) + k, "z": (x,)},
    "reduced": lambda m, x, k: (x + k).sum(axis=1),
    "transposed": lambda m, x, k: (x * k).T,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("is_struct", [False, True])
def test_shardings_of_arguments_and_results_are_those_of_jax(name: str, is_struct: bool) -> None:
    found = []
    for m in (FARCALL, JAX):
        sharding = tiles_of(m, "a", "b")
        x: Any = m.root.device_put(X, sharding)
        if is_struct:
            x = m.root.ShapeDtypeStruct(X.shape, X.dtype, sharding=sharding)
        compiled = m.root.jit(lambda x, *, k, m=m: FUNCTIONS[name](m, x, k)).lower(x, k=x).compile()
        array = m.root.device_put(X, sharding)
        result = compiled(array, k=array)
        assert jax.tree.map(lambda one: one.sharding, result) == compiled.output_shardings
        found.append(spec_texts((compiled.input_shardings, compiled.output_shardings)))
    assert found[0] == found[1]
    assert found[0][0] == ((("a", "b"),), {"k": ("a", "b")})


def test_shardings_on_one_device_are_those_of_jax() -> None:
    found = []
    for m in (FARCALL, JAX):
        one = m.root.jit(lambda x, y: x + y, static_argnums=1).lower(X, 2).compile()
        second = m.root.device_put(X, m.root.devices()[1])
        placed = m.root.jit(lambda x: (x, x + 1)).lower(second).compile()
        for compiled in (one, placed):
            shardings = (compiled.input_shardings, compiled.output_shardings)
            found.append(jax.tree.map(lambda one: [d.id for d in one.device_set], shardings))
        assert placed(second)[1].devices() == {m.root.devices()[1]}
        assert placed(X)[1].devices() == {m.root.devices()[1]}
    assert found[:2] == found[2:]


def test_stablehlo_of_a_program_over_a_mesh_names_its_shardings() -> None:
    mlir = pytest.importorskip("jax._src.interpreters.mlir")
    dialects = pytest.importorskip("jaxlib.mlir.dialects.sdy")
    summed = fc.shard_map(lambda x: lax.psum(x * 2, "a"), mesh=MESH, in_specs=P("a"), out_specs=P())
    text = fc.jit(lambda x: summed(x) + 1).lower(X).as_text("stablehlo")
    assert 'sdy.mesh @mesh = <["a"=2, "b"=2]>' in text
    assert '"stablehlo.all_reduce"' in text
    assert "%run" not in text  # no call of farcall
    placed = fc.jit(lambda x: x @ x.T).lower(struct(TILES)).as_text("stablehlo")
    assert 'tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}' in placed
    for module in (text, placed):
        with mlir.make_ir_context() as context:
            dialects.register_dialect(context)
            assert mlir.ir.Module.parse(module).operation.verify()


def test_requested_shardings_are_those_of_the_compiled_function() -> None:
    found = []
    for m in (FARCALL, JAX):
        rows, tiles = tiles_of(m, "a"), tiles_of(m, "a", "b")
        f = m.root.jit(lambda x: {"y": x * 2}, in_shardings=(rows,), out_shardings={"y": tiles})
        compiled = f.lower(X).compile()
        assert compiled(X)["y"].sharding == tiles
        assert f.lower(X).out_info["y"].sharding == tiles
        assert f.eval_shape(X)["y"].sharding == m.root.eval_shape(f, X)["y"].sharding == tiles
        assert m.root.eval_shape(lambda x: x, m.root.device_put(X, rows)).sharding is None
        found.append(spec_texts((compiled.input_shardings, compiled.output_shardings)))
        np.testing.assert_array_equal(compiled(X)["y"], 2 * X)
    assert found[0] == found[1] == (((("a",),), {}), {"y": ("a", "b")})


def test_a_compiled_function_moves_its_arguments() -> None:
    compiled = fc.jit(lambda x: x + 1).lower(struct(TILES)).compile()
    for given in (X, fc.device_put(X, TILES), fc.device_put(X, ROWS), fc.device_put(X, SECOND)):
        result = compiled(given)
        assert result.sharding == TILES
        np.testing.assert_array_equal(result, X + 1)
    on_second = fc.jit(lambda x: x + 1).lower(struct(SECOND)).compile()
    assert on_second(X).sharding == SECOND
    assert on_second.input_shardings == ((SECOND,), {})
    with pytest.raises(TypeError, match="argument 0 should be"):
        compiled(X[:4])


@pytest.mark.parametrize("other", ["struct", "array"])
def test_arguments_on_different_devices_are_refused(other: str) -> None:
    x = fc.device_put(X, SECOND) if other == "array" else struct(SECOND)
    wanted = (
        r"jit\(add\): lower: the arguments are on different devices: argument 0 on .*:0, .*:3, "
    )
    with pytest.raises(ValueError, match=wanted + r"argument 1 on \w+:1"):
        fc.jit(fc.numpy.add).lower(struct(TILES), x)


def test_formats_are_row_major() -> None:
    x = fc.device_put(X, Format(Layout((0, 1)), TILES))
    assert x.sharding == TILES
    assert x.format == Format(Layout((0, 1), ()), TILES)
    compiled = fc.jit(lambda x: x.T, in_shardings=(Format(Layout.AUTO, TILES),)).lower(X).compile()
    assert compiled.input_formats == ((x.format,), {})
    assert compiled.output_formats == compiled(X).format
    theirs = jax.device_put(X, tiles_of(JAX, "a", "b")).format
    assert repr(theirs.layout) == repr(x.format.layout)
    np.testing.assert_array_equal(fc.jit(lambda x: with_layout_constraint(x, Layout((1, 0))))(X), X)
    with pytest.raises(ValueError, match="device_put: arrays are row-major"):
        fc.device_put(X, Format(Layout((1, 0)), TILES))
    with pytest.raises(ValueError, match="needs a sharding"):
        Format(Layout((0, 1)))
    with pytest.raises(TypeError, match="layout must be a Layout"):
        Format((0, 1))
    with pytest.raises(TypeError, match="layout must be a Layout"):
        with_layout_constraint(x, (0, 1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"has 1 dimensions, but .* has rank 2"):
        with_layout_constraint(x, Layout((0,)))


# ---- vmap over an axis of the mesh ---------------------------------------------------------------


@pytest.mark.parametrize("is_jitted_inside", [False, True])
@pytest.mark.parametrize("axis", ["a", ("a",), ("b", "a"), None])
def test_the_mapped_dimension_of_a_constraint_is_split_as_in_jax(
    axis: Any, is_jitted_inside: bool
) -> None:
    found = []
    for m in (FARCALL, JAX):
        own = tiles_of(m, None) if axis == ("b", "a") else tiles_of(m, "b")

        def constrained(v: Any, m: Modules = m, own: Any = own) -> Any:
            return m.lax.with_sharding_constraint(v * 2, own)

        inner = m.root.jit(constrained) if is_jitted_inside else constrained
        for name in (axis, None):  # the same inner function both ways
            mapped = m.root.vmap(inner, spmd_axis_name=name)
            result = m.root.jit(mapped)(m.root.device_put(X, tiles_of(m)))
            np.testing.assert_array_equal(result, 2 * X)
            if name is not None:
                found.append(spec_texts(result.sharding))
            gradient = m.root.jit(m.root.grad(lambda v, f=mapped: f(v).sum()))(X)
            np.testing.assert_array_equal(gradient, np.full_like(X, 2))
    assert found[: len(found) // 2] == found[len(found) // 2 :]


def test_each_device_runs_a_mapped_shard_map_on_its_part_of_the_batch() -> None:
    results = []
    for m in (FARCALL, JAX):
        spec = m.root.sharding.PartitionSpec("b")

        def shard(v: Any, w: Any, m: Modules = m) -> Any:
            return v * w + 100 * m.lax.axis_index("a") + 1000 * m.lax.axis_index("b")

        mapped = m.root.shard_map(
            shard, mesh=mesh_of(m), in_specs=(spec, spec), out_specs=spec, check_vma=False
        )
        for in_axes in ((0, None), (1, 1), (0, 0)):
            x = X if in_axes[0] == 0 else X.T
            w = X[0] if in_axes[1] is None else x
            f = m.root.vmap(mapped, in_axes=in_axes, spmd_axis_name="a")
            results.append(np.asarray(m.root.jit(f)(x, w)))
            results.append(np.asarray(m.root.vmap(mapped, in_axes=in_axes)(x, w)))
    half = len(results) // 2
    for ours, theirs in zip(results[:half], results[half:], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (results[0] != results[1]).any()


def test_axes_of_a_mapped_dimension_that_do_not_fit() -> None:
    rows = NamedSharding(MESH, P("a"))

    def constrained(v: Any) -> Any:
        return lax.with_sharding_constraint(v, rows)

    mapped = fc.shard_map(lambda v: v, mesh=MESH, in_specs=P("b"), out_specs=P("b"))
    x = fc.numpy.ones((4, 4))
    for f in (constrained, fc.shard_map(lambda v: v, mesh=MESH, in_specs=P("a"), out_specs=P("a"))):
        with pytest.raises(ValueError, match=r'spmd_axis_name "a" splits .* \(a\) .* not name it'):
            fc.jit(fc.vmap(f, spmd_axis_name="a"))(x)
        with pytest.raises(ValueError, match=r'spmd_axis_name "c" must be .* are a, b'):
            fc.jit(fc.vmap(f, spmd_axis_name="c"))(x)
    with pytest.raises(ValueError, match="into 2 parts, but its size is 3"):
        fc.jit(fc.vmap(mapped, spmd_axis_name="a"))(x[:3])
    with pytest.raises(ValueError, match=r"dimension 0 of .* must be a multiple of 2"):
        fc.jit(fc.vmap(constrained, spmd_axis_name="b"))(x[:3])


# ---- drawings ------------------------------------------------------------------------------------


def drawing(capsys: Any, shape: Any, spec: Any, **options: Any) -> list[str]:
    fc.debug.visualize_sharding(shape, NamedSharding(MESH, P(*spec)), **options)
    return capsys.readouterr().out.splitlines()


def test_a_drawing_shows_the_devices_of_each_part(capsys: Any) -> None:
    assert drawing(capsys, (8, 8), ("a", "b"), scale=0.2, min_width=7, max_width=20) == [
        "+-------+-------+",
        "| CPU 0 | CPU 1 |",
        "+-------+-------+",
        "| CPU 2 | CPU 3 |",
        "+-------+-------+",
    ]
    lines = drawing(capsys, (8, 8), (None, "a"))
    assert [line for line in lines if "CPU" in line] == ["|  CPU 0,1   |  CPU 2,3   |"]
    assert len(lines) == 12
    assert drawing(capsys, (4,), (("b", "a"),), scale=0.1) == [
        "+---------+---------+---------+---------+",
        "|  CPU 0  |  CPU 2  |  CPU 1  |  CPU 3  |",
        "+---------+---------+---------+---------+",
    ]
    fc.debug.visualize_array_sharding(fc.device_put(X, TILES))
    assert capsys.readouterr().out.splitlines()[0].startswith("+---")
    fc.debug.visualize_array_sharding(fc.numpy.ones(0))
    assert "CPU 0" in capsys.readouterr().out


def test_a_drawing_needs_one_or_two_dimensions_and_a_known_array() -> None:
    for shape in ((), (2, 2, 2)):
        with pytest.raises(ValueError, match="one or two dimensions"):
            fc.debug.visualize_array_sharding(fc.numpy.ones(shape))
        with pytest.raises(ValueError, match="one or two dimensions"):
            fc.debug.visualize_sharding(shape, SECOND)
    with pytest.raises(ValueError, match=r"dimension 0 of .* must be a multiple of 2"):
        fc.debug.visualize_sharding((3,), ROWS)
    with pytest.raises(TypeError, match="sharding must be a Device"):
        fc.debug.visualize_sharding((3,), None)
    with pytest.raises(fc.errors.ConcretizationTypeError, match=r"compile\(\).output_shardings"):
        fc.jit(lambda x: fc.debug.visualize_array_sharding(x))(X)
    seen: list[Any] = []
    arrays = {"x": fc.device_put(X, TILES), "y": fc.device_put(X, SECOND)}
    fc.debug.inspect_array_sharding(arrays, callback=seen.append)
    assert seen == [TILES, SECOND]


# ---- live arrays ---------------------------------------------------------------------------------


def test_live_arrays_are_those_in_use() -> None:
    before = {id(array) for array in fc.live_arrays()}
    spread, second = fc.device_put(X, TILES), fc.device_put(X, SECOND)
    kept = [fc.numpy.ones(3), spread, second]
    dead = fc.numpy.ones(4)
    dead.delete()

    def count(traced: Any) -> Any:
        assert all(array is not traced for array in fc.live_arrays())
        return traced

    fc.jit(count)(1.0)
    found = [array for array in fc.live_arrays() if id(array) not in before]
    assert {id(array) for array in kept} <= {id(array) for array in found}
    assert all(array is not dead for array in found)
    assert {id(array) for array in fc.live_arrays(ENGINE)} >= {id(array) for array in kept}
    number = len(fc.live_arrays())
    del spread, second, kept, found
    assert len(fc.live_arrays()) < number
    with pytest.raises(RuntimeError, match="live_arrays: "):
        fc.live_arrays("mars")
