"""Functions of farcall.lax that are made of others."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _control_flow, _core, tree
from farcall._checkpoint import named_call
from farcall._functions import check_callable, wraps
from farcall._lax_arrays import (
    _dilated,
    _sizes,
    conv_dimension_numbers,
    padtype_to_pads,
)
from farcall._placement import with_sharding_constraint as with_sharding_constraint
from farcall.lax._precision import canonicalize_precision

__all__ = [
    "ConvGeneralDilatedDimensionNumbers",
    "approx_max_k",
    "approx_min_k",
    "composite",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose_shape_tuple",
    "optimization_barrier",
    "pbroadcast",
    "pcast",
    "pswapaxes",
    "ragged_dot",
    "reduce_window_shape_tuple",
    "with_sharding_constraint",
]

Array = _core.Array
_f: Any = _core.numpy
_lax: Any = _core.lax

ConvGeneralDilatedDimensionNumbers = Any


def optimization_barrier(operand: Any, /) -> Any:
    """``operand``, whose arrays are tied together: no operation moves over this point.

    Args:
      operand: a pytree of arrays.
    """
    leaves, structure = tree.flatten(operand)
    return structure.unflatten(_core.nn.optimization_barrier(leaves))


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """``decomposition`` under a name, by which an engine could replace it.

    Args:
      decomposition: a function of arrays; keyword arguments are constants.
      name: of the operation in programs.
      version: of its meaning.
    """
    check_callable(decomposition, "composite")
    if not isinstance(name, str) or not name:
        raise ValueError(f"composite: name must be a string, not empty, got {name!r}")
    operator.index(version)

    @wraps(decomposition)
    def call(*args: Any, **kwargs: Any) -> Any:
        return named_call(functools.partial(decomposition, **kwargs), name=name)(*args)

    return call


# ---- the greatest elements -----------------------------------------------------------------------


def _extremes(
    operand: Any, k: int, dimension: int, recall_target: float, sign: int, where: str
) -> tuple[Array, Array]:
    x = _f.as_array(operand, f"{where}: argument operand")
    if not 0 < recall_target <= 1:
        raise ValueError(f"{where}: recall_target must lie in (0, 1], got {recall_target}")
    if not -x.ndim <= dimension < x.ndim:
        raise ValueError(f"{where}: dimension {dimension} is out of range for rank {x.ndim}")
    last = _f.moveaxis(x, dimension, -1)
    values, indices = _lax.top_k(last if sign > 0 else -last, k)
    values = values if sign > 0 else -values
    return _f.moveaxis(values, -1, dimension), _f.moveaxis(indices, -1, dimension)


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The ``k`` greatest elements along a dimension, and their places: here always all of them.

    Args:
      operand: floats.
      k: how many.
      reduction_dimension: along which.
      recall_target: how many of them must be found, in (0, 1].
      reduction_input_size_override, aggregate_to_topk: for programs written for JAX.
    """
    del reduction_input_size_override, aggregate_to_topk
    return _extremes(operand, k, reduction_dimension, recall_target, 1, "approx_max_k")


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The ``k`` least elements along a dimension, and their places; see approx_max_k."""
    del reduction_input_size_override, aggregate_to_topk
    return _extremes(operand, k, reduction_dimension, recall_target, -1, "approx_min_k")


# ---- collectives ---------------------------------------------------------------------------------


def pswapaxes(x: Any, axis_name: str, axis: int, *, axis_index_groups: Any = None) -> Any:
    """``x`` with dimension ``axis``, which has the size of the named axis, exchanged with it."""
    return _control_flow.all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The ``x`` of element ``source``, for all elements of the named axis."""
    where = operator.index(source)

    def one(leaf: Any) -> Array:
        array = _f.as_array(leaf, "pbroadcast: argument x")
        is_source = _f.equal(_control_flow.axis_index(axis_name), where)
        return _control_flow.psum(_f.where(is_source, array, _f.zeros((), array.dtype)), axis_name)

    size = _control_flow.axis_size(axis_name)
    if not 0 <= where < size:
        raise ValueError(f"pbroadcast: source {where} does not lie in [0, {size})")
    return tree.map(one, x)


def pcast(x: Any, axis_name: Any = None, *, to: str) -> Any:
    """``x``, of which JAX has to be told whether it varies over an axis of a mesh.

    Raises:
      ValueError: for another ``to`` than "varying", "unreduced" and "reduced".
      NameError: for an axis that is not there.
    """
    if to not in ("varying", "unreduced", "reduced"):
        raise ValueError(f"pcast: to must be 'varying', 'unreduced' or 'reduced', got {to!r}")
    if axis_name is not None:
        _control_flow.axis_size(axis_name)
    return x


# ---- products of parts ---------------------------------------------------------------------------


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
) -> Array:
    """The rows of ``lhs``, in groups that follow one another, each times the matrix of its group.

    Args:
      lhs: [m, k].
      rhs: [g, k, n].
      group_sizes: integers [g]: how many rows each group has. Rows behind the last group give 0.
      precision: is checked; without effect on the CPU.
      preferred_element_type: the dtype of the result.
      group_offset: must be None.

    Returns:
      [m, n].

    Raises:
      ValueError: for other shapes.
    """
    canonicalize_precision(precision)
    if group_offset is not None:
        raise NotImplementedError("ragged_dot: group_offset must be None")
    return _lax._ragged_dot(lhs, rhs, group_sizes, preferred_element_type)


# ---- shapes of windows and convolutions ----------------------------------------------------------


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of a convolution; batch and features first.

    Raises:
      TypeError: for another number of strides or pads than spatial dimensions.
    """
    count = len(lhs_shape) - 2
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(strides) != count or len(pads) != count or len(rhs_shape) != len(lhs_shape):
        raise TypeError(
            f"conv_shape_tuple: {count} spatial dimensions take {count} strides and pads, got "
            f"{len(strides)} and {len(pads)}"
        )
    spatial = [
        max(0, (size + low + high - window) // stride + 1)
        for size, window, stride, (low, high) in zip(
            lhs_shape[2:], rhs_shape[2:], strides, pads, strict=True
        )
    ]
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_permutations(dimension_numbers: Any) -> list[list[int]]:
    """For each operand and the result, the order that puts batch and features first."""
    rank = len(dimension_numbers[0])
    if isinstance(dimension_numbers[0], str):
        dimension_numbers = conv_dimension_numbers((1,) * rank, (1,) * rank, dimension_numbers)
    return [list(spec) for spec in dimension_numbers]


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of ``conv_general_dilated`` without dilations."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding
    )
    return tuple(shape[out.index(i)] for i in range(len(out)))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of ``conv_transpose``."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    from_first = [lhs_shape[i] for i in lhs]
    window = [rhs_shape[i] for i in rhs]
    spatial = []
    for i, stride in enumerate(window_strides):
        size, width = from_first[2 + i], window[2 + i]
        if isinstance(padding, str):
            grown = size * stride
            if padding.upper() == "VALID":
                grown += max(width - stride, 0)
        else:
            low, high = padding[i]
            grown = (size - 1) * stride + 1 + low + high - width + 1
        spatial.append(grown)
    shape = (from_first[0], window[0], *spatial)
    return tuple(shape[out.index(i)] for i in range(len(out)))


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of ``reduce_window``."""
    count = len(operand_shape)
    sizes = _dilated(operand_shape, _sizes(base_dilation, count))
    windows = _dilated(window_dimensions, _sizes(window_dilation, count))
    return tuple(
        max(0, (size + low + high - window) // stride + 1) if size + low + high >= window else 0
        for size, window, stride, (low, high) in zip(
            sizes, windows, window_strides, padding, strict=True
        )
    )


# ---- patches -------------------------------------------------------------------------------------


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The patches of ``lhs`` that a convolution sees, each as features of one place.

    Args:
      filter_shape: the spatial sizes of a patch.
      others: as for conv_general_dilated.

    Returns:
      An array in which features are (feature of lhs, places in the patch), the former slowest.
    """
    canonicalize_precision(precision)
    x = _f.as_array(lhs, "conv_general_dilated_patches: argument lhs")
    if preferred_element_type is not None:
        x = _f.astype(x, preferred_element_type)
    shape = _core.to_sizes(filter_shape, "conv_general_dilated_patches: filter_shape")
    count = max(x.ndim - 2, 0)
    return _lax._conv_general_dilated_patches(
        x,
        shape,
        _sizes(window_strides, count),
        padding,
        _sizes(lhs_dilation, count),
        _sizes(rhs_dilation, count),
        conv_dimension_numbers(x.shape, (1,) * x.ndim, dimension_numbers),
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Array:
    """A convolution with weights of their own for each place of the result.

    Args:
      rhs: the weights: output features, input features times places in the patch, and the spatial
        dimensions of the result.
      filter_shape: the spatial sizes of a patch.
      others: as for conv_general_dilated.
    """
    canonicalize_precision(precision)
    x = _f.as_array(lhs, "conv_general_dilated_local: argument lhs")
    weights = _f.as_array(rhs, "conv_general_dilated_local: argument rhs")
    count = max(x.ndim - 2, 0)
    return _lax._conv_general_dilated_local(
        x,
        weights,
        _sizes(window_strides, count),
        padding,
        _core.to_sizes(filter_shape, "conv_general_dilated_local: filter_shape"),
        _sizes(lhs_dilation, count),
        _sizes(rhs_dilation, count),
        conv_dimension_numbers(x.shape, weights.shape, dimension_numbers),
    )
