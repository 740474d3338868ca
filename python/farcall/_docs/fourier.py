"""Docstrings of Fourier transforms."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_ALONG_ONE = {
    "fft": """The discrete Fourier transform along ``axis``.

        Args:
          a: an array.
          n: the size of the transform: the input is cut off or padded with zeros.
          axis: the dimension.
          norm: ``backward`` divides the inverse by the size, ``forward`` the forward transform;
            ``ortho`` divides both by the square root of the size.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an axis out of range, a size below 1, and unknown ``norm``.
        """,
    "ifft": "The inverse of ``fft``; same arguments.",
    "rfft": "``fft`` of real numbers: the first n // 2 + 1 elements; the rest are conjugates.",
    "irfft": "The inverse of ``rfft``; ``n`` is the size of the result, an even number by default.",
    "hfft": "``fft`` of a Hermitian-symmetric signal, given by its first half; the result is real.",
    "ihfft": "The inverse of ``hfft``.",
}
_ALONG_SEVERAL = {
    "fftn": "``fft`` along several axes, all by default; ``s`` holds their sizes.",
    "ifftn": "The inverse of ``fftn``.",
    "rfftn": "``rfft`` along the last of the axes, ``fft`` along the others.",
    "irfftn": "The inverse of ``rfftn``.",
    "fft2": "``fftn`` along two axes.",
    "ifft2": "``ifftn`` along two axes.",
    "rfft2": "``rfftn`` along two axes.",
    "irfft2": "``irfftn`` along two axes.",
}
_FREQUENCIES = {
    "fftfreq": "The frequencies of the elements of ``fft`` for ``n`` samples at distance ``d``.",
    "rfftfreq": "The frequencies of the elements of ``rfft`` for ``n`` samples at distance ``d``.",
    "fftshift": "Moves the element of frequency zero to the middle of each axis.",
    "ifftshift": "The inverse of ``fftshift``.",
}

document(_core.fft, "farcall.numpy.fft", _ALONG_ONE | _ALONG_SEVERAL | _FREQUENCIES)

_COSINES = {
    "dct": """The discrete cosine transform of type 2.

        Element k is twice the sum of ``x[i] * cos(pi * k * (2 * i + 1) / (2 * n))``. The parts of
        complex numbers are transformed.

        Args:
          x: an array.
          type: must be 2.
          n: the size to which the axis is truncated or padded with zeros; its own by default.
          axis: the axis.
          norm: "ortho" divides by ``sqrt(2 * n)``, and the first element by another sqrt(2).

        Raises:
          NotImplementedError: for another type.
          ValueError: for an axis out of range, a size below 1, and unknown ``norm``.
        """,
    "idct": "The inverse of ``dct``; same arguments.",
    "dctn": "``dct`` along several axes, all by default; ``s`` holds their sizes.",
    "idctn": "The inverse of ``dctn``.",
}
document(_core.scipy_fft, "farcall.scipy.fft", _COSINES)
