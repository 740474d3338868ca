"""Callbacks that use farcall themselves, on many threads: none waits for ever, nothing is lost."""

from __future__ import annotations

import concurrent.futures
import faulthandler
import threading

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall.experimental import io_callback
from farcall.experimental.buffer_callback import buffer_callback

F32 = np.float32
X = np.arange(4, dtype=F32)


@pytest.fixture(autouse=True)
def watchdog():
    """A deadlock ends the process with the stacks of all threads."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def struct(*shape, dtype=F32):
    return fc.ShapeDtypeStruct(shape, dtype)


def sin_callback(x):
    return fc.pure_callback(lambda a: np.sin(np.asarray(a)), x, x, vmap_method="expand_dims")


# What callbacks do: each gives sin(x) + 1 with farcall.
USES = {
    "eager": lambda x: fnp.sin(x) + 1,
    "jit": lambda x: fc.jit(lambda a: fnp.sin(a) + 1)(x),
    "nested jit": lambda x: fc.jit(lambda a: fc.jit(fnp.sin)(a) + 1)(x),
    "grad": lambda x: fc.grad(lambda a: (a - fnp.cos(a)).sum())(x),
    "jit grad": lambda x: fc.jit(fc.grad(lambda a: (a - fnp.cos(a)).sum()))(x),
    "vmap": lambda x: fc.vmap(lambda a: fnp.sin(a) + 1)(x),
    "scan": lambda x: fc.lax.scan(lambda c, a: (c, fnp.sin(a) + 1), 0, x)[1],
    "callback": lambda x: sin_callback(x) + 1,
    "callback in jit": lambda x: fc.jit(lambda a: sin_callback(a) + 1)(x),
    "callback in vmap in jit": lambda x: fc.jit(fc.vmap(lambda a: sin_callback(a) + 1))(x),
}
RUNS = {
    "eager": lambda f: f,
    "jit": fc.jit,
    "vmap": fc.vmap,
    "scan": lambda f: lambda x: fc.lax.scan(lambda c, a: (c, f(a)), 0, x)[1],
    "cond": lambda f: lambda x: fc.lax.cond(x.sum() > 0, f, lambda a: a, x),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("run", [*RUNS.values()], ids=RUNS)
def test_farcall_inside_a_callback(use, run):
    def function(x):
        x = fnp.asarray(x)
        return use(x.reshape(-1)).reshape(x.shape)

    f = run(lambda x: fc.pure_callback(function, x, x, vmap_method="sequential"))
    for _ in range(2):
        np.testing.assert_allclose(f(X), np.sin(X) + 1, rtol=1e-5)


def test_farcall_inside_a_buffer_callback():
    inner = fc.jit(lambda a: fnp.sin(a) * 2)

    def function(ctx, out, x):
        np.asarray(out)[...] = inner(x)

    call = buffer_callback(function, struct(4), vmap_method="sequential")
    for f in (call, fc.jit(call)):
        np.testing.assert_allclose(f(X), np.sin(X) * 2, rtol=1e-6)


def test_a_callback_while_something_is_traced_works_on_values():
    """Inside, operations happen at once, whatever the caller is tracing."""
    seen = []

    def function(x):
        seen.append(isinstance(fnp.sin(x), fc.Array) and float(fnp.sin(x)) >= 0)
        return fnp.sin(x)

    def f(x):
        constant = fc.pure_callback(function, struct(), F32(1))
        return x * constant

    np.testing.assert_allclose(fc.grad(f)(F32(2)), np.sin(F32(1)), rtol=1e-6)
    np.testing.assert_allclose(fc.vmap(f)(X), X * np.sin(F32(1)), rtol=1e-6)
    assert all(seen)


@pytest.mark.parametrize("depth", [1, 2, 20])
def test_callbacks_in_callbacks_to_any_depth(depth):
    def level(n):
        def function(x):
            return fc.jit(level(n - 1))(x) if n > 0 else np.asarray(x) * 2

        return lambda x: fc.pure_callback(function, x, x) + 1

    np.testing.assert_array_equal(fc.jit(level(depth))(X), X * 2 + depth + 1)


def test_a_recursion_without_end_is_a_recursion_error():
    def function(x):
        return fc.pure_callback(function, x, x)

    for _ in range(2):
        with pytest.raises(RecursionError):
            fc.pure_callback(function, X, X)
    np.testing.assert_array_equal(fc.pure_callback(np.asarray, X, X), X)


def test_a_callback_may_call_the_program_that_is_running():
    """A factorial whose program calls itself through a callback."""

    def smaller(n):
        return f(n - 1) if int(n) > 1 else np.int32(1)

    @fc.jit
    def f(n):
        return n * fc.pure_callback(smaller, struct(dtype=np.int32), n)

    assert int(f(np.int32(10))) == 3628800


@pytest.mark.parametrize("size", [1 << 12, 1 << 20])
def test_a_callback_that_uses_the_library_on_a_large_array(size):
    x = np.arange(size, dtype=F32)

    def function(a):
        return fnp.sqrt(fc.jit(lambda b: (b * b).reshape(-1, 64))(a)).reshape(-1)

    f = fc.jit(lambda a: fc.pure_callback(function, a, a * 1) + 1)
    np.testing.assert_array_equal(f(x), x + 1)


# ---- threads ----


def on_threads(count, function):
    """Results of function(i), started together on ``count`` threads."""
    barrier = threading.Barrier(count)

    def work(i):
        barrier.wait()
        return function(i)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_eight_threads_call_one_program_with_callbacks():
    def function(x):
        return fc.jit(lambda a: a * 2)(x)

    @fc.jit
    def f(x):
        y = fc.pure_callback(function, x, x)
        return fc.lax.scan(
            lambda c, _: (fc.pure_callback(function, c, c), None), y, None, length=5
        )[0]

    for i, made in enumerate(on_threads(8, lambda i: [f(X + i) for _ in range(20)])):
        for array in made:
            np.testing.assert_array_equal(array, (X + i) * 64)


def test_eight_threads_with_programs_of_their_own():
    def work(i):
        calls = []

        def function(x):
            calls.append(int(x[0]))
            return fnp.asarray(x) + 1

        for _ in range(10):
            f = fc.jit(lambda x: io_callback(function, x, x * 2, ordered=True))
            np.testing.assert_array_equal(f(X + i), (X + i) * 2 + 1)
        return calls

    for i, calls in enumerate(on_threads(8, work)):
        assert calls == [2 * i] * 10


def test_each_thread_keeps_its_own_order():
    seen = [[] for _ in range(8)]

    def note(which, step):
        seen[int(which)].append(int(step))

    @fc.jit
    def f(which, x):
        def step(c, a):
            fc.debug.callback(note, which, a, ordered=True)
            return c, None

        return fc.lax.scan(step, 0, x)[0]

    on_threads(8, lambda i: [f(np.int32(i), np.arange(20)) for _ in range(5)])
    assert seen == [list(range(20)) * 5] * 8


def test_threads_in_a_callback_may_wait_for_each_other():
    """Two programs whose callbacks meet: neither holds a lock that the other needs."""
    barrier = threading.Barrier(2)

    def function(x):
        barrier.wait(60)
        return np.asarray(x) + 1

    f = fc.jit(lambda x: fc.pure_callback(function, x, x))
    for made in on_threads(2, lambda i: f(X)):
        np.testing.assert_array_equal(made, X + 1)


@pytest.mark.parametrize("inner", ["eager", "jit", "callback"])
def test_a_callback_that_starts_threads_that_use_farcall_and_joins_them(inner):
    def function(x):
        x = np.asarray(x)
        use = {
            "eager": lambda a: fnp.asarray(a) * 2,
            "jit": fc.jit(lambda a: a * 2),
            "callback": fc.jit(lambda a: fc.pure_callback(lambda b: np.asarray(b) * 2, a, a)),
        }[inner]
        return sum(np.asarray(made) for made in on_threads(4, lambda i: use(x + i)))

    f = fc.jit(lambda x: fc.pure_callback(function, x, x * 1))
    for _ in range(3):
        np.testing.assert_array_equal(f(X), 8 * X + 12)


def test_a_program_on_another_thread_runs_while_a_callback_waits():
    arrived, proceed = threading.Event(), threading.Event()

    def function(x):
        arrived.set()
        assert proceed.wait(60)
        return x

    f = fc.jit(lambda x: fc.pure_callback(function, x, x) + 1)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(f, X)
        assert arrived.wait(60)
        np.testing.assert_array_equal(fc.jit(lambda x: x * 3)(X), X * 3)
        np.testing.assert_array_equal(fc.jit(lambda x: fc.pure_callback(np.asarray, x, x))(X), X)
        proceed.set()
        np.testing.assert_array_equal(running.result(), X + 1)


def test_exceptions_on_several_threads_reach_their_own_callers():
    def function(x):
        raise ValueError(f"of {int(x)}")

    f = fc.jit(lambda x: fc.pure_callback(function, x, x))

    def work(i):
        texts = []
        for _ in range(20):
            with pytest.raises(ValueError, match="of") as info:
                f(np.int32(i))
            texts.append(str(info.value))
        return texts

    for i, texts in enumerate(on_threads(8, work)):
        assert texts == [f"of {i}"] * 20


def test_locks_of_the_user_are_not_held_across_programs():
    """A callback takes a lock that a thread holds while it calls the library."""
    lock = threading.RLock()

    def function(x):
        with lock:
            return np.asarray(x) + 1

    f = fc.jit(lambda x: fc.pure_callback(function, x, x))
    g = fc.jit(lambda x: x * 2)

    def work(i):
        for _ in range(30):
            if i % 2:
                with lock:
                    np.testing.assert_array_equal(g(X), X * 2)
            else:
                np.testing.assert_array_equal(f(X), X + 1)

    on_threads(4, work)
