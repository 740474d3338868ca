"""Derivatives and batches of operations along dimensions, against JAX.

JAX's are compiled whole: operation by operation it would compile each of them, which takes longer.
"""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

jax = pytest.importorskip("jax")
jnp, jlax = jax.numpy, jax.lax

R = np.random.default_rng(11)
X = R.standard_normal((3, 4, 5)).astype(np.float32)
T = np.round(X)  # with equal elements
K = R.standard_normal((2, 4, 3)).astype(np.float32)
C = (X + 1j * X[::-1]).astype(np.complex64)

GROUPS = {"feature_group_count": 2}
BATCHES = {"batch_group_count": 3}
NHC = {"dimension_numbers": ("NHC", "HIO", "NHC")}
DILATED = {"lhs_dilation": (2,), "rhs_dilation": (3,)}
WINDOW = ((1, 2, 3), (1, 2, 1), [(0, 0), (1, 0), (1, 1)])


def windows(module, lax_module, name, init):
    def reduce(x):
        start = np.asarray(init, np.float32)
        return lax_module.reduce_window(x, start, getattr(lax_module, name), *WINDOW)

    return reduce


# A function of the two modules that gives a function of arrays, and its arguments.
FUNCTIONS = {
    "cumsum": (lambda n, m: lambda x: m.cumsum(x, axis=1), (X,)),
    "cumsum reverse": (lambda n, m: lambda x: m.cumsum(x, axis=2, reverse=True), (X,)),
    "cumprod": (lambda n, m: lambda x: m.cumprod(x, axis=2), (X,)),
    "cumprod reverse": (lambda n, m: lambda x: m.cumprod(x, axis=1, reverse=True), (X,)),
    "cummax": (lambda n, m: lambda x: m.cummax(x, axis=1), (T,)),
    "cummin reverse": (lambda n, m: lambda x: m.cummin(x, axis=2, reverse=True), (T,)),
    "cumlogsumexp": (lambda n, m: lambda x: m.cumlogsumexp(x, axis=1), (X,)),
    "sort": (lambda n, m: lambda x: m.sort(x, dimension=1), (X,)),
    "sort pairs": (lambda n, m: lambda x, y: m.sort((x, y), dimension=1, num_keys=1), (X, T)),
    "top_k": (lambda n, m: lambda x: m.top_k(x, 2)[0], (X,)),
    "median": (lambda n, m: lambda x: n.median(x, axis=2), (X,)),
    "quantile": (lambda n, m: lambda x: n.quantile(x, 0.3, axis=1), (X,)),
    "einsum": (lambda n, m: lambda x, k: n.einsum("abc,dbe->ade", x, k), (X, K)),
    "conv": (lambda n, m: lambda x, k: m.conv_general_dilated(x, k, (2,), [(1, 2)]), (X, K)),
    "conv dilated": (
        lambda n, m: lambda x, k: m.conv_general_dilated(x, k, (2,), [(1, 3)], **DILATED),
        (X, K),
    ),
    "conv cut off": (
        lambda n, m: lambda x, k: m.conv_general_dilated(x, k, (1,), [(1, -1)]),
        (X, K),
    ),
    "conv in feature groups": (
        lambda n, m: lambda x, k: m.conv_general_dilated(x, k, (2,), "SAME", **GROUPS),
        (X, K[:, :2]),
    ),
    "conv in batch groups": (
        lambda n, m: lambda x, k: m.conv_general_dilated(x, k, (1,), "SAME", **BATCHES),
        (X, np.concatenate([K, K, K])),
    ),
    "conv in another order": (
        lambda n, m: lambda x, k: m.conv_general_dilated(x, k, (2,), "SAME", **NHC),
        (X, K.transpose(2, 1, 0)[:, [0, 1, 2, 3, 0]]),
    ),
    "convolve": (lambda n, m: lambda x, k: n.convolve(x, k, "same"), (X[0, 0], K[0, 0])),
    "sum of windows": (lambda n, m: windows(n, m, "add", 0), (X,)),
    "max of windows": (lambda n, m: windows(n, m, "max", -np.inf), (X,)),
    "min of windows": (lambda n, m: windows(n, m, "min", np.inf), (X,)),
    "fft": (lambda n, m: lambda x: n.abs(n.fft.fft(x, axis=1)) ** 2, (X,)),
    "ifft": (lambda n, m: lambda x: n.real(n.fft.ifft2(x * (1 + 2j)) ** 2), (X,)),
    "rfft": (lambda n, m: lambda x: n.abs(n.fft.rfft(x)) ** 2, (X,)),
    "rfft2 even": (lambda n, m: lambda x: n.abs(n.fft.rfft2(x, axes=(0, 1))) ** 2, (X,)),
    "irfft": (lambda n, m: lambda x: n.fft.irfft(x * (1 - 2j), 7), (X,)),
    "irfft even": (lambda n, m: lambda x: n.fft.irfft(x * (1 - 2j), axis=1), (X,)),
}


def both(name):
    make, arguments = FUNCTIONS[name]
    return make(fnp, lax), make(jnp, jlax), arguments


def weighted(function):
    """A number that depends on every element of every result in its own way."""

    def total(*arguments):
        results = function(*arguments)
        results = results if isinstance(results, (list, tuple)) else [results]
        sums = [
            (r * np.cos(np.arange(r.size, dtype=np.float32)).reshape(r.shape)).sum()
            for r in results
        ]
        return sum(sums[1:], sums[0])

    return total


def check(mine, theirs):
    mine, theirs = (each if isinstance(each, (list, tuple)) else [each] for each in (mine, theirs))
    for got, want in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient(name):
    mine, theirs, arguments = both(name)
    numbers = tuple(range(len(arguments)))
    check(
        fc.grad(weighted(mine), numbers)(*arguments),
        jax.jit(jax.grad(weighted(theirs), numbers))(*arguments),
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivative(name):
    mine, theirs, arguments = both(name)

    def slope(module, function):
        gradient = module.grad(weighted(function))
        return module.jvp(
            lambda x: gradient(x, *arguments[1:]), (arguments[0],), (np.sin(arguments[0]),)
        )[1]

    check(slope(fc, mine), jax.jit(lambda: slope(jax, theirs))())


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [1])
def test_batch(name, axis):
    mine, theirs, arguments = both(name)
    batches = [np.stack([a, 2 * a, a - 1], axis).astype(np.float32) for a in arguments]
    check(fc.vmap(mine, axis)(*batches), jax.jit(jax.vmap(theirs, axis))(*batches))
    if len(arguments) == 1:
        return
    for in_axes in [(axis, None), (None, axis)]:
        mixed = [
            b if a is not None else x for a, b, x in zip(in_axes, batches, arguments, strict=True)
        ]
        check(fc.vmap(mine, in_axes)(*mixed), jax.jit(jax.vmap(theirs, in_axes))(*mixed))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_of_each_in_a_batch_compiled(name):
    mine, theirs, arguments = both(name)
    batches = [np.stack([a, a - 1]).astype(np.float32) for a in arguments]
    check(
        fc.jit(fc.vmap(fc.grad(weighted(mine))))(*batches),
        jax.jit(jax.vmap(jax.grad(weighted(theirs))))(*batches),
    )


def test_product_of_windows_is_differentiated_as_differences_say():
    def product(x):
        return lax.reduce_window(x, 1.0, lax.mul, (1, 2, 2), (1, 1, 2), [(0, 0), (1, 0), (0, 1)])

    x = fnp.array(X, dtype="float64")
    direction = np.cos(X).astype(np.float64)
    step = 1e-6
    _, slope = fc.jvp(product, (x,), (direction,))
    difference = (product(x + step * direction) - product(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-7)
