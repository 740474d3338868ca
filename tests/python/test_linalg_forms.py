"""Condensed forms, products and tridiagonal systems of farcall.lax.linalg, against JAX."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall.lax import linalg
from jax.lax import linalg as jax_linalg
from random_matrices import random

pytestmark = pytest.mark.usefixtures("x64")

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def assert_same(found: Any, wanted: Any, tolerance: float = 200) -> None:
    """The same structure, shapes and dtypes; values up to this multiple of the precision."""
    found, wanted = jax.tree.leaves(found), jax.tree.leaves(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        limit = tolerance * float(np.finfo(a.dtype).eps)
        np.testing.assert_allclose(a, b, rtol=limit, atol=limit)


@dtypes
@pytest.mark.parametrize("shape", [(4, 4), (1, 1), (2, 3, 3), (0, 3, 3)])
def test_condensed_forms(dtype, shape):
    x = random(shape, dtype)
    assert_same(linalg.hessenberg(x), jax_linalg.hessenberg(x))
    hermitian = x + np.conj(np.swapaxes(x, -1, -2))
    for lower in (True, False):
        wanted = jax_linalg.tridiagonal(hermitian, lower=lower)
        assert_same(linalg.tridiagonal(hermitian, lower=lower), wanted)
    assert_same(fc.vmap(linalg.hessenberg)(x[None]), linalg.hessenberg(x[None]))


def test_condensed_forms_of_nothing_and_what_they_refuse():
    empty = np.zeros((0, 0))
    assert [x.shape for x in linalg.hessenberg(empty)] == [(0, 0), (0,)]
    assert [x.shape for x in linalg.tridiagonal(empty)] == [(0, 0), (0,), (0,), (0,)]
    for function in (linalg.hessenberg, linalg.tridiagonal):
        with pytest.raises(ValueError, match=f"{function.__name__}: takes square matrices, got"):
            function(np.zeros((2, 3)))
        with pytest.raises(ValueError, match="cannot be differentiated"):
            fc.grad(lambda x, function=function: function(x)[0].sum())(np.eye(2))


@dtypes
def test_tridiagonal_systems(dtype):
    lower, upper, b = (
        random(shape, dtype, i) for i, shape in enumerate([(2, 5), (2, 5), (2, 5, 3)])
    )
    diagonal = random((2, 5), dtype, 7) * 0.1  # rows are exchanged
    found = linalg.tridiagonal_solve(lower, diagonal, upper, b)
    assert_same(found, jax_linalg.tridiagonal_solve(lower, diagonal, upper, b), 3000)
    for i in range(2):
        matrix = np.diag(diagonal[i]) + np.diag(lower[i, 1:], -1) + np.diag(upper[i, :-1], 1)
        assert_same(matrix @ np.asarray(found[i]), b[i], 3000)
    shared = fc.vmap(linalg.tridiagonal_solve, in_axes=(None, None, None, 2), out_axes=2)
    each = shared(lower[0], diagonal[0], upper[0], b[0][:, None])
    assert_same(each[:, 0], found[0], 3000)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_derivatives_of_tridiagonal_systems(dtype):
    args = (random((4,), dtype, 1), random((4,), dtype, 2) + 5, random((4,), dtype, 3))
    args = (*args, random((4, 2), dtype, 4))
    fc.testing.check_derivatives(linalg.tridiagonal_solve, args)
    found = fc.jvp(linalg.tridiagonal_solve, args, args)[1]
    assert_same(found, jax.jvp(jax_linalg.tridiagonal_solve, args, args)[1])
    if dtype == np.float64:
        gradient = fc.grad(lambda *a: fnp.sin(linalg.tridiagonal_solve(*a)).sum(), (0, 1, 2, 3))
        wanted = jax.grad(lambda *a: jnp.sin(jax_linalg.tridiagonal_solve(*a)).sum(), (0, 1, 2, 3))
        assert_same(gradient(*args), wanted(*args))


def test_singular_tridiagonal_systems():
    zeros, b = np.zeros(3), np.ones((3, 2))
    assert not np.isfinite(linalg.tridiagonal_solve(zeros, zeros, zeros, b)).any()
    ones = np.array([0.0, 1, 1])
    for d in (zeros, np.array([1.0, 1, 0])):
        found = linalg.tridiagonal_solve(ones, d, ones[::-1], b, perturb_singular=True)
        assert np.isfinite(found).all()
    with pytest.raises(ValueError, match=r"tridiagonal_solve: dl, d and du must be \[..., n\] for"):
        linalg.tridiagonal_solve(zeros, zeros[:2], zeros, b)
    with pytest.raises(ValueError, match="tridiagonal_solve: takes matrices"):
        linalg.tridiagonal_solve(zeros, zeros, zeros, zeros)


@dtypes
def test_products_with_reflections(dtype):
    (h, taus), c = jnp.linalg.qr(random((2, 5, 3), dtype), mode="raw"), random((2, 5, 5), dtype, 1)
    a = np.asarray(jnp.swapaxes(h, -1, -2))
    for left in (True, False):
        for transpose in (True, False):
            wanted = jax_linalg.ormqr(a, taus, c, left=left, transpose=transpose)
            found = linalg.ormqr(a, np.asarray(taus), c, left=left, transpose=transpose)
            assert_same(found, wanted)
    with pytest.raises(ValueError, match=r"ormqr: the matrix of reflections .* makes Q \[5,5\]"):
        linalg.ormqr(a, np.asarray(taus), c[:, :4])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetric_products(dtype):
    a, c = random((2, 4, 3), dtype), random((2, 4, 4), dtype, 1)
    c = c + np.swapaxes(c, -1, -2)
    for options in ({}, {"alpha": 2.0, "beta": -0.5}, {"beta": 1.0, "symmetrize_output": True}):
        found = linalg.symmetric_product(a, c, **options)
        wanted = np.asarray(jax_linalg.symmetric_product(a, c, **options))
        assert_same(np.tril(found), np.tril(wanted))
        if "symmetrize_output" in options:
            np.testing.assert_array_equal(found, np.swapaxes(found, -1, -2))
    with pytest.raises(ValueError, match="symmetric_product: takes real matrices, got"):
        linalg.symmetric_product(a + 0j, c + 0j)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_updates_of_cholesky_factors(dtype):
    r = np.triu(random((3, 4, 4), dtype)) + 3 * np.eye(4, dtype=dtype)
    r[2, 1:] = 0  # singular
    w = random((3, 4), dtype, 1)
    found = linalg.cholesky_update(r, w)
    for i in range(3):
        updated = np.asarray(found[i])
        np.testing.assert_array_equal(np.tril(updated, -1), 0)
        assert_same(updated.T @ updated, r[i].T @ r[i] + np.outer(w[i], w[i]), 500)
        wanted = np.triu(jax_linalg.cholesky_update(r[i], w[i]))
        assert_same(np.abs(updated[: 4 - 2 * (i == 2)]), np.abs(wanted[: 4 - 2 * (i == 2)]), 500)
    with pytest.raises(ValueError, match="cholesky_update: w must be a vector for each matrix"):
        linalg.cholesky_update(r, w[0])


@dtypes
def test_polar_iteration(dtype):
    x = random((5, 3), dtype) * 1e-3
    u, h, steps, is_converged = linalg.qdwh(x)
    wanted = jax_linalg.qdwh(x)
    assert_same([u, h], wanted[:2], 500)
    assert is_converged
    assert 0 < steps <= 8
    assert not linalg.qdwh(x, max_iterations=1)[3]
    zero = linalg.qdwh(np.zeros((3, 3), dtype))
    assert not np.asarray(zero[0]).any()
    assert zero[3]
    with pytest.raises(ValueError, match="qdwh: takes one matrix with at least as many rows"):
        linalg.qdwh(x.T)
    with pytest.raises(NotImplementedError, match="qdwh: dynamic_shape must be None"):
        linalg.qdwh(x, dynamic_shape=(2, 2))
