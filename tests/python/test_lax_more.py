"""lax.reduce, scatter_apply and the short functions of shapes; updates at repeated indices."""

from __future__ import annotations

import farcall as fc
import numpy as np
import pytest
from both import same_as_jax
from farcall import lax

X = np.linspace(-1, 2, 24, dtype=np.float32).reshape(2, 3, 4)
N = np.arange(12, dtype=np.int32).reshape(3, 4)


# ---- reduce ----


def test_reduce_by_any_function():
    def function(m):
        argmax = lambda a, b: (m.lax.max(a[0], b[0]), m.np.where(a[0] >= b[0], a[1], b[1]))  # noqa: E731
        return (
            m.lax.reduce(N, np.int32(1), m.lax.add, ()),
            m.lax.reduce(X, np.float32(0), lambda a, b: m.np.hypot(a, b), (0, 2)),
            m.lax.reduce(X, np.float32(1), m.lax.mul, (0, 1, 2)),
            m.lax.reduce((X, X > 0), (np.float32(-9), False), argmax, (1,)),
            m.lax.reduce_xor(N, (0,)),
            m.lax.reduce_xor(X > 0, (0, 1)),
        )

    same_as_jax(function)


def test_reduce_of_nothing_is_the_initial_value():
    made = lax.reduce(np.zeros((0, 2), np.float32), np.float32(5), lambda a, b: a * b, (0,))
    np.testing.assert_array_equal(made, [5, 5])


def test_reduce_is_differentiated_and_batched():
    def product(x):
        return lax.reduce(x, 1.0, lambda a, b: a * b, (0,))

    x = X[0] + 3
    gradient = fc.vmap(fc.grad(product), 1, 1)(x)
    np.testing.assert_allclose(gradient, np.prod(x, 0) / x, rtol=1e-5)


def test_what_reduce_refuses():
    with pytest.raises(TypeError, match="reduce: operands and init_values must have one structure"):
        lax.reduce((X, X), 0.0, lambda a, b: a, (0,))
    with pytest.raises(ValueError, match=r"reduce: the shapes differ: \(3, 4\), \(4,\)"):
        lax.reduce((N, N[0]), (0, 0), lambda a, b: a, (0,))
    with pytest.raises(ValueError, match=r"reduce: \(2,\) are no dimensions of shape \(3, 4\)"):
        lax.reduce(N, 0, lambda a, b: a, (2,))
    with pytest.raises(TypeError, match=r"the computation must give .*int32.* as it takes"):
        lax.reduce(N, 0, lambda a, b: a * 0.5, (0,))


# ---- functions at repeated indices ----


def test_apply_at_repeated_indices():
    def function(m):
        def f(x):
            return x * 2 + 1

        i, j = np.array([0, 2, 0, -1, 0]), np.array([1, 1, 1, 9, 2])
        x = m.np.asarray(N, np.float32)
        return (
            x.at[i].apply(f),
            x.at[i, j].apply(f),
            x.at[1:, i].apply(f),
            x.at[i].apply(f, mode="drop", indices_are_sorted=False),
            m.root.jit(lambda k: x.at[k].apply(f))(i),
            x.at[np.array([5, 1])].apply(f),
            x.at[1].apply(f),
        )

    same_as_jax(function)


def test_apply_at_known_indices_is_differentiated_in_reverse():
    i = np.array([0, 2, 0])
    gradient = fc.jit(fc.grad(lambda x: x.at[i].apply(lambda v: v * v).sum()))(
        np.array([2.0, 3, 4], np.float32)
    )
    np.testing.assert_array_equal(gradient, [4 * 8, 1, 8])


def test_scatter_apply():
    def function(m):
        numbers = m.lax.ScatterDimensionNumbers(
            update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        )
        x = m.np.asarray(N, np.float32)
        places = np.array([[0], [2], [0], [7]], np.int32)
        return (
            m.lax.scatter_apply(x, places, m.np.sin, numbers, update_shape=(4, 4)),
            m.lax.scatter_apply(
                x, places[1:2], m.np.sin, numbers, update_shape=(1, 4), unique_indices=True
            ),
        )

    same_as_jax(function)


# ---- shapes ----


def test_functions_of_shapes():
    same_as_jax(
        lambda m: (
            m.lax.broadcast(N, (2, 1)),
            m.lax.broadcast_to_rank(N, 3),
            m.lax.collapse(X, 1),
            m.lax.collapse(X, 0, 2),
            m.lax.full((2,), 3, np.float32),
            m.lax.full_like(X, 2.0, shape=(2,)),
            m.lax.reciprocal(X + 5),
            m.lax.batch_matmul(X, np.swapaxes(X, 1, 2)),
            m.lax.dot(X[0], X[1, 0]),
            m.lax.dot(N, N.T, preferred_element_type=np.float32),
            list(m.lax.split(N, (1, 3), 1)),
            m.lax.stack([N, N], 1),
            m.lax.unstack(N, 1),
            m.lax.tile(N, (2, 1)),
        )
    )
    assert lax.broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert lax.dtype(X) == np.float32
    assert lax.empty((2,), np.int8).dtype == np.int8


def test_what_they_refuse():
    for call, text in (
        (lambda: lax.broadcast_to_rank(X, 2), "broadcast_to_rank: .* more than 2 dimensions"),
        (lambda: lax.collapse(X, 2, 1), "collapse: from dimension 2 to 1 there is none"),
        (lambda: lax.split(N, (1, 1)), r"split: sizes \(1, 1\) do not add up to 3"),
        (lambda: lax.tile(N, (2,)), "tile: 1 repetitions for 2 dimensions"),
        (lambda: lax.dot(X, X), "dot: takes vectors and matrices"),
        (lambda: lax.batch_matmul(X, N), "batch_matmul: needs stacked matrices of one rank"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            call()
