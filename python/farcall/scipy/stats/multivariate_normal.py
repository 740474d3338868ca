"""The multivariate normal distribution."""

from farcall._core import stats as _stats

__all__ = ["logpdf", "pdf"]

logpdf = _stats.multivariate_normal_logpdf
pdf = _stats.multivariate_normal_pdf
