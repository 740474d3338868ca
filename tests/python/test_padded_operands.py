"""Operands with elements around them, or less some, in the middle of elementwise operations."""

from __future__ import annotations

from itertools import product

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall import lax

pytestmark = pytest.mark.usefixtures("x64")

EDGES = ((0, 0), (1, 0), (0, 2), (3, 5), (-1, 0), (0, -2), (2, -3), (-2, 1), (-4, 9))


def padded(x: np.ndarray, value: object, edges: tuple[tuple[int, int], ...]) -> np.ndarray:
    grown = np.pad(
        x,
        [(max(low, 0), max(high, 0)) for low, high in edges],
        constant_values=np.asarray(value, x.dtype),
    )
    return grown[
        tuple(
            slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(edges, grown.shape, strict=True)
        )
    ]


def config(edges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int, int], ...]:
    return tuple((low, high, 0) for low, high in edges)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "float16", "complex128"])
def test_vectors(dtype: str) -> None:
    x = (np.arange(5000) % 100).astype(dtype)
    for edges in EDGES:
        wanted = padded(x, 3, (edges,)) * 2 + 1
        found = fc.jit(lambda x, e=edges: lax.pad(x, x.dtype.type(3), config((e,))) * 2 + 1)(x)
        np.testing.assert_array_equal(np.asarray(found), wanted.astype(dtype))


@pytest.mark.parametrize("shape", [(70, 90), (5, 1000), (1000, 9), (1, 50)])
def test_matrices(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    for edges in product(EDGES[:-1], repeat=2):
        if any(low + high + n < 1 for (low, high), n in zip(edges, shape, strict=True)):
            continue
        wanted = padded(x, 0.5, edges)
        found = fc.jit(lambda x, e=edges: fnp.tanh(lax.pad(x, 0.5, config(e)) + 1) - 2)(x)
        np.testing.assert_allclose(np.asarray(found), np.tanh(wanted + 1) - 2, rtol=1e-13)


def test_any_dimension_of_a_stack() -> None:
    x = np.random.default_rng(0).normal(size=(3, 20, 30)).astype("float32")
    for dimension, edges in product(range(3), EDGES):
        of_all = tuple(edges if i == dimension else (0, 0) for i in range(3))
        if x.shape[dimension] + sum(edges) < 1:
            continue
        found = fc.jit(lambda x, e=of_all: lax.pad(x, fnp.float32(1), config(e)) * 3)(x)
        np.testing.assert_array_equal(np.asarray(found), padded(x, 1, of_all) * np.float32(3))


def test_the_value_may_be_computed_and_be_special() -> None:
    x = np.random.default_rng(0).normal(size=(300, 40))

    def f(x, value):
        return lax.pad(x, value, ((1, 2, 0), (3, 0, 0))) - 1

    for value in (-0.0, np.nan, np.inf, 5e-324):
        found = fc.jit(f)(x, value)
        np.testing.assert_array_equal(np.asarray(found), padded(x, value, ((1, 2), (3, 0))) - 1)
    found = fc.jit(lambda x: f(x, fnp.sum(x) * 2))(x)
    wanted = padded(x, np.asarray(fnp.sum(fnp.asarray(x)) * 2), ((1, 2), (3, 0))) - 1
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)


def test_padding_between_elements_stays_outside_of_clusters() -> None:
    x = np.arange(100.0)
    found = fc.jit(lambda x: lax.pad(x, 7.0, ((2, 1, 2),)) * 2)(x)
    wanted = np.full(301, 14.0)
    wanted[2:300:3] = 2 * x
    np.testing.assert_array_equal(np.asarray(found), wanted)


def test_several_padded_operands_are_one_cluster() -> None:
    x = np.random.default_rng(0).normal(size=(200, 100))

    def f(x):
        up, down = (
            lax.pad(x, 0.0, ((1, -1, 0), (0, 0, 0))),
            lax.pad(x, 0.0, ((-1, 1, 0), (0, 0, 0))),
        )
        return up + down - 2 * x

    compiled = fc.jit(f).lower(x).compile()
    assert "cluster of 5 equations" in str(compiled.report())
    wanted = padded(x, 0, ((1, -1), (0, 0))) + padded(x, 0, ((-1, 1), (0, 0))) - 2 * x
    np.testing.assert_allclose(np.asarray(compiled(x)), wanted, rtol=1e-13)


@pytest.mark.parametrize("size", [40, 300])
def test_gradients_of_stencils_are_those_of_jax(size: int) -> None:
    x = np.random.default_rng(0).normal(size=(size, size + 1))

    def energy(np):
        def f(x):
            inside = x[1:-1, 1:-1]
            change = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * inside
            edge = np.pad(x, ((1, 2), (0, 3)), constant_values=2.0) ** 2
            return (change**2).sum() + np.diff(x, axis=0).std() + edge.mean()

        return f

    found = fc.jit(fc.grad(energy(fnp)))(x)
    wanted = jax.grad(energy(jnp))(jnp.asarray(x))
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-11)
