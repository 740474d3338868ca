"""shard_map and pmap: functions of one device's shards."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from farcall import _core, tree
from farcall._devices import Device, devices_of, is_local
from farcall._functions import as_tuple, check_callable, name_of, wraps
from farcall._jit import jit
from farcall._mesh import AbstractMesh, Mesh, get_mesh, make_mesh
from farcall._partition_spec import PartitionSpec
from farcall._placement import sharding_of, spread
from farcall._sharding import NamedSharding


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
    """Turns ``f``, a function of one device's shards, into a function of whole arrays.

    ``f`` is recorded once, and every device runs it on its shards. Inside ``f``, collectives such
    as ``lax.psum`` and ``lax.axis_index`` can use the axes of the mesh. Derivatives taken outside
    are those of the function of whole arrays.

    With ``check_vma``, derivatives taken inside are JAX's: each value has a set of axes along which
    it varies between devices. The cotangents of a value that does not vary are summed over the
    devices where it meets values that do, so that ``grad`` with respect to an argument that all
    devices share gives the sum of their gradients. The derivative of a psum is the cotangent
    itself. Without ``check_vma``, each device differentiates its own function, and the derivative
    of a psum is the psum of the derivatives, as in JAX.

    Args:
      f: takes and returns pytrees of arrays. Without it, ``shard_map`` returns a decorator.
      out_specs: how results are assembled: PartitionSpecs, a tree prefix of the result. Along axes
        missing from a spec, all devices must have the same result; the first device's is used.
      in_specs: how arguments are split: PartitionSpecs, a tree prefix of the tuple of arguments.
        Devices along axes missing from a spec get the same data. By default, the current shardings
        of the arguments.
      mesh: the devices; the current mesh by default.
      axis_names: the axes that ``f`` can use; all of the mesh by default.
      check_vma: whether to track the axes along which values vary, and to raise an error if a
        result might differ along an axis missing from its spec.

    Raises:
      ValueError: without a mesh, for an axis that the mesh does not have, for specs that are not a
        tree prefix, for a spec with more entries than its array has dimensions, for a dimension
        that is not divisible by the number of its parts, and for findings of ``check_vma``.
      TypeError: for specs that are not PartitionSpecs.
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
        if isinstance(used, AbstractMesh):
            used = make_mesh(used.axis_sizes, used.axis_names, used.axis_types)
        if in_specs is Infer:
            specs = [_spec_of(leaf, used) for leaf in tree.leaves(args)]
        else:
            specs = _spread(in_specs, args, used, f"{where}: in_specs")
        found: list[Any] = []

        @functools.wraps(f)
        def body(*shards: Any) -> Any:
            result = f(*shards)
            found[:] = _spread(out_specs, result, used, f"{where}: out_specs")
            return result

        axes = NamedSharding(used, PartitionSpec()).axes()
        return _core.sharding.shard_map(
            body,
            where,
            axes,
            list(used.devices.flat),
            list(axis_names),
            specs,
            lambda: found,
            check_vma,
            args,
        )

    return mapped


def _spec_of(value: Any, mesh: Mesh) -> Any:
    """The spec of an argument's current sharding over the mesh."""
    if isinstance(value, _core.Array) and not value.is_traced:
        sharding = sharding_of(value)
        if isinstance(sharding, NamedSharding) and sharding.mesh == mesh:
            return sharding.entries()
    return ()


def _spread(specs: Any, values: Any, mesh: Mesh, where: str) -> list[Any]:
    """A spec for each leaf of ``values``, in the core's form."""
    if isinstance(specs, list) and isinstance(values, tuple):
        specs = tuple(specs)
    made = []
    for spec in spread(specs, values, where):
        if spec is not None and not isinstance(spec, PartitionSpec):
            raise TypeError(f"{where}: expected PartitionSpecs, got {spec!r}")
        made.append(() if spec is None else NamedSharding(mesh, spec).entries())
    return made


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
    """Compiles ``fun`` and maps it over devices; each device runs it on one element.

    Args:
      fun: takes and returns pytrees of arrays.
      axis_name: the name of the mapped axis for collectives.
      in_axes, out_axes: as for vmap.
      static_broadcasted_argnums: arguments that are constants of the program; hashable.
      devices, backend: the devices, one for each element of the mapped axis; by default the first
        ones of the default engine or of the platform.
      axis_size: the number of elements.
      donate_argnums: as for jit.

    Raises:
      ValueError: for mapped axes of different sizes, and for more elements than devices.
    """
    check_callable(fun, "pmap")
    where = f"pmap({name_of(fun)})"
    found = list(filter(is_local, devices_of(backend, where))) if devices is None else list(devices)
    statics = sorted(as_tuple(static_broadcasted_argnums))
    name = "pmap" if axis_name is None else axis_name

    def mapped(*args: Any, **kwargs: Any) -> Any:
        dynamic = (tuple(arg for i, arg in enumerate(args) if i not in statics), kwargs)
        axes: Any = in_axes
        if isinstance(in_axes, (tuple, list)):
            axes = tuple(axis for i, axis in enumerate(in_axes) if i not in statics)
        given = spread(axes, dynamic[0], f"{where}: in_axes") + [0] * len(tree.leaves(kwargs))
        leaves, structure = tree.flatten(dynamic)
        size = _size_of(leaves, given, axis_size, where)
        if size > len(found):
            raise ValueError(
                f"{where}: the mapped axis has size {size}, but there "
                f"{'is one device' if len(found) == 1 else f'are {len(found)} devices'}; "
                "use vmap to map over more elements"
            )
        grid = np.empty(size, dtype=object)
        grid[:] = found[:size]
        mesh = Mesh(grid, (name,))

        def body(*shards: Any) -> Any:
            parts = [
                shard if axis is None else _core.lax.squeeze(shard, [_at(axis, shard.ndim)])
                for shard, axis in zip(shards, given, strict=True)
            ]
            positional, named = structure.unflatten(parts)
            rest = iter(positional)
            result = fun(
                *(arg if i in statics else next(rest) for i, arg in enumerate(args)), **named
            )
            outs, shape = tree.flatten(result)
            wanted = spread(out_axes, result, f"{where}: out_axes")
            outs = [_core.as_array(out) for out in outs]
            specs[:] = [
                PartitionSpec() if axis is None else _spec_at(_at(axis, out.ndim + 1), name)
                for out, axis in zip(outs, wanted, strict=True)
            ]
            return shape.unflatten(
                [
                    out if axis is None else _core.lax.expand_dims(out, [_at(axis, out.ndim + 1)])
                    for out, axis in zip(outs, wanted, strict=True)
                ]
            )

        specs: list[Any] = []
        in_specs = [
            PartitionSpec() if axis is None else _spec_at(_at(axis, np.ndim(leaf)), name)
            for leaf, axis in zip(leaves, given, strict=True)
        ]
        return _core.sharding.shard_map(
            body,
            where,
            NamedSharding(mesh, PartitionSpec()).axes(),
            list(mesh.devices.flat),
            [],
            [NamedSharding(mesh, spec).entries() for spec in in_specs],
            lambda: [NamedSharding(mesh, spec).entries() for spec in specs],
            False,
            tuple(leaves),
        )

    _core.update_wrapper(mapped, fun)
    return jit(
        mapped,
        static_argnums=tuple(statics) or None,
        donate_argnums=as_tuple(donate_argnums),
    )


def _at(axis: int, rank: int) -> int:
    """The axis as a nonnegative index."""
    return axis + rank if axis < 0 else axis


def _spec_at(axis: int, name: str) -> PartitionSpec:
    return PartitionSpec(*(None,) * axis, name)


def _size_of(leaves: list[Any], axes: list[int | None], axis_size: int | None, where: str) -> int:
    sizes = set() if axis_size is None else {axis_size}
    for leaf, axis in zip(leaves, axes, strict=True):
        shape = np.shape(leaf)
        if axis is None:
            continue
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"{where}: an argument of shape {shape} should be mapped over its axis {axis}"
            )
        sizes.add(shape[axis])
    if len(sizes) != 1:
        raise ValueError(
            f"{where}: the mapped axes must have one size, they have {sorted(sizes) or 'none'}"
        )
    return sizes.pop()
