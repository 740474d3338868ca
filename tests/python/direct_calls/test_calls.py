"""Calls that a plugin makes without a relay: handlers with their stages, and buffer callbacks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi, lax
from farcall.experimental import io_callback
from farcall.experimental.buffer_callback import buffer_callback

X: Any = np.asarray([1, 2, 3], "float32")
F32 = fc.ShapeDtypeStruct((3,), "float32")


@pytest.fixture(scope="module")
def device() -> fc.Device:
    return fc.devices("pjrt")[0]


def test_handlers_with_attributes(handlers: SimpleNamespace, device: fc.Device) -> None:
    call = ffi.ffi_call("scale", F32)
    f = fc.jit(lambda x: call(call(x, factor=np.float32(2)) + 1, factor=np.float32(3)))
    assert f(fc.device_put(X, device)).tolist() == f(X).tolist() == [9, 15, 21]
    loop = fc.jit(
        lambda x: lax.fori_loop(0, 4, lambda i, a: call(a, factor=np.float32(2)), x), device=device
    )
    assert loop(X).tolist() == [16, 32, 48]
    report = fc.jit(f, device=device).lower(X).compile().report()
    assert [r.target_name for r in report] == ["scale"] * 2


def test_errors_of_handlers(handlers: SimpleNamespace, device: fc.Device) -> None:
    f = fc.jit(lambda x: ffi.ffi_call("not_negative", F32)(x), device=device)
    assert f(X).tolist() == X.tolist()
    with pytest.raises(Exception, match="negative"):
        f(-X)
    assert f(X).tolist() == X.tolist()


def test_state_is_made_once_for_an_executable(
    handlers: SimpleNamespace, handler_library: Any, device: fc.Device
) -> None:
    count = ffi.ffi_call("counter", fc.ShapeDtypeStruct((), "int64"))
    f = fc.jit(lambda: count(start=np.int64(7)), device=device)
    assert [int(f()) for _ in range(3)] == [7, 8, 9]
    g = fc.jit(lambda: (count(start=np.int64(1)), fnp.ones(())), device=device)
    assert int(g()[0]) == 1
    assert int(f()) == 10


def test_a_target_that_is_not_there_names_the_platform(device: fc.Device) -> None:
    with pytest.raises(RuntimeError, match='no target "no_such" on platform "cpu"'):
        fc.jit(lambda x: ffi.ffi_call("no_such", F32)(x), device=device)(X)


def double(ctx: Any, out: Any, x: Any) -> None:
    assert ctx.device_ordinal == 0
    np.asarray(out)[:] = 2 * np.asarray(x)


@pytest.mark.parametrize("compatible", [False, True])
def test_buffer_callbacks(device: fc.Device, compatible: bool) -> None:
    call = buffer_callback(
        double, F32, vmap_method="sequential", command_buffer_compatible=compatible
    )
    f = fc.jit(lambda x: call(call(x) + 1), device=device)
    for _ in range(3):
        assert f(X).tolist() == [6, 10, 14]
    batch = np.stack([X, X + 1])
    assert fc.jit(fc.vmap(lambda x: call(x)), device=device)(batch).tolist() == (2 * batch).tolist()
    report = fc.jit(f, device=device).lower(X).compile().report()
    assert [r.target_name for r in report] == ["double", "double"]


def test_two_results_and_an_alias(device: fc.Device) -> None:
    def both(ctx: Any, results: Any, x: Any, y: Any) -> None:
        total, out = results
        np.asarray(total)[...] = np.asarray(x).sum()
        np.asarray(out)[:] += np.asarray(y)

    call = buffer_callback(
        both, (fc.ShapeDtypeStruct((), "float32"), F32), input_output_aliases={0: 1}
    )
    total, out = fc.jit(lambda x: call(x * 1, x + 1), device=device)(X)
    assert (float(total), out.tolist()) == (6, [3, 5, 7])


def test_exceptions_keep_their_type(device: fc.Device) -> None:
    class MineError(Exception):
        pass

    def fail(ctx: Any, out: Any, x: Any) -> None:
        if np.asarray(x)[0] < 0:
            raise MineError("negative")
        np.asarray(out)[:] = np.asarray(x)

    f = fc.jit(lambda x: buffer_callback(fail, F32)(x) + 1, device=device)
    assert f(X).tolist() == [2, 3, 4]
    for _ in range(3):
        with pytest.raises(MineError, match="negative"):
            f(-X)
    assert f(X).tolist() == [2, 3, 4]


def test_a_callback_that_runs_programs_on_the_same_device(device: fc.Device) -> None:
    inner = fc.jit(lambda x: x * 2, device=device)

    def outer(ctx: Any, out: Any, x: Any) -> None:
        np.asarray(out)[:] = np.asarray(inner(np.array(x)))

    f = fc.jit(lambda x: buffer_callback(outer, F32)(x), device=device)
    assert f(X).tolist() == [2, 4, 6]


def test_callbacks_run_in_order(device: fc.Device) -> None:
    seen: list[float] = []

    def note(ctx: Any, out: Any, x: Any) -> None:
        seen.append(float(np.asarray(x)[0]))

    effect = buffer_callback(note, (), has_side_effect=True)

    def body(i: Any, x: fc.Array) -> fc.Array:
        effect(x)
        effect(x + 0.5)
        return x + 1

    f = fc.jit(lambda x: lax.fori_loop(0, 3, body, x), device=device)
    assert f(X).tolist() == [4, 5, 6]
    assert seen == [1, 1.5, 2, 2.5, 3, 3.5]


def test_what_the_plugin_does_not_offer_stays_with_relays(
    handlers: SimpleNamespace, device: fc.Device
) -> None:
    note = ffi.ffi_call("scale", F32, has_side_effect=True)

    def f(x: fc.Array) -> fc.Array:
        y = fc.pure_callback(lambda a: np.asarray(a) * 3, F32, x)
        return note(y, factor=np.float32(2))

    assert fc.jit(f, device=device)(X).tolist() == [6, 12, 18]


def test_callbacks_on_arrays_work_on_copies(device: fc.Device) -> None:
    seen: list[np.ndarray] = []

    def keep(a: Any) -> Any:
        seen.append(np.asarray(a))
        return np.asarray(a) + 1

    def body(i: Any, x: fc.Array) -> fc.Array:
        x = io_callback(keep, F32, x, ordered=True)
        fc.debug.callback(lambda a: seen.append(-np.asarray(a)), x, ordered=True)
        return lax.cond(x[0] > 2, lambda x: fc.pure_callback(keep, F32, x), lambda x: x, x)

    f = fc.jit(lambda x: lax.fori_loop(0, 2, body, x) * 2, device=device)
    for _ in range(3):
        seen.clear()
        assert f(X).tolist() == [8, 10, 12]
        assert [float(a[0]) for a in seen] == [1, -2, 2, -3, 3]
    empty = fc.ShapeDtypeStruct((0, 3), "float32")
    none = fc.jit(lambda x: fc.pure_callback(lambda a: a, empty, x), device=device)
    assert none(np.zeros((0, 3), "float32")).shape == (0, 3)
