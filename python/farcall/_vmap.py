"""vmap: turns functions of elements into functions of batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall import _core, tree
from farcall._functions import P, R, check_callable, name_of, wraps
from farcall._partition_spec import axes_of


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
    """Maps ``fun`` over a dimension of its arguments, as one batched computation.

    ``fun`` sees each argument without the mapped dimension; its operations run on whole batches.

    Args:
      fun: takes and returns pytrees of arrays and numbers.
      in_axes: the dimension to map over: an int for all positional arguments, or a tuple with an
        entry for each. An entry is an int, None (the argument is shared by all elements and may be
        any object), or a pytree of these that is a prefix of the argument. Negative values count
        from the end. Keyword arguments are mapped over their first dimension.
      out_axes: the position of the mapped dimension in the results, a tree prefix of the result.
        None: the result does not depend on the mapped dimension.
      axis_name: a name by which ``fun`` can refer to the mapped dimension.
      axis_size: the size of the mapped dimension; required if no argument is mapped.
      spmd_axis_name: an axis of a mesh, or a tuple of them, over which the mapped dimension is
        split in sharding constraints and shard_maps inside ``fun``. Their specs must not name it.

    Returns:
      A function with the arguments of ``fun``.

    Raises:
      TypeError: for axes that are not ints.
      ValueError: at a call, for axes out of range of the arguments or results, for sizes that
        differ, and for a sharding inside whose mesh has no axis ``spmd_axis_name``, or whose spec
        names it.
    """
    check_callable(fun, "vmap")
    name = name_of(fun)
    where = f"vmap({name})"
    spmd_names = list(axes_of(spmd_axis_name))
    if not all(isinstance(one, str) for one in spmd_names):
        raise TypeError(
            f"{where}: spmd_axis_name must be the name of an axis of a mesh, a tuple of names or "
            f"None, got {spmd_axis_name!r}"
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
        # Looked up at each call: closing over it would make this function impossible to pickle.
        return _core.transforms.vmap(
            fun, where, in_axes, out_axes, mapped_name, axis_size, spmd_names, args, kwargs
        )

    return mapped
