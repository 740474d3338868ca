"""buffer_callback under vmap: every method, against JAX and against operations."""

from __future__ import annotations

import itertools
from typing import Any

import farcall as fc
import jax
import numpy as np
import pytest
from callbacks_on_both import same_calls
from farcall.experimental.buffer_callback import buffer_callback

F32 = np.float32
METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]
RUNS = {"eager": lambda f: f, "jit": fc.jit, "nested jit": lambda f: fc.jit(fc.jit(f))}
each_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


def struct(*shape: int, dtype: Any = F32) -> fc.ShapeDtypeStruct:
    return fc.ShapeDtypeStruct(shape, dtype)


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-9, 9, shape).astype(F32)


def add_into(ctx, out, x, y):
    np.asarray(out)[...] = np.asarray(x) + np.asarray(y)


def add(method: str | None = None, module: Any = fc, **options: Any) -> Any:
    front = module.experimental.buffer_callback.buffer_callback
    result = module.ShapeDtypeStruct((3,), F32)
    return front(add_into, result, vmap_method=method, **options)


@pytest.mark.parametrize("method", [*METHODS, "legacy_vectorized"])
@pytest.mark.parametrize("in_axes", [(0, 0), (1, -1), (0, None), (None, 1)])
def test_vmap_gives_what_jax_gives(method, in_axes):
    x, y = (values(3) if axis is None else np.moveaxis(values(4, 3), 0, axis) for axis in in_axes)

    def program(m):
        return m.vmap(add(method, m), in_axes)

    wanted = np.asarray(program(jax)(x, y))
    for run in RUNS.values():
        got = np.asarray(run(program(fc))(x, y))
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("method", METHODS)
def test_two_vmaps_with_every_choice_of_axes(method):
    choices = [axes for axes in itertools.product([None, 0, 1], repeat=2) if axes != (None, None)]
    for inner, outer in itertools.product(choices, choices):
        shapes = [[3], [3]]
        for axes, size in ((inner, 4), (outer, 2)):
            for shape, axis in zip(shapes, axes, strict=True):
                if axis is not None:
                    shape.insert(axis, size)
        x, y = values(*shapes[0]), values(*shapes[1])
        got = fc.vmap(fc.vmap(add(method), inner), outer)(x, y)
        wanted = fc.vmap(fc.vmap(lambda a, b: a + b, inner), outer)(x, y)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("method", METHODS)
def test_shapes_that_the_callback_sees_under_vmap(method):
    """x mapped twice, y mapped by the outer axis only."""

    def program(m, calls):
        def note(ctx, out, x, y):
            calls(np.array([*out.shape, -1, *x.shape, -1, *y.shape]))
            np.asarray(out)[...] = 0

        front = m.experimental.buffer_callback.buffer_callback
        call = front(note, m.ShapeDtypeStruct((3,), F32), vmap_method=method)
        f = m.vmap(m.vmap(call, (0, None)), (0, 0))
        return f(values(2, 4, 3), values(2, 3))

    calls = same_calls(program)[1]
    one_call = method in ("expand_dims", "broadcast_all")
    assert len(calls) == (1 if one_call else 8)


@each_run
def test_without_a_method_vmap_is_refused_and_all_else_works(run):
    f = add()
    np.testing.assert_array_equal(run(f)(values(3), values(3)), 2 * values(3))
    with pytest.raises(NotImplementedError, match="buffer_callback add_into: vmap needs a vmap_me"):
        run(fc.vmap(f))(values(2, 3), values(2, 3))


@pytest.mark.parametrize("method", METHODS)
def test_effects_under_vmap_happen_once_for_each_element_or_once(method):
    def program(m, calls):
        def note(ctx, out, x):
            calls(np.asarray(x))
            np.asarray(out)[...] = np.asarray(x)

        front = m.experimental.buffer_callback.buffer_callback
        result = m.ShapeDtypeStruct((), F32)
        call = front(note, result, vmap_method=method, has_side_effect=True)

        def f(x):
            call(x)
            return x

        return m.jit(m.vmap(f))(np.arange(3, dtype=F32))

    same_calls(program)


def test_trees_of_results_under_vmap():
    def both(ctx, out, x):
        np.asarray(out["a"])[...] = np.asarray(x) * 2
        np.asarray(out["b"][0])[...] = np.asarray(x).sum(-1)

    x = values(4, 3)
    for method in METHODS:
        call = buffer_callback(both, {"a": struct(3), "b": [struct()]}, vmap_method=method)
        made = fc.vmap(call, out_axes={"a": 1, "b": [0]})(x)
        np.testing.assert_array_equal(made["a"], 2 * x.T)
        np.testing.assert_array_equal(made["b"][0], x.sum(1))
