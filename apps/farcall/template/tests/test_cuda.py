from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")


def test_values_on_a_gpu() -> None:
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError:
        pytest.skip("there is no GPU")
    from my_kernel.for_jax import my_kernel

    x = np.linspace(-2, 2, 1001, dtype=np.float32)
    np.testing.assert_allclose(my_kernel(jax.device_put(x, device)), np.tanh(x), rtol=1e-5)
