"""Aliases of buffer callbacks: what they write in place, and what they never change."""

from __future__ import annotations

import farcall as fc
import numpy as np
import pytest
from farcall.experimental.buffer_callback import buffer_callback

F32 = np.float32
X = np.arange(6, dtype=F32)
METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]


def struct(*shape, dtype=F32):
    return fc.ShapeDtypeStruct(shape, dtype)


RUNS = {"eager": lambda f: f, "jit": fc.jit, "nested jit": lambda f: fc.jit(fc.jit(f))}
each_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


def increment(ctx, out, x):
    np.asarray(out)[...] += 1


@each_run
def test_the_callers_array_never_changes(run):
    call = buffer_callback(increment, struct(6), input_output_aliases={0: 0})
    x, numpy_x = fc.numpy.array(X) + 0, X.copy()
    for given in (x, numpy_x):
        f = run(call)
        np.testing.assert_array_equal(f(given), X + 1)
        np.testing.assert_array_equal(f(f(given)), X + 2)
        np.testing.assert_array_equal(given, X)


def test_a_value_that_dies_there_is_written_in_place_and_one_that_lives_on_is_copied():
    pointers = []

    def note(ctx, out, x):
        pointers.append((x.unsafe_pointer, out.unsafe_pointer))
        np.asarray(out)[...] += 1

    call = buffer_callback(note, struct(6), input_output_aliases={0: 0})
    chain = fc.jit(lambda x: call(call(call(x + 1))))
    np.testing.assert_array_equal(chain(X), X + 4)
    assert len({p for pair in pointers for p in pair}) == 1

    @fc.jit
    def lives_on(x):
        y = x + 1
        return call(y), y * 2

    made = lives_on(X)
    np.testing.assert_array_equal(made[0], X + 2)
    np.testing.assert_array_equal(made[1], (X + 1) * 2)


def test_a_donated_array_is_written_in_place():
    call = buffer_callback(increment, struct(6), input_output_aliases={0: 0})
    given = fc.numpy.array(X) + 0
    pointer = given.unsafe_buffer_pointer()
    result = fc.jit(call, donate_argnums=0)(given)
    assert result.unsafe_buffer_pointer() == pointer
    np.testing.assert_array_equal(result, X + 1)


@each_run
def test_aliases_index_flattened_trees(run):
    def callback(ctx, out, tree, *, last):
        np.asarray(out["second"][1])[...] += 1  # of tree["b"][1]
        np.asarray(out["first"])[...] *= 2  # of last
        np.asarray(out["second"][0])[...] = 0

    result = {"first": struct(6), "second": (struct(6), struct(3))}
    call = buffer_callback(callback, result, input_output_aliases={2: 2, 3: 0})
    y = np.arange(3, dtype=F32)
    tree = {"b": (X + 9, y), "a": X}
    made = run(call)(tree, last=X + 1)
    np.testing.assert_array_equal(made["second"][1], y + 1)
    np.testing.assert_array_equal(made["first"], (X + 1) * 2)
    np.testing.assert_array_equal(made["second"][0], X * 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (1, None)])
def test_aliases_under_vmap_also_of_an_operand_that_is_not_mapped(method, in_axes):
    def callback(ctx, out, x, y):
        np.asarray(out)[...] += np.asarray(y)

    call = buffer_callback(callback, struct(3), vmap_method=method, input_output_aliases={0: 0})
    x, y = (
        np.arange(3, dtype=F32)
        if axis is None
        else np.moveaxis(np.arange(12, dtype=F32).reshape(4, 3), 0, axis)
        for axis in in_axes
    )
    wanted = fc.vmap(lambda a, b: a + b, in_axes)(x, y)
    for run in RUNS.values():
        np.testing.assert_array_equal(run(fc.vmap(call, in_axes))(x, y), wanted)


def test_aliases_in_loops():
    call = buffer_callback(increment, struct(6), input_output_aliases={0: 0})
    f = fc.jit(lambda x: fc.lax.scan(lambda c, _: (call(c), c), x, None, length=4))
    last, stacked = f(X)
    np.testing.assert_array_equal(last, X + 4)
    np.testing.assert_array_equal(stacked, X + np.arange(4, dtype=F32)[:, None])
    np.testing.assert_array_equal(
        fc.jit(lambda x: fc.lax.while_loop(lambda c: c[0] < 7, call, x))(X), X + 7
    )
    np.testing.assert_array_equal(
        fc.jit(lambda p, x: fc.lax.cond(p, call, lambda a: a, x))(True, X), X + 1
    )


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ({2: 0}, r"mapping '2:0' with input index 2 outside the range \[0, 2\)"),
        ({-1: 0}, r"mapping '-1:0' with input index -1 outside the range \[0, 2\)"),
        ({0: 2}, r"mapping '0:2' with output index 2 outside the range \[0, 2\)"),
        ({0: -1}, r"mapping '0:-1' with output index -1 outside the range \[0, 2\)"),
        ({0: 1}, r"mapping '0:1' referring to an input of f32\[6\] and an output of f32\[3\]"),
        ({1: 0}, r"mapping '1:0' referring to an input of i32\[6\] and an output of f32\[6\]"),
    ],
)
def test_aliases_that_do_not_fit(aliases, message):
    call = buffer_callback(increment, [struct(6), struct(3)], input_output_aliases=aliases)
    for run in (lambda f: f, fc.jit):
        with pytest.raises(ValueError, match=message):
            run(call)(X, X.astype(np.int32))


def test_an_output_that_is_named_twice():
    call = buffer_callback(increment, [struct(6)], input_output_aliases={0: 0, 1: 0})
    with pytest.raises(ValueError, match=r"'1:0',? but output 0 is named twice"):
        call(X, X)


def test_aliases_that_are_no_indices():
    for aliases in ([(0, 0)], {0: "0"}, {0.5: 0}):
        with pytest.raises(TypeError, match="input_output_aliases must be"):
            buffer_callback(increment, struct(6), input_output_aliases=aliases)
