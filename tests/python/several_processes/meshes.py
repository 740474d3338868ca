"""Arrays and programs over the devices of all processes."""

from __future__ import annotations

import re
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
from farcall import lax
from farcall.experimental.multihost_utils import (
    global_array_to_host_local_array,
    host_local_array_to_global_array,
    process_allgather,
)
from operations import refused, same

ME, N = fc.process_index(), fc.process_count()
LOCAL, TOTAL = fc.local_device_count(), fc.device_count()
WHOLE = np.arange(TOTAL * 6, dtype=np.float32).reshape(TOTAL * 2, 3)


def mesh_and_sharding(*spec: Any) -> tuple[Any, Any]:
    mesh = fc.make_mesh((TOTAL,), ("x",))
    return mesh, fc.NamedSharding(mesh, fc.P(*spec))


def check_arrays() -> None:
    mesh, rows = mesh_and_sharding("x")
    assert mesh.is_multi_process
    assert mesh.local_devices == fc.local_devices()
    local = [d.local_hardware_id for d in fc.devices()]
    assert local == [*range(fc.local_device_count())] * N
    assert mesh.local_mesh.shape == {"x": LOCAL}
    for x in (
        fc.device_put(WHOLE, rows),
        fc.make_array_from_callback(WHOLE.shape, rows, lambda index: WHOLE[index]),
        fc.make_array_from_process_local_data(rows, WHOLE[2 * LOCAL * ME : 2 * LOCAL * (ME + 1)]),
        fc.make_array_from_process_local_data(rows, WHOLE, WHOLE.shape),
        fc.make_array_from_single_device_arrays(
            WHOLE.shape,
            rows,
            [fc.device_put(WHOLE[2 * d.id : 2 * d.id + 2], d) for d in fc.local_devices()],
        ),
    ):
        assert x.shape == WHOLE.shape
        assert x.sharding == rows
        assert not x.is_fully_addressable
        assert not x.is_fully_replicated
        assert x.devices() == set(fc.devices())
        assert len(x.addressable_shards) == LOCAL
        for shard in x.addressable_shards:
            assert shard.device.process_index == ME
            np.testing.assert_array_equal(shard.data, WHOLE[shard.index])
        assert [shard.data is None for shard in x.global_shards] == [
            d.process_index != ME for d in fc.devices()
        ]
        np.testing.assert_array_equal(process_allgather(x), WHOLE)
        refused(RuntimeError, "process_allgather", np.asarray, x)
        assert repr(x) == str(x) == f"Array(shape={WHOLE.shape}, dtype=float32)"
    everywhere = fc.device_put(WHOLE, fc.NamedSharding(mesh, fc.P()))
    assert not everywhere.is_fully_addressable
    np.testing.assert_array_equal(everywhere, WHOLE)
    columns = fc.device_put(
        np.ones((3, TOTAL), np.float32), fc.NamedSharding(mesh, fc.P(None, "x"))
    )
    assert columns.addressable_shards[0].data.shape == (3, 1)
    np.testing.assert_array_equal(process_allgather(columns), np.ones((3, TOTAL)))
    refused(
        ValueError,
        "must have the shape",
        fc.make_array_from_process_local_data,
        rows,
        np.ones((LOCAL * 2 + 1, 3)),
        WHOLE.shape,
    )
    other = fc.devices()[(ME + 1) % N * LOCAL]
    refused(ValueError, f"belongs to process {(ME + 1) % N}", fc.device_put, WHOLE, other)
    remote = fc.sharding.Mesh(np.array([other]), ("x",))
    refused(
        ValueError,
        "belongs to process",
        fc.device_put,
        WHOLE,
        fc.NamedSharding(remote, fc.P()),
    )


def check_local_parts_of_arrays() -> None:
    mesh, rows = mesh_and_sharding("x")
    own = WHOLE[2 * LOCAL * ME : 2 * LOCAL * (ME + 1)]
    x, whole = host_local_array_to_global_array((own, WHOLE), mesh, (fc.P("x"), fc.P()))
    assert x.sharding == rows
    assert (x.shape, whole.shape) == (WHOLE.shape, WHOLE.shape)
    same(process_allgather(x), WHOLE)
    parts = global_array_to_host_local_array((x * 2, x), mesh, (fc.P("x"), fc.P()))
    same(parts[0], 2 * own)
    same(parts[1], WHOLE)


def check_operations_on_whole_arrays() -> None:
    """They run whole, in every process; values are gathered for it."""
    _, rows = mesh_and_sharding("x")
    x = fc.device_put(WHOLE, rows)
    y = fnp.sin(x) + 1
    assert y.sharding == rows
    np.testing.assert_allclose(process_allgather(y), np.sin(WHOLE) + 1, rtol=1e-6)
    total = fc.jit(lambda v: (v.sum(), v * 2))(x)
    assert float(total[0]) == WHOLE.sum()
    same(process_allgather(total[1]), WHOLE * 2)
    assert float(fc.grad(lambda v: (v * v).sum())(x).addressable_shards[0].data[0, 1]) == (
        2 * WHOLE[2 * LOCAL * ME, 1]
    )
    columns = fc.device_put(x.T, fc.NamedSharding(rows.mesh, fc.P(None, "x")))
    same(process_allgather(columns), WHOLE.T)


def check_shard_map() -> None:
    mesh, rows = mesh_and_sharding("x")
    x = fc.device_put(WHOLE, rows)
    spec = fc.P("x")

    def over(f, out=spec):
        return fc.shard_map(f, mesh=mesh, in_specs=(spec,), out_specs=out, check_vma=False)

    parts = WHOLE.reshape(TOTAL, 2, 3)
    assert float(over(lambda v: lax.psum(v.sum(), "x"), fc.P())(x)) == WHOLE.sum()
    ring = [(i, (i + 1) % TOTAL) for i in range(TOTAL)]
    one = [(0, TOTAL - 1)]
    places = np.arange(TOTAL)[:, None, None]
    table: list[tuple[Any, Any]] = [
        (lambda v: v * 2 + lax.axis_index("x"), parts * 2 + places),
        (lambda v: lax.pmean(v, "x"), np.tile(parts.mean(0), (TOTAL, 1))),
        (lambda v: lax.pmax(v, "x"), np.tile(parts.max(0), (TOTAL, 1))),
        (lambda v: lax.pmin(v, "x"), np.tile(parts.min(0), (TOTAL, 1))),
        (lambda v: lax.ppermute(v, "x", ring), np.roll(parts, 1, 0)),
        (lambda v: lax.ppermute(v, "x", one), np.concatenate([0 * WHOLE[2:], WHOLE[:2]])),
    ]
    for f, wanted in table:
        for run in (over(f), fc.jit(over(f))):
            for data in (x, WHOLE):
                same(process_allgather(run(data)), wanted.reshape(WHOLE.shape))
    gathered = over(lambda v: lax.all_gather(v, "x", tiled=True), fc.P())
    np.testing.assert_array_equal(gathered(x), WHOLE)
    np.testing.assert_array_equal(fc.jit(gathered)(WHOLE), WHOLE)
    y = over(lambda v: v + 1)(x)
    assert y.sharding.is_equivalent_to(rows, 2)
    assert fc.jit(over(lambda v: v + 1))(x).sharding == rows
    # A second program reads the shards where the first has left them, and a third the whole.
    same(
        fc.jit(lambda v: over(fnp.sin)(over(fnp.cos)(v)).sum())(x),
        np.sin(np.cos(WHOLE)).sum(),
        1e-4,
    )

    def loss(v):
        return over(lambda u: lax.psum((fnp.sin(u) ** 2).sum(), "x"), fc.P())(v)

    gradient = fc.jit(fc.grad(loss))(x)
    same(process_allgather(gradient), np.sin(2 * WHOLE), 1e-3)
    looped = fc.jit(
        lambda v: lax.fori_loop(0, 3, lambda i, u: over(lambda w: w + lax.pmean(w, "x"))(u), v)
    )
    wanted = parts
    for _ in range(3):
        wanted = wanted + wanted.mean(0)
    same(process_allgather(looped(x)), wanted.reshape(WHOLE.shape))
    text = str(fc.make_jaxpr(over(fnp.sin))(WHOLE))
    assert f"devices=({', '.join(map(str, range(TOTAL)))}" in text
    assert str(fc.parse_program(text)) == text


def check_callbacks_and_foreign_calls() -> None:
    mesh, rows = mesh_and_sharding("x")
    seen = []

    def own(v: Any) -> Any:
        seen.append(np.asarray(v).copy())
        return np.asarray(v) * 3

    f = fc.shard_map(
        lambda v: fc.pure_callback(own, fc.ShapeDtypeStruct(v.shape, v.dtype), v),
        mesh=mesh,
        in_specs=fc.P("x"),
        out_specs=fc.P("x"),
    )
    if ME == 0:  # numbers of callbacks differ from process to process
        fc.pure_callback(lambda v: v, fc.ShapeDtypeStruct((), "float32"), np.float32(1))
    same(process_allgather(f(fc.device_put(WHOLE, rows))), WHOLE * 3)
    assert len(seen) == LOCAL
    decomposed = fc.shard_map(
        lambda v: fnp.linalg.cholesky(v + 5 * fnp.eye(3, dtype="float32")),
        mesh=mesh,
        in_specs=fc.P("x"),
        out_specs=fc.P("x"),
    )
    matrices = np.ones((TOTAL, 3, 3), np.float32)
    same(process_allgather(decomposed(matrices)), np.linalg.cholesky(matrices + 5 * np.eye(3)))


def check_meshes_of_two_dimensions() -> None:
    mesh = fc.make_mesh((2, TOTAL // 2), ("a", "b"))
    x = np.arange(TOTAL * 4, dtype=np.float32).reshape(TOTAL, 4)

    def f(out, g):
        return fc.shard_map(g, mesh=mesh, in_specs=fc.P(("b", "a")), out_specs=out, check_vma=False)

    by_part = x.reshape(TOTAL // 2, 2, -1, 4)  # b, a
    same(
        process_allgather(f(fc.P("b"), lambda v: lax.psum(v, "a"))(x)),
        by_part.sum(1).reshape(-1, 4),
    )
    same(
        process_allgather(f(fc.P("a"), lambda v: lax.psum(v, "b"))(x)),
        by_part.sum(0).reshape(-1, 4),
    )
    same(process_allgather(f(fc.P(), lambda v: lax.psum(v, ("a", "b")))(x)), by_part.sum((0, 1)))
    spread = fc.device_put(x, fc.NamedSharding(mesh, fc.P(None, "b")))
    same(process_allgather(spread), x)
    if LOCAL == 1:
        assert len({str(s.index) for s in spread.addressable_shards}) == 1


def check_programs_that_differ() -> None:
    mesh, rows = mesh_and_sharding("x")
    x = fc.device_put(WHOLE, rows)

    def over(f):
        return fc.shard_map(f, mesh=mesh, in_specs=fc.P("x"), out_specs=fc.P("x"))

    def two_steps(x):
        return (fnp.sin if ME == 1 else fnp.cos)(x * 2)

    text = refused(RuntimeError, "processes run different programs", over(two_steps), x)
    assert "Line 3 differs: process" in text, text
    assert re.search(r'process 1 has "[^"]*sin', text), text
    assert re.search(r'process(es)? 0[^"]*"[^"]*cos', text), text
    # One program has more equations than the other.
    more = (lambda x: x * 2 + 1) if ME == 0 else (lambda x: x * 2)
    text = refused(RuntimeError, "processes run different programs", over(more), x)
    assert re.search(r'Line \d differs: process 0 has "[^"]*add', text), text
    same(process_allgather(over(fnp.sin)(x)), np.sin(WHOLE))


def check_debug_nans() -> None:
    """Every process looks at what it has."""
    mesh, rows = mesh_and_sharding("x")
    x = fc.device_put(WHOLE, rows)
    with fc.debug_nans(True):
        f = fc.shard_map(fnp.log, mesh=mesh, in_specs=fc.P("x"), out_specs=fc.P("x"))
        f(x + 1)
        refused(FloatingPointError, "invalid value (nan)", f, x - 1e6)
        refused(FloatingPointError, "invalid value (nan)", fc.jit(fnp.log), x - 1e6)
