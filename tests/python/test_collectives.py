"""Collectives over the named axes of vmap, against JAX."""

from __future__ import annotations

import farcall as fc
import numpy as np
import pytest

jax = pytest.importorskip("jax")

X = np.random.default_rng(0).uniform(0.5, 1.5, (4, 3, 4)).astype(np.float32)


def agree(got, expected):
    got, expected = jax.tree.leaves(got), jax.tree.leaves(expected)
    assert len(got) == len(expected)
    for a, b in zip(map(np.asarray, got), map(np.asarray, expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def both(make, *args):
    agree(make(fc)(*args), jax.jit(make(jax))(*args))


PERM = [(0, 2), (1, 0), (3, 3), (2, 1)]  # JAX wants one for each element
COLLECTIVES = {
    "psum": lambda m, x: m.lax.psum(x, "i"),
    "pmean": lambda m, x: m.lax.pmean(x, "i"),
    "pmax": lambda m, x: m.lax.pmax(x, "i"),
    "pmin": lambda m, x: m.lax.pmin(x, "i"),
    "all_gather": lambda m, x: m.lax.all_gather(x, "i"),
    "all_gather at 1": lambda m, x: m.lax.all_gather(x, "i", axis=1),
    "all_gather at -1": lambda m, x: m.lax.all_gather(x, "i", axis=-1),
    "all_gather tiled": lambda m, x: m.lax.all_gather(x, "i", axis=1, tiled=True),
    "all_to_all": lambda m, x: m.lax.all_to_all(x, "i", 1, 0),
    "all_to_all in place": lambda m, x: m.lax.all_to_all(x, "i", 1, 1),
    "all_to_all tiled": lambda m, x: m.lax.all_to_all(x, "i", 1, 0, tiled=True),
    "ppermute": lambda m, x: m.lax.ppermute(x, "i", PERM),
    "psum_scatter": lambda m, x: m.lax.psum_scatter(x.T, "i"),
    "psum_scatter_tiled": lambda m, x: m.lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
    "pshuffle": lambda m, x: m.lax.pshuffle(x, "i", [1, 3, 0, 2]),
    "axis_index": lambda m, x: x * m.lax.axis_index("i"),
    "axis_size": lambda m, x: x * m.lax.axis_size("i"),
}
LINEAR = [name for name in COLLECTIVES if not name.startswith(("pmax", "pmin"))]


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("in_axis", [0, 2])
def test_values(name, in_axis):
    f = COLLECTIVES[name]
    x = np.moveaxis(X, 0, in_axis)
    both(lambda m: m.vmap(lambda a: f(m, a), in_axes=in_axis, axis_name="i"), x)
    both(lambda m: m.jit(m.vmap(lambda a: f(m, a), in_axes=in_axis, axis_name="i")), x)


@pytest.mark.parametrize("name", [name for name in COLLECTIVES if "all_to_all" not in name])
def test_of_a_value_that_is_not_mapped(name):
    f = COLLECTIVES[name]
    both(lambda m: m.vmap(lambda a, _: f(m, a), in_axes=(None, 0), axis_name="i"), X[0], X)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_inside_another_vmap(name):
    f = COLLECTIVES[name]
    x = np.stack([X, X * 2])
    both(lambda m: m.vmap(m.vmap(lambda a: f(m, a), axis_name="i")), x)
    outer = lambda m: m.vmap(m.vmap(lambda a: f(m, a), in_axes=-1), axis_name="i")  # noqa: E731
    both(outer, np.moveaxis(x, 0, -1))


@pytest.mark.parametrize("name", [name for name in LINEAR if name != "all_to_all"])
def test_grad(name):
    f = COLLECTIVES[name]

    def make(m):
        return m.vmap(m.grad(lambda a: m.numpy.sum(m.numpy.sin(f(m, a)))), axis_name="i")

    both(make, X)

    def outside(m):
        mapped = m.vmap(lambda a: f(m, a * a), axis_name="i")
        return m.grad(lambda x: m.numpy.sum(m.numpy.sin(mapped(x))))

    both(outside, X)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_in_control_flow(name):
    f = COLLECTIVES[name]

    def in_scan(m):
        def g(x):
            return m.lax.scan(lambda c, _: (c, m.numpy.sum(f(m, c))), x, None, length=2)

        return m.vmap(g, axis_name="i")

    def in_cond(m):
        def g(x):
            return m.lax.cond(True, lambda a: f(m, a), lambda a: f(m, a * 2), x)

        return m.vmap(g, axis_name="i")

    both(in_scan, X)
    both(in_cond, X)


def test_elements_that_nothing_is_sent_to_get_zeros():
    got = fc.vmap(lambda x: fc.lax.ppermute(x, "i", [(0, 2), (1, 0)]), axis_name="i")(X)
    agree(got, np.stack([X[1], 0 * X[1], X[0], 0 * X[1]]))


def test_all_to_all_of_a_value_that_is_not_mapped():
    got = fc.vmap(lambda x, _: fc.lax.all_to_all(x, "i", 1, 0), in_axes=(None, 0), axis_name="i")
    agree(got(X[0], X), np.stack([np.stack([X[0][:, i]] * 4) for i in range(4)]))


def test_grad_of_all_to_all():
    def f(x):
        moved = fc.vmap(lambda a: fc.lax.all_to_all(a, "i", 1, 0), axis_name="i")(x)
        return fc.numpy.sum(fc.numpy.sin(moved))

    agree(fc.grad(f)(X), np.cos(X))

    def inside(a):
        return fc.numpy.sum(fc.numpy.sin(fc.lax.all_to_all(a, "i", 1, 0)))

    agree(fc.vmap(fc.grad(inside), axis_name="i")(X), np.cos(X))


def test_over_two_axes():
    names = ("i", "j")
    for f in (
        lambda m, x: m.lax.psum(x, names),
        lambda m, x: m.lax.pmax(x, names),
        lambda m, x: m.lax.psum(x, "j"),
        lambda m, x: x * m.lax.axis_index(names),
        lambda m, x: x * m.lax.axis_size(names),
    ):
        both(lambda m, f=f: m.vmap(m.vmap(lambda a: f(m, a), axis_name="j"), axis_name="i"), X)


def test_pytrees_and_numbers():
    def make(m):
        return m.vmap(
            lambda x: m.lax.psum({"a": x, "b": (x > 1, x.astype("int32"))}, "i"), axis_name="i"
        )

    both(make, X)
    sizes = []
    fc.vmap(lambda x: (sizes.append(fc.lax.psum(1, "i")), x)[1], axis_name="i")(X)
    assert sizes == [4]
    assert type(sizes[0]) is int
    both(lambda m: m.vmap(lambda x: m.lax.pmean(x.astype("int32"), "i"), axis_name="i"), X)


def test_the_size_is_not_remembered():
    def body(c, _):
        return c + fc.lax.axis_size("i"), None

    def run(x):
        return fc.vmap(lambda a: fc.lax.scan(body, a, None, length=1)[0], axis_name="i")(x)

    agree(run(np.zeros(2, np.float32)), np.full(2, 2, np.float32))
    agree(run(np.zeros(5, np.float32)), np.full(5, 5, np.float32))

    jitted = fc.jit(lambda a: a + fc.lax.axis_size("i"))
    for size in (2, 5, 2):
        x = np.zeros(size, np.float32)
        agree(fc.vmap(jitted, axis_name="i")(x), np.full(size, size, np.float32))


def test_errors():
    with pytest.raises(NameError, match='psum: unbound axis name "i": this function is not inside'):
        fc.lax.psum(X, "i")
    with pytest.raises(NameError, match="the axes around this function are k"):
        fc.vmap(lambda x: fc.lax.pmax(x, "i"), axis_name="k")(X)
    with pytest.raises(TypeError, match="axis_name must be a string"):
        fc.vmap(lambda x: fc.lax.psum(x, 3), axis_name="i")(X)

    def run(f):
        return fc.vmap(f, axis_name="i")(X)

    with pytest.raises(
        ValueError, match=r"all_to_all: dimension 0 of f32\[3,4\] must have the size"
    ):
        run(lambda x: fc.lax.all_to_all(x, "i", 0, 0))
    with pytest.raises(ValueError, match=r"ppermute: \(0, 4\) does not lie in axis"):
        run(lambda x: fc.lax.ppermute(x, "i", [(0, 4)]))
    with pytest.raises(ValueError, match="may send once and receive once"):
        run(lambda x: fc.lax.ppermute(x, "i", [(0, 1), (1, 1)]))
    with pytest.raises(ValueError, match="all_gather: axis 5 does not lie in"):
        run(lambda x: fc.lax.all_gather(x, "i", axis=5))
    for groups in ([[0, 1], [2]], [[0, 1]], [[0, 1], [1, 2]], [[0, 1], [2, 4]]):
        with pytest.raises(ValueError, match="psum: axis_index_groups must be groups, with each"):
            run(lambda x, groups=groups: fc.lax.psum(x, "i", axis_index_groups=groups))
    with pytest.raises(ValueError, match="must have the size of the groups, 2"):
        run(lambda x: fc.lax.psum_scatter(x, "i", axis_index_groups=[[0, 1], [2, 3]]))
    with pytest.raises(NotImplementedError, match="pmax: has no derivative rule"):
        fc.vmap(fc.grad(lambda x: fc.lax.pmax(x, "i")), axis_name="i")(X[:, 0, 0])
