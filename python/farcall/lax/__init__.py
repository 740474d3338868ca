"""The primitives as functions, strict about dtypes and shapes, like ``jax.lax``."""

from __future__ import annotations

import builtins as _builtins
import enum as _enum
from typing import Any, NamedTuple

from farcall import _core
from farcall import tree as _tree
from farcall._control_flow import all_gather as all_gather
from farcall._control_flow import all_to_all as all_to_all
from farcall._control_flow import associative_scan as associative_scan
from farcall._control_flow import axis_index as axis_index
from farcall._control_flow import axis_size as axis_size
from farcall._control_flow import cond as cond
from farcall._control_flow import fori_loop as fori_loop
from farcall._control_flow import map as map
from farcall._control_flow import platform_dependent as platform_dependent
from farcall._control_flow import pmax as pmax
from farcall._control_flow import pmean as pmean
from farcall._control_flow import pmin as pmin
from farcall._control_flow import ppermute as ppermute
from farcall._control_flow import pshuffle as pshuffle
from farcall._control_flow import psum as psum
from farcall._control_flow import psum_scatter as psum_scatter
from farcall._control_flow import scan as scan
from farcall._control_flow import switch as switch
from farcall._control_flow import while_loop as while_loop
from farcall._core.lax import *  # noqa: F403
from farcall._lax_arrays import *  # noqa: F403
from farcall._public import public_names as _public_names
from farcall.lax import linalg as linalg
from farcall.lax._more import *  # noqa: F403
from farcall.lax._precision import *  # noqa: F403
from farcall.lax._reductions import *  # noqa: F403
from farcall.lax._roots import *  # noqa: F403
from farcall.lax._scatter import *  # noqa: F403
from farcall.lax._shapes import *  # noqa: F403

_functions = _core.lax


class RoundingMethod(_enum.IntEnum):
    """The rounding of halves by ``round``."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def stop_gradient(x: Any) -> Any:
    """Returns the arrays of the pytree ``x``, treated as constants by differentiation."""
    return _tree.map(_functions.stop_gradient, x)


def select(pred: Any, on_true: Any, on_false: Any) -> _core.Array:
    """``on_true`` where ``pred`` is true, else ``on_false``."""
    return _functions.select_n(pred, on_false, on_true)


def iota(dtype: Any, size: int) -> _core.Array:
    """The vector 0, 1, …, size - 1."""
    return _functions.broadcasted_iota(dtype, (size,), 0)


class GatherScatterMode(_enum.Enum):
    """The treatment of indices out of bounds."""

    CLIP = "clip"
    FILL_OR_DROP = "fill_or_drop"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode with this name; FILL_OR_DROP for None."""
        if isinstance(s, GatherScatterMode):
            return s
        if s is None or s in ("fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        return GatherScatterMode(s)


class GatherDimensionNumbers(NamedTuple):
    """The positions of the windows of ``gather``.

    Attributes:
      offset_dims: the dimensions of the result that are window dimensions. collapsed_slice_dims:
      dimensions of the operand that windows omit. start_index_map: for each component of an index,
      the dimension of the operand that it indexes. operand_batching_dims,
      start_indices_batching_dims: paired batch dimensions.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """The positions of the windows of ``scatter``; see GatherDimensionNumbers."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


def scatter_sub(
    operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, **options: Any
) -> _core.Array:
    """``scatter_add`` of the negated updates."""
    negated = _core.numpy.negative(updates)
    return _functions.scatter_add(operand, scatter_indices, negated, dimension_numbers, **options)


def _axis_of(operand: Any, axis: int) -> int:
    return axis + operand.ndim if axis < 0 else axis


def _in_dim(operand: Any, value: Any, axis: int, others: list[Any]) -> list[Any]:
    return [*others[:axis], value, *others[axis + 1 :]]


def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> _core.Array:
    """``operand[start_index:limit_index:stride]`` along one axis."""
    operand = _core.numpy.as_array(operand, "slice_in_dim: argument operand")
    whole = _builtins.slice(None)
    index = _in_dim(
        operand,
        _builtins.slice(start_index, limit_index, stride),
        _axis_of(operand, axis),
        [whole] * operand.ndim,
    )
    return operand[tuple(index)]


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> _core.Array:
    """The elements at one index along an axis; ``keepdims`` keeps the axis with size 1."""
    operand = _core.numpy.as_array(operand, "index_in_dim: argument operand")
    axis = _axis_of(operand, axis)
    at = range(operand.shape[axis])[index]
    part = slice_in_dim(operand, at, at + 1, 1, axis)
    return part if keepdims else _core.numpy.squeeze(part, axis)


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> _core.Array:
    """``dynamic_slice`` along one axis; the other axes stay whole."""
    operand = _core.numpy.as_array(operand, "dynamic_slice_in_dim: argument operand")
    axis = _axis_of(operand, axis)
    return _functions.dynamic_slice(
        operand,
        _in_dim(operand, start_index, axis, [0] * operand.ndim),
        _in_dim(operand, slice_size, axis, list(operand.shape)),
        allow_negative_indices=allow_negative_indices,
    )


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> _core.Array:
    """The elements at one index along an axis; ``keepdims`` keeps the axis with size 1."""
    operand = _core.numpy.as_array(operand, "dynamic_index_in_dim: argument operand")
    part = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return part if keepdims else _core.numpy.squeeze(part, axis)


def dynamic_update_slice_in_dim(
    operand: Any,
    update: Any,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> _core.Array:
    """``dynamic_update_slice`` along one axis."""
    operand = _core.numpy.as_array(operand, "dynamic_update_slice_in_dim: argument operand")
    starts = _in_dim(operand, start_index, _axis_of(operand, axis), [0] * operand.ndim)
    return _functions.dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> _core.Array:
    """Replaces the elements at one index along an axis; the update may lack that axis."""
    operand = _core.numpy.as_array(operand, "dynamic_update_index_in_dim: argument operand")
    update = _core.numpy.as_array(update, "dynamic_update_index_in_dim: argument update")
    axis = _axis_of(operand, axis)
    if update.ndim != operand.ndim:
        update = _core.numpy.expand_dims(update, axis)
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


__all__ = _public_names(globals())
