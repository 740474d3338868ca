"""Caches are bounded: what was used least recently goes, and memory stays."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest


@pytest.fixture
def limit_of_four() -> Any:
    before = fc.config.cache_limit
    fc.config.update("cache_limit", 4)
    yield
    fc.config.update("cache_limit", before)


def counting() -> Any:
    runs: list[Any] = []

    def times(x: Any, n: int) -> Any:
        runs.append(n)
        return x * n

    return fc.jit(times, static_argnums=1), runs


def test_the_signature_used_least_recently_is_recorded_again(limit_of_four: None) -> None:
    jitted, runs = counting()
    x = fnp.arange(2.0)
    for n in (1, 2, 3, 4):
        jitted(x, n)
    jitted(x, 1)  # 2 is now the one used least recently
    jitted(x, 5)
    jitted(x, 1)
    assert runs == [1, 2, 3, 4, 5]
    jitted(x, 2)
    assert runs == [1, 2, 3, 4, 5, 2]


def test_results_stay_right_beyond_every_limit(limit_of_four: None) -> None:
    jitted, _ = counting()
    double = fc.jit(lambda x: x * 2)
    for n in range(50):
        x = np.arange(n % 23, dtype=np.float32)
        np.testing.assert_array_equal(jitted(x, n % 7), x * (n % 7))
        np.testing.assert_array_equal(double(x), x * 2)
        np.testing.assert_array_equal(fnp.asarray(x) + 1, x + 1)


def test_cache_info_tells_size_limit_misses_and_evictions(limit_of_four: None) -> None:
    jitted, _ = counting()
    for n in (1, 2, 3, 4, 5, 6, 6):
        jitted(fnp.zeros(2), n)
    assert jitted.cache_info() == (4, 4, 6, 2)
    assert jitted.cache_info().evictions == 2
    jitted.clear_cache()
    assert jitted.cache_info().size == 0
    assert fc.cache_info().eager.limit == 4
    assert fc.cache_info().num_array_types > 0


def test_many_signatures_beyond_those_found_fastest_give_way_to_new_ones() -> None:
    double = fc.jit(lambda x: x * 2)
    for n in [*range(40), *range(40)]:
        assert double(fnp.ones(n)).shape == (n,)
    assert double.cache_info()[:1] + double.cache_info()[2:] == (40, 40, 0)


@pytest.mark.parametrize("limit", [0, -3, "many", None, 2.5])
def test_a_limit_that_is_none_is_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match=r"cache_limit must be (1 or more|an integer); got"):
        fc.config.update("cache_limit", limit)
    assert fc.config.cache_limit > 0


def left_behind(calls: int, **variables: str) -> float:
    script = Path(__file__).with_name("soak.py")
    done = subprocess.run(
        [sys.executable, script, str(calls)],
        capture_output=True,
        text=True,
        check=False,
        env={"FARCALL_CACHE_LIMIT": "32", **variables},
    )
    assert done.returncode == 0, done.stderr
    return float(re.findall(r"(-?[\d.]+) MB  in all", done.stdout)[0])


def test_calls_that_are_new_each_time_leave_little_memory_behind() -> None:
    assert left_behind(1500) < 25


@pytest.mark.slow
def test_a_million_calls_that_are_new_each_time_leave_at_most_50_megabytes() -> None:
    assert left_behind(70_000, FARCALL_CACHE_LIMIT="768") < 50
