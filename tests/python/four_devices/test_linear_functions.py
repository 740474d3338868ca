"""linear_call and custom_linear_solve in the body of a shard_map, with collectives in their
functions: derivatives of the whole and derivatives inside are those of the same function on one
device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from farcall.custom_derivatives import linear_call

pytestmark = pytest.mark.usefixtures("x64")

MESH = fc.make_mesh((2, 2), ("a", "b"))
_numbers = np.random.default_rng(5)
W = np.array([0.5, -1.0, 0.25])
X = _numbers.normal(size=(8, 3))  # split over axis a
WEIGHTS = np.array([1.0, 2.0, 3.0])

Sum = Callable[[Any], Any]  # over axis a; on one device, where x is whole, the identity


def conjugate_gradients(matvec: Any, b: Any) -> Any:
    def step(state: Any, _: Any) -> Any:
        x, residual, direction = state
        image = matvec(direction)
        x = x + (residual @ residual) / (direction @ image) * direction
        after = residual - (residual @ residual) / (direction @ image) * image
        return (x, after, after + (after @ after) / (residual @ residual) * direction), None

    return lax.scan(step, (fnp.zeros_like(b), b, b), None, length=3)[0][0]


def normal_equations(total: Sum, w: Any, x: Any, **options: Any) -> Any:
    def matvec(v: Any) -> Any:
        return total(x.T @ (x @ v)) + v

    return lax.custom_linear_solve(matvec, w, conjugate_gradients, **options)


def summed_product(total: Sum, w: Any, x: Any) -> Any:
    """Linear in the rows of x, which differ between devices."""
    return linear_call(
        lambda w, x: total((x @ w).sum() * w),
        lambda w, g: fnp.ones((len(x), 1)) * w * (g @ w),
        w,
        x,
    )


def squared(total: Sum, w: Any, x: Any) -> Any:
    """Linear in w, which all devices share."""
    return linear_call(lambda x, w: total(x.T @ (x @ w)), lambda x, g: total(x.T @ (x @ g)), x, w)


FUNCTIONS: dict[str, Callable[[Sum, Any, Any], Any]] = {
    "symmetric solve": lambda t, w, x: normal_equations(t, w, x, symmetric=True),
    "solve": lambda t, w, x: normal_equations(t, w, x, transpose_solve=conjugate_gradients),
    "linear_call of what varies": summed_product,
    "linear_call of what does not vary": squared,
    "linear_call without collectives": lambda t, w, x: linear_call(
        lambda w, v: w * v, lambda w, g: w * g, w, t(x.sum(0))
    ),
    "in jit": lambda t, w, x: fc.jit(lambda w, x: squared(t, w, x))(w, x),
    "in vmap": lambda t, w, x: fc.vmap(lambda k: squared(t, w * k, x))(np.arange(1.0, 3.0)).sum(0),
    "in scan": lambda t, w, x: lax.scan(
        lambda c, k: (c + squared(t, w * k, x), None), w, np.arange(1.0, 3.0)
    )[0],
}


def loss(total: Sum, place: Any, name: str, w: Any, x: Any) -> Any:
    """``place``: the number of the device, so that cotangents differ between devices."""
    y = fnp.sin(FUNCTIONS[name](total, fnp.sin(w), x))
    return (y * (WEIGHTS + place)).sum()


def of_device(name: str, w: Any, x: Any) -> Any:
    def total(v: Any) -> Any:
        return lax.psum(v, "a")

    return lax.psum(loss(total, lax.axis_index(("a", "b")), name, w, x), ("a", "b"))


def on_one_device(name: str, w: Any, x: Any) -> Any:
    return sum(loss(lambda v: v, place, name, w, x) for place in range(4))


def over_mesh(f: Any, out_specs: Any) -> Any:
    return fc.shard_map(f, mesh=MESH, in_specs=(fc.P(), fc.P("a")), out_specs=out_specs)


def gradient(f: Any) -> Any:
    return fc.grad(f, argnums=(0, 1))


def wanted(name: str) -> Any:
    return gradient(lambda w, x: on_one_device(name, w, x))(W, X)


def assert_close(found: Any, expected: Any) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_of_the_whole_is_that_of_one_device(name: str) -> None:
    whole = over_mesh(lambda w, x: of_device(name, w, x), fc.P())
    assert_close([whole(W, X)], [on_one_device(name, W, X)])
    assert_close(fc.jit(gradient(whole))(W, X), wanted(name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_inside_is_that_of_one_device(name: str) -> None:
    inside = over_mesh(gradient(lambda w, x: of_device(name, w, x)), (fc.P(), fc.P("a")))
    assert_close(fc.jit(inside)(W, X), wanted(name))


@pytest.mark.parametrize("name", ["symmetric solve", "linear_call of what varies"])
def test_second_derivatives_of_the_whole_are_those_of_one_device(name: str) -> None:
    def norm(f: Any) -> Any:
        return lambda w, x: sum((part**2).sum() for part in gradient(f)(w, x))

    whole = over_mesh(lambda w, x: of_device(name, w, x), fc.P())
    one = gradient(norm(lambda w, x: on_one_device(name, w, x)))
    assert_close(fc.jit(gradient(norm(whole)))(W, X), one(W, X))
