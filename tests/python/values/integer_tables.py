"""The functions of integers, against Python's, which do not overflow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import farcall.numpy as fnp
import numpy as np
from farcall import lax

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _wrapped(value: int, dtype: str) -> int:
    """The low bits, as the dtype reads them."""
    bits = np.iinfo(dtype).bits
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if dtype[0] == "i" and low >> (bits - 1) else low


def _truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _power(x: int, y: int, modulus: int) -> int:
    if y >= 0:
        return pow(x, y, modulus)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def _shift_left(x: int, y: int, bits: int) -> int:
    return x << y if 0 <= y < bits else 0


def _shift_right(x: int, y: int, bits: int) -> int:
    return x >> (y if 0 <= y < bits else bits)


# From x, y and the number of bits. Division by zero gives what the functions say it does.
BINARY: dict[str, tuple[Callable[..., Any], Callable[[int, int, int], int]]] = {
    "add": (fnp.add, lambda x, y, bits: x + y),
    "subtract": (fnp.subtract, lambda x, y, bits: x - y),
    "multiply": (fnp.multiply, lambda x, y, bits: x * y),
    "div": (lax.div, lambda x, y, bits: -1 if y == 0 else _truncated(x, y)),
    "rem": (lax.rem, lambda x, y, bits: x if y == 0 else x - y * _truncated(x, y)),
    "remainder": (fnp.remainder, lambda x, y, bits: 0 if y == 0 else x % y),
    "fmod": (fnp.fmod, lambda x, y, bits: 0 if y == 0 else x - y * _truncated(x, y)),
    "maximum": (fnp.maximum, lambda x, y, bits: max(x, y)),
    "minimum": (fnp.minimum, lambda x, y, bits: min(x, y)),
    "power": (fnp.power, lambda x, y, bits: _power(x, y, 1 << bits)),
    "gcd": (fnp.gcd, lambda x, y, bits: math.gcd(x, y)),
    "lcm": (fnp.lcm, lambda x, y, bits: 0 if x == 0 or y == 0 else _lcm(x, y, bits)),
    "bitwise_and": (fnp.bitwise_and, lambda x, y, bits: x & y),
    "bitwise_or": (fnp.bitwise_or, lambda x, y, bits: x | y),
    "bitwise_xor": (fnp.bitwise_xor, lambda x, y, bits: x ^ y),
    "left_shift": (fnp.left_shift, _shift_left),
    "right_shift": (fnp.right_shift, _shift_right),
}

UNARY: dict[str, tuple[Callable[..., Any], Callable[[int, int], int]]] = {
    "negative": (fnp.negative, lambda x, bits: -x),
    "abs": (fnp.abs, lambda x, bits: abs(x)),
    "sign": (fnp.sign, lambda x, bits: (x > 0) - (x < 0)),
    "square": (fnp.square, lambda x, bits: x * x),
    "bitwise_not": (fnp.bitwise_not, lambda x, bits: ~x),
    "integer_pow 5": (lambda x: lax.integer_pow(x, 5), lambda x, bits: x**5),
    "population_count": (lax.population_count, lambda x, bits: (x & ((1 << bits) - 1)).bit_count()),
    "clz": (lax.clz, lambda x, bits: bits - (x & ((1 << bits) - 1)).bit_length()),
}


def _lcm(x: int, y: int, bits: int) -> int:
    return math.lcm(x, y)


def points(dtype: str, arity: int, count: int, seed: int) -> list[tuple[int, ...]]:
    """The ends of the range, small numbers, and random ones of any length."""
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    special = [low, low + 1, high, high - 1, high // 2, 0, 1, 2, 3, 7, 12]
    special += [-1, -2, -3] if low < 0 else []
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        one = []
        for _ in range(arity):
            length = int(generator.integers(1, info.bits + 1))
            value = int.from_bytes(generator.bytes(8), "little") & ((1 << length) - 1)
            one.append(_wrapped(value, dtype))
        drawn.append(tuple(one))
    return [*itertools.product(special, repeat=arity), *drawn]


def misses(name: str, dtype: str, count: int, seed: int) -> list[str]:
    """Where the function of this name is not what it should be."""
    call, exact = UNARY.get(name) or BINARY.get(name)
    arguments = points(dtype, 1 if name in UNARY else 2, count, seed)
    columns = [np.array(c, dtype=dtype) for c in zip(*arguments, strict=True)]
    result = call(*(fnp.asarray(c, dtype=dtype) for c in columns))
    assert str(result.dtype) == dtype
    bits = np.iinfo(dtype).bits
    found = []
    for point, got in zip(arguments, np.asarray(result).tolist(), strict=True):
        want = _wrapped(exact(*point, bits), dtype)
        if got != want and not (name == "lcm" and _overflows(point, bits)):
            found.append(f"{name}{point} of {dtype}: {got}, exact {want}")
    return found


def _overflows(point: tuple[int, ...], bits: int) -> bool:
    return math.lcm(*point) >> (bits - 1) != 0
