"""Powers of integers wrap, and are 1, -1 or 0 for negative exponents."""

from __future__ import annotations

import farcall as fc
import numpy as np
import pytest
from farcall import lax


def power(base: int, exponent: int, dtype: str) -> int:
    """The power modulo the number of values of the dtype."""
    if exponent < 0:
        return 0 if base not in (1, -1) else base ** (exponent % 2)
    bits = np.iinfo(dtype).bits
    found = pow(base, exponent, 1 << bits)
    return found - (1 << bits) if found > np.iinfo(dtype).max else found


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_powers_are_those_of_python_modulo_two_to_the_number_of_bits(dtype: str, x64: None) -> None:
    random = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    size = 1001
    bases = random.integers(limits.min, limits.max, size, dtype, endpoint=True)
    exponents = random.integers(limits.min, limits.max, size, dtype, endpoint=True)
    bases[::3] %= 7
    bases[1::7] = limits.min if limits.min else 1
    bases[2::7] = -1 if limits.min else 0
    exponents[::2] %= 11
    bases[-64:], exponents[-64:] = 3, 0
    got = fc.jit(lax.pow)(bases, exponents)
    expected = [power(int(b), int(e), dtype) for b, e in zip(bases, exponents, strict=True)]
    np.testing.assert_array_equal(got, np.array(expected, dtype), strict=True)
