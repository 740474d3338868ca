"""Images: farcall.image and farcall.scipy.ndimage."""

from collections.abc import Sequence
from typing import Any

from farcall._core import Array
from farcall.image import ResizeMethod

def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Array: ...
def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Array: ...
def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Array: ...
def _parse_resize_method(name: str) -> int: ...
