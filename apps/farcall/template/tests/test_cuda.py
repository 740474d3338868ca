from __future__ import annotations

import numpy as np
import pytest

X = np.linspace(-2, 2, 1001, dtype=np.float32)


def test_values_on_a_gpu_in_farcall() -> None:
    farcall = pytest.importorskip("farcall")
    try:
        device = farcall.devices("cuda")[0]
    except RuntimeError:
        pytest.skip("there is no GPU, or no PJRT plugin for it")
    from my_kernel.for_farcall import my_kernel

    on_gpu = farcall.jit(my_kernel, device=device)
    np.testing.assert_allclose(on_gpu(X), np.tanh(X), rtol=1e-5)


def test_values_on_a_gpu_in_jax() -> None:
    jax = pytest.importorskip("jax")
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError:
        pytest.skip("there is no GPU")
    from my_kernel.for_jax import my_kernel

    np.testing.assert_allclose(my_kernel(jax.device_put(X, device)), np.tanh(X), rtol=1e-5)
