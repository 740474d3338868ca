"""Interpolation of images."""

from farcall._core.image import map_coordinates

__all__ = ["map_coordinates"]
