"""my_kernel for JAX: jit, vmap, jvp, grad."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np

from my_kernel import platforms, registrations

_JAX_NAMES = {"cpu": "cpu", "cuda": "CUDA"}  # JAX ignores registrations for "cuda"

for _platform in platforms():
    for _name, _capsule in registrations(_platform).items():
        jax.ffi.register_ffi_target(_name, _capsule, platform=_JAX_NAMES[_platform])


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def my_kernel(x: Any, gain: float = 1.0) -> Any:
    """tanh(gain * x) for an array x of float32, of any shape."""
    result = jax.ShapeDtypeStruct(x.shape, x.dtype)
    call = jax.ffi.ffi_call("my_kernel", result, vmap_method="broadcast_all")
    return call(x, gain=np.float32(gain))


@my_kernel.defjvp
def _jvp(gain: float, primals: Any, tangents: Any) -> Any:
    y = my_kernel(*primals, gain)
    return y, gain * (1 - y * y) * tangents[0]
