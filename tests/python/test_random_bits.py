"""Keys, bits and integers of farcall.random are those of jax.random, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import farcall as fc
import numpy as np
import pytest
from farcall import random

jax = pytest.importorskip("jax")
jrandom = jax.random

SHAPES = [(), (7, 5), (2, 0, 3), (513,), (3, 1, 700)]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*UNSIGNED, "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SEEDS = [0, 1, 42, -1, 2**31 - 1, -(2**31), 2**32 - 1, 2**40 + 7, -(2**63), True]


def bits_of(x: Any) -> np.ndarray:
    """The elements of an array of either library, as unsigned integers."""
    x = np.asarray(x)
    return x if x.dtype == bool else x.view(f"u{x.dtype.itemsize}")


def in_jax(draw: Callable[[Any, Any], Any], seed: int, wide: bool = False) -> np.ndarray:
    # The words of a key do not depend on the 64-bit types of JAX, but seeds do.
    words = np.asarray(jrandom.key_data(jrandom.key(seed)))
    with jax.enable_x64(wide):
        return np.asarray(draw(jrandom, jrandom.wrap_key_data(words)))


def check_same(draw: Callable[[Any, Any], Any], seed: int = 5, wide: bool = False) -> None:
    got, expected = draw(random, random.key(seed)), in_jax(draw, seed, wide)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(bits_of(got), bits_of(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_give_the_keys_of_jax(seed: int) -> None:
    expected = np.asarray(jrandom.key_data(jrandom.key(seed)))
    np.testing.assert_array_equal(random.key_data(random.key(seed)), expected)
    np.testing.assert_array_equal(random.PRNGKey(seed), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_seeds_of_every_integer_dtype(dtype: str) -> None:
    for value in (5, -3 if dtype.startswith("int") else 200):
        with jax.enable_x64(True):
            expected = np.asarray(jrandom.key_data(jrandom.key(jax.numpy.array(value, dtype))))
        seed = fc.numpy.array(value, dtype)
        np.testing.assert_array_equal(random.key_data(random.key(seed)), expected)
        np.testing.assert_array_equal(random.key_data(fc.jit(random.key)(seed)), expected)


@pytest.mark.parametrize("num", [0, 1, 2, 3, 600, (2, 3), (), (0, 4)])
def test_split(num: Any) -> None:
    check_same(lambda r, key: r.key_data(r.split(key, num)))
    check_same(lambda r, key: r.split(r.key_data(key), num))


@pytest.mark.parametrize("data", [0, 1, 77, 2**31, 2**32 - 1])
def test_fold_in(data: int) -> None:
    check_same(lambda r, key: r.key_data(r.fold_in(key, data)))
    check_same(lambda r, key: r.fold_in(r.key_data(key), np.uint32(data)))


def test_keys_of_split_are_those_of_fold_in() -> None:
    key = random.key(3)
    keys = random.split(key, 9)
    for i in range(9):
        assert bool(keys[i] == random.fold_in(key, i))


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_bits(dtype: str) -> None:
    for i, shape in enumerate(SHAPES):
        check_same(lambda r, key, s=shape: r.bits(key, s, dtype), seed=i, wide=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_in_the_unit_interval(dtype: str) -> None:
    for i, shape in enumerate(SHAPES):
        check_same(lambda r, key, s=shape: r.uniform(key, s, dtype), seed=i, wide=True)


RANGES: dict[str, tuple[Any, Any]] = {
    "small": (0, 6),
    "negative": (-50, 100),
    "empty": (5, 5),
    "upside down": (5, 2),
    "everything": (-(2**31), 2**31 - 1),
    "power of two": (0, 64),
    "floats": (1.7, 9.2),
    "arrays": (np.array([0, 10, -4], "int32"), np.array([[3], [100]], "int32")),
}


@pytest.mark.parametrize("dtype", INTEGERS)
def test_randint(dtype: str) -> None:
    for name in RANGES:
        check_randint(name, dtype)


def check_randint(name: str, dtype: str) -> None:
    low, high = RANGES[name]
    shape = (2, 3) if name == "arrays" else (40,)
    check_same(lambda r, key: r.randint(key, shape, low, high, dtype), wide=dtype.endswith("64"))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_randint_up_to_the_largest_of_its_dtype(dtype: str) -> None:
    info = np.iinfo(dtype)
    high = info.max + (0 if dtype == "int32" else 1)
    check_same(lambda r, key: r.randint(key, (300,), int(info.min), int(high), dtype))


def test_randint_of_the_whole_range_reaches_it() -> None:
    drawn = np.asarray(random.randint(random.key(0), (5000,), 0, 256, "uint8"))
    assert set(drawn.tolist()) == set(range(256))
    wide = np.asarray(random.randint(random.key(0), (100,), -(2**63), 2**63 - 1, "int64"))
    assert wide.min() < -(2**61)
    assert wide.max() > 2**61


EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (100,)),
    "bernoulli of an array": lambda r, k: r.bernoulli(k, np.float32([0.1, 0.5, 0.9])),
    "bernoulli, high": lambda r, k: r.bernoulli(k, 0.3, (100,), mode="high"),
    "bernoulli, default": lambda r, k: r.bernoulli(k),
    "rademacher": lambda r, k: r.rademacher(k, (50,)),
    "rademacher, float": lambda r, k: r.rademacher(k, (50,), "float32"),
    "rademacher, unsigned": lambda r, k: r.rademacher(k, (50,), "uint8"),
    "permutation of a number": lambda r, k: r.permutation(k, 1000),
    "permutation of nothing": lambda r, k: r.permutation(k, 0),
    "permutation of one": lambda r, k: r.permutation(k, 1),
    "permutation": lambda r, k: r.permutation(k, np.arange(24, dtype="int32").reshape(4, 6)),
    "permutation, axis": lambda r, k: r.permutation(
        k, np.arange(24, dtype="int32").reshape(4, 6), axis=-1
    ),
    "permutation, independent": lambda r, k: r.permutation(
        k, np.arange(60, dtype="int32").reshape(6, 10), axis=1, independent=True
    ),
    "permutation of floats": lambda r, k: r.permutation(k, np.linspace(0, 1, 9, dtype="float32")),
    "choice of a number": lambda r, k: r.choice(k, 10, (3, 4)),
    "choice of one": lambda r, k: r.choice(k, 10),
    "choice without replacement": lambda r, k: r.choice(k, 10, (10,), replace=False),
    "choice with probabilities": lambda r, k: r.choice(
        k, 5, (40,), p=np.float32([0.1, 0.2, 0.3, 0.35, 0.05])
    ),
    "choice with weights, not normalized": lambda r, k: r.choice(
        k, 7, (40,), p=np.float32([1, 0, 2, 3, 0, 5, 1])
    ),
    "choice with probabilities, without replacement": lambda r, k: r.choice(
        k, 6, (4,), replace=False, p=np.float32([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    ),
    "choice of entries": lambda r, k: r.choice(k, np.arange(12.0, dtype="float32"), (2, 3)),
    "choice along an axis": lambda r, k: r.choice(
        k, np.arange(12.0, dtype="float32").reshape(3, 4), (5,), axis=1
    ),
    "choice along an axis, without replacement": lambda r, k: r.choice(
        k, np.arange(12.0, dtype="float32").reshape(3, 4), (2,), replace=False, axis=1
    ),
    "choice of nothing": lambda r, k: r.choice(k, 3, (0, 2)),
    "categorical": lambda r, k: r.categorical(k, np.float32([0.1, 2, -1, 0.5]), shape=(50,)),
    "categorical, batch": lambda r, k: r.categorical(
        k, np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)
    ),
    "categorical, axis": lambda r, k: r.categorical(
        k, np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4), axis=0, shape=(5, 4)
    ),
    "categorical without replacement": lambda r, k: r.categorical(
        k, np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4), shape=(2, 3), replace=False
    ),
    "poisson": lambda r, k: r.poisson(k, np.float32([0, 0.5, 3, 9.9, 10, 30, 1000])),
    "poisson of one mean": lambda r, k: r.poisson(k, 4.5, (60,)),
    "poisson of NaN": lambda r, k: r.poisson(k, np.float32([np.nan, 2])),
    "poisson, int16": lambda r, k: r.poisson(k, 20.0, (30,), "int16"),
    "binomial": lambda r, k: r.binomial(k, np.float32([5, 30, 100, 1000]), 0.4, (20, 4)),
    "binomial, high p": lambda r, k: r.binomial(k, 50, 0.93, (40,)),
    "binomial, corners": lambda r, k: r.binomial(
        k,
        np.float32([10, -1, np.nan, 10, 10, np.inf, 0, 10, 10]),
        np.float32([0, 0.5, 0.5, 1, np.nan, 0.5, 0.5, -0.1, 1.1]),
    ),
    "multinomial": lambda r, k: r.multinomial(k, 100, np.float32([0.2, 0.3, 0.5])),
    "multinomial, batch": lambda r, k: r.multinomial(
        k, np.float32([10, 50]), np.float32([[0.2, 0.3, 0.5], [0.9, 0.1, 0]])
    ),
    "multinomial, int32": lambda r, k: r.multinomial(
        k, 100, np.float32([0.2, 0.3, 0.5]), dtype="int32"
    ),
    "geometric": lambda r, k: r.geometric(k, np.float32([0.01, 0.3, 0.9, 1.0]), (25, 4)),
}


@pytest.mark.parametrize("name", EXACT)
def test_choices_and_counts(name: str) -> None:
    check_same(EXACT[name], seed=11)


@pytest.mark.parametrize(
    "name",
    [
        "bernoulli",
        "permutation",
        "choice with probabilities",
        "categorical",
        "poisson of one mean",
        "binomial, high p",
    ],
)
def test_choices_and_counts_by_every_way(name: str) -> None:
    draw = EXACT[name]
    keys = random.split(random.key(8), 3)
    expected = [in_jax(draw, 0) for _ in ()]
    for i in range(3):
        words = np.asarray(random.key_data(keys[i]))
        expected.append(np.asarray(draw(jrandom, jrandom.wrap_key_data(words))))
    expected_bits = bits_of(np.stack(expected))

    def each(key: Any) -> Any:
        return draw(random, key)

    np.testing.assert_array_equal(bits_of(fc.vmap(each)(keys)), expected_bits)
    np.testing.assert_array_equal(bits_of(fc.jit(fc.vmap(each))(keys)), expected_bits)
    np.testing.assert_array_equal(bits_of(fc.vmap(each)(random.key_data(keys))), expected_bits)
    np.testing.assert_array_equal(bits_of(fc.jit(each)(keys[1])), expected_bits[1])

    def step(key: Any, _: Any) -> Any:
        return random.split(key)[0], each(key)

    def step_in_jax(key: Any, _: Any) -> Any:
        return jrandom.split(key)[0], draw(jrandom, key)

    _, drawn = fc.lax.scan(step, random.key(4), None, length=3)
    _, drawn_in_jax = jax.lax.scan(step_in_jax, jrandom.key(4), None, length=3)
    np.testing.assert_array_equal(bits_of(drawn), bits_of(drawn_in_jax))


def test_bits_over_many_keys_and_shapes() -> None:
    rng = np.random.default_rng(7)
    words = rng.integers(0, 2**32, (5, 300, 2), dtype="uint32")
    keys, jax_keys = random.wrap_key_data(words), jrandom.wrap_key_data(words)
    for shape in [(), (2,), (33,)]:

        def draw(r: Any, shape: Any = shape) -> Any:
            return lambda key: r.bits(key, shape, "uint32")

        got = fc.vmap(fc.vmap(draw(random)))(keys)
        np.testing.assert_array_equal(got, jax.vmap(jax.vmap(draw(jrandom)))(jax_keys))


def test_a_million_bits() -> None:
    check_same(lambda r, key: r.bits(key, (1 << 20,)))


def test_the_hash_has_the_published_answers() -> None:
    # Of the Random123 library: key, counter and hash of threefry2x32 of 20 rounds.
    cases = [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ]
    for key, counter, expected in cases:
        program = fc.parse_program(
            "{ lambda ; a:u32[] b:u32[] c:u32[] d:u32[]. let e:u32[] f:u32[] = "
            "threefry2x32 a b c d in (e, f) }"
        )
        got = program(*(np.uint32(word) for word in (*key, *counter)))
        assert tuple(int(word) for word in got) == expected


def test_defaults_of_64_bits() -> None:
    draws: list[Callable[[Any, Any], Any]] = [
        lambda r, k: r.bits(k, (5,)),
        lambda r, k: r.uniform(k, (5,)),
        lambda r, k: r.randint(k, (5,), 0, 1000),
        lambda r, k: r.bernoulli(k, 0.3, (40,)),
        lambda r, k: r.rademacher(k, (40,)),
        lambda r, k: r.choice(k, 10, (5,)),
        lambda r, k: r.permutation(k, 10),
        lambda r, k: r.geometric(k, 0.3, (20,)),
        lambda r, k: r.key_data(r.key(2**40 + 7)),
    ]
    key = random.key(9)
    words = np.asarray(random.key_data(key))
    for draw in draws:
        with jax.enable_x64(True):
            expected = np.asarray(draw(jrandom, jrandom.wrap_key_data(words)))
        with fc.enable_x64():
            got = draw(random, key)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(bits_of(got), bits_of(expected))
