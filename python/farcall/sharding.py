"""Meshes and shardings, under JAX's names."""

from farcall._mesh import AbstractMesh as AbstractMesh
from farcall._mesh import AxisType as AxisType
from farcall._mesh import Mesh as Mesh
from farcall._mesh import get_abstract_mesh as get_abstract_mesh
from farcall._mesh import get_mesh as get_mesh
from farcall._mesh import set_mesh as set_mesh
from farcall._mesh import use_mesh as use_mesh
from farcall._partition_spec import PartitionSpec as PartitionSpec
from farcall._placement import reshard as reshard
from farcall._public import public_names as _public_names
from farcall._sharding import NamedSharding as NamedSharding
from farcall._sharding import Sharding as Sharding
from farcall._sharding import SingleDeviceSharding as SingleDeviceSharding

__all__ = _public_names(globals())
