"""The Bernoulli distribution: 1 with probability ``p``, else 0."""

from farcall._core import stats as _stats

__all__ = ["cdf", "logpmf", "pmf", "ppf"]

cdf = _stats.bernoulli_cdf
logpmf = _stats.bernoulli_logpmf
pmf = _stats.bernoulli_pmf
ppf = _stats.bernoulli_ppf
