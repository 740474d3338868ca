"""Pytrees, against jax.tree_util."""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
import operator
import pickle

import farcall as fc
import jax
import numpy as np
import pytest
from farcall import tree, tree_util

Point = collections.namedtuple("Point", "x y")

TREES = [
    1,
    None,
    (),
    [],
    {},
    (1,),
    [1, (2, None)],
    {"b": 1, "a": [2, 3]},
    {2: "x", 1: "y"},
    Point(1, [2, Point(3, 4)]),
    collections.OrderedDict(b=1, a=(2, None)),
    collections.defaultdict(list, b=1, a=[2, 3]),
    {"deep": {"er": ({"est": [1.0, None, ()]},)}},
    "a string is a leaf",
]


@pytest.mark.parametrize("value", TREES, ids=repr)
def test_flattening_agrees_with_jax(value):
    leaves, structure = tree.flatten(value)
    assert leaves == jax.tree.leaves(value)
    assert tree.leaves(value) == leaves
    assert tree.structure(value) == structure
    assert structure.num_leaves == len(leaves)
    if "CustomNode" not in str(jax.tree.structure(value)):
        assert str(structure) == str(jax.tree.structure(value))
    made = tree.unflatten(structure, leaves)
    assert (type(made), made) == (type(value), value)
    assert getattr(made, "default_factory", None) == getattr(value, "default_factory", None)
    assert hash(structure) == hash(tree.structure(value))
    for other in (copy.deepcopy(structure), pickle.loads(pickle.dumps(structure))):
        assert other == structure


def test_map_agrees_with_jax():
    value = {"b": (1, [2]), "a": Point(3, None)}
    assert tree.map(lambda x: x + 1, value) == jax.tree.map(lambda x: x + 1, value)
    assert tree.map(operator.add, value, value) == jax.tree.map(operator.add, value, value)
    # Later trees may go on where the first has leaves.
    assert tree.map(lambda x, y: (x, y), [1], [{"k": 2}]) == [(1, {"k": 2})]
    assert tree.reduce(operator.add, value) == 6
    assert tree.reduce(operator.add, value, 10) == 16
    assert tree.reduce(operator.add, value, initializer=10) == 16
    assert tree.reduce(lambda a, b: b, value, initializer=None) == tree.leaves(value)[-1]
    assert tree.reduce(operator.add, (), None) is None
    with pytest.raises(TypeError, match="empty"):
        tree.reduce(operator.add, ())
    assert tree.all({"a": True, "b": [1]})
    assert not tree.all([True, 0])


def test_dicts_in_order_of_insertion_go_through_transformations():
    def function(m):
        value = collections.OrderedDict(b=m.numpy.ones(2), a=m.numpy.zeros(2))
        doubled = m.jit(m.vmap(lambda d: m.tree.map(lambda x: 2 * x + d["b"], d)))(value)
        assert type(doubled) is collections.OrderedDict
        return [(key, np.asarray(x).tolist()) for key, x in doubled.items()]

    assert function(fc) == function(jax) == [("b", [3.0, 3.0]), ("a", [1.0, 1.0])]
    with pytest.raises(ValueError, match="OrderedDict"):
        tree.map(operator.add, collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=1, a=2))


@pytest.mark.parametrize(
    ("answer", "leaves"),
    [
        (None, [1, 2, 3]),
        (np.False_, [1, 2, 3]),
        (0, [1, 2, 3]),
        (np.True_, [[1, (2, 3)]]),
        ("yes", [[1, (2, 3)]]),
    ],
)
def test_is_leaf_answers_as_conditions_do(answer, leaves):
    value = [1, (2, 3)]
    assert tree.leaves(value, is_leaf=lambda _: answer) == leaves
    assert [x for _, x in tree.leaves_with_path(value, is_leaf=lambda _: answer)] == leaves


def test_an_answer_of_is_leaf_without_truth_is_an_error():
    with pytest.raises(ValueError, match="truth value of an array"):
        tree.leaves([1, 2], is_leaf=lambda _: np.ones(2))


def test_is_leaf_stops_the_walk():
    value = [(1, 2), [3]]
    assert tree.leaves(value, is_leaf=lambda v: isinstance(v, tuple)) == [(1, 2), 3]
    assert tree.leaves([None], is_leaf=lambda v: v is None) == [None]


@pytest.mark.parametrize("other", [[1, 2, 3], (1, 2), {"a": 1}, [1]], ids=repr)
def test_trees_of_another_structure_are_refused(other):
    with pytest.raises(ValueError, match=r"expected a pytree of structure|got"):
        tree.map(operator.add, [1, 2], other)


def test_unflatten_counts_leaves():
    with pytest.raises(ValueError, match=r"PyTreeDef\(\[\*, \*\]\) has 2 leaves, got more"):
        tree.unflatten(tree.structure([1, 2]), itertools.count())
    with pytest.raises(ValueError, match=r"PyTreeDef\(\[\*, \*\]\) has 2 leaves, got 1"):
        tree.unflatten(tree.structure([1, 2]), [1])


def test_structures_differ():
    structures = [tree.structure(value) for value in TREES]
    for i, a in enumerate(structures):
        for j, b in enumerate(structures):
            same = jax.tree.structure(TREES[i]) == jax.tree.structure(TREES[j])
            assert (a == b) == same
    assert structures[0] != None  # noqa: E711
    assert structures[0] != 1


def test_keys_that_cannot_be_sorted_are_refused():
    with pytest.raises(TypeError, match="keys of a dict in a pytree must be comparable"):
        tree.flatten({1: 0, "a": 0})


def test_a_tree_that_holds_itself_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(RecursionError):
        tree.flatten(value)


class Pair:
    def __init__(self, a, b, name):
        self.a, self.b, self.name = a, b, name

    def tree_flatten(self):
        return (self.a, self.b), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


tree_util.register_pytree_node_class(Pair)


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    bias: object


@dataclasses.dataclass
class Named:
    value: object
    name: str = "n"


tree_util.register_dataclass(Named, data_fields=["value"], meta_fields=["name"])


def test_registered_classes_are_containers():
    pair = Pair(1, [2, 3], "p")
    assert tree.leaves(pair) == [1, 2, 3]
    doubled = tree.map(lambda x: 2 * x, pair)
    assert (doubled.a, doubled.b, doubled.name) == (2, [4, 6], "p")
    assert tree.structure(pair) != tree.structure(Pair(1, [2, 3], "q"))
    assert tree.leaves(Layer(1, (2,))) == [1, 2]
    assert tree.map(str, Named(1, "m")) == Named("1", "m")
    assert tree.structure(Named(1, "a")) != tree.structure(Named(1, "b"))


def test_registered_classes_go_through_jit():
    @fc.jit
    def step(layer, pair):
        return Layer(layer.weight * 2, layer.bias), Pair(pair.b, pair.a, pair.name)

    layer, pair = step(Layer(np.ones(2), 1.0), Pair(1, 2, "p"))
    np.testing.assert_array_equal(layer.weight, [2, 2])
    assert (int(pair.a), pair.name) == (2, "p")
    step(Layer(np.ones(2), 1.0), Pair(1, 2, "other"))
    assert step._cache_size() == 2


def test_a_class_is_registered_once():
    with pytest.raises(ValueError, match="is registered as a pytree already"):
        tree_util.register_pytree_node_class(Pair)


def test_flatten_functions_must_return_a_pair():
    class Bad:
        pass

    tree_util.register_pytree_node(Bad, lambda x: [1], lambda aux, children: Bad())
    with pytest.raises(TypeError, match=r"must return a pair \(children, auxiliary data\)"):
        tree.flatten(Bad())


def test_errors_in_flatten_functions_come_through():
    class Worse:
        pass

    def flatten(_):
        raise KeyError("boom")

    tree_util.register_pytree_node(Worse, flatten, lambda aux, children: Worse())
    with pytest.raises(KeyError, match="boom"):
        tree.flatten(Worse())


def test_the_longer_names_are_the_same_functions():
    for name in ("all", "flatten", "leaves", "map", "reduce", "structure", "unflatten"):
        assert getattr(tree_util, f"tree_{name}") is getattr(tree, name)
    assert isinstance(tree.structure(1), tree_util.PyTreeDef)


# ---- Partial ----


def test_a_partial_is_a_container_of_its_arguments():
    def scaled(x, y, *, offset):
        return x * y + offset

    partial = tree_util.Partial(scaled, fc.numpy.array([1.0, 2.0]), offset=3.0)
    assert len(tree.leaves(partial)) == 2
    doubled = tree.map(lambda leaf: leaf * 2, partial)
    np.testing.assert_array_equal(doubled(2.0), [10, 14])
    np.testing.assert_array_equal(fc.jit(lambda f, y: f(y))(partial, 2.0), [5, 7])
    made = fc.jit(lambda x: tree_util.Partial(scaled, x, offset=x))(1.0)
    assert float(made(2.0)) == 3.0
    x = np.arange(3, dtype=np.float32)
    rows = fc.vmap(lambda f: f(1.0), in_axes=(0,))(tree_util.Partial(scaled, x, offset=x))
    np.testing.assert_array_equal(rows, x * 2)


# ---- paths ----


def in_both(function):
    """What ``function`` gives with farcall.tree_util, after comparing it with JAX's."""
    ours, theirs = function(tree_util), function(jax.tree_util)
    assert ours == theirs
    return ours


@pytest.mark.parametrize("value", TREES)
def test_paths_are_those_of_jax(value):
    def paths(m):
        leaves, structure = m.tree_flatten_with_path(value)
        assert structure.unflatten([leaf for _, leaf in leaves]) == value
        assert m.tree_leaves_with_path(value) == leaves
        return [
            (m.keystr(path), m.keystr(path, simple=True, separator="/"), leaf)
            for path, leaf in leaves
        ]

    in_both(paths)


def test_map_with_path():
    value = {"a": [1, 2], "b": Point(3, None)}

    def mapped(m):
        return (
            m.tree_map_with_path(lambda p, x, y: m.keystr(p) + str(x + y), value, value),
            m.tree_map_with_path(lambda p, x: (len(p), x), value, is_leaf=lambda x: x == [1, 2]),
            m.tree_map_with_path(
                lambda p, x: m.keystr(p),
                value,
                is_leaf=lambda p, x: len(p) == 1,
                is_leaf_takes_path=True,
            ),
        )

    in_both(mapped)


def test_transpose():
    def turned(m):
        outer, inner = m.tree_structure([0, 0]), m.tree_structure({"a": 0, "b": (0,)})
        value = [{"a": 1, "b": (2,)}, {"a": 3, "b": (4,)}]
        return m.tree_transpose(outer, inner, value), m.tree_transpose(outer, None, value)

    assert in_both(turned)[0] == {"a": [1, 3], "b": ([2, 4],)}
    with pytest.raises(TypeError, match="transpose: the inner structure should be"):
        tree.transpose(tree.structure([0, 0]), None, [(1,), 2])


def test_classes_with_names_for_their_children():
    class Named:
        def __init__(self, x, y):
            self.x, self.y = x, y

    @dataclasses.dataclass
    class Data:
        u: int
        v: str

    @dataclasses.dataclass(frozen=True)
    class Static:
        size: int

    def texts(m):
        m.register_pytree_with_keys(
            Named,
            lambda n: (((m.GetAttrKey("x"), n.x), (m.DictKey("why"), n.y)), None),
            lambda _, children: Named(*children),
        )
        m.register_dataclass(Data, ["u"], ["v"])
        m.register_static(Static)
        value = [Named(1, (2,)), Data(3, "meta"), Static(4)]
        return [(m.keystr(path), leaf) for path, leaf in m.tree_leaves_with_path(value)]

    assert in_both(texts) == [("[0].x", 1), ("[0]['why'][0]", 2), ("[1].u", 3)]
    assert tree.structure(Static(1)) != tree.structure(Static(2))


def test_ordered_and_default_dicts_are_containers_as_in_jax():
    ordered = collections.OrderedDict([("b", 1), ("a", [2, 3])])
    default = collections.defaultdict(list, {"z": 4, "y": (5,)})
    for value in (ordered, default, {"in": [ordered, default]}):
        assert tree.leaves(value) == jax.tree.leaves(value)
        paths = [(tree_util.keystr(p), leaf) for p, leaf in tree.leaves_with_path(value)]
        in_jax = jax.tree.leaves_with_path(value)
        assert paths == [(jax.tree_util.keystr(p), leaf) for p, leaf in in_jax]
        assert tree.map(lambda x: -x, value) == jax.tree.map(lambda x: -x, value)
    assert list(tree.map(abs, ordered)) == ["b", "a"]
    assert tree.map(abs, default).default_factory is list
    assert fc.jit(lambda d: d)(ordered) == ordered


def test_broadcast_repeats_leaves_as_in_jax():
    prefix, full = [1, {"k": 2}], [{"q": 1}, {"k": (2, None, [3])}]
    assert tree.broadcast(prefix, full) == jax.tree.broadcast(prefix, full)
    assert tree_util.tree_broadcast(0, full) == jax.tree_util.tree_broadcast(0, full)
    assert tree_util.all_leaves([1, np.ones(2)])
    assert not tree_util.all_leaves([1, (2,)])


def test_fields_whose_metadata_says_static_are_constants():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: float
        power: int = dataclasses.field(metadata={"static": True}, default=2)

    assert tree.leaves(Layer(3.0)) == [3.0]
    gradient = fc.grad(lambda layer: layer.w**layer.power)(Layer(3.0, 3))
    assert (float(gradient.w), gradient.power) == (27.0, 3)


def test_register_dataclass_refuses_fields_that_are_not_those_of_the_class():
    @dataclasses.dataclass
    class Pair:
        a: int
        b: int = 7

    with pytest.raises(ValueError, match=r"Pair takes \['a', 'b'\]; data_fields \['a'\]"):
        tree_util.register_dataclass(Pair, ["a"], [])
    with pytest.raises(TypeError, match="or neither"):
        tree_util.register_dataclass(Pair, ["a", "b"])
    tree_util.register_dataclass(Pair, ["a"], [], drop_fields=["b"])
    assert tree.map(lambda x: x + 1, Pair(1, 2)) == Pair(2, 7)


def test_classes_with_keys_are_registered_by_decorator():
    @tree_util.register_pytree_with_keys_class
    class Node:
        def __init__(self, a):
            self.a = a

        def tree_flatten_with_keys(self):
            return ((tree_util.GetAttrKey("a"), self.a),), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    path, leaf = tree.leaves_with_path(Node({"k": 5}))[0]
    assert (tree_util.keystr(path), leaf) == (".a['k']", 5)
    assert fc.jit(lambda n: Node(n.a * 2))(Node(2.0)).a == 4.0
