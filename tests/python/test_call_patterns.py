"""Second calls of jitted functions over trees, by keyword and with static arguments.

They are recognized without their trees being built: what looks alike and is not must be told apart.
"""

from __future__ import annotations

import collections
import gc
import threading
import weakref
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

Pair = collections.namedtuple("Pair", ["first", "second"])
X, Y = fnp.array([1.0, 2.0]), fnp.array([10.0, 20.0])


def called_twice(f: Any, *args: Any, **kwargs: Any) -> Any:
    f(*args, **kwargs)
    return f(*args, **kwargs)


def test_containers_give_the_same_in_every_call() -> None:
    @fc.jit
    def f(p: Any, pair: Any, both: Any, nothing: Any) -> Any:
        assert nothing is None
        return {"sum": p["a"] + p["b"], "pair": pair.first - pair.second, "list": [both[0][0]]}

    arguments = ({"b": Y, "a": X}, Pair(X, Y), [(X,), Y], None)
    for _ in range(3):
        result = f(*arguments)
        np.testing.assert_array_equal(result["sum"], [11.0, 22.0])
        np.testing.assert_array_equal(result["pair"], [-9.0, -18.0])
        np.testing.assert_array_equal(result["list"][0], [1.0, 2.0])
    assert f.cache_info().misses == 1


def test_results_in_containers_and_none_give_the_same_in_every_call() -> None:
    @fc.jit
    def nested(x: Any, y: Any) -> Any:
        return {"both": (x + y, [x - y])}, None

    seen: list[Any] = []
    watching = fc.jit(lambda x: fc.debug.callback(lambda value: seen.append(float(value[0])), x))
    total = fc.jit(lambda *args: {"total": sum(args)})
    for scale in (1.0, 2.0, 3.0):
        result, nothing = nested(X * scale, Y)
        assert nothing is None
        np.testing.assert_array_equal(result["both"][0], np.asarray(X) * scale + np.asarray(Y))
        np.testing.assert_array_equal(result["both"][1][0], np.asarray(X) * scale - np.asarray(Y))
        assert watching(X * scale) is None
        many = [X * scale] * 20
        np.testing.assert_array_equal(total(*many)["total"], np.asarray(X) * scale * 20)
        with pytest.raises(TypeError):
            total(*many[:-1], object())
    assert seen == [1.0, 2.0, 3.0]
    for f in (nested, watching, total):
        assert f.cache_info().misses == 1


def test_what_is_alike_but_not_the_same_is_told_apart() -> None:
    runs: list[Any] = []

    @fc.jit
    def f(tree: Any) -> Any:
        runs.append(type(tree).__name__)
        return fc.tree.leaves(tree)[0] * 1

    trees = [(X, Y), [X, Y], Pair(X, Y), {"a": X, "b": Y}, {"a": X, "c": Y}, (X, None), (X, Y, X)]
    trees += [(X, (Y,)), (fnp.array([1, 2]), Y), (X, fnp.ones((2, 1))), {0: X, 1: Y}]
    for tree in trees * 2:
        np.testing.assert_array_equal(f(tree), fc.tree.leaves(tree)[0])
    assert len(runs) == len(trees)


def test_keywords_in_any_order_are_the_same_call() -> None:
    runs: list[int] = []

    @fc.jit
    def f(x: Any, *, a: Any, b: Any) -> Any:
        runs.append(1)
        return x + a - b

    for _ in range(3):
        np.testing.assert_array_equal(f(X, a=Y, b=X), Y)
        np.testing.assert_array_equal(f(X, b=X, a=Y), Y)
        np.testing.assert_array_equal(f(X, a=X, b=Y), X + X - Y)
    assert runs == [1]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'b'"):
        f(X, a=Y)


@pytest.mark.parametrize(
    "values", [(0.0, -0.0), (1, 1.0, True), ("a", "b", None), ((1, 0.0), (1, -0.0), (True, 0.0))]
)
def test_static_values_that_make_other_programs_are_told_apart(values: tuple[Any, ...]) -> None:
    seen: list[Any] = []

    def f(x: Any, n: Any, *, m: Any) -> Any:
        seen.append((repr(n), repr(m)))
        return x * 1

    jitted = fc.jit(f, static_argnums=1, static_argnames="m")
    for _ in range(3):
        for n in values:
            for m in values:
                jitted(X, n, m=m)
    assert seen == [(repr(n), repr(m)) for n in values for m in values]


def test_static_values_of_users_are_compared_by_their_own_equality() -> None:
    class Size:
        def __init__(self, n: int) -> None:
            self.n = n

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Size) and self.n == other.n

        def __hash__(self) -> int:
            return hash(self.n)

    runs: list[int] = []

    def f(x: Any, size: Size) -> Any:
        runs.append(size.n)
        return x * size.n

    jitted = fc.jit(f, static_argnums=1)
    kept = Size(2)
    for size in (kept, kept, Size(2), Size(3), kept, Size(3)):
        np.testing.assert_array_equal(jitted(X, size), X * size.n)
    assert runs == [2, 3]


def test_leaves_that_are_no_arrays_in_memory_take_the_slow_way() -> None:
    f = fc.jit(lambda tree: tree["a"] + tree["b"])
    called_twice(f, {"a": X, "b": Y})
    np.testing.assert_array_equal(f({"a": X, "b": np.float32([1, 2])}), [2.0, 4.0])
    np.testing.assert_array_equal(f({"a": X, "b": 1.0}), [2.0, 3.0])
    np.testing.assert_array_equal(fc.vmap(lambda x: f({"a": x, "b": x}))(X), X + X)
    np.testing.assert_array_equal(fc.grad(lambda x: f({"a": x, "b": Y}).sum())(X), [1.0, 1.0])
    with pytest.raises(TypeError, match="is not an array"):
        f({"a": X, "b": "text"})


def test_donated_leaves_are_used_up_in_every_call() -> None:
    f = fc.jit(lambda tree: {"a": tree["a"] + 1}, donate_argnums=0)
    for _ in range(3):
        given = fnp.zeros(3)
        np.testing.assert_array_equal(f({"a": given})["a"], [1.0, 1.0, 1.0])
        del given


def test_flags_apply_to_calls_that_were_made_before() -> None:
    f = fc.jit(lambda tree: tree[0] / tree[1])
    called_twice(f, (X, X * 0))
    with fc.debug_nans(True), pytest.raises(FloatingPointError):
        f((X * 0, X * 0))
    assert np.isnan(np.asarray(f((X * 0, X * 0)))).all()


def test_keys_whose_comparison_runs_code_do_not_disturb_a_call() -> None:
    f = fc.jit(lambda tree: tree["a"] * 2)
    called_twice(f, {"a": X})
    changed: list[int] = []

    class Same:
        def __hash__(self) -> int:
            return hash("a")

        def __eq__(self, other: object) -> bool:
            changed.append(1)
            f.clear_cache()
            return False

        def __lt__(self, other: object) -> bool:
            return True

        def __gt__(self, other: object) -> bool:
            return False

    with pytest.raises((TypeError, KeyError)):
        fc.jit(lambda tree: tree["b"])({Same(): X, "a": X})
    assert changed
    np.testing.assert_array_equal(f({"a": X}), X * 2)


def test_threads_that_change_a_container_during_a_call_do_no_harm() -> None:
    f = fc.jit(lambda tree: (tree[0] @ tree[0], tree[0] + 1))
    shared = [fnp.ones((64, 64))]
    called_twice(f, shared)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            shared[0] = fnp.ones((64, 64)) * 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(500):
            product, plus = f(shared)
            assert float(product[0, 0]) == 64.0
            assert float(plus[-1, -1]) == 2.0
    finally:
        stop.set()
        thread.join()


def test_what_a_cleared_function_held_is_let_go() -> None:
    class Token:
        pass

    token = Token()
    f = fc.jit(lambda x, t: x + 1, static_argnums=1)
    called_twice(f, X, token)
    alive = weakref.ref(token)
    del token
    f.clear_cache()
    gc.collect()
    assert alive() is None
    np.testing.assert_array_equal(f(X, Token()), X + 1)
