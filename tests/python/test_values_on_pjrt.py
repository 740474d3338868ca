"""Values of a plugin's programs where XLA computes others for the operations as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from farcall._plugins import find_plugin
from farcall.experimental import io_callback

pytestmark = pytest.mark.skipif(not find_plugin(), reason="no PJRT plugin is installed")


def check(f: Callable[..., Any], *args: Any, rtol: float = 0, atol: float = 0) -> None:
    """The plugin and the native engine give the same numbers."""
    found = fc.jit(f, device=fc.devices("pjrt")[0])(*args)
    wanted = f(*args)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(
        np.asarray(found.astype("float64")), np.asarray(wanted.astype("float64")), rtol, atol
    )


E8M0 = fc.dtypes.float8_e8m0fnu


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fnp.zeros_like(x),
        lambda x: fnp.pad(x, 1),
        lambda x: fnp.sum(x[:0], axis=0),
        lambda x: fnp.sum(x, axis=0),
        lambda x: fnp.cumsum(x, axis=0),
        lambda x: fc.vjp(lambda x: x[1:], x)[1](x[1:])[0],
        lambda x: fc.vjp(lambda x: lax.broadcast_in_dim(x, (0, 3, 2), (1, 2)), x)[1](
            fnp.ones((0, 3, 2), E8M0)
        )[0],
        lambda x: fnp.arange(-2, 300).astype(E8M0),
        lambda x: fnp.array([True, False]).astype(E8M0),
    ],
)
def test_a_dtype_without_zero_has_nan_for_it(f: Callable[..., Any]) -> None:
    check(f, fnp.array([[1, 2], [4, 8], [0.5, 1]], E8M0))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_convolutions_of_constant_integers_wrap(dtype: str) -> None:
    """XLA clamps the sums of those that it computes when it compiles."""
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    x = rng.integers(limits.min, limits.max, (2, 3, 5), dtype)
    kernel = rng.integers(limits.min, limits.max, (4, 3, 3), dtype)
    check(lambda: lax.conv_general_dilated(fnp.asarray(x), fnp.asarray(kernel), (1,), [(1, 1)]))


@pytest.mark.parametrize("f", [lax.add, lax.mul, lambda x, y: fnp.sum(fnp.stack([x, y]), 0)])
@pytest.mark.parametrize("compare", [lax.ge, lax.gt])
def test_sums_of_equal_bools(f: Callable[..., Any], compare: Callable[..., Any]) -> None:
    """XLA takes twice a bool for false."""

    def sums() -> Any:
        numbers = lax.broadcasted_iota(np.int32, (1, 7), 0)
        same = compare(numbers, numbers)
        return f(same, same)

    check(sums)
    x = np.array([True, False])
    check(lambda x: f(x, x), x)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    "f",
    [
        fnp.arctan,
        lambda x: fnp.arctan2(x, fnp.ones_like(x)),
        lambda x: fnp.arctan2(fnp.ones_like(x), x),
        lambda x: fnp.arctan2(x, -x[::-1]),
    ],
)
def test_arc_tangents_of_rows(f: Callable[..., Any], dtype: str, x64: None) -> None:
    """XLA 0.11.2 computes others of 64 elements and more."""
    x = fnp.asarray(np.random.default_rng(0).normal(size=1000)).astype(dtype)
    x = fnp.append(x, fnp.asarray([0.0, -0.0, 1.0, fc.dtypes.finfo(dtype).max], dtype))
    check(f, x, rtol=4 * float(fc.dtypes.finfo(dtype).eps), atol=1e-37)  # zero in XLA


def test_while_loops_with_effects_that_never_happen() -> None:
    """Such a loop passes on the order of effects, but nothing in it is called."""

    def f(x: fc.Array) -> fc.Array:
        def step(carry: Any) -> Any:
            i, y = carry
            empty = fnp.zeros(0)
            y, _ = lax.scan(
                lambda c, e: (io_callback(np.add, c, c, e, ordered=True), None), y, empty
            )
            return i + 1, y * 2

        return lax.while_loop(lambda carry: carry[0] < 3, step, (0, x))[1]

    check(f, fnp.asarray([1.0, 2.0], "float32"))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_dilated_convolutions_with_kernels_larger_in_one_dimension(dtype: str) -> None:
    """XLA swaps the operands in part, which ends the process, in JAX too."""
    x = fnp.arange(15).reshape(1, 1, 5, 3).astype(dtype)
    kernel = fnp.arange(8).reshape(1, 1, 2, 4).astype(dtype)

    def f(x: fc.Array, kernel: fc.Array) -> fc.Array:
        y = lax.conv_general_dilated(x, kernel, (1, 1), ((0, 0), (1, 1)), lhs_dilation=(2, 1))
        return y.real

    check(f, x, kernel)
    check(lambda x, kernel: fc.vjp(f, x, kernel)[1](f(x, kernel))[1].real, x, kernel)
