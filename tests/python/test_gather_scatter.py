"""farcall.lax: gather, scatter, dynamic slices and pad, against jax.lax."""

from __future__ import annotations

import functools
import re
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import ml_dtypes
import numpy as np
import pytest
from farcall import lax
from hypothesis import assume, given, settings
from hypothesis import strategies as st

jax = pytest.importorskip("jax")
jlax = jax.lax

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def wide_types() -> Any:
    """JAX keeps 64-bit types, as farcall does by itself."""
    with fc.enable_x64(True), jax.enable_x64(True):
        yield


DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64"]
DTYPES += ["complex64", "complex128", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]
INDEX_DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SCATTERS = ["scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"]
MODES = ["clip", "fill", "promise_in_bounds"]


def numbers(shape: Any, dtype: Any, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.asarray(random.integers(-3, 4, shape)).astype(dtype)


def same(found: Any, expected: Any) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    np.testing.assert_array_equal(found.astype(wide), expected.astype(wide))


@st.composite
def windows(draw: Any) -> dict[str, Any]:
    """An operand, indices, and dimension numbers that say where windows of the operand lie."""
    rank = draw(st.integers(0, 4))
    shape = [draw(st.integers(1, 4)) for _ in range(rank)]
    kinds = [draw(st.sampled_from(["kept", "collapsed", "batching"])) for _ in range(rank)]
    batching = [i for i in range(rank) if kinds[i] == "batching"]
    collapsed = [i for i in range(rank) if kinds[i] == "collapsed"]
    free = [i for i in range(rank) if kinds[i] != "batching"]
    start_map = draw(st.permutations([i for i in free if draw(st.booleans())]))
    sizes = [
        draw(st.integers(0, n)) if k == "kept" else 1 for n, k in zip(shape, kinds, strict=True)
    ]
    others = [draw(st.integers(0, 3)) for _ in range(draw(st.integers(0, 2)))]
    order = draw(st.permutations(range(len(others) + len(batching))))
    index_sizes = others + [shape[i] for i in batching]
    index_shape = [index_sizes[i] for i in order]
    index_batching = [order.index(len(others) + j) for j in range(len(batching))]
    kept = rank - len(batching) - len(collapsed)
    result_rank = kept + len(index_shape)
    offset = sorted(draw(st.permutations(range(result_rank)))[:kept])
    seed = draw(st.integers(0, 1000))
    indices = np.random.default_rng(seed).integers(-2, 5, [*index_shape, len(start_map)])
    return {
        "operand": numbers(shape, draw(st.sampled_from(["float32", "int32", "complex64"])), seed),
        "indices": indices.astype(draw(st.sampled_from(["int32", "int64", "int8"]))),
        "numbers": (offset, collapsed, start_map, batching, index_batching),
        "sizes": sizes,
        "mode": draw(st.sampled_from(["clip", "fill"])),
    }


def as_numbers(kind: Any, parts: Any) -> Any:
    return kind(*(tuple(part) for part in parts))


@settings(max_examples=60, deadline=None)
@given(windows())
def test_gather_of_any_windows(case: dict[str, Any]) -> None:
    found = lax.gather(
        case["operand"],
        case["indices"],
        as_numbers(lax.GatherDimensionNumbers, case["numbers"]),
        case["sizes"],
        mode=case["mode"],
    )
    expected = jlax.gather(
        case["operand"],
        case["indices"],
        as_numbers(jlax.GatherDimensionNumbers, case["numbers"]),
        tuple(case["sizes"]),
        mode=case["mode"],
    )
    same(found, expected)


@settings(max_examples=60, deadline=None)
@given(windows(), st.sampled_from(SCATTERS))
def test_scatter_of_any_windows(case: dict[str, Any], name: str) -> None:
    operand, indices = case["operand"], case["indices"]
    if operand.dtype == np.complex64 and name in ("scatter_min", "scatter_max"):
        operand = operand.real
    # XLA writes several windows without an index one beside the other, not all at the start.
    assume(indices.shape[-1] > 0 or np.prod(indices.shape[:-1]) <= 1)
    if name == "scatter" and case["mode"] == "clip":
        indices = np.zeros_like(indices)  # which of several updates stays is not said
    shape = np.asarray(
        lax.gather(
            operand,
            indices,
            as_numbers(lax.GatherDimensionNumbers, case["numbers"]),
            case["sizes"],
        )
    ).shape
    updates = (
        np.full(shape, 2, operand.dtype) if name == "scatter" else numbers(shape, operand.dtype)
    )
    arguments = (operand, indices, updates)
    found = getattr(lax, name)(
        *arguments, as_numbers(lax.ScatterDimensionNumbers, case["numbers"]), mode=case["mode"]
    )
    try:
        expected = getattr(jlax, name)(
            *arguments, as_numbers(jlax.ScatterDimensionNumbers, case["numbers"]), mode=case["mode"]
        )
    except jax.errors.JaxRuntimeError:  # XLA cannot compile some scatters of single windows
        assume(False)
    same(found, expected)


ROWS = ((1,), (0,), (0,))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_gather_of_every_dtype(dtype: Any, mode: str) -> None:
    operand = numbers((4, 3), dtype)
    indices = (
        np.array([[2], [0], [3]]) if mode == "promise_in_bounds" else np.array([[2], [9], [-1]])
    )
    found = lax.gather(operand, indices, lax.GatherDimensionNumbers(*ROWS), (1, 3), mode=mode)
    expected = jlax.gather(operand, indices, jlax.GatherDimensionNumbers(*ROWS), (1, 3), mode=mode)
    same(found, expected)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
@pytest.mark.parametrize("name", SCATTERS)
def test_scatter_of_every_dtype(dtype: Any, name: str) -> None:
    if "complex" in str(dtype) and name in ("scatter_min", "scatter_max"):
        pytest.skip("JAX's order of complex numbers")
    operand, updates = numbers((4, 3), dtype), numbers((4, 3), dtype, seed=1)
    indices = np.array([[2], [9], [0], [3]] if name == "scatter" else [[2], [9], [2], [-1]])
    found = getattr(lax, name)(operand, indices, updates, lax.ScatterDimensionNumbers(*ROWS))
    expected = getattr(jlax, name)(operand, indices, updates, jlax.ScatterDimensionNumbers(*ROWS))
    same(found, expected)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_indices_of_every_dtype(dtype: str) -> None:
    operand = numbers((200, 2), "int32")
    largest = np.iinfo(dtype).max
    indices = np.array([[5], [largest], [100]], dtype)
    found = lax.gather(operand, indices, lax.GatherDimensionNumbers(*ROWS), (1, 2), mode="clip")
    np.testing.assert_array_equal(found, operand[[5, min(largest, 199), 100]])
    starts = [np.array(largest, dtype), np.array(0, dtype)]
    part = lax.dynamic_slice(operand, starts, (3, 2), allow_negative_indices=False)
    first = min(largest, 197)
    np.testing.assert_array_equal(part, operand[first : first + 3])


def test_fill_values() -> None:
    operand = np.arange(3, dtype=np.float32)
    numbers_ = lax.GatherDimensionNumbers((), (0,), (0,))
    for value in (7, 2.5, np.float64(-1)):
        found = lax.gather(operand, np.array([[5]]), numbers_, (1,), mode="fill", fill_value=value)
        assert found[0] == value


STARTS = [(0, 0), (1, 2), (-1, -2), (9, 9), (-9, 1)]


@pytest.mark.parametrize("starts", STARTS)
def test_dynamic_slices(starts: tuple[int, int]) -> None:
    x, update = numbers((5, 6), "float32"), numbers((2, 3), "float32", seed=3)
    same(lax.dynamic_slice(x, starts, (2, 3)), jlax.dynamic_slice(x, starts, (2, 3)))
    same(lax.dynamic_update_slice(x, update, starts), jlax.dynamic_update_slice(x, update, starts))
    traced = fc.jit(lambda i, k: lax.dynamic_slice(fnp.array(x), (i, k), (2, 3)))
    same(traced(*starts), jlax.dynamic_slice(x, starts, (2, 3)))


def test_dynamic_slices_along_one_axis() -> None:
    x = numbers((4, 5), "int32")
    for f in (lambda m: m.dynamic_slice_in_dim(x, 3, 2, 1), lambda m: m.dynamic_index_in_dim(x, 2)):
        same(f(lax), f(jlax))
    for f in (
        lambda m: m.dynamic_index_in_dim(x, -1, 1, keepdims=False),
        lambda m: m.dynamic_update_slice_in_dim(x, x[:, :2], 2, 1),
        lambda m: m.dynamic_update_index_in_dim(x, x[0], 3, 0),
        lambda m: m.slice_in_dim(x, 1, None, 2, axis=-1),
        lambda m: m.index_in_dim(x, -1, 1),
    ):
        same(f(lax), f(jlax))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_pad_with_any_configuration(data: Any) -> None:
    rank = data.draw(st.integers(0, 3))
    shape = [data.draw(st.integers(0, 4)) for _ in range(rank)]
    config = []
    for size in shape:
        interior = data.draw(st.integers(0, 2))
        total = size + max(size - 1, 0) * interior
        low = data.draw(st.integers(-total, 3))
        high = data.draw(st.integers(-(total + min(low, 0)), 3))
        config.append((low, max(high, -(total + low)), interior))
    x = numbers(shape, data.draw(st.sampled_from(["float32", "int8", "complex128"])))
    value = x.dtype.type(7)
    same(lax.pad(x, value, config), jlax.pad(x, value, config))


def test_updates_of_what_dies_are_made_in_place() -> None:
    def f(x: Any) -> Any:
        y = fnp.exp(x)
        for i in range(3):
            y = lax.dynamic_update_slice(y, x[:2], (i,))
            y = y.at[i].add(1.0)
        return y

    def g(x: np.ndarray) -> np.ndarray:
        y = np.exp(x)
        for i in range(3):
            y[i : i + 2] = x[:2]
            y[i] += 1
        return y

    x = np.linspace(0, 1, 6).astype(np.float32)
    np.testing.assert_allclose(fc.jit(f)(x), g(x), rtol=1e-6)


def test_what_is_read_later_is_not_written_over() -> None:
    x = np.arange(6, dtype=np.float32)

    @fc.jit
    def f(x: Any) -> Any:
        y = x + 1
        z = lax.dynamic_update_slice(y, y[:2], (3,))
        w = z.at[np.array([0, 1, 2, 3, 4, 5])].add(z)
        return y, z, w

    y, z, w = f(x)
    np.testing.assert_array_equal(y, x + 1)
    np.testing.assert_array_equal(z, [1, 2, 3, 1, 2, 6])
    np.testing.assert_array_equal(w, 2 * np.asarray(z))
    np.testing.assert_array_equal(x, np.arange(6))


ERRORS = [
    (
        lambda: lax.dynamic_slice(np.zeros(3), (0,), (4,)),
        "dynamic_slice: slice_sizes [4] must lie in the shape of f64[3]",
    ),
    (
        lambda: lax.dynamic_slice(np.zeros(3), (0, 0), (1,)),
        "dynamic_slice: expected 1 start indices for f64[3], got 2",
    ),
    (
        lambda: lax.dynamic_update_slice(np.zeros(3), np.zeros(4), (0,)),
        "dynamic_update_slice: the update must lie in the operand; got f64[3], f64[4]",
    ),
    (
        lambda: lax.pad(np.zeros(3), 0.0, [(0, 0, -1)]),
        "pad: interior padding must not be negative, got -1 for dimension 0",
    ),
    (
        lambda: lax.pad(np.zeros(3), 0.0, [(-2, -2, 0)]),
        "pad: padding (-2, -2, 0) removes more elements than dimension 0 of f64[3] has",
    ),
    (
        lambda: lax.pad(np.zeros(3), 0.0, [(2**62, 2**62, 2**62)]),
        "pad: padding (4611686018427387904, 4611686018427387904, 4611686018427387904) makes "
        "dimension 0 of f64[3] too large",
    ),
    (
        lambda: lax.gather(
            np.zeros(3), np.zeros((2, 2), int), lax.GatherDimensionNumbers((), (0,), (0,)), (1,)
        ),
        "gather: start_index_map [0] must have an entry for each of the 2 components of an index",
    ),
    (
        lambda: lax.gather(
            np.zeros(3), np.zeros((2, 1), int), lax.GatherDimensionNumbers((), (), (0,)), (1,)
        ),
        "gather: offset_dims [] must name the 1 dimensions that windows of f64[3] keep",
    ),
    (
        lambda: lax.gather(
            np.zeros(3), np.zeros((2, 1), int), lax.GatherDimensionNumbers((), (0,), (0,)), (2,)
        ),
        "gather: slice_sizes [2] must be 1 in dimension 0, which windows leave out",
    ),
    (
        lambda: lax.gather(
            np.zeros(3),
            np.zeros((2, 1), int),
            lax.GatherDimensionNumbers((), (0,), (0,)),
            (1,),
            mode="near",
        ),
        'gather: mode must be clip, fill, drop or promise_in_bounds; got "near"',
    ),
    (
        lambda: lax.scatter(
            np.zeros(3),
            np.zeros((2, 1), int),
            np.zeros(5),
            lax.ScatterDimensionNumbers((), (0,), (0,)),
        ),
        "scatter: updates for indices i64[2,1] must have shape [2], got f64[5]",
    ),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors_say_what_does_not_fit(case: int) -> None:
    call, text = ERRORS[case]
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


def test_indices_must_be_integers() -> None:
    with pytest.raises(TypeError, match=r"start indices must be integers, got f(32|64)"):
        lax.dynamic_slice(np.zeros(3), (1.0,), (1,))


def test_scatter_add_is_not_defined_for_bools() -> None:
    with pytest.raises(ValueError, match=r"scatter_add: is not defined for bool\[3\]"):
        fnp.zeros(3, bool).at[0].add(True)


# ---- transformations


def functions(lax_: Any, np_: Any) -> dict[str, Any]:
    rows = lambda kind: kind(*ROWS)  # noqa: E731
    take = lax_.GatherDimensionNumbers
    put = lax_.ScatterDimensionNumbers
    i = np.array([[2], [9], [2], [-1], [0]])
    distinct = np.array([[2], [9], [1]])
    cases: dict[str, Any] = {
        "gather": lambda x, u: lax_.gather(x, i, rows(take), (1, 3), mode="fill", fill_value=0),
        "gather clip": lambda x, u: lax_.gather(x, i, rows(take), (1, 3), mode="clip"),
        "dynamic_slice": lambda x, u: lax_.dynamic_slice(x, (1, 1), (3, 2)),
        "dynamic_update_slice": lambda x, u: lax_.dynamic_update_slice(x, u[:2], (3, 0)),
        "pad": lambda x, u: lax_.pad(x, u[0, 0], [(1, -1, 1), (-1, 2, 0)]),
        "scatter unique": lambda x, u: lax_.scatter(
            x, distinct, u[:3], rows(put), unique_indices=True
        ),
        "scatter_mul unique": lambda x, u: lax_.scatter_mul(
            x, distinct, u[:3], rows(put), unique_indices=True
        ),
        "scatter_mul operand": lambda x, u: lax_.scatter_mul(x, i, np.ones((5, 3)) * 2, rows(put)),
        "take": lambda x, u: np_.take(x, np.array([1, 3, 1]), axis=1, mode="clip"),
        "take_along_axis": lambda x, u: np_.take_along_axis(x, np.array([[0], [1], [2], [0]]), 1),
        "index": lambda x, u: x[np.array([0, 2]), None, 1:],
        "at set": lambda x, u: x.at[1:3, 0].set(u[0, :2]),
        "at multiply": lambda x, u: x.at[1].multiply(u[0]),
    }
    for name in ("scatter", "scatter_add", "scatter_min", "scatter_max"):
        cases[name] = lambda x, u, name=name: getattr(lax_, name)(x, i, u, rows(put))
    return cases


NAMES = sorted(functions(lax, fnp))
X, U = np.random.default_rng(0).normal(size=(4, 3)), np.random.default_rng(1).normal(size=(5, 3))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name: str) -> None:
    ours, theirs = functions(lax, fnp)[name], functions(jlax, jax.numpy)[name]
    tangents = (np.cos(X), np.sin(U))
    found = fc.jvp(ours, (X, U), tangents)
    expected = jax.jit(lambda x, u: jax.jvp(theirs, (x, u), tangents))(X, U)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    out, pullback = fc.vjp(ours, X, U)
    cotangent = np.cos(np.arange(out.size)).reshape(out.shape)
    wanted = jax.jit(lambda x, u: jax.vjp(theirs, x, u)[1](cotangent))(X, U)
    for a, b in zip(pullback(cotangent), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (1, 2)])
@pytest.mark.parametrize("name", NAMES)
def test_batches_of_operands(name: str, in_axes: tuple[Any, Any]) -> None:
    def function(x: Any, u: Any) -> Any:
        return functions(lax, fnp)[name](fnp.asarray(x), fnp.asarray(u))

    arguments = [
        v if axis is None else np.moveaxis(np.stack([v, v * 2, v - 1]), 0, axis)
        for v, axis in zip((X, U), in_axes, strict=True)
    ]
    found = fc.vmap(function, in_axes=in_axes)(*arguments)
    for i in range(3):
        one = [
            v if axis is None else np.take(v, i, axis)
            for v, axis in zip(arguments, in_axes, strict=True)
        ]
        np.testing.assert_array_equal(found[i], function(*map(fnp.array, one)))


INDEXED = {
    "gather": lambda x, i: lax.gather(
        x, i[:, None], lax.GatherDimensionNumbers(*ROWS), (1, 3), mode="clip"
    ),
    "scatter_add": lambda x, i: lax.scatter_add(
        x, i[:, None], fnp.array(U[:2]), lax.ScatterDimensionNumbers(*ROWS)
    ),
    "dynamic_slice": lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 2)),
    "dynamic_update_slice": lambda x, i: lax.dynamic_update_slice(
        x, fnp.array(U[:2, :2]), (i[0], i[1])
    ),
    "index": lambda x, i: x[i[0], i],
    "at": lambda x, i: x.at[i, i[0]].add(1.0),
    "take_along_axis": lambda x, i: fnp.take_along_axis(x, i[:, None], 0),
}


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (2, 1)])
@pytest.mark.parametrize("name", sorted(INDEXED))
def test_batches_of_indices(name: str, in_axes: tuple[Any, Any]) -> None:
    def function(x: Any, i: Any) -> Any:
        return INDEXED[name](fnp.asarray(x), fnp.asarray(i))

    x, indices = np.stack([X, X * 2, X - 1]), np.array([[0, 1], [2, 1], [-1, 0]])
    x = np.moveaxis(x, 0, in_axes[0]) if in_axes[0] is not None else X
    indices = np.moveaxis(indices, 0, in_axes[1]) if in_axes[1] is not None else indices[1]
    found = fc.vmap(function, in_axes=in_axes)(x, indices)
    for k in range(3):
        one = x if in_axes[0] is None else np.take(x, k, in_axes[0])
        at = indices if in_axes[1] is None else np.take(indices, k, in_axes[1])
        np.testing.assert_array_equal(found[k], function(fnp.array(one), fnp.array(at)))


def test_updates_multiplied_into_repeated_places_have_no_derivative() -> None:
    i = np.array([[0], [0]])
    numbers_ = lax.ScatterDimensionNumbers((), (0,), (0,))
    with pytest.raises(NotImplementedError, match=r"scatter_mul: the derivative .* unique_indices"):
        fc.jvp(lambda u: lax.scatter_mul(np.ones(3), i, u, numbers_), (np.ones(2),), (np.ones(2),))


def test_text_of_programs_goes_there_and_back() -> None:
    def f(x: Any, i: Any) -> Any:
        y = x.at[i, 1].add(1.0).at[i].get(mode="fill", fill_value=-2.5)
        return lax.pad(lax.dynamic_slice(y, (i[0], i[1]), (1, 2)), 0.0, [(1, 2, 0), (0, -1, 3)])

    program = fc.make_program(f)(X.astype(np.float32), np.array([0, 1]))
    assert fc.parse_program(program.to_text()) == program


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16", "complex128"])
@pytest.mark.parametrize("index", ["int32", "int64", "uint8"])
def test_single_elements_of_lines_and_columns(dtype: str, index: str) -> None:
    random = np.random.default_rng(4)
    table = random.integers(-99, 99, (60, 3)).astype(dtype)
    line = np.ascontiguousarray(table[:, 0])
    # Some are out of bounds, some at the limits of the dtype.
    starts = random.integers(0 if index == "uint8" else -30, 90, 9001).astype(index)
    starts[[7, 4100]] = np.iinfo(index).max, np.iinfo(index).min
    places = starts[:, None]
    inside = (starts >= 0) & (starts < 60)
    clipped = np.clip(starts.astype("int64"), 0, 59)
    updates = random.integers(-9, 9, 9001).astype(dtype)
    for operand, dims in ((line, (0,)), (table, (0, 1))):
        taken = functools.partial(
            lax.gather,
            operand,
            places,
            lax.GatherDimensionNumbers((), dims, (0,)),
            (1,) * operand.ndim,
        )
        same(taken(mode="clip"), line[clipped])
        fill = np.asarray(7).astype(dtype)
        same(taken(mode="fill", fill_value=7), np.where(inside, line[clipped], fill))
        for mode in ("clip", "fill"):
            expected = line.copy()
            counts = inside | (mode == "clip")
            np.add.at(expected, clipped[counts], updates[counts])
            found = lax.scatter_add(
                operand, places, updates, lax.ScatterDimensionNumbers((), dims, (0,)), mode=mode
            )
            same(found if operand.ndim == 1 else found[:, 0], expected)


@pytest.mark.parametrize("name", ["scatter_max", "scatter_min"])
def test_derivatives_of_extremes_at_nans_are_those_of_jax(name: str) -> None:
    x = np.array([1.0, np.nan, 3.0, 2.0, 5.0, np.nan, 7.0])
    updates = np.array([1.0, 4.0, np.nan, 9.0, 9.0])
    indices = np.array([[0], [1], [3], [4], [4]])

    def results(root: Any, lax_: Any) -> list[np.ndarray]:
        numbers = lax_.ScatterDimensionNumbers((), (0,), (0,))

        def f(x: Any, u: Any) -> Any:
            return getattr(lax_, name)(x, indices, u, numbers)

        value, back = root.vjp(f, x, updates)
        tangents = (np.arange(1.0, 8), np.arange(10.0, 15))
        return [value, *back(np.arange(1.0, 8)), root.jvp(f, (x, updates), tangents)[1]]

    for found, wanted in zip(results(fc, lax), results(jax, jax.lax), strict=True):
        np.testing.assert_array_equal(found, wanted)
