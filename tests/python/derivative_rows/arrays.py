"""Reductions, norms, scatters and linear algebra, as functions of their elements."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np

from derivative_rows.row import (
    THREE,
    TIES,
    Row,
    half,
    m_hypot,
    of_matrix,
    of_vector,
    weighted,
    zero,
)


def m_det(size: int) -> Any:
    return lambda *xs: mp.det(mp.matrix([xs[i * size : (i + 1) * size] for i in range(size)]))


REDUCTIONS = [
    Row(
        "max",
        of_vector(lambda m, x: m.np.max(x, -1)),
        lambda x, y, z: (x + y) / 2,
        [(1.0, 1.0, 0.0), (0.0, -0.0, -1.0)],
    ),
    Row(
        "max of three",
        of_vector(lambda m, x: m.np.max(x, -1)),
        lambda *x: mp.fsum(x) / 3,
        [(1.0, 1.0, 1.0)],
    ),
    Row(
        "min",
        of_vector(lambda m, x: m.np.min(x, -1)),
        lambda x, y, z: (x + y) / 2,
        [(1.0, 1.0, 2.0)],
    ),
    Row(
        "ptp",
        of_vector(lambda m, x: m.np.ptp(x, -1)),
        lambda x, y, z: (x + y) / 2 - z,
        [(1.0, 1.0, 0.0)],
    ),
    Row(
        "prod",
        of_vector(lambda m, x: m.np.prod(x, -1)),
        lambda x, y, z: x * y * z,
        [(0.0, 2.0, 3.0), (0.0, 0.0, 2.0), (0.0, 0.0, 0.0), (-0.0, 1.0, 1.0)],
    ),
    Row(
        "cumprod",
        of_vector(lambda m, x: weighted(m.np.cumprod(x, -1))),
        lambda x, y, z: x + 2 * x * y + 3 * x * y * z,
        [(0.0, 2.0, 3.0), (2.0, 0.0, 0.0), (0.0, 0.0, 0.0)],
    ),
    Row(
        "cumsum",
        of_vector(lambda m, x: weighted(m.np.cumsum(x, -1) ** 2)),
        lambda x, y, z: x * x + 2 * (x + y) ** 2 + 3 * (x + y + z) ** 2,
        [(0.0, 2.0, 3.0)],
    ),
    Row(
        "cummax",
        of_vector(lambda m, x: weighted(m.lax.cummax(x, x.ndim - 1))),
        lambda x, y, z: x + 5 * (x + y) / 2,
        [(1.0, 1.0, 0.0)],
    ),
    Row(
        "var",
        of_vector(lambda m, x: m.np.var(x, -1)),
        lambda *x: mp.fsum((e - mp.fsum(x) / 3) ** 2 for e in x) / 3,
        THREE,
    ),
    Row("var of one", of_vector(lambda m, x: m.np.var(x, -1)), zero, [0.0, 2.0]),
    Row("std of one", of_vector(lambda m, x: m.np.std(x, -1)), zero, [0.0, 2.0]),
    Row(
        "std",
        of_vector(lambda m, x: m.np.std(x, -1, ddof=1)),
        lambda *x: mp.sqrt(mp.fsum((e - mp.fsum(x) / 3) ** 2 for e in x) / 2),
        THREE[1:],
    ),
    Row(
        "nanmean",
        of_vector(
            lambda m, x: m.np.nanmean(m.np.concatenate([x**2, m.np.full_like(x, math.nan)], -1), -1)
        ),
        lambda *x: mp.fsum(e * e for e in x) / 3,
        [(0.0, 1.0, 1.0)],
    ),
    Row(
        "nansum",
        of_vector(lambda m, x: m.np.nansum(x**3, -1)),
        lambda *x: mp.fsum(e**3 for e in x),
        [(0.0, 1.0, 1.0)],
    ),
    Row(
        "nanvar",
        of_vector(lambda m, x: m.np.nanvar(x, -1)),
        lambda *x: mp.fsum((e - mp.fsum(x) / 3) ** 2 for e in x) / 3,
        THREE,
    ),
    Row(
        "median",
        of_vector(lambda m, x: m.np.median(x**2, -1)),
        lambda x, y, z: x * x,
        [(2.0, 1.0, 3.0)],
    ),
    Row(
        "quantile",
        of_vector(lambda m, x: m.np.quantile(x**2, 0.75, -1)),
        lambda x, y, z: (x * x + z * z) / 2,
        [(2.0, 1.0, 3.0)],
    ),
    Row(
        "sort",
        of_vector(lambda m, x: weighted(m.np.sort(x**3, -1))),
        lambda x, y, z: 2 * x**3 + 3 * y**3 + z**3,
        [(1.0, 1.0, 0.0), (2.0, 3.0, 2.0 - 1)],
    ),
    Row(
        "norm",
        of_vector(lambda m, x: m.np.linalg.norm(x, axis=-1)),
        m_hypot,
        [(3.0, 4.0, 0.0), (1.0, 1.0, 1.0), (-1.0, 0.0, 0.0)],
    ),
    Row(
        "norm 1",
        of_vector(lambda m, x: m.np.linalg.norm(x, 1, axis=-1)),
        lambda x, y, z: x + y + z,
        [(0.0, 1.0, 2.0)],
    ),
    Row(
        "norm inf",
        of_vector(lambda m, x: m.np.linalg.norm(x, np.inf, axis=-1)),
        lambda x, y, z: (x + y) / 2,
        [(1.0, 1.0, 0.0)],
    ),
    Row(
        "norm 3",
        of_vector(lambda m, x: m.np.linalg.norm(x, 3, axis=-1)),
        lambda *x: mp.fsum(abs(e) ** 3 for e in x) ** (mp.mpf(1) / 3),
        [(1.0, 2.0, 3.0), (-1.0, 2.0, -3.0)],
    ),
    Row(
        "norm 3 with a zero",
        of_vector(lambda m, x: m.np.linalg.norm(x, 3, axis=-1)),
        lambda *x: mp.fsum(abs(e) ** 3 for e in x) ** (mp.mpf(1) / 3),
        [(0.0, 2.0, 3.0)],
        order=2,
    ),
    Row(
        "norm 4",
        of_vector(lambda m, x: m.np.linalg.norm(x, 4, axis=-1)),
        lambda *x: mp.fsum(abs(e) ** 4 for e in x) ** (mp.mpf(1) / 4),
        [(0.0, 2.0, 3.0), (0.0, 0.0, 1.0)],
    ),
    Row("scatter max", lambda m: lambda x, y: m.np.stack([x, x]).at[0].max(y)[0], half, TIES),
    Row(
        "scatter mul",
        lambda m: lambda x, y: m.np.stack([x, x]).at[0].mul(y, unique_indices=True)[0],
        lambda x, y: x * y,
        [(0.0, 0.0), (0.0, 2.0)],
    ),
    Row(
        "scatter set",
        lambda m: lambda x, y: (m.np.stack([x, x]).at[0].set(y) ** 3).sum(0),
        lambda x, y: x**3 + y**3,
        [(0.0, 0.0), (1.0, 2.0)],
    ),
]

MATRICES = [
    Row(
        "det 2",
        of_matrix(2, lambda m, x: m.np.linalg.det(x)),
        m_det(2),
        [(1.0, 2.0, 2.0, 4.0), (0.0, 0.0, 0.0, 0.0)],
    ),
    Row(
        "det 4",
        lambda m: (
            lambda a, b, c: m.np.linalg.det(
                m.np.stack(
                    [a, b, c, c * 0, b, a * 0 + 1, a, b, c, a, c + 1, b, c * 0, b, a, c + 2], -1
                ).reshape((*a.shape, 4, 4))
            )
        ),
        lambda a, b, c: m_det(4)(a, b, c, 0, b, 1, a, b, c, a, c + 1, b, 0, b, a, c + 2),
        [(1.0, 2.0, 0.5), (2.0, 1.0, -1.0)],
        rtol=1e-7,
        atol=1e-9,
    ),
    Row(
        "det 4 of rank 3",
        lambda m: (
            lambda a, b: m.np.linalg.det(
                m.np.stack(
                    [
                        a,
                        b,
                        a * 0,
                        a * 0,
                        b,
                        a,
                        a * 0,
                        a * 0,
                        a * 0,
                        a * 0,
                        a,
                        a * 0 + 1,
                        a * 0,
                        a * 0,
                        a * 0 + 1,
                        b,
                    ],
                    -1,
                ).reshape((*a.shape, 4, 4))
            )
        ),
        lambda a, b: m_det(4)(a, b, 0, 0, b, a, 0, 0, 0, 0, a, 1, 0, 0, 1, b),
        [(2.0, 0.5), (2.0, 1.0)],
        rtol=1e-7,
        atol=1e-9,
    ),
    Row(
        "det 4 of rank 2",
        lambda m: (
            lambda a, b: m.np.linalg.det(
                m.np.stack(
                    [
                        a,
                        b,
                        a * 0,
                        a * 0,
                        b,
                        a,
                        a * 0,
                        a * 0,
                        a * 0,
                        a * 0,
                        a,
                        a * 0 + 1,
                        a * 0,
                        a * 0,
                        a * 0 + 1,
                        b,
                    ],
                    -1,
                ).reshape((*a.shape, 4, 4))
            )
        ),
        lambda a, b: m_det(4)(a, b, 0, 0, b, a, 0, 0, 0, 0, a, 1, 0, 0, 1, b),
        [(1.0, 1.0)],
        rtol=1e-7,
        atol=1e-9,
    ),
    Row(
        "slogdet",
        of_matrix(2, lambda m, x: m.np.linalg.slogdet(x)[1]),
        lambda *x: mp.log(abs(m_det(2)(*x))),
        [(1.0, 2.0, 3.0, 4.0), (1.0, 0.0, 0.0, 1.0)],
        rtol=1e-7,
        atol=1e-9,
    ),
    Row(
        "eigvalsh",
        lambda m: (
            lambda a, b, c: weighted(
                m.np.linalg.eigvalsh(m.np.stack([a, b, b, c], -1).reshape((*a.shape, 2, 2)))
            )
        ),
        lambda a, b, c: 3 * (a + c) / 2 + mp.sqrt((a - c) ** 2 + 4 * b * b) / 2,
        [(1.0, 0.0, 2.0), (1.0, 2.0, 3.0)],
        rtol=1e-7,
        atol=1e-9,
    ),
    Row(
        "eigvalsh of equal ones",
        lambda m: (
            lambda a, b, c: m.np.linalg.eigvalsh(
                m.np.stack([a, b, b, c], -1).reshape((*a.shape, 2, 2))
            ).sum(-1)
        ),
        lambda a, b, c: a + c,
        [(1.0, 0.0, 1.0)],
        order=1,
    ),
    Row(
        "frobenius",
        of_matrix(2, lambda m, x: m.np.linalg.norm(x, "fro", axis=(-2, -1))),
        m_hypot,
        [(1.0, 0.0, 0.0, 1.0)],
        rtol=1e-7,
        atol=1e-9,
    ),
    Row(
        "nuclear",
        of_matrix(2, lambda m, x: m.np.linalg.norm(x, "nuc", axis=(-2, -1))),
        lambda a, b, c, d: mp.sqrt(a * a + b * b + c * c + d * d + 2 * abs(a * d - b * c)),
        [(1.0, 2.0, 3.0, 5.0), (1.0, 0.0, 0.0, 2.0)],
        rtol=1e-7,
        atol=1e-9,
    ),
    Row(
        "nuclear of equal ones",
        of_matrix(2, lambda m, x: m.np.linalg.norm(x, "nuc", axis=(-2, -1))),
        lambda a, b, c, d: mp.sqrt(a * a + b * b + c * c + d * d + 2 * abs(a * d - b * c)),
        [(1.0, 0.0, 0.0, 1.0)],
        order=1,
        rtol=1e-7,
        atol=1e-9,
    ),
]
