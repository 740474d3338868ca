"""Docstrings of the core's image functions."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_RESIZING = {
    "scale_and_translate": """Resamples the image, scaled and translated along some dimensions.

        The sample at position x moves to ``x * scale + translation``. Positions are measured from
        the edge of the first sample; a sample has size 1. Outside the image, samples are zero.

        Args:
          image: an array.
          shape: the shape of the result; equal to the image's in the other dimensions.
          spatial_dims: the dimensions to resample.
          scale, translation: one number for each of ``spatial_dims``.
          method: ``linear``, ``cubic``, ``lanczos3``, ``lanczos5`` or a ResizeMethod.
          antialias: whether to widen the kernel where the image shrinks.
          precision: for devices that offer a choice; the native engine ignores it.

        Raises:
          ValueError: for a shape of another rank, and for method ``nearest``.
        """,
    "resize": """Resizes the image; its edges stay at the edges.

        Args:
          image: an array.
          shape: the shape of the result, of the same rank.
          method: ``nearest``, ``linear``, ``cubic`` (Keys, a = -0.5), ``lanczos3``, ``lanczos5``,
            their aliases, or a ResizeMethod.
          antialias: whether to widen the kernel where the image shrinks.
          precision: for devices that offer a choice; the native engine ignores it.

        Returns:
          An array of this shape; integers become float32, except for ``nearest``.

        Raises:
          ValueError: for a shape of another rank, and an unknown method.
        """,
}
_SAMPLING = {
    "map_coordinates": """Interpolates the array at fractional indices.

        Args:
          input: an array.
          coordinates: for each dimension an array of indices; all have one shape.
          order: 0 for the nearest element, 1 for linear interpolation.
          mode: the values outside: "constant" (``cval``), "nearest", "wrap", "mirror" (about the
            last elements) or "reflect" (about their edges).
          cval: the value outside for "constant".

        Raises:
          NotImplementedError: for other orders and modes.
          ValueError: if the number of coordinates is not the number of dimensions.
        """,
}

document(_core.image, "farcall.image", _RESIZING)
document(_core.image, "farcall.scipy.ndimage", _SAMPLING)
