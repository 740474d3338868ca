"""Pytrees with the paths to their leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from farcall import _core


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """An index of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@dataclasses.dataclass(frozen=True)
class DictKey:
    """A key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """An attribute of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True)
class FlattenedIndexKey:
    """The index of a child of an object whose class does not name its children."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyPath = tuple[Any, ...]

# Maps a registered class to the function that names an object's children.
_child_keys: dict[type, Callable[[Any], Iterable[Any]]] = {}


def name_children(nodetype: type, keys: Callable[[Any], Iterable[Any]]) -> None:
    """Sets the function that returns the keys of the children of this class, in order."""
    _child_keys[nodetype] = keys


def child_keys(node: Any, count: int) -> Iterable[Any]:
    """The keys of the ``count`` children of a container."""
    kind = type(node)
    if kind in _child_keys:
        return _child_keys[kind](node)
    if kind is dict:
        return map(DictKey, sorted(node))
    if kind in (list, tuple):
        return map(SequenceKey, range(count))
    if hasattr(node, "_fields"):
        return map(GetAttrKey, node._fields)
    return map(FlattenedIndexKey, range(count))


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], Any]:
    """The leaves of ``tree``, each with its path, and the structure.

    Args:
      tree: a pytree.
      is_leaf: a predicate for further leaves.
      is_leaf_takes_path: whether ``is_leaf`` takes the path as its first argument.
    """
    found: list[tuple[KeyPath, Any]] = []
    nodes: set[int] = set()  # ids of nodes that is_leaf declared leaves

    def visit(path: KeyPath, node: Any) -> None:
        arguments = (path, node) if is_leaf_takes_path else (node,)
        stops = is_leaf is not None and is_leaf(*arguments)
        children = [node] if stops else _core.tree_flatten(node, lambda x: x is not node)[0]
        if stops or (len(children) == 1 and children[0] is node):
            found.append((path, node))
            nodes.add(id(node))
            return
        for key, child in zip(child_keys(node, len(children)), children, strict=True):
            visit((*path, key), child)

    visit((), tree)
    return found, _core.tree_flatten(tree, lambda x: id(x) in nodes)[1]


def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves of ``tree``, each with its path; arguments as for flatten_with_path."""
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """``f(path, leaf, …)`` of corresponding leaves, in the structure of the first tree."""
    first, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [treedef.flatten_up_to(other) for other in rest]
    paths, leaves = zip(*first, strict=True) if first else ((), ())
    return treedef.unflatten(list(map(f, paths, leaves, *others)))


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text: ``['a'][0].x``.

    Args:
      keys: the path.
      simple: only the keys, without brackets and dots.
      separator: the text between the keys.
    """
    if not isinstance(separator, str):
        raise TypeError(f"keystr: separator must be a string, got {separator!r}")
    if not simple:
        return separator.join(map(str, keys))
    return separator.join(map(_simple_text, keys))


def _simple_text(key: Any) -> str:
    """The index, name or key that a path entry holds."""
    for value in getattr(key, "__dict__", {}).values():
        return str(value)
    raise TypeError(f"keystr: {key!r} is not a path key")


def check_structure(treedef: Any, what: str) -> None:
    if not isinstance(treedef, _core.PyTreeDef):
        raise TypeError(f"{what} must be a PyTreeDef, got {treedef!r}")


def transpose(outer_treedef: Any, inner_treedef: Any, pytree_to_transpose: Any) -> Any:
    """Exchanges the outer and the inner structure of a tree of trees.

    Args:
      outer_treedef: the outer structure of ``pytree_to_transpose``.
      inner_treedef: the structure of its subtrees; None for that of the first one.
      pytree_to_transpose: the tree of trees.

    Raises:
      TypeError: if the tree does not have these structures.
    """
    check_structure(outer_treedef, "transpose: outer_treedef")
    parts = outer_treedef.flatten_up_to(pytree_to_transpose)
    if inner_treedef is not None:
        check_structure(inner_treedef, "transpose: inner_treedef")
    elif not parts:
        raise ValueError("transpose: the outer structure has no leaves; give inner_treedef")
    else:
        inner_treedef = _core.tree_flatten(parts[0])[1]
    rows = [_core.tree_flatten(part) for part in parts]
    if any(structure != inner_treedef for _, structure in rows):
        raise TypeError(f"transpose: the inner structure should be {inner_treedef} everywhere")
    columns = zip(*(leaves for leaves, _ in rows), strict=True)
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])
