"""debug_nans, debug_infs, disable_jit in loops, and strict promotion of dtypes and ranks."""

from __future__ import annotations

import inspect
import re

import farcall
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi, lax


def line_of(function, text):
    """The number of the first line of ``function`` that holds ``text``."""
    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if text in line)


def raised(function, *args):
    with pytest.raises(FloatingPointError) as error:
        function(*args)
    return str(error.value)


def bad(x):
    return fnp.log(x) * 2  # of a negative number


def in_scan(x):
    return lax.scan(lambda c, y: (c + bad(y), y), x, fnp.array([1.0, -1.0]))[0]


def in_while(x):
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + bad(c[1] - 2)), (0, x))[1]


def in_cond(x):
    return lax.cond(x > 0, lambda x: bad(-x), lambda x: x, x)


def in_jit(x):
    return 1 + farcall.jit(lambda y: bad(-y))(x)


def in_checkpoint(x):
    return farcall.checkpoint(lambda y: bad(-y))(x) + 1


@farcall.custom_jvp
def with_rule(x):
    return bad(-x)


with_rule.defjvp(lambda p, t: (with_rule(*p), t[0]))


def in_custom_rule(x):
    return with_rule(x) + 1


NESTED = [in_scan, in_while, in_cond, in_jit, in_checkpoint, in_custom_rule]


@pytest.mark.parametrize("function", NESTED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jitted"])
def test_the_equation_and_the_line_of_a_nan_are_named(function, jitted):
    x = fnp.float32(1)
    with farcall.debug_nans():
        text = raised(farcall.jit(function) if jitted else function, x)
    line = line_of(bad, "fnp.log")
    assert re.search(rf"invalid value \(nan\) encountered in log: f32\[\], at .*{line} ", text)
    assert text.endswith("The flag debug_nans makes it an error")
    assert np.isnan(function(x))


def test_the_first_of_several_equations_is_named():
    def f(x):
        y = x - 1
        z = fnp.sqrt(y)
        return z + x

    with farcall.debug_nans():
        text = raised(farcall.jit(f), fnp.zeros(3))
        assert "encountered in sqrt: f32[3]" in text
        assert f"test_debug_flags.py:{line_of(f, 'fnp.sqrt')} " in text
        np.testing.assert_array_equal(farcall.jit(f)(fnp.ones(3)), np.ones(3))


def test_infinities_have_a_flag_of_their_own():
    f = farcall.jit(lambda x: 1 / x)
    x = fnp.zeros(2)
    with farcall.debug_nans():
        assert np.isinf(f(x)).all()
    with farcall.debug_infs():
        assert "invalid value (inf) encountered in div" in raised(f, x)
        assert "debug_infs" in raised(fnp.divide, 1.0, x)
        assert "encountered in log" in raised(fnp.log, x)
    with farcall.debug_infs(), farcall.debug_nans():
        assert "(nan)" in raised(fnp.multiply, fnp.array(np.inf), 0.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "float8_e5m2"])
def test_every_float_dtype_is_looked_at(dtype):
    x = fnp.array([np.nan, 1.0], dtype)
    with farcall.debug_nans():
        raised(fnp.concatenate, [x, x])
        raised(farcall.jit(lambda x: fnp.concatenate([x, x])), x)


def test_numbers_that_are_no_floats_are_never_nan():
    with farcall.debug_nans(), farcall.debug_infs():
        assert fnp.isnan(fnp.array([np.nan])).all()
        np.testing.assert_array_equal(farcall.jit(lambda x: x + 1)(fnp.arange(3)), [1, 2, 3])


def test_what_a_handler_writes_is_looked_at(handlers):
    call = ffi.ffi_call("scale", farcall.ShapeDtypeStruct((2,), "float32"))

    def f(x):
        return call(x, factor=np.float32(np.nan))

    with farcall.debug_nans():
        assert "encountered in ffi_call" in raised(f, fnp.ones(2))
        assert "encountered in ffi_call" in raised(farcall.jit(f), fnp.ones(2))


def test_what_a_callback_returns_is_looked_at():
    call = lambda x: farcall.pure_callback(lambda y: np.full(2, np.nan), x, x)  # noqa: E731
    with farcall.debug_nans():
        assert "encountered in pure_callback" in raised(call, fnp.ones(2))
        assert "encountered in pure_callback" in raised(farcall.jit(call), fnp.ones(2))


def test_derivatives_are_looked_at():
    with farcall.debug_nans():
        assert "nan" in raised(farcall.jit(farcall.grad(lambda x: fnp.sqrt(x) * 0)), fnp.float32(0))


def test_a_donated_argument_survives_the_search():
    f = farcall.jit(lambda x: fnp.log(x) + 1, donate_argnums=0)
    x = fnp.array([-1.0, 1.0])
    with farcall.debug_nans():
        assert "encountered in log" in raised(f, x)
    assert not x.is_deleted()


def test_a_function_that_ran_before_is_looked_at_from_now_on():
    f = farcall.jit(lambda x: x - x)
    x = fnp.array([np.inf])
    assert np.isnan(f(x))
    with farcall.debug_nans():
        assert "encountered in sub" in raised(f, x)
    assert np.isnan(f(x))


# ---- disable_jit ----


def test_loops_and_branches_run_in_python_without_jit():
    seen = []

    def note(x):
        seen.append(x.is_traced)
        return x

    def f(x):
        c, ys = lax.scan(
            lambda c, y: (note(c + y["a"]), (c, {"b": y["a"]})), x, {"a": x + fnp.ones(3)}
        )
        c = lax.while_loop(lambda v: note(v) < 50, lambda v: v * 2, c)
        c = lax.fori_loop(0, 3, lambda i, v: note(v) + i, c)
        c = lax.cond(c > 0, lambda v: note(v), lambda v: -v, c)
        c = lax.switch(7, [lambda v: v, lambda v: note(v) + 1], c)
        return c, ys, lax.map(lambda v: note(v) ** 2, fnp.arange(3.0))

    want = f(fnp.float32(1))
    assert all(seen)
    seen.clear()
    with farcall.disable_jit():
        got = f(fnp.float32(1))
    assert seen
    assert not any(seen)
    assert farcall.tree.structure(got) == farcall.tree.structure(want)
    for a, b in zip(farcall.tree.leaves(got), farcall.tree.leaves(want), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_a_reversed_scan_without_jit_keeps_the_order_of_its_results():
    run = lambda: lax.scan(lambda c, x: (c + x, c), 0.0, fnp.arange(4.0), reverse=True)  # noqa: E731
    want = run()
    with farcall.disable_jit():
        got = run()
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])


def test_what_cannot_run_in_python_still_runs_without_jit():
    def countdown(x):
        return lax.while_loop(lambda v: v > 0, lambda v: v - 1, x)

    with farcall.disable_jit():
        np.testing.assert_array_equal(farcall.vmap(countdown)(fnp.arange(3)), np.zeros(3))
        chosen = farcall.vmap(lambda x: lax.cond(x > 1, lambda v: v, lambda v: -v, x))
        np.testing.assert_array_equal(chosen(fnp.arange(3)), [0, -1, 2])
        assert lax.scan(lambda c, x: (c, x), 1.0, fnp.zeros((0, 2)))[1].shape == (0, 2)
        with pytest.raises(ValueError, match="scan: "):
            lax.scan(lambda c, x: (c, x), 1.0, None)
        slope = farcall.grad(lambda x: lax.scan(lambda c, y: (c * y, None), x, fnp.ones(3) * 2)[0])
        assert slope(fnp.float32(1)) == 8


# ---- numpy_dtype_promotion ----

f32, f16, i32 = fnp.ones(2, "float32"), fnp.ones(2, "float16"), fnp.ones(2, "int32")


@pytest.mark.parametrize(
    "function",
    [
        lambda: f32 + f16,
        lambda: f32 * i32,
        lambda: i32 + fnp.ones(2, "int8"),
        lambda: i32 * 2.0,
        lambda: f32 + 1j,
        lambda: fnp.array([True]) + 1,
        lambda: fnp.where(True, f32, i32),
        lambda: fnp.concatenate([f32, f16]),
        lambda: farcall.jit(fnp.add)(f32, i32),
        lambda: f32 + np.float16(1),
    ],
)
def test_strict_promotion_refuses_what_the_standard_allows(function):
    function()
    with farcall.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match='is "strict"'):
        function()


def test_strict_promotion_allows_one_dtype_and_numbers_that_fit():
    with farcall.numpy_dtype_promotion("strict"):
        for value in (f32 + f32, f32 * 2, f32 * 2.0, i32 + 1, f16 * 1.5, fnp.exp(i32), f32.mean()):
            assert value.size
        assert (fnp.ones(2, "complex64") + 1.0).dtype == "complex64"
        assert fnp.where(True, f32, 0).dtype == "float32"


# ---- numpy_rank_promotion ----


def test_rank_promotion_is_refused_or_warned_of():
    x, y = fnp.ones((2, 3)), fnp.ones(3)
    with farcall.numpy_rank_promotion("raise"):
        for function in (lambda: x + y, lambda: fnp.where(x > 0, x, y), lambda: fnp.power(y, x)):
            with pytest.raises(ValueError, match=r'have different ranks.*is "raise"'):
                function()
        assert (x + 1).shape == (x + fnp.float32(1)).shape == (x * y[None]).shape
    with farcall.numpy_rank_promotion("warn"):
        with pytest.warns(
            UserWarning, match=r"add: operands of shapes .*different ranks"
        ) as caught:
            assert (x + y).shape == (2, 3)
        assert caught[0].filename == __file__
