"""Jitted operations on arrays over a mesh, where the compiler of a plugin divides dimensions
unevenly: the values of numpy and of one device."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import P, lax
from farcall.sharding import NamedSharding

RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=(8, 8)).astype(np.float32) for _ in range(2))
ROWS = np.array([0, 1, 3])


def over_mesh(f: Any, x: P, y: P, result: P | None) -> Any:
    """``f(X, Y)`` with these shardings."""
    mesh = fc.make_mesh((2, 2), ("a", "b"))

    def over(spec: P | None) -> Any:
        return None if spec is None else NamedSharding(mesh, spec)

    jitted: Any = fc.jit(f, in_shardings=(over(x), over(y)), out_shardings=over(result))
    return jitted(X, Y)


def test_updates_in_sequence_along_a_divided_dimension() -> None:
    whole = P(None, None)
    rows = over_mesh(lambda x, y: x.at[ROWS].add(y[:3]).at[5].add(1.0), whole, whole, P("a"))
    columns = over_mesh(
        lambda x, y: x.at[:, 3].set(1.0).at[:, 5].set(2.0), whole, whole, P(None, "a")
    )
    wanted_rows, wanted_columns = X.copy(), X.copy()
    wanted_rows[ROWS] += Y[:3]
    wanted_rows[5] += 1
    wanted_columns[:, 3], wanted_columns[:, 5] = 1, 2
    np.testing.assert_array_equal(rows, wanted_rows)
    np.testing.assert_array_equal(columns, wanted_columns)


def test_updates_that_devices_have_uneven_parts_of() -> None:
    wanted = X.copy()
    wanted[ROWS] += Y[:3]
    updated = over_mesh(lambda x, y: x.at[ROWS].add(y[:3]), P(None, None), P("a"), None)
    np.testing.assert_array_equal(updated, wanted)


@pytest.mark.parametrize("arg", [None, 0, 1])
def test_convolutions_with_divided_spatial_dimensions(arg: int | None) -> None:
    def convolve(x: Any, y: Any) -> Any:
        return lax.conv_general_dilated(x[:, None], y[:1, None, :3], (1,), [(1, 1)])[:, 0]

    f = convolve
    if arg is not None:
        f = fc.grad(lambda x, y: fnp.sin(convolve(x, y)).sum(), arg)
    wanted = fc.jit(f, device=fc.devices("native")[0])(X, Y)
    found = over_mesh(f, P(None, "a"), P("b", "a"), None)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_negative_padding_of_divided_dimensions() -> None:
    def pad(x: Any, y: Any) -> Any:
        return lax.pad(x + y, np.float32(0), ((-1, 2, 1), (0, -3, 0)))

    wanted = fc.jit(pad, device=fc.devices("native")[0])(X, Y)
    np.testing.assert_array_equal(over_mesh(pad, P("a"), P("a", "b"), None), wanted)
