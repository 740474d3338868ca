"""Indices of several components at many places: values are those of numpy and of JAX."""

from __future__ import annotations

import itertools
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest

PLACES = 5000  # the native engine changes such indices from 2,048 places on
SHAPES = [(30, 40), (7, 11, 13), (30, 40, 5), (1, 300), (300, 1, 2)]


def random_indices(shape: tuple[int, ...], count: int, dtype: str, beyond: int) -> list[Any]:
    rng = np.random.default_rng(len(shape) + count + beyond)
    return [
        rng.integers(-size - beyond, size + beyond, PLACES).astype(dtype) for size in shape[:count]
    ]


def array(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("shape", "count"), [(s, n) for s in SHAPES for n in range(2, len(s) + 1)], ids=str
)
def test_taken_elements_and_rows(shape: tuple[int, ...], count: int, dtype: str) -> None:
    x = array(shape)
    with fc.enable_x64(dtype == "int64"):
        indices = random_indices(shape, count, dtype, beyond=0)
        taken = fc.jit(lambda x, *i: x[i])(x, *indices)
        np.testing.assert_array_equal(taken, x[tuple(indices)])


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize(
    ("shape", "count"), [(s, n) for s in SHAPES for n in range(2, len(s) + 1)], ids=str
)
def test_taken_out_of_bounds(shape: tuple[int, ...], count: int, mode: str) -> None:
    x = array(shape)
    indices = random_indices(shape, count, "int32", beyond=3)
    for i, value in zip(range(count), itertools.cycle([2**31 - 1, -(2**31)]), strict=False):
        indices[i][i * 10 : i * 10 + 5] = value
    taken = fc.jit(lambda x, *i: x.at[i].get(mode=mode))(x, *indices)
    wanted = jax.jit(lambda x, *i: x.at[i].get(mode=mode))(x, *indices)
    np.testing.assert_array_equal(taken, wanted)
    taken = fc.jit(lambda x, *i: x.at[i].get(mode=mode, fill_value=-5))(x, *indices)
    wanted = jax.jit(lambda x, *i: x.at[i].get(mode=mode, fill_value=-5))(x, *indices)
    np.testing.assert_array_equal(taken, wanted)


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("update", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize(("shape", "count"), [((30, 40), 2), ((30, 40, 5), 2), ((7, 11, 13), 3)])
def test_changed_elements_and_rows(
    shape: tuple[int, ...], count: int, update: str, mode: str
) -> None:
    x = array(shape, "int32")
    indices = random_indices(shape, count, "int32", beyond=3)
    values = array((PLACES, *shape[count:]), "int32") % 7

    def changed(x: Any, values: Any, *i: Any) -> Any:
        return getattr(x.at[i], update)(values, mode=mode)

    np.testing.assert_array_equal(
        fc.jit(changed)(x, values, *indices), jax.jit(changed)(jnp.asarray(x), values, *indices)
    )


def test_indices_in_another_order_of_dimensions() -> None:
    x = array((30, 40, 3))
    i, j = random_indices((30, 40), 2, "int32", beyond=0)
    taken = fc.jit(lambda x, i, j: fnp.transpose(x, (1, 0, 2))[j, i])(x, i, j)
    np.testing.assert_array_equal(taken, x[i, j])
    numbers = fc.lax.GatherDimensionNumbers(
        offset_dims=(1,), collapsed_slice_dims=(0, 1), start_index_map=(1, 0)
    )

    def swapped(x: Any, i: Any, j: Any) -> Any:
        indices = fnp.stack([j, i], axis=1)
        return fc.lax.gather(x, indices, numbers, slice_sizes=(1, 1, 3), mode="clip")

    i, j = i % 30, j % 40
    np.testing.assert_array_equal(fc.jit(swapped)(x, i, j), x[i, j])


def test_indices_of_several_dimensions() -> None:
    x = array((30, 40))
    i, j = (a.reshape(50, 100) for a in random_indices((30, 40), 2, "int32", beyond=0))
    np.testing.assert_array_equal(fc.jit(lambda x, i, j: x[i, j])(x, i, j), x[i, j])
    np.testing.assert_array_equal(fc.jit(lambda x, i, j: x[i[:, :1], j])(x, i, j), x[i[:, :1], j])


def test_the_derivative_of_taken_elements() -> None:
    x = array((30, 40)) / 100
    i, j = random_indices((30, 40), 2, "int32", beyond=0)

    def loss(m: Any) -> Any:
        return lambda x, i, j: m.sin(x[i, j]).sum()

    np.testing.assert_allclose(
        fc.jit(fc.grad(loss(fnp)))(x, i, j), jax.jit(jax.grad(loss(jnp)))(x, i, j), rtol=2e-5
    )
