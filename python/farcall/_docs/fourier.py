"""The docstrings of Fourier transforms."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_ALONG_ONE = {
    "fft": """The discrete Fourier transform along ``axis``.

        Args:
          a: an array.
          n: elements that are transformed: others are cut off, missing ones are zeros.
          axis: which dimension.
          norm: ``backward`` divides the inverse by the size, ``forward`` the transform, ``ortho``
            both by its root.

        Raises:
          TypeError: for what is no array.
          ValueError: for an axis that there is not, a size below 1, or another ``norm``.
        """,
    "ifft": "The inverse of ``fft``, with its arguments.",
    "rfft": "``fft`` of real numbers: the first n / 2 + 1 elements, from which the others follow.",
    "irfft": "The inverse of ``rfft``; ``n`` is the size of the result, even if left out.",
    "hfft": "``fft`` of numbers whose second half is the conjugate of the first, which is given.",
    "ihfft": "The inverse of ``hfft``.",
}
_ALONG_SEVERAL = {
    "fftn": "``fft`` along several axes, all if left out; ``s`` are their sizes.",
    "ifftn": "The inverse of ``fftn``.",
    "rfftn": "``rfft`` along the last of the axes, ``fft`` along the others.",
    "irfftn": "The inverse of ``rfftn``.",
    "fft2": "``fftn`` along two axes.",
    "ifft2": "``ifftn`` along two axes.",
    "rfft2": "``rfftn`` along two axes.",
    "irfft2": "``irfftn`` along two axes.",
}
_FREQUENCIES = {
    "fftfreq": "The frequencies of what ``fft`` gives for ``n`` samples ``d`` apart.",
    "rfftfreq": "The frequencies of what ``rfft`` gives for ``n`` samples ``d`` apart.",
    "fftshift": "The element of frequency zero in the middle of each axis.",
    "ifftshift": "The inverse of ``fftshift``.",
}

document(_core.fft, "farcall.numpy.fft", _ALONG_ONE | _ALONG_SEVERAL | _FREQUENCIES)
