"""Programs of slices, concatenations and padded arrays have the bits of their operations."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

pytestmark = pytest.mark.usefixtures("x64")

SHAPES = [(9000,), (90, 100), (3000, 3), (5, 40, 50), (2, 4500)]


def data(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    values[rng.random(shape) < 0.1] = 0.0
    values[rng.random(shape) < 0.1] *= -0.0
    return (10 * values).astype(dtype)


def assert_same_bits(f: Callable[..., Any], *args: Any) -> None:
    args = tuple(map(fnp.asarray, args))  # numpy adds in another order
    found = fc.tree.leaves(fc.jit(f)(*args))
    with fc.disable_jit():
        wanted = fc.tree.leaves(f(*args))
    for got, want in zip(found, wanted, strict=True):
        a, b = np.asarray(got), np.asarray(want)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


def random_slice(x: Any, rng: random.Random) -> Any:
    starts, limits, strides = [], [], []
    for size in x.shape:
        start = rng.choice([0, 0, rng.randrange(size)])
        limit = rng.choice([size, rng.randrange(start, size) + 1])
        starts.append(start)
        limits.append(limit)
        strides.append(rng.choice([1, 1, 1, 2, 3]))
    return lax.slice(x, starts, limits, strides)


def random_pad(x: Any, rng: random.Random) -> Any:
    zero = np.asarray(rng.choice([0, 0, 1]), x.dtype)
    config = [
        (rng.choice([0, 0, 2, -1]), rng.choice([0, 0, 3, -2]), rng.choice([0, 0, 0, 1, 2]))
        for _ in x.shape
    ]
    if any(low + high <= -size for (low, high, _), size in zip(config, x.shape, strict=True)):
        return x
    return lax.pad(x, zero, config)


def random_program(seed: int) -> Callable[..., Any]:
    def f(*inputs: Any) -> Any:
        rng = random.Random(seed)
        values = list(inputs)
        for _ in range(rng.randrange(4, 14)):
            x = rng.choice(values)
            alike = [each for each in values if each.shape == x.shape]
            y = rng.choice(alike)
            axis = rng.randrange(x.ndim)
            kind = rng.randrange(9)
            if kind <= 2:
                values.append(rng.choice([x * y, x + y, -x - 2 * y, fnp.where(x > y, x, 3 - y)]))
            elif kind == 3:
                values.append(lax.concatenate([x, y, x][: rng.choice([2, 3])], axis))
            elif kind <= 5:
                values.append(random_slice(x, rng))
            elif kind == 6:
                values.append(random_pad(x, rng))
            elif kind == 7:  # the parts of x, moved apart and joined again
                cut = rng.randrange(x.shape[axis] + 1)
                first = lax.slice_in_dim(x, 0, cut, axis=axis) * 2
                last = lax.slice_in_dim(x, cut, x.shape[axis], axis=axis) + 0 * y.ravel()[0]
                gap = rng.choice([0, 0, 3])
                zero = np.asarray(0, x.dtype)
                pads = [(0, x.shape[axis] - cut + gap, 0), (cut + gap, 0, 0)]
                rest = [(0, 0, 0)] * x.ndim
                parts = [
                    lax.pad(part, zero, [*rest[:axis], pad, *rest[axis + 1 :]])
                    for part, pad in zip((first, last), pads, strict=True)
                ]
                values.append(parts[0] + parts[1] if rng.random() < 0.5 else parts[1] + parts[0])
            else:
                values.append(
                    x.sum(axis=axis, keepdims=True, dtype=x.dtype) * y
                    if rng.random() < 0.5
                    else x[::-1]
                )
            if values[-1].size > 60_000 or values[-1].size == 0:
                values.pop()
        return [values[-1], rng.choice(values), rng.choice(values)]

    return f


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, dtype: str) -> None:
    shape = SHAPES[seed % len(SHAPES)]
    assert_same_bits(random_program(seed), data(shape, dtype, seed), data(shape, dtype, seed + 1))


@pytest.mark.parametrize("seed", range(20))
def test_gradients_of_random_programs(seed: int) -> None:
    def total(*inputs: Any) -> Any:
        return sum((each * each).sum() for each in random_program(seed)(*inputs))

    shape = SHAPES[seed % len(SHAPES)]
    args = [data(shape, "float64", seed + i) for i in range(2)]
    found = fc.jit(fc.grad(total, argnums=(0, 1)))(*args)
    with fc.disable_jit():
        wanted = fc.grad(total, argnums=(0, 1))(*args)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-6)


def num_clusters(f: Callable[..., Any], *args: Any) -> int:
    return fc.jit(f).lower(*args).compile().report().num_clusters


def gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return fc.grad(lambda *args: (f(*args) ** 2).sum())


def test_the_gradient_of_a_stack_is_one_cluster() -> None:
    x, y = data((9000,), "float32", 0), data((9000,), "float32", 1)
    f = gradient(lambda x, y: fnp.sin(fnp.stack([x, y], -1)))
    assert_same_bits(f, x, y)
    assert num_clusters(f, x, y) == 1


def test_the_gradient_of_a_cross_product_is_one_cluster() -> None:
    x, y = data((3000, 3), "float32", 0), data((3000, 3), "float32", 1)
    f = gradient(fnp.cross)
    assert_same_bits(f, x, y)
    assert num_clusters(f, x, y) == 1


def test_slices_of_an_operation_are_computed_apart() -> None:
    x = data((90, 100), "float32", 0)

    def f(x: Any) -> Any:
        y = fnp.tanh(x) * 3 + x
        return y[:, :50] * y[:, 50:], y[:, :50] - 1

    assert_same_bits(f, x)
    assert num_clusters(f, x) == 1


def test_slices_that_are_results_have_their_own_memory() -> None:
    x = data((90, 100), "float32", 0)

    def f(x: Any) -> Any:
        y = x * 2 + 1
        return y[:45], y[45:], y[:45]

    results = fc.jit(f)(x)
    assert len({each.unsafe_buffer_pointer() for each in results}) == 3
    assert_same_bits(f, x)


@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize("width", ["int8", "float16", "float32", "float64", "complex128"])
def test_elements_are_padded_between_each_other(width: str, step: int) -> None:
    for shape in [(1,), (16,), (17,), (5000,), (7, 40), (3, 2000), (4, 3, 33)]:
        x = data(shape, "float32", step).astype(width)
        for low, high in [(0, 0), (3, 2), (-1, -2), (-4, 1), (2, -5)]:
            size = shape[-1] * step - step + 1 + low + high
            if size <= 0:
                continue
            whole = np.full((*shape[:-1], size), 7, width)
            positions = low + step * np.arange(shape[-1])
            inside = (positions >= 0) & (positions < size)
            whole[..., positions[inside]] = x[..., inside]
            leading = [(1, 0, 1) if i == 0 else (0, 0, 0) for i in range(x.ndim - 1)]
            found = lax.pad(x, np.asarray(7, width), [*leading, (low, high, step - 1)])
            if leading:
                found = np.asarray(found)
                assert (found[0] == 7).all()
                found = found[1::2]
            np.testing.assert_array_equal(found, whole)
