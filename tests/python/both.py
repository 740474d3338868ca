"""Running one function through farcall and through JAX, and comparing what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import farcall as fc
import farcall.lax as flax
import farcall.numpy as fnp
import jax
import jax.lax
import jax.numpy as jnp
import numpy as np


class Modules(NamedTuple):
    """The modules that a function is written over."""

    root: Any
    np: Any
    lax: Any


FARCALL = Modules(fc, fnp, flax)
JAX = Modules(jax, jnp, jax.lax)


def assert_same(ours: Any, theirs: Any, rtol: float = 2e-5, atol: float = 1e-6) -> None:
    """One structure, and leaves of one shape, dtype and value."""
    our_leaves, our_tree = fc.tree.flatten(ours)
    their_leaves, their_tree = jax.tree.flatten(theirs)
    assert str(our_tree) == str(their_tree)
    for a, b in zip(our_leaves, their_leaves, strict=True):
        if not hasattr(b, "dtype"):  # what a function returned as it was
            assert a == b
            continue
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.dtype.names is None:  # not float0
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def same_as_jax(function: Callable[[Modules], Any], **tolerances: float) -> Any:
    """What ``function`` gives with farcall's modules, after comparing it with JAX's."""
    ours = function(FARCALL)
    assert_same(ours, function(JAX), **tolerances)
    return ours
