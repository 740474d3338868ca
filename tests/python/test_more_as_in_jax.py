"""Functions over rarer arguments: what JAX gives for them."""

from __future__ import annotations

import collections
import importlib
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from both import Modules, same_as_jax
from farcall import lax, tree_util

COMPLEX = np.complex64([[1 + 1j, 2, 3], [2, 1 - 1j, 1 + 2j]])
X = np.float32([[1, -2, 3], [0.5, 4, -1]])
WHOLE = np.int32([3, 1, 2, 3, 7, 1])
OTHER = np.int32([2, 7, 7, 5])


def nn(m: Modules) -> Any:
    return importlib.import_module(f"{m.root.__name__}.nn")


def stats(m: Modules) -> Any:
    return importlib.import_module(f"{m.root.__name__}.scipy.stats")


def special(m: Modules) -> Any:
    return importlib.import_module(f"{m.root.__name__}.scipy.special")


# ---- complex numbers in the order of their real parts --------------------------------------------


@pytest.mark.parametrize("name", ["cummax", "cummin", "cumlogsumexp"])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_extremes_of_complex_numbers(name: str, reverse: bool) -> None:
    def run(m: Modules) -> Any:
        f = lambda x: getattr(m.lax, name)(x, axis=0, reverse=reverse)  # noqa: E731
        tangent = m.root.jvp(f, (m.np.array(COMPLEX),), (m.np.array(COMPLEX * 2),))
        return f(COMPLEX), m.root.vmap(f)(COMPLEX), m.root.jit(f)(COMPLEX), tangent

    same_as_jax(run)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_complex_numbers(name: str) -> None:
    def run(m: Modules) -> Any:
        f, g = getattr(m.np, name), getattr(m.lax, f"reduce_{name}")
        return (
            [f(COMPLEX), f(COMPLEX, axis=0), f(COMPLEX, axis=1, keepdims=True)],
            [g(COMPLEX, (1,)), m.root.vmap(lambda x: g(x, (0,)))(COMPLEX)],
            f(COMPLEX, where=COMPLEX.real > 1, initial=2.5, axis=1),
        )

    same_as_jax(run)


# ---- lax -----------------------------------------------------------------------------------------


def test_dimensions_of_size_1_are_repeated() -> None:
    same_as_jax(
        lambda m: [
            m.lax.add(X, X[:1]),
            m.lax.mul(X[:, :1], X[:1]),
            m.lax.lt(X, X[:, 1:2]),
            m.root.vmap(m.lax.sub, (0, None))(X, X[0, :1]),
            m.root.grad(lambda a, b: m.lax.mul(a, b).sum(), (0, 1))(X[:, :1], X[:1]),
        ]
    )
    with pytest.raises(ValueError, match="add: operands must have one shape"):
        lax.add(X, X[:, :2])
    with pytest.raises(ValueError, match="add: operands must have one shape"):
        lax.add(X, X[0])


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.lax.mul(X, 1j),
        lambda m: m.lax.add(WHOLE, 0.5),
        lambda m: m.lax.max(2.5, WHOLE),
    ],
)
def test_numbers_that_would_lose_a_part_are_refused(call: Callable[[Modules], Any]) -> None:
    with pytest.raises((ValueError, TypeError), match="operands must have one dtype"):
        call(Modules(fc, fnp, lax))
    with pytest.raises(TypeError, match="same dtypes"):
        call(Modules(jax, jnp, jax.lax))


def test_conjugates_of_floats_are_complex() -> None:
    same_as_jax(lambda m: [m.lax.conj(X), m.root.jvp(m.lax.conj, (X,), (X,))])


def test_exponents_of_floats_are_also_integers() -> None:
    exponents = np.int8([[1, 2, 3], [4, 0, -1]])
    same_as_jax(lambda m: [m.lax.pow(X, exponents), m.lax.pow(X, exponents[:1])])


def test_products_of_two_dtypes() -> None:
    def run(m: Modules) -> Any:
        a, b = X.astype(ml_dtypes.bfloat16), np.ones((3, 3, 1), np.float32)
        return [
            m.lax.dot_general(a, X, (((1,), (1,)), ((), ()))),
            m.lax.dot_general(a, np.int32([1, 2, 3]), (((1,), (0,)), ((), ()))),
            m.lax.dot_general(b, np.int8([[1, 2, 3]]), (((0, 2), (1, 0)), ((), ()))),
        ]

    same_as_jax(run)


def test_gather_moves_windows_inside_by_default() -> None:
    def run(m: Modules) -> Any:
        numbers = m.lax.GatherDimensionNumbers((1,), (), (0,))
        return m.lax.gather(WHOLE, np.int32([[5], [3], [9]]), numbers, (2,))

    same_as_jax(run)


def test_axes_of_reductions_come_in_any_order() -> None:
    array = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    same_as_jax(lambda m: [m.lax.reduce_max(array, (2, 0)), m.lax.reduce_sum(array, (1, 0))])


# ---- numpy ---------------------------------------------------------------------------------------

CASES: dict[str, Callable[[Modules], Any]] = {
    "concatenate": lambda m: m.np.concatenate(
        [np.uint32([3, 4]), np.array([1, 2], ml_dtypes.uint4)], dtype="uint16"
    ),
    "stack": lambda m: m.np.stack([np.int8([1]), np.array([1], ml_dtypes.int4)], dtype="int32"),
    "trace": lambda m: m.np.linalg.trace(X, dtype="int8"),
    "one_hot": lambda m: nn(m).one_hot(np.array([1, 3], ml_dtypes.uint4), 4),
    "var": lambda m: [
        m.np.var(X, axis=1, ddof=3),
        m.np.std(X, axis=0, ddof=3),
        m.np.var(X, axis=1, ddof=1, where=X > 0),
    ],
    "mode": lambda m: list(stats(m).mode(3)) + list(stats(m).mode(2.0, keepdims=True)),
    "poly": lambda m: m.np.poly(3.0),
    "cumsum of bools": lambda m: m.np.cumsum(X, axis=0, dtype=bool),
    "nancumsum": lambda m: m.np.nancumsum(X, dtype=bool),
    "cumprod": lambda m: m.np.cumprod(X, axis=1, dtype="bool"),
    "power": lambda m: m.np.power(-0.5, np.uint32([1, 2])) * np.float16(1),
    "log2": lambda m: [m.np.log2(8.0) * np.float16(1), m.np.log10(100.0) * np.float16(1)],
    "cumsum of a number": lambda m: m.np.cumsum(2) * np.int8(1),
    "softmax": lambda m: [
        special(m).softmax(X),
        special(m).log_softmax(X),
        special(m).softmax(X, axis=0),
        special(m).log_softmax(X, axis=(1, 0)),
    ],
    "logsumexp": lambda m: special(m).logsumexp(
        np.int32([1, 2]), b=np.array([2, 0.5], ml_dtypes.bfloat16)
    ),
    "gammainc": lambda m: special(m).gammainc(0.0, np.float32([1, 3, np.inf])),
    "gammaincc": lambda m: special(m).gammaincc(0.0, np.float32([0.5, 1, 3, np.inf])),
    "betainc": lambda m: special(m).betainc(0.0, np.float32([2, 3]), np.float32([0.3, 1])),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_give_what_jax_gives(name: str) -> None:
    same_as_jax(CASES[name], rtol=1e-2 if name == "logsumexp" else 2e-5)


def test_fill_values_of_another_dtype_are_known_in_programs() -> None:
    same_as_jax(
        lambda m: m.root.jit(
            lambda x, i: [
                m.np.take(x, i, fill_value=True),
                m.np.extract(x > 2, x > 1, size=4, fill_value=0),
                m.np.compress(x > 2, x, size=6, fill_value=2.0),
            ]
        )(WHOLE, OTHER)
    )


@pytest.mark.parametrize("options", [{}, {"fill_value": 9}])
@pytest.mark.parametrize("size", [1, 2, 6])
@pytest.mark.parametrize("name", ["setdiff1d", "setxor1d", "intersect1d"])
def test_sets_of_a_known_size_are_traced(name: str, size: int, options: dict[str, int]) -> None:
    def run(m: Modules) -> Any:
        f = lambda x, y: getattr(m.np, name)(x, y, size=size, **options)  # noqa: E731
        return m.root.jit(f)(WHOLE, OTHER), m.root.vmap(f, (0, None))(WHOLE.reshape(2, 3), OTHER)

    same_as_jax(run)
    traced = fc.jit(lambda x, y: getattr(fnp, name)(x, y, size=size, **options))
    for x, y in [(WHOLE, OTHER), (WHOLE[:0], OTHER), (WHOLE, OTHER[:0])]:
        eager = getattr(fnp, name)(x, y, size=size, **options)
        np.testing.assert_array_equal(traced(x, y), eager)


def test_indices_of_traced_intersections() -> None:
    def common(x: Any, y: Any) -> Any:
        return fnp.intersect1d(x, y, return_indices=True, size=4, fill_value=0)

    values, first, second = fc.jit(common)(WHOLE, OTHER)
    assert values.tolist() == [2, 7, 0, 0]
    assert first.tolist() == [2, 4, 6, 6]
    assert second.tolist() == [0, 1, 4, 4]
    for traced, eager in zip((values, first, second), common(WHOLE, OTHER), strict=True):
        np.testing.assert_array_equal(traced, eager)


def test_arguments_that_are_refused() -> None:
    with pytest.raises(ValueError, match="where: size and fill_value are for indices"):
        fnp.where(X > 0, X, 0, size=3)
    with pytest.raises(ValueError, match="nonzero: a must have a dimension, got a scalar"):
        fnp.nonzero(3)


# ---- trees and programs --------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "tree", [{"b": 1, "a": [2]}, [1, (2, 3)], (1,), Point(1, {"z": 2}), None, {}], ids=str
)
def test_one_level_of_a_tree(tree: Any) -> None:
    children, data = tree_util.flatten_one_level(tree)
    theirs, their_data = jax.tree_util.flatten_one_level(tree)
    assert list(children) == list(theirs)
    assert data == their_data or not children
    keyed = tree_util.flatten_one_level_with_keys(tree)[0]
    assert [child for _, child in keyed] == list(children)


def test_one_level_of_registered_classes_and_leaves() -> None:
    partial = tree_util.Partial(max, 1, key=2)
    assert tree_util.flatten_one_level(partial)[0] == [(1,), {"key": 2}]
    keyed, data = tree_util.flatten_one_level_with_keys({"k": (1, 2)})
    assert keyed == [(tree_util.DictKey("k"), (1, 2))]
    assert data == ("k",)
    with pytest.raises(ValueError, match="flatten_one_level: tree must be a container, got 3"):
        tree_util.flatten_one_level(3)


def test_programs_refer_to_axes_of_an_environment() -> None:
    def f(x: Any) -> Any:
        return lax.psum(x, "i") / lax.axis_size("i") + lax.axis_index("j")

    make = fc.make_jaxpr(f, axis_env=[("i", 4), ("j", 2)])
    program = make(np.float32(1))
    assert "psum" in program.primitives
    assert [aval.shape for aval in program.out_avals] == [()]
    assert fc.make_jaxpr(f, axis_env=[("i", 4), ("j", 2)], return_shape=True)(1.0)[1].shape == ()
    with pytest.raises(NameError, match='unbound axis name "j"'):
        fc.make_jaxpr(f, axis_env=[("i", 4)])(1.0)
    with pytest.raises(TypeError, match=r"axis_env must list pairs of a name and a size"):
        fc.make_jaxpr(f, axis_env=["i"])  # type: ignore[list-item]
