"""The Gumbel distribution of the minimum of many values: ``gumbel_r``, mirrored."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

cdf = _stats.gumbel_l_cdf
logcdf = _stats.gumbel_l_logcdf
logpdf = _stats.gumbel_l_logpdf
logsf = _stats.gumbel_l_logsf
pdf = _stats.gumbel_l_pdf
ppf = _stats.gumbel_l_ppf
sf = _stats.gumbel_l_sf
