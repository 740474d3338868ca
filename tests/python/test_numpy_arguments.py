"""Warm calls of jitted functions with numpy's arrays and scalars, and with Python numbers."""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import ml_dtypes
import numpy as np
import pytest

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    *("bfloat16", "float8_e4m3fn", "int4"),
]


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    kind = getattr(ml_dtypes, dtype, dtype)
    return (np.arange(np.prod(shape, dtype=int)) % 7).reshape(shape).astype(kind)


def calls(f: Any, *args: Any, times: int = 3) -> list[Any]:
    return [f(*args) for _ in range(times)]


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_give_what_own_arrays_give(dtype: str, x64: bool) -> None:
    x = numbers((5, 7), dtype)
    with fc.enable_x64(x64):
        f = fc.jit(lambda a: (a, fnp.concatenate([a, a])))
        for warm in calls(f, x):
            for got, wanted in zip(warm, f(fnp.asarray(x)), strict=True):
                assert got.dtype == wanted.dtype
                np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    "change",
    {
        "transposed": lambda x: x.T,
        "every other element": lambda x: x[:, ::2],
        "reversed": lambda x: x[::-1],
        "the other byte order": lambda x: x.astype(">f4"),
        "an odd address": lambda x: np.frombuffer(
            b"1" + x.tobytes(), np.uint8)[1:].view("f4").reshape(x.shape),
        "read-only": lambda x: np.broadcast_to(x, x.shape),
        "repeated rows": lambda x: np.broadcast_to(x[0], (6, 8)),
        "no elements": lambda x: x[:0],
    }.items(),
    ids=lambda item: item[0],
)  # fmt: skip
def test_memory_of_any_form(change: Any) -> None:
    x = change[1](numbers((6, 8), "float32"))
    f = fc.jit(lambda a: a * 2 + 1)
    for result in calls(f, x):
        np.testing.assert_array_equal(result, x * 2 + 1)


VIEWS = {
    "itself": lambda a: a,
    "two of itself": lambda a: (a, a),
    "a reshape": lambda a: a.reshape(-1),
    "a slice": lambda a: a[1:],
    "a transpose": lambda a: a.T,
    "a new dimension": lambda a: a[None],
    "in a dict": lambda a: {"a": [a, a + 1]},
    "of a branch": lambda a: fc.lax.cond(a[0, 0] >= 0, lambda v: v, lambda v: v + 1, a),
    "of a loop without steps": lambda a: fc.lax.fori_loop(0, 0, lambda _, v: v + 1, a),
}


@pytest.mark.parametrize("name", VIEWS)
def test_results_do_not_change_with_the_array(name: str) -> None:
    f = fc.jit(VIEWS[name])
    x = numbers((40, 50), "float32")
    for _ in range(3):
        before = [np.array(leaf) for leaf in fc.tree.leaves(f(x))]
        result = f(x)
        x[:] = x + 1
        for leaf, wanted in zip(fc.tree.leaves(result), before, strict=True):
            np.testing.assert_array_equal(leaf, wanted)


def test_new_values_of_an_array_are_seen() -> None:
    x = numbers((1000,), "float32")
    f = fc.jit(lambda a: a.sum())
    for i in range(5):
        x[:] = i
        assert f(x) == 1000 * i


def test_a_callback_keeps_its_argument() -> None:
    kept: list[Any] = []

    def keep(a: Any) -> Any:
        kept.append(a)
        return np.float32(a[0])

    f = fc.jit(lambda a: fc.pure_callback(keep, fc.ShapeDtypeStruct((), "float32"), a))
    x = np.ones(1000, "float32")
    for i in range(4):
        x[:] = i
        assert f(x) == i
    x[:] = -1
    assert [float(a[5]) for a in kept[-4:]] == [0, 1, 2, 3]


def test_an_array_is_released() -> None:
    x = numbers((1000,), "float32")
    before = sys.getrefcount(x)
    f = fc.jit(lambda a: a + 1)
    results = calls(f, x, times=5)
    assert sys.getrefcount(x) == before
    del results


def test_a_donated_array_stays_as_it_is() -> None:
    x = numbers((1000,), "float32")
    f = fc.jit(lambda a: a + 1, donate_argnums=0)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x + 1)
    np.testing.assert_array_equal(x, numbers((1000,), "float32"))


def test_types_are_told_apart() -> None:
    traced = []

    def f(a: Any, b: Any) -> Any:
        traced.append((str(a.dtype), a.shape, str(b.dtype)))
        return a + b

    g = fc.jit(f)
    x = np.ones(3, "float32")
    pairs = [
        (x, 1), (x, 1.0), (x, np.float32(1)), (x, np.int32(1)), (x, True), (x, 1j),
        (np.ones(4, "float32"), 1), (np.ones((3, 1), "float32"), 1), (np.ones(3, "int32"), 1),
        (np.ones(3, "int8"), 1), (np.ones(3, "int8"), np.int8(1)), (2.0, 1.0), (x, np.array(1.0)),
    ]  # fmt: skip
    first = [g(*pair) for pair in pairs]
    count = len(traced)
    for _ in range(3):
        for pair, wanted in zip(pairs, first, strict=True):
            got = g(*pair)
            assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
            assert got.weak_type == wanted.weak_type
            np.testing.assert_array_equal(got, wanted)
    assert len(traced) == count
    # numpy's float64 comes as float32, which is a program that exists.
    assert g(x, np.float64(1)).dtype == np.float32
    assert len(traced) == count


def test_numbers_have_the_value_of_the_call() -> None:
    f = fc.jit(lambda a, s: a * s)
    x = np.arange(5, dtype="float32")
    for value in (2, -3, 0, 2**31 - 1, -(2**31)):
        np.testing.assert_allclose(f(x, value), x * np.float32(value))
    for number in (0.5, float("inf"), -1e30, np.float32(7), np.float64(0.25)):
        np.testing.assert_array_equal(f(x[1:], number), x[1:] * np.float32(number))
    for _ in range(2):
        with pytest.raises(OverflowError, match="64 bits"):
            f(x, 2**70)
    np.testing.assert_array_equal(f(x, 2), x * 2)


def test_large_numbers_warn_each_time() -> None:
    f = fc.jit(lambda a: a + 1)
    f(np.ones(3))
    f(np.ones(3))
    for _ in range(2):
        with pytest.warns(UserWarning, match="float64"):
            assert np.isinf(f(np.array([1.0, 1e300, 2.0]))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="float64"):
            f(np.array([1.0, 1e300, 2.0]))
        assert f(np.ones(3)).tolist() == [2, 2, 2]


def test_what_numpy_holds_otherwise_is_refused_each_time() -> None:
    f = fc.jit(lambda a: a + 1)
    f(np.ones(2, "float32"))
    for _ in range(2):
        with pytest.raises(ValueError, match="mask"):
            f(np.ma.masked_array(np.ones(2, "float32"), mask=[True, False]))
        with pytest.raises(TypeError, match="object"):
            f(np.array([1, "a"], dtype=object))
    assert f(np.ones(2, "float32")).tolist() == [2, 2]


class Own(np.ndarray):
    """An array of a derived class."""


def test_an_array_of_a_derived_class() -> None:
    f = fc.jit(lambda a: a + 1)
    for _ in range(3):
        assert f(np.ones(3, "float32").view(Own)).tolist() == [2, 2, 2]


def test_containers_and_keywords() -> None:
    f = fc.jit(lambda tree, *, scale: fc.tree.map(lambda leaf: leaf * scale, tree))
    tree = {"a": np.ones(3, "float32"), "b": (fnp.ones(2), 4.0, [np.int32(5)])}
    for scale in (2, 3, np.float32(4)):
        for result in calls(lambda s=scale: f(tree, scale=s)):
            assert result["a"].tolist() == [scale] * 3
            assert result["b"][1] == 4 * scale
            assert result["b"][2][0] == 5 * scale


def test_threads_with_arrays_of_their_own() -> None:
    f = fc.jit(lambda a: fnp.cumsum(a * 2))
    wrong = []

    def work(seed: int) -> None:
        x = np.full(20_000, seed, "float32")
        for _ in range(50):
            if f(x)[-1] != 40_000 * seed:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_loop_reads_an_odd_address() -> None:
    def f(a: Any) -> Any:
        return fc.lax.scan(lambda c, v: (c + v, c * v), fnp.float32(0), a)

    raw = np.zeros(4 * 100 + 1, np.uint8)
    x = raw[1:].view("float32")
    x[:] = np.arange(100)
    g = fc.jit(f)
    for total, products in calls(g, x):
        assert total == 4950
        np.testing.assert_array_equal(products, g(np.arange(100, dtype="float32"))[1])
