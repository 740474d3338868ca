"""The operations of MPI, against numpy on what all processes have."""

from __future__ import annotations

import re
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax, mpi

ME, N = fc.process_index(), fc.process_count()
ROOT = N - 1


def of_all(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """What each process has, by process."""
    return np.random.default_rng(seed).normal(size=(N, *shape)).astype(np.float32)


def same(ours: Any, wanted: Any, rtol: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(ours), wanted, rtol=rtol, atol=1e-6)


def both(f: Any, x: Any, wanted: Any) -> None:
    """Eager and compiled."""
    same(f(x), wanted)
    same(fc.jit(f)(x), wanted)


def refused(error: type[Exception], words: str, f: Any, *args: Any) -> str:
    with pytest.raises(error, match=re.escape(words)) as raised:
        f(*args)
    return str(raised.value)


def check_processes() -> None:
    assert fc.distributed.is_initialized()
    assert fc.process_indices() == list(range(N))
    assert fc.device_count() == N * fc.local_device_count()
    assert [d.id for d in fc.devices()] == list(range(fc.device_count()))
    assert all(d.process_index == ME for d in fc.local_devices())
    assert [d.process_index for d in fc.local_devices(process_index=ROOT)] == [
        ROOT
    ] * fc.local_device_count()
    refused(RuntimeError, "called before", fc.distributed.initialize)
    refused(ValueError, "process index 9 is out of range", fc.local_devices, 9)
    refused(RuntimeError, "which the other processes know", fc.config.update, "num_cpu_devices", 17)


def check_collectives() -> None:
    x = of_all(3, 2)
    both(mpi.allreduce, x[ME], x.sum(0))
    both(lambda v: mpi.allreduce(v, mpi.MAX), x[ME], x.max(0))
    both(lambda v: mpi.allreduce(v, op="prod"), x[ME], x.prod(0))
    both(lambda v: mpi.reduce(v, mpi.MIN, ROOT), x[ME], x.min(0) if ME == ROOT else x[ME])
    both(mpi.scan, x[ME], x[: ME + 1].sum(0))
    both(mpi.allgather, x[ME], x)
    both(lambda v: mpi.gather(v, ROOT), x[ME], x if ME == ROOT else x[ME])
    both(lambda v: mpi.bcast(v, ROOT), x[ME], x[ROOT])
    parts = of_all(N, 2)
    both(mpi.alltoall, parts[ME], parts[:, ME])
    both(
        lambda v: mpi.scatter(v, ROOT),
        parts[ROOT] if ME == ROOT else parts[0, 0],
        parts[ROOT, ME],
    )
    mpi.barrier()
    fc.jit(lambda: mpi.barrier())()


def check_dtypes() -> None:
    for dtype in ("int8", "uint16", "int32", "float32", "complex64"):
        x = np.arange(N * 4).reshape(N, 4).astype(dtype)
        result = mpi.allreduce(x[ME])
        assert result.dtype == dtype
        same(result, x.sum(0))
        same(mpi.allgather(x[ME]), x)
    flags = np.eye(N, 3, dtype=bool)
    same(mpi.allreduce(flags[ME], mpi.LOR), flags.any(0))
    same(mpi.allreduce(np.int32(1 << ME), mpi.BOR), (1 << N) - 1)
    half = np.arange(N * 2).reshape(N, 2).astype(np.float16)
    same(mpi.allgather(half[ME]), half)
    assert mpi.allreduce(np.ones((0, 3), np.float32)).shape == (0, 3)
    large = of_all(300_000)
    same(mpi.allreduce(large[ME]), large.sum(0), rtol=1e-4)
    with fc.enable_x64():
        same(mpi.allreduce(np.float64(ME)), sum(range(N)))


def check_messages() -> None:
    x = of_all(5)
    after, before = (ME + 1) % N, (ME - 1) % N

    def ring(v):
        return mpi.sendrecv(v, v, source=before, dest=after)

    both(ring, x[ME], x[before])

    # Of a line: the ends keep what they have.
    def line(v):
        return mpi.sendrecv(
            v, fnp.zeros_like(v), ME - 1 if ME > 0 else None, ME + 1 if ME < N - 1 else None
        )

    both(line, x[ME], x[ME - 1] if ME > 0 else 0 * x[ME])

    # A value that goes from process to process; each has a program of its own.
    @fc.jit
    def passed_on(v: Any) -> Any:
        if ME > 0:
            v = v + mpi.recv(v, source=ME - 1, tag=7)
        if ME < N - 1:
            mpi.send(v, dest=ME + 1, tag=7)
        return v

    same(passed_on(x[ME]), x[: ME + 1].sum(0))
    big = of_all(200_000, seed=1)
    same(ring(big[ME]), big[before])


def check_order_in_programs() -> None:
    """Each value depends on those before, through operations whose results nobody reads too."""
    x = of_all(2)

    def body(carry: Any, i: Any) -> Any:
        mpi.barrier()
        total = mpi.allreduce(carry) / N
        mpi.bcast(total * 2)
        carry = lax.cond(
            i % 2 == 0, lambda v: mpi.allreduce(v, "max"), lambda v: mpi.scan(v) / N, carry + total
        )
        return carry, total

    state, totals = fc.jit(lambda v: lax.scan(body, v, np.arange(5)))(x[ME])
    values = x.copy()
    for i in range(5):
        total = values.sum(0) / N
        same(totals[i], total, rtol=1e-4)
        values = values + total
        values = np.broadcast_to(values.max(0), x.shape) if i % 2 == 0 else np.cumsum(values, 0) / N
    same(state, values[ME], rtol=1e-4)

    doubled = fc.jit(
        lambda v: lax.while_loop(lambda u: mpi.allreduce((u * u).sum()) < 100, lambda u: 2 * u, v)
    )(x[ME])
    factor = 1.0
    while (factor * x).__pow__(2).sum() < 100:
        factor *= 2
    same(doubled, factor * x[ME])


def check_vmap() -> None:
    x = of_all(4, 3)  # four elements of a batch

    def one(f):
        return fc.vmap(f)(x[ME])

    same(one(mpi.allreduce), x.sum(0))
    same(one(mpi.allgather), x.swapaxes(0, 1))
    same(one(lambda v: mpi.gather(v, ROOT)), x.swapaxes(0, 1) if ME == ROOT else x[ME])
    same(fc.vmap(mpi.scan, in_axes=1, out_axes=1)(x[ME]), x[: ME + 1].sum(0))
    parts = of_all(5, N, 2, seed=1)
    same(fc.vmap(mpi.alltoall)(parts[ME]), parts[:, :, ME].swapaxes(0, 1))
    given = parts[ROOT] if ME == ROOT else parts[0, :, 0]
    same(fc.vmap(lambda v: mpi.scatter(v, ROOT))(given), parts[ROOT, :, ME])
    after, before = (ME + 1) % N, (ME - 1) % N
    same(
        fc.vmap(lambda v: mpi.sendrecv(v, np.zeros(3, np.float32), before, after))(x[ME]), x[before]
    )
    gradient = fc.vmap(fc.grad(lambda v: (mpi.allreduce(v) ** 2).sum()))
    same(gradient(x[ME]), 2 * x.sum(0))


def check_derivatives_of_allreduce() -> None:
    x, dx = of_all(3), of_all(3, seed=1)

    def f(v):
        return mpi.allreduce(fnp.sin(v))

    value, tangent = fc.jvp(f, (x[ME],), (dx[ME],))
    same(value, np.sin(x).sum(0))
    same(tangent, (np.cos(x) * dx).sum(0))

    # A loss that all processes compute: that of one process with all the data.
    def loss(w: Any, data: Any) -> Any:
        return (fnp.tanh(data @ w) ** 2).sum()

    data, w = of_all(4, 3), np.float32([0.3, -0.2, 0.5])

    def own(w):
        return mpi.allreduce(loss(w, data[ME]))

    def whole(w):
        return loss(w, data.reshape(-1, 3))

    gradient = fc.jit(lambda w: mpi.allreduce(fc.grad(own)(w)))
    same(gradient(w), fc.grad(whole)(w), rtol=1e-4)
    same(fc.jit(own)(w), whole(w), rtol=1e-4)
    # The transpose is the identity, and its transpose the sum again.
    transposed = fc.linear_transpose(mpi.allreduce, x[ME])
    same(transposed(x[ME])[0], x[ME])
    twice = fc.linear_transpose(lambda c: transposed(c)[0], x[ME])
    same(twice(x[ME])[0], x.sum(0))
    # Of second order, and in a loop whose steps are differentiated.
    same(fc.grad(fc.grad(lambda t: mpi.allreduce(t**3)))(np.float32(2)), 12.0)

    def looped(t):
        return lax.fori_loop(0, 3, lambda i, u: mpi.allreduce(u) / N + fnp.sin(u), t)

    def alone(t):
        return lax.fori_loop(0, 3, lambda i, u: u + fnp.sin(u), t)

    def scanned(g):
        return fc.grad(lambda t: lax.scan(lambda u, _: (g(u), None), t, None, length=2)[0])

    def step(u):
        return mpi.allreduce(u) / N + fnp.sin(u)

    same(fc.jvp(looped, (np.float32(0.3),), (np.float32(1),))[1], fc.grad(alone)(np.float32(0.3)))

    def plain(u):
        return 1 / N + np.cos(u)

    u1 = 0.3 + np.sin(0.3)
    same(fc.jit(scanned(step))(np.float32(0.3)), plain(0.3) * plain(u1), rtol=1e-4)
    refused(ValueError, 'only op "sum"', fc.grad(lambda t: mpi.allreduce(t, "max")), np.float32(1))
    refused(ValueError, "cannot be differentiated", fc.grad(lambda t: mpi.bcast(t)), np.float32(1))


def check_derivatives_of_messages() -> None:
    x, c = of_all(3), of_all(3, seed=1)
    after, before = (ME + 1) % N, (ME - 1) % N

    def ring(v):
        return mpi.sendrecv(fnp.sin(v), v * 0, source=before, dest=after)

    value, pullback = fc.vjp(ring, x[ME])
    same(value, np.sin(x[before]))
    same(pullback(c[ME])[0], np.cos(x[ME]) * c[after])  # cotangents go back
    same(fc.jvp(ring, (x[ME],), (c[ME],))[1], np.cos(x[before]) * c[before])
    first, last = ME == 0, ME == N - 1

    def line(v, edge):
        return mpi.sendrecv(v, edge, None if first else ME - 1, None if last else ME + 1)

    _, pullback = fc.vjp(line, x[ME], x[ME])
    to_sent, to_edge = pullback(c[ME])
    same(to_sent, 0 * c[ME] if last else c[after])
    same(to_edge, c[ME] if first else 0 * c[ME])
    parts = of_all(N, 2)
    _, pullback = fc.vjp(mpi.alltoall, parts[ME])
    cotangents = of_all(N, 2, seed=2)
    same(pullback(cotangents[ME])[0], cotangents[:, ME])


def check_logical_reductions() -> None:
    for kind in ("bool", "int32", "uint8"):
        x = np.array([ME, ME == 0, 1, 0]).astype(kind)
        every = np.stack([np.array([i, i == 0, 1, 0]) for i in range(N)]).astype(bool)
        for op, reduce in (
            (mpi.LAND, np.all),
            (mpi.LOR, np.any),
            (mpi.LXOR, np.logical_xor.reduce),
        ):
            result = mpi.allreduce(x, op)
            assert result.dtype == x.dtype
            same(result, reduce(every, axis=0).astype(kind))
    # Also where there is nothing to combine, as in process 0 of a scan.
    numbers = np.array([5, 0, 300], np.uint16)
    wanted: dict[str, Any] = {
        mpi.LAND: [1, 0, 1],
        mpi.LOR: [1, 0, 1],
        mpi.LXOR: [ME % 2 == 0, 0, ME % 2 == 0],
    }
    for op, values in wanted.items():
        same(mpi.scan(numbers, op), np.array(values, np.uint16))
    floats = np.ones(2, np.float32)
    refused(ValueError, "float32; there are sum, prod, max, min for", mpi.allreduce, floats, "lor")
    half, nibbles = floats.astype(np.float16), fnp.ones(2, fc.dtypes.int4)
    refused(ValueError, "float16; there are sum, prod, max, min for", mpi.allreduce, half, "lor")
    refused(ValueError, "int4; convert them to int8 first", mpi.allreduce, nibbles)


def check_errors_that_leave_the_job_whole() -> None:
    x = np.ones(3, np.float32)
    refused(ValueError, "op must be one of sum, prod", mpi.allreduce, x, "mean")
    refused(ValueError, "convert them to float32", mpi.allreduce, x.astype(np.float16))
    refused(ValueError, "cannot reduce elements of type bool", mpi.allreduce, x > 0)
    refused(ValueError, "there is no process 17", mpi.bcast, x, 17)
    refused(fc.FfiError, "there is no process 17", mpi.send, x, 17)
    refused(fc.FfiError, "a tag must be from 0", mpi.send, x, 0, -3)
    refused(ValueError, "source is -1; processes are numbered from 0", mpi.sendrecv, x, x, -1, None)
    refused(TypeError, "mpi.send: dest must be an integer", mpi.send, x, None)
    refused(TypeError, "mpi.bcast: root must be an integer", mpi.bcast, x, "0")
    refused(TypeError, "mpi.reduce: op must be a name such as mpi.SUM", mpi.reduce, x, np.add)
    small: Any = np.int8(0)
    same(mpi.bcast(x, small), x)
    refused(ValueError, f"must be {N}, the number of processes", mpi.alltoall, fnp.ones((N + 1, 2)))
    # Another operation on process 0, and another size.
    text = refused(fc.FfiError, "run different programs", mpi.allreduce if ME == 0 else mpi.scan, x)
    assert "process 0 runs mpi.allreduce(f32[3], op=sum)" in text
    assert "mpi.scan(f32[3], op=sum)" in text
    refused(fc.FfiError, "f32[4]", mpi.allreduce, np.ones(3 if ME == 0 else 4, np.float32))
    same(mpi.allreduce(x), N * x)


def check_utilities() -> None:
    from farcall.experimental import multihost_utils as utils

    x = of_all(2)
    gathered = utils.process_allgather({"a": x[ME], "b": np.int32(ME)})
    same(gathered["a"], x)
    same(gathered["b"], np.arange(N))
    same(utils.process_allgather(x[ME], tiled=True), x.reshape(-1))
    same(utils.broadcast_one_to_all(x[ME]), x[0])
    same(utils.broadcast_one_to_all(x[ME], is_source=ME == ROOT), x[ROOT])
    refused(ValueError, "one process must be the source", utils.broadcast_one_to_all, x[ME], False)
    utils.sync_global_devices("here")
    refused(RuntimeError, "different programs", utils.sync_global_devices, f"at {ME == 0}")
    utils.assert_equal({"x": np.float32([1, np.nan])})
    refused(AssertionError, "they differ", utils.assert_equal, np.int32(ME), "they differ")
