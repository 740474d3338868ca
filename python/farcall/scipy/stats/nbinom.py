"""The negative binomial distribution: failures before the ``n``-th success of probability ``p``."""

from farcall._core import stats as _stats

__all__ = ["logpmf", "pmf"]

logpmf = _stats.nbinom_logpmf
pmf = _stats.nbinom_pmf
