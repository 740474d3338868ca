"""The functions of farcall.tree under JAX's longer names, and registration of classes."""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from farcall import _core
from farcall._tree_paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    check_structure,
    child_keys,
    keystr,
    name_children,
)
from farcall.tree import all as tree_all
from farcall.tree import broadcast as tree_broadcast
from farcall.tree import flatten as tree_flatten
from farcall.tree import flatten_with_path as tree_flatten_with_path
from farcall.tree import leaves as tree_leaves
from farcall.tree import leaves_with_path as tree_leaves_with_path
from farcall.tree import map as tree_map
from farcall.tree import map_with_path as tree_map_with_path
from farcall.tree import reduce as tree_reduce
from farcall.tree import reduce_associative as tree_reduce_associative
from farcall.tree import structure as tree_structure
from farcall.tree import transpose as tree_transpose
from farcall.tree import unflatten as tree_unflatten

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

PyTreeDef = _core.PyTreeDef
# For pickle and copy: rebuilds the structure from a tree with dummy leaves.
PyTreeDef.__reduce__ = lambda self: (tree_structure, (self.unflatten([0] * self.num_leaves),))


KeyEntry = Any


def treedef_children(treedef: Any) -> list[Any]:
    """The structures of the children of a container."""
    check_structure(treedef, "treedef_children: treedef")
    return treedef.children()


def treedef_is_leaf(treedef: Any) -> bool:
    """Whether the structure is that of a leaf."""
    return treedef == tree_structure(0)


def treedef_tuple(treedefs: Iterable[Any]) -> Any:
    """The structure of a tuple whose elements have these structures."""
    treedefs = list(treedefs)
    for each in treedefs:
        check_structure(each, "treedef_tuple: treedefs")
    return tree_structure(tuple(each.unflatten([0] * each.num_leaves) for each in treedefs))


def is_tree_node(node: Any) -> bool:
    """Whether ``node`` is a container."""
    return not treedef_is_leaf(tree_structure(node))


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """The children of a container, and its auxiliary data.

    The data are the keys of a dict, the class of a named tuple, what the flatten function of a
    registered class returned, and None for others.

    Raises:
      ValueError: for a leaf.
    """
    return _core.tree_flatten_one_level(tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """``flatten_one_level`` with pairs of keys and children."""
    children, data = flatten_one_level(tree)
    return list(zip(child_keys(tree, len(children)), children, strict=True)), data


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all elements are leaves."""
    leaves = list(iterable)
    flat = tree_leaves(leaves, is_leaf)
    return len(flat) == len(leaves) and all(map(operator.is_, flat, leaves))


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Sequence[Any], Any]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Makes ``nodetype`` a container.

    Args:
      flatten_func: maps an object to (children, auxiliary data); the data must be comparable.
      unflatten_func: maps (auxiliary data, children) to an object.
      flatten_with_keys_func: the same as ``flatten_func`` with pairs (key, child).

    Raises:
      ValueError: if the class is already registered.
    """
    _core.register_pytree_node(nodetype, flatten_func, unflatten_func)
    if flatten_with_keys_func is not None:
        keyed = flatten_with_keys_func
        name_children(nodetype, lambda node: [key for key, _ in keyed(node)[0]])


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
    flatten_func: Callable[[Any], tuple[Sequence[Any], Any]] | None = None,
) -> None:
    """``register_pytree_node`` for a class whose children have keys.

    ``flatten_with_keys`` returns pairs of keys and children, and the auxiliary data.
    """

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        pairs, data = flatten_with_keys(node)
        return [child for _, child in pairs], data

    register_pytree_node(nodetype, flatten_func or flatten, unflatten_func, flatten_with_keys)


def register_static(cls: Any) -> Any:
    """Decorator for a class whose objects have no leaves: they are part of the structure."""
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


def register_pytree_node_class(cls: Any) -> Any:
    """Decorator for a class with ``tree_flatten(self)`` and classmethod ``tree_unflatten``."""
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: Any) -> Any:
    """``register_pytree_node_class`` for a class with ``tree_flatten_with_keys(self)``."""
    flatten = operator.methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(
        cls, operator.methodcaller("tree_flatten_with_keys"), cls.tree_unflatten, flatten
    )
    return cls


def register_dataclass(
    nodetype: Any,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Any:
    """Makes a dataclass a container.

    Args:
      data_fields: the children. By default, without ``meta_fields``: all fields except those with
        ``static=True`` in their metadata.
      meta_fields: constants in the structure; must be comparable.
      drop_fields: fields to omit; a rebuilt object has their default values.

    Raises:
      ValueError: if these are not the fields of the class.
    """
    is_dataclass = hasattr(nodetype, "__dataclass_fields__")
    fields = dataclasses.fields(nodetype) if is_dataclass else ()
    taken = [field for field in fields if field.init and field.name not in drop_fields]
    if meta_fields is None:
        meta_fields = [field.name for field in taken if field.metadata.get("static")]
        if data_fields is not None:
            raise TypeError("register_dataclass: give data_fields and meta_fields, or neither")
    if data_fields is None:
        data_fields = [field.name for field in taken if field.name not in meta_fields]
    data, meta = tuple(data_fields), tuple(meta_fields)
    if fields and {*data, *meta} != {field.name for field in taken}:
        raise ValueError(
            f"register_dataclass: {nodetype.__name__} takes {[field.name for field in taken]}; "
            f"data_fields {list(data)} and meta_fields {list(meta)} must be these together"
        )

    def flatten(node: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(node, n) for n in data), tuple(getattr(node, n) for n in meta)

    def unflatten(values: tuple[Any, ...], children: Sequence[Any]) -> Any:
        return nodetype(
            **dict(zip(data, children, strict=True)), **dict(zip(meta, values, strict=True))
        )

    register_pytree_node(nodetype, flatten, unflatten)
    name_children(nodetype, lambda _: map(GetAttrKey, data))
    return nodetype


class Partial(functools.partial[Any]):
    """A functools.partial that is a pytree of its arguments, for use in jitted functions.

    The function is part of the structure; it must be comparable and hashable.
    """


def _flatten_partial(partial: Partial) -> tuple[tuple[Any, Any], Any]:
    return (partial.args, partial.keywords), partial.func


def _unflatten_partial(function: Any, parts: Sequence[Any]) -> Partial:
    args, keywords = parts
    return Partial(function, *args, **keywords)


register_pytree_node(Partial, _flatten_partial, _unflatten_partial)


def _register_dict(
    nodetype: type,
    keys: Callable[[Any], Iterable[Any]],
    data: Callable[[Any, tuple[Any, ...]], Any],
    make: Callable[[Any, Sequence[Any]], Any],
) -> None:
    def flatten(node: Any) -> tuple[list[tuple[DictKey, Any]], Any]:
        in_order = tuple(keys(node))
        return [(DictKey(key), node[key]) for key in in_order], data(node, in_order)

    register_pytree_with_keys(nodetype, flatten, make)


# As in JAX: OrderedDict keeps its insertion order, which is part of the structure; defaultdict is
# sorted by its keys.
_register_dict(
    collections.OrderedDict,
    tuple,
    lambda _, keys: keys,
    lambda keys, values: collections.OrderedDict(zip(keys, values, strict=True)),
)
_register_dict(
    collections.defaultdict,
    sorted,
    lambda node, keys: (node.default_factory, keys),
    lambda data, values: collections.defaultdict(data[0], zip(data[1], values, strict=True)),
)
