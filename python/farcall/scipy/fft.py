"""Discrete cosine transforms, with scipy's names and semantics."""

from farcall._core.scipy_fft import dct, dctn, idct, idctn

__all__ = ["dct", "dctn", "idct", "idctn"]
