"""The pool of large blocks of memory, and its flag."""

import os
import subprocess
import sys
import threading
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

MIB = 1 << 20


@pytest.fixture(autouse=True)
def limit_as_before() -> Any:
    before = fc.config.memory_pool_limit
    fc.clear_memory_pool()
    yield
    fc.config.update("memory_pool_limit", before)


def test_a_freed_array_is_kept_and_used_again() -> None:
    x = fnp.zeros(4 * MIB, np.uint8)
    in_use = fc.memory_pool_info().bytes_in_use
    misses = fc.memory_pool_info().misses
    del x
    info = fc.memory_pool_info()
    assert info.bytes_in_use == in_use - 4 * MIB
    assert info.bytes_kept >= 4 * MIB
    y = fnp.ones(4 * MIB, np.uint8)
    assert fc.memory_pool_info().misses == misses
    assert y[-1] == 1


def test_an_executable_holds_nothing_large_between_runs() -> None:
    f = fc.jit(lambda x: (fnp.sort(x, 0).T + 1).sum(1))
    x = fnp.asarray(np.random.default_rng(0).standard_normal((1024, 1024), np.float32))
    np.testing.assert_allclose(f(x), np.asarray(x).sum(0) + 1024, rtol=1e-4)
    before = fc.memory_pool_info().bytes_in_use
    f(x)
    assert fc.memory_pool_info().bytes_in_use == before


def test_runs_after_the_first_take_no_memory_from_the_system() -> None:
    f = fc.jit(lambda x: fnp.tanh(x) * x + 1)
    x = fnp.ones(9 * MIB, np.float32)
    f(x)
    f(x)
    misses = fc.memory_pool_info().misses
    for _ in range(3):
        f(x)
    assert fc.memory_pool_info().misses == misses


def test_the_limit_is_a_flag() -> None:
    fc.config.update("memory_pool_limit", 3 * MIB)
    assert fc.memory_pool_info().limit == fc.config.memory_pool_limit == 3 * MIB
    arrays = [fnp.zeros(MIB, np.uint8) for _ in range(8)]
    del arrays
    assert fc.memory_pool_info().bytes_kept == 3 * MIB
    fc.config.update("memory_pool_limit", 0)
    assert fc.memory_pool_info().bytes_kept == 0


@pytest.mark.parametrize("limit", [-1, "much", None, 1.5, 2**64])
def test_a_limit_that_is_none_is_refused(limit: Any) -> None:
    wanted = "memory_pool_limit must be (a number of bytes, 0 or more|an integer); got"
    with pytest.raises(ValueError, match=wanted):
        fc.config.update("memory_pool_limit", limit)


def test_the_environment_sets_the_limit() -> None:
    code = "import farcall as fc; print(fc.memory_pool_info().limit)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"FARCALL_MEMORY_POOL_LIMIT": str(5 * MIB)},
    )
    assert int(done.stdout) == 5 * MIB


def test_threads_share_the_pool() -> None:
    f = fc.jit(lambda x: (fnp.sort(x, 0).T * 2).sum())
    x = fnp.ones((512, 1024))
    results: list[float] = []
    threads = [
        threading.Thread(target=lambda: results.extend(float(f(x)) for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2.0 * 512 * 1024] * 20


def test_a_view_outlives_the_array() -> None:
    view = np.asarray(fnp.full(2 * MIB, 7, np.uint8))
    fc.clear_memory_pool()
    others = [fnp.zeros(2 * MIB, np.uint8) for _ in range(4)]
    assert (view == 7).all()
    del others
