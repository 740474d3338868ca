"""The exponential and the root of matrices, Sylvester's equation, qr, matrices of special forms."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from farcall.scipy import linalg

pytestmark = pytest.mark.usefixtures("x64")

scipy_linalg = pytest.importorskip("scipy.linalg")

R = np.random.default_rng(3)
A = R.normal(size=(4, 4))
V = np.array([3, -1, 4, 1.5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("scale", [0.01, 1, 8])
def test_expm(dtype, scale):
    a = (A * scale + (0.5j * A.T if np.dtype(dtype).kind == "c" else 0)).astype(dtype)
    precision = np.finfo(dtype).eps
    wanted = scipy_linalg.expm(a.astype(np.complex128))
    error = np.abs(np.asarray(linalg.expm(a)) - wanted).max()
    assert error <= 300 * precision * scale * np.abs(wanted).max()


def test_expm_of_stacks_of_triangles_and_of_large_matrices():
    stack = np.stack([A, A * 3, np.zeros((4, 4))])
    np.testing.assert_allclose(linalg.expm(stack), scipy_linalg.expm(stack), rtol=1e-9)
    np.testing.assert_allclose(fc.vmap(linalg.expm)(stack), scipy_linalg.expm(stack), rtol=1e-9)
    upper = np.triu(A)
    ours = linalg.expm(upper, upper_triangular=True)
    np.testing.assert_allclose(ours, scipy_linalg.expm(upper), rtol=1e-9, atol=1e-12)
    assert np.isnan(linalg.expm(A * 1e6)).all()
    with pytest.raises(ValueError, match="expm: needs square matrices, got"):
        linalg.expm(A[:2])


def test_expm_has_derivatives():
    fc.testing.check_derivatives(linalg.expm, (A[:2, :2] * 5,))
    value, derivative = linalg.expm_frechet(A, A.T)
    wanted = scipy_linalg.expm_frechet(A, A.T)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-9)
    np.testing.assert_allclose(derivative, wanted[1], rtol=1e-9)
    alone = linalg.expm_frechet(A, A.T, compute_expm=False)
    np.testing.assert_array_equal(alone, derivative)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (3, 0)])
def test_qr_with_exchanges_of_columns(dtype, shape):
    a = R.normal(size=shape).astype(dtype)
    for mode in ("full", "economic"):
        q, r, order = linalg.qr(a, mode=mode, pivoting=True)
        wanted = scipy_linalg.qr(a, mode=mode, pivoting=True)
        np.testing.assert_array_equal(order, wanted[2])
        np.testing.assert_allclose(np.abs(r), np.abs(wanted[1]), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(np.asarray(q) @ np.asarray(r), a[:, order], atol=1e-5)


def test_qr_with_exchanges_in_stacks_and_derivatives():
    stack = R.normal(size=(2, 4, 3))
    q, r, order = fc.lax.linalg.qr(stack, pivoting=True, full_matrices=False)
    for i in range(2):
        np.testing.assert_array_equal(order[i], scipy_linalg.qr(stack[i], pivoting=True)[2])
    np.testing.assert_allclose(
        np.take_along_axis(stack, np.asarray(order)[:, None], -1), q @ r, atol=1e-12
    )
    batched = fc.vmap(lambda x: fc.lax.linalg.qr(x, pivoting=True, full_matrices=False)[1])(stack)
    np.testing.assert_allclose(batched, r, atol=1e-12)

    def f(x):
        return linalg.qr(x, mode="economic", pivoting=True)[1]

    fc.testing.check_derivatives(f, (stack[0],))
    (r_alone, _) = linalg.qr(stack[0], mode="r", pivoting=True)
    np.testing.assert_allclose(r_alone, linalg.qr(stack[0], pivoting=True)[1], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_square_roots_of_matrices(dtype):
    tolerance = 100 * np.finfo(dtype).eps
    stack = np.stack([A @ A.T, np.eye(4), np.triu(A), A + 3 * np.eye(4), A @ A]).astype(dtype)
    found = linalg.sqrtm(stack)
    assert found.dtype == np.result_type(dtype, np.complex64)
    np.testing.assert_allclose(found @ found, stack, atol=tolerance * np.abs(stack).max())
    # The last one has eigenvalues near the negative numbers, where the root is discontinuous.
    for x, a in zip(found[:4], stack[:4].astype(np.complex128), strict=True):
        np.testing.assert_allclose(x, scipy_linalg.sqrtm(a), rtol=20 * tolerance, atol=tolerance)
    np.testing.assert_array_equal(linalg.sqrtm(np.diag([4.0, 0, 0])), np.diag([2.0, 0, 0]))
    assert not np.isfinite(linalg.sqrtm(np.array([[0.0, 1], [0, 0]]))).all()
    assert linalg.sqrtm(np.float32([[4]]))[0, 0] == 2
    with pytest.raises(ValueError, match="sqrtm"):
        linalg.sqrtm(A[:2])
    with pytest.raises(NotImplementedError, match="sqrtm: blocksize must be 1, got 2"):
        linalg.sqrtm(A, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_sylvesters_equation(dtype):
    a, b = A.astype(dtype), (A[:3, :3] + 7 * np.eye(3)).astype(dtype)
    c = R.normal(size=(2, 4, 3)).astype(dtype) * (1 + (1j if dtype == np.complex128 else 0))
    tolerance = 100 * np.finfo(dtype).eps
    found = linalg.solve_sylvester(a, b, c[0])
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found, scipy_linalg.solve_sylvester(a, b, c[0]), rtol=tolerance, atol=tolerance
    )
    stack = linalg.solve_sylvester(a, b, c)
    np.testing.assert_allclose(stack[0], found, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(a @ np.asarray(stack) + stack @ b, c, atol=20 * tolerance)
    np.testing.assert_allclose(
        fc.jit(fc.vmap(lambda c: linalg.solve_sylvester(a, b, c)))(c), stack, atol=tolerance
    )
    upper = np.triu(np.arange(9).reshape(3, 3)).astype(dtype)
    assert np.isnan(linalg.solve_sylvester(upper, -upper, upper)).all()
    assert np.isnan(linalg.solve_sylvester(upper + 1, upper, upper, tol=2.0)).all()
    with pytest.raises(ValueError, match="solve_sylvester: method must be"):
        linalg.solve_sylvester(a, b, c, method="x")
    with pytest.raises(ValueError, match=r"solve_sylvester: needs matrices \[m,m\], \[n,n\] and"):
        linalg.solve_sylvester(a, b, c[0, :3])


FORMS = {
    "block_diag": lambda m: m.block_diag(A[:2], V, 3.0),
    "toeplitz": lambda m: m.toeplitz(V, V[:3] + 1),
    "toeplitz of one": lambda m: m.toeplitz(V * (1 + 1j)),
    "hankel": lambda m: m.hankel(V),
    "hankel of two": lambda m: m.hankel(V, V[:3]),
    "circulant": lambda m: m.circulant(V),
    "companion": lambda m: m.companion(V),
    "hilbert": lambda m: m.hilbert(3),
    "inverse of hilbert": lambda m: m.invhilbert(6),
    "inverse of pascal": lambda m: m.invpascal(6),
    "inverse of pascal, lower": lambda m: m.invpascal(5, "lower"),
    "inverse of pascal, upper": lambda m: m.invpascal(5, kind="upper"),
    "helmert": lambda m: m.helmert(5),
    "full helmert": lambda m: m.helmert(4, full=True),
    "helmert of one": lambda m: m.helmert(1),
    "leslie": lambda m: m.leslie(V, V[1:]),
    "fiedler_companion": lambda m: m.fiedler_companion(V),
    "fiedler_companion of odd size": lambda m: m.fiedler_companion(np.arange(1.0, 7)),
    "fiedler_companion of two": lambda m: m.fiedler_companion(V[:2]),
    "convolution_matrix": lambda m: m.convolution_matrix(V, 3),
    "convolution_matrix, same": lambda m: m.convolution_matrix(V, 5, "same"),
    "convolution_matrix, valid": lambda m: m.convolution_matrix(V, 2, mode="valid"),
    "fiedler": lambda m: m.fiedler(V),
    "pascal": lambda m: m.pascal(6),
    "pascal, lower": lambda m: m.pascal(5, "lower"),
    "pascal, upper": lambda m: m.pascal(5, kind="upper"),
    "pascal of nothing": lambda m: m.pascal(0),
    "hadamard": lambda m: m.hadamard(8),
    "dft": lambda m: m.dft(5, "sqrtn"),
    "polar": lambda m: m.polar(A[:, :3]),
    "polar on the left": lambda m: m.polar(A[:2], side="left"),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name):
    ours, theirs = FORMS[name](linalg), FORMS[name](scipy_linalg)
    if not isinstance(ours, tuple):
        ours, theirs = (ours,), (theirs,)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


STACK = R.normal(size=(2, 3, 4))
STACKED = {
    "toeplitz": lambda m: m.toeplitz(STACK),
    "toeplitz of two": lambda m: m.toeplitz(STACK, V[:3]),
    "hankel": lambda m: m.hankel(STACK),
    "hankel of two": lambda m: m.hankel(V, STACK),
    "circulant": lambda m: m.circulant(STACK),
    "companion": lambda m: m.companion(STACK),
    "fiedler_companion": lambda m: m.fiedler_companion(STACK),
    "leslie": lambda m: m.leslie(STACK, V[1:]),
    "convolution_matrix": lambda m: m.convolution_matrix(STACK, 3),
}


@pytest.mark.parametrize("name", STACKED)
def test_forms_of_stacked_vectors(name):
    with jax.enable_x64(True):
        ours, theirs = STACKED[name](linalg), STACKED[name](jax.scipy.linalg)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_functions_by_the_schur_form(dtype):
    a = (A + (0.5j * A.T if np.dtype(dtype).kind == "c" else 0)).astype(dtype)
    tolerance = 2000 * np.finfo(dtype).eps
    found, error = linalg.funm(a, fnp.sin, disp=False)
    wanted, wanted_error = scipy_linalg.funm(a, np.sin, disp=False)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    assert wanted_error / 10 < error < 10 * wanted_error
    assert np.array_equal(linalg.funm(np.eye(3), fnp.exp), np.e * np.eye(3))
    for given in (linalg.schur(a), linalg.schur(a, output="complex")):
        form, vectors = linalg.rsf2csf(*given)
        wanted = scipy_linalg.rsf2csf(*map(np.asarray, given))
        np.testing.assert_allclose(form, wanted[0], rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(vectors, wanted[1], rtol=tolerance, atol=tolerance)
    stacked = linalg.rsf2csf(np.stack([form, 2 * form]), vectors)
    np.testing.assert_allclose(stacked[0][1], 2 * form, rtol=tolerance, atol=tolerance)
    with pytest.raises(ValueError, match="funm: A must be one square matrix"):
        linalg.funm(A[None], fnp.sin)
    with pytest.raises(ValueError, match="rsf2csf: T and Z must be of one size"):
        linalg.rsf2csf(A, A[:2, :2])


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_hessenberg(dtype):
    a = (np.stack([A, A.T]) * (1 + (1j if dtype == np.complex128 else 0))).astype(dtype)
    h, q = linalg.hessenberg(a, calc_q=True)
    tolerance = 50 * np.finfo(dtype).eps
    for i in range(2):
        wanted = scipy_linalg.hessenberg(a[i], calc_q=True)
        np.testing.assert_allclose(h[i], wanted[0], rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(q[i], wanted[1], rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(linalg.hessenberg(a), h)
    for n in (0, 1):
        small = linalg.hessenberg(np.ones((n, n)), calc_q=True)
        np.testing.assert_array_equal(small, np.ones((2, n, n)))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_eigenvalues_of_tridiagonal_matrices(dtype):
    off = (V[:3] * (1 + (2j if dtype == np.complex128 else 0))).astype(dtype)
    w, v = linalg.eigh_tridiagonal(V, off)
    matrix = np.diag(V) + np.diag(off, 1) + np.diag(off.conj(), -1)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(matrix), rtol=1e-12)
    np.testing.assert_allclose(matrix @ np.asarray(v), v * w, atol=1e-12)
    only = linalg.eigh_tridiagonal(V, off, eigvals_only=True, select="i", select_range=(1, 2))
    np.testing.assert_allclose(only, w[1:3], rtol=1e-12)
    with pytest.raises(NotImplementedError, match="eigh_tridiagonal: select='v' is not supported"):
        linalg.eigh_tridiagonal(V, off, select="v", select_range=(0, 1))
    with pytest.raises(ValueError, match="eigh_tridiagonal: select='i' needs select_range"):
        linalg.eigh_tridiagonal(V, off, select="i")
    with pytest.raises(ValueError, match="eigh_tridiagonal: d must be a vector, and e one with"):
        linalg.eigh_tridiagonal(V, V)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (4, 4)])
def test_products_with_the_factor_of_qr(shape):
    a = R.normal(size=shape) + 1j * R.normal(size=shape)
    for mode, c in (
        ("right", R.normal(size=(2, shape[0]))),
        ("left", R.normal(size=(min(shape), 2))),
    ):
        for given in (c, c[0] if mode == "right" else c[:, 0]):
            for options in ({}, {"pivoting": True}, {"conjugate": True}):
                found = linalg.qr_multiply(a, given, mode, **options)
                with jax.enable_x64(True):
                    wanted = jax.scipy.linalg.qr_multiply(a, given, mode, **options)
                for x, y in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="qr_multiply: c must have"):
        linalg.qr_multiply(a, np.ones((9, 9)))
    with pytest.raises(ValueError, match="qr_multiply: mode must be"):
        linalg.qr_multiply(a, c, "middle")


def test_what_is_refused():
    for call, text in (
        (lambda: linalg.leslie(V, V), "leslie: f must have at least two elements, and s one"),
        (lambda: linalg.helmert(0), "helmert: n must be positive, got 0"),
        (lambda: linalg.invhilbert(-1), "invhilbert: n must not be negative, got -1"),
        (lambda: linalg.invpascal(3, "m"), "invpascal: kind must be 'symmetric'"),
        (lambda: linalg.convolution_matrix(V, 0), "convolution_matrix: a must be a vector"),
        (lambda: linalg.convolution_matrix(V, 2, "x"), "convolution_matrix: mode must be"),
        (lambda: linalg.fiedler_companion(V[:0]), "fiedler_companion: the polynomial must have"),
        (lambda: linalg.hadamard(6), "hadamard: n must be a power of two, got 6"),
        (lambda: linalg.pascal(3, "m"), "pascal: kind must be 'symmetric', 'lower' or 'upper'"),
        (lambda: linalg.pascal(-1), "pascal: n must not be negative, got -1"),
        (lambda: linalg.pascal(2**62), "bytes or more"),
        (lambda: linalg.dft(3, "m"), 'dft: scale must be "sqrtn", "n" or None'),
        (lambda: linalg.polar(A, "up"), 'polar: side must be "right" or "left"'),
        (lambda: linalg.companion([1.0]), "companion: the polynomial must have at least two"),
        (lambda: linalg.block_diag(np.zeros((1, 1, 1))), "block_diag: takes matrices, got"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_solutions_by_factors_of_complex_matrices():
    a = R.normal(size=(4, 4)) + 1j * R.normal(size=(4, 4))
    b = R.normal(size=(4, 2)) + 1j * R.normal(size=(4, 2))
    for trans, matrix in enumerate((a, a.T, a.conj().T)):
        found = linalg.lu_solve(linalg.lu_factor(a), b, trans=trans)
        np.testing.assert_allclose(found, np.linalg.solve(matrix, b), rtol=1e-9)
    definite = a @ a.conj().T + 4 * np.eye(4)
    for lower in (False, True):
        found = linalg.cho_solve(linalg.cho_factor(definite, lower=lower), b)
        np.testing.assert_allclose(found, np.linalg.solve(definite, b), rtol=1e-9)
