"""Iterative solvers of linear systems, against those of JAX and the exact solutions."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.flatten_util
import farcall.numpy as fnp
import farcall.scipy.sparse.linalg
import jax
import jax.scipy.sparse.linalg
import numpy as np
import pytest

RNG = np.random.default_rng(0)
N = 12
GENERAL = (RNG.normal(size=(N, N)) * 0.3 + 3 * np.eye(N)).astype(np.float32)
POSITIVE = (GENERAL @ GENERAL.T).astype(np.float32)
HERMITIAN = (POSITIVE + 1j * (GENERAL - GENERAL.T)).astype(np.complex64)
B = RNG.normal(size=N).astype(np.float32)

SOLVERS: dict[str, tuple[str, np.ndarray, dict[str, Any]]] = {
    "cg": ("cg", POSITIVE, {}),
    "bicgstab": ("bicgstab", GENERAL, {}),
    "gmres": ("gmres", GENERAL, {}),
    "gmres restarted": ("gmres", GENERAL, {"restart": 4}),
    "gmres incremental": ("gmres", GENERAL, {"solve_method": "incremental"}),
    "gmres incremental, restarted": (
        "gmres",
        GENERAL,
        {"solve_method": "incremental", "restart": 5},
    ),
}
ALL = pytest.mark.parametrize("name", SOLVERS)


def solver(module: Any, name: str) -> Any:
    function, _, options = SOLVERS[name]
    chosen = getattr(module.scipy.sparse.linalg, function)
    return lambda *args, **kwargs: chosen(*args, **options, **kwargs)


@pytest.mark.parametrize(
    "name", ["cg", "bicgstab", "gmres restarted", "gmres incremental, restarted"]
)
def test_iterations_give_and_end_where_those_of_jax_do(name: str) -> None:
    a, weights = SOLVERS[name][1], 1 / np.diag(SOLVERS[name][1])
    start = np.ones(N, np.float32)

    def of(m: Any) -> Any:
        return lambda tol, atol, maxiter: solver(m, name)(
            a, B, start, tol=tol, atol=atol, maxiter=maxiter, M=np.diag(weights)
        )

    theirs_of = jax.jit(of(jax))
    steps = [(0.0, 0.0, n) for n in (0, 1, 2, 3)]
    ends = [(0.5, 0, 200), (0.1, 0, 200), (1e-2, 0.01, 200), (1e-3, 0.1, 200), (1e-4, 0.0, 200)]
    for tol, atol, maxiter in steps if "incremental" in name else steps + ends:
        ours, info = of(fc)(tol, atol, maxiter)
        theirs, their_info = theirs_of(tol, atol, maxiter)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6)
        assert (info is None) == (their_info is None)
        assert info is None or (int(info), info.dtype) == (int(their_info), their_info.dtype)


@ALL
def test_operators_may_be_functions_and_tolerances_hold(name: str) -> None:
    a, weights = SOLVERS[name][1], 1 / np.diag(SOLVERS[name][1])
    solve = solver(fc, name)
    for tol in (0.1, 1e-3):
        x, _ = solve(lambda x: a @ x, B, tol=tol)
        np.testing.assert_array_equal(x, solve(a, B, tol=tol)[0])
        assert np.linalg.norm(a @ np.asarray(x) - B) <= tol * np.linalg.norm(B)
        x, _ = solve(a, B, tol=tol, M=lambda x: x * weights)
        np.testing.assert_allclose(x, solve(a, B, tol=tol, M=np.diag(weights))[0], rtol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 4, 7])
@pytest.mark.parametrize("a", [GENERAL, HERMITIAN], ids=["real", "complex"])
def test_incremental_gmres_that_ends_early_gives_the_least_residual(
    a: np.ndarray, steps: int
) -> None:
    gmres, b = fc.scipy.sparse.linalg.gmres, B.astype(a.dtype)
    least, _ = gmres(a, b, tol=0.0, restart=steps, maxiter=1)
    norm = np.linalg.norm(a @ np.asarray(least) - b) / np.linalg.norm(b)
    x, _ = gmres(a, b, tol=norm * 1.01, maxiter=1, solve_method="incremental")
    np.testing.assert_allclose(x, least, rtol=1e-4, atol=1e-5)


@ALL
def test_derivatives_and_batches_are_those_of_the_exact_solution(name: str) -> None:
    a = SOLVERS[name][1]

    def results(solve: Any) -> list[Any]:
        def total(a: Any, b: Any) -> Any:
            return fnp.sin(solve(a, b)).sum()

        def all_of(b: Any) -> Any:
            return (
                fc.grad(total, (0, 1))(a, b),
                fc.jvp(lambda b: solve(a, b), (b,), (b * 2 + 1,))[1],
                fc.vmap(lambda b: solve(a, b))(fnp.stack([b, b + 1, b * 100])),
                fc.vmap(fc.grad(total), (0, None))(fnp.stack([a, a * 2]), b),
                fc.grad(lambda c: fc.grad(lambda c: total(a * c, b))(c))(2.0),
            )

        return fc.tree.leaves(fc.jit(all_of)(B))

    ours = results(lambda a, b: solver(fc, name)(a, b, tol=1e-7)[0])
    for x, y in zip(ours, results(fnp.linalg.solve), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=3e-5)


def test_the_start_and_the_preconditioner_have_no_derivative() -> None:
    def total(c: Any) -> Any:
        x, _ = fc.scipy.sparse.linalg.cg(POSITIVE, B, B * c, M=lambda x: x * c, maxiter=2)
        return x.sum()

    assert fc.grad(total)(2.0) == 0


@ALL
def test_trees_and_complex_numbers(name: str) -> None:
    a = HERMITIAN if name == "cg" else HERMITIAN + GENERAL
    b = (B + 1j).astype(np.complex64)
    shapes = {"u": b[:6].reshape(2, 3), "v": [b[6:]]}
    flat, unravel = fc.flatten_util.ravel_pytree(shapes)

    def solve(b: Any) -> Any:
        return solver(fc, name)(
            lambda x: unravel(a @ fc.flatten_util.ravel_pytree(x)[0]), b, tol=1e-6
        )[0]

    x = solve(shapes)
    assert fc.tree.structure(x) == fc.tree.structure(shapes)
    found = fc.flatten_util.ravel_pytree(x)[0]
    np.testing.assert_allclose(found, np.linalg.solve(a, flat), rtol=1e-4, atol=1e-5)
    ours = fc.grad(lambda b: abs(solve(unravel(b))["u"]).sum())(flat)
    exact = fc.grad(lambda b: abs(fnp.linalg.solve(a, b)[:6]).sum())(flat)
    np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=1e-5)


class Doubled:
    """An operator that is neither a function nor an array."""

    shape = (N, N)

    def __matmul__(self, x: Any) -> Any:
        return POSITIVE @ x * 2


def test_objects_with_the_operator_of_products_numbers_and_nan() -> None:
    x, _ = fc.scipy.sparse.linalg.cg(Doubled(), B)
    np.testing.assert_allclose(POSITIVE @ np.asarray(x) * 2, B, atol=1e-3)
    x, _ = fc.scipy.sparse.linalg.cg(lambda x: 4 * x, 2.0, x0=0)
    assert x == 0.5
    _, info = fc.scipy.sparse.linalg.gmres(GENERAL, B, B * np.nan)
    assert info == -1
    x, _ = fc.scipy.sparse.linalg.gmres(GENERAL, np.zeros(0, np.float32))
    assert x.shape == (0,)


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (ValueError, "A must be a function or a square matrix", lambda f: f(GENERAL[:5], B)),
        (TypeError, "A must be a function or a square matrix, got 'x'", lambda f: f("x", B)),
        (TypeError, "A is a matrix, so b must be an array", lambda f: f(GENERAL, {"b": B})),
        (ValueError, "x0 must have the structure of b", lambda f: f(GENERAL, B, [B])),
        (ValueError, "x0 must have the types of b", lambda f: f(GENERAL, B, B[:3])),
        (TypeError, "what A returns must have the structure", lambda f: f(lambda x: [x], B)),
        (ValueError, "matvec", lambda f: f(lambda x: x[:2], B)),
        (ValueError, "what M returns must have the types", lambda f: f(
            GENERAL, B, M=lambda x: x[:2])),
        (TypeError, "b must be of one floating-point", lambda f: f(GENERAL, np.arange(N))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_what_solvers_refuse(name: str, error: type[Exception], text: str, call: Any) -> None:
    with pytest.raises(error, match=text):
        call(getattr(fc.scipy.sparse.linalg, name))


def test_other_methods_and_restarts_of_gmres_are_refused() -> None:
    gmres: Any = fc.scipy.sparse.linalg.gmres
    with pytest.raises(ValueError, match="solve_method must be"):
        gmres(GENERAL, B, solve_method="x")
    with pytest.raises(ValueError, match="restart must be at least 1, got 0"):
        gmres(GENERAL, B, restart=0)
