"""The beta distribution of shapes ``a`` and ``b`` on [loc, loc + scale]."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

cdf = _stats.beta_cdf
logcdf = _stats.beta_logcdf
logpdf = _stats.beta_logpdf
logsf = _stats.beta_logsf
pdf = _stats.beta_pdf
sf = _stats.beta_sf
