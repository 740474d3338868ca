"""nn.dot_product_attention against JAX, for every option; wrong arguments."""

from __future__ import annotations

from typing import Any

import farcall as fc
import jax
import numpy as np
import pytest
from farcall import nn

B, T, S, N, H = 2, 5, 6, 4, 3
RANDOM = np.random.default_rng(0)
LENGTHS = {"query_seq_lengths": np.int32([3, 5]), "key_value_seq_lengths": np.int32([6, 2])}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.3},
    "window": {"local_window_size": 1},
    "two windows": {"local_window_size": (2, 0)},
    "lengths": LENGTHS,
    "bias": {"bias": RANDOM.normal(size=(B, N, T, S)).astype(np.float32)},
    "small bias": {"bias": RANDOM.normal(size=(1, 1, 1, S)).astype(np.float32)},
    "mask": {"mask": RANDOM.random((B, 1, T, S)) > 0.3},
    "all": {"mask": RANDOM.random((B, N, T, S)) > 0.3, "is_causal": True, **LENGTHS},
}


def inputs(heads: int = N, dtype: Any = np.float32) -> list[np.ndarray]:
    shapes = [(B, T, N, H), (B, S, heads, H), (B, S, heads, H)]
    return [RANDOM.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize(
    ("name", "heads"), [*((name, 2) for name in OPTIONS), ("plain", N), ("plain", 1)]
)
def test_attention_is_that_of_jax(name: str, heads: int) -> None:
    arrays, options = inputs(heads), OPTIONS[name]
    ours = nn.dot_product_attention(*arrays, return_residual=True, **options)
    theirs = jax.jit(lambda *a: jax.nn.dot_product_attention(*a, return_residual=True, **options))(
        *arrays
    )
    for a, b in zip(ours, theirs, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def test_narrow_floats_and_no_batch() -> None:
    arrays = [x[0] for x in inputs(dtype=fc.dtypes.bfloat16)]
    ours, theirs = nn.dot_product_attention(*arrays), jax.nn.dot_product_attention(*arrays)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(np.float32(ours), np.float32(theirs), rtol=2e-2, atol=2e-2)


def test_derivatives_are_those_of_jax() -> None:
    arrays, options = inputs(2), OPTIONS["all"]

    def gradient(module: Any) -> Any:
        def loss(*xs: Any) -> Any:
            return (module.nn.dot_product_attention(*xs, **options) ** 2).sum()

        return module.jit(module.grad(loss, (0, 1, 2)))(*arrays)

    for a, b in zip(gradient(fc), gradient(jax), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


Q, K, V = inputs()


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        ((Q, K, V[:1]), {}, ValueError, "value must be like key"),
        ((Q[:1], K, V), {}, ValueError, "query must have the dtype"),
        ((Q.astype(np.float16), K, V), {}, ValueError, "query must have the dtype"),
        ((Q[:, :, :3], K[:, :, :2], V[:, :, :2]), {}, ValueError, "a multiple of that of key, 2"),
        ((Q[0, 0], K, V), {}, ValueError, "query must have rank 3 or 4"),
        ((Q, K, V), {"mask": np.ones((B, N, T, S), np.float32)}, ValueError, "mask must be bool"),
        ((Q, K, V), {"bias": np.ones((3, 1, T, S), np.float32)}, ValueError, "bias must broadcast"),
        ((Q, K, V), {"query_seq_lengths": np.int32([1])}, ValueError, "query_seq_lengths must be"),
        ((Q, K, V), {"local_window_size": -1}, ValueError, "local_window_size must not"),
        ((Q, K, V), {"implementation": "cudnn"}, NotImplementedError, "implementation"),
        (([1.0], K, V), {}, TypeError, "argument query"),
    ],
)
def test_wrong_arguments(
    arguments: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        nn.dot_product_attention(*arguments, **options)
