"""Linear algebra on several threads: the same bits as on one, and other users of OpenBLAS keep
their threads."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import farcall.numpy as fnp
import numpy as np
import pytest
from farcall.scipy import linalg as scipy_linalg
from random_matrices import random

pytestmark = pytest.mark.usefixtures("x64")

# Matrices of one batch, large enough for several threads, and small ones.
SHAPES = ((37, 24, 24), (6, 130, 130), (500, 5, 5))

ROUTINES = {
    "cholesky": lambda x: fnp.linalg.cholesky(x @ fnp.matrix_transpose(x) + 5 * fnp.eye(len(x[0]))),
    "lu": lambda x: scipy_linalg.lu_factor(x),
    "inv": fnp.linalg.inv,
    "solve": lambda x: fnp.linalg.solve(x, x[..., :3]),
    "qr": fnp.linalg.qr,
    "eigh": fnp.linalg.eigh,
    "svd": fnp.linalg.svd,
    "eig": fnp.linalg.eig,
    "schur": scipy_linalg.schur,
    "hessenberg": scipy_linalg.hessenberg,
    "triangular": lambda x: scipy_linalg.solve_triangular(x, x, lower=True),
    "transposed triangular": lambda x: scipy_linalg.solve_triangular(x, x, trans=1),
}


def parts(result) -> list[np.ndarray]:
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ROUTINES)
def test_a_matrix_of_a_batch_has_the_bits_that_it_has_alone(name, shape, dtype):
    matrices = random(shape, dtype)
    together = parts(ROUTINES[name](fnp.asarray(matrices)))
    for i in (0, shape[0] // 2, shape[0] - 1):
        alone = parts(ROUTINES[name](fnp.asarray(matrices[i : i + 1])))
        for part, of_one in zip(together, alone, strict=True):
            np.testing.assert_array_equal(part[i], of_one[0])


# Prints a line for each result: its size and a hash of its bits.
SCRIPT = """
import hashlib, os, sys
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])
import numpy as np
import farcall
import farcall.numpy as fnp
from farcall import jit

farcall.config.update("enable_x64", True)

x = np.random.default_rng(0).standard_normal((5, 300, 300))
for dtype in ("float32", "float64", "complex64"):
    a = fnp.asarray(x.astype(dtype))
    for f in (fnp.linalg.inv, fnp.linalg.eigh, fnp.linalg.svd, fnp.linalg.qr, lambda a: (a @ a,)):
        results = jit(f)(a)
        for part in results if isinstance(results, tuple) else (results,):
            bits = np.asarray(part).tobytes()
            print(dtype, len(bits), hashlib.sha256(bits).hexdigest()[:16])
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_the_number_of_processors_changes_no_bit():
    shown = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, count], check=True, capture_output=True, text=True
        ).stdout
        for count in ("1", "2")
    ]
    assert shown[0].count("\n") > 20
    assert shown[0] == shown[1]


def openblas() -> ctypes.CDLL | None:
    """The OpenBLAS that farcall has loaded; numpy's has other names for its functions."""
    maps = Path("/proc/self/maps").read_text()
    for path in sorted(set(re.findall(r"/\S*openblas\S*", maps))):
        library = ctypes.CDLL(path)
        if hasattr(library, "openblas_get_num_threads"):
            return library
    return None


def test_openblas_keeps_its_number_of_threads_for_others():
    fnp.linalg.inv(np.eye(3, dtype=np.float32))
    library = openblas()
    if library is None:
        pytest.skip("no OpenBLAS is loaded")
    before = library.openblas_get_num_threads()
    try:
        for count in (2, 1):
            library.openblas_set_num_threads(count)
            matrix = fnp.asarray(random((300, 300), "complex64"))
            fnp.linalg.eigh(matrix)
            np.asarray(matrix @ matrix)
            assert library.openblas_get_num_threads() == count
    finally:
        library.openblas_set_num_threads(before)


@pytest.mark.parametrize("sides", [1, 31, 32, 33, 300, 1000])
@pytest.mark.parametrize("trans", [0, 1])
def test_many_right_hand_sides_are_solved_as_in_numpy(sides, trans):
    a = random((300, 300), "float64") + 20 * np.eye(300)
    b = random((300, sides), "float64", seed=1)
    wanted = np.linalg.solve(a.T if trans else a, b)
    np.testing.assert_allclose(fnp.linalg.solve(a.T if trans else a, b), wanted, atol=1e-12)
    factors = scipy_linalg.lu_factor(a)
    np.testing.assert_allclose(scipy_linalg.lu_solve(factors, b, trans=trans), wanted, atol=1e-12)
    triangle = np.tril(a)
    np.testing.assert_allclose(
        scipy_linalg.solve_triangular(triangle, b, lower=True, trans=trans),
        np.linalg.solve(triangle.T if trans else triangle, b),
        atol=1e-12,
    )
