"""Runs of jaxopt's solvers, projections, losses and implicit derivatives; see library_hosts."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from library_hosts import Runs, main

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 6)).astype(np.float32)
Y = (X @ RANDOM.normal(size=6) + 0.1 * RANDOM.normal(size=40)).astype(np.float32)
LABELS = (Y > 0).astype(np.int32)
DATA = (X, Y)
START = np.zeros(6, np.float32)
BOUNDS = (np.full(6, -0.5, np.float32), np.full(6, 0.5, np.float32))
V = np.float32([0.3, -1, 2, 0.5, 0.1, -0.2, 1.4])
SCORES = np.float32([0.3, -1, 2, 0.5])
# A quadratic program: minimize p Q p / 2 + c p where A p = b and G p <= h.
Q, C = np.float32([[4, 1], [1, 2]]), np.float32([1, 1])
EQUAL = (np.float32([[1, 1]]), np.float32([1]))
BELOW = (-np.eye(2, dtype=np.float32), np.zeros(2, np.float32))

Functions = dict[str, Callable[[], Any]]


def minimizers(jaxopt: Any) -> Functions:
    """Minimizers of a ridge regression."""
    ridge = jaxopt.objective.ridge_regression
    made: dict[str, Any] = {
        "gradient descent": jaxopt.GradientDescent(ridge, maxiter=200),
        "plain descent": jaxopt.GradientDescent(
            ridge, maxiter=50, acceleration=False, stepsize=1e-2
        ),
        "BFGS": jaxopt.BFGS(ridge, maxiter=50),
        "BFGS backtracking": jaxopt.BFGS(ridge, maxiter=50, linesearch="backtracking"),
        "LBFGS": jaxopt.LBFGS(ridge, maxiter=50),
        "LBFGS zoom": jaxopt.LBFGS(ridge, maxiter=50, linesearch="zoom"),
        "conjugate gradients": jaxopt.NonlinearCG(ridge, maxiter=50),
        "scipy": jaxopt.ScipyMinimize(fun=ridge, method="L-BFGS-B", maxiter=50),
    }
    found: Functions = {
        name: lambda solver=solver: solver.run(START, l2reg=0.1, data=DATA).params
        for name, solver in made.items()
    }
    for name in ("LBFGSB", "ScipyBoundedMinimize"):
        solver = getattr(jaxopt, name)(fun=ridge, maxiter=50)
        found[name] = lambda solver=solver: solver.run(START, BOUNDS, l2reg=0.1, data=DATA).params
    for name in ("ArmijoSGD", "PolyakSGD"):
        solver = getattr(jaxopt, name)(fun=ridge, maxiter=60)
        found[name] = lambda solver=solver: (
            solver.run_iterator(START, itertools.repeat(DATA), l2reg=0.1).params
        )
    return found


def constrained(jax: Any, jnp: Any, jaxopt: Any) -> Functions:
    squares = jaxopt.objective.least_squares
    lasso = jaxopt.prox.prox_lasso
    osqp = functools.partial(
        jaxopt.OSQP().run, init_params=None, params_eq=EQUAL, params_ineq=BELOW
    )
    simplex = jaxopt.projection.projection_simplex

    def support_vectors() -> Any:
        codes = np.eye(2, dtype=np.float32)[LABELS]

        def weights(dual: Any) -> Any:
            return X.T @ (codes - dual) / 10

        def objective(dual: Any) -> Any:
            w = weights(dual)
            return 5 * jnp.vdot(w, w) + jnp.vdot(dual, codes)

        solver = jaxopt.ProjectedGradient(
            fun=objective,
            projection=lambda dual, _: jax.vmap(simplex)(dual),
            maxiter=60,
            stepsize=1e-2,
        )
        start = np.full((40, 2), 0.5, np.float32)
        return weights(solver.run(start, hyperparams_proj=None).params)

    return {
        "projected gradient": lambda: (
            jaxopt.ProjectedGradient(
                fun=jaxopt.objective.ridge_regression,
                projection=jaxopt.projection.projection_non_negative,
                maxiter=100,
            )
            .run(START, l2reg=0.1, data=DATA)
            .params
        ),
        "proximal gradient": lambda: (
            jaxopt.ProximalGradient(fun=squares, prox=lasso, maxiter=200)
            .run(START, hyperparams_prox=0.1, data=DATA)
            .params
        ),
        "block coordinate descent": lambda: (
            jaxopt.BlockCoordinateDescent(fun=squares, block_prox=lasso, maxiter=100)
            .run(START, hyperparams_prox=0.1, data=DATA)
            .params
        ),
        "OSQP": lambda: osqp(params_obj=(Q, C)).params.primal,
        "OSQP gradient": lambda: jax.grad(
            lambda c: osqp(params_obj=(Q, c)).params.primal.sum() ** 2
        )(C),
        "BoxOSQP": lambda: (
            jaxopt.BoxOSQP()
            .run(
                params_obj=(Q, C),
                params_eq=np.float32([[1, 1], [1, 0], [0, 1]]),
                params_ineq=(np.float32([1, 0, 0]), np.float32([1, 0.7, 0.7])),
            )
            .params.primal
        ),
        "equality constrained": lambda: jax.jacobian(
            lambda c: (
                jaxopt.EqualityConstrainedQP().run(params_obj=(Q, c), params_eq=EQUAL).params.primal
            )
        )(C),
        "support vectors": support_vectors,
    }


def roots(jax: Any, jnp: Any, jaxopt: Any) -> Functions:
    residual = lambda p: X @ p - Y + 0.1 * p[0] ** 2  # noqa: E731
    cubic = lambda x, t: x**3 + x - t  # noqa: E731
    mean = lambda x, t: 0.5 * (x + t / x)  # noqa: E731
    targets = np.float32([1, 2, 3])
    bisection = jaxopt.Bisection(optimality_fun=cubic, lower=0.0, upper=3.0)
    fixed = jaxopt.FixedPointIteration(fixed_point_fun=mean, maxiter=30)

    def newton(x: Any, t: Any) -> Any:
        body = lambda _, x: x - jnp.linalg.solve(jax.jacobian(cubic)(x, t), cubic(x, t))  # noqa: E731
        return jax.lax.fori_loop(0, 12, body, x)

    solve = jaxopt.implicit_diff.custom_root(cubic)(newton)
    ones = np.ones(3, np.float32)
    found: Functions = {
        "bisection": lambda: bisection.run(None, 2.0).params,
        "bisection gradient": lambda: jax.grad(lambda t: bisection.run(None, t).params)(2.0),
        "fixed point": lambda: fixed.run(ones, targets).params,
        "fixed point gradient": lambda: jax.grad(lambda t: fixed.run(ones, t).params.sum())(
            targets
        ),
        "Anderson": lambda: (
            jaxopt.AndersonAcceleration(fixed_point_fun=mean, maxiter=30, history_size=4)
            .run(ones, targets)
            .params
        ),
        "Broyden": lambda: jaxopt.Broyden(fun=cubic, maxiter=50).run(ones, targets).params,
        "scipy root": lambda: (
            jaxopt.ScipyRootFinding(optimality_fun=cubic, method="hybr").run(ones, targets).params
        ),
        "Gauss-Newton": lambda: (
            jaxopt.GaussNewton(residual_fun=residual, maxiter=50).run(START).params
        ),
        "custom root": lambda: (solve(ones, targets), jax.jacrev(solve, 1)(ones, targets)),
        "custom root batched": lambda: jax.jit(jax.vmap(jax.jacrev(solve, 1), (None, 0)))(
            ones, np.stack([targets, 2 * targets])
        ),
    }
    for solver in ("inv", "cholesky", "qr"):
        marquardt = jaxopt.LevenbergMarquardt(
            residual_fun=residual, maxiter=50, solver=solver, materialize_jac=True
        )
        found[f"Levenberg-Marquardt {solver}"] = lambda solver=marquardt: solver.run(START).params
    return found


def derivatives(jax: Any, jnp: Any, jaxopt: Any) -> Functions:
    """Derivatives of solutions by a parameter of the problem."""
    ridge = jaxopt.objective.ridge_regression
    implicit = jaxopt.LBFGS(ridge, maxiter=200, tol=1e-5)
    unrolled = jaxopt.GradientDescent(
        ridge, maxiter=20, implicit_diff=False, unroll=True, stepsize=1e-2, acceleration=False
    )
    lasso = jaxopt.ProximalGradient(
        fun=jaxopt.objective.least_squares, prox=jaxopt.prox.prox_lasso, maxiter=500, tol=1e-6
    )

    def solution(solver: Any, weight: Any) -> Any:
        return solver.run(START, l2reg=weight, data=DATA).params

    return {
        "implicit": lambda: jax.jacobian(functools.partial(solution, implicit))(0.3),
        "implicit batched": lambda: jax.vmap(functools.partial(solution, implicit))(
            np.float32([0.1, 0.5, 1])
        ),
        "unrolled": lambda: jax.grad(lambda w: jnp.sum(solution(unrolled, w) ** 2))(0.3),
        "lasso": lambda: jax.grad(
            lambda w: jnp.sum(lasso.run(START, hyperparams_prox=w, data=DATA).params ** 2)
        )(0.1),
    }


def functions(jax: Any, jaxopt: Any) -> Functions:
    projection, prox, loss = jaxopt.projection, jaxopt.prox, jaxopt.loss
    line, ones = (np.ones((1, 7), np.float32), np.ones(1, np.float32)), np.ones(7, np.float32)
    simplex = projection.projection_simplex
    system, right = np.float32([[4, 1, 0], [1, 3, 1], [0, 1, 5]]), np.float32([1, 2, 3])
    made: Functions = {
        "projection simplex": lambda: jax.vmap(simplex)(np.stack([V, 2 * V, -V])),
        "projection simplex derivative": lambda: jax.jacobian(simplex)(V),
        "projection l1_ball derivative": lambda: jax.jacrev(projection.projection_l1_ball)(V, 1.5),
        "projection transport": lambda: projection.projection_transport(
            np.abs(np.outer(V, V)), (ones / 7, ones / 7)
        ),
        "projection birkhoff": lambda: projection.projection_birkhoff(np.outer(V, V)),
        "projection affine_set": lambda: projection.projection_affine_set(V, line),
        "projection polyhedron": lambda: projection.projection_polyhedron(
            V, (*line, -np.eye(7, dtype=np.float32), np.zeros(7, np.float32))
        ),
        "loss multiclass gradient": lambda: jax.grad(loss.multiclass_logistic_loss, 1)(2, SCORES),
        "loss sparsemax gradient": lambda: jax.grad(loss.multiclass_sparsemax_loss, 1)(2, SCORES),
    }
    for name, parameter in {
        "l1_sphere": 1.0,
        "l2_ball": 1.2,
        "l2_sphere": 2.0,
        "linf_ball": 0.5,
        "box": (-0.1, 0.4),
        "hyperplane": (ones, 1.0),
        "halfspace": (ones, 1.0),
        "box_section": (0 * ones, ones, ones, 1.0),
    }.items():
        f = getattr(projection, f"projection_{name}")
        made[f"projection {name}"] = functools.partial(f, V, parameter)
    for name, parameter in {
        "lasso": 0.5,
        "non_negative_lasso": 0.5,
        "elastic_net": (0.5, 0.3),
        "group_lasso": 0.5,
        "ridge": 0.5,
        "non_negative_ridge": 0.5,
    }.items():
        f = getattr(prox, f"prox_{name}")
        made[f"prox {name}"] = functools.partial(f, V, parameter)
        made[f"prox {name} derivative"] = functools.partial(jax.jacobian(f), V, parameter)
    for name in ("binary_logistic", "binary_sparsemax", "binary_hinge"):
        made[f"loss {name}"] = functools.partial(
            jax.vmap(getattr(loss, f"{name}_loss")), np.int32([0, 1, 1, 0]), SCORES
        )
    for name in ("logistic", "sparsemax", "hinge", "perceptron"):
        made[f"loss multiclass_{name}"] = functools.partial(
            getattr(loss, f"multiclass_{name}_loss"), 2, SCORES
        )
    for name in ("cg", "bicgstab", "gmres", "normal_cg", "lu", "cholesky"):
        made[f"system {name}"] = functools.partial(
            getattr(jaxopt.linear_solve, f"solve_{name}"), lambda x: system @ x, right
        )
    return made


def runs(jax: Any, jnp: Any) -> Runs:
    import jaxopt

    for kind, made in {
        "minimizer": minimizers(jaxopt),
        "constrained": constrained(jax, jnp, jaxopt),
        "root": roots(jax, jnp, jaxopt),
        "derivative": derivatives(jax, jnp, jaxopt),
        "function": functions(jax, jaxopt),
    }.items():
        for name, call in made.items():
            yield f"{kind} {name}", call


if __name__ == "__main__":
    main(runs)
