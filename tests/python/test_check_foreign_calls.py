"""The flag check_foreign_calls: what foreign calls and callbacks of a running program do wrong."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading

import farcall as fc
import farcall.lax as lax
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi
from farcall.experimental.buffer_callback import buffer_callback

pytestmark = pytest.mark.usefixtures("handlers")

X = np.arange(1.0, 9.0, dtype=np.float32)


def call(x, where="", offset=0, skip=0, **options):
    spec = fc.ShapeDtypeStruct(x.shape, x.dtype)
    misbehaves = ffi.ffi_call("misbehaves", spec, vmap_method="sequential", **options)
    return misbehaves(x, where=where, offset=np.int64(offset), skip=np.int64(skip))


def finding(f, *args) -> str:
    with fc.check_foreign_calls(), pytest.raises(fc.FfiError) as error:
        f(*args)
    assert error.value.code == "INTERNAL"
    return str(error.value)


BEYOND = {"where": "result", "offset": 33}
KINDS = [
    (BEYOND, "oob-write: it wrote past the end of result 0, at byte offset 33 of 32 bytes"),
    ({"where": "argument", "offset": -5}, "before the beginning of argument 0, at byte offset -5"),
    ({"where": "scratch", "offset": 70}, "past the end of a block of scratch, at byte offset 70"),
    ({"where": "argument", "offset": 4}, "input-write: it wrote to argument 0, f32[8], which no"),
    ({"skip": 2}, "unwritten-result: it left 8 of 32 bytes of result 0, f32[8], unwritten, from"),
]


@pytest.mark.parametrize(("attributes", "text"), KINDS)
def test_each_kind_names_target_operand_offset_types_and_line(attributes, text):
    def f(x):
        return call(x * 2, **attributes) + 1

    message = finding(fc.jit(f), X)
    assert message.startswith("INTERNAL: check_foreign_calls: ")
    assert text in message
    assert 'in the call (f32[8]) -> (f32[8]) (ffi target "misbehaves")' in message
    assert f"at {__file__}:{call.__code__.co_firstlineno + 3} (call)" in message


@pytest.mark.parametrize(("attributes", "text"), KINDS)
def test_eager_calls(attributes, text):
    assert text in finding(lambda: call(fnp.asarray(X), **attributes))


def test_a_copy_past_the_ends_of_two_operands_is_a_write_past_one():
    def copy(ctx, out, x):
        del ctx
        ctypes.memmove(out.unsafe_pointer, x.unsafe_pointer, x.nbytes + 4)

    call_copy = buffer_callback(copy, fc.ShapeDtypeStruct(X.shape, X.dtype))
    message = finding(lambda: call_copy(fnp.asarray(X)))
    assert "oob-write: it wrote past the end of result 0, at byte offset 3" in message


def test_a_sound_call_gives_the_same():
    f = fc.jit(lambda x: call(x) + 1)
    with fc.check_foreign_calls():
        np.testing.assert_array_equal(f(X), X + 1)
    np.testing.assert_array_equal(f(X), X + 1)


def test_eager_loops_are_compiled_anew_under_the_flag():
    def run():
        return lax.fori_loop(0, 3, lambda _, x: call(x, skip=2), fnp.asarray(X))

    run()
    assert "unwritten-result" in finding(run)
    run()


def test_eager_calls_with_many_attributes_are_compiled_anew_under_the_flag():
    x = fnp.asarray(X)
    for i in range(100):
        call(x, offset=i, skip=2)
    for i in (0, 99):
        assert "unwritten-result" in finding(lambda i=i: call(x, offset=i, skip=2))


def test_programs_are_compiled_anew_under_the_flag():
    f = fc.jit(lambda x: call(x, where="argument", offset=4))
    x = fnp.array(X)  # which the handler changes
    f(x)
    assert "input-write" in finding(f, x)
    before = np.array(x)
    assert "input-write" in finding(f, x)
    np.testing.assert_array_equal(x, before)  # it got a copy
    compiled = fc.jit(lambda x: call(x, where="argument", offset=4)).lower(X).compile()
    with fc.check_foreign_calls():
        compiled(fnp.array(X))  # compiled before


def in_scan(x, **attributes):
    return lax.scan(lambda c, _: (call(c, **attributes), None), x, length=3)[0]


def in_while(x, **attributes):
    step = lambda c: (c[0] + 1, call(c[1], **attributes))  # noqa: E731
    return lax.while_loop(lambda c: c[0] < 3, step, (0, x))[1]


def in_cond(x, **attributes):
    return lax.cond(x[0] > 0, lambda y: call(y, **attributes), lambda y: y, x)


def in_vmap(x, **attributes):
    return fc.vmap(lambda y: call(y, **attributes))(fnp.stack([x, x]))[0]


@pytest.mark.parametrize("f", [in_scan, in_while, in_cond, in_vmap])
@pytest.mark.parametrize("attributes", [BEYOND, {"where": "argument", "offset": 4}, {"skip": 1}])
def test_loops_branches_and_batches(f, attributes):
    assert "check_foreign_calls: " in finding(fc.jit(lambda x: f(x, **attributes)), X)
    with fc.check_foreign_calls():
        np.testing.assert_array_equal(fc.jit(f)(X), X)


def test_donated_and_aliased_operands():
    def f(x, **attributes):
        return call(x, input_output_aliases={0: 0}, **attributes)

    with fc.check_foreign_calls():
        # What is aliased may be written, and is written before the call.
        got = fc.jit(lambda x: f(x, where="argument", offset=0), donate_argnums=0)(fnp.array(X))
        assert got[0] != X[0]
        np.testing.assert_array_equal(got[1:], X[1:])
        np.testing.assert_array_equal(fc.jit(lambda x: f(x, skip=8))(X), X)
    assert "oob-write" in finding(fc.jit(lambda x: f(x, **BEYOND), donate_argnums=0), fnp.array(X))


def test_threads():
    f = fc.jit(lambda x: call(x))
    bad = fc.jit(lambda x: call(x, **BEYOND))
    failures = []

    def work():
        with fc.check_foreign_calls():
            for _ in range(20):
                if not np.array_equal(f(X), X):
                    failures.append("values")
                try:
                    bad(X)
                    failures.append("no finding")
                except fc.FfiError:
                    pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- callbacks ----


def leaves_the_last(ctx, out, x):
    np.asarray(out)[:-1] = np.asarray(x)[:-1]


def writes_behind(ctx, out, x):
    np.asarray(out)[...] = np.asarray(x)
    view = np.asarray(out)
    np.lib.stride_tricks.as_strided(view, (9,), (4,))[8] = 1


SPEC = fc.ShapeDtypeStruct(X.shape, X.dtype)


@pytest.mark.parametrize("wrap", [fc.jit, lambda f: f], ids=["jit", "eager"])
def test_callbacks(wrap):
    lazy = wrap(lambda x: buffer_callback(leaves_the_last, SPEC)(x))
    message = finding(lazy, fnp.asarray(X))
    assert "unwritten-result: it left 4 of 32 bytes of result 0" in message
    assert '(ffi target "leaves_the_last")' in message
    nothing = wrap(lambda x: buffer_callback(lambda ctx, out, x: None, SPEC)(x))
    message = finding(nothing, fnp.asarray(X))
    assert "check_foreign_calls: unwritten-result: it wrote nothing to result 0, f32[8]" in message
    beyond = wrap(lambda x: buffer_callback(writes_behind, SPEC)(x))
    assert "oob-write: it wrote past the end of result 0, at byte offset 32" in finding(
        beyond, fnp.asarray(X)
    )
    with fc.check_foreign_calls():
        double = wrap(lambda x: fc.pure_callback(lambda v: 2 * v, SPEC, x))
        np.testing.assert_array_equal(double(fnp.asarray(X)), 2 * X)


@pytest.mark.filterwarnings("ignore:buffer_callback keeps")
@pytest.mark.parametrize("wrap", [fc.jit, lambda f: f], ids=["jit", "eager"])
def test_a_view_that_outlives_its_call_keeps_its_memory(wrap):
    kept = []

    def keeps(ctx, out, x):
        np.asarray(out)[...] = np.asarray(x)
        kept.append((np.asarray(out), np.asarray(x)))

    f = wrap(lambda x: buffer_callback(keeps, SPEC)(x * 1))
    with fc.check_foreign_calls():
        for i in range(4):
            np.testing.assert_array_equal(f(fnp.asarray(X + i)), X + i)
    for i, views in enumerate(kept):
        for view in views:
            np.testing.assert_array_equal(view, X + i)
    kept.clear()
    with fc.check_foreign_calls():
        loop = wrap(
            lambda x: fc.lax.fori_loop(0, 4, lambda i, c: buffer_callback(keeps, SPEC)(c) + 1, x)
        )
        np.testing.assert_array_equal(loop(fnp.asarray(X)), X + 4)
    for i, views in enumerate(kept):
        for view in views:
            np.testing.assert_array_equal(view, X + i)


def test_an_exception_of_a_callback_stays_what_it_is():
    def fails(ctx, out, x):
        raise KeyError("mine")

    with fc.check_foreign_calls(), pytest.raises(KeyError, match="mine"):
        fc.jit(lambda x: buffer_callback(fails, SPEC)(x))(X)


# ---- the flag ----


def test_scratch_states_and_linear_algebra():
    with fc.check_foreign_calls():
        a = fnp.array([[4.0, 1.0], [1.0, 3.0]])
        np.testing.assert_allclose(fnp.linalg.inv(a) @ a, np.eye(2), atol=1e-6)
        values, vectors = fc.jit(fnp.linalg.eigh)(a)
        np.testing.assert_allclose(vectors * values @ vectors.T, a, atol=1e-5)
        takes = ffi.ffi_call("takes_scratch", fc.ShapeDtypeStruct((), "int64"))
        assert int(fc.jit(lambda: takes(size=np.int64(100)))()) == 200
        counter = ffi.ffi_call("counter", fc.ShapeDtypeStruct((), "int64"))
        assert int(fc.jit(lambda: counter(start=np.int64(5)))()) >= 5


def test_the_environment_variable():
    code = (
        "import farcall as fc; print(fc.config.check_foreign_calls);"
        "fc.config.update('check_foreign_calls', False); print(fc.config.check_foreign_calls)"
    )
    for value, expected in (("1", "True\nFalse\n"), ("0", "False\nFalse\n")):
        environment = {**os.environ, "FARCALL_CHECK_FOREIGN_CALLS": value}
        ran = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert (ran.returncode, ran.stdout) == (0, expected), ran.stderr
