"""Functions on pytrees: nested tuples, lists, dicts, named tuples and registered classes."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

from farcall import _core
from farcall._tree_paths import check_structure
from farcall._tree_paths import flatten_with_path as flatten_with_path
from farcall._tree_paths import leaves_with_path as leaves_with_path
from farcall._tree_paths import map_with_path as map_with_path
from farcall._tree_paths import transpose as transpose

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "structure",
    "transpose",
    "unflatten",
]


_NOTHING: Any = object()  # a missing argument, where None is a valid value


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves of ``tree`` and its structure. None is a container without leaves."""
    return _core.tree_flatten(tree, is_leaf)


def unflatten(treedef: Any, leaves: Any) -> Any:
    """The tree with this structure and these leaves; ValueError for a wrong number of leaves."""
    check_structure(treedef, "unflatten: treedef")
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of ``tree``."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The structure of ``tree``."""
    return flatten(tree, is_leaf)[1]


def map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Applies ``f`` to corresponding leaves; the result has the structure of the first tree.

    Raises:
      ValueError: if another tree does not have the structure of the first one.
    """
    first, treedef = flatten(tree, is_leaf)
    others = [treedef.flatten_up_to(other) for other in rest]
    return treedef.unflatten([f(*parts) for parts in zip(first, *others, strict=True)])


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _NOTHING,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Applies ``functools.reduce`` to the leaves.

    Args:
      function: takes the accumulated value and the next leaf.
      tree: the pytree.
      initializer: the start value; it may be None.
      is_leaf: takes a subtree; returns whether it counts as a leaf.

    Raises:
      TypeError: for a tree without leaves, if there is no initializer.
    """
    first = () if initializer is _NOTHING else (initializer,)
    return functools.reduce(function, leaves(tree, is_leaf), *first)


def all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all leaves are true."""
    return builtins.all(leaves(tree, is_leaf))


def broadcast(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Repeats each leaf of ``prefix_tree`` for all leaves that it covers in ``full_tree``."""
    first, treedef = flatten(prefix_tree, is_leaf)
    parts = [structure(part, is_leaf) for part in treedef.flatten_up_to(full_tree)]
    spread = zip(first, parts, strict=True)
    return treedef.unflatten([part.unflatten([leaf] * part.num_leaves) for leaf, part in spread])


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = None,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Reduces the leaves with an associative operation, as a balanced tree of logarithmic depth.

    Args:
      operation: takes two leaves.
      tree: a pytree.
      identity: the result for a tree without leaves.
      is_leaf: as for flatten.

    Raises:
      TypeError: for a tree without leaves, if there is no identity.
    """
    values = leaves(tree, is_leaf)
    if not values:
        if identity is None:
            raise TypeError("reduce_associative: the tree has no leaves, and identity is not given")
        return identity
    while len(values) > 1:
        pairs = [operation(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = [*pairs, values[-1]] if len(values) % 2 else pairs
    return values[0]
