"""vmap: functions of elements made functions of batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall import _core, tree
from farcall._functions import P, R, check_callable, name_of, wraps


def _check_axes(axes: Any, what: str) -> None:
    if not all(type(leaf) is int for leaf in tree.leaves(axes)):
        raise TypeError(
            f"{what} must be an int, None, or a container with those as leaves, got {axes!r}"
        )


def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: str | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[P, R]:
    """``fun`` mapped over a dimension of its arguments, as one batched computation.

    ``fun`` sees each argument without the mapped dimension; the operations that it calls are
    applied to whole batches.

    Args:
      fun: takes and returns arrays, numbers, and containers of these (pytrees).
      in_axes: the dimension to map over: an int for all positional arguments, or a tuple with an
        entry for each, which is an int, None (the argument is the same for all elements, and may be
        any object), or a pytree of these that is a prefix of the argument. Negative ones count from
        the end. Keyword arguments are mapped over their first dimension.
      out_axes: where the results have the mapped dimension, a prefix of the result. None: the
        result does not depend on it.
      axis_name: a name by which ``fun`` can refer to the mapped dimension.
      axis_size: its size, needed where no argument has it.
      spmd_axis_name: not to be given; arrays are not sharded by vmap.

    Returns:
      A function with the arguments of ``fun``.

    Raises:
      TypeError: for axes that are no ints.
      ValueError: at a call, for axes that do not fit the arguments or the results, and for sizes
        that differ.
    """
    check_callable(fun, "vmap")
    name = name_of(fun)
    where = f"vmap({name})"
    if spmd_axis_name is not None:
        raise NotImplementedError(
            f"{where}: spmd_axis_name must be None; vmap does not shard arrays"
        )
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            f"{where}: in_axes must be an int, None, or a tuple with an entry for each positional "
            f"argument, got {in_axes!r}"
        )
    _check_axes(in_axes, f"{where}: in_axes")
    _check_axes(out_axes, f"{where}: out_axes")
    mapped_name = "" if axis_name is None else str(axis_name)

    @wraps(fun)
    def mapped(*args: P.args, **kwargs: P.kwargs) -> R:
        # Not kept by this function, which is pickled with what it closes over.
        return _core.transforms.vmap(
            fun, where, in_axes, out_axes, mapped_name, axis_size, args, kwargs
        )

    return mapped
