"""farcall.lax.linalg and farcall.numpy.linalg: values, against numpy and JAX."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall import lax
from jax import lax as jlax
from random_matrices import random

F32, F64, C64, C128 = np.float32, np.float64, np.complex64, np.complex128
DTYPES = [F32, F64, C64, C128]
BATCHES = [(), (2, 3), (0,)]
dtypes = pytest.mark.parametrize("dtype", DTYPES)
batches = pytest.mark.parametrize("batch", BATCHES)

# farcall.numpy.linalg and its oracle take the same calls; their annotations differ.
la: Any = fnp.linalg
nla: Any = np.linalg


@pytest.fixture(autouse=True)
def x64() -> Iterator[None]:
    """JAX keeps float64 and complex128 as they are."""
    with fc.enable_x64(True), jax.enable_x64(True):
        yield


def adjoint(a: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def hermitian(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    a = random(shape, dtype)
    return (a + adjoint(a)) / 2


def definite(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    a = random(shape, dtype)
    return (a @ adjoint(a) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def close(got: Any, expected: Any, dtype: Any = None) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    dtype = got.dtype if dtype is None else dtype
    tolerance = 2e-4 if np.finfo(dtype).eps > 1e-10 else 1e-10
    scale = 1 + (np.nanmax(np.abs(expected)) if expected.size else 0)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)


# ---- factorizations rebuild their matrix ----
@dtypes
@batches
@pytest.mark.parametrize("n", [0, 1, 5])
def test_cholesky_factors_are_lower_and_rebuild_the_matrix(dtype, batch, n):
    a = definite((*batch, n, n), dtype)
    factor = lax.linalg.cholesky(a)
    assert factor.dtype == dtype
    close(factor, np.linalg.cholesky(a))
    close(la.cholesky(a, upper=True), adjoint(np.linalg.cholesky(a)))


def test_factorizations_of_nothing_print_nothing(capfd):
    """LAPACK writes to standard error when an argument is not to its liking."""
    x = fnp.zeros((2, 0, 0), F64)
    linalg = lax.linalg
    for function in (linalg.cholesky, linalg.lu, linalg.qr, linalg.eigh, linalg.svd, linalg.eig):
        function(x)
    linalg.schur(x)
    assert capfd.readouterr() == ("", "")


def test_cholesky_of_a_matrix_that_is_not_definite_is_nan_and_others_of_the_batch_are_not():
    a = np.stack([np.eye(3), -np.eye(3), 4 * np.eye(3)]).astype(F32)
    got = np.asarray(lax.linalg.cholesky(a))
    np.testing.assert_array_equal(got, jlax.linalg.cholesky(jnp.asarray(a)))
    assert np.isnan(got[1]).any()
    assert not np.isnan(got[[0, 2]]).any()


def test_cholesky_reads_the_mean_with_the_adjoint_unless_told_otherwise():
    a = definite((4, 4), F64) + np.triu(random((4, 4), F64), 1)
    close(lax.linalg.cholesky(a), np.linalg.cholesky((a + a.T) / 2))
    close(lax.linalg.cholesky(a, symmetrize_input=False), np.linalg.cholesky(a))


@dtypes
@batches
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 1), (0, 3), (3, 0)])
def test_lu_agrees_with_jax(dtype, batch, shape):
    a = random((*batch, *shape), dtype)
    got = lax.linalg.lu(a)
    if 0 in shape:
        assert [x.shape for x in got] == [a.shape, (*batch, 0), (*batch, shape[0])]
        return
    for x, y in zip(got, jlax.linalg.lu(jnp.asarray(a)), strict=True):
        assert x.dtype == y.dtype
        close(x, y, dtype)


@dtypes
@batches
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_rebuilds_the_matrix(dtype, batch, shape, mode):
    a = random((*batch, *shape), dtype)
    q, r = la.qr(a, mode)
    expected = np.linalg.qr(a, mode)
    assert (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
    assert q.dtype == r.dtype == dtype
    close(np.asarray(q) @ np.asarray(r), a)
    size = q.shape[-1]
    close(
        adjoint(np.asarray(q)) @ np.asarray(q), np.broadcast_to(np.eye(size), (*batch, size, size))
    )
    close(r, np.triu(r))


@dtypes
def test_householder_product_of_geqrf_agrees_with_numpy(dtype):
    a = random((2, 5, 3), dtype)
    factors, taus = la.qr(a, mode="raw")
    close(lax.linalg.householder_product(np.swapaxes(factors, -1, -2), taus), np.linalg.qr(a).Q)


@dtypes
@batches
@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_eigh_diagonalizes(dtype, batch, n):
    a = hermitian((*batch, n, n), dtype)
    w, v = la.eigh(a)
    assert v.dtype == dtype
    assert w.dtype == np.finfo(dtype).dtype
    close(w, np.linalg.eigvalsh(a))
    v = np.asarray(v)
    close(v * np.asarray(w)[..., None, :] @ adjoint(v), a)


@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("dtype", [F64, C128])
def test_eigh_reads_one_triangle_when_asked(uplo, dtype):
    a = random((4, 4), dtype)
    a[np.diag_indices(4)] = a.diagonal().real
    close(la.eigvalsh(a, uplo, symmetrize_input=False), np.linalg.eigvalsh(a, uplo))


@dtypes
@batches
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("full", [False, True])
def test_svd_rebuilds_the_matrix(dtype, batch, shape, full):
    a = random((*batch, *shape), dtype)
    u, s, vh = la.svd(a, full)
    expected = np.linalg.svd(a, full)
    assert [x.shape for x in (u, s, vh)] == [x.shape for x in expected]
    close(s, expected.S)
    close(la.svd(a, compute_uv=False), expected.S)
    k = min(shape)
    close(np.asarray(u)[..., :k] * np.asarray(s)[..., None, :] @ np.asarray(vh)[..., :k, :], a)
    for x in (np.asarray(u), adjoint(np.asarray(vh))):
        size = x.shape[-1]
        close(adjoint(x) @ x, np.broadcast_to(np.eye(size), (*batch, size, size)))


@pytest.mark.parametrize("dtype", [F64, C128])
def test_svd_of_hermitian_matrices_agrees_with_numpy(dtype):
    a = hermitian((2, 4, 4), dtype)
    u, s, vh = (np.asarray(x) for x in la.svd(a, hermitian=True))
    close(s, np.linalg.svd(a, hermitian=True).S)
    close(u * s[..., None, :] @ vh, a)


@dtypes
@batches
@pytest.mark.parametrize("n", [0, 1, 5])
def test_eig_solves_the_eigenvalue_equation_on_both_sides(dtype, batch, n):
    a = random((*batch, n, n), dtype)
    w, vl, vr = (np.asarray(x) for x in lax.linalg.eig(a))
    assert w.dtype == vl.dtype == vr.dtype == np.result_type(dtype, C64)
    close(a @ vr, vr * w[..., None, :])
    close(adjoint(vl) @ a, w[..., :, None] * adjoint(vl))
    distances = np.abs(np.asarray(la.eigvals(a))[..., None] - np.linalg.eigvals(a)[..., None, :])
    if distances.size:
        close(distances.min(-1), np.zeros_like(w.real))
        close(distances.min(-2), np.zeros_like(w.real))
    assert len(lax.linalg.eig(a, compute_left_eigenvectors=False)) == 2


@dtypes
@batches
def test_schur_rebuilds_the_matrix(dtype, batch):
    a = random((*batch, 5, 5), dtype)
    t, q = (np.asarray(x) for x in lax.linalg.schur(a))
    close(q @ t @ adjoint(q), a)
    close(t, np.triu(t, -1))
    close(lax.linalg.schur(a, compute_schur_vectors=False)[0], t)


@pytest.mark.parametrize("function", ["eigh", "svd", "eig", "lu", "qr"])
def test_matrices_that_are_not_finite_end_and_give_nan(function):
    a = np.array([np.eye(3), np.full((3, 3), np.nan)])
    for x in getattr(lax.linalg, function)(a):
        if np.issubdtype(x.dtype, np.inexact):
            assert np.isnan(x[1]).any()
            assert not np.isnan(x[0]).any()


# ---- systems ----
@dtypes
@batches
@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_triangular_solve_solves_with_the_triangle(dtype, batch, left_side, lower):
    a = random((*batch, 4, 4), dtype) + 3 * np.eye(4, dtype=dtype)
    b = random((*batch, 4, 2) if left_side else (*batch, 2, 4), dtype, 1)
    for unit_diagonal, transpose_a, conjugate_a in itertools.product((False, True), repeat=3):
        x = lax.linalg.triangular_solve(
            a,
            b,
            left_side=left_side,
            lower=lower,
            transpose_a=transpose_a,
            conjugate_a=conjugate_a,
            unit_diagonal=unit_diagonal,
        )
        triangle = (np.tril if lower else np.triu)(a, (-1 if lower else 1) * unit_diagonal)
        triangle = triangle + unit_diagonal * np.eye(4, dtype=dtype)
        triangle = np.swapaxes(triangle, -1, -2) if transpose_a else triangle
        triangle = np.conj(triangle) if conjugate_a else triangle
        assert x.dtype == dtype
        close(triangle @ np.asarray(x) if left_side else np.asarray(x) @ triangle, b)


def test_triangular_solve_takes_vectors():
    a, b = random((2, 3, 3), F64) + 3 * np.eye(3), random((2, 3), F64)
    got = lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    close(got, np.linalg.solve(np.tril(a), b[..., None])[..., 0])


@dtypes
@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [
        ((4, 4), (4,)),
        ((4, 4), (4, 3)),
        ((2, 4, 4), (4,)),
        ((2, 4, 4), (4, 3)),
        ((4, 4), (2, 4, 3)),
        ((3, 1, 4, 4), (2, 4, 3)),
        ((1, 1), (1, 1)),
        ((0, 0), (0, 3)),
        ((3, 3), (3, 0)),
    ],
)
def test_solve_agrees_with_numpy(dtype, shape_a, shape_b):
    a, b = random(shape_a, dtype), random(shape_b, dtype, 1)
    close(la.solve(a, b), np.linalg.solve(a, b))


@dtypes
@batches
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_inv_det_and_slogdet_agree_with_numpy(dtype, batch, n):
    a = random((*batch, n, n), dtype)
    close(la.inv(a), np.linalg.inv(a))
    close(la.det(a), np.linalg.det(a))
    got, expected = la.slogdet(a), np.linalg.slogdet(a)
    close(got.sign, expected.sign)
    close(got.logabsdet, expected.logabsdet)
    assert got.logabsdet.dtype == np.finfo(dtype).dtype


def test_singular_matrices_have_determinant_zero():
    a = np.arange(16.0).reshape(4, 4)
    a[3] = 0
    assert la.det(a) == 0
    sign, logabsdet = la.slogdet(a)
    assert sign == 0
    assert logabsdet == -np.inf


@dtypes
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 5), (0, 3)])
def test_pinv_agrees_with_numpy(dtype, shape):
    a = random(shape, dtype)
    close(la.pinv(a), np.linalg.pinv(a))
    if shape[-1] == shape[-2]:
        close(la.pinv(a + adjoint(a), hermitian=True), np.linalg.pinv(a + adjoint(a)))


def test_pinv_drops_singular_values_below_the_limit():
    a = np.diag([4.0, 1.0, 0.1])
    close(la.pinv(a, rtol=0.5), np.linalg.pinv(a, rcond=0.5))
    close(la.pinv(np.ones((3, 3))), np.linalg.pinv(np.ones((3, 3))))


@dtypes
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_lstsq_agrees_with_numpy(dtype, shape):
    a, b = random(shape, dtype), random((shape[0], 2), dtype, 1)
    for right in (b, b[:, 0]):
        got = la.lstsq(a, right, numpy_resid=True)
        expected = np.linalg.lstsq(a, right)
        close(got[0], expected[0])
        close(got[1], expected[1])
        assert got[2] == expected[2]
        close(got[3], expected[3])


# ---- numbers and products ----
@pytest.mark.parametrize("dtype", [F32, C128])
def test_norms_agree_with_numpy(dtype):
    vectors, matrices = random((2, 5), dtype), random((2, 3, 4), dtype)
    for order in (None, 1, 2, 3, 0.5, 0, -1, np.inf, -np.inf):
        close(la.norm(vectors, order, axis=1), np.linalg.norm(vectors, order, axis=1))
        close(la.norm(vectors[0], order), np.linalg.norm(vectors[0], order))
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        for axis, keepdims in [((1, 2), False), ((2, 0), True), ((0, -1), False)]:
            close(
                la.norm(matrices, order, axis, keepdims),
                nla.norm(matrices, order, axis, keepdims),
            )
    close(la.norm(matrices), np.linalg.norm(matrices))
    close(la.matrix_norm(matrices, ord=1), np.linalg.matrix_norm(matrices, ord=1))
    close(la.vector_norm(matrices, axis=0, ord=1), np.linalg.vector_norm(matrices, axis=0, ord=1))


def test_condition_numbers_and_ranks_agree_with_numpy():
    a = random((3, 4, 4), F64)
    for p in (None, 1, 2, -2, "fro", np.inf):
        close(la.cond(a, p), np.linalg.cond(a, p))
    a[1, 2] = a[1, 1]
    a[2] = 0
    np.testing.assert_array_equal(la.matrix_rank(a), [4, 3, 0])
    assert la.matrix_rank(np.zeros(3)) == 0
    assert la.matrix_rank(np.ones(3)) == 1


def test_products_agree_with_numpy():
    a, b, c, d = (random(s, F64, i) for i, s in enumerate([(4, 3), (3, 7), (7, 2), (2,)]))
    close(la.multi_dot([a, b]), a @ b)
    close(la.multi_dot([a, b, c, d]), nla.multi_dot([a, b, c, d]))
    close(la.multi_dot([a[0], b, c]), a[0] @ b @ c)
    square = random((2, 3, 3), F64)
    for n in (-3, -1, 0, 1, 2, 5, 8):
        close(la.matrix_power(square, n), np.linalg.matrix_power(square, n))
    close(la.matrix_transpose(square), np.swapaxes(square, 1, 2))
    close(la.trace(square, offset=1), nla.trace(square, offset=1))
    close(la.vecdot(square, square), nla.vecdot(square, square))
    tensor = random((4, 6, 8, 3), F64)
    close(la.tensorinv(tensor), np.linalg.tensorinv(tensor))
    close(la.tensorsolve(tensor, np.ones((4, 6))), np.linalg.tensorsolve(tensor, np.ones((4, 6))))


def test_integers_become_float32():
    a = fnp.array([[2, 1], [1, 3]], "int32")
    for function in ("cholesky", "inv", "det", "eigvalsh", "pinv", "norm"):
        got = getattr(la, function)(a)
        assert got.dtype == F32
        close(got, getattr(nla, function)(np.asarray(a)))


def test_results_have_numpys_names():
    a = definite((3, 3), F32)
    assert la.eigh(a)._fields == np.linalg.eigh(a)._fields
    assert la.eig(a)._fields == np.linalg.eig(a)._fields
    assert la.qr(a)._fields == np.linalg.qr(a)._fields
    assert la.svd(a)._fields == np.linalg.svd(a)._fields
    assert la.slogdet(a)._fields == np.linalg.slogdet(a)._fields


# ---- scipy's names ----
def test_scipys_functions_agree_with_scipy():
    theirs: Any = pytest.importorskip("scipy.linalg")
    mine: Any = fc.scipy.linalg
    for dtype in (F64, C128):
        a, b = definite((4, 4), dtype), random((4, 2), dtype, 1)
        general = random((4, 4), dtype, 2)
        for lower in (False, True):
            close(mine.cholesky(a, lower), theirs.cholesky(a, lower))
            close(mine.cho_solve(mine.cho_factor(a, lower), b), np.linalg.solve(a, b))
            for trans in (0, 1, 2, "C"):
                close(
                    mine.solve_triangular(general, b, trans, lower),
                    theirs.solve_triangular(general, b, trans, lower),
                )
        for trans in (0, 1, 2):
            close(
                mine.lu_solve(mine.lu_factor(general), b, trans),
                theirs.lu_solve(theirs.lu_factor(general), b, trans),
            )
        for x, y in zip(mine.lu(general[:3]), theirs.lu(general[:3]), strict=True):
            close(x, y)
        close(mine.solve(a, b, assume_a="pos"), np.linalg.solve(a, b))
        close(mine.eigh(a, eigvals_only=True), theirs.eigh(a, eigvals_only=True))
        t, z = (np.asarray(x) for x in mine.schur(general))
        close(z @ t @ adjoint(z), general)


# ---- mistakes ----
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lax.linalg.cholesky(np.ones((2, 3), F32)), r"cholesky: takes square .*f32\[2,3\]"),
        (lambda: lax.linalg.cholesky(np.ones(3, F32)), r"cholesky: takes matrices.*f32\[3\]"),
        (lambda: lax.linalg.lu(np.ones((2, 2), np.int32)), r"lu: takes float32.*i32\[2,2\]"),
        (lambda: la.solve(np.eye(3), np.ones(2)), r"solve: right-hand sides f64\[2,1\] do not fit"),
        (
            lambda: lax.linalg.triangular_solve(np.eye(3), np.ones((3, 2), F32), left_side=True),
            "triangular_solve: operands must have one dtype",
        ),
        (
            lambda: lax.linalg.lu_pivots_to_permutation(np.zeros(3, np.int32), 2),
            "permutation_size must be at least the number of pivots, 3; got 2",
        ),
        (lambda: la.qr(np.eye(2), mode="full"), "qr: mode must be"),
        (lambda: la.eigh(np.eye(2), UPLO="X"), "UPLO must be"),
        (lambda: la.norm(np.eye(2), ord="abc"), "ord of a matrix must be"),
        (lambda: la.matrix_power(np.ones((2, 3)), 2), "matrix_power: takes square matrices"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_call_by_name_with_results_that_do_not_fit_is_refused():
    wrong = fc.ShapeDtypeStruct((3, 2), F32)
    text = r"are \(f32\[3,3\]\) by the shape rule of .*; the call asks for \(f32\[3,2\]\)"
    with pytest.raises(ValueError, match=text):
        fc.ffi.ffi_call("farcall_cholesky", wrong)(np.eye(3, dtype=F32))
