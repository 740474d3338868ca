"""The Pareto distribution of shape ``b`` on [loc + scale, inf)."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

cdf = _stats.pareto_cdf
logcdf = _stats.pareto_logcdf
logpdf = _stats.pareto_logpdf
logsf = _stats.pareto_logsf
pdf = _stats.pareto_pdf
ppf = _stats.pareto_ppf
sf = _stats.pareto_sf
