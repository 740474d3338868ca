"""Activation functions, and functions with kinks and jumps."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp

from derivative_rows.row import (
    LARGE,
    REAL,
    SMALL,
    TIES,
    Row,
    half,
    m_ndtr,
    m_weighted,
    of_vector,
    same,
    weighted,
    zero,
)


def m_tanh_gelu(x: Any) -> Any:
    return x * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))) / 2


NETWORKS = [
    Row("relu", lambda m: m.nn.relu, zero, [0.0, -0.0, -1.0]),
    Row("relu above", lambda m: m.nn.relu, same, [1.0, SMALL, LARGE]),
    Row("relu6", lambda m: m.nn.relu6, zero, [0.0, -1.0, 6.0, 7.0]),
    Row("leaky_relu", lambda m: m.nn.leaky_relu, same, [0.0, -0.0, 1.0]),
    Row("elu", lambda m: m.nn.elu, mp.expm1, [0.0, -0.0, -1.0]),
    Row("elu far", lambda m: m.nn.elu, same, [1.0, 1000.0, LARGE]),
    Row(
        "celu",
        lambda m: lambda x: m.nn.celu(x, 2.0),
        lambda x: 2 * mp.expm1(x / 2),
        [0.0, -0.0, -1.0, -3.0],
    ),
    Row("celu far", lambda m: m.nn.celu, same, [1.0, 1000.0, LARGE]),
    Row(
        "selu",
        lambda m: m.nn.selu,
        lambda x: (
            mp.mpf("1.0507009873554804934193349852946")
            * mp.mpf("1.6732632423543772848170429916717")
            * mp.expm1(x)
        ),
        [0.0, -0.0, -1.0],
    ),
    Row(
        "softplus",
        lambda m: m.nn.softplus,
        lambda x: mp.log1p(mp.exp(x)),
        [*REAL, 40.0, -40.0, 1000.0],
    ),
    Row(
        "log_sigmoid",
        lambda m: m.nn.log_sigmoid,
        lambda x: -mp.log1p(mp.exp(-x)),
        [*REAL, 40.0, -40.0],
    ),
    Row("sigmoid", lambda m: m.nn.sigmoid, lambda x: 1 / (1 + mp.exp(-x)), REAL),
    Row("silu", lambda m: m.nn.silu, lambda x: x / (1 + mp.exp(-x)), [*REAL, -40.0, 700.0]),
    Row(
        "mish",
        lambda m: m.nn.mish,
        lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
        [*REAL, 20.0, -20.0, LARGE],
    ),
    Row("gelu", lambda m: m.nn.gelu, m_tanh_gelu, [*REAL, 3.0, -3.0]),
    Row("gelu far", lambda m: m.nn.gelu, same, [1e50, LARGE]),
    Row("gelu far below", lambda m: m.nn.gelu, zero, [-1e50, -LARGE]),
    Row(
        "exact gelu",
        lambda m: lambda x: m.nn.gelu(x, approximate=False),
        lambda x: x * m_ndtr(x),
        [*REAL, 3.0, -3.0],
    ),
    Row("exact gelu far", lambda m: lambda x: m.nn.gelu(x, approximate=False), same, [1e50, LARGE]),
    Row("soft_sign", lambda m: m.nn.soft_sign, lambda x: x / (1 + x), [0.0, 1.0, 1e60]),
    Row(
        "squareplus",
        lambda m: m.nn.squareplus,
        lambda x: (x + mp.sqrt(x * x + 4)) / 2,
        [*REAL, 1e3],
    ),
    Row(
        "log1mexp",
        lambda m: m.nn.log1mexp,
        lambda x: mp.log(-mp.expm1(-x)),
        [math.log(2), 0.5, 1.0, 10.0, 1e-3],
        rtol=1e-8,
    ),
    Row("sparse_plus", lambda m: m.nn.sparse_plus, same, [1.0, 2.0]),
    Row("sparse_plus below", lambda m: m.nn.sparse_plus, zero, [-1.0, -2.0]),
    Row("sparse_plus within", lambda m: m.nn.sparse_plus, lambda x: (x + 1) ** 2 / 4, [0.0, 0.5]),
    Row("sparse_sigmoid", lambda m: m.nn.sparse_sigmoid, lambda x: (x + 1) / 2, [0.0, 0.5]),
    Row("hard_tanh", lambda m: m.nn.hard_tanh, same, [1.0, -1.0, 0.0]),
    Row("hard_sigmoid", lambda m: m.nn.hard_sigmoid, zero, [-3.0, 3.0, 5.0]),
    Row("hard_silu", lambda m: m.nn.hard_silu, lambda x: x, [3.0, 4.0]),
    Row(
        "glu",
        of_vector(lambda m, x: m.nn.glu(x, -1).sum(-1)),
        lambda x, y: x / (1 + mp.exp(-y)),
        [(0.0, 0.0), (1.0, -1.0)],
    ),
    Row(
        "standardize",
        of_vector(lambda m, x: weighted(m.nn.standardize(x, -1))),
        lambda *x: m_weighted(
            [
                (e - mp.fsum(x) / 3)
                / mp.sqrt(mp.fsum(y * y for y in x) / 3 - (mp.fsum(x) / 3) ** 2 + mp.mpf(1e-5))
                for e in x
            ]
        ),
        [(1.0, 2.0, 4.0)],
        rtol=1e-7,
    ),
]

KINKS = [
    Row("abs", lambda m: m.np.abs, same, [0.0, -0.0, 1.0, SMALL]),
    Row("fabs", lambda m: m.np.fabs, same, [0.0, -0.0, 1.0, SMALL]),
    Row("sign", lambda m: m.np.sign, zero, [0.0, -0.0, 1.0]),
    Row("floor", lambda m: m.np.floor, zero, [0.0, 1.0, 1.5]),
    Row("round", lambda m: m.np.round, zero, [0.0, 0.5, 1.5]),
    Row("maximum", lambda m: m.np.maximum, half, TIES),
    Row("minimum", lambda m: m.np.minimum, half, TIES),
    Row("fmax", lambda m: m.np.fmax, lambda x, y: y + 0 * x, TIES),
    Row("clip", lambda m: lambda x: m.lax.clamp(0.0, x, 1.0), zero, [0.0, 1.0, 2.0, -1.0]),
    Row("numpy clip within", lambda m: lambda x: m.np.clip(x, 0.0, 1.0), same, [0.5]),
    Row(
        "remainder",
        lambda m: m.np.remainder,
        lambda x, y: x - mp.floor(x / y + mp.mpf(2) ** -60) * y,
        [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (0.5, 2.0), (1e3, 0.3)],
    ),
    Row(
        "fmod",
        lambda m: m.np.fmod,
        lambda x, y: x - 3 * y * mp.sign(x * y),
        [(7.5, 2.0), (-7.5, 2.0), (6.0, 2.0), (-6.0, 2.0)],
    ),
    Row("heaviside", lambda m: m.np.heaviside, lambda x, y: y + 0 * x, [(0.0, 0.5)]),
    Row("copysign", lambda m: m.np.copysign, lambda x, y: -x + 0 * y, [(1.0, -1.0), (2.0, -0.0)]),
    Row("nan_to_num", lambda m: m.np.nan_to_num, same, [0.0, 1.0]),
]
