"""Derivatives and batches of linear algebra, against JAX and against finite differences.

JAX's are compiled whole: operation by operation it would compile each of them, which takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

fla: Any = fnp.linalg
jla: Any = jnp.linalg
TYPES = [np.float64, np.complex128]
dtypes = pytest.mark.parametrize("dtype", TYPES)


@pytest.fixture(autouse=True)
def x64() -> Iterator[None]:
    """JAX keeps float64 and complex128 as they are."""
    with fc.enable_x64(True), jax.enable_x64(True):
        yield


def definite(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    a = random(shape, dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + shape[-1] * np.eye(shape[-1])


def close(got: Any, expected: Any, tolerance: float = 1e-8) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def functions(xnp: Any, xlax: Any) -> dict[str, Callable[[Any], Any]]:
    """What is differentiated, by name; results do not depend on signs and phases that are free."""
    la, xl = xnp.linalg, xlax.linalg

    def adjoint(x: Any) -> Any:
        return xnp.conj(xnp.swapaxes(x, -1, -2))

    def projections(v: Any) -> Any:
        return v[..., :2] @ adjoint(v[..., :2])

    def positive(x: Any) -> Any:
        return x @ adjoint(x) + xnp.eye(x.shape[-1], dtype=x.dtype)

    def of_svd(x: Any) -> Any:
        u, s, vh = la.svd(x, full_matrices=False)
        return s, projections(u), projections(adjoint(vh)), u * s[..., None, :] ** 2 @ vh

    return {
        "cholesky": lambda x: la.cholesky(positive(x)),
        "lu": lambda x: xl.lu(x)[0],
        "qr": lambda x: tuple(la.qr(x)),
        "eigh": lambda x: (la.eigh(x)[0], projections(la.eigh(x)[1])),
        "svd": of_svd,
        "singular values": lambda x: la.svd(x, compute_uv=False),
        "eigenvalues": la.eigvals,
        "solve": lambda x: la.solve(x, x @ x),
        "inv": la.inv,
        "det": la.det,
        "slogdet": lambda x: tuple(la.slogdet(x)),
        "pinv": la.pinv,
        "triangular_solve": lambda x: xl.triangular_solve(
            x, xnp.swapaxes(x, -1, -2), left_side=True, lower=True
        ),
        "triangular_solve, transposed, from the right": lambda x: xl.triangular_solve(
            x, x @ x, transpose_a=True, conjugate_a=True
        ),
        "norm": lambda x: la.norm(x, "nuc"),
        "matrix_power": lambda x: la.matrix_power(x, -3),
    }


MINE, THEIRS = functions(fnp, lax), functions(jnp, jlax)
SQUARE = list(MINE)
# The others differ in what JAX refuses or in signs that are free.
NOT_SQUARE = {"lu": [(5, 3), (3, 5)], "svd": [(5, 3), (3, 5)], "pinv": [(5, 3), (3, 5)]}
NOT_SQUARE["qr"] = [(5, 3)]
CASES = [(name, (4, 4)) for name in SQUARE]
CASES += [(name, shape) for name, shapes in NOT_SQUARE.items() for shape in shapes]
cases = pytest.mark.parametrize(("name", "shape"), CASES)


def leaves(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (tuple, list)) else [x]


@dtypes
@cases
def test_directional_derivatives_agree_with_jax(name, shape, dtype):
    x, dx = random(shape, dtype), random(shape, dtype, 1)
    got = fc.jvp(MINE[name], (x,), (dx,))
    expected = jax.jit(lambda x, dx: jax.jvp(THEIRS[name], (x,), (dx,)))(x, dx)
    for mine, theirs in zip(got, expected, strict=True):
        for y, z in zip(leaves(mine), leaves(theirs), strict=True):
            close(y, z)


@dtypes
@cases
def test_gradients_agree_with_jax(name, shape, dtype):
    x = random(shape, dtype)

    def weighed(function: Any, xnp: Any) -> Any:
        def loss(x: Any) -> Any:
            total = 0
            for i, y in enumerate(leaves(function(x))):
                weights = random(tuple(y.shape), np.complex128, i)
                total = total + xnp.real(xnp.sum(y * xnp.asarray(weights)))
            return total

        return loss

    expected = jax.jit(jax.grad(weighed(THEIRS[name], jnp)))(x)
    close(fc.grad(weighed(MINE[name], fnp))(x), expected)
    close(fc.jit(fc.grad(weighed(MINE[name], fnp)))(x), expected)


@pytest.mark.parametrize("name", SQUARE)
def test_batches_nest_and_give_what_one_matrix_gives(name):
    function = MINE[name]
    x = random((2, 3, 4, 4), np.float64)
    got = leaves(fc.vmap(fc.vmap(function))(x))
    stacked = got if name == "norm" else leaves(function(x))
    for y, z in zip(got, stacked, strict=True):
        close(y, z)
    last = leaves(fc.vmap(function, in_axes=-1, out_axes=0)(np.moveaxis(x[0], 0, -1)))
    for i, y in enumerate(last):
        close(y, got[i][0])
    one = leaves(function(x[1, 2]))
    for i, y in enumerate(one):
        close(got[i][1, 2], y)


@pytest.mark.parametrize("name", ["cholesky", "solve", "svd", "det", "eigh", "qr"])
def test_derivatives_of_batches_are_batches_of_derivatives(name):
    function = MINE[name]
    x, dx = random((3, 4, 4), np.float64), random((3, 4, 4), np.float64, 1)

    def tangents(x: Any, dx: Any) -> list[Any]:
        return leaves(fc.jvp(function, (x,), (dx,))[1])

    for i, y in enumerate(fc.vmap(tangents)(x, dx)):
        close(y, tangents(x, dx)[i])
        close(y[1], tangents(x[1], dx[1])[i])


@pytest.mark.parametrize("batched", ["a", "b", "both"])
@pytest.mark.parametrize("left_side", [False, True])
def test_right_hand_sides_are_batched_with_or_without_their_matrices(batched, left_side):
    a, b = random((3, 4, 4), np.float64), random((3, 4, 4), np.float64, 1)
    axes = (None if batched == "b" else 0, None if batched == "a" else 0)
    mine = (a if axes[0] == 0 else a[0], b if axes[1] == 0 else b[0])

    def triangular(a: Any, b: Any) -> Any:
        return lax.linalg.triangular_solve(a, b, left_side=left_side)

    for function in (triangular, fla.solve):
        got = fc.vmap(function, in_axes=axes)(*mine)
        for i in range(3):
            close(got[i], function(a[i] if axes[0] == 0 else a[0], b[i] if axes[1] == 0 else b[0]))


@dtypes
def test_second_derivatives_of_solve_and_logdet_agree_with_jax(dtype):
    a, b = random((3, 3), dtype), random((3,), dtype, 1)

    def of(la: Any, xnp: Any) -> Any:
        return lambda a: xnp.real(xnp.sum(la.solve(a, b) ** 2) + la.slogdet(a)[1])

    da, db = random((3, 3), dtype, 2), random((3, 3), dtype, 3)

    def second(jvp: Any, function: Any, a: Any) -> Any:
        return jvp(lambda a: jvp(function, (a,), (da,))[1], (a,), (db,))[1]

    expected = jax.jit(lambda a: second(jax.jvp, of(jla, jnp), a))(a)
    close(second(fc.jvp, of(fla, fnp), a), expected)


def test_the_hessian_of_logdet_agrees_with_jax():
    a = definite((3, 3), np.float64)
    close(
        fc.hessian(lambda a: fla.slogdet(a)[1])(a),
        jax.jit(jax.hessian(lambda a: jla.slogdet(a)[1]))(a),
    )


def test_solve_factors_once_for_value_and_gradient():
    b = np.ones(3)

    def loss(a: Any) -> Any:
        return fnp.sum(fla.solve(a, b))

    text = fc.make_jaxpr(fc.grad(loss))(np.eye(3)).to_text()
    assert text.count("farcall_getrf") == 1
    assert text.count("farcall_lu_solve") == 2


def test_the_determinant_of_a_singular_matrix_has_its_derivative():
    a = random((4, 4), np.float64)
    a[:, 3] = a[:, 1] + a[:, 2]
    cofactors = np.array(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(4)]
            for i in range(4)
        ]
    )
    np.testing.assert_allclose(fc.grad(fla.det)(a), cofactors, rtol=1e-6, atol=1e-12)


def test_eigenvectors_are_differentiated_when_asked():
    a, da = random((4, 4), np.float64), random((4, 4), np.float64, 1)

    def mine(a: Any) -> Any:
        return lax.linalg.eig(a, enable_eigvec_derivs=True)

    here, tangents = fc.jvp(mine, (a,), (da,))
    h = 1e-6
    ahead = mine(a + h * da)
    for i, tangent in enumerate(tangents):
        near, far = np.asarray(here[i]), np.asarray(ahead[i])
        if i > 0:  # an eigenvector's sign is free
            far = far * np.sign(np.sum(near.conj() * far, 0).real)
        np.testing.assert_allclose(tangent, (far - near) / h, rtol=1e-4, atol=1e-4)
    with pytest.raises(NotImplementedError, match="enable_eigvec_derivs=True"):
        fc.jvp(lax.linalg.eig, (a,), (da,))


def test_derivatives_that_do_not_exist_are_refused():
    a = random((5, 3), np.float64)
    for function, message in [
        (lambda a: lax.linalg.qr(a)[0], "qr: the square Q of"),
        (lambda a: lax.linalg.svd(a)[0], "svd: the square U and V of"),
    ]:
        with pytest.raises(NotImplementedError, match=message):
            fc.jvp(function, (a,), (a,))


def test_wide_qr_is_differentiated_as_finite_differences_say():
    a, da = random((3, 5), np.float64), random((3, 5), np.float64, 1)
    h = 1e-6
    for i, tangent in enumerate(fc.jvp(lambda a: tuple(fla.qr(a)), (a,), (da,))[1]):
        slope = (np.asarray(fla.qr(a + h * da)[i]) - np.asarray(fla.qr(a - h * da)[i])) / (2 * h)
        np.testing.assert_allclose(tangent, slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_eigenvectors_of_nothing_have_derivatives(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)

    def eigenvectors(a: Any) -> Any:
        return lax.linalg.eig(a, enable_eigvec_derivs=True)

    results, tangents = fc.jvp(eigenvectors, (x,), (x,))
    assert [(t.shape, t.dtype) for t in tangents] == [(r.shape, r.dtype) for r in results]
    (cotangent,) = fc.vjp(eigenvectors, x)[1](results)
    assert cotangent.shape == shape


@pytest.mark.parametrize("lower", [True, False])
def test_a_unit_diagonal_has_no_tangent(lower):
    a = np.array([[1.0, 2, 3], [4, 1, 5], [6, 7, 1]])
    t = np.array([[5.0, 1, 2], [2, 7, 3], [1, 4, 9]])
    b = np.array([[1.0], [2], [3]])

    def f(m):
        def solve(u):
            return m.linalg.triangular_solve(u, b, left_side=True, lower=lower, unit_diagonal=True)

        return solve

    ours, theirs = fc.jvp(f(lax), (a,), (t,)), jax.jvp(f(jlax), (a,), (t,))
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
