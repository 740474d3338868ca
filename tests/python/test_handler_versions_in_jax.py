"""Handlers built for each version of the interface, all in one process, in both runtimes."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from handler_library import build, load

pytest.importorskip("jax")
from hosted import (
    BYTES,
    EVERY_MISTAKE,
    F32,
    PICKY,
    RICH,
    S64,
    SCALARS,
    SOURCE,
    failure_in_both,
    in_both,
    register_all,
    text_of,
)
from hosts import FARCALL, HOSTS

VERSIONS = [1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def libraries() -> dict[int, ctypes.CDLL]:
    """The same source for each version, all in one process."""
    flags = {version: f"-DFARCALL_FFI_VERSION_MINOR={version}" for version in VERSIONS}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda flag: build(SOURCE, flag), flags.values()))
    made = {version: load(SOURCE, flag) for version, flag in flags.items()}
    for version, library in made.items():
        for host in HOSTS:
            register_all(host, library, prefix=f"v{version}_")
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_versions_agree_on_everything_but_state(
    version: int, libraries: dict[int, ctypes.CDLL]
) -> None:
    prefix = f"v{version}_hosted_"
    x = np.arange(5, dtype=np.float32)
    y = in_both(f"{prefix}axpy", ((5,), np.float32), x, x, a=np.float32(2))
    np.testing.assert_array_equal(y, 3 * x)
    assert text_of(in_both(f"{prefix}rich", BYTES, **RICH)).startswith("sëen||1,-2,||7|3")
    in_both(f"{prefix}scalars", BYTES, **SCALARS)
    squares = in_both(f"{prefix}parallel", ((50,), np.int64), np.arange(50), fail_at=-1)
    assert squares[-1] == 49 * 49
    later = in_both(f"{prefix}future", ((4,), np.int64), own_thread=True, failure="")
    assert later.tolist() == [100, 101, 102, 103]
    for host in HOSTS:
        assert host.call(f"{prefix}ids", ((3,), np.int64))[1:].tolist() == [0, 3]


@pytest.mark.parametrize("version", VERSIONS)
def test_versions_agree_on_failures(version: int, libraries: dict[int, ctypes.CDLL]) -> None:
    prefix = f"v{version}_hosted_"
    failed = failure_in_both(f"{prefix}fail", F32, code=np.int32(8), message="m")
    assert failed == ("RESOURCE_EXHAUSTED", "m")
    failed = failure_in_both(f"{prefix}throw", F32, what="runtime_error")
    assert failed == ("INTERNAL", "hosted_throw: it does not work")
    args, result, change, text = EVERY_MISTAKE
    failed = failure_in_both(f"{prefix}picky", result, *args, **{**PICKY, **change})
    assert failed == ("INVALID_ARGUMENT", f"hosted_picky: {text}")


@pytest.mark.parametrize("version", VERSIONS)
def test_state_in_every_version(version: int, libraries: dict[int, ctypes.CDLL]) -> None:
    """farcall keeps the state of every version; JAX that of its own and later ones."""
    hosts = HOSTS if version >= 3 else [FARCALL]
    for host in hosts:
        before = libraries[version].hosted_num_instantiated()
        assert host.call(f"v{version}_hosted_plan", S64, first=30 + version) == 30 + version
        assert libraries[version].hosted_num_instantiated() == before + 1
    assert FARCALL.call(f"v{version}_hosted_scratch", S64, size=64) == 0
