"""debug.print and debug.callback: formats, transformations, order, and the end of the process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from callbacks_on_both import same_calls

F32 = np.float32
X = np.arange(1, 4, dtype=F32)

RUNS = {"eager": lambda f: f, "jit": fc.jit, "nested jit": lambda f: fc.jit(fc.jit(f))}
each_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


def lines(capsys, function, *args):
    function(*args)
    fc.effects_barrier()
    return capsys.readouterr().out.splitlines()


def same_lines(capsys, program):
    """What a program of either module prints, equal in both."""
    ours = lines(capsys, program, fc)
    program(jax)
    jax.effects_barrier()
    assert ours == capsys.readouterr().out.splitlines()
    return ours


# ---- formats ----

FORMATS = [
    ("plain", [], {}),
    ("{}", [X], {}),
    ("a {} b {}", [F32(1.5), np.int32(2)], {}),
    ("{1} {0} {1}", [np.int32(1), np.int32(2)], {}),
    ("{x} and {y}", [], {"x": X, "y": np.bool_(True)}),
    ("{} {name}", [np.int32(1)], {"name": F32(2)}),
    ("{{}} {{x}} {} }}{{", [np.int32(1)], {}),
    ("{{{}}}", [np.int32(1)], {}),
    ("{:.3f}|{:>8.2e}|{:+}", [F32(3.14159), F32(1234), F32(1)], {}),
    ("{:d}|{:05d}|{:x}|{:,}", [np.int32(7), np.int32(42), np.int32(255), np.int32(1234567)], {}),
    ("{x.shape} {x.dtype}", [], {"x": X}),
    ("{0.shape[0]} {0[1]}", [X], {}),
    ("{d[a]} {d[b]}", [], {"d": {"a": np.int32(1), "b": F32(2)}}),
    ("{0[0]} {0[1]}", [(np.int32(1), np.int32(2))], {}),
    ("{x!r:>30}|{x!s}", [], {"x": np.int32(5)}),
    ("tab\tline\nend ünïcode ☃ {}", [np.int32(1)], {}),
    ("", [], {}),
    ("{}", ["text"], {}),
    ("{} {}", ["text", X], {}),
]


@each_run
@pytest.mark.parametrize(("form", "args", "kwargs"), FORMATS, ids=[f[0] for f in FORMATS])
def test_formats_are_those_of_str_format(capsys, run, form, args, kwargs):
    """Each value as farcall's array of it formats itself; text as it is."""

    def known(value):
        return isinstance(value, str)

    traced = [a for a in args if not known(a)]

    def program(traced, kwargs):
        rest = iter(traced)
        fc.debug.print(form, *(a if known(a) else next(rest) for a in args), **kwargs)

    as_arrays = [a if known(a) else fc.tree.map(fnp.array, a) for a in args]
    wanted = form.format(*as_arrays, **fc.tree.map(fnp.array, kwargs))
    assert lines(capsys, run(program), traced, kwargs) == wanted.split("\n")


def test_fields_in_specifications_are_numbers_that_are_known(capsys):
    def program(x):
        fc.debug.print("{:{width}.{digits}f}|", x, width=8, digits=1)

    assert lines(capsys, fc.jit(program), F32(2.5)) == ["     2.5|"]


def test_options_may_be_given_in_a_call_of_their_own(capsys):
    seen = []

    def program(m):
        def f(x):
            m.debug.print(ordered=True)("{ordered} {partitioned}", ordered=x, partitioned=2)
            m.debug.print(ordered=True, skip_format_check=True)("{x}", 1, x=x)
            m.debug.callback(ordered=True)(
                lambda x, ordered: seen.append((int(x), ordered)), x, ordered="o"
            )
            m.debug.callback(lambda x: seen.append(int(x)), x, partitioned=False)

        m.jit(f)(3)

    same_lines(capsys, program)
    assert sorted(seen, key=str) == [(3, "o"), (3, "o"), 3, 3]


@pytest.mark.parametrize("function", [fc.debug.print, fc.debug.callback])
def test_the_first_of_two_calls_takes_options_alone(function):
    with pytest.raises(TypeError, match="the first of two calls takes options alone, got x=1"):
        function(x=1)


def test_a_format_that_is_not_checked_fails_in_the_run():
    f = fc.jit(lambda x: fc.debug.print("{y}", x, skip_format_check=True)).lower(1).compile()
    with pytest.raises(KeyError):
        f(1)


@pytest.mark.parametrize("form", ["{}", "x: {x}", "{x} {x}", "{x.shape}", "{x.dtype}"])
def test_arrays_look_as_in_jax(capsys, form):
    def program(m):
        for value in (
            X,
            X.reshape(1, 3),
            np.arange(3, dtype=np.int32),
            np.array([True, False]),
            F32(0.1),
        ):
            named = {"x": value} if "x}" in form or "x." in form else {}
            positional = () if named else (value,)
            m.jit(lambda p, n: m.debug.print(form, *p, **n))(positional, named)

    same_lines(capsys, program)


@pytest.mark.parametrize(
    ("error", "form", "args", "kwargs", "message"),
    [
        (IndexError, "{} {}", [1], {}, "out of range"),
        (KeyError, "{x}", [], {}, "x"),
        (KeyError, "{x} {y}", [], {"x": 1}, "y"),
        (ValueError, "{}", [1, 2], {}, "no field of the format shows 2"),
        (ValueError, "none", [], {"x": 1}, "no field of the format shows x=1"),
        (ValueError, "{", [1], {}, "."),
        (ValueError, "}", [], {}, "."),
        (ValueError, "{!z}", [1], {}, "conversion"),
        (ValueError, "{} {0}", [1], {}, "."),
        (AttributeError, "{x.nothing}", [], {"x": X}, "nothing"),
        (TypeError, 5, [], {}, "fmt must be a string, got 5"),
    ],
)
def test_mistakes_in_formats_are_found_when_the_program_is_made(error, form, args, kwargs, message):
    def program():
        fc.debug.print(form, *args, **kwargs)

    for make in (program, fc.make_jaxpr(program), fc.jit(program).lower):
        with pytest.raises(error, match=message):
            make()


def test_a_specification_that_a_value_refuses_is_an_error_of_the_run():
    f = fc.jit(lambda x: fc.debug.print("{:.3f}", x))
    for _ in range(2):
        with pytest.raises((TypeError, ValueError)):
            f(X)


# ---- transformations, against JAX ----


def noisy(m, calls, ordered=False):
    def f(x):
        m.debug.callback(calls, x, ordered=ordered)
        return x * x

    return f


PROGRAMS = {
    "eager": lambda m, f: f(X),
    "jit": lambda m, f: m.jit(f)(X),
    "jit twice": lambda m, f: [m.jit(f)(X), m.jit(f)(X)],
    "vmap": lambda m, f: m.vmap(f)(X),
    "jit vmap": lambda m, f: m.jit(m.vmap(f))(X),
    "vmap of vmap": lambda m, f: m.vmap(m.vmap(f))(np.arange(6, dtype=F32).reshape(2, 3)),
    "jvp": lambda m, f: m.jvp(f, (X,), (X,)),
    "grad": lambda m, f: m.grad(f)(F32(3)),
    "jit grad": lambda m, f: m.jit(m.grad(f))(F32(3)),
    "vmap grad": lambda m, f: m.vmap(m.grad(f))(X),
    "grad vmap": lambda m, f: m.grad(lambda x: m.vmap(f)(x).sum())(X),
    "hessian": lambda m, f: m.hessian(f)(F32(3)),
    "grad of scan": lambda m, f: m.grad(
        lambda x: m.lax.scan(lambda c, a: (c + f(a), None), F32(0), x)[0]
    )(X),
    "scan": lambda m, f: m.lax.scan(lambda c, a: (f(c), a), F32(2), X),
    "while": lambda m, f: m.lax.while_loop(lambda c: c < 1000, f, F32(2)),
    "cond": lambda m, f: [
        m.jit(lambda p, x: m.lax.cond(p, f, lambda a: a, x))(p, X) for p in (True, False)
    ],
    "custom_jvp": lambda m, f: m.grad(given_jvp(m, f))(F32(3)),
    "custom_vjp": lambda m, f: m.grad(given_vjp(m, f))(F32(3)),
}


def given_jvp(m, f):
    g = m.custom_jvp(f)
    g.defjvp(lambda p, t: (g(*p), 2 * p[0] * t[0]))
    return g


def given_vjp(m, f):
    g = m.custom_vjp(f)
    g.defvjp(lambda x: (g(x), x), lambda x, ct: (2 * f(x) * ct,))
    return g


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_debug_callbacks_see_what_they_see_in_jax(program):
    same_calls(lambda m, calls: program(m, noisy(m, calls)))


ORDERED = [name for name in PROGRAMS if "vmap" not in name]


@pytest.mark.parametrize("name", ORDERED)
def test_ordered_debug_callbacks_see_what_they_see_in_jax(name):
    same_calls(lambda m, calls: PROGRAMS[name](m, noisy(m, calls, ordered=True)))


@pytest.mark.parametrize("run", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_checkpoint_shows_the_value_once_though_it_computes_twice(run):
    calls = []
    run(fc.grad(fc.checkpoint(noisy(fc, calls.append))))(F32(3))
    assert len(calls) == 1


def test_arguments_of_debug_callbacks_that_are_no_arrays_reach_them():
    seen = []

    def note(*args, **kwargs):
        seen.append((args, kwargs))

    def function():
        return None

    fc.jit(lambda x: fc.debug.callback(note, "text", x, [None, function], key={"a": "b", "c": x}))(
        F32(2)
    )
    (args, kwargs) = seen[0]
    assert args[0] == "text"
    assert float(args[1]) == 2
    assert args[2] == [None, function]
    assert kwargs["key"]["a"] == "b"
    assert float(kwargs["key"]["c"]) == 2


def test_results_of_debug_callbacks_are_not_looked_at():
    assert fc.jit(lambda x: fc.debug.callback(lambda a: "anything", x))(X) is None


def test_prints_follow_each_other_and_python_s_own(capsys):
    @fc.jit
    def f(x):
        fc.debug.print("one {}", x, ordered=True)
        fc.debug.print("two {x}", x=x + 1, ordered=True)
        return x

    print("before")
    f(np.int32(1))
    print("between")
    f(np.int32(5))
    assert capsys.readouterr().out.splitlines() == [
        *("before", "one 1", "two 2", "between", "one 5", "two 6")
    ]


def test_a_print_under_vmap_prints_each_element(capsys):
    same_lines(capsys, lambda m: m.vmap(lambda x: m.debug.print("x = {}", x))(np.arange(3)))


def test_prints_go_where_sys_stdout_points_when_they_run(monkeypatch):
    import io

    f = fc.jit(lambda x: fc.debug.print("x = {}", x))
    f(np.int32(0))
    target = io.StringIO()
    monkeypatch.setattr(sys, "stdout", target)
    f(np.int32(1))
    assert target.getvalue() == "x = 1\n"


# ---- at exit ----


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "last", ["f(2)", "fc.lax.scan(lambda c, a: (f(a), None), 0, np.array([2]))"]
)
def test_prints_of_a_last_statement_are_not_lost(ordered, last):
    code = f"""
    import numpy as np, farcall as fc
    @fc.jit
    def f(x):
        fc.debug.print("x = {{}}", x, ordered={ordered})
        return x
    {last}
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "x = 2\n", "")


def test_effects_barrier_flushes(monkeypatch):
    class Output(list):
        def write(self, text):
            self.append(text)

        def flush(self):
            self.append("flushed")

    target = Output()
    monkeypatch.setattr(sys, "stdout", target)
    fc.debug.print("x")
    fc.effects_barrier()
    assert "".join(target) == "x\nflushed"
    monkeypatch.setattr(sys, "stdout", None)
    fc.effects_barrier()
