"""lax.custom_root: values and derivatives of roots against closed forms and JAX."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest


def newton(module: Any, f: Any, guess: Any) -> Any:
    """A loop, of which reverse mode has no derivative."""

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        x, count = state
        return x - f(x) / module.grad(f)(x), count + 1

    return module.lax.while_loop(lambda state: state[1] < 20, step, (guess, 0))[0]


def cube_root(module: Any) -> Any:
    def of(y: Any) -> Any:
        return module.lax.custom_root(
            lambda x: x**3 - y,
            np.float32(1.0),
            lambda f, x: newton(module, f, x),
            lambda g, y: y / g(np.float32(1.0)),
        )

    return of


def test_roots_have_the_derivatives_of_the_implicit_function() -> None:
    ours, theirs = cube_root(fc), cube_root(jax)
    y = np.float32(8.0)
    for transform in (
        lambda m, f: f,
        lambda m, f: m.grad(f),
        lambda m, f: m.jit(m.grad(m.grad(f))),
        lambda m, f: m.jit(m.jacfwd(f)),
    ):
        np.testing.assert_allclose(transform(fc, ours)(y), transform(jax, theirs)(y), rtol=1e-4)
    batch = np.float32([1, 8, 27])
    np.testing.assert_allclose(fc.vmap(fc.grad(ours))(batch), batch ** (-2 / 3) / 3, rtol=1e-4)


def test_systems_and_other_results() -> None:
    matrix = np.float32([[3, 1], [1, 2]])

    def total(module: Any, numpy: Any) -> Any:
        def f(b: Any) -> Any:
            x, steps = module.lax.custom_root(
                lambda x: matrix @ x - b,
                numpy.zeros(2, "float32"),
                lambda f, x: (numpy.linalg.solve(matrix, -f(x)), f(x).sum()),
                lambda g, y: numpy.linalg.solve(module.jacobian(g)(y), y),
                has_aux=True,
            )
            return (x**2).sum() + steps

        return module.value_and_grad(f)(np.float32([1, 2]))

    for a, b in zip(total(fc, fnp), total(jax, jnp), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_what_custom_root_refuses() -> None:
    with pytest.raises(TypeError, match="custom_root: solve must be a function, got 3 of type int"):
        fc.lax.custom_root(lambda x: x, 1.0, 3, 4)  # type: ignore[arg-type]

    def wrong(y: Any) -> Any:
        return fc.lax.custom_root(lambda x: (x, y), 1.0, lambda f, x: x, lambda g, y: y)

    with pytest.raises(
        TypeError, match="custom_root: what f returns must have the structure of initial_guess"
    ):
        fc.grad(wrong)(1.0)


def closing_over(module: Any, what: str) -> Any:
    """The cube root of y, where f, and the functions that `what` names, close over y."""

    def of(y: Any) -> Any:
        numpy = module.numpy

        def f(x: Any) -> Any:
            return x**3 - y

        def solve(given: Any, guess: Any) -> Any:
            slope = 3 * y ** (2 / 3) if "solve" in what else 5.0
            applied = f if "f itself" in what else given
            return module.lax.fori_loop(0, 60, lambda _, x: x - applied(x) / slope, guess)

        def tangent_solve(g: Any, b: Any) -> Any:
            scale = y if "tangent" in what else 2.0
            return b * scale / (g(numpy.ones_like(b)) * scale)

        guess = 0.9 * y ** (1 / 3) if "guess" in what else numpy.float32(1.0)
        return module.lax.custom_root(f, guess, solve, tangent_solve)

    return of


WAYS: dict[str, Any] = {
    "value": lambda m, f: f,
    "jit": lambda m, f: m.jit(f),
    "grad": lambda m, f: m.grad(f),
    "grad of jit": lambda m, f: m.grad(m.jit(f)),
    "hessian": lambda m, f: m.jit(m.hessian(f)),
    "forward twice": lambda m, f: m.jacfwd(m.jacfwd(f)),
    "checkpoint": lambda m, f: m.grad(m.checkpoint(f)),
    "vmap of grad": lambda m, f: lambda y: m.vmap(m.grad(f))(y * np.array([1, 1.5], "float32")),
    "grad of vmap": lambda m, f: m.grad(
        lambda y: m.vmap(f)(y * np.array([1, 1.5], "float32")).sum()
    ),
    "grad of scan": lambda m, f: m.grad(
        lambda y: m.lax.scan(
            lambda c, t: (c + f(y * t), None), np.float32(0), np.array([1, 2], "float32")
        )[0]
    ),
    "grad of cond": lambda m, f: m.grad(lambda y: m.lax.cond(y > 0, f, lambda x: x, y)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["solve", "tangent", "f itself", "guess, solve and tangent"])
def test_solvers_may_close_over_traced_values(way: str, what: str) -> None:
    y = np.float32(2.0)
    ours = WAYS[way](fc, closing_over(fc, what))(y)
    np.testing.assert_allclose(ours, WAYS[way](jax, closing_over(jax, what))(y), rtol=1e-3)


def test_a_root_of_another_type_than_the_guess_is_an_error() -> None:
    with pytest.raises(
        TypeError,
        match=r"result 0 of solve must be i32\[\], the type of the initial guess; got f32",
    ):
        fc.lax.custom_root(lambda x: x - 1, 1, lambda f, x: 1.0 * x, lambda g, y: y)
