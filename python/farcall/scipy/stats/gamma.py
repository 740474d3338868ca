"""The gamma distribution of shape ``a``."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

cdf = _stats.gamma_cdf
logcdf = _stats.gamma_logcdf
logpdf = _stats.gamma_logpdf
logsf = _stats.gamma_logsf
pdf = _stats.gamma_pdf
sf = _stats.gamma_sf
