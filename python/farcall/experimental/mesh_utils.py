"""Arrangement of devices in grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall._mesh import make_mesh
from farcall._public import show_names_of as _show_names_of

__all__ = ["create_device_mesh"]


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """The devices as an array of this shape, for ``sharding.Mesh``.

    Raises:
      ValueError: if the shape does not match the number of devices.
    """
    del contiguous_submeshes, allow_split_physical_axes
    names = [f"axis{i}" for i in range(len(mesh_shape))]
    return make_mesh(mesh_shape, names, devices=devices).devices


_show_names_of(__name__)
