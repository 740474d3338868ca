"""Effects under vmap: which elements fire them, how often, and what is refused."""

from __future__ import annotations

import itertools

import farcall as fc
import numpy as np
import pytest
from callbacks_on_both import Calls, noting, same_calls
from farcall.experimental import io_callback

F32 = np.float32
I32 = np.int32
X = np.arange(4, dtype=F32)


def test_an_ordered_callback_under_vmap_is_an_error_that_names_the_axis():
    def f(x):
        return io_callback(lambda a: a, fc.ShapeDtypeStruct((), F32), x, ordered=True)

    message = r'cannot vmap an ordered callback over the mapped axis "rows" of size 4'
    for run in (lambda f: f, fc.jit):
        with pytest.raises(ValueError, match=message):
            run(fc.vmap(f, axis_name="rows"))(X)
        with pytest.raises(ValueError, match="a mapped axis of size 4"):
            run(fc.vmap(f))(X)


def test_an_ordered_callback_goes_through_vmap_sequentially_when_asked():
    for run, nested in itertools.product((lambda f: f, fc.jit), (False, True)):
        calls = Calls()

        def f(x, calls=calls):
            def function(a):
                calls(a)
                return np.asarray(a) * 2

            return io_callback(
                function, fc.ShapeDtypeStruct((), F32), x, ordered=True, vmap_method="sequential"
            )

        mapped, x = (fc.vmap(fc.vmap(f)), X.reshape(2, 2)) if nested else (fc.vmap(f), X)
        np.testing.assert_array_equal(run(mapped)(x), x * 2)
        # As in JAX, the inner axis makes the outer loop.
        order = x.T.ravel() if nested else x
        assert calls == [[v] for v in order.tolist()]


def test_unordered_io_callbacks_under_vmap_run_for_each_element():
    def program(m, calls):
        note = noting(m, calls, ordered=False)
        return m.jit(m.vmap(lambda x: note("v", x)))(X)

    assert len(same_calls(program, unordered=True)[1]) == 4


def test_a_vmapped_loop_fires_the_effects_of_the_elements_that_still_run():
    """Each element counts down from its own value; those that have ended are silent."""
    calls = Calls()

    def body(c):
        fc.debug.callback(calls, c)
        return c - 1

    f = fc.vmap(lambda c: fc.lax.while_loop(lambda c: c > 0, body, c))
    for run in (lambda f: f, fc.jit):
        calls.clear()
        made = run(f)(np.array([2, 0, 3], I32))
        np.testing.assert_array_equal(made, [0, 0, 0])
        assert sorted(c[0] for c in calls) == [1, 1, 2, 2, 3]


def test_a_vmapped_branch_fires_the_effects_of_the_elements_that_take_it():
    for run in (lambda f: f, fc.jit):
        calls = Calls()

        def note(tag, x, calls=calls):
            def function(a):
                calls(tag, a)
                return np.asarray(a) + F32(1)

            return io_callback(function, fc.ShapeDtypeStruct((), F32), x)

        def f(x, note=note):
            return fc.lax.cond(x > 1, lambda a: note("yes", a), lambda a: note("no", a) * 10, x)

        made = run(fc.vmap(f))(X)
        np.testing.assert_array_equal(made, [10, 20, 3, 4])
        assert sorted(map(str, calls)) == sorted(
            map(str, [["no", 0.0], ["no", 1.0], ["yes", 2.0], ["yes", 3.0]])
        )


def test_a_vmapped_loop_runs_the_effects_of_its_test_for_elements_that_still_run():
    calls = Calls()

    def more(c):
        fc.debug.callback(calls, c)
        return c > 0

    fc.jit(fc.vmap(lambda c: fc.lax.while_loop(more, lambda c: c - 1, c)))(np.array([1, 0, 2], I32))
    assert sorted(c[0] for c in calls) == [0, 0, 0, 1, 1, 2]
