from __future__ import annotations

import numpy as np
import pytest

import my_kernel

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def test_values_and_derivatives_in_farcall() -> None:
    farcall = pytest.importorskip("farcall")
    from my_kernel import for_farcall

    kernel = for_farcall.my_kernel
    jitted = farcall.jit(lambda x: kernel(x, gain=0.5))
    np.testing.assert_allclose(jitted(X), np.tanh(0.5 * X), rtol=1e-6)
    farcall.testing.check_derivatives(kernel, (X[0],), gain=0.5)
    farcall.testing.check_batching(kernel, (X,), gain=0.5)


def test_values_and_derivatives_in_jax() -> None:
    jax = pytest.importorskip("jax")
    from my_kernel import for_jax

    kernel = for_jax.my_kernel
    x = jax.numpy.asarray(X)
    np.testing.assert_allclose(jax.jit(kernel)(x), np.tanh(X), rtol=1e-6)
    slopes = jax.grad(lambda x: kernel(x, 0.5).sum())(x)
    np.testing.assert_allclose(slopes, 0.5 / np.cosh(0.5 * X) ** 2, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(kernel)(x), np.tanh(X), rtol=1e-6)


def test_the_handler_does_nothing_wrong() -> None:
    """Under many shapes, with guard pages around the operands, from several threads."""
    farcall = pytest.importorskip("farcall")
    library = my_kernel.library_path()
    farcall.testing.check_handler(
        f"{library}:my_kernel", args=["f32[N,M]"], rets=["f32[N,M]"], attrs=["gain:f32=0.5"]
    )
