"""Devices of a PJRT plugin, which every process has for itself, beside operations of MPI."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
from farcall import lax, mpi

ME, N = fc.process_index(), fc.process_count()
DEVICES = fc.devices("pjrt")
MESH = fc.make_mesh((2,), ("x",), devices=DEVICES)
ROWS = fc.NamedSharding(MESH, fc.P("x"))
X = np.arange(12, dtype=np.float32).reshape(4, 3) + 100 * ME
ALL = np.stack([np.arange(12, dtype=np.float32).reshape(4, 3) + 100 * i for i in range(N)])

total = fc.shard_map(
    lambda x: lax.psum(x.sum(0), "x"), mesh=MESH, in_specs=fc.P("x"), out_specs=fc.P()
)


def check_devices() -> None:
    assert len(DEVICES) == 2
    assert all(device.process_index == ME for device in DEVICES)
    x = fc.device_put(X, ROWS)
    assert x.is_fully_addressable
    assert (x + 1).devices() == set(DEVICES)
    np.testing.assert_array_equal(x, X)


def check_sums_over_devices_and_processes() -> None:
    @fc.jit
    def program(x: Any) -> Any:
        return mpi.allreduce(total(fnp.sin(x))) * 2

    wanted = 2 * np.sin(ALL).sum((0, 1))
    for _ in range(3):
        np.testing.assert_allclose(program(fc.device_put(X, ROWS)), wanted, rtol=1e-4)


def check_gradients_and_loops() -> None:
    def loss(x: Any) -> Any:
        return mpi.allreduce((total(x * x) / 10).sum())

    x = fc.device_put(X, ROWS)
    np.testing.assert_allclose(fc.jit(fc.grad(loss))(x), X / 5, rtol=1e-5)
    counted = fc.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: mpi.allreduce(c) / N + 1, total(x)))
    np.testing.assert_allclose(counted(x), ALL.sum(1).mean(0) + 3, rtol=1e-5)
