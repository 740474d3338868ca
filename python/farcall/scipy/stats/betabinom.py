"""The beta-binomial distribution: a binomial one whose probability has a beta distribution."""

from farcall._core import stats as _stats

__all__ = ["logpmf", "pmf"]

logpmf = _stats.betabinom_logpmf
pmf = _stats.betabinom_pmf
