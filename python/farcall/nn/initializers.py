"""Functions that create the initial parameters of a network: ``init(key, shape, dtype)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from farcall import _core
from farcall.numpy._common import Array

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

_f: Any = _core.numpy
_nn: Any = _core.nn


class Initializer(Protocol):
    """The type of an initializer."""

    def __call__(
        self, key: Any, shape: Sequence[int], dtype: Any = ..., out_sharding: Any = ...
    ) -> Array:
        """An array with this shape and dtype, sampled with the key."""
        ...


def zeros(key: Any, shape: Sequence[int], dtype: Any = float, out_sharding: Any = None) -> Array:
    """Zeros."""
    del key, out_sharding
    return _f.zeros(shape, dtype)


def ones(key: Any, shape: Sequence[int], dtype: Any = float, out_sharding: Any = None) -> Array:
    """Ones."""
    del key, out_sharding
    return _f.ones(shape, dtype)


def _made(draw: Callable[[Any, Sequence[int], Any], Array], default: Any) -> Initializer:
    def init(
        key: Any, shape: Sequence[int], dtype: Any = default, out_sharding: Any = None
    ) -> Array:
        del out_sharding
        return draw(key, shape, float if dtype is None else dtype)

    return init


def constant(value: Any, dtype: Any = float) -> Initializer:
    """An initializer with a constant value: a number, or an array that is broadcast."""
    return _made(_nn._constant(value), dtype)


def uniform(scale: Any = 1e-2, dtype: Any = float) -> Initializer:
    """An initializer with uniform samples in [0, scale)."""
    return _made(_nn._uniform(scale), dtype)


def normal(stddev: Any = 1e-2, dtype: Any = float) -> Initializer:
    """An initializer with normal samples of this standard deviation."""
    return _made(_nn._normal(stddev), dtype)


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = float, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer with normal samples between ``lower`` and ``upper``, times ``stddev``."""
    return _made(_nn._truncated_normal(stddev, lower, upper), dtype)


# ---- by the number of inputs and outputs ---------------------------------------------------------


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: Any = float,
) -> Initializer:
    """An initializer with samples of variance ``scale / n``.

    Args:
      scale: a positive number.
      mode: the choice of n: "fan_in", "fan_out", "fan_avg", or "fan_geo_avg" for the geometric
        mean.
      distribution: "truncated_normal" (at two standard deviations), "normal", "uniform".
      in_axis, out_axis: the dimensions of inputs and outputs.
      batch_axis: dimensions that count as neither.
      dtype: the default dtype of the initializer; float or complex.

    Raises:
      ValueError: for an unknown mode or distribution; from the initializer, for a shape with fewer
        than two dimensions.
    """
    draw = _nn._variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis)
    return _made(draw, dtype)


def _of_family(scale: float, mode: str, distribution: str, doc: str, name: str) -> Any:
    def make(
        in_axis: int | Sequence[int] = -2,
        out_axis: int | Sequence[int] = -1,
        batch_axis: int | Sequence[int] = (),
        dtype: Any = float,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{doc}; see variance_scaling."
    return make


glorot_uniform = _of_family(
    1.0,
    "fan_avg",
    "uniform",
    "Uniform numbers of variance 2 / (inputs + outputs)",
    "glorot_uniform",
)
glorot_normal = _of_family(
    1.0,
    "fan_avg",
    "truncated_normal",
    "Truncated normal numbers of variance 2 / (inputs + outputs)",
    "glorot_normal",
)
lecun_uniform = _of_family(
    1.0, "fan_in", "uniform", "Uniform numbers of variance 1 / inputs", "lecun_uniform"
)
lecun_normal = _of_family(
    1.0,
    "fan_in",
    "truncated_normal",
    "Truncated normal numbers of variance 1 / inputs",
    "lecun_normal",
)
he_uniform = _of_family(
    2.0, "fan_in", "uniform", "Uniform numbers of variance 2 / inputs", "he_uniform"
)
he_normal = _of_family(
    2.0,
    "fan_in",
    "truncated_normal",
    "Truncated normal numbers of variance 2 / inputs",
    "he_normal",
)
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# ---- orthogonal ----------------------------------------------------------------------------------


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = float) -> Initializer:
    """An initializer with orthonormal columns or rows, whichever are fewer.

    Args:
      scale: a factor.
      column_axis: the dimension of columns; the others are merged to the dimension of rows.
      dtype: the default dtype of the initializer.

    Raises:
      ValueError: from the initializer, for a shape with fewer than two dimensions.
    """
    return _made(_nn._orthogonal(scale, column_axis), dtype)


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = float) -> Initializer:
    """An initializer of convolution weights: an orthogonal matrix at the centre, 0 elsewhere.

    Shapes are (spatial sizes…, inputs, outputs) with at most as many inputs as outputs.

    Raises:
      ValueError: from the initializer, for other shapes.
    """
    return _made(_nn._delta_orthogonal(scale, column_axis), dtype)
