"""Remainders of floats are exact, on every instruction set: numpy's bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import farcall.numpy as fnp
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("x64")

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0)


def operands(kind: str, dtype: str, size: int = 20_011) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(size)
    with np.errstate(all="ignore"):
        if kind == "any bits":
            width = np.dtype(dtype).itemsize
            bits = random.integers(0, 256, (2, size * width), dtype=np.uint8)
            x, y = bits.view(dtype)
        else:
            exponents = random.integers(-4, 5, (2, size))
            x, y = (random.normal(size=(2, size)) * 10.0**exponents).astype(dtype)
        if kind == "beside multiples":
            multiples = random.integers(-(2**30), 2**30, size) >> random.integers(0, 30, size)
            x = (multiples * y.astype("float64")).astype(dtype)
            to = np.where(random.random(size) < 0.5, np.inf, -np.inf).astype(dtype)
            x = np.where(random.random(size) < 0.7, np.nextafter(x, to), x)
    least = np.finfo(dtype).smallest_subnormal
    for values in (x, y):
        for special in (*SPECIAL, least, -least, np.finfo(dtype).max):
            values[random.integers(0, size, 9)] = special
    return x, y


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["any bits", "ordinary", "beside multiples"])
def test_remainders_have_the_bits_of_numpy(kind: str, dtype: str) -> None:
    x, y = operands(kind, dtype)
    with np.errstate(all="ignore"):
        wanted = np.fmod(x, y)
    found = np.asarray(fnp.fmod(x, y))
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), ~numbers)
    bits = f"u{found.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[numbers], wanted.view(bits)[numbers])


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 127, 128, 129, 1000])
def test_remainders_of_any_number_of_elements(size: int) -> None:
    x, y = operands("ordinary", "float32", 2000)
    x, y = x[:size], y[:size]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(fnp.fmod(x, y)), np.fmod(x, y))
        np.testing.assert_array_equal(np.asarray(fnp.fmod(x, x.dtype.type(0.7))), np.fmod(x, 0.7))
        np.testing.assert_array_equal(np.asarray(fnp.fmod(x[0], y)), np.fmod(x[0], y))


@pytest.mark.parametrize("isa", ["baseline", "sse4", "avx2"])
def test_remainders_on_other_instruction_sets(isa: str) -> None:
    tests = f"{Path(__file__)}::test_remainders_have_the_bits_of_numpy"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests],
        env={**os.environ, "FARCALL_ISA": isa},
        cwd=Path(__file__).parent,
        check=True,
    )
