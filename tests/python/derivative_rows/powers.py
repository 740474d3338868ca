"""Powers, roots, quotients; circular and hyperbolic functions."""

from __future__ import annotations

from typing import Any

import mpmath as mp

from derivative_rows.row import INF, LARGE, REAL, SMALL, Limit, Row, m_hypot, with_exponent


def m_atan2(y: Any, x: Any) -> Any:
    """Up to a constant, and without a jump."""
    return mp.atan(y / x) if x < -2 * abs(y) else 2 * mp.atan(y / (m_hypot(x, y) + x))


def m_sinc(x: Any) -> Any:
    return mp.sinc(mp.pi * x)


POWERS = [
    Row(
        "power",
        lambda m: m.np.power,
        lambda x, y: x**y,
        [
            (0.5, 0.0),
            (2.0, 0.0),
            (1.0, 0.0),
            (3.0, -0.0),
            (2.0, 1.0),
            (2.0, -1.0),
            (1.0, 2.0),
            (1.5, 2.5),
            (2.0, 3.0),
            (0.5, -2.0),
        ],
    ),
    *(
        Row(
            f"power to {y}",
            with_exponent(y),
            lambda x, y=y: x ** int(y),
            [0.0, -0.0, 1.0, -2.0, 1e-60],
        )
        for y in (0.0, 1.0, 2.0, 3.0)
    ),
    *(
        Row(f"power to {y}", with_exponent(y), lambda x, y=y: x ** int(y), [1.0, -2.0, 0.5])
        for y in (-1.0, -2.0)
    ),
    *(
        Row(
            f"integer_pow {y}",
            lambda m, y=y: lambda x: m.lax.integer_pow(x, y),
            lambda x, y=y: x**y,
            ([0.0, -0.0] if y >= 0 else []) + [1.0, -1.0, 2.5],
        )
        for y in range(-3, 5)
    ),
    Row(
        "x ** 0.5 + x ** 2.0",
        lambda m: lambda x: x**2.5 + x**2.0,
        lambda x: x ** mp.mpf(2.5) + x**2,
        [0.25, 1.0, 3.0],
    ),
    Row("float_power", lambda m: m.np.float_power, lambda x, y: x**y, [(2.0, 0.0), (1.0, 1.0)]),
    Limit("power to 0.5", with_exponent(0.5), 0.0, (INF, -INF, INF)),
    Row("sqrt", lambda m: m.np.sqrt, mp.sqrt, [1.0, 4.0, 1e-60, 1e60]),
    Row(
        "cbrt", lambda m: m.np.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), [1.0, 8.0, 1e-60, 1e60]
    ),
    Row("rsqrt", lambda m: m.lax.rsqrt, lambda x: 1 / mp.sqrt(x), [1.0, 4.0, 1e-60, 1e60]),
    Limit("sqrt", lambda m: m.np.sqrt, 0.0, (INF, -INF, INF)),
    Limit("cbrt", lambda m: m.np.cbrt, 0.0, (INF, -INF, INF)),
    Row("square", lambda m: m.np.square, lambda x: x * x, REAL),
    Row("reciprocal", lambda m: m.np.reciprocal, lambda x: 1 / x, [1.0, -2.0, 1e-60, 1e60]),
    Row(
        "divide",
        lambda m: m.np.divide,
        lambda x, y: x / y,
        [(0.0, 1.0), (1.0, 1.0), (0.0, -2.0), (1e-100, 1e-80), (1e-160, 1e-90), (1e200, 1e180)],
    ),
]

ROUND = [
    Row(
        "hypot",
        lambda m: m.np.hypot,
        m_hypot,
        [
            (3.0, 4.0),
            (1.0, 1.0),
            (-1.0, 1.0),
            (-2.0, -2.0),
            (0.0, 2.0),
            (2.0, 0.0),
            (-0.0, -3.0),
            (1e-90, 1e-90),
            (1e90, 1e90),
            (1e90, 1e60),
        ],
    ),
    Row(
        "arctan2",
        lambda m: m.np.arctan2,
        m_atan2,
        [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, -1.0), (0.0, -1.0), (-1.0, 0.0), (1e-3, 2.0)],
    ),
    Row(
        "arctan2 far",
        lambda m: m.np.arctan2,
        m_atan2,
        [(SMALL, SMALL), (LARGE, LARGE), (SMALL, 1.0)],
        order=1,
    ),
    Row(
        "arcsin",
        lambda m: m.np.arcsin,
        mp.asin,
        [0.0, -0.0, 0.5, -0.5, 1 - 2.0**-40, -1 + 2.0**-40],
    ),
    Row("arccos", lambda m: m.np.arccos, mp.acos, [0.0, -0.0, 0.5, -0.5, 1 - 2.0**-40]),
    Limit("arcsin", lambda m: m.np.arcsin, 1.0, (INF, INF, INF)),
    Limit("arcsin", lambda m: m.np.arcsin, -1.0, (INF, -INF, INF)),
    Limit("arccos", lambda m: m.np.arccos, 1.0, (-INF, -INF, -INF)),
    Row("arctan", lambda m: m.np.arctan, mp.atan, [*REAL, 1e60]),
    Row("arctanh", lambda m: m.np.arctanh, mp.atanh, [0.0, -0.0, 0.5, 1 - 2.0**-40]),
    Limit("arctanh", lambda m: m.np.arctanh, 1.0, (INF, INF, INF)),
    Row("arcsinh", lambda m: m.np.arcsinh, mp.asinh, REAL),
    Row("arcsinh far", lambda m: m.np.arcsinh, mp.asinh, [LARGE, -LARGE], order=1),
    Row("arccosh", lambda m: m.np.arccosh, mp.acosh, [1 + 2.0**-40, 2.0, 1e60]),
    Limit("arccosh", lambda m: m.np.arccosh, 1.0, (INF, -INF, INF)),
    Row(
        "sinc",
        lambda m: m.np.sinc,
        m_sinc,
        [*REAL, 1e-5, 1e-2, 0.1, 0.3, 0.32, 2.0, -1.5, 10.25],
        rtol=1e-7,
    ),
    Row("tan", lambda m: m.np.tan, mp.tan, REAL),
    Row("tanh", lambda m: m.np.tanh, mp.tanh, [*REAL, LARGE]),
]
