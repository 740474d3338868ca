"""Pytrees whose classes, keys and functions change them while they are walked."""

from __future__ import annotations

import collections
import pickle
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import farcall as fc
import farcall.numpy as fnp
import numpy as np
from farcall import tree, tree_util

from hostile.values import HostileError

Point = collections.namedtuple("Point", "x y")


class World:
    """One call: its chance, and the containers that it may change under way."""

    def __init__(self, seed: str, wildness: float) -> None:
        self.rng = random.Random(seed)
        self.wildness = wildness
        self.containers: list[Any] = []
        self.is_busy = False
        self.budget = 200  # of mischief, so that each call ends

    def __reduce__(self) -> Any:
        raise HostileError("a world cannot be pickled")

    def does(self, share: float = 1.0) -> bool:
        return self.rng.random() < self.wildness * share

    def mischief(self) -> None:
        """Changes a container, raises, or walks another tree."""
        if self.is_busy or self.budget == 0 or not self.does():
            return
        self.budget -= 1
        # Keys keep still meanwhile: CPython's own dicts do not stand a change while they change.
        self.is_busy = True
        try:
            self._change()
        finally:
            self.is_busy = False

    def _change(self) -> None:
        what = self.rng.randrange(8)
        if what == 0 and self.does(0.3):
            raise HostileError("mischief")
        if what == 1:
            tree.flatten(self.containers[-1:])
        if not self.containers:
            return
        chosen = self.rng.choice(self.containers)
        if isinstance(chosen, Node):
            chosen.children = self.rng.choice([[], None, [1], [chosen.children], (2, 3)])
        elif what < 4:
            chosen.clear()
        elif isinstance(chosen, list):
            self.rng.choice([chosen.pop, lambda: chosen.append(np.ones(2)), chosen.reverse])()
        elif isinstance(chosen, collections.OrderedDict):
            chosen.popitem()  # those of CPython do not stand keys that compare badly either
        else:
            self.rng.choice([chosen.popitem, lambda: chosen.update({Key(self): 1})])()


class Key:
    """A key of a dict that does something whenever it is asked."""

    def __init__(self, world: World) -> None:
        self.world, self.number = world, world.rng.randrange(5)

    def __hash__(self) -> int:
        self.world.mischief()
        return self.number

    def __eq__(self, other: object) -> Any:
        self.world.mischief()
        if self.world.does(0.1):
            return self.world.rng.choice([np.ones(2), None, NotImplemented, "yes"])
        return isinstance(other, Key) and other.number == self.number

    def __lt__(self, other: object) -> Any:
        self.world.mischief()
        if self.world.does(0.1):
            return self.world.rng.choice([np.ones(2), None, NotImplemented, "yes"])
        return isinstance(other, Key) and self.number < other.number

    def __repr__(self) -> str:
        self.world.mischief()
        return "\ud800" if self.world.does(0.1) else f"Key({self.number})"


class Node:
    """A registered class whose functions do something, and may not keep to what they are for."""

    def __init__(self, world: World, children: Any, key: Key | None = None) -> None:
        self.world, self.children, self.key = world, children, key or Key(world)


def _flatten(node: Node) -> Any:
    world = node.world
    world.mischief()
    children, data = node.children, (world, node.key)
    if world.does(0.3):
        children = world.rng.choice([None, 3, "ab", iter([1, 2]), {1: 2}, [node], np.ones(2)])
    if world.does(0.2):
        return world.rng.choice([None, (children,), (children, data, 1), [children, data], 3])
    return children, data


def _unflatten(data: Any, children: Any) -> Any:
    world = data[0]
    world.mischief()
    if world.does(0.1):
        return world.rng.choice([None, children, 3])
    return Node(world, list(children), data[1])


tree_util.register_pytree_node(Node, _flatten, _unflatten)


def _leaf(world: World) -> Any:
    return world.rng.choice([1, 2.5, np.ones(2, np.float32), fnp.ones(2), np.float32(3)])


def _make(world: World, depth: int) -> Any:
    rng = world.rng
    count = rng.randrange(4)
    if depth == 0 or rng.random() < 0.2:
        return _leaf(world)
    children = [_make(world, depth - 1) for _ in range(count)]
    kind = rng.randrange(9)
    made: Any = None
    if kind == 0:
        return tuple(children)
    if kind == 1:
        return Point(*[*children, 1, 2][:2])
    if kind in (2, 3):
        made = children
    elif kind == 4:
        made = dict(zip("abcd", children, strict=False))
    elif kind == 5:
        made = {Key(world): child for child in children}
    elif kind == 6:
        made = collections.OrderedDict(zip("dcba", children, strict=False))
    elif kind == 7:
        made = collections.defaultdict(list, zip("abcd", children, strict=False))
    else:
        made = Node(world, children)
    world.containers.append(made)
    if world.does(0.05) and isinstance(made, list):
        made.append(rng.choice([made, world.containers[0]]))
    return made


def _deep(world: World, inner: Any) -> Any:
    for _ in range(world.rng.choice([50, 400, 3000, 100_000])):
        inner = [inner] if world.rng.random() < 0.9 else (inner,)
    return inner


def _is_leaf(world: World) -> Callable[[Any], Any]:
    def is_leaf(_: Any) -> Any:
        world.mischief()
        if world.does(0.2):
            return world.rng.choice([None, 1, "", np.True_, np.ones(2), True, fnp.array(0)])
        return False

    return is_leaf


def _round_trip(world: World, value: Any) -> None:
    leaves, structure = tree.flatten(value)
    made = tree.unflatten(structure, leaves)
    if world.wildness == 0:
        again, same = tree.flatten(made)
        assert same == structure
        assert hash(same) == hash(structure)
        assert len(again) == len(leaves) == structure.num_leaves
        assert all(map(lambda a, b: a is b, again, leaves))


def _two(world: World, value: Any) -> None:
    def add(a: Any, b: Any) -> Any:
        world.mischief()
        return (a, b)

    tree.map(add, value, value)


def _structures(world: World, value: Any) -> None:
    structure = tree.structure(value)
    other = tree.structure(_make(world, 3))
    _ = (structure == other, structure == structure, hash(structure), repr(structure))
    structure.flatten_up_to(value)
    _ = [repr(child) for child in structure.children()]
    if world.does():
        structure.unflatten(iter([1, 2, 3]))


def _pickled(_: World, value: Any) -> None:
    pickle.loads(pickle.dumps(tree.structure(value)))


def _sum(world: World, value: Any) -> Any:
    world.mischief()
    total: Any = 0.0
    for leaf in tree.leaves(value):
        total = total + fnp.sum(fnp.asarray(leaf) * 1.0)
    return total


def _control_flow(world: World, value: Any) -> None:
    def step(carry: Any, _: Any) -> Any:
        world.mischief()
        return carry, None

    fc.lax.scan(step, value, None, length=2)
    fc.lax.cond(True, lambda v: (world.mischief(), v)[1], lambda v: v, value)


OPERATIONS: dict[str, Callable[[World, Any], Any]] = {
    "round trip": _round_trip,
    "leaves, is_leaf": lambda w, v: tree.leaves(v, is_leaf=_is_leaf(w)),
    "with paths": lambda w, v: tree.flatten_with_path(v, is_leaf=_is_leaf(w)),
    "map, is_leaf": lambda w, v: tree.map(lambda x: (w.mischief(), x)[1], v, is_leaf=_is_leaf(w)),
    "map of two": _two,
    "structures": _structures,
    "pickle": _pickled,
    "reduce": lambda _, v: tree.reduce(lambda a, b: a, v, 0),
    "broadcast": lambda w, v: tree.broadcast(v, v, is_leaf=_is_leaf(w)),
    "transpose": lambda _, v: tree.transpose(tree.structure(v), None, v),
    "jit": lambda w, v: fc.jit(lambda x: (_sum(w, x), x)[1])(v),
    "vmap": lambda w, v: fc.vmap(lambda x: _sum(w, x), in_axes=(v,))(v),
    "grad": lambda w, v: fc.grad(lambda x: _sum(w, x))(v),
    "jvp": lambda w, v: fc.jvp(lambda x: _sum(w, x), (v,), (v,)),
    "control flow": _control_flow,
    "callback": lambda w, v: fc.pure_callback(lambda x: (w.mischief(), x)[1], v, v),
    "eval_shape": lambda w, v: fc.eval_shape(lambda x: (w.mischief(), x)[1], v),
    "program": lambda w, v: repr(fc.make_program(lambda x: _sum(w, x))(v)),
}


class Call(NamedTuple):
    operation: str
    seed: str
    wildness: float

    def __str__(self) -> str:
        return f"{self.operation}(tree {self.seed!r}, wildness {self.wildness})"


def plan(seed: int, index: int) -> Call:
    """The call of this number."""
    rng = random.Random(f"{seed} {index}")
    return Call(rng.choice(list(OPERATIONS)), f"{seed}/{index}", rng.choice([0, 0.05, 0.3, 1]))


def run(call: Call) -> None:
    """Makes the call."""
    world = World(call.seed, 0)
    value = _make(world, world.rng.randrange(5))
    if world.rng.random() < 0.02:
        value = _deep(world, value)
    world.wildness = call.wildness
    OPERATIONS[call.operation](world, value)
