"""The Gumbel distribution of the maximum of many values."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

cdf = _stats.gumbel_r_cdf
logcdf = _stats.gumbel_r_logcdf
logpdf = _stats.gumbel_r_logpdf
logsf = _stats.gumbel_r_logsf
pdf = _stats.gumbel_r_pdf
ppf = _stats.gumbel_r_ppf
sf = _stats.gumbel_r_sf
