"""Arrays over the devices of a mesh, shard_map and custom_partitioning."""

from collections.abc import Callable, Sequence
from typing import Any

from farcall._core import Array, Device

Axes = tuple[tuple[str, int, int], ...]
Spec = tuple[tuple[str, ...], ...]
Sharding = tuple[Axes, tuple[Device, ...], Spec]

def device_put(array: Array, sharding: Sharding) -> Array: ...
def spread_unplaced(array: Any, sharding: Sharding) -> Array: ...
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
def varying_axes(array: Array) -> list[str]: ...

class Partitioning: ...

# Rules are called with a sharding (with an empty spec) and two lists of these: operands, results.
Spread = tuple[tuple[int, ...], Any, Spec]  # shape, dtype, spec
PartitioningRule = Callable[[Sharding, list[Spread], list[Spread]], Any]

def make_partitioning(
    name: str,
    partition: PartitioningRule,
    sharding_rule: PartitioningRule | None,
    infer: PartitioningRule | None,
    propagate: PartitioningRule | None,
) -> Partitioning: ...
def custom_partitioning(
    function: Callable[..., Any], where: str, partitioning: Partitioning, args: tuple[Any, ...]
) -> Any: ...
def check_sharding_rule(rule: tuple[Any, ...], /) -> None: ...
