"""Effects of callbacks: how often and in which order they happen, against JAX where it can."""

from __future__ import annotations

import farcall as fc
import jax
import numpy as np
import pytest
from callbacks_on_both import Calls, noting, same_calls
from farcall.experimental import buffer_callback as buffers
from farcall.experimental import io_callback

F32 = np.float32
I32 = np.int32
X = np.arange(4, dtype=F32)


# ---- ordered: the order of the program ----


def across_jits(m, note):
    @m.jit
    def f(x):
        note("a", x)
        note("b", x * 2)
        return x

    @m.jit
    def g(x):
        note("c", x)
        return x + note("d", x)

    return [f(F32(1)), g(F32(2)), f(F32(3)), note("eager", F32(4)), g(F32(5))]


def in_scan(m, note):
    def step(c, a):
        note("first", a)
        c = note("second", c)
        return c, a

    return m.jit(lambda x: m.lax.scan(step, F32(10), x))(X)


def in_reverse_scan(m, note):
    return m.jit(lambda x: m.lax.scan(lambda c, a: (note("s", a) + c, a), F32(0), x, reverse=True))(
        X
    )


def in_nested_scans(m, note):
    def outer(c, a):
        note("outer", a)
        d, _ = m.lax.scan(lambda e, b: (note("inner", b) + e, None), c, X[:2])
        note("after", d)
        return d, a

    return m.jit(lambda x: m.lax.scan(outer, F32(0), x))(X)


def in_while(m, note):
    def more(c):
        return note("test", c) < 5

    def body(c):
        note("body", c)
        return c + 1

    if m is jax:  # refuses ordered effects in the test; what it would be is this
        c = F32(0)
        while more(c):
            c = body(c)
        return m.numpy.asarray(c)
    return m.jit(lambda c: m.lax.while_loop(more, body, c))(F32(0))


def in_while_body(m, note):
    return m.jit(lambda c: m.lax.while_loop(lambda c: c < 5, lambda c: note("body", c), c))(F32(0))


def in_cond(m, note):
    def f(p, x):
        note("before", x)
        y = m.lax.cond(p, lambda a: note("yes", a), lambda a: note("no", a) * 2, x)
        return note("after", y)

    return [m.jit(f)(p, F32(3)) for p in (True, False, True)]


def in_switch(m, note):
    branches = [lambda a, i=i: note(f"branch {i}", a) for i in range(3)]
    return [m.jit(lambda i, x: m.lax.switch(i, branches, x))(I32(i), F32(9)) for i in (2, 0, 7)]


def in_nested_jit(m, note):
    inner = m.jit(lambda x: (note("one", x), note("two", x))[1])

    @m.jit
    def f(x):
        note("first", x)
        y = inner(x) + inner(x + 1)
        note("last", y)
        return y

    return [f(F32(1)), f(F32(1))]


def in_fori_in_cond_in_scan(m, note):
    def step(c, a):
        c = m.lax.cond(
            a > 1,
            lambda c: m.lax.fori_loop(0, 2, lambda i, c: note("fori", c), c),
            lambda c: note("no", c),
            c,
        )
        return c, note("after", c)

    return m.jit(lambda x: m.lax.scan(step, F32(0), x))(X)


def independent_of_data(m, note):
    """Nothing but the order holds these calls together."""

    @m.jit
    def f(x):
        for i in range(20):
            note(f"call {i}", x)
        return x

    return f(F32(0))


PROGRAMS = [
    across_jits,
    in_scan,
    in_reverse_scan,
    in_nested_scans,
    in_while,
    in_while_body,
    in_cond,
    in_switch,
    in_nested_jit,
    in_fori_in_cond_in_scan,
    independent_of_data,
]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)


@each_program
def test_ordered_effects_keep_the_order_of_the_program(program):
    calls = same_calls(lambda m, calls: program(m, noting(m, calls, ordered=True)))[1]
    assert calls


@each_program
def test_unordered_effects_happen_exactly_once_each(program):
    def unordered(m, calls):
        return program(m, noting(m, calls, ordered=False))

    same_calls(unordered, unordered=True)


@pytest.mark.parametrize("ordered", [False, True])
def test_equal_calls_are_not_merged(ordered):
    def program(m, calls):
        note = noting(m, calls, ordered)

        @m.jit
        def f(x):
            return note("same", x) + note("same", x) + note("same", x)

        return f(F32(1))

    assert len(same_calls(program)[1]) == 3


@pytest.mark.parametrize("ordered", [False, True])
def test_calls_without_operands_are_not_moved_out_of_loops(ordered):
    def program(m, calls):
        def count():
            calls()
            return I32(len(calls))

        def step(c, _):
            i = m.experimental.io_callback(count, m.ShapeDtypeStruct((), I32), ordered=ordered)
            return c + i, i

        return m.jit(lambda: m.lax.scan(step, I32(0), None, length=4))()

    (total, stacked), calls = same_calls(program)
    assert int(total) == 10
    assert np.asarray(stacked).tolist() == [1, 2, 3, 4]
    assert len(calls) == 4


def test_a_scan_whose_results_nobody_reads_still_runs_its_effects():
    def program(m, calls):
        note = noting(m, calls, ordered=False)

        @m.jit
        def f(x):
            m.lax.scan(lambda c, a: (note("s", a), None), F32(0), x)
            m.lax.cond(x[1] > 0, lambda a: note("c", a), lambda a: a, x[0])
            m.lax.fori_loop(0, 2, lambda i, c: note("f", c), x[0])
            return x

        return f(X)

    assert len(same_calls(program, unordered=True)[1]) == 7


def test_ordered_kinds_share_one_order():
    seen = []

    def tag(name):
        return lambda *args: seen.append(name)

    @fc.jit
    def f(x):
        io_callback(tag("io"), None, x, ordered=True)
        fc.debug.callback(tag("debug"), x, ordered=True)
        io_callback(tag("io again"), None, ordered=True)
        return fc.lax.scan(
            lambda c, a: (c, fc.debug.callback(tag("s"), a, ordered=True)), x, X[:2]
        )[0]

    for _ in range(3):
        seen.clear()
        f(F32(1))
        assert seen == ["io", "debug", "io again", "s", "s"]


def test_an_effect_sees_the_effects_before_it():
    state = {"value": 0}

    def read():
        return I32(state["value"])

    def write(x):
        state["value"] = int(x)

    @fc.jit
    def f(x):
        before = io_callback(read, fc.ShapeDtypeStruct((), I32), ordered=True)
        io_callback(write, None, before + x, ordered=True)
        after = io_callback(read, fc.ShapeDtypeStruct((), I32), ordered=True)
        return before, after

    assert [tuple(map(int, f(I32(5)))) for _ in range(3)] == [(0, 5), (5, 10), (10, 15)]


def test_a_failing_effect_stops_the_ordered_ones_behind_it():
    seen = []

    def function(x):
        seen.append(int(x))
        if x == 2:
            raise RuntimeError("two")

    def step(c, a):
        io_callback(function, None, a, ordered=True)
        return c, None

    f = fc.jit(lambda x: fc.lax.scan(step, 0, x))
    for _ in range(2):
        seen.clear()
        with pytest.raises(RuntimeError, match="two"):
            f(np.arange(5))
        assert seen == [0, 1, 2]


# ---- dead code, checkpoint, derivatives ----


def test_side_effects_of_buffer_callbacks_keep_their_number_in_nested_programs():
    calls = []

    def note(ctx, out, x):
        calls.append(float(np.asarray(x)))
        np.asarray(out)[...] = 0

    call = buffers.buffer_callback(note, fc.ShapeDtypeStruct((), F32), has_side_effect=True)
    inner = fc.jit(lambda x: (call(x), x + 1)[1])
    f = fc.jit(lambda x: fc.lax.scan(lambda c, a: (inner(c), None), x, X)[0])
    assert float(f(F32(0))) == 4
    assert calls == [0, 1, 2, 3]


def test_effects_in_functions_that_are_only_inspected_do_not_happen():
    calls = Calls()

    def f(x):
        fc.debug.callback(calls, x)
        return x

    fc.make_jaxpr(f)(F32(1))
    fc.eval_shape(f, fc.ShapeDtypeStruct((), F32))
    fc.jit(f).lower(F32(1)).compile()
    assert calls == []


def test_compiled_programs_run_their_effects_each_time():
    calls = Calls()

    def f(x):
        fc.debug.callback(calls, x, ordered=True)
        return x * 2

    compiled = fc.jit(f).lower(F32(1)).compile()
    for i in range(3):
        assert float(compiled(F32(i))) == 2 * i
    assert calls == [[0.0], [1.0], [2.0]]


def test_an_effect_under_linearize_happens_when_the_value_is_computed():
    def program(m, calls):
        def f(x):
            m.debug.callback(calls, x)
            return x * x

        y, pushforward = m.linearize(f, F32(3))
        return y, pushforward(F32(1)), pushforward(F32(2))

    assert same_calls(program)[1] == [[3.0]]


def test_effects_stay_in_their_loop_when_it_is_differentiated():
    calls = Calls()

    def loss(w, x):
        def step(c, a):
            b = io_callback(
                lambda v: (calls(v), np.asarray(v))[1],
                fc.ShapeDtypeStruct((), F32),
                fc.lax.stop_gradient(w),
                ordered=True,
            )
            return c * a * w + b, None

        return fc.lax.scan(step, x, np.ones(3, F32))[0]

    fc.jit(fc.grad(loss, 1))(F32(2), F32(1))
    assert calls == [[2]] * 3


def test_a_loop_of_effects_alone_runs_when_its_function_is_differentiated():
    calls = Calls()

    def square(x):
        def step(_, a):
            fc.debug.callback(calls, x * a, ordered=True)
            return None, None

        fc.lax.scan(step, None, X)
        return x * x

    for run in (lambda f: f, fc.jit):
        calls.clear()
        assert float(run(fc.grad(square))(F32(2))) == 4
        assert calls == [[0], [2], [4], [6]]


def test_effects_of_a_while_loop_do_not_happen_twice_under_linearize():
    """The known part would run now and again with the tangents; that is refused."""
    calls = Calls()

    def f(x):
        def step(c):
            fc.debug.callback(calls, c[0], ordered=True)
            return c[0] + 1, c[1] * 2

        return fc.lax.while_loop(lambda c: c[0] < 3, step, (0, x))[1]

    with pytest.raises(NotImplementedError, match="separately from its derivative"):
        fc.linearize(f, F32(1))
    assert calls == []
    assert [float(y) for y in fc.jvp(f, (F32(1),), (F32(1),))] == [8, 8]
    assert calls == [[0], [1], [2]]
