"""The generalized normal distribution of shape ``beta``."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logpdf", "pdf"]

cdf = _stats.gennorm_cdf
logpdf = _stats.gennorm_logpdf
pdf = _stats.gennorm_pdf
