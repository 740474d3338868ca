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
    with pytest.raises(
        ValueError, match=r"reduce: the shapes of operands differ: i32\[3,4\] and i32\[4\]"
    ):
        lax.reduce((N, N[0]), (0, 0), lambda a, b: a, (0,))
    with pytest.raises(
        ValueError, match=r"reduce: dimensions \[2\] must be distinct dimensions of i32\[3,4\]"
    ):
        lax.reduce(N, 0, lambda a, b: a, (2,))
    with pytest.raises(TypeError, match=r"the computation must give i32\[\] as it takes"):
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
        (lambda: lax.collapse(X, 2, 1), "collapse: start 2 is after stop 1"),
        (lambda: lax.split(N, (1, 1)), r"split: sizes \[1,1\] do not add up to 3"),
        (
            lambda: lax.tile(N, (2,)),
            r"tile: repeats must have one entry for each dimension of i32\[3,4\], got 1",
        ),
        (lambda: lax.dot(X, X), "dot: takes vectors and matrices"),
        (lambda: lax.batch_matmul(X, N), "batch_matmul: needs stacked matrices of one rank"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            call()


def test_the_bound_of_clamp_that_decides_has_the_derivative():
    for low in (1.5, 2.0, 3.0):  # below the upper bound, on it and above it

        def f(m, low=low):
            return m.root.jvp(
                lambda v: m.lax.clamp(v, np.float32(1), np.float32(2)),
                (np.float32(low),),
                (np.float32(1),),
            )

        same_as_jax(f)


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_cumlogsumexp_stay_finite_at_infinities(reverse):
    x = np.array([-np.inf, -np.inf, 1, np.inf, 2, -np.inf], np.float32)
    tangent = fc.jvp(
        lambda v: lax.cumlogsumexp(v, axis=0, reverse=reverse), (x,), (np.ones(6, np.float32),)
    )[1]
    np.testing.assert_allclose(tangent, np.ones(6), rtol=1e-6)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_gradients_of_inverse_transforms_of_even_and_odd_sizes(n):
    x = (np.arange(n // 2 + 1) - 1j * np.arange(2, n // 2 + 3)).astype(np.complex64)
    weights = np.arange(n, dtype=np.float32) ** 2
    same_as_jax(lambda m: m.root.grad(lambda v: (m.np.fft.irfft(v, n) * weights).sum())(x))


def test_batched_kernels_of_a_convolution_with_batch_groups():
    image = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
    kernels = np.random.default_rng(1).normal(size=(3, 4, 3, 2)).astype(np.float32)

    def f(m):
        return m.root.vmap(
            lambda k: m.lax.conv_general_dilated(image, k, (1,), "VALID", batch_group_count=2)
        )(kernels)

    same_as_jax(f)


def test_reduced_precision_rounds_halves_to_even():
    halves = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 5 * 2**-8, -1 - 2**-8], np.float32)
    found = lax.reduce_precision(halves, 8, 7)
    np.testing.assert_array_equal(found, np.array([1, 1 + 2**-6, 1 + 2**-6, -1], np.float32))


def test_unsigned_indices_beyond_the_signed_ones_are_clamped_not_negative():
    x = np.arange(5, dtype=np.float32)
    for index in (np.array([2**32 - 1, 1], np.uint32), np.uint32(2**31)):
        found = fc.jit(lambda i: fc.numpy.asarray(x)[i])(index)
        np.testing.assert_array_equal(found, x[np.minimum(index, 4)])


def test_sorting_is_transposed_past_results_of_known_operands():
    keys = np.array([3, 1, 2], np.float32)
    known = np.array([7, 8, 9], np.float32)
    back = fc.linear_transpose(lambda v: lax.sort((keys, known, v), num_keys=1)[1:], X[0, 0, :3])
    cotangents = np.array([10, 20, 30], np.float32), np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(back(cotangents)[0], [3, 1, 2])


def test_a_cumulative_sum_is_batched_over_any_axis():
    for batch in range(3):
        for axis in range(2):

            def f(m, batch=batch, axis=axis):
                return m.root.vmap(lambda v: m.np.cumsum(v, axis=axis), in_axes=batch)(X)

            same_as_jax(f)


@pytest.mark.parametrize("name", ["max", "min"])
def test_of_equal_elements_in_a_window_the_first_gets_the_cotangent(name):
    x = np.array([1, 1, 2, 2, 2, 0, 0], np.float32)
    weights = np.array([1, 10, 100, 1000, 10000], np.float32)
    start = {"max": -np.inf, "min": np.inf}[name]

    def f(m):
        def loss(v):
            windows = m.lax.reduce_window(
                v, np.float32(start), getattr(m.lax, name), (3,), (1,), "VALID"
            )
            return (windows * weights).sum()

        return m.root.grad(loss)(x)

    same_as_jax(f)
