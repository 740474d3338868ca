"""Arrays over the devices of a mesh, and shard_map."""

from collections.abc import Callable, Sequence
from typing import Any

from farcall._core import Array, Device

Axes = tuple[tuple[str, int, int], ...]
Spec = tuple[tuple[str, ...], ...]
Sharding = tuple[Axes, tuple[Device, ...], Spec]

def device_put(array: Array, sharding: Sharding) -> Array: ...
def with_sharding_constraint(array: Array, sharding: Sharding) -> Array: ...
def sharding_of(array: Array) -> Sharding | None: ...
def shards_of(array: Array) -> list[Array]: ...
def array_from_shards(shape: Sequence[int], sharding: Sharding, parts: list[Array]) -> Array: ...
def cut(
    shape: Sequence[int], axes: Axes, spec: Spec, where: str
) -> tuple[tuple[int, ...], list[tuple[tuple[int, ...], int]]]: ...
def shard_map(
    function: Callable[..., Any],
    where: str,
    axes: Axes,
    devices: Sequence[Device],
    axis_names: list[str],
    in_specs: list[Spec],
    out_specs: Callable[[], list[Spec]],
    check_replication: bool,
    args: tuple[Any, ...],
) -> Any: ...
