"""Reductions of narrow floats, which are computed in float32: every axis, rows of every length."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import ml_dtypes
import numpy as np
import pytest

SHAPES = [(3, 1000), (129, 1025), (2, 513), (700, 3), (5, 40, 600), (1, 2000)]
REDUCTIONS = ["sum", "max", "min", "prod"]
DTYPES = [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]


def values(shape: tuple[int, ...], dtype: type, name: str) -> np.ndarray:
    """Numbers whose sums and products every one of these dtypes holds exactly."""
    random = np.random.default_rng(len(shape))
    if name == "prod":
        return np.where(random.random(shape) < 0.5, -1.0, 1.0).astype(dtype)
    sparse = random.integers(-1, 2, shape) * (random.random(shape) < 8 / max(shape))
    return sparse.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_of_narrow_floats_are_those_of_float32(
    shape: tuple[int, ...], name: str, dtype: type
) -> None:
    x = values(shape, dtype, name)
    reduce = getattr(fnp, name)
    for axis in range(len(shape)):
        wanted = getattr(np, name)(x.astype(np.float32), axis).astype(dtype)
        np.testing.assert_array_equal(
            np.asarray(reduce(x, axis), np.float32), wanted.astype(np.float32), f"axis {axis}"
        )
        jitted = fc.jit(lambda x, axis=axis: reduce(x * x * x, axis))(x)
        np.testing.assert_array_equal(
            np.asarray(jitted, np.float32), wanted.astype(np.float32), f"axis {axis}, jitted"
        )
