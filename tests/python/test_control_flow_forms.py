"""Loops and branches: lengths, options and containers, effects, and what is recorded how often."""

from __future__ import annotations

import collections
import functools
import gc
import weakref
from typing import Any

import farcall as fc
import jax
import numpy as np
import pytest
from control_flow import F32, S, X, agree, both, scalar_of, vector

# ---- lengths, options, containers ----


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 7, True, False])
def test_scan_lengths(length, reverse, unroll):
    x = vector(length, 2)

    def make(m):
        def f(x):
            step = lambda c, a: (c * a, c + a)  # noqa: E731
            return m.lax.scan(step, m.numpy.ones(2, "float32"), x, reverse=reverse, unroll=unroll)

        return f

    both(make, x)
    both(lambda m: m.grad(scalar_of(m, make(m))), x)


def test_pytrees_go_through():
    Point = collections.namedtuple("Point", "a b")

    def make(m):
        def f(x):
            def step(carry, point):
                return {"p": Point(carry["p"].b, point.a), "none": None}, (point.b, [carry["p"].a])

            init = {"p": Point(x[0], x[1] * 2), "none": None}
            return m.lax.scan(step, init, Point(x, x * 3))

        return f

    both(make, X)
    assert isinstance(make(fc)(X)[0]["p"], Point)


def test_scan_without_arrays():
    assert fc.lax.scan(lambda c, x: (c, x), (), None, length=3) == ((), None)


def test_weak_carries_are_promoted():
    for init in (0, 0.0, 1):
        both(lambda m, init=init: lambda x: m.lax.scan(lambda c, a: (c * a, c), init, x), X)
    both(lambda m: lambda x: m.lax.while_loop(lambda c: c < 3, lambda c: c + x, 0), F32(0.5))
    both(lambda m: lambda x: m.lax.fori_loop(0, 3, lambda i, c: c + x, 0), F32(0.5))


@pytest.mark.parametrize("bounds", [(0, 3), (2, 2), (5, 1), (-2, 2)])
def test_fori_bounds(bounds):
    both(lambda m: lambda x: m.lax.fori_loop(*bounds, lambda i, c: c * 2 + i, x), X)
    both(lambda m: lambda a, b: m.lax.fori_loop(a, b, lambda i, c: c * 2 + i, 1), *bounds)


@pytest.mark.parametrize("without_jit", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_fori_counts_in_the_dtype_of_its_bounds(dtype, without_jit):
    seen = []

    def body(i, c):
        seen.append((str(np.dtype(i.dtype)), i.weak_type))
        return c + i

    with fc.enable_x64(), fc.disable_jit(without_jit):
        number = np.dtype(dtype).type
        for bounds in ((number(1), 4), (1, number(4)), (number(1), number(4))):
            assert int(fc.lax.fori_loop(*bounds, body, number(0))) == 6
        assert int(fc.lax.fori_loop(1, 4, body, 0)) == 6
    assert set(seen) == {(dtype, False), ("int64", True)}


def test_fori_without_jit_checks_its_bounds():
    with fc.disable_jit():
        for bounds in ((0.0, 3), (np.int8(0), np.int16(3))):
            with pytest.raises(TypeError, match="fori_loop: lower"):
                fc.lax.fori_loop(*bounds, lambda _, c: c, 0)


@pytest.mark.parametrize("pred", [True, False, 1, 0, 2.5, np.bool_(True), np.float32(0)])
def test_cond_predicates(pred):
    both(lambda m: lambda x: m.lax.cond(pred, lambda u: u + 1, lambda u: u - 1, x), X)


def test_cond_forms():
    for form in [
        lambda lax, x: lax.cond(True, lambda u: u + 1, lambda u: u - 1, operand=x),
        lambda lax, x: lax.cond(False, lambda u: 1, lambda u: 2, operand=None),
        lambda lax, x: lax.cond(False, x, lambda u: u + 1, x * 2, lambda u: u - 1),
        lambda lax, x: lax.cond(x[0] > 5, true_fun=lambda: x, false_fun=lambda: x * 2),
        lambda lax, x: lax.cond(True, lambda *a: a, lambda *a: a[::1], x, {"k": x}),
    ]:
        agree(form(fc.lax, fc.numpy.asarray(X)), form(jax.lax, jax.numpy.asarray(X)))


@pytest.mark.usefixtures("x64")
def test_cond_runs_one_branch(handlers):
    count = fc.ffi.ffi_call("count_calls", fc.ShapeDtypeStruct((), np.int64), has_side_effect=True)
    before = handlers.library.num_calls()
    fc.lax.cond(True, lambda: count(), lambda: np.int64(0))
    fc.lax.cond(False, lambda: count(), lambda: np.int64(0))
    assert handlers.library.num_calls() == before + 1


def test_effects_happen_in_every_step(handlers):
    count = fc.ffi.ffi_call("count_calls", fc.ShapeDtypeStruct((), np.int64), has_side_effect=True)

    def step(c, _):
        count()
        return c, None

    for f in (fc.lax.scan, fc.jit(fc.lax.scan, static_argnums=0, static_argnames="length")):
        before = handlers.library.num_calls()
        f(step, np.float32(1), None, length=5)
        assert handlers.library.num_calls() == before + 5
    before = handlers.library.num_calls()
    fc.grad(lambda s: fc.lax.scan(lambda c, x: (count(), (c * s, None))[1], s, None, length=4)[0])(
        np.float32(2)
    )
    assert handlers.library.num_calls() == before + 4


# ---- recording ----


@pytest.mark.usefixtures("x64")
def test_bodies_are_recorded_once():
    calls = []

    def step(c, x):
        calls.append(1)
        return c + x, c

    for _ in range(3):
        fc.lax.scan(step, np.float32(0), X)
    assert len(calls) == 1
    fc.lax.scan(step, np.float32(0), vector(4))
    assert len(calls) == 1  # slices of the same type
    fc.lax.scan(step, np.float64(0), vector(4).astype("float64"))
    assert len(calls) == 2
    fc.jit(lambda x: fc.lax.scan(step, np.float32(0), x))(X)
    assert len(calls) == 2


def test_bodies_that_close_over_arrays_see_the_new_ones():
    box = [fc.numpy.ones(3, "float32")]

    def step(c, _):
        return c + box[0], None

    first = fc.lax.scan(step, X, None, length=2)[0]
    box[0] = box[0] * 10
    second = fc.lax.scan(step, X, None, length=2)[0]
    agree(first, X + 2)
    agree(second, X + 20)


def test_recordings_die_with_their_function():
    def step(c, x):
        return c + x, c

    fc.lax.scan(step, np.float32(0), X)
    fc.lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0)
    gone = weakref.ref(step)
    del step
    gc.collect()
    assert gone() is None


def test_callables_that_cannot_be_kept_work_too():
    class Unhashable:
        __hash__ = None

        def __call__(self, c, x):
            return c + x, c

    agree(fc.lax.scan(Unhashable(), np.float32(0), X)[0], X.sum())
    agree(
        fc.lax.scan(functools.partial(lambda k, c, x: (c + k * x, c), 2), F32(0), X)[0], 2 * X.sum()
    )


def test_long_loops():
    step = lambda c, _: (c * 0.999 + 1.0, None)  # noqa: E731
    both(lambda m: lambda s: m.lax.scan(step, s, None, length=3000)[0], S)


def test_numbers_that_condition_and_body_get_from_outside():
    """Calls in jitted functions hand numbers to a loop that has other constants besides."""

    def f(m):
        table = m.numpy.arange(3.0)

        @m.jit
        def inner(limit, step, x):
            def body(c):
                return c[0] + step, c[1] + table * step

            return m.lax.while_loop(lambda c: c[0] < limit, body, (np.int32(0), x))

        return m.jit(lambda x: inner(5, 2, x))

    both(f, np.ones(3, F32))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_vmap_over_any_axis_of_what_is_scanned(axis):
    def f(m):
        def one(xs):
            start = m.numpy.zeros(xs.shape[1:])
            return m.lax.scan(lambda c, a: (c + a, a * c), start, xs)

        return m.vmap(one, in_axes=axis)

    both(f, np.arange(24, dtype=F32).reshape(2, 3, 4))


def test_what_varies_reaches_the_end_of_a_long_carry():
    """Each step hands a value on by one place, so that it takes many to know which places vary."""

    def f(m):
        def last(x):
            def step(c, _):
                return (x, *c[:-1]), c[-1]

            return m.lax.scan(step, (F32(1),) * 6, None, length=8)[1]

        def run(x):
            grad = m.grad(lambda y: last(y).sum())
            return m.jvp(last, (x,), (x,)), grad(x), m.vmap(last)(m.numpy.stack([x, x + 1]))

        return run

    both(f, F32(3))


@pytest.mark.parametrize("chosen", [True, False])
def test_branches_that_depend_on_other_operands(chosen):
    def f(m):
        def choose(x, y):
            return m.lax.cond(
                chosen,
                lambda a, b: (a * 2, np.float32(1)),
                lambda a, b: (np.float32(0), b * a),
                x,
                y,
            )

        def weighted(x, y):
            first, second = choose(x, y)
            return first + 3 * second

        def run(x, y):
            tangents = m.jvp(choose, (x, y), (F32(1), F32(2)))
            return tangents, m.grad(weighted, (0, 1))(x, y)

        return run

    both(f, F32(2), F32(3))


def test_map_over_nothing_in_batches():
    both(lambda m: lambda x: m.lax.map(lambda v: v * 2, x, batch_size=2), np.zeros((0, 3), F32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.int32])
@pytest.mark.parametrize("count", [2, 130, 300])
def test_the_dtype_of_a_switch_index_may_be_too_narrow_for_the_number_of_branches(
    dtype: Any, count: int
) -> None:
    def branch(number: int) -> Any:
        return lambda: number

    switch = fc.jit(lambda index: fc.lax.switch(index, [branch(i) for i in range(count)]))
    for choice in (0, 1, 4, 100, min(200, np.iinfo(dtype).max), np.iinfo(dtype).min):
        assert switch(dtype(choice)) == min(max(choice, 0), count - 1)
