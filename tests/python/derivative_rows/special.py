"""Exponentials, logarithms and special functions."""

from __future__ import annotations

from typing import Any

import mpmath as mp

from derivative_rows.row import (
    INF,
    REAL,
    SMALL,
    THREE,
    TIES,
    Limit,
    Row,
    m_log_add,
    m_ndtr,
    m_weighted,
    of_vector,
    weighted,
)


def m_softmax(*xs: Any) -> list[Any]:
    terms = [mp.exp(x) for x in xs]
    return [t / mp.fsum(terms) for t in terms]


def m_boxcox(x: Any, p: Any) -> Any:
    return mp.log(x) if p == 0 else mp.expm1(p * mp.log(x)) / p


FACTORIAL = [0.0, 1.0, 2.0, 0.5, -1.5]
BESSEL = [0.0, 1e-8, -1e-4, 0.3, 0.999, 1.001, -3.0]

EXPONENTIAL = [
    Row(
        "logaddexp",
        lambda m: m.np.logaddexp,
        m_log_add,
        [*TIES, (-2.0, 3.0), (700.0, 700.0), (1e3, -1e3), (-40.0, 0.0)],
    ),
    Row(
        "logaddexp2",
        lambda m: m.np.logaddexp2,
        lambda x, y: mp.log(2**x + 2**y, 2),
        [*TIES, (-2.0, 3.0), (900.0, 900.0)],
    ),
    Row("log1p", lambda m: m.np.log1p, mp.log1p, [0.0, -0.0, 1.0, -0.5, SMALL]),
    Limit("log1p", lambda m: m.np.log1p, -1.0, (INF, -INF, INF)),
    Limit("log", lambda m: m.np.log, 0.0, (INF, -INF, INF)),
    Row("expm1", lambda m: m.np.expm1, mp.expm1, [*REAL, 30.0]),
    Row("exp2", lambda m: m.np.exp2, lambda x: mp.mpf(2) ** x, REAL),
    Row("log2", lambda m: m.np.log2, lambda x: mp.log(x, 2), [1.0, 2.0, 0.3]),
    Row("log10", lambda m: m.np.log10, mp.log10, [1.0, 2.0, 0.3]),
    Row("erf", lambda m: m.lax.erf, mp.erf, [*REAL, 3.0]),
    Row("erfc", lambda m: m.lax.erfc, mp.erfc, [*REAL, 3.0, 10.0]),
    Row("erf_inv", lambda m: m.lax.erf_inv, mp.erfinv, [0.0, -0.0, 0.5, -0.5, 0.99], rtol=1e-6),
    Row("logistic", lambda m: m.lax.logistic, lambda x: 1 / (1 + mp.exp(-x)), [*REAL, 3.0, -40.0]),
    Row("logsumexp", of_vector(lambda m, x: m.nn.logsumexp(x, -1)), m_log_add, THREE),
    Row(
        "logmeanexp",
        of_vector(lambda m, x: m.nn.logmeanexp(x, -1)),
        lambda *x: m_log_add(*x) - mp.log(3),
        THREE,
    ),
    Row(
        "cumlogsumexp",
        of_vector(lambda m, x: weighted(m.lax.cumlogsumexp(x, x.ndim - 1))),
        lambda a, b, c: m_weighted([a, m_log_add(a, b), m_log_add(a, b, c)]),
        THREE,
    ),
    Row(
        "softmax",
        of_vector(lambda m, x: weighted(m.nn.softmax(x, -1))),
        lambda *x: m_weighted(m_softmax(*x)),
        THREE,
    ),
    Row(
        "log_softmax",
        of_vector(lambda m, x: weighted(m.nn.log_softmax(x, -1))),
        lambda *x: m_weighted([each - m_log_add(*x) for each in x]),
        THREE,
    ),
]

SPECIAL = [
    Row(
        "xlogy",
        lambda m: m.special.xlogy,
        lambda x, y: x * mp.log(y),
        [(0.0, 1.0), (0.0, 2.0), (-0.0, 0.5), (1.0, 1.0), (2.0, 0.25), (SMALL, 2.0)],
    ),
    Row(
        "xlog1py",
        lambda m: m.special.xlog1py,
        lambda x, y: x * mp.log1p(y),
        [(0.0, 1.0), (0.0, 0.0), (-0.0, -0.5), (1.0, 0.0), (2.0, SMALL)],
    ),
    Row("entr", lambda m: m.special.entr, lambda x: -x * mp.log(x), [1.0, 0.5, 2.0, 1e-60]),
    Limit("entr", lambda m: m.special.entr, 0.0, (INF, -INF, INF)),
    Row(
        "rel_entr",
        lambda m: m.special.rel_entr,
        lambda p, q: p * mp.log(p / q),
        [(1.0, 1.0), (0.5, 2.0)],
    ),
    Row(
        "kl_div",
        lambda m: m.special.kl_div,
        lambda p, q: p * mp.log(p / q) - p + q,
        [(1.0, 1.0), (0.5, 2.0)],
    ),
    Row(
        "boxcox",
        lambda m: m.special.boxcox,
        m_boxcox,
        [
            (2.0, 0.0),
            (1.0, 0.0),
            (0.5, -0.0),
            (2.0, 1.0),
            (1.0, 2.0),
            (3.0, 1e-6),
            (0.1, -1e-3),
            (2.0, 0.5),
        ],
        rtol=1e-6,
    ),
    Row(
        "boxcox1p",
        lambda m: m.special.boxcox1p,
        lambda x, p: m_boxcox(1 + x, p),
        [(1.0, 0.0), (0.0, 0.0), (-0.5, -0.0), (1.0, 1.0), (0.0, 2.0), (2.0, 1e-6)],
        rtol=1e-6,
    ),
    Row(
        "i0e",
        lambda m: m.special.i0e,
        lambda x: mp.exp(-abs(x)) * mp.besseli(0, x),
        [1.0, -1.0, 0.1, 2.0, 30.0],
        rtol=1e-7,
    ),
    Row(
        "i1e",
        lambda m: m.special.i1e,
        lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
        [1.0, -1.0, 0.1, 2.0, 30.0],
        rtol=1e-7,
    ),
    *(
        Row(
            f"gammainc of {a}",
            lambda m, a=a: lambda x: m.special.gammainc(m.np.full_like(x, a), x),
            lambda x, a=a: 1 - mp.gammainc(a, x, regularized=True),
            ([0.0] if a in (1, 2, 3) else []) + [0.5, 2.0, 1e-3],
            rtol=1e-7,
        )
        for a in (1, 2, 3, 2.5, 300)
    ),
    *(
        Row(
            f"gammaincc of {a}",
            lambda m, a=a: lambda x: m.special.gammaincc(m.np.full_like(x, a), x),
            lambda x, a=a: mp.gammainc(a, x, regularized=True),
            [0.0, 0.5, 2.0],
            rtol=1e-7,
        )
        for a in (1, 2, 3)
    ),
    *(
        Row(
            f"betainc of {a} and {b}",
            lambda m, a=a, b=b: (
                lambda x: m.special.betainc(m.np.full_like(x, a), m.np.full_like(x, b), x)
            ),
            lambda x, a=a, b=b: (
                mp.quad(lambda t: t ** (a - 1) * (1 - t) ** (b - 1), [0, x]) / mp.beta(a, b)
            ),
            [0.0, 0.25, 1.0],
            rtol=1e-7,
        )
        for a, b in ((1, 1), (1, 2), (2, 1), (2, 3), (3, 2))
    ),
    Row("gammaln", lambda m: m.special.gammaln, mp.loggamma, [1.0, 2.0, 0.5, 3.0, 1e-3], rtol=1e-7),
    Row("digamma", lambda m: m.special.digamma, mp.digamma, [1.0, 2.0, 0.5, 3.0], rtol=1e-7),
    Row("gamma", lambda m: m.special.gamma, mp.gamma, [1.0, 2.0, 0.5, 3.0, -0.5, -1.5], rtol=1e-7),
    Row("factorial", lambda m: m.special.factorial, mp.factorial, FACTORIAL, rtol=1e-7),
    Row("beta", lambda m: m.special.beta, mp.beta, [(1.0, 1.0), (2.0, 1.0), (0.5, 3.0)], rtol=1e-7),
    Row(
        "betaln",
        lambda m: m.special.betaln,
        lambda a, b: mp.log(mp.beta(a, b)),
        [(1.0, 1.0), (2.0, 1.0)],
        rtol=1e-7,
    ),
    Row("ndtr", lambda m: m.special.ndtr, m_ndtr, [*REAL, 3.0, -3.0, -20.0]),
    Row(
        "log_ndtr",
        lambda m: m.special.log_ndtr,
        lambda x: mp.log(m_ndtr(x)),
        [*REAL, 3.0, 10.0, 30.0, 50.0, -3.0, -20.0, -30.0],
        rtol=1e-5,
    ),
    Row(
        "ndtri",
        lambda m: m.special.ndtri,
        lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1),
        [0.5, 0.25, 0.75, 0.01],
        rtol=1e-6,
    ),
    Row("i0", lambda m: m.special.i0, lambda x: mp.besseli(0, x), BESSEL),
    Row("i1", lambda m: m.special.i1, lambda x: mp.besseli(1, x), BESSEL),
    Row("logit", lambda m: m.special.logit, lambda x: mp.log(x / (1 - x)), [0.5, 0.25, 1e-60]),
    Row(
        "multigammaln",
        lambda m: lambda x: m.special.multigammaln(x, 2),
        lambda x: mp.loggamma(x) + mp.loggamma(x - mp.mpf(1) / 2),
        [1.0, 2.0, 3.5],
        rtol=1e-7,
    ),
]
