"""Gathers and scatters of many windows, which several threads share, against numpy."""

from __future__ import annotations

import itertools

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_many_updates_of_few_elements(dtype: str) -> None:
    random = np.random.default_rng(3)
    count, size = 300_007, 13
    updates = (random.normal(size=count) * 4).astype(dtype)
    places = random.integers(-2, size + 2, count)  # some are outside
    inside = (places >= 0) & (places < size)
    expected = np.arange(size, dtype="complex128")
    np.add.at(expected, places[inside], updates[inside].astype("complex128"))
    numbers_of = lax.ScatterDimensionNumbers((), (0,), (0,))
    found = lax.scatter_add(np.arange(size, dtype=dtype), places[:, None], updates, numbers_of)
    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance)
    negative = lax.scatter_add(
        np.full(2, -0.0, "float32"),
        np.zeros((count, 1), "int32"),
        np.full(count, -0.0, "float32"),
        numbers_of,
    )
    assert np.signbit(negative).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16", "float16"])
@pytest.mark.parametrize("shape", [(700, 16), (700, 33), (900, 64), (40, 1000), (9, 5000)])
def test_many_rows_are_added_and_set_in_their_order(shape: tuple[int, int], dtype: str) -> None:
    """Several threads share the rows or the columns; sums of floats depend on the order."""
    rows, columns = shape
    random = np.random.default_rng(columns)
    count = 300_000 // columns
    places = random.integers(-1, rows + 1, count).astype(np.int32)
    updates = (100 * random.normal(size=(count, columns))).astype(dtype)
    table = random.normal(size=shape).astype(dtype)
    added = fc.jit(lambda t, i, u: t.at[i].add(u, mode="drop"))(table, places, updates)
    replaced = fc.jit(lambda t, i, u: t.at[i].set(u, mode="drop"))(table, places, updates)
    sums, last = table.copy(), table.copy()
    for i, place in enumerate(places):
        if -rows <= place < rows:
            sums[place] += updates[i]
            last[place] = updates[i]
    np.testing.assert_array_equal(np.asarray(added), sums)
    np.testing.assert_array_equal(np.asarray(replaced), last)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(40, 16), (40, 33), (1, 64), (300, 2), (20, 3, 5)])
def test_many_rows_are_added_to_few_in_parts(shape: tuple[int, ...], dtype: str) -> None:
    """Consecutive updates are summed apart; the sizes alone determine how many, and so the bits."""
    rows, row = shape[0], shape[1:]
    random = np.random.default_rng(rows)
    count = 400_000 // int(np.prod(row)) + 3
    updates = (100 * random.normal(size=(count, *row))).astype(dtype)
    updates[:9] = 0
    places = random.integers(0, rows, count).astype(np.int32)
    places[random.integers(0, count, 50)] = rows  # outside
    table = random.normal(size=shape).astype(dtype)

    def add_at(target: np.ndarray, chosen: slice) -> np.ndarray:
        inside = places[chosen] < rows
        np.add.at(target, places[chosen][inside], updates[chosen][inside])
        return target

    added = fc.jit(lambda t, i, u: t.at[i].add(u, mode="drop"))(table, places, updates)
    bounds = [count * part // 3 for part in range(4)]
    sums = [
        add_at(table.copy() if part == 0 else np.full(shape, -0.0, dtype), slice(first, last))
        for part, (first, last) in enumerate(itertools.pairwise(bounds))
    ]
    np.testing.assert_array_equal(added, sums[0] + sums[1] + sums[2])
    exact = add_at(table.astype("float64"), slice(None))
    np.testing.assert_allclose(added, exact, rtol=1e-4, atol=1e-2)


def test_windows_that_overlap_in_part_are_added_in_their_order() -> None:
    random = np.random.default_rng(0)
    places = random.integers(0, 200, (3000, 1)).astype(np.int32)
    updates = random.normal(size=(3000, 128)).astype(np.float32)
    numbers_of = lax.ScatterDimensionNumbers((1,), (), (0,))
    found = fc.jit(lambda x, i, u: lax.scatter_add(x, i, u, numbers_of))(
        np.zeros(328, np.float32), places, updates
    )
    expected = np.zeros(328, np.float32)
    for place, update in zip(places[:, 0], updates, strict=True):
        expected[place : place + 128] += update
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("index", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex128"])
def test_rows_of_any_width_and_parts_of_rows(dtype, index, mode):
    random = np.random.default_rng(0)
    for columns in [1, 2, 3, 4, 8, 16, 17, 32, 64]:
        x = random.integers(0, 100, (30, columns)).astype(dtype)
        low = 0 if index == "uint8" else -20
        for size in [1, 7, 300]:
            i = random.integers(low, 50, size).astype(index)
            at = i.astype("int64")
            at = np.where(at < 0, at + 30, at)
            inside = ((at >= 0) & (at < 30))[:, None] | (mode == "clip")
            for part in {columns, max(1, columns // 2)}:
                wanted = np.where(inside, x[at.clip(0, 29), :part], np.array(1, dtype))
                taken = fnp.asarray(x)[:, :part].at[i].get(mode=mode, fill_value=1)
                np.testing.assert_array_equal(taken, wanted)
                windows = lax.gather(
                    x, at[:, None],
                    lax.GatherDimensionNumbers((1,), (0,), (0,)),
                    (1, part), mode=mode, fill_value=1,
                )  # fmt: skip
                np.testing.assert_array_equal(windows, wanted)


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "float64", "complex128"])
@pytest.mark.parametrize("size", [3000, 70_000, 250_000])
def test_elements_at_many_places_are_combined_in_order(size, dtype, index, mode):
    random = np.random.default_rng(0)
    count = 300_001
    base = random.integers(-3, 4, size).astype(dtype)
    updates = random.integers(-3, 4, count).astype(dtype)
    i = random.integers(-size // 4, size + size // 4, count).astype(index)
    i[: count // 3] = np.sort(i[: count // 3])
    if index == "int64":
        i[::1000] = [2**40, -(2**40), 2**31, 2**32 + 5] * 75 + [2**33]
    inside = slice(None) if mode == "clip" else (i >= 0) & (i < size)
    at, values = i.clip(0, size - 1)[inside], updates[inside]
    for name in ["set", "add", "min", "max"]:
        if dtype == "complex128" and name in ("min", "max"):
            continue
        wanted = base.copy()
        if name == "set":
            wanted[at] = values
        else:
            {"add": np.add, "min": np.minimum, "max": np.maximum}[name].at(wanted, at, values)
        scatter = getattr(lax, "scatter" if name == "set" else f"scatter_{name}")
        dims = lax.ScatterDimensionNumbers((), (0,), (0,))
        result = scatter(base, i[:, None], updates, dims, mode=mode)
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("size", [10_000, 100_000])
def test_sums_of_elements_have_the_bits_of_one_addition_after_the_other(size):
    random = np.random.default_rng(0)
    base, updates = random.normal(size=size), random.normal(size=400_000)
    i = random.integers(0, size, 400_000)
    for dtype in ("float32", "float64"):
        wanted = base.astype(dtype)
        np.add.at(wanted, i, updates.astype(dtype))
        added = fnp.asarray(base.astype(dtype)).at[i].add(updates.astype(dtype))
        assert np.asarray(added).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "complex64"])
@pytest.mark.parametrize(
    ("shape", "count"), [((50, 33), 40), ((300, 700), 1000), ((3, 40, 20), 300), ((5, 9), 3)]
)
def test_columns_are_taken_added_and_set(shape: tuple[int, ...], count: int, dtype: str) -> None:
    """Some indices are outside; some name a column again, so that the order matters."""
    random = np.random.default_rng(count)
    size = shape[-1]
    x = (5 * random.normal(size=shape)).astype(dtype)
    updates = (5 * random.normal(size=(*shape[:-1], count))).astype(dtype)
    places = random.integers(-size - 3, size + 3, count).astype("int32")
    places[0] = size  # outside in any case
    sums, last = x.copy(), x.copy()
    for i, place in enumerate(places):
        if -size <= place < size:
            sums[..., place] = sums[..., place] + updates[..., i]
            last[..., place] = updates[..., i]
    added = fc.jit(lambda x, i, u: x.at[..., i].add(u, mode="drop"))(x, places, updates)
    replaced = fc.jit(lambda x, i, u: x.at[..., i].set(u, mode="drop"))(x, places, updates)
    np.testing.assert_array_equal(np.asarray(added), sums)
    np.testing.assert_array_equal(np.asarray(replaced), last)
    inside = np.where((places >= -size) & (places < size), places, 0)
    taken = fc.jit(lambda x, i: x[..., i])(x, inside)
    np.testing.assert_array_equal(np.asarray(taken), x[..., inside])
    filled = fc.jit(lambda x, i: x.at[..., i].get(mode="fill", fill_value=7))(x, places)
    wanted = np.where(inside == places, x[..., inside], np.asarray(7, dtype))
    np.testing.assert_array_equal(np.asarray(filled), wanted)


def test_windows_that_share_elements_of_other_places_are_set_in_their_order() -> None:
    """Side by side, but each begins in the window before it."""
    numbers = lax.ScatterDimensionNumbers((0,), (), (0,))
    updates = np.arange(4 * 100, dtype="float32").reshape(4, 100)
    places = np.arange(100, dtype="int32")[:, None] // 2
    found = lax.scatter(np.zeros(60, "float32"), places, updates, numbers)
    expected = np.zeros(60, "float32")
    for i, (place,) in enumerate(places):
        expected[place : place + 4] = updates[:, i]
    np.testing.assert_array_equal(np.asarray(found), expected)
