"""shard_map with the arguments that it had before it was jax.shard_map."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from farcall._mesh import AbstractMesh, Mesh
from farcall._public import show_names_of as _show_names_of
from farcall._shard_map import shard_map as _shard_map


def shard_map(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: Collection[str] = frozenset(),
) -> Callable[..., Any]:
    """``farcall.shard_map`` with other names of arguments.

    Args:
      f, mesh, in_specs, out_specs: as there.
      check_rep: its ``check_vma``.
      auto: the axes that ``f`` cannot use; its ``axis_names`` are the others.
    """
    names = [name for name in mesh.axis_names if name not in auto] if auto else ()
    return _shard_map(
        f,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        axis_names=names,
        check_vma=check_rep,
    )


__all__ = ["shard_map"]
_show_names_of(__name__)
