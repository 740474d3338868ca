"""Docstrings of functions that farcall.scipy.special takes from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_DOCS = {
    "expi": "The integral of exp(t) / t for t from -infinity to x, as a principal value.",
    "exp1": "The integral of exp(-x * t) / t for t from 1 to infinity; NaN below 0.",
    "expn": """The integral of exp(-x * t) / t**n for t from 1 to infinity.

        ``n`` is a whole number, not negative, and so is ``x`` not; NaN for others. It has no
        derivative with respect to ``n``.
        """,
    "spence": "The integral of log(t) / (1 - t) for t from 1 to x; NaN below 0.",
    "comb": """The number of ways to choose ``k`` of ``N``; 0 outside of 0 <= k <= N.

        Args:
          N, k: the numbers; also fractions.
          repetition: whether an element may be chosen several times.
        """,
    "poch": "z * (z + 1) * … * (z + m - 1); for any ``m``, gamma(z + m) / gamma(z).",
    "bernoulli": """The Bernoulli numbers B_0, …, B_n as floats.

        Raises:
          ValueError: for a negative ``n``.
        """,
    "softmax": "exp(x) / sum(exp(x)) along ``axis``, by default over all elements.",
    "log_softmax": "log(softmax(x)) along ``axis``, computed without underflow.",
    "logit": "log(x / (1 - x)), the inverse of expit.",
    "factorial": "gamma(n + 1), which is 1 * 2 * ... * n for integers; 0 at negative integers.",
    "multigammaln": "The logarithm of the multivariate gamma function of dimension ``d``.",
    "zeta": "The sum of (q + k) ** -x over k >= 0 (Hurwitz zeta); ``q`` is 1 by default.",
    "xlogy": "x * log(y); 0 if x is 0 and y is not NaN.",
    "xlog1py": "x * log1p(y); 0 if x is 0 and y is not NaN.",
    "entr": "-x * log(x); 0 at zero, -infinity for x < 0.",
    "rel_entr": "p * log(p / q); 0 if p is 0, infinity if p or q is negative or q is 0.",
    "kl_div": "p * log(p / q) - p + q.",
    "betainc": """The regularized incomplete beta function I_x(a, b).

        It has no derivatives with respect to ``a`` and ``b``.
        """,
    "gammasgn": "The sign of the gamma function, 1 or -1; NaN where it is undefined.",
    "boxcox": "``(x^lmbda - 1) / lmbda``, or log(x) if ``lmbda`` is 0.",
    "boxcox1p": "``boxcox(1 + x, lmbda)``.",
}

_ROWS = {name: summary for name, _, _, summary in _core.special._elementwise}

document(_core.special, "farcall.scipy.special", {**_DOCS, **_ROWS})
