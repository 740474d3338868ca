"""The binomial distribution: the number of successes in ``n`` trials of probability ``p``."""

from farcall._core import stats as _stats

__all__ = ["logpmf", "pmf"]

logpmf = _stats.binom_logpmf
pmf = _stats.binom_pmf
