"""The geometric distribution: the number of trials of probability ``p`` up to the first success."""

from farcall._core import stats as _stats

__all__ = ["logpmf", "pmf"]

logpmf = _stats.geom_logpmf
pmf = _stats.geom_pmf
