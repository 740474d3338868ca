"""Arrays that are deleted while programs read them: the programs finish with the old values."""

import sys
import threading
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

COUNT = 300_000  # bytes of this many floats go back to the allocator at once


def overwrite_free_memory() -> list[fc.Array]:
    return [fnp.full(COUNT, float(value)) for value in range(2, 10)]


def after_callback(callback: Any, count: int = COUNT) -> Any:
    """The sum of the argument, which is computed after the callback has run."""

    def function(x: fc.Array) -> fc.Array:
        zero = fc.pure_callback(callback, fc.ShapeDtypeStruct((), np.float32), x[0])
        return (x + zero).sum() / count

    return fc.jit(function)


@pytest.mark.parametrize("is_numpy_memory", [False, True])
def test_a_callback_may_delete_the_input_of_its_program(is_numpy_memory: bool) -> None:
    x = fnp.asarray(np.ones(COUNT, np.float32)) if is_numpy_memory else fnp.ones(COUNT)
    kept: list[Any] = []

    def delete(_: Any) -> Any:
        x.delete()
        kept.extend(overwrite_free_memory())
        return np.float32(0)

    assert after_callback(delete)(x) == 1
    assert x.is_deleted()


@pytest.mark.parametrize("steps", [1, 1000])
def test_another_thread_may_delete_the_input_of_a_program_that_runs(steps: int) -> None:
    is_running, is_deleted = threading.Event(), threading.Event()

    def wait(_: Any) -> Any:
        is_running.set()
        assert is_deleted.wait(60)
        return np.float32(0)

    inner = after_callback(wait)

    @fc.jit
    def function(x: fc.Array) -> fc.Array:
        first = inner(x)
        return fc.lax.fori_loop(1, steps, lambda i, total: total + x[i], first)

    x = fnp.ones(COUNT)
    results: list[fc.Array] = []
    thread = threading.Thread(target=lambda: results.append(function(x)))
    thread.start()
    assert is_running.wait(60)
    x.delete()
    kept = overwrite_free_memory()
    is_deleted.set()
    thread.join()
    assert results[0] == steps
    assert len(kept) == 8


def test_the_memory_of_an_array_that_a_program_read_is_freed_after_it() -> None:
    # Memory is shared if it is aligned to 64 bytes.
    bytes_ = np.zeros(4 * COUNT + 64, np.uint8)
    start = -bytes_.ctypes.data % 64
    memory = bytes_[start : start + 4 * COUNT].view(np.float32)
    memory[:] = 1
    references = sys.getrefcount(memory)
    x = fnp.asarray(memory)
    assert sys.getrefcount(memory) > references

    def delete(_: Any) -> Any:
        x.delete()
        assert sys.getrefcount(memory) > references
        return np.float32(0)

    assert after_callback(delete)(x) == 1
    assert sys.getrefcount(memory) == references


def seen_by_numpy(x: fc.Array) -> Any:
    return np.asarray(x)


def seen_by_memoryview(x: fc.Array) -> Any:
    return memoryview(x)


def seen_by_dlpack(x: fc.Array) -> Any:
    return np.from_dlpack(x)


@pytest.mark.parametrize("see", [seen_by_numpy, seen_by_memoryview, seen_by_dlpack])
@pytest.mark.parametrize("count", [3, COUNT])
def test_views_keep_the_memory_of_arrays_that_are_deleted_or_donated(see: Any, count: int) -> None:
    def delete(x: fc.Array) -> None:
        x.delete()

    def donate(x: fc.Array) -> None:
        fc.jit(lambda a: a * 2, donate_argnums=0)(x)

    for give_up in (delete, donate):
        x = fnp.arange(count) + np.float32(1)
        view = see(x)
        give_up(x)
        kept = [fnp.full(count, float(value)) for value in range(2, 10)]
        np.testing.assert_array_equal(np.asarray(view), np.arange(count) + 1)
        del kept


def test_a_deleted_array_is_not_ready() -> None:
    for x in (fnp.ones(3), fc.device_put(np.ones(3), fc.devices()[0])):
        x.delete()
        for use in (
            lambda x: x.block_until_ready(),
            fc.block_until_ready,
            lambda x: x.is_ready(),
            lambda x: x.copy(),
            lambda x: x + 1,
        ):
            with pytest.raises(RuntimeError, match=r"Array has been deleted .*: delete\(\) was"):
                use(x)


@pytest.mark.parametrize("transform", [fc.jit, fc.grad, fc.vmap])
def test_a_traced_array_is_not_computed(transform: Any) -> None:
    x = fnp.ones(3) if transform is fc.vmap else 1.0
    for method in ("block_until_ready", "is_ready"):
        with pytest.raises(AttributeError, match=f"{method}: a traced f32"):
            transform(lambda v, method=method: getattr(v, method)())(x)
    transform(fc.block_until_ready)(x)
