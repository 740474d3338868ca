"""Buffers and views of them that outlive their callback."""

from __future__ import annotations

import gc
import warnings
import weakref

import farcall as fc
import numpy as np
import pytest
from farcall.experimental.buffer_callback import buffer_callback

F32 = np.float32
X = np.arange(6, dtype=F32)


def struct(*shape, dtype=F32):
    return fc.ShapeDtypeStruct(shape, dtype)


RUNS = {"eager": lambda f: f, "jit": fc.jit, "nested jit": lambda f: fc.jit(fc.jit(f))}
each_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)

# ---- Buffers that outlive the callback ----


@each_run
def test_a_buffer_kept_after_the_callback_raises_on_every_touch(run):
    kept = []

    def keep(ctx, out, x):
        np.asarray(out)[...] = 1
        kept.extend([out, x])

    run(buffer_callback(keep, struct(6)))(X)
    assert [repr(b) for b in kept] == ["<Buffer f32[6], closed>"] * 2
    attributes = [
        *("shape", "dtype", "ndim", "size", "nbytes", "itemsize", "writeable", "device"),
        "unsafe_pointer",
    ]
    for buffer in kept:
        touches = [lambda b, name=name: getattr(b, name) for name in attributes]
        touches += [len, memoryview, bytes, np.asarray, np.array, np.from_dlpack]
        touches += [np.frombuffer, fc.numpy.asarray, lambda b: b.__dlpack__()]
        touches += [lambda b: b.__dlpack_device__(), lambda b: b.__array__(np.float64)]
        for touch in touches:
            with pytest.raises(
                RuntimeError, match=r"Buffer of callback keep was used after .*np.ar"
            ):
                touch(buffer)


def test_a_buffer_kept_by_a_failing_callback_is_closed_too():
    kept = []

    def fail(ctx, out):
        kept.append(out)
        raise KeyError("no")

    for run in RUNS.values():
        with pytest.raises(KeyError):
            run(buffer_callback(fail, struct(6)))()
        with pytest.raises(RuntimeError, match="after the callback had returned"):
            np.asarray(kept[-1])


def test_buffers_themselves_die_with_the_call():
    def note(ctx, out, x):
        np.asarray(out)[...] = np.asarray(x)

    call = fc.jit(buffer_callback(note, struct(6)))
    call(X)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(100):
        call(X)
    assert len(gc.get_objects()) - before < 50


# ---- views that outlive the callback ----

VIEWS = {
    "numpy": np.asarray,
    "part": lambda b: np.asarray(b)[1:3],
    "DLPack": np.from_dlpack,
    "memoryview": memoryview,
    "frombuffer": lambda b: np.frombuffer(b, F32),
}
each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


def keeping(view, kept, of=("out", "x"), **options):
    def callback(ctx, out, x):
        if not options.get("input_output_aliases"):
            np.asarray(out)[...] = np.asarray(x)
        np.asarray(out)[...] += 1
        kept.extend(view(buffer) for name, buffer in (("out", out), ("x", x)) if name in of)

    return buffer_callback(callback, struct(6), **options)


def recorded(function, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        result = function(*args)
    assert all(w.category is RuntimeWarning for w in found)
    return result, [str(w.message) for w in found]


@each_run
@each_view
def test_views_of_results_that_outlive_never_change_the_result_and_warn_once(run, view):
    kept = []
    result, messages = recorded(run(keeping(view, kept, ["out"])), X)
    assert len(messages) == 1
    assert "views of 1 of its Buffers outlive" in messages[0]
    np.testing.assert_array_equal(result, X + 1)
    np.testing.assert_array_equal(kept[0], X + 1 if len(kept[0]) == 6 else (X + 1)[1:3])
    np.asarray(kept[0])[...] = -1
    np.testing.assert_array_equal(result, X + 1)


@each_run
@each_view
def test_views_of_arguments_that_outlive_stay_readable_and_read_only(run, view):
    kept = []
    f = run(lambda x: keeping(view, kept, ["x"])(x * 2) * 3)
    result, messages = recorded(f, X)
    assert len(messages) == 1
    for _ in range(3):  # other memory is written meanwhile
        recorded(f, X + 5)
    gc.collect()
    seen = np.asarray(kept[0])
    np.testing.assert_array_equal(seen, X * 2 if len(seen) == 6 else (X * 2)[1:3])
    assert not seen.flags.writeable
    np.testing.assert_array_equal(result, (X * 2 + 1) * 3)


def test_views_outlive_the_executable_the_arguments_and_the_callable():
    kept = []
    x = fc.numpy.array(X) + 0
    f = fc.jit(keeping(np.asarray, kept))
    recorded(f, x)
    del f, x
    fc.clear_caches()
    gc.collect()
    for _ in range(20):
        np.full(6, 77, F32), fc.numpy.full(6, 77.0)
    np.testing.assert_array_equal(kept[0], X + 1)
    np.testing.assert_array_equal(kept[1], X)


def test_inside_scan_there_is_one_warning_and_the_stacked_results_are_whole():
    kept = []
    call = keeping(np.asarray, kept)

    def loop(x):
        return fc.lax.scan(lambda c, _: (call(c), c), x, None, length=5)

    (last, stacked), messages = recorded(fc.jit(loop), X)
    assert len(messages) == 1
    assert len(kept) == 10
    for view in kept[::2]:
        view[...] = -1
    np.testing.assert_array_equal(last, X + 5)
    np.testing.assert_array_equal(stacked, X + np.arange(5, dtype=F32)[:, None])
    again, _ = recorded(fc.jit(loop), X)
    np.testing.assert_array_equal(again[0], X + 5)


def run_with_views(step, loop, x):
    """What the views show that the step keeps, and what the program computes."""
    kept = []
    call = step(kept)
    result, _ = recorded(fc.jit(lambda x: loop(call, x)), x)
    return [np.array(view) for view in kept], result


def in_scan(call, x):
    return fc.lax.scan(lambda c, _: (call(c), c), x, None, length=4)


def in_fori_loop(call, x):
    return fc.lax.fori_loop(0, 4, lambda _, c: call(c), x)


def in_a_row(call, x):
    return call(call(call(call(x * 1))))


def in_branches_of_a_loop(call, x):
    def step(c, i):
        return fc.lax.cond(i < 2, call, lambda c: call(c + 0), c), c.sum()

    return fc.lax.scan(step, x, fc.numpy.arange(4))


@pytest.mark.parametrize("aliases", [None, {0: 0}], ids=["", "alias"])
@pytest.mark.parametrize("loop", [in_scan, in_fori_loop, in_a_row, in_branches_of_a_loop])
def test_views_that_are_kept_in_a_program_show_their_own_call_only(loop, aliases):
    def keeps(kept):
        return keeping(np.asarray, kept, ["out"], input_output_aliases=aliases)

    def keeps_some(kept):
        def callback(ctx, out, x):
            result = np.asarray(out)
            result[...] = np.asarray(x) + 1
            if result[0] in (2, 4):
                kept.append(result)

        return buffer_callback(callback, struct(6), input_output_aliases=aliases)

    def keeps_none(kept):
        def callback(ctx, out, x):
            np.asarray(out)[...] = np.asarray(x) + 1

        return buffer_callback(callback, struct(6), input_output_aliases=aliases)

    _, wanted = run_with_views(keeps_none, loop, X)
    for step, firsts in ((keeps, [1, 2, 3, 4]), (keeps_some, [2, 4])):
        views, got = run_with_views(step, loop, X)
        np.testing.assert_array_equal(views, X + np.array(firsts, F32)[:, None])
        fc.tree.map(np.testing.assert_array_equal, got, wanted)


def test_a_donated_argument_that_is_written_over_can_be_seen_on_the_way():
    kept = []
    call = keeping(np.asarray, kept, ["out"], input_output_aliases={0: 0})
    f = fc.jit(lambda x: call(call(call(x))), donate_argnums=0)
    result, _ = recorded(f, fc.numpy.array(X) + 0)
    np.testing.assert_array_equal(kept, X + np.array([[1], [2], [3]], F32))
    np.testing.assert_array_equal(result, X + 3)


@each_run
def test_views_under_aliases(run):
    kept = []
    x = fc.numpy.array(X) + 0
    call = keeping(np.asarray, kept, input_output_aliases={0: 0})
    result, messages = recorded(run(call), x)
    assert len(messages) == 1
    kept[0][...] = -1
    np.testing.assert_array_equal(result, X + 1)
    np.testing.assert_array_equal(x, X)


def test_views_of_donated_arguments():
    for aliases in (None, {0: 0}):
        kept = []
        call = keeping(np.asarray, kept, input_output_aliases=aliases)
        result, messages = recorded(fc.jit(call, donate_argnums=0), fc.numpy.array(X) + 0)
        assert len(messages) == 1
        kept[0][...] = -1
        for _ in range(3):
            recorded(fc.jit(call, donate_argnums=0), fc.numpy.array(X) + 9)
        np.testing.assert_array_equal(result, X + 1)


@each_run
def test_views_left_by_an_exception_in_its_traceback_stay_readable(run):
    def fail(ctx, out, x):
        view = np.asarray(x)
        np.asarray(out)[...] = view
        raise KeyError("no")

    f = run(lambda x: buffer_callback(fail, struct(6))(x + 1))
    with pytest.raises(KeyError) as info:
        f(X)
    view = info.traceback[-1].frame.f_locals["view"]
    for _ in range(3):
        with pytest.raises(KeyError):
            f(X * 7)
    np.testing.assert_array_equal(view, X + 1)


def test_a_warning_that_is_an_error_leaves_everything_usable():
    kept = []
    f = fc.jit(keeping(np.asarray, kept))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(RuntimeWarning, match="outlive the callback"):
                f(X)
    result, _ = recorded(f, X)
    np.testing.assert_array_equal(result, X + 1)
    np.testing.assert_array_equal(kept[0], X + 1)


def test_views_that_are_let_go_keep_no_memory_and_no_warning():
    def callback(ctx, out, x):
        views = [view(b) for view in VIEWS.values() for b in (out, x)]
        np.asarray(out)[...] = sum(float(np.asarray(v)[0]) * 0 for v in views) + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for run in RUNS.values():
            np.testing.assert_array_equal(run(buffer_callback(callback, struct(6)))(X), np.ones(6))


def test_kept_views_free_their_memory_when_they_go():
    class Watched(np.ndarray):
        pass

    kept = []
    recorded(fc.jit(keeping(lambda b: np.asarray(b).view(Watched), kept)), X)
    watch = weakref.ref(kept[0])
    kept.clear()
    gc.collect()
    assert watch() is None


@each_run
def test_arrays_of_farcall_made_of_a_buffer_are_copies_at_once(run):
    kept = []

    def double(ctx, out, x):
        np.asarray(out)[...] = 1
        kept.extend([fc.numpy.asarray(x), fc.numpy.asarray(out)])
        np.asarray(out)[...] = np.asarray(x) * 2

    call = buffer_callback(double, struct(6))

    def loop(x):
        return fc.lax.scan(lambda c, _: (call(c), None), x, None, length=3)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(run(loop)(X), X * 8)
    for i, array in enumerate(kept):
        np.testing.assert_array_equal(array, np.ones(6) if i % 2 else X * 2 ** (i // 2))
