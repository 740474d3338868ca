"""Resizing of images: arrays whose dimensions are sampled anew."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall.numpy._common import Array, as_array, is_float, to_inexact

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

_f: Any = _core.numpy


class ResizeMethod(enum.Enum):
    """How a new sample follows from its neighbours."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of this name: nearest, linear, cubic, lanczos3, lanczos5, …"""
        names = {
            "nearest": ResizeMethod.NEAREST,
            "linear": ResizeMethod.LINEAR,
            "bilinear": ResizeMethod.LINEAR,
            "trilinear": ResizeMethod.LINEAR,
            "triangle": ResizeMethod.LINEAR,
            "lanczos3": ResizeMethod.LANCZOS3,
            "lanczos5": ResizeMethod.LANCZOS5,
            "cubic": ResizeMethod.CUBIC,
            "bicubic": ResizeMethod.CUBIC,
            "tricubic": ResizeMethod.CUBIC,
        }
        if s not in names:
            raise ValueError(f"resize: method must be one of {', '.join(names)}, got {s!r}")
        return names[s]


def _triangle(x: Array) -> Array:
    return _f.maximum(1 - x, 0)


def _cubic(x: Array) -> Array:
    """Keys' kernel with a = -0.5."""
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return _f.where(_f.greater_equal(x, 2), 0.0, _f.where(_f.greater_equal(x, 1), far, near))


def _lanczos(radius: float) -> Callable[[Array], Array]:
    def kernel(x: Array) -> Array:
        wave = radius * _f.sin(math.pi * x) * _f.sin(math.pi * x / radius)
        is_zero = _f.less_equal(x, 1e-3)
        value = wave / _f.where(is_zero, 1.0, math.pi**2 * x * x)
        return _f.where(_f.greater(x, radius), 0.0, _f.where(is_zero, 1.0, value))

    return kernel


_KERNELS = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _cubic,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
}


def _method(method: Any, function: str) -> ResizeMethod:
    if isinstance(method, ResizeMethod):
        return method
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    raise TypeError(f"{function}: method must be a name or a ResizeMethod, got {method!r}")


def _weights(
    size: int, out_size: int, scale: Any, translation: Any, kernel: Any, antialias: bool, dtype: Any
) -> Array:
    """[size, out_size]: the part of each sample in each new one."""
    step = _f.astype(1 / scale, dtype)
    width = _f.maximum(step, 1) if antialias else 1
    place = _f.astype(_core.lax.broadcasted_iota("int32", (out_size,), 0), dtype) + 0.5
    place = place * step - _f.astype(translation, dtype) * step - 0.5
    samples = _f.astype(_core.lax.broadcasted_iota("int32", (size, 1), 0), dtype)
    weights = kernel(_f.abs(place - samples) / width)
    total = _f.sum(weights, 0, keepdims=True)
    # Where no sample is near, there is nothing to divide by.
    is_small = _f.less_equal(_f.abs(total), 1000 * 1.1920929e-07)
    weights = _f.where(is_small, 0.0, weights / _f.where(is_small, 1.0, total))
    is_inside = _f.logical_and(_f.greater_equal(place, -0.5), _f.less_equal(place, size - 0.5))
    return _f.astype(_f.where(is_inside, weights, 0.0), dtype)


def _resample(
    image: Array,
    axes: Sequence[int],
    shape: Sequence[int],
    scales: Any,
    translations: Any,
    method: ResizeMethod,
    antialias: bool,
) -> Array:
    for i, axis in enumerate(axes):
        weights = _weights(
            image.shape[axis],
            shape[axis],
            scales[i],
            translations[i],
            _KERNELS[method],
            antialias,
            image.dtype,
        )
        image = _f.moveaxis(_f._tensordot(image, weights, (axis,), (0,)), -1, axis)
    return image


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Array:
    """The image, scaled and moved along some dimensions.

    The sample at place x goes to ``x * scale + translation``, where places are counted from the
    edge of the first sample and a sample has size one. Outside of the image is zero.

    Args:
      image: an array.
      shape: of the result; like that of the image in the other dimensions.
      spatial_dims: the dimensions that are sampled anew.
      scale, translation: a number for each of these.
      method: ``linear``, ``cubic``, ``lanczos3``, ``lanczos5`` or a ResizeMethod.
      antialias: whether the kernel grows where the image shrinks.
      precision: for programs written for JAX; without effect.

    Raises:
      ValueError: for a shape of another rank, and for ``nearest``.
    """
    del precision
    array = to_inexact(as_array(image, "scale_and_translate", "image"))
    kind = _method(method, "scale_and_translate")
    if len(shape) != array.ndim:
        raise ValueError(
            f"scale_and_translate: shape {tuple(shape)} must have {array.ndim} sizes, as the image"
        )
    if kind is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate: method nearest is not defined; use resize")
    scale = as_array(scale, "scale_and_translate", "scale")
    translation = as_array(translation, "scale_and_translate", "translation")
    axes = [axis % array.ndim for axis in spatial_dims]
    return _resample(array, axes, shape, scale, translation, kind, antialias)


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Array:
    """The image in another shape, its edges kept.

    Args:
      image: an array.
      shape: of the result, of the same rank.
      method: ``nearest``, ``linear``, ``cubic`` (Keys, a = -0.5), ``lanczos3``, ``lanczos5``, other
        names of these, or a ResizeMethod.
      antialias: whether the kernel grows where the image shrinks.
      precision: for programs written for JAX; without effect.

    Returns:
      An array of this shape; integers become float32, but for ``nearest``.

    Raises:
      ValueError: for a shape of another rank, and an unknown method.
    """
    del precision
    array = as_array(image, "resize", "image")
    shape = tuple(int(size) for size in shape)
    if len(shape) != array.ndim:
        raise ValueError(f"resize: shape {shape} must have {array.ndim} sizes, as the image")
    kind = _method(method, "resize")
    axes = [axis for axis in range(array.ndim) if shape[axis] != array.shape[axis]]
    if kind is ResizeMethod.NEAREST:
        for axis in axes:
            array = _nearest(array, axis, shape[axis])
        return array
    array = to_inexact(array)
    scales = [shape[axis] / array.shape[axis] for axis in axes]
    wide = _f.astype(array, "float32") if is_float(array) and array.itemsize < 4 else array
    made = _resample(wide, axes, shape, scales, [0.0] * len(axes), kind, antialias)
    return _f.astype(made, array.dtype)


def _nearest(array: Array, axis: int, size: int) -> Array:
    place = _f.astype(_core.lax.broadcasted_iota("int32", (size,), 0), "float32") + 0.5
    index = _f.astype(_f.floor(place * (array.shape[axis] / size)), "int32")
    return _f.take(array, index, axis)
