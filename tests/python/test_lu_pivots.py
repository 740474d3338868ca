"""LU pivots to a permutation as a foreign call: attributes, batching, and a solver built on it."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall import lax

pytestmark = pytest.mark.usefixtures("x64")

TARGET = "farcall_lu_pivots_to_permutation"
METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]


def permutation_of(pivots: Any, permutation_size: int, **options: Any) -> Any:
    result = fc.ShapeDtypeStruct((*pivots.shape[:-1], permutation_size), pivots.dtype)
    call = fc.ffi.ffi_call(TARGET, result, **options)
    return call(pivots, permutation_size=np.int32(permutation_size))


def expected(pivots: np.ndarray, permutation_size: int) -> np.ndarray:
    result = np.empty((*pivots.shape[:-1], permutation_size), np.int32)
    for index in np.ndindex(*pivots.shape[:-1]):
        order = np.arange(permutation_size, dtype=np.int32)
        for row, other in enumerate(pivots[index]):
            order[[row, other]] = order[[other, row]]
        result[index] = order
    return result


def random_pivots(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    first = np.arange(shape[-1])
    return (first + rng.integers(0, 8 - first, shape)).astype(np.int32)


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 5), (1,), (0,), (0, 4)])
def test_the_call_exchanges_rows_one_after_the_other(shape):
    pivots = random_pivots(*shape)
    np.testing.assert_array_equal(permutation_of(pivots, 8), expected(pivots, 8))
    np.testing.assert_array_equal(
        lax.linalg.lu_pivots_to_permutation(pivots, 8), expected(pivots, 8)
    )


@pytest.mark.parametrize("method", METHODS)
def test_each_vmap_method_gives_the_same_under_nested_batches(method):
    pivots = random_pivots(2, 3, 4)

    def one(pivots: Any) -> Any:
        return permutation_of(pivots, 8, vmap_method=method)

    np.testing.assert_array_equal(fc.vmap(one)(pivots[0]), expected(pivots[0], 8))
    np.testing.assert_array_equal(fc.vmap(fc.vmap(one))(pivots), expected(pivots, 8))
    np.testing.assert_array_equal(fc.jit(fc.vmap(fc.vmap(one)))(pivots), expected(pivots, 8))
    np.testing.assert_array_equal(
        fc.vmap(one, in_axes=-1)(np.moveaxis(pivots[0], 0, -1)), expected(pivots[0], 8)
    )


def test_the_attribute_is_an_int32_and_stands_in_the_program():
    text = fc.make_jaxpr(lambda p: permutation_of(p, 8))(random_pivots(4)).to_text()
    assert TARGET in text
    assert "permutation_size=8:i32" in text
    result = fc.ShapeDtypeStruct((8,), np.int32)
    with pytest.raises(ValueError, match="declares attribute permutation_size as int32"):
        fc.ffi.ffi_call(TARGET, result)(random_pivots(4), permutation_size=np.float32(8))


def test_pivots_outside_the_rows_are_refused():
    with pytest.raises(fc.FfiError, match=r"element 0 is 8, which does not lie in \[0, 8\)"):
        permutation_of(np.array([8], np.int32), 8)
    with pytest.raises(fc.FfiError, match="4 pivots for 3 rows"):
        permutation_of(np.array([0, 0, 0, 0], np.int32), 3)


def my_solve(a: Any, b: Any) -> Any:
    """A solver made of foreign calls: factors, permutation, two triangles."""
    factors, pivots, _ = lax.linalg.lu(a)
    order = permutation_of(pivots, a.shape[-1], vmap_method="broadcast_all")
    numbers = np.arange(a.shape[-1], dtype=np.int32)
    exchange = fnp.equal(order[:, None], numbers[None, :]).astype(b.dtype)
    options = {"left_side": True}
    half = lax.linalg.triangular_solve(
        factors, exchange @ b, lower=True, unit_diagonal=True, **options
    )
    return lax.linalg.triangular_solve(factors, half, **options)


def test_a_solver_built_on_it_is_compiled_batched_and_differentiated():
    rng = np.random.default_rng(1)
    a = rng.standard_normal((3, 4, 4)) + 4 * np.eye(4)
    b = rng.standard_normal((3, 4))
    close = np.testing.assert_allclose
    close(my_solve(a[0], b[0]), np.linalg.solve(a[0], b[0]), rtol=1e-10)
    close(fc.jit(my_solve)(a[0], b[0]), np.linalg.solve(a[0], b[0]), rtol=1e-10)
    batched = np.linalg.solve(a, b[..., None])[..., 0]
    close(fc.vmap(my_solve)(a, b), batched, rtol=1e-10)
    close(fc.vmap(my_solve, in_axes=(None, 0))(a[0], b), np.linalg.solve(a[0], b.T).T, rtol=1e-10)

    def loss(a: Any, b: Any) -> Any:
        return fnp.sum(my_solve(a, b) ** 2)

    def peer(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.linalg.solve(a, b) ** 2)

    with fc.enable_x64(True), jax.enable_x64(True):
        theirs = jax.vmap(jax.grad(peer, (0, 1)))(jnp.asarray(a), jnp.asarray(b))
    mine = fc.jit(fc.vmap(fc.grad(loss, (0, 1))))(a, b)
    for x, y in zip(mine, theirs, strict=True):
        close(x, y, rtol=1e-8, atol=1e-12)
