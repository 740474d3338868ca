"""The normal distribution of mean ``loc`` and standard deviation ``scale``."""

from farcall._core import stats as _stats

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

cdf = _stats.norm_cdf
isf = _stats.norm_isf
logcdf = _stats.norm_logcdf
logpdf = _stats.norm_logpdf
logsf = _stats.norm_logsf
pdf = _stats.norm_pdf
ppf = _stats.norm_ppf
sf = _stats.norm_sf
