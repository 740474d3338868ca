"""What tests of loops and branches share: running one function on farcall and on JAX."""

from __future__ import annotations

import farcall as fc
import jax
import numpy as np

F32 = np.float32


def leaves_of(value):
    return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(value)]


def agree(got, expected, tolerance=2e-5):
    got, expected = leaves_of(got), leaves_of(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def both(make, *args, tolerance=2e-5):
    """The same function on farcall, as it is and compiled, and on JAX.

    JAX compiles it whole: operation by operation it would compile each of them, which takes longer.
    """
    expected = jax.jit(make(jax))(*args)
    function = make(fc)
    for run in (function, fc.jit(function)):
        agree(run(*args), expected, tolerance)


def vector(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.4, 1.4, shape).astype(F32)


X, S = vector(3), F32(0.7)


def floats_of(m, tree):
    """The leaves that have a derivative."""
    leaves = (fc.tree if m is fc else jax.tree).leaves(tree)
    return [leaf for leaf in leaves if np.dtype(leaf.dtype).kind == "f"]


def scalar_of(m, f):
    """The sum of the squares of the results that have a derivative."""

    def g(*args):
        return sum((m.numpy.sum(leaf * leaf) for leaf in floats_of(m, f(*args))), 0.0)

    return g
