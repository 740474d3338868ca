"""vmap: axes in and out, pytrees, names, control flow in Python, and what it refuses."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from both import same_as_jax


class Pair(NamedTuple):
    a: object
    b: object


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.arange(12, dtype=np.float32).reshape(3, 4) + 1

# ---- axes ----


@pytest.mark.parametrize("in_axis", [0, 1, -1, -2])
@pytest.mark.parametrize("out_axis", [0, 1, -1, -2])
def test_any_axis_goes_in_and_comes_out(in_axis, out_axis):
    same_as_jax(lambda m: m.root.vmap(lambda v: m.np.cumsum(v) * 2, in_axis, out_axis)(X))


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (1, 0), (-1, -2), [1, 0]])
def test_arguments_have_axes_of_their_own(in_axes):
    same_as_jax(lambda m: m.root.vmap(lambda a, b: a.sum() * m.np.sin(b), in_axes)(X, Y))


def test_trees_of_axes_are_prefixes_of_arguments_and_results():
    tree = {"p": [X, Y[:2]], "q": (X.T, 2.0)}
    same_as_jax(
        lambda m: m.root.vmap(
            lambda t, s: {"r": t["p"][0].sum() + t["q"][0].sum() * t["q"][1], "s": (s, s * 2)},
            in_axes=({"p": 0, "q": (1, None)}, None),
            out_axes={"r": 0, "s": (None, 0)},
        )(tree, 3.0)
    )


def test_named_tuples_none_and_registered_classes_go_through():
    result = fc.vmap(lambda p: Pair(p.b, (p.a, None)))(Pair(fnp.array(X), fnp.array(X) + 1))
    assert isinstance(result, Pair)
    np.testing.assert_array_equal(result.a, X + 1)
    assert result.b[1] is None

    @dataclasses.dataclass
    class Point:
        x: object
        y: object

    fc.tree_util.register_pytree_node(
        Point, lambda p: ((p.x, p.y), None), lambda _, children: Point(*children)
    )
    point = fc.vmap(lambda p: Point(p.x + p.y, p.y), in_axes=(Point(0, None),))(
        Point(fnp.array(X), 1.0)
    )
    np.testing.assert_array_equal(point.x, X + 1)
    np.testing.assert_array_equal(point.y, [1.0, 1.0])


def test_keyword_arguments_are_mapped_over_their_first_axis():
    same_as_jax(lambda m: m.root.vmap(lambda a, k: a.sum() + k, in_axes=1)(X, k=Y[0, :3]))


def test_unmapped_arguments_stay_the_objects_that_they_are():
    seen = []

    def function(v, name, number):
        seen.append((name, number))
        return v * number

    result = fc.vmap(function, in_axes=(0, None, None))(X, "name", 3)
    assert seen == [("name", 3)]
    assert type(seen[0][1]) is int
    np.testing.assert_array_equal(result, X * 3)


def test_axis_size_stands_in_for_arguments():
    same_as_jax(lambda m: m.root.vmap(lambda: m.np.ones(2), axis_size=3)())
    same_as_jax(lambda m: m.root.vmap(lambda a: a, in_axes=None, axis_size=2)(X))


def test_results_that_do_not_depend_on_the_axis_need_none():
    same_as_jax(lambda m: m.root.vmap(lambda v: (v, m.np.ones(1)), out_axes=(0, None))(X))


def test_an_empty_batch_is_a_batch():
    result = fc.vmap(lambda v: v * 2)(fnp.zeros((0, 3)))
    assert result.shape == (0, 3)


# ---- composition ----


def test_vmap_of_vmap_maps_two_axes():
    same_as_jax(
        lambda m: m.root.vmap(
            m.root.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None)
        )(X[0], Y[0])
    )


def test_vmap_around_and_inside_jit():
    def function(m):
        inner = m.root.jit(lambda a, b: m.np.dot(a, b))
        return m.root.jit(m.root.vmap(m.root.vmap(inner, (None, 1)), (0, None)))(X, Y)

    same_as_jax(function)


def test_closures_over_the_batch_are_batched():
    def function(m):
        return m.root.vmap(lambda v: m.root.vmap(lambda w: w * v.sum())(v))(X)

    same_as_jax(function)


def test_the_function_is_called_once_with_unbatched_arrays():
    shapes = []
    fc.vmap(lambda v: (shapes.append((v.shape, v.ndim, v.dtype.name, v.is_traced)), v)[1])(X)
    assert shapes == [((3,), 1, "float32", True)]


def test_names_and_documentation_are_kept():
    def documented(a):
        """What it does."""
        return a

    mapped = fc.vmap(documented)
    assert (mapped.__name__, mapped.__doc__) == ("documented", "What it does.")
    assert mapped.__wrapped__ is documented


# ---- refusals ----


def identity(v, *_):
    return v


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fc.vmap(3), TypeError, "vmap: expected a function, got 3 of type int"),
        (lambda: fc.vmap(identity, "a"), TypeError, "in_axes must be an int, None, or a tuple"),
        (
            lambda: fc.vmap(identity, {"a": 0}),
            TypeError,
            "in_axes must be an int, None, or a tuple",
        ),
        (lambda: fc.vmap(identity, True), TypeError, "in_axes must be an int, None, or a tuple"),
        (lambda: fc.vmap(identity, (1.0,)), TypeError, "in_axes must be .* with those as leaves"),
        (lambda: fc.vmap(identity, 0, "a"), TypeError, "out_axes must be .* with those as leaves"),
        (
            lambda: fc.vmap(identity, spmd_axis_name=("i", 3)),
            TypeError,
            r"spmd_axis_name must be the name of an axis of a mesh.*got \('i', 3\)",
        ),
        (lambda: fc.vmap(identity, None)(X), ValueError, "no argument is mapped"),
        (lambda: fc.vmap(lambda: 1.0)(), ValueError, "no argument is an array.*axis_size"),
        (
            lambda: fc.vmap(identity, (0,))(X, X),
            ValueError,
            r"in_axes \(0,\) has 1 entries, but 2 positional arguments were given",
        ),
        (
            lambda: fc.vmap(identity, ({"b": 0},))({"a": X}),
            ValueError,
            r"in_axes must be a tree prefix.*got \{'b': 0\} where .* PyTreeDef\(\{'a': \*\}\)",
        ),
        (
            lambda: fc.vmap(identity, out_axes=(0, 0))(X),
            ValueError,
            r"out_axes must be a tree prefix.*got \(0, 0\) where",
        ),
        (
            lambda: fc.vmap(identity)(1.0),
            ValueError,
            r"argument 0 should be mapped over its axis 0, but has rank 0 \(it is f32\[\]\*\)",
        ),
        (lambda: fc.vmap(identity, 2)(X), ValueError, "over its axis 2, but has rank 2"),
        (lambda: fc.vmap(identity, -3)(X), ValueError, "over its axis -3, but has rank 2"),
        (
            lambda: fc.vmap(identity, out_axes=5)(X),
            ValueError,
            "result: axis 5 of out_axes is out of bounds .* rank 2",
        ),
        (
            lambda: fc.vmap(lambda v: (v, v), out_axes=(0, None))(X),
            ValueError,
            r"result\[1\] differs along the mapped axis, but out_axes is None",
        ),
        (
            lambda: fc.vmap(identity)("a"),
            TypeError,
            "argument 0 is 'a' of type str, which is not an array",
        ),
        (
            lambda: fc.vmap(lambda v: {"k": "a"})(X),
            TypeError,
            r"the function returned 'a' of type str at result\['k'\]",
        ),
    ],
)
def test_what_vmap_refuses(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_inconsistent_sizes_are_listed_with_their_arguments():
    with pytest.raises(ValueError, match="inconsistent sizes") as raised:
        fc.vmap(lambda x, y, k: x, axis_size=5)(fnp.ones(3), {"a": fnp.ones((4, 2))}, k=fnp.ones(3))
    lines = str(raised.value).splitlines()
    assert lines[1:] == [
        "  * axis_size is 5",
        "  * argument 0 of type f32[3] has size 3 in axis 0",
        "  * argument 1['a'] of type f32[4,2] has size 4 in axis 0",
        "  * keyword argument ['k'] of type f32[3] has size 3 in axis 0",
    ]


@pytest.mark.parametrize(
    "convert", [bool, int, float, complex, np.asarray, lambda v: v.item(), lambda v: 1 if v else 0]
)
def test_values_of_a_batch_are_not_to_be_had(convert):
    with pytest.raises(fc.ConcretizationTypeError, match="are not known while vmap"):
        fc.vmap(lambda v: convert(v) * v)(fnp.ones(3))


def test_an_array_of_a_batch_that_has_ended_is_refused():
    leaked = []
    fc.vmap(lambda v: (leaked.append(v), v)[1])(X)
    uses = [
        lambda: leaked[0] + 1,
        lambda: fc.vmap(lambda v: v + leaked[0])(X),
        lambda: fc.jit(lambda v: v + leaked[0])(X[0]),
        lambda: fc.grad(lambda v: (v * leaked[0]).sum())(X[0]),
    ]
    for use in uses:
        with pytest.raises(fc.UnexpectedTracerError, match="leaked traced array"):
            use()


def test_an_error_in_the_function_leaves_everything_usable():
    def fails(v):
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fc.vmap(fails)(X)
    assert not (fnp.ones(2) + 1).is_traced
