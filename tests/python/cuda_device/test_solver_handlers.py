"""The handlers of JAX's package for CUDA: cuSOLVER's and others, called by farcall."""

from __future__ import annotations

import importlib

import farcall as fc
import numpy as np
import pytest
from farcall import ffi


@pytest.fixture(scope="module", autouse=True)
def registered() -> set[str]:
    names = set()
    for package in ("jax_cuda13_plugin", "jax_cuda12_plugin"):
        for module in ("_solver", "_linalg", "_prng", "_sparse"):
            try:
                library = importlib.import_module(f"{package}.{module}")
            except ImportError:
                continue
            for name, handler in library.registrations().items():
                version = int(name.endswith("_ffi"))
                ffi.register_ffi_target(name, handler, platform="cuda", api_version=version)
                names.add(name)
    if not names:
        pytest.skip("no package jax-cuda13-plugin")
    return names


def column_major(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_getrf(dtype: str, device: fc.Device, registered: set[str]) -> None:
    assert "cusolver_getrf_ffi" in registered
    random = np.random.default_rng(0)
    a = random.normal(size=(2, 5, 5)).astype(dtype)
    call = ffi.ffi_call(
        "cusolver_getrf_ffi",
        (
            fc.ShapeDtypeStruct(a.shape, dtype),
            fc.ShapeDtypeStruct((2, 5), "int32"),
            fc.ShapeDtypeStruct((2,), "int32"),
        ),
        input_layouts=[column_major(3)],
        output_layouts=[column_major(3), None, None],
        input_output_aliases={0: 0},
    )
    lu, pivots, info = (np.asarray(r) for r in fc.jit(lambda a: call(a), device=device)(a))
    assert info.tolist() == [0, 0]
    for i in range(2):
        lower, upper = np.tril(lu[i], -1) + np.eye(5), np.triu(lu[i])
        rows = a[i].copy()
        for k, p in enumerate(pivots[i] - 1):
            rows[[k, p]] = rows[[p, k]]
        np.testing.assert_allclose(lower @ upper, rows, rtol=1e-4, atol=1e-4)


def test_syevd(device: fc.Device, registered: set[str]) -> None:
    """Symmetric eigenvalues, by a handler with scratch memory and handles of cuSOLVER."""
    assert "cusolver_syevd_ffi" in registered
    a = np.random.default_rng(0).normal(size=(6, 6)).astype("float32")
    a = a + a.T
    call = ffi.ffi_call(
        "cusolver_syevd_ffi",
        (
            fc.ShapeDtypeStruct(a.shape, "float32"),
            fc.ShapeDtypeStruct((6,), "float32"),
            fc.ShapeDtypeStruct((), "int32"),
        ),
        input_layouts=[column_major(2)],
        output_layouts=[column_major(2), None, None],
        input_output_aliases={0: 0},
    )
    f = fc.jit(lambda a: call(a, lower=True, algorithm=np.uint8(0)), device=device)
    for _ in range(3):
        _, values, info = (np.asarray(r) for r in f(a))
        assert info == 0
        np.testing.assert_allclose(values, np.linalg.eigvalsh(a), rtol=1e-3, atol=1e-4)
