"""The exponential distribution on [loc, inf), with mean ``loc + scale``."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

cdf = _stats.expon_cdf
logcdf = _stats.expon_logcdf
logpdf = _stats.expon_logpdf
logsf = _stats.expon_logsf
pdf = _stats.expon_pdf
ppf = _stats.expon_ppf
sf = _stats.expon_sf
