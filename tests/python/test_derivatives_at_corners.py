"""First, second and third derivatives where functions choose, replace or have ends.

The table is derivative_rows.py: zeros of both signs, ties, bounds, integers, tiny and huge numbers.
Every mix of forward and reverse mode is compared with differences in many digits.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import farcall as fc
import farcall.lax as flax
import farcall.nn
import farcall.numpy as fnp
import farcall.scipy.special
import numpy as np
import pytest
from derivative_rows import ROWS, Limit, Row
from partials import ALL_MODES, FEW_MODES, Modes, exact, partials


class Modules(NamedTuple):
    root: Any
    np: Any
    lax: Any
    nn: Any
    special: Any


FARCALL = Modules(fc, fnp, flax, fc.nn, fc.scipy.special)


@functools.cache
def wanted(name: str, point: tuple[float, ...], arguments: tuple[int, ...]) -> float:
    """The order of arguments makes no difference, and so they come sorted."""
    row = ROWS[name]
    if isinstance(row, Limit):
        return row.expected[len(arguments) - 1]
    return exact(row.exact, point, arguments)


def wrong(name: str, modes: Modes) -> list[str]:
    """What differs, in words."""
    row: Row | Limit = ROWS[name]
    points = np.array([p if isinstance(p, tuple) else (p,) for p in row.points])
    found = []
    for mode, arguments, values in partials(FARCALL, row.build(FARCALL), points, modes, row.order):
        for point, value in zip(points.tolist(), values.tolist(), strict=True):
            want = wanted(name, tuple(point), tuple(sorted(arguments)))
            tolerance = row.atol * max(1.0, abs(want)) + row.rtol * abs(want)
            if value != want and not abs(value - want) <= tolerance:
                place = ", ".join(map(repr, point))
                found.append(f"{mode} by {arguments} at ({place}): {value!r} instead of {want!r}")
    return found


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_are_those_of_the_function(name: str) -> None:
    assert wrong(name, FEW_MODES) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_every_mix_of_modes_gives_the_same(name: str) -> None:
    assert wrong(name, ALL_MODES) == []


# ---- Jacobians and Hessians ----


def power(m: Modules) -> Any:
    """The example by which the derivative of an exponent of zero was found to be wrong."""
    return lambda x: m.np.sum(m.np.power(m.np.var(x) + 0.5, x))


HESSIANS = {
    "power": power,
    "softplus": lambda m: lambda x: m.np.sum(m.nn.softplus(x) * m.nn.softplus(-x)),
    "hypot": lambda m: lambda x: m.np.sum(m.np.hypot(x[1:], x[:-1] + 1)),
    "xlogy": lambda m: lambda x: m.np.sum(m.special.xlogy(x, 1 + m.np.sum(x * x))),
    "logsumexp": lambda m: lambda x: m.nn.logsumexp(m.np.concatenate([x, x])),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_hessians_agree_in_every_way_to_make_them_and_with_differences(name: str) -> None:
    f = HESSIANS[name](FARCALL)
    x = fnp.asarray(np.array([0.0, 1.0, 0.0, 0.5, -0.0]), dtype="float64")
    ways = {
        f"{outer.__name__} of {inner.__name__}": np.asarray(outer(inner(f))(x))
        for outer in (fc.jacfwd, fc.jacrev)
        for inner in (fc.jacfwd, fc.jacrev)
    }
    ways["hessian"] = np.asarray(fc.hessian(f)(x))
    ways["jit of hessian"] = np.asarray(fc.jit(fc.hessian(f))(x))
    step = 1e-6
    gradient = fc.grad(f)
    differences = np.stack(
        [(gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(5)]
    )
    for way, found in ways.items():
        np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-8, err_msg=way)


def test_the_gradient_of_a_gradient_by_both_operands_of_power() -> None:
    def slope(x: Any, y: Any) -> Any:
        dx, dy = fc.grad(fnp.power, (0, 1))(x, y)
        return dx * 3 + dy * 5

    x, y = fnp.asarray(2.0, dtype="float64"), fnp.asarray(0.0, dtype="float64")
    by_x, by_y = fc.grad(slope, (0, 1))(x, y)
    np.testing.assert_allclose(by_x, 5 / 2)
    np.testing.assert_allclose(by_y, 3 / 2 + 5 * np.log(2) ** 2)
    _, change = fc.jvp(slope, (x, y), (fnp.ones_like(x), fnp.zeros_like(y)))
    np.testing.assert_allclose(change, 5 / 2)


def test_the_smallest_exponent_has_a_derivative():
    least = -(2**63)
    slope = fc.grad(lambda x: fc.lax.integer_pow(x, least))
    assert float(slope(1.0)) == float(least)
    assert float(slope(-1.0)) == -float(least)


def test_what_no_branch_uses_adds_no_nan_to_a_gradient() -> None:
    # The derivative of atan2 at the origin is NaN, and one branch reads nothing at all.
    def chosen(number: int) -> Any:
        def f(x: Any, y: Any) -> Any:
            angle = fnp.arctan2(x, x)
            branches = (lambda angle, y: y, lambda angle, y: 0 * fnp.ones_like(y))
            return fc.lax.switch(number, branches, angle, y)

        return fc.grad(f, (0, 1))(0.0, 2.0)

    assert [float(slope) for slope in chosen(0)] == [0.0, 1.0]
    assert [float(slope) for slope in chosen(1)] == [0.0, 0.0]
