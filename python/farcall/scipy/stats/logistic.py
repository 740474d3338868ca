"""The logistic distribution of mean ``loc``."""

from farcall._core import stats as _stats

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]

cdf = _stats.logistic_cdf
isf = _stats.logistic_isf
logpdf = _stats.logistic_logpdf
pdf = _stats.logistic_pdf
ppf = _stats.logistic_ppf
sf = _stats.logistic_sf
