"""The Cauchy distribution about ``loc``."""

from farcall._core import stats as _stats

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

cdf = _stats.cauchy_cdf
isf = _stats.cauchy_isf
logcdf = _stats.cauchy_logcdf
logpdf = _stats.cauchy_logpdf
logsf = _stats.cauchy_logsf
pdf = _stats.cauchy_pdf
ppf = _stats.cauchy_ppf
sf = _stats.cauchy_sf
