"""The uniform distribution on [loc, loc + scale]."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logpdf", "pdf", "ppf"]

cdf = _stats.uniform_cdf
logpdf = _stats.uniform_logpdf
pdf = _stats.uniform_pdf
ppf = _stats.uniform_ppf
