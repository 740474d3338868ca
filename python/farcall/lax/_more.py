"""Functions of farcall.lax composed of other functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _control_flow, _core, tree
from farcall._checkpoint import named_call
from farcall._core import control_flow as _collectives
from farcall._functions import check_callable, wraps
from farcall._lax_arrays import conv_dimension_numbers
from farcall._placement import with_sharding_constraint as with_sharding_constraint

__all__ = [
    "ConvGeneralDilatedDimensionNumbers",
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
    """Ties the arrays of ``operand`` together: no operation is moved across this point.

    Args:
      operand: a pytree of arrays.
    """
    leaves, structure = tree.flatten(operand)
    return structure.unflatten(_core.nn.optimization_barrier(leaves))


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Names ``decomposition``, so that an engine can replace it by its own implementation.

    Args:
      decomposition: a function of arrays; keyword arguments are constants.
      name: the name of the operation in programs.
      version: the version of its semantics.
    """
    check_callable(decomposition, "composite")
    if not isinstance(name, str) or not name:
        raise ValueError(f"composite: name must be a string, not empty, got {name!r}")
    operator.index(version)

    @wraps(decomposition)
    def call(*args: Any, **kwargs: Any) -> Any:
        return named_call(functools.partial(decomposition, **kwargs), name=name)(*args)

    return call


# ---- collectives ---------------------------------------------------------------------------------


def pswapaxes(x: Any, axis_name: str, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchanges dimension ``axis`` of ``x`` with the named axis, which has the same size."""
    if axis_index_groups is not None:
        return _control_flow.all_to_all(
            x, axis_name, axis, axis, axis_index_groups=axis_index_groups
        )
    return _collectives.pswapaxes(x, axis_name, axis)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Copies ``x`` of element ``source`` to all elements of the named axis."""
    return _collectives.pbroadcast(x, axis_name, source)


def pcast(x: Any, axis_name: Any = None, *, to: str) -> Any:
    """Returns ``x``, which then counts as varying over mesh axes inside ``shard_map``.

    A cotangent of the result is summed over these axes. Where values meet, this is done without
    being asked. Without ``check_vma``, and outside of shard_map, nothing changes.

    Args:
      x: a pytree of arrays.
      axis_name: the axis, or a tuple of axes.
      to: "varying" or "reduced" if ``x`` has the same value on all devices; "unreduced" if ``x`` is
        a term of a sum over the devices, which changes nothing.

    Raises:
      ValueError: for another ``to``.
      NameError: for an unknown axis.
    """
    if to not in ("varying", "unreduced", "reduced"):
        raise ValueError(f"pcast: to must be 'varying', 'unreduced' or 'reduced', got {to!r}")
    if axis_name is None:
        return x
    _control_flow.axis_size(axis_name)
    return x if to == "unreduced" else _collectives.pvary(x, axis_name)


# ---- products of parts ---------------------------------------------------------------------------


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
) -> Array:
    """Multiplies consecutive groups of rows of ``lhs``, each by the matrix of its group.

    Args:
      lhs: [m, k].
      rhs: [g, k, n].
      group_sizes: integers [g]: the number of rows of each group. Rows after the last group give 0.
      precision: for devices that offer a choice; the native engine ignores it.
      preferred_element_type: the dtype of the result.
      group_offset: must be None.

    Returns:
      [m, n].

    Raises:
      ValueError: for other shapes.
    """
    if group_offset is not None:
        raise NotImplementedError("ragged_dot: group_offset must be None")
    return _lax._ragged_dot(lhs, rhs, group_sizes, precision, preferred_element_type)


# ---- shapes of windows and convolutions ----------------------------------------------------------


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of a convolution with batch and features first.

    Raises:
      ValueError: if the number of strides or pads is not the number of spatial dimensions.
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, None)
    return _lax._conv_shape(lhs_shape, rhs_shape, numbers, strides, pads, batch_group_count)


def conv_general_permutations(dimension_numbers: Any) -> list[list[int]]:
    """For each operand and the result, the permutation that puts batch and features first."""
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
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    return _lax._conv_shape(lhs_shape, rhs_shape, numbers, window_strides, padding, 1)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of ``conv_transpose``."""
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    return _lax._conv_transpose_shape(lhs_shape, rhs_shape, window_strides, padding, numbers)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of ``reduce_window``."""
    return _lax._reduce_window_shape(
        operand_shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )


# ---- patches -------------------------------------------------------------------------------------


def _numbers_of_image(lhs: Any, dimension_numbers: Any, function: str) -> Any:
    shape = _f.as_array(lhs, f"{function}: argument lhs").shape
    return conv_dimension_numbers(shape, (1,) * len(shape), dimension_numbers)


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
    """The patches of ``lhs`` under a convolution's windows, flattened to features.

    Args:
      filter_shape: the spatial sizes of a patch.
      others: as for conv_general_dilated.

    Returns:
      An array whose features are (feature of lhs, position in the patch), in row-major order.
    """
    return _lax._conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        _numbers_of_image(lhs, dimension_numbers, "conv_general_dilated_patches"),
        precision,
        preferred_element_type,
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
    """A convolution with separate weights for each position of the result.

    Args:
      rhs: the weights: output features, input features times positions in the patch, and the
        spatial dimensions of the result.
      filter_shape: the spatial sizes of a patch.
      others: as for conv_general_dilated.
    """
    return _lax._conv_general_dilated_local(
        lhs,
        rhs,
        window_strides,
        padding,
        filter_shape,
        lhs_dilation,
        rhs_dilation,
        _numbers_of_image(lhs, dimension_numbers, "conv_general_dilated_local"),
        precision,
    )
