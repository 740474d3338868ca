"""The multinomial distribution: the count of each outcome in ``n`` trials."""

from farcall._core import stats as _stats

__all__ = ["logpmf", "pmf"]

logpmf = _stats.multinomial_logpmf
pmf = _stats.multinomial_pmf
