"""The beta-binomial distribution: binomial, with a beta-distributed probability."""

from farcall._core import stats as _stats

__all__ = ["logpmf", "pmf"]

logpmf = _stats.betabinom_logpmf
pmf = _stats.betabinom_pmf
