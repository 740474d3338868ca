"""Every handler that jaxlib ships for the CPU, called through farcall, compared with scipy."""

from __future__ import annotations

import re
from typing import Any

import farcall as fc
import numpy as np
import pytest
import scipy.sparse
from lapack_routines import DTYPES, INFO, ROUTINES, Routine, assert_close, char, dense, tridiagonal

pytest.importorskip("jaxlib")
from jaxlib import cpu_sparse, lapack
from jaxlib.cpu import _lapack

BATCHES = [(), (3,), (2, 2), (0,)]
CASES = [(routine, letter) for routine in ROUTINES for letter in routine.letters]
SPARSE = "cpu_csr_sparse_dense_ffi"
PERTURBED = "tridiagonal_solve_perturbed_ffi"


def registrations() -> list[tuple[str, Any, int]]:
    _lapack.initialize()
    return [*lapack.registrations()["cpu"], *cpu_sparse.registrations()["cpu"]]


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    for name, capsule, api_version in registrations():
        fc.ffi.register_ffi_target(name, capsule, platform="cpu", api_version=api_version)


def column_major(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def matrix_layouts(shapes: list[tuple[int, ...]], rank: int) -> list[tuple[int, ...] | None]:
    """Matrices lie column by column; vectors and numbers as usual."""
    return [column_major(rank) if len(shape) == rank else None for shape in shapes]


def ffi_call(
    target: str, operands: list[np.ndarray], results: list[Any], aliases: dict[int, int]
) -> Any:
    rank = max(o.ndim for o in operands)
    return fc.ffi.ffi_call(
        target,
        results,
        input_layouts=matrix_layouts([o.shape for o in operands], rank),
        output_layouts=matrix_layouts([r.shape for r in results], rank),
        input_output_aliases=aliases,
    )


def lapack_call(
    routine: Routine, letter: str, operands: list[np.ndarray], batch: tuple[int, ...] = ()
) -> Any:
    results = [
        fc.ShapeDtypeStruct(batch + shape, dtype)
        for shape, dtype in routine.results(DTYPES[letter])
    ]
    return ffi_call(routine.target(letter), operands, results, routine.aliases)


pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize(("routine", "letter"), CASES, ids=str)
def test_agrees_with_scipy(routine: Routine, letter: str, batch: tuple[int, ...]) -> None:
    dtype = DTYPES[letter]
    operands = routine.batched_operands(np.random.default_rng(0), dtype, batch)
    before = [operand.copy() for operand in operands]
    call = lapack_call(routine, letter, operands, batch)
    arrays = [fc.numpy.asarray(operand) for operand in operands]
    eager = [np.asarray(r) for r in call(*arrays, **routine.attributes)]
    routine.check_batch(dtype, batch, operands, eager)

    # The handler wrote into copies of what it was given, aliased or not.
    for array, operand, copy in zip(arrays, operands, before, strict=True):
        np.testing.assert_array_equal(np.asarray(array), copy)
        np.testing.assert_array_equal(operand, copy)

    jitted = fc.jit(lambda *xs: call(*xs, **routine.attributes))(*arrays)
    leaves_contents_open = routine.name in ("geev", "gesdd", "gesvd", "gees")
    if leaves_contents_open:  # the vectors that were not asked for hold anything
        routine.check_batch(dtype, batch, operands, [np.asarray(r) for r in jitted])
    else:
        for first, second in zip(eager, jitted, strict=True):
            np.testing.assert_array_equal(first, np.asarray(second))


@pytest.mark.parametrize("letter", "sdcz")
def test_a_jitted_function_of_several_calls(letter: str) -> None:
    """Least squares: factors, applies Q to the right-hand side, solves; layouts agree."""
    dtype = DTYPES[letter]
    kind = "un" if letter in "cz" else "or"
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((6, 4)).astype(dtype), rng.standard_normal((6, 3)).astype(dtype)

    def solve(a: Any, b: Any) -> Any:
        struct = fc.ShapeDtypeStruct
        qr, taus = ffi_call(
            f"lapack_{letter}geqrf_ffi",
            [a],
            [struct((6, 4), dtype), struct((4,), dtype)],
            {0: 0},
        )(a)
        (c,) = ffi_call(
            f"lapack_{letter}{kind}mqr_ffi", [qr, taus, b], [struct((6, 3), dtype)], {2: 0}
        )(qr, taus, b, left=True, transpose=True)
        (x,) = ffi_call(
            f"lapack_{letter}trsm_ffi", [qr[:4], c[:4]], [struct((4, 3), dtype)], {1: 0}
        )(qr[:4], c[:4], side=char("L"), uplo=char("U"), trans_x=char("N"), diag=char("N"))
        return x

    expected = np.linalg.lstsq(a, b)[0]
    assert_close(fc.jit(solve)(a, b), expected, dtype)
    assert_close(solve(fc.numpy.asarray(a), fc.numpy.asarray(b)), expected, dtype)


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_perturbed_tridiagonal_solve(dtype: Any, batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    count = int(np.prod(batch))
    made = [tridiagonal(rng, dtype) for _ in range(max(count, 1))]
    operands = [
        np.stack(column)[:count].reshape(batch + column[0].shape)
        for column in zip(*made, strict=True)
    ]
    result = fc.ShapeDtypeStruct(operands[3].shape, dtype)
    call = ffi_call(PERTURBED, operands, [result], {})
    for run in (call, fc.jit(lambda *xs: call(*xs))):
        (x,) = run(*operands)
        for index in np.ndindex(*batch):
            *diagonals, b = (o[index] for o in operands)
            assert_close(dense(*diagonals) @ np.asarray(x)[index], b, dtype)


@pytest.mark.parametrize("columns", [None, 1, 4])
@pytest.mark.parametrize(
    "dtype", [np.int32, np.int64, np.float32, np.float64, np.complex64, np.complex128]
)
def test_sparse_times_dense(dtype: Any, columns: int | None) -> None:
    rng = np.random.default_rng(0)
    matrix: Any = scipy.sparse.random(7, 5, density=0.4, format="csr", rng=rng)
    matrix.data = rng.integers(-9, 9, matrix.nnz).astype(dtype)
    shape = (5,) if columns is None else (5, columns)
    right = rng.integers(-9, 9, shape).astype(dtype)
    call = fc.ffi.ffi_call(SPARSE, fc.ShapeDtypeStruct((7, *shape[1:]), dtype))
    operands = [matrix.data, matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), right]
    np.testing.assert_array_equal(np.asarray(call(*operands)), matrix @ right)
    np.testing.assert_array_equal(np.asarray(fc.jit(call)(*operands)), matrix @ right)


# ---- what goes wrong ----------------------------------------------------------------------------


def info_of(
    target: str, operands: list[np.ndarray], shapes: list[Any], **attributes: Any
) -> list[int]:
    batch = operands[-1].shape[:-2]
    results = [fc.ShapeDtypeStruct(batch + shape, dtype) for shape, dtype in [*shapes, INFO]]
    call = ffi_call(target, operands, results, {})
    eager = np.asarray(call(*operands, **attributes)[-1])
    jitted = np.asarray(fc.jit(lambda *xs: call(*xs, **attributes))(*operands)[-1])
    np.testing.assert_array_equal(eager, jitted)
    return eager.ravel().tolist()


@pytest.mark.parametrize("letter", "sdcz")
def test_info_says_which_matrix_failed_and_where(letter: str) -> None:
    dtype = DTYPES[letter]
    eye = np.eye(3, dtype=dtype)
    indefinite = np.diag([1, 1, -1]).astype(dtype)
    singular = np.diag([1, 0, 1]).astype(dtype)
    assert info_of(
        f"lapack_{letter}potrf_ffi",
        [np.stack([eye, indefinite, -eye])],
        [((3, 3), dtype)],
        uplo=char("L"),
    ) == [0, 3, 1]
    assert info_of(
        f"lapack_{letter}getrf_ffi",
        [np.stack([eye, singular])],
        [((3, 3), dtype), ((3,), np.int32)],
    ) == [0, 2]
    zeros = np.zeros(3, dtype)
    assert info_of(
        f"lapack_{letter}gtsv_ffi",
        [zeros, zeros, zeros, np.ones((3, 1), dtype)],
        [*[((3,), dtype)] * 3, ((3, 1), dtype)],
    ) == [1]


def potrf_call(dtype: Any = np.float64, results: int = 2) -> Any:
    specs = [fc.ShapeDtypeStruct((3, 3), dtype), fc.ShapeDtypeStruct((), np.int32)]
    return fc.ffi.ffi_call("lapack_dpotrf_ffi", specs[:results])


FAILURES = {
    "operand dtype": (
        lambda: potrf_call()(np.eye(3, dtype=np.float32), uplo=char("L")),
        r"Wrong buffer dtype: expected F64 but got F32",
    ),
    "result dtype": (
        lambda: potrf_call(np.float32)(np.eye(3), uplo=char("L")),
        r"Wrong buffer dtype: expected F64 but got F32",
    ),
    "attribute dtype": (
        lambda: potrf_call()(np.eye(3), uplo=ord("L")),
        r"Wrong scalar data type: expected U8 but got S64",
    ),
    "attribute kind": (
        lambda: potrf_call()(np.eye(3), uplo="L"),
        r"Wrong attribute type: expected scalar but got string",
    ),
    "attribute missing": (
        lambda: potrf_call()(np.eye(3)),
        r"Wrong number of attributes: expected 1 but got 0",
    ),
    "operand count": (
        lambda: potrf_call()(np.eye(3), np.eye(3), uplo=char("L")),
        r"Wrong number of arguments: expected 1 but got 2",
    ),
    "result count": (
        lambda: potrf_call(results=1)(np.eye(3), uplo=char("L")),
        r"Wrong number of results: expected 2 but got 1",
    ),
}


@pytest.mark.parametrize("run", [lambda f: f, fc.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("case", FAILURES)
def test_a_call_that_does_not_fit_says_why(case: str, run: Any) -> None:
    call, text = FAILURES[case]
    with pytest.raises(fc.FfiError, match=text) as caught:
        run(call)()
    assert caught.value.code == "INVALID_ARGUMENT"
    assert caught.value.target_name == "lapack_dpotrf_ffi"
    assert isinstance(caught.value, RuntimeError)
    assert re.search('ffi target "lapack_dpotrf_ffi"', str(caught.value))

    # The process and the target are as good as before.
    factor, info = potrf_call()(4 * np.eye(3), uplo=char("L"))
    np.testing.assert_array_equal(np.asarray(factor), 2 * np.eye(3))
    assert int(info) == 0


def test_the_sparse_product_refuses_dtypes_that_it_does_not_have() -> None:
    call = fc.ffi.ffi_call(SPARSE, fc.ShapeDtypeStruct((1,), np.float16))
    one = np.ones(1, np.float16)
    with pytest.raises(fc.FfiError, match="Invalid data type") as caught:
        call(one, np.array([0, 1], np.int32), np.zeros(1, np.int32), one)
    assert caught.value.target_name == SPARSE


# ---- the same bits as JAX -----------------------------------------------------------------------


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("name", ["potrf", "getrf", "gehrd"])
def test_same_bits_as_in_jax(name: str, letter: str) -> None:
    jax = pytest.importorskip("jax")
    dtype = DTYPES[letter]
    routine = next(r for r in ROUTINES if r.name == name)
    operands = routine.batched_operands(np.random.default_rng(2), dtype, (3,))
    results = lapack_call(routine, letter, operands, (3,))(*operands, **routine.attributes)
    with fc.enable_x64(True), jax.enable_x64(True):
        if name == "potrf":
            expected = [jax.lax.linalg.cholesky(operands[0], symmetrize_input=False)]
            results = [np.tril(np.asarray(results[0]))]
        elif name == "getrf":
            lu, pivots, _ = jax.lax.linalg.lu(operands[0])
            expected = [lu, np.asarray(pivots) + 1]
        else:
            expected = list(jax.lax.linalg.hessenberg(*operands))
        expected = [np.asarray(e) for e in expected]
    for actual, wanted in zip(results, expected, strict=False):
        np.testing.assert_array_equal(np.asarray(actual), wanted)


def test_no_handler_is_forgotten() -> None:
    covered = {routine.target(letter) for routine, letter in CASES} | {PERTURBED, SPARSE}
    assert {name for name, _, _ in registrations()} == covered
    assert all(api_version == 1 for _, _, api_version in registrations())
