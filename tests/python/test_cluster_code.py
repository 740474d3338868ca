"""Clusters as machine code give the bits of their operations one by one."""

from __future__ import annotations

import concurrent.futures
import os
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax, nn
from farcall.scipy import special


def num_coded(dtype: str) -> int:
    compiled = fc.jit(lambda x: x * x + x).lower(fnp.ones(64, dtype)).compile()
    return compiled.report().num_coded_operations


HAS_AVX512 = num_coded("float16") > 0
pytestmark = [
    pytest.mark.usefixtures("x64"),
    pytest.mark.skipif(num_coded("float32") == 0, reason="there is no machine code here"),
]

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
INTS = ("int32", "uint32", "int64", "uint64")
DIVISORS = [2.0**-24, 2.0**24, 3.0, 1.9999999, 1e-7, 2e7, 1e-30, 1e30, 1e-40, 0.0, -0.0, -3.0]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e-30, 88.0, -104.0]


def data(shape: int | tuple[int, ...], dtype: str, seed: int = 0) -> fc.Array:
    """Numbers of all magnitudes and, for floats, special values."""
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    if dtype == "bool":
        return fnp.asarray(rng.integers(0, 2, shape).astype(bool))
    if dtype.startswith(("int", "uint")):
        low = 0 if dtype[0] == "u" else -(2**31)
        values = rng.integers(low, 2**31 - 1, size)
        values[: size // 2] %= 7
        return fnp.asarray(values.reshape(shape).astype(dtype))
    values = rng.normal(size=size) * 10.0 ** rng.integers(-3, 3, size)
    values[rng.integers(0, size, size // 5)] = rng.choice(SPECIAL, size // 5)
    return fnp.asarray(values.reshape(shape).astype(np.float64)).astype(dtype)


def bits(result: Any) -> list[np.ndarray]:
    """The bits of all leaves; NaN is NaN, whatever its bits."""
    leaves = []
    for leaf in fc.tree.leaves(result):
        array = np.asarray(leaf)
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag])
        if array.dtype.kind not in "biu":
            wide = array.astype(np.float64)
            is_nan = np.isnan(wide)
            array = np.where(is_nan, 0, np.ascontiguousarray(array).view(f"u{array.itemsize}"))
            leaves.append(is_nan)
        leaves.append(array)
    return leaves


def both(f: Callable[..., Any], *args: Any) -> tuple[Any, Any, int]:
    """The results with machine code and without, and the number of operations that have code."""
    compiled = fc.jit(f).lower(*args).compile()
    number = compiled.report().num_coded_operations
    coded = compiled(*args)
    fc.config.update("jit_loops", False)
    try:
        return coded, compiled(*args), number
    finally:
        fc.config.update("jit_loops", True)


def assert_same(f: Callable[..., Any], *args: Any, at_least: int = 1) -> None:
    coded, plain, number = both(f, *args)
    assert number >= at_least, "nothing has machine code"
    for got, want in zip(bits(coded), bits(plain), strict=True):
        np.testing.assert_array_equal(got, want)


def as_number(result: Any, x: Any) -> Any:
    """A number that depends on the result; AVX2 has no code for bools in memory."""
    return lax.select(result, x, x + x) if result.dtype == bool else result


def functions(*lines: str) -> dict[str, Callable[..., Any]]:
    return {name: getattr(lax, name) for line in lines for name in line.split()}


UNARY = functions(
    "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 floor",
    "is_finite log log1p logistic neg round rsqrt sign sin sinh sqrt square tan tanh",
)
UNARY |= {"ndtr": special.ndtr, "sinc": fnp.sinc}
BINARY = functions("add sub mul div max min atan2 eq ne lt le gt ge")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_floats_have_the_bits_of_their_loops(name: str, dtype: str) -> None:
    f = UNARY[name]
    assert_same(lambda x: as_number(f(x + 0.25), x), data(1003, dtype), at_least=2)


@pytest.mark.parametrize("dtype", FLOATS + INTS)
@pytest.mark.parametrize("name", BINARY)
def test_operations_on_two_operands_have_the_bits_of_their_loops(name: str, dtype: str) -> None:
    if name == "atan2" and dtype in INTS:
        pytest.skip("atan2 is for floats")
    f = BINARY[name]
    x, y = data(777, dtype, 1), data(777, dtype, 2)
    has_code = not (name == "div" and dtype in INTS) and (dtype not in INTS or HAS_AVX512)
    assert_same(lambda x, y: as_number(f(x - y, y), x), x, y, at_least=2 * has_code)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("count", [0, 1, 13, 31, 32, 63, 64, 200])
def test_shifts_by_a_constant_have_the_bits_of_their_loops(count: int, dtype: str) -> None:
    by = np.asarray(count, dtype)

    def f(x: Any) -> Any:
        y = x ^ lax.shift_left(x, by)
        return y ^ lax.shift_right_logical(y, by), (y + 1) ^ lax.shift_right_arithmetic(y, by)

    has_code = HAS_AVX512 or dtype.endswith("32")
    assert_same(f, data(777, dtype, 1), at_least=7 if has_code else 4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bound", [0.0, -0.0, 1.5, np.inf, -np.inf, np.nan])
def test_extremes_with_a_constant_keep_nans_and_signs_of_zeros(dtype: str, bound: float) -> None:
    def f(x: Any) -> Any:
        c = np.asarray(bound, dtype)
        return [g(*p) + 0 * x for g in (lax.max, lax.min) for p in ((x, c), (c, x))] + [
            lax.max(x, c),
            lax.min(c, x),
            lax.clamp(np.asarray(-1, dtype), x, c),
        ]

    assert_same(f, data(1000, dtype, 3), at_least=8)


@pytest.mark.skipif(not HAS_AVX512, reason="AVX-512 has elements of 16 bits")
@pytest.mark.parametrize("dtype", HALVES)
def test_halves_are_rounded_after_each_operation(dtype: str) -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y + x - 2 * y
        return z, fnp.tanh(z) / (1 + fnp.exp(-x)), fnp.where(x > y, z, y), x.astype("float32") * 3

    assert_same(f, data(2050, dtype, 1), data(2050, dtype, 2), at_least=8)


@pytest.mark.skipif(not HAS_AVX512, reason="needs AVX-512")
def test_arithmetic_on_float16_is_that_of_numpy() -> None:
    """All bit patterns: subnormal numbers, infinities, and every NaN, which becomes quiet."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 2**16, 1 << 16).astype(np.uint16).view(np.float16) for _ in range(2))

    def f(x: Any, y: Any) -> Any:
        return x * y, x + y, x - y, (x * y + x) - y * 2, x * np.float16(0.1) - y

    with np.errstate(all="ignore"):
        expected = f(x, y)
    coded, plain, number = both(f, fnp.asarray(x), fnp.asarray(y))
    assert number > 0
    for found, other, wanted in zip(coded, plain, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(other, wanted)
        nans = np.asarray(found)[np.isnan(wanted)].view(np.uint16)
        assert set(nans & 0x7FFF) == {0x7E00}


@pytest.mark.skipif(not HAS_AVX512, reason="AVX-512 has elements of 16 bits")
@pytest.mark.parametrize("dtype", HALVES)
def test_every_half_is_loaded_and_stored(dtype: str) -> None:
    words = np.arange(2**16, dtype=np.uint16)
    x = lax.bitcast_convert_type(fnp.asarray(words), dtype)
    assert_same(lambda x: (-x, -x + x, -x * x), x, at_least=3)


@pytest.mark.skipif(not HAS_AVX512, reason="AVX-512 has elements of 16 bits")
def test_arithmetic_on_every_bfloat16_has_the_bits_of_its_loops() -> None:
    """All bit patterns, with every NaN, in operations whose results are rounded to bfloat16."""
    words = np.arange(2**16, dtype=np.uint16)
    x = lax.bitcast_convert_type(fnp.asarray(words), "bfloat16")
    y = lax.bitcast_convert_type(fnp.asarray(np.random.default_rng(0).permutation(words)), x.dtype)

    def f(x: Any, y: Any) -> Any:
        z = fnp.exp(x) - y
        return x + y, x - y, x * y, x / y, fnp.exp(x) * 3, (x * y + x) / (y - 1), z, z.astype("f4")

    assert_same(f, x, y, at_least=10)


@pytest.mark.skipif(not HAS_AVX512, reason="AVX-512 has elements of 16 bits")
def test_rows_of_bfloat16_divided_by_one_number_are_rounded_once() -> None:
    """Every bfloat16 divided by divisors of all magnitudes, as numpy divides."""
    words = np.arange(2**16, dtype=np.uint16)
    x = np.broadcast_to(words.view(fnp.bfloat16), (2 * len(DIVISORS), words.size))
    by = np.array([[n] for d in DIVISORS for n in (d, d * 1.4)], dtype=fnp.bfloat16)

    def f(x: Any, by: Any) -> Any:
        return x / (by * 1) - 0

    with np.errstate(all="ignore"):
        expected = (x.astype(np.float32) / by.astype(np.float32)).astype(fnp.bfloat16)
    coded, plain, number = both(f, fnp.asarray(x), fnp.asarray(by))
    assert number > 0
    for result in (coded, plain):
        for found, wanted in zip(bits(result), bits(expected), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.skipif(not HAS_AVX512, reason="AVX-512 has elements of 16 bits")
@pytest.mark.parametrize("size", [3, 16, 100, 1024])
@pytest.mark.parametrize("dtype", HALVES)
def test_softmax_of_halves_has_the_bits_of_its_steps(dtype: str, size: int) -> None:
    x = fnp.where(fnp.isnan(data((67, size), dtype)), 0, data((67, size), dtype))
    assert_same(nn.softmax, x, at_least=2)
    assert_same(nn.softmax, x.at[5, size // 2].set(np.nan), at_least=2)
    assert_same(lambda x: (x * 2).max(1, keepdims=True) - x, x, at_least=2)


@pytest.mark.skipif(not HAS_AVX512, reason="AVX-512 has conversions of several numbers")
@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, "bool"])
def test_conversions_to_floats_round_to_nearest(dtype: str, to: str) -> None:
    def f(x: Any, y: Any) -> Any:
        wide = x.astype(to)
        return wide * y + 1, fnp.where(wide > y, wide, 2 * y)

    assert_same(f, data(1003, dtype), data(1003, to, 1), at_least=2)


@pytest.mark.skipif(not HAS_AVX512, reason="AVX-512 has bytes of bools")
def test_bools_are_read_and_written_as_bytes() -> None:
    def f(x: Any, y: Any, p: Any) -> Any:
        q = (x > y) & p | (y == 0)
        return q, ~q ^ p, fnp.where(q, x, y), q.astype(x.dtype) * y

    args = data(1001, "float32", 1), data(1001, "float32", 2), data(1001, "bool", 3)
    assert_same(f, *args, at_least=6)


@pytest.mark.parametrize("size", [17, 64, 5000])
def test_bools_are_chosen_by_bools_and_by_comparisons(size: int) -> None:
    chosen, a, b = (np.asarray(data(size, "bool", seed)) for seed in range(3))
    x = np.asarray(data(size, "float32"))

    def f(chosen: Any, a: Any, b: Any, x: Any, m: Any) -> Any:
        return m.where(chosen, a, b) & (a | b), m.where(x < 1, a, b) ^ chosen, m.where(x > 0, x, -x)

    coded, plain, number = both(lambda *args: f(*args, fnp), chosen, a, b, x)
    for found in (coded, plain):
        for ours, expected in zip(found, f(chosen, a, b, x, np), strict=True):
            np.testing.assert_array_equal(ours, expected)
    assert number > 0 or not HAS_AVX512


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 129, 2047, 5000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_tails_of_any_size(size: int, dtype: str) -> None:
    x, y = data(size, dtype, 1), data(size, dtype, 2)
    at_least = 3 * (size > 1)
    assert_same(lambda x, y: (x * y + 1, fnp.exp(x) - y), x, y, at_least=at_least)


@pytest.mark.parametrize("shape", [(5, 1000), (3, 64), (100, 7), (1, 4096), (2, 5000), (33, 129)])
@pytest.mark.parametrize("dtype", FLOATS + (HALVES if HAS_AVX512 else ()))
def test_rows_and_their_reductions(shape: tuple[int, int], dtype: str) -> None:
    scale, shift = data(shape[1], dtype, 4), data(shape[1], dtype, 5)

    def f(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        norm = centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
        return nn.softmax(x, axis=-1), nn.log_softmax(x, axis=-1), norm * scale + shift

    assert_same(f, data(shape, dtype), scale, shift)


@pytest.mark.parametrize("columns", [*range(14, 20), 31, 33, 48, 63, 64, 65, 100, 130, 200, 257])
@pytest.mark.parametrize("dtype", FLOATS + (HALVES if HAS_AVX512 else ()))
def test_several_short_rows_in_a_tile(columns: int, dtype: str) -> None:
    shape = (71, columns)  # the last tile has fewer rows than the others
    scale = data(columns, dtype, 4)
    row = data((71, 1), dtype, 5)

    def f(x: Any, scale: Any, row: Any) -> Any:
        norm = x / (1 + fnp.sqrt((x * x).mean(-1, keepdims=True))) * scale
        return norm, norm.sum(-1), nn.softmax(x * row), fnp.where(x > row, scale, row) / (row + 2)

    assert_same(f, data(shape, dtype), scale, row)


def test_a_column_reduction_of_rows_with_operands_of_rows_and_columns() -> None:
    x, scale, row = data((300, 40), "float32"), data(40, "float32", 1), data((300, 1), "float32", 2)
    assert_same(lambda x, scale, row: (x * row * scale - row).sum(0), x, scale, row)


@pytest.mark.parametrize("columns", [64, 65, 100, 256, 320, 1000, 1023, 1024, 64 * 1000])
@pytest.mark.parametrize("dtype", ["float32", *HALVES])
def test_sums_of_computed_rows(columns: int, dtype: str) -> None:
    def f(x: fc.Array, y: fc.Array) -> Any:
        product = x * y + y
        scaled = product / (1 + abs(product).sum(-1, keepdims=True))
        return product.sum(-1), scaled, (scaled - 1).sum(-1), (-y * 0).sum(-1)

    x, y = (data((7, columns), dtype, seed) for seed in range(2))
    assert_same(f, x, y, at_least=4 if dtype == "float32" else 0)


def test_sums_of_computed_rows_are_those_of_double_precision() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 1024)).astype(np.float32)
    sums, _, _ = both(lambda x: (x * x).sum(-1), fnp.asarray(x))
    np.testing.assert_array_max_ulp(sums, (x * x).astype(np.float64).sum(-1).astype(np.float32))


@pytest.mark.parametrize("divisor", [*DIVISORS, np.inf, np.nan])
def test_rows_divided_by_one_number_are_rounded_once(divisor: float) -> None:
    """numpy divides by the processor's instruction. All exponents and signs are among the bits."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**32, (64, 1024), np.uint32)
    x[:, ::64] &= 0x80000000  # zeros
    x[1:] = x[1:] & 0x83FFFFFF | 0x3C000000  # no element is far from 1 in these rows
    x = x.view(np.float32)
    by = np.full((64, 1), divisor, np.float32)
    by[::2] = np.nextafter(by[::2], np.float32(1))

    def f(x: fc.Array, by: fc.Array) -> fc.Array:
        return x / (by * 1) - 0  # two operations, so that they are a cluster

    with np.errstate(all="ignore"):
        expected = x / by - np.float32(0)
    coded, plain, number = both(f, fnp.asarray(x), fnp.asarray(by))
    assert number > 0
    for result in (coded, plain):
        for found, wanted in zip(bits(result), bits(expected), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_column_reductions_of_computed_rows() -> None:
    x, y = data((300, 130), "float32", 1), data((300, 130), "float32", 2)
    assert_same(lambda x, y: (x * y + x - 2 * y).sum(axis=0), x, y, at_least=3)


def complex_data(shape: int | tuple[int, ...], seed: int) -> fc.Array:
    return lax.complex(data(shape, "float32", seed), data(shape, "float32", seed + 100))


@pytest.mark.parametrize("size", [2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 1003, 5000])
def test_complex_numbers_have_the_bits_of_their_loops(size: int) -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y + x - (2 - 3j) * y
        return z, -z * fnp.conj(x), (x - y) * (x + y), 1 - z, abs(z * x) + y.real

    assert_same(f, complex_data(size, 1), complex_data(size, 2), at_least=10)


def test_complex_scalars_rows_and_columns_are_repeated() -> None:
    def f(x: Any, scalar: Any, row: Any, column: Any) -> Any:
        return x * row - scalar * column, (x - column) * scalar, (row + column) * (row - 1j) + x

    x, row = complex_data((40, 701), 1), complex_data((40, 1), 2)
    assert_same(f, x, np.complex64(1.5 - 2j), row, complex_data(701, 3), at_least=7)


def test_large_complex_results_bypass_the_caches() -> None:
    x, y = complex_data(1_500_001, 1), complex_data(1_500_001, 2)
    assert_same(lambda x, y: (x * y + x - 2 * y, fnp.conj(x) * y), x, y, at_least=5)


def test_large_results_bypass_the_caches() -> None:
    x, y = data(3_000_001, "float32", 1), data(3_000_001, "float32", 2)
    assert_same(lambda x, y: (x * y + x - 2 * y, fnp.maximum(x, y) * 0.5), x, y, at_least=4)


@pytest.mark.parametrize(("dtype", "other"), [("float32", "uint32"), ("float64", "int64")])
def test_bits_are_read_as_another_dtype(dtype: str, other: str) -> None:
    one = np.ones(1, dtype).view(other)[0]

    def f(x: Any, n: Any) -> Any:
        y = lax.bitcast_convert_type(n >> np.asarray(9, other) | one, dtype)
        m = lax.bitcast_convert_type(x * y, other)
        return y - 1, x + fnp.log(fnp.abs(y)), m ^ n, lax.bitcast_convert_type(m & ~one, dtype) * x

    # No NaN: its bits are the processor's choice.
    x = fnp.asarray(np.random.default_rng(0).normal(size=1001).astype(dtype))
    assert_same(f, x, data(1001, other, 1), at_least=5)


@pytest.mark.parametrize("dtype", HALVES)
def test_bits_of_halves_are_read_as_the_other_half(dtype: str) -> None:
    (other,) = set(HALVES) - {dtype}

    def f(x: Any) -> Any:
        y = lax.bitcast_convert_type(x, other)
        z = lax.bitcast_convert_type(x * x + x, other)
        return x * 2 + 1, y * 2 + 1, z * 2 + z

    x = data(1001, dtype)
    coded, plain, _ = both(f, x)
    y, z = (lax.bitcast_convert_type(each, other) for each in (x, x * x + x))
    want = (x * 2 + 1, y * 2 + 1, z * 2 + z)
    for result in (coded, plain):
        for got, expected in zip(bits(result), bits(want), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_scalars_and_columns_are_repeated() -> None:
    def f(x: Any, s: Any, column: Any) -> Any:
        return x * s + column - s * s, (x - column) / (s + 1)

    x, s = data((40, 700), "float32"), fnp.float32(1.7)
    assert_same(f, x, s, data(700, "float32", 3), at_least=4)


def test_a_donated_operand_is_overwritten_after_it_is_read() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * y + x * x - y

    step = fc.jit(f, donate_argnums=0)
    x, y = data(10_000, "float32", 1), data(10_000, "float32", 2)
    fc.config.update("jit_loops", False)
    try:
        want = bits(fc.jit(f)(x, y))
    finally:
        fc.config.update("jit_loops", True)
    for _ in range(40):  # enough for machine code
        got = step(x + 0, y)
        np.testing.assert_array_equal(bits(got)[1], want[1])


def test_threads_that_run_while_code_is_made() -> None:
    x = data(4096, "float32")
    f = fc.jit(lambda x: fnp.tanh(x) * x + x / (1 + x * x))
    want = bits(f(x))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: bits(f(x)), range(400)):
            np.testing.assert_array_equal(got[1], want[1])


def random_program(rng: random.Random) -> Callable[..., Any]:
    """A function of three arrays of floats and one of bools."""
    steps = []
    unary = [f for name, f in UNARY.items() if name not in ("is_finite", "asin", "acos")]
    for _ in range(rng.randrange(3, 25)):
        kind = rng.random()
        picks = [rng.randrange(1000) for _ in range(3)]
        if kind < 0.3:
            steps.append((rng.choice(unary), picks[:1], "number"))
        elif kind < 0.65:
            steps.append(
                (rng.choice([lax.add, lax.sub, lax.mul, lax.max, lax.min]), picks[:2], "number")
            )
        elif kind < 0.8:
            steps.append((rng.choice([lax.lt, lax.ge, lax.eq, lax.ne]), picks[:2], "bool"))
        else:
            steps.append((None, picks, "select"))
    kept = [rng.randrange(1000) for _ in range(3)]

    def f(x: Any, y: Any, z: Any, p: Any) -> Any:
        numbers, bools = [x, y, z, x * 0.5], [p]
        for operation, picks, kind in steps:
            if kind == "select":
                which = bools[picks[0] % len(bools)]
                numbers.append(
                    lax.select(
                        which, numbers[picks[1] % len(numbers)], numbers[picks[2] % len(numbers)]
                    )
                )
                continue
            made = operation(*(numbers[i % len(numbers)] for i in picks))
            (bools if kind == "bool" else numbers).append(made)
        return [numbers[i % len(numbers)] for i in kept] + [numbers[-1], bools[-1]]

    return f


@pytest.mark.parametrize("dtype", FLOATS + (HALVES if HAS_AVX512 else ()))
@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int, dtype: str) -> None:
    rng = random.Random(f"{seed} {dtype}")
    size = rng.choice([5, 64, 1000, 3001])
    args = [data(size, dtype, i) for i in range(3)]
    coded, plain, _ = both(random_program(rng), *args, data(size, "bool", 3))
    for got, want in zip(bits(coded), bits(plain), strict=True):
        np.testing.assert_array_equal(got, want)


def test_equal_clusters_share_their_code() -> None:
    x = data(12345, "float32")

    def code_bytes(compiled: Any) -> int:
        return compiled.memory_analysis().generated_code_size_in_bytes

    first = fc.jit(lambda x: x * 3.25 + x).lower(x).compile()
    result = first(x)
    for _ in range(20):
        first(x)
    again = fc.jit(lambda x: x * 3.25 + x).lower(x).compile()
    other = fc.jit(lambda x: x * 3.75 + x).lower(x).compile()
    assert code_bytes(again) == code_bytes(first) > 0
    assert code_bytes(other) == 0
    np.testing.assert_array_equal(bits(again(x)), bits(result))
    np.testing.assert_array_equal(
        np.asarray(other(x)), np.asarray(x) * np.float32(3.75) + np.asarray(x)
    )


def test_code_is_made_after_enough_work_and_can_be_turned_off() -> None:
    program = """
import numpy as np, farcall as fc
x = np.ones(1024, np.float32)
compiled = fc.jit(lambda x: x * 2.0 + 1.0).lower(x).compile()
def nbytes(): return compiled.memory_analysis().generated_code_size_in_bytes
before = nbytes()
for _ in range(1500): compiled(x)
print(before, nbytes(), compiled.report().num_coded_operations)
"""
    for value, is_on in (("1", True), ("0", False)):
        result = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "FARCALL_JIT": value},
            capture_output=True,
            text=True,
            check=True,
        )
        before, after, operations = map(int, result.stdout.split())
        assert before == 0
        assert (after > 0, operations > 0) == (is_on, is_on)
