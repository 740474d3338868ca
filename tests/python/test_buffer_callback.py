"""buffer_callback: structures, side effects, derivatives and errors, against JAX."""

from __future__ import annotations

import functools
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from callbacks_on_both import same_calls
from farcall.experimental.buffer_callback import (
    Buffer,
    ExecutionContext,
    ExecutionStage,
    buffer_callback,
)

F32 = np.float32


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


RUNS = {"eager": lambda f: f, "jit": fc.jit, "nested jit": lambda f: fc.jit(fc.jit(f))}
each_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)

# ---- structures ----


@each_run
def test_trees_and_keywords_reach_the_callback_in_their_structure(run):
    def callback(ctx, out, pair, *, scale, rest):
        (a, b), c = pair, rest["c"][0]
        assert rest["none"] is None
        assert all(isinstance(leaf, Buffer) for leaf in (a, b, c, scale))
        np.asarray(out["sum"])[...] = np.asarray(a) + np.asarray(b)
        np.asarray(out["rest"][0])[...] = np.asarray(c) * np.asarray(scale)
        np.asarray(out["rest"][1])[()] = 7

    result = {"sum": struct(3), "rest": [struct(2, dtype=np.int32), struct(), None]}
    call = buffer_callback(callback, result)
    a, c = values(3), np.array([4, 5], np.int32)

    def f(a, c):
        return call((a, a + 1), rest={"c": [c], "none": None}, scale=np.int32(3))

    made = run(f)(a, c)
    assert set(made) == {"sum", "rest"}
    np.testing.assert_array_equal(made["sum"], 2 * a + 1)
    np.testing.assert_array_equal(made["rest"][0], c * 3)
    assert float(made["rest"][1]) == 7
    assert made["rest"][2] is None


def test_one_callable_serves_arguments_of_changing_structures():
    def callback(ctx, out, tree, **kwargs):
        leaves = [np.asarray(leaf).sum() for leaf in fc.tree.leaves((tree, kwargs))]
        np.asarray(out)[()] = sum(leaves)

    call = buffer_callback(callback, struct())
    one = np.ones(2, F32)
    assert float(call([one])) == 2
    assert float(call({"a": one, "b": (one, one)})) == 6
    assert float(fc.jit(lambda x: call([x], more=call((x, x))))(one)) == 6
    assert float(call([one, one, one], k=one)) == 8


@each_run
def test_a_callback_without_results_or_without_arguments(run):
    calls = []
    nothing = buffer_callback(lambda *args: calls.append(len(args)), (), has_side_effect=True)
    assert run(lambda x: nothing(x))(values(2)) == ()
    assert run(lambda: nothing())() == ()
    assert calls == [3, 2]

    def seven(ctx, out):
        np.asarray(out)[...] = 7

    np.testing.assert_array_equal(run(lambda: buffer_callback(seven, struct(2))())(), [7, 7])


@each_run
def test_partials_methods_and_callable_objects_are_callbacks(run):
    class Scaler:
        def __call__(self, ctx, out, x):
            np.asarray(out)[...] = np.asarray(x) * 2

        def method(self, ctx, out, x):
            self(ctx, out, x)

    def scaled(factor, ctx, out, x):
        np.asarray(out)[...] = np.asarray(x) * factor

    x = values(3)
    for callback in (Scaler(), Scaler().method, functools.partial(scaled, 2)):
        np.testing.assert_array_equal(run(buffer_callback(callback, struct(3)))(x), 2 * x)


@each_run
def test_many_arguments_and_results(run):
    count = 40

    def reverse(ctx, out, *xs):
        for o, x in zip(out, reversed(xs), strict=True):
            np.asarray(o)[...] = np.asarray(x)

    call = buffer_callback(reverse, [struct()] * count)
    made = run(call)(*np.arange(count, dtype=F32))
    assert [float(m) for m in made] == list(range(count))[::-1]


# ---- when it runs ----


def test_without_side_effect_an_unread_call_is_removed_and_with_one_it_is_not():
    def program(m, calls, has_side_effect):
        def note(ctx, out, x):
            calls(np.asarray(x))
            np.asarray(out)[...] = np.asarray(x)

        front = m.experimental.buffer_callback.buffer_callback
        call = front(note, m.ShapeDtypeStruct((), F32), has_side_effect=has_side_effect)

        @m.jit
        def f(x):
            call(x + 1)
            return x * 2

        return f(F32(1)), f(F32(2))

    assert same_calls(lambda m, calls: program(m, calls, True))[1] == [[2.0], [3.0]]
    assert same_calls(lambda m, calls: program(m, calls, False))[1] == []


def test_an_effect_in_a_loop_happens_in_every_turn():
    def program(m, calls):
        def note(ctx, out, x):
            calls(np.asarray(x))
            np.asarray(out)[...] = 0

        front = m.experimental.buffer_callback.buffer_callback
        call = front(note, m.ShapeDtypeStruct((), np.int32), has_side_effect=True)

        def body(i, x):
            call(i)
            return x + 1

        return m.jit(lambda x: m.lax.fori_loop(0, 4, body, x))(np.int32(0))

    assert same_calls(program)[1] == [[0], [1], [2], [3]]


@each_run
@pytest.mark.parametrize("has_side_effect", [True, False])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0, 2)])
def test_a_callback_with_empty_results_still_runs(run, shape, has_side_effect):
    seen = []

    def callback(ctx, out, x):
        seen.append((out.shape, x.shape, np.asarray(out).shape, out.nbytes, memoryview(out).shape))

    call = buffer_callback(callback, struct(*shape), has_side_effect=has_side_effect)
    made = run(call)(values(*shape))
    assert made.shape == shape
    assert seen == [(shape, shape, shape, 0, shape)]


@each_run
def test_the_context_says_of_which_execution_the_call_is(run):
    seen = []

    def note(ctx, out):
        seen.append(ctx)
        assert isinstance(ctx, ExecutionContext)
        assert ctx.stage is ExecutionStage.EXECUTE
        assert ctx.device_ordinal == 0
        with pytest.raises(RuntimeError, match="GPU context is not available"):
            ctx.stream  # noqa: B018

    call = buffer_callback(note, (), has_side_effect=True)
    f = run(lambda: (call(), call())[0])
    f(), f()
    ids = [ctx.run_id for ctx in seen]
    assert len(ids) == 4
    assert ids[0] != ids[2]
    if run is not RUNS["eager"]:
        assert ids[0] == ids[1]
        assert ids[2] == ids[3]
    assert [stage.name for stage in ExecutionStage] == [
        *("INSTANTIATE", "PREPARE", "INITIALIZE", "EXECUTE", "RECORD")
    ]


def test_command_buffers_change_nothing_on_the_cpu():
    calls = []
    call = buffer_callback(
        lambda ctx, out: calls.append(1), (), has_side_effect=True, command_buffer_compatible=True
    )
    f = fc.jit(call)
    f(), f()
    assert calls == [1, 1]


# ---- derivatives ----


def test_derivatives_are_refused_with_the_way_out():
    call = add()
    x = values(3)
    way_out = "add_into: callbacks do not support .*custom_jvp or custom_vjp"
    for use in (
        lambda: fc.jvp(call, (x, x), (x, x)),
        lambda: fc.jit(lambda a: fc.jvp(call, (a, a), (a, a)))(x),
        lambda: fc.grad(lambda a: call(a, a).sum())(x),
        lambda: fc.jit(fc.grad(lambda a: fc.jit(call)(a, a).sum()))(x),
        lambda: fc.linearize(call, x, x),
        lambda: fc.linear_transpose(call, struct(3), struct(3))(x),
    ):
        with pytest.raises(ValueError, match=way_out):
            use()


def test_no_derivative_is_asked_for_where_nothing_depends_on_it():
    x = values(3)
    got = fc.grad(lambda a: (a * a + add()(*fc.lax.stop_gradient((a, a)))).sum())(x)
    np.testing.assert_array_equal(got, 2 * x)
    constant = fc.grad(lambda a: (a * add()(x, x)).sum())(x)
    np.testing.assert_array_equal(constant, 2 * x)


def with_jvp(m):
    def square_into(ctx, out, x):
        np.asarray(out)[...] = np.asarray(x) ** 2

    front = m.experimental.buffer_callback.buffer_callback
    call = front(square_into, m.ShapeDtypeStruct((), F32), vmap_method="sequential")
    f = m.custom_jvp(call)

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), 2 * primals[0] * tangents[0]

    return f


def with_vjp(m):
    inner = with_jvp(m)
    f = m.custom_vjp(lambda x: inner(x))
    f.defvjp(lambda x: (inner(x), x), lambda x, ct: (2 * x * ct,))
    return f


@pytest.mark.parametrize("rule", [with_jvp, with_vjp])
def test_custom_rules_give_derivatives_under_every_transformation(rule):
    x = values(4)

    def results(m):
        f = rule(m)
        g = m.grad(f)
        return (
            f(x[0]),
            g(x[0]),
            m.jit(m.vmap(m.value_and_grad(f)))(x),
            m.vmap(m.jit(g))(x),
            m.grad(lambda a: m.lax.scan(lambda c, b: (c + f(b), c), F32(0), a)[0])(x),
            m.grad(lambda a: m.checkpoint(f)(a) * a)(x[1]),
        )

    for ours, wanted in zip(
        jax.tree.leaves(fc.tree.map(np.asarray, results(fc))),
        jax.tree.leaves(results(jax)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, wanted)


# ---- errors ----


@each_run
def test_a_callback_that_returns_a_value_is_an_error(run):
    call = buffer_callback(lambda ctx, out: 5, struct(), has_side_effect=True)
    with pytest.raises(ValueError, match=r"must not return any values.* returned 5 of type int"):
        run(call)()


def test_declarations_that_do_not_fit():
    with pytest.raises(TypeError, match="callback must be callable, got 5 of type int"):
        buffer_callback(5, struct())
    with pytest.raises(ValueError, match=r'vmap_method must be one of broadcast_all, .*got "all"'):
        buffer_callback(add_into, struct(), vmap_method="all")
    with pytest.raises((TypeError, ValueError), match=r"result_shape_dtypes\[1\]"):
        buffer_callback(add_into, [struct(), 5])
    with pytest.raises(TypeError, match="argument"):
        add()(values(3), "text")
    with pytest.raises(ValueError, match="token"):
        buffer_callback(add_into, struct())(fc.lax.create_token())
    with pytest.raises(TypeError):
        Buffer()
    with pytest.raises(TypeError):
        ExecutionContext()


@each_run
def test_exceptions_arrive_as_they_are_and_the_callable_stays_usable(run):
    class OwnError(Exception):
        pass

    raised = []

    def callback(ctx, out, x):
        if np.asarray(x) < 0:
            raised.append(OwnError("no", {"x": 1}))
            raise raised[-1]
        np.asarray(out)[...] = 1

    f = run(buffer_callback(callback, struct()))
    for _ in range(3):
        with pytest.raises(OwnError) as info:
            f(F32(-1))
        assert info.value is raised[-1]
        assert info.value.args == ("no", {"x": 1})
        assert info.traceback[-1].name == "callback"
        assert float(f(F32(1))) == 1


def test_programs_name_the_callback():
    text = str(fc.make_jaxpr(add("sequential"))(values(3), values(3)))
    assert "buffer_callback[" in text
    assert "add_into#" in text
    assert "vmap_method=" in text
    assert fnp.asarray(1).dtype == np.int32  # tracing left nothing behind
