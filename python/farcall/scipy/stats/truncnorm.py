"""The standard normal distribution truncated to [a, b], then scaled and shifted."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

cdf = _stats.truncnorm_cdf
logcdf = _stats.truncnorm_logcdf
logpdf = _stats.truncnorm_logpdf
logsf = _stats.truncnorm_logsf
pdf = _stats.truncnorm_pdf
sf = _stats.truncnorm_sf
