"""The docstrings of the functions that farcall.scipy.special has from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_DOCS = {
    "logit": "log(x / (1 - x)), the inverse of expit.",
    "factorial": "1 * 2 * ... * n, and gamma(n + 1) between the integers; 0 at negative integers.",
    "multigammaln": "The logarithm of the gamma function of dimension ``d``.",
    "zeta": "The sum of (q + k) ** -x over k from 0; ``q`` is 1 if left out.",
    "xlogy": "x * log(y), 0 where x is 0, unless y is NaN.",
    "xlog1py": "x * log1p(y), 0 where x is 0, unless y is NaN.",
    "entr": "-x * log(x), 0 at zero, minus infinity below.",
    "rel_entr": "p * log(p / q), 0 where p is 0, infinity where either is negative or q is 0.",
    "kl_div": "p * log(p / q) - p + q.",
    "betainc": """The part of beta(a, b) below ``x``: the regularised incomplete beta function.

        It has no derivatives with respect to ``a`` and ``b``.
        """,
    "gammasgn": "The sign of the gamma function: 1 or -1, NaN where it has none.",
    "boxcox": "``(x^lmbda - 1) / lmbda``, and log(x) where ``lmbda`` is 0.",
    "boxcox1p": "``boxcox(1 + x, lmbda)``.",
}

_ROWS = {name: summary for name, _, _, summary in _core.special._elementwise}

document(_core.special, "farcall.scipy.special", {**_DOCS, **_ROWS})
