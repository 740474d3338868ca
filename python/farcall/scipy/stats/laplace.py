"""The Laplace distribution of mean ``loc``."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logpdf", "pdf"]

cdf = _stats.laplace_cdf
logpdf = _stats.laplace_logpdf
pdf = _stats.laplace_pdf
