"""Matrices of normally distributed numbers, for tests of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np


def random(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)
