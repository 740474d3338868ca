"""Activation functions, and what stands beside them in the last layer of a network."""

from __future__ import annotations

import math
from typing import Any

from farcall import _core
from farcall.nn import initializers as initializers
from farcall.nn._attention import dot_product_attention as dot_product_attention
from farcall.numpy._common import Array, as_array, default_float, normalize_axes, to_inexact
from farcall.numpy._elementwise import logaddexp

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]

_f, _nn = _core.numpy, _core.nn
tanh = _f.tanh


def _float(x: Any, function: str) -> Array:
    return to_inexact(as_array(x, function, "x"))


def relu(x: Any) -> Array:
    """x above zero, else 0; the derivative at zero is 0."""
    array = as_array(x, "relu", "x")
    return _f.where(_f.less_equal(array, 0), 0, array)


def relu6(x: Any) -> Array:
    """relu(x), at most 6; the derivative at both ends is 0."""
    array = as_array(x, "relu6", "x")
    return _f.where(_f.less_equal(array, 0), 0, _f.where(_f.greater_equal(array, 6), 6.0, array))


def sigmoid(x: Any) -> Array:
    """1 / (1 + exp(-x))."""
    return _core.lax.logistic(_float(x, "sigmoid"))


def log_sigmoid(x: Any) -> Array:
    """log(sigmoid(x)), without underflow on the way."""
    return -softplus(-_float(x, "log_sigmoid"))


def softplus(x: Any) -> Array:
    """log(1 + exp(x)), without overflow on the way."""
    return logaddexp(_float(x, "softplus"), 0)


def squareplus(x: Any, b: Any = 4) -> Array:
    """(x + sqrt(x ** 2 + b)) / 2."""
    return _nn.squareplus(x, b)


def soft_sign(x: Any) -> Array:
    """x / (abs(x) + 1)."""
    return _nn.soft_sign(x)


def silu(x: Any) -> Array:
    """x * sigmoid(x)."""
    return _nn.silu(x)


swish = silu


def mish(x: Any) -> Array:
    """x * tanh(softplus(x))."""
    return _nn.mish(x)


def gelu(x: Any, approximate: bool = True) -> Array:
    """x times the normal distribution up to x; with ``tanh`` in its place if ``approximate``."""
    return _nn.gelu(x, approximate)


def elu(x: Any, alpha: Any = 1.0) -> Array:
    """x above zero, else alpha * (exp(x) - 1)."""
    return _nn.elu(x, alpha)


def celu(x: Any, alpha: Any = 1.0) -> Array:
    """x above zero, else alpha * (exp(x / alpha) - 1)."""
    return _nn.celu(x, alpha)


def selu(x: Any) -> Array:
    """A scaled ``elu`` that keeps mean 0 and variance 1."""
    return _nn.selu(x)


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Array:
    """x above zero, else a small part of it."""
    array = _float(x, "leaky_relu")
    return _f.where(_f.greater_equal(array, 0), array, negative_slope * array)


def hard_tanh(x: Any) -> Array:
    """x, at least -1 and at most 1."""
    array = as_array(x, "hard_tanh", "x")
    return _f.where(_f.greater(array, 1), 1, _f.where(_f.less(array, -1), -1, array))


def hard_sigmoid(x: Any) -> Array:
    """relu6(x + 3) / 6."""
    return relu6(_float(x, "hard_sigmoid") + 3.0) / 6.0


def hard_silu(x: Any) -> Array:
    """x * hard_sigmoid(x)."""
    array = _float(x, "hard_silu")
    return array * hard_sigmoid(array)


hard_swish = hard_silu


def glu(x: Any, axis: int = -1) -> Array:
    """The first half along the axis times the sigmoid of the second half."""
    first, second = _f.split(_float(x, "glu"), 2, axis)
    return first * sigmoid(second)


# ---- along an axis -------------------------------------------------------------------------------


def _finite_maximum(x: Array, axes: tuple[int, ...]) -> Array:
    """The largest element, through which no derivative goes; 0 for infinities."""
    largest = _core.lax.stop_gradient(_core.lax.reduce_max(_f.real(x), sorted(axes)))
    largest = _f.expand_dims(largest, axes)
    return _f.where(_f.isfinite(largest), largest, _f.zeros((), largest.dtype))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b * exp(a))) along the axes, without overflow on the way.

    Args:
      a: an array.
      axis: one axis or several; all of them if left out.
      b: factors; 1 if left out.
      keepdims: keep the axes, with size one.
      return_sign: return the logarithm of the absolute value and the sign of the sum.
      where: which elements count.
    """
    array = to_inexact(as_array(a, "logsumexp"))
    if b is not None:
        b = to_inexact(b + _f.zeros(array.shape, array.dtype))
        array = _f.add(array, _f.zeros(b.shape, array.dtype))
        array = _f.where(_f.equal(b, 0), _lowest(array), array)
    if where is not None:
        array = _f.where(where, array, _lowest(array))
    axes = normalize_axes(axis, array.ndim, "logsumexp")
    largest = _finite_maximum(array, axes)
    terms = _f.exp(array - largest)
    total = _f.sum(terms if b is None else b * terms, axes, True)
    sign = _f.sign(total)
    result = _f.log(_f.abs(total) if return_sign else total) + largest
    if not keepdims:
        result, sign = (_f.squeeze(each, axes) for each in (result, sign))
    return (result, sign) if return_sign else result


def _lowest(array: Array) -> Array:
    return _f.astype(-math.inf, array.dtype)


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Array:
    """exp(x), divided by its sum along the axes; 0 where ``where`` is false."""
    array = _float(x, "softmax")
    axes = normalize_axes(axis, array.ndim, "softmax")
    if where is not None:
        array = _f.where(where, array, _lowest(array))
    terms = _f.exp(array - _finite_maximum(array, axes))
    result = terms / _f.sum(terms, axes, True)
    return result if where is None else _f.where(where, result, 0)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Array:
    """log(softmax(x)), without underflow on the way."""
    array = _float(x, "log_softmax")
    axes = normalize_axes(axis, array.ndim, "log_softmax")
    if where is not None:
        array = _f.where(where, array, _lowest(array))
    shifted = array - _finite_maximum(array, axes)
    result = shifted - _f.log(_f.sum(_f.exp(shifted), axes, True))
    return result if where is None else _f.where(where, result, -math.inf)


def standardize(
    x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5
) -> Array:
    """(x - mean) / sqrt(variance + epsilon) along the axes."""
    array = _float(x, "standardize")
    if mean is None:
        mean = _f.mean(array, axis, True)
    else:
        mean = to_inexact(as_array(mean, "standardize", "mean"))
    if variance is None:
        variance = _f.mean(_f.square(array), axis, True) - _f.square(mean)
    else:
        variance = as_array(variance, "standardize", "variance")
    return (array - mean) * _core.lax.rsqrt(to_inexact(variance + epsilon))


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Array:
    """A new axis with 1 at the position that ``x`` names, 0 elsewhere."""
    array = as_array(x, "one_hot", "x")
    place = axis % (array.ndim + 1)
    shape = [1] * (array.ndim + 1)
    shape[place] = num_classes
    classes = _core.lax.broadcasted_iota("int32", shape, place)
    hit = _f.equal(_f.expand_dims(array, place), classes)
    return _f.astype(hit, dtype or default_float())


def identity(x: Any) -> Array:
    """``x``."""
    return as_array(x, "identity", "x")


def log1mexp(x: Any) -> Array:
    """log(1 - exp(-x)) for positive ``x``, without cancellation."""
    return _nn.log1mexp(x)


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Array:
    """log(mean(exp(x))) along the axes, without overflow on the way."""
    array = _float(x, "logmeanexp")
    axes = normalize_axes(axis, array.ndim, "logmeanexp")
    total = logsumexp(array, axes, keepdims=keepdims, where=where)
    if where is None:
        return total - math.log(math.prod(array.shape[a] for a in axes))
    counted = _f.broadcast_to(_f.astype(where, "bool"), array.shape)
    return total - _f.log(_f.astype(_f.sum(counted, axes, keepdims), array.dtype))


def sparse_plus(x: Any) -> Array:
    """0 below -1, x above 1, and a parabola between."""
    array = _float(x, "sparse_plus")
    inner = _f.where(_f.greater_equal(array, 1), array, (array + 1) ** 2 / 4)
    return _f.where(_f.less_equal(array, -1), 0.0, inner)


def sparse_sigmoid(x: Any) -> Array:
    """The derivative of sparse_plus."""
    return _f.clip((_float(x, "sparse_sigmoid") + 1) / 2, 0, 1)
