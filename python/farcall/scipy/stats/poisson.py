"""The Poisson distribution of mean ``mu``."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logpmf", "pmf"]

cdf = _stats.poisson_cdf
logpmf = _stats.poisson_logpmf
pmf = _stats.poisson_pmf
