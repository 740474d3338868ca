"""What all tests share: JAX with 64-bit types as oracle, and a library of handlers."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from types import SimpleNamespace

import farcall
import hypothesis
import jax
import numpy as np
import pytest
from defining import SAME, TARGETS, WEIGH
from farcall import ffi
from handler_library import load

jax.config.update("jax_platforms", "cpu")
# What is compiled here runs once or twice: LLVM's optimizations take longer than they save.
plain_flags = os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
# So do MLIR's patterns for fused loops, and threads for the parts of a small program. Plugins read
# the variable too, and end the process if they do not know a flag; JAX reads it once.
os.environ["XLA_FLAGS"] = (
    f"{plain_flags} --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
jax.devices()
os.environ["XLA_FLAGS"] = plain_flags

# A run of all tests is to give the same result again; HYPOTHESIS_PROFILE=default looks further.
hypothesis.settings.register_profile("same_each_time", derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same_each_time"))


def scalar(dtype: str = "int64") -> farcall.ShapeDtypeStruct:
    return farcall.ShapeDtypeStruct((), dtype)


@pytest.fixture(scope="module", autouse=True)
def keep_objects_of_earlier_modules() -> None:
    """Garbage collections leave out what earlier tests and JAX made: millions of objects."""
    gc.freeze()


@pytest.fixture
def x64() -> Iterator[None]:
    """numpy's 64-bit data stays so, in farcall and in JAX, for tests of float64 kernels."""
    with farcall.enable_x64(), jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def handler_library() -> ctypes.CDLL:
    """The library of tests/handlers/python_handlers.cpp, with the types of its functions."""
    library = load("python_handlers.cpp")
    for function in ("num_calls", "num_states_made", "num_states_alive"):
        getattr(library, function).restype = ctypes.c_int64
    return library


@pytest.fixture(scope="session")
def handlers(handler_library: ctypes.CDLL) -> SimpleNamespace:
    """The library with its handlers registered under their own names."""
    names = [
        "scale",
        "add_one_in_place",
        "sum_and_difference",
        "copy_all",
        "memory_order",
        "fill_in_memory_order",
        "address",
        "describe_attributes",
        "wants_many",
        "count_calls",
        "takes_scratch",
        "token_in",
        "fail",
        "throws",
        "throws_number",
        "not_negative",
        "sleep_for",
        "misbehaves",
    ]
    for name in names:
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(handler_library, name)))
    stages = {
        "instantiate": ffi.pycapsule(handler_library.counter_instantiate),
        "execute": ffi.pycapsule(handler_library.counter),
    }
    ffi.register_ffi_target("counter", stages)
    for name in ("untyped_add", "untyped_invert", "untyped_length"):
        capsule = ffi.pycapsule(getattr(handler_library, name))
        ffi.register_ffi_target(name, capsule, api_version=0)
    return SimpleNamespace(library=handler_library, names=names)


@pytest.fixture(scope="session")
def libraries() -> dict[str, ctypes.CDLL]:
    loaded = {source: load(source) for source in TARGETS}
    loaded["batched.cpp"].batched_calls.restype = ctypes.c_int64
    return loaded


@pytest.fixture
def names(libraries: dict[str, ctypes.CDLL], request: pytest.FixtureRequest) -> dict[str, str]:
    """The handlers of defining.TARGETS, registered under names that no other test has.

    Definitions live as long as the process.
    """
    made = {}
    for source, symbols in TARGETS.items():
        for short, symbol in symbols.items():
            made[short] = f"{short} of {request.node.name}"
            ffi.register_ffi_target(made[short], ffi.pycapsule(getattr(libraries[source], symbol)))
    return made


@pytest.fixture
def grow(names: dict[str, str]) -> ffi.Definition:
    """exp(rate * x), without rules."""
    return ffi.define(
        names["grow"], shape=SAME, attributes={"rate": 1.0}, vmap_method="broadcast_all"
    )


@pytest.fixture
def weigh(names: dict[str, str]) -> ffi.Definition:
    """factor * x * w and its sum, without rules."""
    return ffi.define(
        names["weigh"], shape=WEIGH, attributes={"factor": 2.0}, vmap_method="expand_dims"
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
