"""x.at[index]: updates, against jax.numpy and plain numpy."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def wide_types() -> Any:
    """JAX keeps 64-bit types, as farcall does by itself."""
    with fc.enable_x64(True), jax.enable_x64(True):
        yield


X = np.linspace(0.5, 3, 12).reshape(3, 4)
KEYS = {
    "integer": np.s_[1],
    "negative": np.s_[-1, -2],
    "slice": np.s_[1:, ::2],
    "reversed": np.s_[::-1],
    "all": np.s_[...],
    "new axis": np.s_[None, :, 1],
    "array": np.s_[np.array([2, 0])],
    "arrays": np.s_[np.array([[0], [2]]), np.array([1, 3])],
    "mixed": np.s_[1:, np.array([3, 0])],
    "parted": np.s_[np.array([0, 1]), None, np.array([1, 2])],
    "mask": np.s_[X > 1.5],
    "row mask": np.s_[np.array([True, False, True])],
    "empty": np.s_[np.array([], int)],
}
METHODS = ["set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("method", METHODS)
def test_updates(key: str, method: str) -> None:
    index = KEYS[key]
    values = np.linspace(-1, 2, X[index].size).reshape(X[index].shape)
    for v in (values, 1.5):
        found = getattr(fnp.array(X).at[index], method)(v)
        expected = getattr(jnp.array(X).at[index], method)(v)
        assert found.dtype == X.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_updates_of_repeated_places() -> None:
    index, values = np.array([1, 1, 0]), np.array([[2.0], [3.0], [5.0]])
    for method in METHODS[1:]:
        found = getattr(fnp.array(X).at[index], method)(values)
        expected = getattr(jnp.array(X).at[index], method)(values)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_apply() -> None:
    expected = X.copy()
    expected[1:, 2] = np.exp(X[1:, 2])
    np.testing.assert_allclose(fnp.array(X).at[1:, 2].apply(fnp.exp), expected)


@pytest.mark.parametrize("mode", [None, "fill", "clip", "promise_in_bounds"])
@pytest.mark.parametrize("fill_value", [None, 3])
def test_get(mode: str | None, fill_value: int | None) -> None:
    for dtype in ("float32", "int8", "uint16", "bool", "complex64"):
        x = X.astype(dtype)
        for index in (np.array([1, -1, 7]), 9, np.s_[-9, 1]):
            found = fnp.array(x).at[index].get(mode=mode, fill_value=fill_value)
            expected = jnp.array(x).at[index].get(mode=mode, fill_value=fill_value)
            np.testing.assert_array_equal(found, expected)


def test_updates_outside_are_dropped_or_moved() -> None:
    x = fnp.arange(4)
    np.testing.assert_array_equal(x.at[np.array([1, 9, -9])].set(7), [0, 7, 2, 3])
    np.testing.assert_array_equal(x.at[9].add(7), [0, 1, 2, 3])
    np.testing.assert_array_equal(x.at[9].add(7, mode="clip"), [0, 1, 2, 10])
    np.testing.assert_array_equal(x.at[-1].set(7, wrap_negative_indices=False), [0, 1, 2, 3])


def test_values_take_the_dtype_of_the_array() -> None:
    found = fnp.array([1, 2], np.int8).at[0].set(np.float64(7.9))
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, [7, 2])


def test_traced_indices_and_values() -> None:
    f = fc.jit(lambda x, i, v: x.at[i, 1:3].add(v))
    expected = X.copy()
    expected[2, 1:3] += 5
    np.testing.assert_array_equal(f(X, 2, 5.0), expected)


def test_a_loop_of_updates_is_one_program() -> None:
    @fc.jit
    def f(x: Any) -> Any:
        for i in range(3):
            x = x.at[i].set(x[i - 1] + 1)
        return x

    expected = X.copy()
    for i in range(3):
        expected[i] = expected[i - 1] + 1
    np.testing.assert_array_equal(f(X), expected)


def test_the_array_does_not_change() -> None:
    x = fnp.array(X)
    x.at[0].set(0.0)
    np.testing.assert_array_equal(x, X)
    with pytest.raises(TypeError, match="make a new one with x"):
        x[0] = 0.0


def test_values_must_fit() -> None:
    with pytest.raises(ValueError, match="update: "):
        fnp.zeros(3).at[:2].set(np.zeros(3))


def test_gradients() -> None:
    def loss(m: Any) -> Any:
        def f(x: Any, v: Any) -> Any:
            y = x.at[np.array([0, 2, 0])].set(v).at[1].multiply(x[0])
            return (y.at[::2, 1:].add(v[:2, 1:]) ** 2).sum()

        return f

    v = np.cos(X)
    found = fc.grad(loss(fnp), (0, 1))(X, v)
    expected = jax.jit(jax.grad(loss(jnp), (0, 1)))(X, v)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32", "complex64"])
@pytest.mark.parametrize("method", METHODS)
def test_values_of_other_dtypes_are_combined_in_the_common_dtype_as_in_jax(
    method: str, dtype: str
) -> None:
    if method == "power" and dtype in ("bool", "complex64"):
        pytest.skip("JAX's powers of bools are of 32 bits, and complex ones overflow to NaN")

    def results(m: Any) -> list[Any]:
        values: list[Any] = [2.5, 2, -1, True, np.float32(300.5), np.uint8(3), np.array([2, 3])]
        values += [] if method in ("min", "max") else [1j]
        if dtype == "bool":
            values = [v for v in values if v is not True]  # JAX has no sums of bools
        at = m.array([26, 27, 0], dtype).at[np.array([0, 0])]
        return [getattr(at, method)(v) for v in values]

    for found, expected in zip(results(fnp), results(jnp), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5)
