"""Indexing with arrays and masks, and numpy's functions that select, take and pad."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

jax = pytest.importorskip("jax")
jnp = jax.numpy

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def wide_types() -> Any:
    """JAX keeps 64-bit types, as farcall does by itself."""
    with fc.enable_x64(True), jax.enable_x64(True):
        yield


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def same(found: Any, expected: Any) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Basic and advanced indices in any order, which numpy takes."""
    common = draw(st.sampled_from([(), (2,), (3, 1), (0,), (2, 3)]))
    key: list[Any] = []
    dim = 0
    has_ellipsis = False
    while dim < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "array", "mask", "new", "...", "stop"]))
        size = shape[dim]
        if kind == "stop":
            break
        if kind == "...":
            if not has_ellipsis:
                skipped = draw(st.integers(0, len(shape) - dim))
                # An ellipsis that stands for nothing still parts arrays in numpy.
                if skipped == 0:
                    continue
                key.append(...)
                dim, has_ellipsis = len(shape), True
        elif kind == "new":
            key.append(None)
        elif kind == "int":
            key.append(draw(st.integers(-size, size - 1)))
            dim += 1
        elif kind == "slice":
            bound = st.none() | st.integers(-size - 1, size + 1)
            step = draw(st.none() | st.integers(-3, 3).filter(bool))
            key.append(slice(draw(bound), draw(bound), step))
            dim += 1
        elif kind == "array":
            axes = draw(st.integers(0, len(common)))
            sizes = [n if draw(st.booleans()) else 1 for n in common[axes:]]
            dtype = draw(st.sampled_from([np.int32, np.int64, np.int8]))
            seed = draw(st.integers(0, 99))
            random = np.random.default_rng(seed)
            key.append(np.asarray(random.integers(-size, size, sizes)).astype(dtype))
            dim += 1
        elif common in ((), (2,)):
            mask = np.zeros(size, bool)
            count = 2 if common else 1
            mask[list(range(min(count, size)))] = True
            if mask.sum() == count:
                key.append(mask)
                dim += 1
    return tuple(key)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_key_gives_what_numpy_gives(data: Any) -> None:
    shape = data.draw(st.sampled_from([(4,), (2, 3), (2, 3, 4), (3, 1, 2, 2)]))
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    key = data.draw(keys(shape))
    same(fnp.array(x)[key], x[key])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_key_under_jit(data: Any) -> None:
    key = data.draw(keys(X.shape))
    arrays = [k for k in key if isinstance(k, np.ndarray) and k.dtype != bool]

    def pick(x: Any, *traced: Any) -> Any:
        rest = iter(traced)
        is_given = [isinstance(k, np.ndarray) and k.dtype != bool for k in key]
        return x[tuple(next(rest) if g else k for g, k in zip(is_given, key, strict=True))]

    same(fc.jit(pick)(X, *arrays), X[key])


def test_masks() -> None:
    x = fnp.array(X)
    same(x[X > 5], X[X > 5])
    same(x[X[:, :, 0] > 5], X[X[:, :, 0] > 5])
    same(x[:, np.array([True, False, True])], X[:, [True, False, True]])
    same(x[fnp.array(X) > 100], X[X > 100])
    same(x[True], X[True])
    same(x[False], X[False])
    same(x[np.array([True, False]), [1, 2][0]], X[[True, False], 1])


def test_a_traced_mask_is_refused() -> None:
    with pytest.raises(fc.NonConcreteBooleanIndexError) as caught:
        fc.jit(lambda m: fnp.array(X)[m])(X > 5)
    assert "the mask bool[2,3,4] is traced" in str(caught.value)
    assert isinstance(caught.value, IndexError)


def test_a_mask_is_known_while_differentiating() -> None:
    grad = fc.grad(lambda x: x[x > 5].sum())(X)
    same(grad, (X > 5).astype(np.float32))


def test_traced_scalars_are_dynamic_indices() -> None:
    f = fc.jit(lambda x, i, j: x[i, :, j])
    for i, j in ((0, 1), (-1, -4), (1, 3)):
        same(f(X, i, j), X[i, :, j])


def test_indices_outside_are_moved_inside() -> None:
    x = fnp.arange(5)
    same(x[np.array([9, -9, 2])], [4, 0, 2])
    same(fc.jit(lambda i: x[i])(9), 4)
    with pytest.raises(IndexError, match="index 9 is out of range for dimension 0 of size 5"):
        x[9]


ERRORS = [
    (lambda x: x[np.array([1.0])], TypeError, "arrays of integers or bools"),
    (lambda x: x[fnp.array([1.0])], TypeError, "arrays of integers or bools"),
    (lambda x: x[[0, 1]], TypeError, "an array cannot be indexed by a list; got [0, 1]"),
    (lambda x: x["a"], TypeError, "got 'a' of type str"),
    (lambda x: x[0, 0, 0, 0], IndexError, "4 indices were given for 3 dimensions"),
    (
        lambda x: x[np.array([True])],
        IndexError,
        "the mask bool[1] does not fit dimensions of sizes [2]",
    ),
    (lambda x: x[..., ...], ValueError, "only one ellipsis is allowed"),
    (
        lambda x: x[np.array([0, 1]), np.array([0, 1, 2])],
        ValueError,
        "indices: shapes [2], [3] cannot be broadcast",
    ),
    (
        lambda x: fnp.zeros((0, 3))[np.array([0])],
        IndexError,
        "an array without elements has none to take",
    ),
    (lambda x: fnp.take(x, 0.5), TypeError, "take: indices must be integers, got f"),
    (lambda x: fnp.take(x, 0, mode="raise"), ValueError, "take: mode must be clip, fill"),
    (
        lambda x: fnp.take_along_axis(x, np.array([0]), 0),
        ValueError,
        "take_along_axis: indices and the array must have one rank; got i64[1] and f32[2,3,4]",
    ),
    (
        lambda x: fnp.put_along_axis(x, np.zeros((1, 3, 4), int), 0, 0),
        ValueError,
        "give inplace=False",
    ),
    (lambda x: fnp.pad(x, 1, "odd"), ValueError, "pad: mode must be constant, edge"),
    (lambda x: fnp.pad(x, -1, "edge"), ValueError, "pad: widths must not be negative"),
    (lambda x: fnp.pad(x, 1, "edge", end_values=1), ValueError, "takes no option end_values"),
    (lambda x: fnp.roll(x, 0.5), TypeError, "roll: the shift must be an integer"),
    (lambda x: fnp.where(x, 1), ValueError, "either both or neither of x and y"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors_say_what_is_wrong(case: int) -> None:
    call, kind, text = ERRORS[case]
    with pytest.raises(kind) as caught:
        call(fnp.array(X))
    assert text in str(caught.value)


@pytest.mark.parametrize("mode", [None, "fill", "clip", "wrap"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take(mode: str | None, axis: int | None) -> None:
    for indices in (np.array([[0, 7], [-1, -30]]), 1, np.array([], np.int32)):
        same(fnp.take(X, indices, axis, mode=mode), jnp.take(X, indices, axis, mode=mode))
    same(
        fnp.take(X, np.array([99]), axis, fill_value=-5),
        jnp.take(X, np.array([99]), axis, fill_value=-5),
    )


def test_take_along_axis() -> None:
    order = np.argsort(-X, axis=1)
    same(fnp.take_along_axis(X, order, 1), np.take_along_axis(X, order, 1))
    same(fnp.take_along_axis(X, order[:1], 1), np.take_along_axis(X, order[:1], 1))
    same(fnp.take_along_axis(X[:1], order, 1), jnp.take_along_axis(X[:1], order, 1))
    same(
        fnp.take_along_axis(X, np.array([30, 2]), None),
        jnp.take_along_axis(X, np.array([30, 2]), None),
    )
    outside = np.array([[[5, -1, 0, -9]]])
    for mode in (None, "fill", "clip"):
        same(
            fnp.take_along_axis(X, outside, 1, mode=mode),
            jnp.take_along_axis(X, outside, 1, mode=mode),
        )


def test_put_along_axis() -> None:
    largest = X.argmax(axis=2)[:, :, None]
    expected = X.copy()
    np.put_along_axis(expected, largest, -1, axis=2)
    same(fnp.put_along_axis(X, largest, -1, 2, inplace=False), expected)


CONDITIONS = [np.array([[0, 1, 0], [2, 0, 3]]), np.zeros((0, 2)), np.array([True]), np.zeros(3)]


@pytest.mark.parametrize("case", range(len(CONDITIONS)))
def test_places_that_are_not_zero(case: int) -> None:
    a = CONDITIONS[case]
    for found, expected in zip(fnp.nonzero(a), np.nonzero(a), strict=True):
        same(found, expected)
    same(fnp.argwhere(a), np.argwhere(a))
    same(fnp.flatnonzero(a), np.flatnonzero(a))
    if a.size == 0:
        same(fnp.nonzero(a, size=2, fill_value=-1), [[-1, -1], [-1, -1]])
        return
    for size, fill in ((2, None), (5, -1), (0, None), (4, tuple(range(a.ndim)))):
        expected = jnp.nonzero(a, size=size, fill_value=fill)
        for f in (
            fnp.nonzero,
            fc.jit(lambda x, s=size, v=fill: fnp.nonzero(x, size=s, fill_value=v)),
        ):
            found = f(a, size=size, fill_value=fill) if f is fnp.nonzero else f(a)
            for one, wanted in zip(found, expected, strict=True):
                same(one, wanted)
        same(fnp.argwhere(a, size=size), jnp.argwhere(a, size=size))


def test_how_many_are_not_zero_has_to_be_known() -> None:
    with pytest.raises(fc.ConcretizationTypeError, match="nonzero: the number of nonzero elements"):
        fc.jit(fnp.nonzero)(X)


def test_where_compress_and_extract() -> None:
    same(fnp.where(X > 5, X, -X), np.where(X > 5, X, -X))
    for found, expected in zip(fnp.where(X > 5), np.where(X > 5), strict=True):
        same(found, expected)
    condition = [True, False, True]
    same(fnp.compress(condition, X, 1), np.compress(condition, X, 1))
    same(fnp.compress([0, 1], X), np.compress([0, 1], X))
    same(
        fnp.compress(condition, X, 1, size=3, fill_value=9),
        jnp.compress(np.array(condition), X, 1, size=3, fill_value=9),
    )
    same(fnp.extract(X > 5, X), np.extract(X > 5, X))
    same(fnp.extract(X > 20, X, size=5), jnp.extract(X > 20, X, size=5))


def test_unique() -> None:
    x = np.array([3, 1, 3, 2, 1], np.int32)
    found = fnp.unique(x, True, True, True)
    for one, wanted in zip(found, np.unique(x, True, True, True), strict=True):
        same(one, wanted)
    for size, fill in ((2, None), (5, None), (5, 9)):
        same(fnp.unique(x, size=size, fill_value=fill), jnp.unique(x, size=size, fill_value=fill))
    same(fnp.unique(np.array([[1, 2], [1, 2]]), axis=0), [[1, 2]])


WIDTHS = [1, (2, 3), ((1, 2),), ((0, 0), (2, 1), (3, 9))]
MODES = ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp"]
MODES += ["maximum", "minimum", "mean"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_pad(mode: str, widths: Any, dtype: Any) -> None:
    x = X.astype(dtype)
    np.testing.assert_allclose(
        fnp.pad(x, widths, mode), np.pad(x, widths, mode), rtol=1e-5, atol=1e-5
    )


def test_pad_with_values() -> None:
    same(fnp.pad(X, 1, constant_values=7), np.pad(X, 1, constant_values=7))
    values = ((1, 2), (3, 4), (5, 6))
    same(fnp.pad(X, 2, constant_values=values), np.pad(X, 2, constant_values=values))
    ramp = np.pad(X, 2, "linear_ramp", end_values=(9, -9))
    np.testing.assert_allclose(fnp.pad(X, 2, "linear_ramp", end_values=(9, -9)), ramp, rtol=1e-6)
    assert fnp.pad(X, 1, "empty").shape == (4, 5, 6)


@pytest.mark.parametrize("shift", [0, 1, -7, 100, (1, -1)])
def test_roll(shift: Any) -> None:
    same(fnp.roll(X, shift), np.roll(X, shift))
    same(fnp.roll(X, shift, (0, 2)), np.roll(X, shift, (0, 2)))
    if isinstance(shift, int):
        same(fnp.roll(X, shift, 1), np.roll(X, shift, 1))
        same(fc.jit(lambda s: fnp.roll(X, s, -1))(shift), np.roll(X, shift, -1))


def test_sizes_that_overflow_are_refused() -> None:
    x = fnp.zeros((2**62, 0), np.int8)
    with pytest.raises(ValueError, match="concatenate: dimension 0 of the result is too large"):
        fnp.concatenate([x, x, x])
    with pytest.raises(ValueError, match=r"reshape: the sizes .* more than 63 bits"):
        fnp.reshape(fnp.zeros(4), (2**62, 4, -1))
