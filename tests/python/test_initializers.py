"""nn.initializers: the same numbers as JAX's for the same key, shape and dtype; wrong arguments."""

from __future__ import annotations

from typing import Any

import farcall as fc
import jax
import jax.nn.initializers
import numpy as np
import pytest
from farcall.nn import initializers

SHAPE = (4, 6)
CASES: dict[str, Any] = {
    "zeros": (lambda m: m.zeros, SHAPE),
    "ones": (lambda m: m.ones, SHAPE),
    "constant": (lambda m: m.constant(2.5), SHAPE),
    "uniform": (lambda m: m.uniform(0.3), SHAPE),
    "normal": (lambda m: m.normal(0.3), SHAPE),
    "truncated_normal": (lambda m: m.truncated_normal(0.3, lower=-1.0, upper=1.5), SHAPE),
    "fan_in": (lambda m: m.variance_scaling(1.5, "fan_in", "truncated_normal"), (3, 3, 4, 6)),
    "fan_out": (lambda m: m.variance_scaling(1.5, "fan_out", "normal", 1, (0, 2)), (3, 4, 6)),
    "fan_avg": (lambda m: m.variance_scaling(1.5, "fan_avg", "uniform", batch_axis=0), (2, 4, 6)),
    "fan_geo_avg": (lambda m: m.variance_scaling(1.5, "fan_geo_avg", "uniform"), SHAPE),
    "orthogonal": (lambda m: m.orthogonal(2.0), SHAPE),
    "tall": (lambda m: m.orthogonal(), (6, 4)),
    "other axis": (lambda m: m.orthogonal(column_axis=0), (3, 2, 5)),
    "delta_orthogonal": (lambda m: m.delta_orthogonal(), (3, 2, 4)),
} | {
    name: (lambda m, n=name: getattr(m, n)(), SHAPE)
    for name in [
        "glorot_normal",
        "glorot_uniform",
        "he_normal",
        "he_uniform",
        "lecun_normal",
        "lecun_uniform",
        "xavier_normal",
        "xavier_uniform",
        "kaiming_normal",
        "kaiming_uniform",
    ]
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_jax(name: str) -> None:
    make, shape = CASES[name]
    ours = make(initializers)(fc.random.key(3), shape)
    theirs = jax.jit(lambda key: make(jax.nn.initializers)(key, shape))(jax.random.key(3))
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("distribution", ["truncated_normal", "uniform", "normal"])
def test_complex_numbers_and_narrow_floats(distribution: str) -> None:
    for dtype in (np.complex64, np.float16):
        ours = initializers.variance_scaling(1.0, "fan_in", distribution)(
            fc.random.PRNGKey(0), (4, 6), dtype
        )
        theirs = jax.nn.initializers.variance_scaling(1.0, "fan_in", distribution)(
            jax.random.PRNGKey(0), (4, 6), dtype
        )
        assert ours.dtype == theirs.dtype
        if dtype == np.float16:  # XLA rounds each step to float16 only where the machine has it
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=5e-4)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_orthogonal_columns_are_orthonormal() -> None:
    q = np.asarray(initializers.orthogonal()(fc.random.key(0), (6, 4)))
    np.testing.assert_allclose(q.T @ q, np.eye(4), atol=1e-6)


def test_every_initializer_of_jax_is_there() -> None:
    names = {n for n in dir(jax.nn.initializers) if not n.startswith("_")}
    assert names <= set(dir(initializers))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda k: initializers.variance_scaling(1, "fan", "normal"), "mode must be one of"),
        (lambda k: initializers.variance_scaling(1, "fan_in", "n"), "distribution must be one of"),
        (lambda k: initializers.he_normal()(k, (3,)), "must have two dimensions at least"),
        (lambda k: initializers.he_normal(in_axis=4)(k, (3, 3)), "axis 4 is out of range"),
        (lambda k: initializers.orthogonal()(k, (3,)), "must have two dimensions at least"),
        (lambda k: initializers.delta_orthogonal()(k, (3, 3)), "3, 4 or 5 dimensions"),
        (lambda k: initializers.delta_orthogonal()(k, (3, 4, 2)), "more inputs than outputs"),
    ],
)
def test_wrong_arguments(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call(fc.random.key(0))
