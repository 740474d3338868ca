"""The docstrings of the functions of images that the core has."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_RESIZING = {
    "scale_and_translate": """The image, scaled and moved along some dimensions.

        The sample at place x goes to ``x * scale + translation``, where places are counted from the
        edge of the first sample and a sample has size one. Outside of the image is zero.

        Args:
          image: an array.
          shape: of the result; like that of the image in the other dimensions.
          spatial_dims: the dimensions that are sampled anew.
          scale, translation: a number for each of these.
          method: ``linear``, ``cubic``, ``lanczos3``, ``lanczos5`` or a ResizeMethod.
          antialias: whether the kernel grows where the image shrinks.
          precision: is checked; without effect on the CPU.

        Raises:
          ValueError: for a shape of another rank, and for ``nearest``.
        """,
    "resize": """The image in another shape, its edges kept.

        Args:
          image: an array.
          shape: of the result, of the same rank.
          method: ``nearest``, ``linear``, ``cubic`` (Keys, a = -0.5), ``lanczos3``, ``lanczos5``,
            other names of these, or a ResizeMethod.
          antialias: whether the kernel grows where the image shrinks.
          precision: is checked; without effect on the CPU.

        Returns:
          An array of this shape; integers become float32, but for ``nearest``.

        Raises:
          ValueError: for a shape of another rank, and an unknown method.
        """,
}
_SAMPLING = {
    "map_coordinates": """The array at places between its elements.

        Args:
          input: an array.
          coordinates: for each of its dimensions the places, arrays of one shape.
          order: 0 for the nearest element, 1 for linear interpolation.
          mode: what lies outside: "constant" (cval), "nearest", "wrap", "mirror" (about the last
            elements) or "reflect" (about their edges).
          cval: the number outside.

        Raises:
          NotImplementedError: for another order or mode.
          ValueError: for another number of coordinates than dimensions.
        """,
}

document(_core.image, "farcall.image", _RESIZING)
document(_core.image, "farcall.scipy.ndimage", _SAMPLING)
