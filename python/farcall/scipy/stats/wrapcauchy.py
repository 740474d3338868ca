"""The Cauchy distribution wrapped around the circle."""

from farcall._core import stats as _stats

__all__ = ["logpdf", "pdf"]

logpdf = _stats.wrapcauchy_logpdf
pdf = _stats.wrapcauchy_pdf
