"""The docstrings of the functions that farcall.scipy.stats has from the core."""

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
# Those that say something else.
_SPECIAL = {
    "norm.logcdf": "The logarithm of cdf, without underflow on the way.",
    "norm.logsf": "The logarithm of sf, without underflow on the way.",
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

        The probability of what is no whole number is 0.
        """,
    "dirichlet.logpdf": """The logarithm of the density at ``x``.

        Args:
          x: [k, …] points of the simplex, or [k - 1, …] all of their coordinates but the last.
          alpha: [k].

        Raises:
          ValueError: for other shapes.
        """,
    "dirichlet.pdf": "The density at ``x``; see logpdf.",
    "multivariate_normal.logpdf": """The logarithm of the density at ``x``.

        Args:
          x: [..., n].
          mean: [..., n], or a number.
          cov: the covariances, [..., n, n]; a number stands for that times the identity.
          allow_singular: must be None.

        Raises:
          ValueError: for shapes that do not fit.
        """,
    "multivariate_normal.pdf": "The density at ``x``; see logpdf.",
}
_SAMPLES = {
    "sem": """The standard error of the mean along an axis: the standard deviation by sqrt(number).

        Args:
          a: numbers.
          axis: along which; None: of all elements.
          ddof: the divisor of the variance is the number less this.
          nan_policy: "propagate", or "omit" to leave nan out.
          keepdims: keep the axis, with size one.
        """,
    "rankdata": """The rank of each element, from 1 on.

        Args:
          a: numbers.
          method: what equal elements get: "average", "min", "max", "dense" (no rank is left
            out), or "ordinal" (ranks of their own, in their order).
          axis: along which; None: of all elements, in one dimension.
          nan_policy: must be "propagate".

        Raises:
          ValueError: for another method.
        """,
}

# The core names functions of distributions after both.
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
