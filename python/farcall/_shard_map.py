"""shard_map and pmap: functions of one device's part, with the axes of a mesh bound.

There is one device, so a part is the whole array and every axis has size one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from farcall import _core, tree
from farcall._devices import Device, devices_of
from farcall._functions import as_tuple, check_callable, name_of, update_wrapper, wraps
from farcall._jit import jit
from farcall._placement import broadcast_prefix
from farcall._sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec, get_mesh
from farcall._vmap import vmap


class _Infer:
    def __repr__(self) -> str:
        return "Infer"


Infer = _Infer()


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Collection[str] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """``f`` as a function of whole arrays, of which each device gives it its part.

    Inside, collectives such as ``lax.psum`` and ``lax.axis_index`` know the axes of the mesh.

    Args:
      f: takes and returns pytrees of arrays. Left out: returns a decorator.
      out_specs: how results are put together: PartitionSpecs, a tree prefix of the result.
      in_specs: how arguments are split: PartitionSpecs, a tree prefix of the tuple of arguments.
        Left out, as they lie.
      mesh: the devices; the current mesh by default.
      axis_names: the axes that are bound; all of the mesh by default.
      check_vma: for programs written for JAX; without effect.

    Raises:
      ValueError: without a mesh, for an axis that the mesh does not have, for specs that are no
        tree prefix, and for a spec of more entries than its array has dimensions.
      TypeError: for specs that are no PartitionSpecs.
    """
    if f is None:
        return functools.partial(
            shard_map,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    check_callable(f, "shard_map")
    where = f"shard_map({name_of(f)})"
    if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"{where}: mesh must be a Mesh or an AbstractMesh, got {mesh!r}")
    unknown = [name for name in axis_names if mesh is not None and name not in mesh.axis_names]
    if unknown:
        raise ValueError(f"{where}: the mesh has no axis {unknown[0]!r}, it is {mesh!r}")

    @wraps(f)
    def mapped(*args: Any) -> Any:
        used = get_mesh() if mesh is None else mesh
        if used.empty:
            raise ValueError(
                f"{where}: there is no mesh; pass mesh=, or call it inside set_mesh(mesh)"
            )
        _check_size(used, where)
        if in_specs is not Infer:
            _check_specs(in_specs, args, used, f"{where}: in_specs")
        names = [name for name in used.axis_names if not axis_names or name in axis_names]
        result = _core.transforms.with_mesh_axes(f, where, names, args)
        _check_specs(out_specs, result, used, f"{where}: out_specs")
        return result

    return mapped


def _check_size(mesh: Mesh | AbstractMesh, where: str) -> None:
    if mesh.size != 1:
        raise ValueError(f"{where}: the mesh has {mesh.size} devices, and there is one: {mesh!r}")


def _check_specs(specs: Any, values: Any, mesh: Mesh | AbstractMesh, where: str) -> None:
    if specs is None or isinstance(specs, PartitionSpec):
        spread = [specs] * len(tree.leaves(values))
    else:
        if isinstance(specs, list) and isinstance(values, tuple):
            specs = tuple(specs)
        spread = tree.leaves(broadcast_prefix(specs, values, where), lambda leaf: leaf is None)
    for spec, value in zip(spread, tree.leaves(values), strict=True):
        if spec is None:
            continue
        if not isinstance(spec, PartitionSpec):
            raise TypeError(f"{where}: expected PartitionSpecs, got {spec!r}")
        NamedSharding(mesh, spec).check_rank(getattr(value, "shape", ()), where)


def pmap(
    fun: Callable[..., Any],
    axis_name: str | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Any:
    """``fun``, compiled and mapped over devices: over an axis of size one, there being one device.

    Args:
      fun: takes and returns pytrees of arrays.
      axis_name: by which collectives know the mapped axis.
      in_axes, out_axes: as for vmap.
      static_broadcasted_argnums: arguments that are constants of the program; hashable.
      devices, backend: must name the one device and its platform.
      axis_size: the number of devices: 1.
      donate_argnums: as for jit.

    Raises:
      ValueError: for another number of devices, or a mapped axis of another size than 1.
    """
    check_callable(fun, "pmap")
    where = f"pmap({name_of(fun)})"
    found = devices_of(backend, where) if devices is None else list(devices)
    if axis_size not in (None, 1) or (devices is not None and len(found) != 1):
        raise ValueError(f"{where}: there is one device to map over; for larger axes use vmap")
    statics = sorted(as_tuple(static_broadcasted_argnums))

    def mapped(*args: Any, **kwargs: Any) -> Any:
        dynamic = [arg for i, arg in enumerate(args) if i not in statics]
        axes: Any = in_axes
        if isinstance(in_axes, (tuple, list)):
            axes = tuple(axis for i, axis in enumerate(in_axes) if i not in statics)
        _check_axis(axes, tuple(dynamic), where)

        def call(*parts: Any, **named: Any) -> Any:
            rest = iter(parts)
            return fun(
                *(arg if i in statics else next(rest) for i, arg in enumerate(args)), **named
            )

        return vmap(call, in_axes=axes, out_axes=out_axes, axis_name=axis_name, axis_size=1)(
            *dynamic, **kwargs
        )

    update_wrapper(mapped, fun)
    return jit(
        mapped,
        static_argnums=tuple(statics) or None,
        donate_argnums=as_tuple(donate_argnums),
        device=found[0] if devices is not None else None,
    )


def _check_axis(in_axes: Any, args: tuple[Any, ...], where: str) -> None:
    axes = broadcast_prefix(in_axes, args, f"{where}: in_axes")
    for axis, value in zip(
        tree.leaves(axes, lambda leaf: leaf is None), tree.leaves(args), strict=True
    ):
        shape = getattr(value, "shape", ())
        if axis is not None and -len(shape) <= axis < len(shape) and shape[axis] != 1:
            raise ValueError(
                f"{where}: the mapped axis of an argument of shape {shape} has size {shape[axis]}, "
                "but there is one device; use vmap to map over more elements"
            )
