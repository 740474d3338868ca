"""What jaxlib's LAPACK handlers take and return, and how their results are judged.

A Routine describes one call for one matrix; ``batched_operands`` repeats it along leading
dimensions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as scipy_linalg

# Its results depend on arguments in ways that its annotations do not say.
linalg: Any = scipy_linalg

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
M, N, RHS = 6, 4, 3


def char(letter: str) -> np.uint8:
    """An enum attribute: the letter's code in eight bits."""
    return np.uint8(ord(letter))


def is_complex(dtype: Any) -> bool:
    return np.issubdtype(dtype, np.complexfloating)


def real_of(dtype: Any) -> Any:
    return np.dtype(dtype).type(0).real.dtype.type


def complex_of(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64).type


def tolerance(dtype: Any) -> float:
    return 200 * float(np.finfo(dtype).eps)


def assert_close(actual: Any, expected: Any, dtype: Any) -> None:
    expected = np.asarray(expected)
    scale = 1 + (np.abs(expected).max() if expected.size else 0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=scale * tolerance(dtype))


def random(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    values = rng.standard_normal(shape)
    if is_complex(dtype):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def adjoint(a: np.ndarray) -> np.ndarray:
    return a.conj().T


def triangle(a: np.ndarray, uplo: str) -> np.ndarray:
    return np.tril(a) if uplo == "L" else np.triu(a)


Specs = list[tuple[tuple[int, ...], Any]]


@dataclasses.dataclass(frozen=True)
class Routine:
    """One call of ``lapack_<letter><name>_ffi``.

    ``operands(rng, dtype)`` makes the operands of one matrix, ``results(dtype)`` gives the shapes
    and dtypes of its results, ``check(dtype, operands, results)`` compares, ``aliases`` are those
    that JAX uses.
    """

    name: str
    operands: Callable[[np.random.Generator, Any], list[np.ndarray]]
    results: Callable[[Any], Specs]
    check: Callable[[Any, list[np.ndarray], list[np.ndarray]], None]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    aliases: dict[int, int] = dataclasses.field(default_factory=dict)
    letters: str = "sdcz"

    def __str__(self) -> str:
        shown = (
            chr(v) if isinstance(v, np.unsignedinteger) else str(v)
            for v in self.attributes.values()
        )
        return "-".join([self.name, *shown])

    def target(self, letter: str) -> str:
        return f"lapack_{letter}{self.name}_ffi"

    def batched_operands(
        self, rng: np.random.Generator, dtype: Any, batch: tuple[int, ...]
    ) -> list[np.ndarray]:
        count = int(np.prod(batch))
        made = [self.operands(rng, dtype) for _ in range(max(count, 1))]
        columns = (np.stack(column)[:count] for column in zip(*made, strict=True))
        return [column.reshape(batch + column.shape[1:]) for column in columns]

    def check_batch(
        self,
        dtype: Any,
        batch: tuple[int, ...],
        operands: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
    ) -> None:
        expected = [(batch + shape, np.dtype(d)) for shape, d in self.results(dtype)]
        assert [(r.shape, r.dtype) for r in results] == expected
        for index in np.ndindex(*batch):
            self.check(dtype, [o[index] for o in operands], [r[index] for r in results])


def square(rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
    return [random(rng, dtype, N, N)]


def tall(rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
    return [random(rng, dtype, M, N)]


def wide(rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
    return [random(rng, dtype, N, M)]


def hermitian(rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
    a = random(rng, dtype, N, N)
    return [a + adjoint(a)]


def positive_definite(rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
    a = random(rng, dtype, N, N)
    return [a @ adjoint(a) + (N * np.eye(N)).astype(dtype)]


INFO: tuple[tuple[int, ...], Any] = ((), np.int32)


# ---- Cholesky, LU, triangular systems -----------------------------------------------------------


def potrf(uplo: str) -> Routine:
    def check(dtype, operands, results):
        factor, info = results
        assert info == 0
        expected = linalg.cholesky(operands[0], lower=uplo == "L")
        assert_close(triangle(factor, uplo), expected, dtype)

    return Routine(
        "potrf",
        positive_definite,
        lambda dtype: [((N, N), dtype), INFO],
        check,
        {"uplo": char(uplo)},
        {0: 0},
    )


def getrf(operands: Any, m: int, n: int) -> Routine:
    def check(dtype, operands, results):
        lu, pivots, info = results
        assert info == 0
        expected = linalg.get_lapack_funcs("getrf", dtype=dtype)(operands[0])
        assert_close(lu, expected[0], dtype)
        np.testing.assert_array_equal(pivots, expected[1] + 1)

    return Routine(
        "getrf",
        operands,
        lambda dtype: [((m, n), dtype), ((min(m, n),), np.int32), INFO],
        check,
        aliases={0: 0},
    )


def trsm(side: str, uplo: str, trans: str, diag: str) -> Routine:
    shape = (N, RHS) if side == "L" else (RHS, N)

    def operands(rng, dtype):
        return [random(rng, dtype, N, N) + 4 * np.eye(N, dtype=dtype), random(rng, dtype, *shape)]

    def check(dtype, operands, results):
        a = triangle(operands[0], uplo)
        if diag == "U":
            np.fill_diagonal(a, 1)
        a = {"N": a, "T": a.T, "C": adjoint(a)}[trans]
        product = a @ results[0] if side == "L" else results[0] @ a
        assert_close(product, operands[1], dtype)

    codes = {"side": side, "uplo": uplo, "trans_x": trans, "diag": diag}
    return Routine(
        "trsm",
        operands,
        lambda dtype: [(shape, dtype)],
        check,
        {name: char(letter) for name, letter in codes.items()},
        {1: 0},
    )


# ---- QR -----------------------------------------------------------------------------------------


def geqrf(operands: Any, m: int, n: int) -> Routine:
    def check(dtype, operands, results):
        (qr, taus), _ = linalg.qr(operands[0], mode="raw")
        assert_close(results[0], qr, dtype)
        assert_close(results[1], taus, dtype)

    return Routine(
        "geqrf",
        operands,
        lambda dtype: [((m, n), dtype), ((min(m, n),), dtype)],
        check,
        aliases={0: 0},
    )


def geqp3() -> Routine:
    def operands(rng, dtype):
        return [random(rng, dtype, M, N), np.zeros(N, np.int32)]

    def check(dtype, operands, results):
        (qr, taus), _, pivots = linalg.qr(operands[0], mode="raw", pivoting=True)
        assert_close(results[0], qr, dtype)
        np.testing.assert_array_equal(results[1], pivots + 1)
        assert_close(results[2], taus, dtype)

    return Routine(
        "geqp3",
        operands,
        lambda dtype: [((M, N), dtype), ((N,), np.int32), ((N,), dtype)],
        check,
        aliases={0: 0, 1: 1},
    )


def reflectors(rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
    (qr, taus), _ = linalg.qr(random(rng, dtype, M, N), mode="raw")
    return [np.asarray(qr), np.asarray(taus)]


def full_q(qr: np.ndarray, taus: np.ndarray) -> np.ndarray:
    q = np.eye(M, dtype=qr.dtype)
    for i, tau in enumerate(taus):
        v = np.concatenate([np.zeros(i), [1], qr[i + 1 :, i]]).astype(qr.dtype)
        q = q - tau * np.outer(q @ v, v.conj())
    return q


def gqr(prefix: str, letters: str) -> Routine:
    def check(dtype, operands, results):
        assert_close(results[0], full_q(*operands)[:, :N], dtype)

    return Routine(
        f"{prefix}gqr",
        reflectors,
        lambda dtype: [((M, N), dtype)],
        check,
        aliases={0: 0},
        letters=letters,
    )


def mqr(prefix: str, letters: str, left: bool, transpose: bool) -> Routine:
    shape = (M, RHS) if left else (RHS, M)

    def operands(rng, dtype):
        return [*reflectors(rng, dtype), random(rng, dtype, *shape)]

    def check(dtype, operands, results):
        q = full_q(*operands[:2])
        q = adjoint(q) if transpose else q
        assert_close(results[0], q @ operands[2] if left else operands[2] @ q, dtype)

    return Routine(
        f"{prefix}mqr",
        operands,
        lambda dtype: [(shape, dtype)],
        check,
        {"left": left, "transpose": transpose},
        {2: 0},
        letters,
    )


# ---- singular values, eigenvalues ---------------------------------------------------------------


def svd(name: str, mode: str, operands: Any, m: int, n: int) -> Routine:
    k = min(m, n)
    columns, rows = (m, n) if mode == "A" else (k, k)

    def check(dtype, operands, results):
        _, s, u, vt, info = results
        assert info == 0
        expected = linalg.svd(operands[0], compute_uv=False)
        assert_close(s, expected, dtype)
        if mode == "N":
            return
        assert_close((u[:, :k] * s) @ vt[:k], operands[0], dtype)
        assert_close(adjoint(u) @ u, np.eye(columns), dtype)
        assert_close(vt @ adjoint(vt), np.eye(rows), dtype)

    return Routine(
        name,
        operands,
        lambda dtype: [
            ((m, n), dtype),
            ((k,), real_of(dtype)),
            ((m, columns), dtype),
            ((rows, n), dtype),
            INFO,
        ],
        check,
        {"mode": char(mode)},
        {0: 0},
    )


def evd(prefix: str, letters: str, mode: str, uplo: str) -> Routine:
    def operands(rng, dtype):
        # The other triangle holds noise, so reading the wrong one shows.
        a, noise = hermitian(rng, dtype)[0], random(rng, dtype, N, N)
        is_read = triangle(np.ones((N, N), bool), uplo)
        return [np.where(is_read, a, noise)]

    def check(dtype, operands, results):
        vectors, values, info = results
        assert info == 0
        part = triangle(operands[0], uplo)
        a = part + adjoint(part) - np.diag(np.diag(part))
        assert_close(values, np.linalg.eigvalsh(a), dtype)
        if mode == "V":
            assert_close(a @ vectors, vectors * values, dtype)
            assert_close(adjoint(vectors) @ vectors, np.eye(N), dtype)

    return Routine(
        f"{prefix}evd",
        operands,
        lambda dtype: [((N, N), dtype), ((N,), real_of(dtype)), INFO],
        check,
        {"mode": char(mode), "uplo": char(uplo)},
        {0: 0},
        letters,
    )


def trd(prefix: str, letters: str, uplo: str) -> Routine:
    def check(dtype, operands, results):
        _, d, e, taus, info = results
        assert info == 0
        routine = linalg.get_lapack_funcs(f"{prefix}trd", dtype=dtype)
        expected = routine(operands[0], lower=uplo == "L")
        for actual, wanted in zip((d, e, taus), expected[1:4], strict=True):
            assert_close(actual, wanted, dtype)
        assert_close(triangle(results[0], uplo), triangle(expected[0], uplo), dtype)

    return Routine(
        f"{prefix}trd",
        hermitian,
        lambda dtype: [
            ((N, N), dtype),
            ((N,), real_of(dtype)),
            ((N - 1,), real_of(dtype)),
            ((N - 1,), dtype),
            INFO,
        ],
        check,
        {"uplo": char(uplo)},
        {0: 0},
        letters,
    )


def geev(left: bool, right: bool) -> Routine:
    def results(dtype):
        values = [((N,), dtype)] * (1 if is_complex(dtype) else 2)
        return [*values, ((N, N), complex_of(dtype)), ((N, N), complex_of(dtype)), INFO]

    def check(dtype, operands, results):
        *values, vl, vr, info = results
        assert info == 0
        w = values[0] if is_complex(dtype) else values[0] + 1j * values[1]
        expected = np.linalg.eigvals(operands[0])
        assert_close(np.sort_complex(w), np.sort_complex(expected), dtype)
        if right:
            assert_close(operands[0] @ vr, vr * w, dtype)
        if left:
            assert_close(adjoint(vl) @ operands[0], w[:, None] * adjoint(vl), dtype)

    return Routine(
        "geev",
        square,
        results,
        check,
        {"compute_left": char("NV"[left]), "compute_right": char("NV"[right])},
    )


def gees(mode: str) -> Routine:
    def results(dtype):
        values = [((N,), dtype)] * (1 if is_complex(dtype) else 2)
        return [((N, N), dtype), ((N, N), dtype), *values, INFO, INFO]

    def check(dtype, operands, results):
        form, vectors, *values, selected, info = results
        assert (info, selected) == (0, 0)
        w = values[0] if is_complex(dtype) else values[0] + 1j * values[1]
        expected = np.linalg.eigvals(operands[0])
        assert_close(np.sort_complex(w), np.sort_complex(expected), dtype)
        assert not np.tril(form, -2 + is_complex(dtype)).any()
        if mode == "V":
            assert_close(vectors @ form @ adjoint(vectors), operands[0], dtype)

    return Routine("gees", square, results, check, {"mode": char(mode), "sort": char("N")}, {0: 0})


def gehrd() -> Routine:
    def check(dtype, operands, results):
        a, taus, info = results
        assert info == 0
        expected = linalg.get_lapack_funcs("gehrd", dtype=dtype)(operands[0])
        assert_close(a, expected[0], dtype)
        assert_close(taus, expected[1], dtype)

    return Routine(
        "gehrd",
        square,
        lambda dtype: [((N, N), dtype), ((N - 1,), dtype), INFO],
        check,
        {"low": np.int32(1), "high": np.int32(N)},
        {0: 0},
    )


# ---- tridiagonal systems ------------------------------------------------------------------------


def tridiagonal(rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
    dl, d, du = (random(rng, dtype, N) for _ in range(3))
    dl[0] = du[-1] = 0
    return [dl, d + 4, du, random(rng, dtype, N, RHS)]


def dense(dl: np.ndarray, d: np.ndarray, du: np.ndarray) -> np.ndarray:
    return np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)


def gtsv() -> Routine:
    def check(dtype, operands, results):
        *_, x, info = results
        assert info == 0
        assert_close(dense(*operands[:3]) @ x, operands[3], dtype)

    return Routine(
        "gtsv",
        tridiagonal,
        lambda dtype: [*[((N,), dtype)] * 3, ((N, RHS), dtype), INFO],
        check,
        aliases={0: 0, 1: 1, 2: 2, 3: 3},
    )


ORTHOGONAL = (("or", "sd"), ("un", "cz"))
SYMMETRIC = (("sy", "sd"), ("he", "cz"))

ROUTINES = [
    *(potrf(uplo) for uplo in "LU"),
    getrf(square, N, N),
    getrf(tall, M, N),
    getrf(wide, N, M),
    *(
        trsm(side, uplo, trans, diag)
        for side in "LR"
        for uplo, trans, diag in ("LNN", "UNN", "LTN", "UCN", "LNU", "UTU")
    ),
    geqrf(tall, M, N),
    geqrf(wide, N, M),
    geqp3(),
    *(gqr(prefix, letters) for prefix, letters in ORTHOGONAL),
    *(
        mqr(prefix, letters, left, transpose)
        for prefix, letters in ORTHOGONAL
        for left in (True, False)
        for transpose in (True, False)
    ),
    *(
        svd(name, mode, operands, m, n)
        for name in ("gesdd", "gesvd")
        for mode, operands, m, n in (
            ("A", tall, M, N),
            ("S", tall, M, N),
            ("S", wide, N, M),
            ("N", wide, N, M),
        )
    ),
    *(
        evd(prefix, letters, mode, uplo)
        for prefix, letters in SYMMETRIC
        for mode, uplo in ("VL", "VU", "NL")
    ),
    *(trd(prefix, letters, uplo) for prefix, letters in SYMMETRIC for uplo in "LU"),
    *(geev(left, right) for left, right in ((True, True), (False, True), (False, False))),
    *(gees(mode) for mode in "VN"),
    gehrd(),
    gtsv(),
]
