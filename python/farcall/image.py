"""Resizing and resampling of images."""

from __future__ import annotations

import enum

from farcall import _core
from farcall._core.image import resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """The interpolation method of a new sample."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method with this name: nearest, linear, cubic, lanczos3, lanczos5, …"""
        return ResizeMethod(_core.image._parse_resize_method(s))
