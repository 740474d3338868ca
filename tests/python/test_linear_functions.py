"""custom_linear_solve and linear_call: values and derivatives against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.custom_derivatives
import numpy as np
import pytest
from farcall.custom_derivatives import linear_call

_numbers = np.random.default_rng(7)
SIZE = 3
MATRIX = (_numbers.standard_normal((SIZE, SIZE)) + 3 * np.eye(SIZE)).astype(np.float32)
SYMMETRIC = MATRIX @ MATRIX.T / 4
B, V = _numbers.standard_normal((2, SIZE)).astype(np.float32)


def solve_dense(module: Any) -> Any:
    def solve(matvec: Any, b: Any) -> Any:
        columns = module.vmap(matvec)(module.numpy.eye(SIZE))
        return module.numpy.linalg.solve(columns.T, b)

    return solve


def general(module: Any) -> Any:
    solve = solve_dense(module)
    return lambda a, b: module.lax.custom_linear_solve(lambda x: a @ x, b, solve, solve)


def symmetric(module: Any) -> Any:
    """Solved by a loop, which has no reverse mode, and tells how many steps it took."""

    def solve(matvec: Any, b: Any) -> Any:
        def step(state: Any) -> Any:
            x, residual, count = state
            x = x + 0.15 * residual
            return x, b - matvec(x), count + 1

        x, _, count = module.lax.while_loop(
            lambda state: state[2] < 200, step, (module.numpy.zeros_like(b), b, 0)
        )
        return x, count

    def solved(a: Any, b: Any) -> Any:
        return module.lax.custom_linear_solve(
            lambda x: a @ x, b, solve, symmetric=True, has_aux=True
        )[0]

    return solved


def loss(module: Any, solved: Any) -> Any:
    return lambda a, b: module.numpy.vdot(solved(a, b), V)


def in_steps(module: Any, solved: Any) -> Any:
    return lambda a: module.lax.scan(lambda c, _: (solved(a, c), None), B, None, length=3)[0].sum()


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda m, f: f,
    "jit": lambda m, f: m.jit(f),
    "jvp": lambda m, f: lambda a, b: m.jvp(f, (a, b), (0.1 * a, 0.2 * b)),
    "grad": lambda m, f: m.grad(loss(m, f), (0, 1)),
    "jit of grad": lambda m, f: m.jit(m.grad(loss(m, f), (0, 1))),
    "hessian": lambda m, f: m.hessian(lambda a, b: loss(m, f)(a, b) ** 2, (0, 1)),
    "grad of grad": lambda m, f: m.grad(lambda a, b: (m.grad(loss(m, f))(a, b) ** 2).sum()),
    "vmap over b": lambda m, f: (
        lambda a, b: m.vmap(lambda s: f(a, s * b))(np.array([1, 2], np.float32))
    ),
    "vmap over a": lambda m, f: (
        lambda a, b: m.vmap(lambda s: f(s * a, b))(np.array([1, 0.5], np.float32))
    ),
    "vmap of grad": lambda m, f: m.vmap(m.grad(loss(m, f), (0, 1)), in_axes=(None, 0)),
    "grad of vmap": lambda m, f: m.grad(
        lambda a, b: (m.vmap(lambda s: f(a, s * b))(np.array([1, 2], np.float32)) ** 2).sum()
    ),
    "transpose": lambda m, f: lambda a, b: m.linear_transpose(lambda c: f(a, c), b)(V),
    "checkpoint": lambda m, f: m.grad(m.checkpoint(loss(m, f))),
    "in a scan": lambda m, f: lambda a, b: m.grad(in_steps(m, f))(a),
}


def check(ours: Any, theirs: Any) -> None:
    assert str(jax.tree.map(np.shape, theirs)) == str(fc.tree.map(np.shape, ours))
    for x, y in zip(fc.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [general, symmetric])
def test_solutions_and_their_derivatives_agree_with_jax(kind: Any, form: str) -> None:
    a = MATRIX if kind is general else SYMMETRIC
    b = np.stack([B, 2 * B]) if form == "vmap of grad" else B
    check(FORMS[form](fc, kind(fc))(a, b), FORMS[form](jax, kind(jax))(a, b))


def test_b_may_be_a_tree() -> None:
    def solved(module: Any) -> Any:
        def matvec(a: Any) -> Any:
            return lambda x: {"x": a @ x["x"] + x["y"][0], "y": (2 * x["y"][0],)}

        def solve(a: Any, b: Any) -> Any:
            y = b["y"][0] / 2
            return {"x": module.numpy.linalg.solve(a, b["x"] - y), "y": (y,)}

        def transposed(a: Any, b: Any) -> Any:
            x = module.numpy.linalg.solve(a.T, b["x"])
            return {"x": x, "y": ((b["y"][0] - x.sum()) / 2,)}

        def of(a: Any, b: Any) -> Any:
            found = module.lax.custom_linear_solve(
                matvec(a),
                {"x": b, "y": (b[0],)},
                lambda _, b: solve(a, b),
                lambda _, b: transposed(a, b),
            )
            return (found["x"] ** 2).sum() + found["y"][0]

        return of

    check(
        fc.grad(solved(fc), (0, 1))(MATRIX, B),
        jax.grad(solved(jax), (0, 1))(MATRIX, B),
    )


def test_a_program_shows_the_equation_and_parses_back() -> None:
    program = fc.make_jaxpr(general(fc))(MATRIX, B)
    assert " = custom_linear_solve[\n" in str(program)
    assert fc.parse_program(program.to_text()) == program


def test_what_custom_linear_solve_refuses() -> None:
    solve = fc.lax.custom_linear_solve
    half: Any = lambda _, b: b / 2  # noqa: E731
    twice: Any = lambda x: 2 * x  # noqa: E731
    two = fnp.ones(2)
    with pytest.raises(TypeError, match="custom_linear_solve: solve must be a function, got 3"):
        solve(twice, 1.0, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="what matvec returns must have the structure of b"):
        solve(lambda x: (x,), 1.0, half)
    with pytest.raises(ValueError, match=r"matvec: what it returns \(f32\[3\]\) must be of the ty"):
        solve(lambda x: fnp.ones(3), two, half)
    with pytest.raises(ValueError, match=r"solve: what it returns \(f32\[\]\) must be of the type"):
        solve(twice, two, lambda _, b: b[0])
    with pytest.raises(TypeError, match=r"what solve returns must be a pair \(x, aux\)"):
        solve(twice, two, half, has_aux=True)
    with pytest.raises(TypeError, match="reverse-mode differentiation needs transpose_solve, or"):
        fc.grad(lambda b: solve(twice, b, half))(1.0)
    with pytest.raises(TypeError, match="b must be of floating-point or complex dtypes"):
        solve(twice, 2, lambda _, b: b // 2, lambda _, b: b)
    with pytest.raises(NotImplementedError, match="integer_pow: has no transpose rule"):
        solve(lambda x: x**2, 2.0, half, half)


def test_the_transposed_matrix_may_outlive_the_call() -> None:
    kept: list[Any] = []

    def solve_transposed(vecmat: Any, b: Any) -> Any:
        kept.append(vecmat)
        return b / 2

    fc.lax.custom_linear_solve(lambda x: 2 * x, 2.0, lambda _, b: b / 2, solve_transposed)
    assert kept[0](3.0) == 6.0
    with pytest.raises(ValueError, match=r"input 0 should be f32\[\], got f32\[2\]"):
        kept[0](fnp.ones(2))


def divide(module: Any) -> Any:
    def forward(r: Any, x: Any) -> Any:
        return x / r

    def of(r: Any, x: Any) -> Any:
        return module.custom_derivatives.linear_call(forward, forward, r, x)

    return of


def test_linear_call_agrees_with_jax() -> None:
    def both(form: Callable[[Any, Any], Any]) -> None:
        check(form(fc, divide(fc)), form(jax, divide(jax)))

    both(lambda m, f: f(3.0, 9.0))
    both(lambda m, f: m.linear_transpose(lambda x: x + f(3.0, x), 1.0)(18.0))
    both(lambda m, f: m.jvp(lambda x: f(3.0, x), (9.0,), (2.0,)))
    both(lambda m, f: m.jit(m.grad(lambda x: f(3.0, x) ** 2))(9.0))


def test_the_transpose_of_a_transpose_is_the_function_itself() -> None:
    def times(module: Any) -> Any:
        call = module.custom_derivatives.linear_call
        return lambda x: call(lambda _, x: x, lambda _, t: 7.0, (), x)

    def transposed(module: Any, f: Any, count: int) -> Any:
        for _ in range(count):
            f = (lambda g: lambda y: module.linear_transpose(g, 1.0)(y)[0])(f)
        return f(1.0)

    for count in range(4):
        check(transposed(fc, times(fc), count), transposed(jax, times(jax), count))


def test_linear_call_is_batched_and_differentiated_by_its_residuals() -> None:
    """JAX has no rule for either."""
    f = divide(fc)
    np.testing.assert_allclose(fc.vmap(f)(fnp.array([1.0, 2.0]), fnp.array([4.0, 4.0])), [4, 2])
    np.testing.assert_allclose(fc.vmap(f, (0, None))(fnp.array([1.0, 2.0]), 4.0), [4, 2])
    np.testing.assert_allclose(fc.grad(f)(3.0, 9.0), -1)
    np.testing.assert_allclose(fc.hessian(f)(3.0, 9.0), 2 / 3, rtol=1e-6)


def test_what_linear_call_refuses() -> None:
    same: Any = lambda _, x: x  # noqa: E731
    with pytest.raises(TypeError, match="linear_call: fun must be a function, got 1"):
        linear_call(1, same, 2.0, 3.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fun_transpose returns must have the structure of linear_"):
        linear_call(same, lambda _, t: (t,), 1.0, 2.0)
    with pytest.raises(ValueError, match=r"fun_transpose: what it returns \(f32\[3\]\) must be of"):
        linear_call(same, lambda _, t: fnp.ones(3), 1.0, 2.0)
