"""Trees that change, or fail, while they are walked: errors as Python's own containers give."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import farcall as fc
import numpy as np
import pytest
from farcall import tree, tree_util


class Leaf:
    """Of which it is known how many there are."""

    alive = 0

    def __init__(self) -> None:
        Leaf.alive += 1

    def __del__(self) -> None:
        Leaf.alive -= 1


def test_a_dict_that_loses_its_keys_is_an_error() -> None:
    value: dict[str, Any] = {name: Leaf() for name in "abc"}

    def is_leaf(x: Any) -> bool:
        if isinstance(x, Leaf):
            value.clear()
        return False

    with pytest.raises(RuntimeError, match="dictionary keys changed during iteration"):
        tree.flatten([value], is_leaf)
    gc.collect()
    assert Leaf.alive == 0


def test_what_is_looked_at_is_held() -> None:
    value = {"a": Leaf()}

    def is_leaf(x: Any) -> bool:
        if isinstance(x, Leaf):
            value.clear()
            gc.collect()
            assert Leaf.alive == 1
        return isinstance(x, Leaf)

    (leaf,) = tree.leaves(value, is_leaf)
    assert isinstance(leaf, Leaf)
    assert not value


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda v: v.pop(), [0, 1]),
        (lambda v: v.clear(), [0]),
        (lambda v: v.append(7) if len(v) < 6 else None, [0, 1, 2, 7, 7, 7]),
    ],
)
def test_a_list_that_shrinks_or_grows_is_walked_as_by_a_loop(change: Any, wanted: Any) -> None:
    value, other = [0, 1, 2], [0, 1, 2]
    by_loop = []
    for item in other:
        by_loop.append(item)
        change(other)
    leaves = tree.leaves(value, lambda x: (x is not value and change(value), False)[1])
    assert leaves == by_loop == wanted


@pytest.mark.parametrize("name", ["__lt__", "__eq__", "__hash__"])
def test_keys_that_change_the_dict_are_no_danger(name: str) -> None:
    value: dict[Any, Any] = {}
    is_on = False

    class Key:
        def __init__(self, number: int) -> None:
            self.number = number

        def act(self) -> None:
            if is_on:
                value.clear()
                gc.collect()

        def __hash__(self) -> int:
            if name == "__hash__":
                self.act()
            return 1

        def __eq__(self, other: object) -> bool:
            if name == "__eq__":
                self.act()
            return self is other

        def __lt__(self, other: Any) -> bool:
            if name == "__lt__":
                self.act()
            return self.number < other.number

    value.update({Key(i): Leaf() for i in range(5)})
    is_on = True
    try:
        tree.flatten(value)
    except RuntimeError as error:
        assert "changed during iteration" in str(error)  # noqa: PT017
    is_on = False


def test_what_keys_raise_is_raised() -> None:
    class Key:
        def __lt__(self, other: object) -> bool:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tree.flatten({Key(): 1, Key(): 2})


@pytest.mark.parametrize(
    ("truth", "is_leaf"), [(None, False), (1, True), (np.True_, True), ("", False), ([0], True)]
)
def test_is_leaf_is_asked_as_if_does(truth: Any, is_leaf: bool) -> None:
    value = [1, 2]
    assert tree.leaves(value, lambda x: truth if x is value else False) == (
        [value] if is_leaf else [1, 2]
    )


def test_is_leaf_without_a_truth_is_an_error() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        tree.leaves([1], lambda _: np.ones(2))


class Node:
    """A registered class; ``answer`` is what its flatten function returns."""

    answer: Any = ((), None)


tree_util.register_pytree_node(Node, lambda node: node.answer, lambda data, children: children)


def node(answer: Any) -> Node:
    made = Node()
    made.answer = answer
    return made


@pytest.mark.parametrize("answer", [None, 3, (), (1,), ([], None, 1), [[], None], "ab"])
def test_flatten_functions_return_a_pair(answer: Any) -> None:
    with pytest.raises(TypeError, match="must return a pair"):
        tree.flatten(node(answer))


@pytest.mark.parametrize("children", [None, 3, 1.5])
def test_children_are_something_to_iterate_over(children: Any) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        tree.flatten(node((children, None)))


def test_children_may_come_from_a_generator_that_fails() -> None:
    def children() -> Any:
        yield 1
        raise KeyError("later")

    with pytest.raises(KeyError, match="later"):
        tree.flatten(node((children(), None)))
    assert tree.leaves(node((iter([1, 2]), None))) == [1, 2]


def test_a_node_that_is_its_own_child_is_an_error() -> None:
    itself = node(None)
    itself.answer = ([itself], None)
    circular: dict[str, Any] = {}
    circular["a"] = circular
    for value in (itself, circular):
        with pytest.raises(RecursionError):
            tree.flatten(value)
        with pytest.raises(RecursionError):
            fc.jit(lambda x: x)(value)


def nested(depth: int) -> Any:
    value: Any = 1.0
    for _ in range(depth):
        value = [value]
    return value


def test_no_recursion_limit_lets_the_stack_overflow() -> None:
    """Also in threads, whose stacks are smaller."""
    found: list[Any] = []

    def use(depth: int) -> None:
        try:
            leaves, structure = tree.flatten(nested(depth))
            again = tree.unflatten(structure, leaves)
            found.append(tree.structure(again) == structure and len(repr(structure)) > depth)
        except RecursionError:
            found.append(None)

    def attributes(depth: int) -> None:
        value: Any = 1
        for _ in range(depth):
            value = {"a": value}
        with pytest.raises((RecursionError, fc.FfiError, ValueError)):
            fc.ffi.ffi_call("nowhere", fc.ShapeDtypeStruct((), "float32"))(a=value)

    limit, size = sys.getrecursionlimit(), threading.stack_size()
    sys.setrecursionlimit(10**6)
    try:
        use(1000)
        use(100_000)
        attributes(100_000)
        for kilobytes in (256, 1024, 8192):
            threading.stack_size(kilobytes << 10)
            thread = threading.Thread(target=use, args=(100_000,))
            thread.start()
            thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    assert found == [True, None, None, None, None]


def test_unflatten_functions_may_call_back() -> None:
    class Back:
        def __init__(self, *children: Any) -> None:
            self.children = children

    def unflatten(_: Any, children: Any) -> Any:
        tree.flatten([children])
        gc.collect()
        return Back(*children)

    tree_util.register_pytree_node(Back, lambda b: (b.children, None), unflatten)
    value = Back(1, Back(2, [3]), {"a": Back()})
    assert tree.leaves(tree.map(lambda x: x + 1, value)) == [2, 3, 4]
    assert tree.leaves(fc.jit(lambda x: x)(value)) == [1, 2, 3]


def test_auxiliary_data_that_compares_badly() -> None:
    class Data:
        def __eq__(self, other: object) -> Any:
            raise KeyError("no comparison")

        __hash__ = None  # type: ignore[assignment]

    first, second = tree.structure(node(((), Data()))), tree.structure(node(((), Data())))
    with pytest.raises(KeyError, match="no comparison"):
        assert first == second
    arrays = [tree.structure(node(((), np.ones(2)))) for _ in range(2)]
    with pytest.raises(ValueError, match="ambiguous"):
        assert arrays[0] == arrays[1]
    assert hash(arrays[0]) == hash(arrays[1])


@pytest.mark.parametrize(
    "axes",
    [(1.5,), (np.ones(2),), "a", object(), ([0],), (b"",)],
    ids=["float", "array", "text", "object", "list", "bytes"],
)
def test_axes_that_are_none_are_refused(axes: Any) -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises((TypeError, ValueError), match="in_axes must be"):
        fc.vmap(lambda x: x, in_axes=axes)(x)
    with pytest.raises((TypeError, ValueError), match="out_axes must be"):
        fc.vmap(lambda x: x, out_axes=axes[0] if isinstance(axes, tuple) else axes)(x)
