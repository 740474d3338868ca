"""Docstrings of functions that farcall.scipy.stats takes from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_CONTINUOUS = {
    "cdf": "The probability of at most ``x``.",
    "isf": "The inverse of sf.",
    "logcdf": "The logarithm of cdf.",
    "logpdf": "The logarithm of the density at ``x``.",
    "logsf": "The logarithm of sf.",
    "pdf": "The density at ``x``.",
    "ppf": "The inverse of cdf.",
    "sf": "The probability of more than ``x``.",
}
_DISCRETE = {
    "cdf": "The probability of at most ``k``.",
    "logpmf": "The logarithm of the probability of ``k``.",
    "pmf": "The probability of ``k``.",
}
# Functions whose docstrings differ from the common ones.
_SPECIAL = {
    "norm.logcdf": "The logarithm of cdf, computed without underflow.",
    "norm.logsf": "The logarithm of sf, computed without underflow.",
    "truncnorm.logpdf": "The logarithm of the density at ``x``; nan unless a < b.",
    "expon.ppf": "The inverse of cdf; nan outside of [0, 1].",
    "pareto.ppf": "The inverse of cdf; nan outside of [0, 1].",
    "uniform.ppf": "The inverse of cdf; nan outside of [0, 1].",
    "vonmises.logpdf": """The logarithm of the density at the angle ``x``.

        It is nan for a kappa that is not positive.
        """,
    "vonmises.pdf": "The density at the angle ``x``.",
    "wrapcauchy.logpdf": """The logarithm of the density at the angle ``x`` in [0, 2 pi].

        It is nan unless 0 < c < 1.
        """,
    "wrapcauchy.pdf": "The density at the angle ``x``.",
    "bernoulli.cdf": "The probability of at most ``k``; nan for a ``p`` outside of [0, 1].",
    "bernoulli.ppf": "The least ``k`` whose cdf is at least ``q``; nan outside of [0, 1].",
    "multinomial.logpmf": """The logarithm of the probability of the counts ``x``.

        They lie along the last dimension.
        """,
    "multinomial.pmf": "The probability of the counts ``x``.",
    "poisson.logpmf": """The logarithm of the probability of ``k``.

        The probability of a number that is not an integer is 0.
        """,
    "dirichlet.logpdf": """The logarithm of the density at ``x``.

        Args:
          x: [k, …], points of the simplex, or [k - 1, …], the same without their last coordinate.
          alpha: [k].

        Raises:
          ValueError: for other shapes.
        """,
    "dirichlet.pdf": "The density at ``x``; see logpdf.",
    "multivariate_normal.logpdf": """The logarithm of the density at ``x``.

        Args:
          x: [..., n].
          mean: [..., n], or a number.
          cov: the covariances, [..., n, n]; a number is multiplied by the identity matrix.
          allow_singular: must be None.

        Raises:
          ValueError: for shapes that do not match.
        """,
    "multivariate_normal.pdf": "The density at ``x``; see logpdf.",
}
_SAMPLES = {
    "sem": """The standard error of the mean along an axis: the standard deviation / sqrt(size).

        Args:
          a: an array.
          axis: the axis; None for all elements.
          ddof: the divisor of the variance is the number of elements minus this.
          nan_policy: "propagate", or "omit" to ignore NaN.
          keepdims: whether the axis stays, with size 1.
        """,
    "rankdata": """The rank of each element, starting at 1.

        Args:
          a: an array.
          method: the rank of equal elements: "average", "min", "max", "dense" (like "min", without
            gaps between ranks), or "ordinal" (distinct ranks, in order of position).
          axis: the axis; None for the flattened array.
          nan_policy: must be "propagate".

        Raises:
          ValueError: for an unknown method.
        """,
}

# In the core these functions are named "<distribution>_<function>".
for _name in list(vars(_core.stats)):
    _distribution, _, _function = _name.rpartition("_")
    if not _distribution or _name.startswith("_"):
        continue
    _common = _CONTINUOUS if hasattr(_core.stats, f"{_distribution}_pdf") else _DISCRETE
    _doc = _SPECIAL.get(f"{_distribution}.{_function}") or _common[_function]
    document(
        _core.stats,
        f"farcall.scipy.stats.{_distribution}",
        {_function: _doc},
        prefix=f"{_distribution}_",
    )
document(_core.stats, "farcall.scipy.stats", _SAMPLES)
