"""Functions that make the first parameters of a network: ``init(key, shape, dtype)``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from farcall import _core, random
from farcall.numpy import linalg
from farcall.numpy._common import Array, normalize_axis

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


class Initializer(Protocol):
    """What an initializer is."""

    def __call__(
        self, key: Any, shape: Sequence[int], dtype: Any = ..., out_sharding: Any = ...
    ) -> Array:
        """An array of this shape and dtype, drawn with the key."""
        ...


def zeros(key: Any, shape: Sequence[int], dtype: Any = float, out_sharding: Any = None) -> Array:
    """Zeros."""
    del key, out_sharding
    return _f.zeros(shape, dtype)


def ones(key: Any, shape: Sequence[int], dtype: Any = float, out_sharding: Any = None) -> Array:
    """Ones."""
    del key, out_sharding
    return _f.ones(shape, dtype)


def _made(draw: Callable[[Any, tuple[int, ...], Any], Array], default: Any) -> Initializer:
    def init(
        key: Any, shape: Sequence[int], dtype: Any = default, out_sharding: Any = None
    ) -> Array:
        del out_sharding
        return draw(key, tuple(shape), float if dtype is None else dtype)

    return init


def constant(value: Any, dtype: Any = float) -> Initializer:
    """An initializer of arrays of this value, a number or an array that broadcasts."""
    return _made(lambda key, shape, dtype: _f.full(shape, value, dtype), dtype)


def uniform(scale: Any = 1e-2, dtype: Any = float) -> Initializer:
    """An initializer of uniform numbers in [0, scale)."""
    return _made(lambda key, shape, dtype: _scaled(random.uniform(key, shape, dtype), scale), dtype)


def normal(stddev: Any = 1e-2, dtype: Any = float) -> Initializer:
    """An initializer of normal numbers of this standard deviation."""
    return _made(lambda key, shape, dtype: _scaled(random.normal(key, shape, dtype), stddev), dtype)


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = float, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer of normal numbers between ``lower`` and ``upper``, times ``stddev``."""

    def draw(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        return _scaled(random.truncated_normal(key, lower, upper, shape, dtype), stddev)

    return _made(draw, dtype)


def _scaled(x: Array, factor: Any) -> Array:
    return x * _f.astype(factor, x.dtype)


# ---- by the number of inputs and outputs ---------------------------------------------------------


def _fans(
    shape: tuple[int, ...], in_axis: Any, out_axis: Any, batch_axis: Any
) -> tuple[float, float]:
    """How many inputs an output has, and how many outputs an input."""
    if len(shape) <= 1:
        raise ValueError(
            f"variance_scaling: shape {shape} must have two dimensions at least: inputs and outputs"
        )

    def size_of(axes: Any) -> int:
        several = (axes,) if isinstance(axes, int) else tuple(axes)
        return math.prod(
            shape[normalize_axis(axis, len(shape), "variance_scaling")] for axis in several
        )

    inputs, outputs, batch = size_of(in_axis), size_of(out_axis), size_of(batch_axis)
    field = math.prod(shape) / max(inputs * outputs * batch, 1)
    return inputs * field, outputs * field


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: Any = float,
) -> Initializer:
    """An initializer of numbers of variance ``scale / n``.

    Args:
      scale: a positive number.
      mode: what n is: "fan_in", "fan_out", "fan_avg", or "fan_geo_avg" for the geometric mean.
      distribution: "truncated_normal" (cut off at two standard deviations), "normal", "uniform".
      in_axis, out_axis: the dimensions of inputs and outputs.
      batch_axis: dimensions that count for neither.
      dtype: of the arrays where the initializer is given none; floats or complex numbers.

    Raises:
      ValueError: for another mode or distribution; by the initializer, for a shape of less than two
        dimensions.
    """
    modes = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
    if mode not in modes:
        raise ValueError(f"variance_scaling: mode must be one of {modes}, got {mode!r}")
    distributions = ("truncated_normal", "normal", "uniform")
    if distribution not in distributions:
        raise ValueError(
            f"variance_scaling: distribution must be one of {distributions}, got {distribution!r}"
        )

    def draw(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        n = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": math.sqrt(fan_in * fan_out),
        }[mode]
        variance = scale / n
        is_complex = _core._check_dtype(dtype).kind == "c"
        if distribution == "normal":
            return _scaled(random.normal(key, shape, dtype), variance**0.5)
        if distribution == "uniform":
            if is_complex:
                return _scaled(_complex_uniform(key, shape, dtype), (2 * variance) ** 0.5)
            return _scaled(random.uniform(key, shape, dtype, -1), (3 * variance) ** 0.5)
        if is_complex:
            # The standard deviation of the magnitude, cut off at two.
            deviation = variance**0.5 / 0.95311164380491208
            return _scaled(_complex_truncated_normal(key, 2, shape, dtype), deviation)
        # That of a normal number cut off at two standard deviations.
        deviation = variance**0.5 / 0.87962566103423978
        return _scaled(random.truncated_normal(key, -2, 2, shape, dtype), deviation)

    return _made(draw, dtype)


def _parts(key: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Array, Array]:
    """Two arrays of uniform numbers, for magnitude and angle."""
    first, second = random.split(key)
    real = _f.real(_f.zeros((), dtype)).dtype
    return random.uniform(first, shape, real), random.uniform(second, shape, real)


def _on_circle(radius: Array, turn: Array, dtype: Any) -> Array:
    angle = _f.astype(2 * math.pi * turn, radius.dtype)
    return _f.astype(_core.lax.complex(radius * _f.cos(angle), radius * _f.sin(angle)), dtype)


def _complex_uniform(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Uniform on the unit disk."""
    square, turn = _parts(key, shape, dtype)
    return _on_circle(_f.sqrt(square), turn, dtype)


def _complex_truncated_normal(key: Any, upper: float, shape: tuple[int, ...], dtype: Any) -> Array:
    """Normal, of magnitudes below ``upper``."""
    part, turn = _parts(key, shape, dtype)
    magnitude = _f.sqrt(-_f.log1p(part * _f.astype(math.expm1(-(upper**2)), part.dtype)))
    return _on_circle(magnitude, turn, dtype)


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
    """An initializer of matrices with orthonormal columns or rows, whichever are fewer.

    Args:
      scale: a factor.
      column_axis: the dimension of columns; the others together are that of rows.
      dtype: where the initializer is given none.

    Raises:
      ValueError: by the initializer, for a shape of less than two dimensions.
    """

    def draw(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        if len(shape) < 2:
            raise ValueError(f"orthogonal: shape {shape} must have two dimensions at least")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        wide = rows < columns
        matrix = random.normal(key, (columns, rows) if wide else (rows, columns), dtype)
        q, r = linalg.qr(matrix)
        diagonal = _f.diagonal(r, 0, 0, 1)
        # With these signs every such matrix is as likely.
        q = q * _f.expand_dims(diagonal / _f.astype(_f.abs(diagonal), q.dtype), 0)
        if wide:
            q = _f.transpose(q, None)
        at = column_axis % len(shape)
        q = _f.reshape(q, (*(size for i, size in enumerate(shape) if i != at), columns))
        return _scaled(_f.moveaxis(q, -1, at), scale)

    return _made(draw, dtype)


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = float) -> Initializer:
    """An initializer of convolutions that are orthogonal matrices at their centre and 0 elsewhere.

    Shapes are (spatial sizes…, inputs, outputs) with at most as many inputs as outputs.

    Raises:
      ValueError: by the initializer, for another shape.
    """

    def draw(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal: shape {shape} must have 3, 4 or 5 dimensions")
        if shape[-1] < shape[-2]:
            raise ValueError(
                f"delta_orthogonal: shape {shape} must not have more inputs than outputs"
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        centre = tuple((size - 1) // 2 for size in shape[:-2])
        return _f.zeros(shape, dtype).at[centre].set(matrix)

    return _made(draw, dtype)
