"""The chi-squared distribution with ``df`` degrees of freedom."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

cdf = _stats.chi2_cdf
logcdf = _stats.chi2_logcdf
logpdf = _stats.chi2_logpdf
logsf = _stats.chi2_logsf
pdf = _stats.chi2_pdf
sf = _stats.chi2_sf
