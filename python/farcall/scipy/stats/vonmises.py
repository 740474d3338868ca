"""The von Mises distribution on the circle."""

from farcall._core import stats as _stats

__all__ = ["logpdf", "pdf"]

logpdf = _stats.vonmises_logpdf
pdf = _stats.vonmises_pdf
