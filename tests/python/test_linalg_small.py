"""Small matrices, which LAPACK does not compute, and some just above their size, against numpy."""

from __future__ import annotations

from itertools import product

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from farcall.scipy import linalg as scipy_linalg
from random_matrices import random

pytestmark = pytest.mark.usefixtures("x64")

DTYPES = ("float32", "float64", "complex64", "complex128")


def tolerance(dtype: str) -> float:
    return 2e-4 if np.dtype(dtype).name in ("float32", "complex64") else 1e-11


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", range(10))
def test_cholesky(n: int, dtype: str) -> None:
    half = random((7, n, n), dtype)
    matrices = half @ adjoint(half) + np.eye(n, dtype=dtype)
    found = np.asarray(fnp.linalg.cholesky(matrices))
    np.testing.assert_allclose(found, np.linalg.cholesky(matrices), atol=tolerance(dtype))
    assert not np.triu(found, 1).any()


@pytest.mark.parametrize("value", [-1.0, 0.0])
@pytest.mark.parametrize("n", [1, 2, 5, 8, 9])
def test_matrices_that_are_not_definite_have_no_factor(n: int, value: float) -> None:
    matrices = np.stack([np.eye(n), np.diag([1.0] * (n - 1) + [value]), 4 * np.eye(n)])
    found = np.asarray(fnp.linalg.cholesky(matrices))
    np.testing.assert_array_equal(found[[0, 2]], [np.eye(n), 2 * np.eye(n)])
    assert np.isnan(found[1][np.tril_indices(n)]).all()


@pytest.mark.parametrize("n", [1, 2, 5, 8, 9])
def test_nan_in_a_matrix_is_in_what_depends_on_it(n: int) -> None:
    matrix = np.eye(n)
    matrix[n // 2, n // 2] = np.nan
    found = np.asarray(fnp.linalg.cholesky(matrix))
    assert np.isnan(found[n // 2, n // 2])
    np.testing.assert_array_equal(found[: n // 2], np.eye(n)[: n // 2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 8), (8, 3), (8, 8), (9, 8), (8, 9), (5, 1)])
def test_lu(shape: tuple[int, int], dtype: str) -> None:
    matrices = random((20, *shape), dtype)
    matrices[3, :, 0] = 0  # singular
    lu, pivots, permutation = (np.asarray(part) for part in lax.linalg.lu(matrices))
    k = min(shape)
    lower = np.tril(lu[..., :k], -1) + np.eye(shape[0], k, dtype=dtype)
    upper = np.triu(lu[..., :k, :])
    exchanged = np.take_along_axis(matrices, permutation[..., None], -2)
    np.testing.assert_allclose(lower @ upper, exchanged, atol=tolerance(dtype))
    assert (np.abs(lower.real) + np.abs(lower.imag)).max() <= 1 + 1e-5 or dtype[0] == "c"
    assert ((pivots >= np.arange(k)) & (pivots < shape[0])).all()


def test_the_largest_element_is_the_pivot_and_the_first_of_equal_ones() -> None:
    matrix = np.array([[1.0, 5.0, 0.0], [-3.0, 1.0, 1.0], [3.0, 2.0, 4.0]])
    _, pivots, permutation = lax.linalg.lu(matrix)
    assert np.asarray(pivots)[0] == 1
    assert np.asarray(permutation)[0] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "sides"), [(1, 1), (2, 3), (4, 4), (8, 8), (8, 9), (9, 8), (3, 40)])
def test_triangular_systems_of_all_kinds(n: int, sides: int, dtype: str) -> None:
    a = random((3, n, n), dtype) + 4 * np.eye(n, dtype=dtype)
    for left, lower, transpose, conjugate, unit in product((True, False), repeat=5):
        b = random((3, n, sides) if left else (3, sides, n), dtype, seed=1)
        triangle = np.tril(a) if lower else np.triu(a)
        if unit:
            triangle = triangle * (1 - np.eye(n)) / 8 + np.eye(n)
        given = triangle.astype(dtype)
        op = np.swapaxes(given, -1, -2) if transpose else given
        op = np.conj(op) if conjugate else op
        if left:
            wanted = np.linalg.solve(op, b)
        else:
            wanted = np.swapaxes(
                np.linalg.solve(np.swapaxes(op, -1, -2), np.swapaxes(b, -1, -2)), -1, -2
            )
        found = lax.linalg.triangular_solve(
            given,
            b,
            left_side=left,
            lower=lower,
            transpose_a=transpose,
            conjugate_a=conjugate,
            unit_diagonal=unit,
        )
        np.testing.assert_allclose(np.asarray(found), wanted, atol=20 * tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", range(1, 10))
def test_systems_inverses_and_determinants(n: int, dtype: str) -> None:
    a = random((50, n, n), dtype) + 2 * np.eye(n, dtype=dtype)
    a[0] = np.eye(n)[::-1]  # rows must be exchanged
    b = random((50, n, 3), dtype, seed=2)
    within = {"rtol": 100 * tolerance(dtype), "atol": 100 * tolerance(dtype)}
    np.testing.assert_allclose(np.asarray(fnp.linalg.solve(a, b)), np.linalg.solve(a, b), **within)
    np.testing.assert_allclose(np.asarray(fnp.linalg.inv(a)), np.linalg.inv(a), **within)
    np.testing.assert_allclose(np.asarray(fnp.linalg.det(a)), np.linalg.det(a), **within)
    for trans in (0, 1):
        factors = scipy_linalg.lu_factor(a)
        found = scipy_linalg.lu_solve(factors, b, trans=trans)
        op = np.swapaxes(a, -1, -2) if trans else a
        np.testing.assert_allclose(np.asarray(found), np.linalg.solve(op, b), **within)


def test_a_singular_matrix_has_no_finite_inverse() -> None:
    matrices = np.stack([np.eye(3), np.zeros((3, 3)), 2 * np.eye(3)])
    found = np.asarray(fnp.linalg.inv(matrices))
    np.testing.assert_array_equal(found[[0, 2]], [np.eye(3), np.eye(3) / 2])
    assert not np.isfinite(found[1]).any()


def test_derivatives_of_small_systems() -> None:
    a, b = random((4, 4), "float64") + 3 * np.eye(4), random((4, 2), "float64", seed=1)
    change = random((4, 4), "float64", seed=2)
    step = 1e-6
    f = fc.jit(lambda a: fnp.linalg.solve(a, b).sum() + fnp.linalg.det(a))
    _, found = fc.jvp(f, (fnp.asarray(a),), (fnp.asarray(change),))
    wanted = (f(a + step * change) - f(a - step * change)) / (2 * step)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
