"""What callbacks keep alive, and that nothing of it is left when their programs die."""

from __future__ import annotations

import gc
import sys
import weakref

import farcall as fc
import numpy as np
import pytest
from farcall.experimental import io_callback
from farcall.experimental.buffer_callback import buffer_callback

F32 = np.float32
X = np.arange(4, dtype=F32)


@pytest.fixture(autouse=True, scope="module")
def only_new_objects_are_collected():
    """What other tests left, all of JAX with it, would be walked through by each collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def struct(*shape, dtype=F32):
    return fc.ShapeDtypeStruct(shape, dtype)


class Captured:
    """Something that a closure holds."""

    def __call__(self, *args):
        return np.asarray(args[-1])


def buffer_call(captured):
    def callback(ctx, out, x):
        np.asarray(out)[...] = captured(x)

    return buffer_callback(callback, struct(4))


def debug_call(captured):
    def f(x):
        fc.debug.callback(lambda a: captured(a), x)
        return x

    return f


CALLS = {
    "buffer": buffer_call,
    "pure": lambda captured: lambda x: fc.pure_callback(lambda a: captured(a), struct(4), x),
    "io": lambda captured: lambda x: io_callback(lambda a: captured(a), struct(4), x, ordered=True),
    "debug": debug_call,
}
each_call = pytest.mark.parametrize("make", CALLS.values(), ids=CALLS)

PROGRAMS = {
    "eager": lambda f: f,
    "jit": fc.jit,
    "nested jit": lambda f: fc.jit(fc.jit(f)),
    "scan": lambda f: fc.jit(
        lambda x: fc.lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0]
    ),
    "while": lambda f: fc.jit(
        lambda x: fc.lax.while_loop(lambda c: c[1] < 2, lambda c: (f(c[0]), c[1] + 1), (x, 0))[0]
    ),
    "cond": lambda f: fc.jit(lambda x: fc.lax.cond(x[0] < 1, f, lambda a: a, x)),
    "compiled": lambda f: fc.jit(f).lower(X).compile(),
    "checkpoint": lambda f: fc.jit(fc.checkpoint(f)),
}


@each_call
@pytest.mark.parametrize("run", PROGRAMS.values(), ids=PROGRAMS)
def test_what_a_closure_holds_dies_with_the_program(make, run):
    captured = Captured()
    watch = weakref.ref(captured)
    program = run(make(captured))
    del captured
    for _ in range(2):
        np.testing.assert_array_equal(program(X), X)
    gc.collect()
    assert watch() is not None
    del program
    fc.clear_caches()
    gc.collect()
    assert watch() is None


def test_a_program_keeps_its_callbacks_when_all_else_is_gone():
    program = fc.jit(CALLS["pure"](Captured())).lower(X)
    compiled = program.compile()
    del program
    fc.clear_caches()
    gc.collect()
    np.testing.assert_array_equal(compiled(X), X)


def test_a_program_as_a_value_keeps_its_callbacks():
    captured = Captured()
    watch = weakref.ref(captured)
    program = fc.make_program(CALLS["pure"](captured))(X)
    del captured
    gc.collect()
    assert watch() is not None
    text = str(program)
    assert "pure_callback[" in text
    del program
    fc.clear_caches()
    gc.collect()
    assert watch() is None


class Model:
    """Holds a jitted function that calls back into the object, in one of several places."""

    def __init__(self, where):
        step = getattr(self, where)
        self.run = fc.jit(step)

    def plainly(self, x):
        return fc.pure_callback(self.call, x, x)

    def in_a_scan(self, x):
        return fc.lax.scan(lambda c, _: (self.plainly(c), None), x, None, length=2)[0]

    def in_a_branch(self, x):
        return fc.lax.cond(x[0] < 100, self.plainly, lambda x: x, x)

    def in_a_jitted_function(self, x):
        return fc.jit(self.plainly)(x)

    def call(self, x):
        return np.asarray(x) + 1


@pytest.mark.parametrize("where", ["plainly", "in_a_scan", "in_a_branch", "in_a_jitted_function"])
def test_a_cycle_through_a_jitted_function_is_collected(where):
    model = Model(where)
    model.run(X)
    watch = weakref.ref(model)
    del model
    fc.clear_caches()
    gc.collect()
    assert watch() is None


class Kernel:
    """An object that keeps a call of its own method, and programs with it."""

    def __init__(self):
        self.call = buffer_callback(self.run, struct(4))

    def run(self, ctx, out, x):
        np.asarray(out)[...] = np.asarray(x) * 2


@pytest.mark.parametrize(
    "use",
    [
        lambda k: k.call(X),
        lambda k: setattr(k, "jitted", [fc.jit(k.call), fc.jit(lambda x: k.call(x) + 1)]),
        lambda k: setattr(k, "compiled", fc.jit(k.call).lower(X).compile()),
        lambda k: setattr(k, "lowered", fc.jit(k.call).lower(X)),
    ],
    ids=["called", "jitted", "compiled", "lowered"],
)
def test_an_object_that_keeps_a_call_of_its_method_is_collected(use):
    kernel = Kernel()
    use(kernel)
    _ = [function(X) for function in getattr(kernel, "jitted", [])]
    calls = [getattr(kernel, name) for name in ("call", "compiled") if hasattr(kernel, name)]
    gc.collect()
    for call in calls:  # the collector leaves what is in use
        np.testing.assert_array_equal(call(X), X * 2)
    seen = weakref.ref(kernel)
    del kernel, calls
    gc.collect()
    np.testing.assert_array_equal(call(X), X * 2)  # it keeps the method, and so the object
    assert seen() is not None
    del call
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("where", ["plainly", "in_a_scan"])
def test_what_another_program_calls_survives_the_collector(where):
    model = Model(where)
    wanted = np.asarray(model.run(X))
    compiled = model.run.lower(X).compile()
    outer = fc.jit(model.plainly)
    outer(X)
    del model
    for _ in range(3):
        gc.collect()
        np.testing.assert_array_equal(compiled(X), wanted)
        np.testing.assert_array_equal(outer(X), X + 1)
    del outer
    gc.collect()
    np.testing.assert_array_equal(compiled(X), wanted)


@each_call
def test_exceptions_keep_nothing_beyond_themselves(make):
    class Failing(Captured):
        def __call__(self, *args):
            raise ValueError("no")

    captured = Failing()
    watch = weakref.ref(captured)
    program = fc.jit(make(captured))
    del captured
    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            program(X)
    del program
    fc.clear_caches()
    gc.collect()
    assert watch() is None


def test_reference_counts_of_arguments_results_and_functions_stay():
    x = fc.numpy.array(X) + 0
    value = np.ones(4, F32)
    calls = []

    def function(a):
        calls.append(0)
        return value

    def in_place(ctx, out, a):
        np.asarray(out)[...] = value

    def bad(a):
        raise KeyError

    programs = [
        fc.jit(lambda a: fc.pure_callback(function, struct(4), a)),
        fc.jit(buffer_callback(in_place, struct(4))),
        buffer_callback(in_place, struct(4)),
        lambda a: fc.pure_callback(function, struct(4), a),
    ]

    def use(count):
        for _ in range(count):
            for program in programs:
                program(x)
            with pytest.raises(KeyError):
                fc.pure_callback(bad, struct(4), x)
        gc.collect()
        watched = (x, value, function, in_place, bad, struct, None, True)
        return [sys.getrefcount(w) for w in watched[:6]]

    use(3)
    before = use(3)
    assert use(50) == before


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def eager(i):
    """One more callback of each kind."""
    held = np.full(1 << 14, i, F32)
    fc.pure_callback(lambda a: held[:4], struct(4), X)
    fc.debug.callback(lambda a: held, X)
    buffer_callback(lambda ctx, out: np.asarray(out).fill(held[0]), struct(4))()


def compiled(i):
    held = np.full(1 << 14, i, F32)
    program = fc.jit(lambda x: fc.pure_callback(lambda a: held[:4], struct(4), x) + 1)
    np.testing.assert_array_equal(program(X), np.full(4, i + 1, F32))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("make", "count"), [(eager, 3000), (compiled, 1000)])
def test_ten_thousand_callbacks_leave_no_memory_behind(make, count):
    """As many made and dropped, with the resident memory of the second half watched."""
    for i in range(count // 2):
        make(i)
    gc.collect()
    objects, memory = len(gc.get_objects()), resident_bytes()
    for i in range(count // 2):
        make(i)
    gc.collect()
    assert len(gc.get_objects()) - objects < 200
    # What they held is 64 kilobytes each. What the allocator keeps varies by a megabyte or two.
    assert resident_bytes() - memory < (1 << 23)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_calls_of_one_program_leave_no_memory_behind():
    def function(x):
        return np.asarray(x) + 1

    f = fc.jit(
        lambda x: fc.lax.scan(
            lambda c, _: (fc.pure_callback(function, c, c), c), x, None, length=10
        )
    )
    x = np.zeros(1000, F32)
    for _ in range(50):
        f(x)
    gc.collect()
    memory = resident_bytes()
    for _ in range(300):
        f(x)
    gc.collect()
    assert resident_bytes() - memory < (1 << 20)
