"""pure_callback and io_callback: what functions get and may return, and every transformation."""

from __future__ import annotations

import traceback

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from callbacks_on_both import same_calls
from farcall.experimental import io_callback

F32 = np.float32
X = np.arange(1, 5, dtype=F32)
METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]


def struct(*shape, dtype=F32):
    return fc.ShapeDtypeStruct(shape, dtype)


RUNS = {"eager": lambda f: f, "jit": fc.jit, "nested jit": lambda f: fc.jit(fc.jit(f))}
each_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
KINDS = {"pure": fc.pure_callback, "io": io_callback}
each_kind = pytest.mark.parametrize("callback", KINDS.values(), ids=KINDS)

# ---- arguments and results ----


@each_run
@each_kind
def test_trees_and_keywords(run, callback):
    def function(pair, *, scale, rest):
        assert isinstance(pair, tuple)
        assert all(isinstance(leaf, fc.Array) for leaf in fc.tree.leaves((pair, scale, rest)))
        return {"sum": pair[0] + pair[1], "rest": [np.asarray(rest["a"]) * 2, None]}

    result = {"sum": struct(4), "rest": [struct(dtype=np.int32), None]}

    def f(x):
        return callback(function, result, (x, x + 1), scale=x, rest={"a": np.int32(3)})

    made = run(f)(X)
    np.testing.assert_array_equal(made["sum"], 2 * X + 1)
    assert made["rest"][0].dtype == np.int32
    assert int(made["rest"][0]) == 6
    assert made["rest"][1] is None


@pytest.mark.usefixtures("x64")
@each_run
@each_kind
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
def test_explicit_dtypes_are_kept(run, callback, dtype):
    x = X.astype(dtype)
    seen = []

    def function(a):
        seen.append(a.dtype)
        return np.asarray(a)

    made = run(lambda a: callback(function, a, a))(x)
    assert seen == [np.dtype(dtype)]
    assert made.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(made, x)


@each_run
@each_kind
def test_results_may_be_arrays_of_any_kind_and_numbers(run, callback):
    returned = [
        X,
        fnp.asarray(X),
        np.repeat(X, 2)[::2],
        X.astype(">f4"),
        np.asfortranarray(X),
        jax.numpy.asarray(X),
    ]
    for value in returned:
        made = run(lambda value=value: callback(lambda: value, struct(4)))()
        np.testing.assert_array_equal(made, X)
    for number in (2.0, F32(2), 2, np.array(2, F32)):
        made = run(lambda number=number: callback(lambda: number, struct()))()
        assert made.dtype == F32
        assert float(made) == 2


@each_kind
def test_the_arrays_that_a_function_gets_are_its_own(callback):
    kept = []

    def function(a):
        kept.append(a)
        return np.asarray(a) + 1

    def body(x, _):
        return callback(function, struct(4), x), None

    last, _ = fc.jit(lambda x: fc.lax.scan(body, x, None, length=3))(X)
    np.testing.assert_array_equal(last, X + 3)
    for i, array in enumerate(kept):
        np.testing.assert_array_equal(array, X + i)


@each_run
def test_io_callbacks_may_have_no_result(run):
    seen = []
    assert run(lambda x: io_callback(lambda a: seen.append(float(a)), None, x))(F32(3)) is None
    assert seen == [3]


@each_run
@each_kind
def test_empty_results_do_not_keep_the_function_from_running(run, callback):
    seen = []

    def function(a):
        seen.append(a.shape)
        return np.zeros((0, 2), F32)

    assert run(lambda x: callback(function, struct(0, 2), x))(np.zeros((0,), F32)).shape == (0, 2)
    assert seen == [(0,)]


@each_run
@each_kind
def test_a_callback_of_which_only_the_empty_result_is_used_runs(run, callback):
    seen = []

    def function(a):
        seen.append(a.shape)
        return a, np.zeros(0, F32)

    run(lambda x: callback(function, (struct(4), struct(0)), x)[1])(X)
    fc.effects_barrier()
    assert seen == [(4,)]


@each_run
@each_kind
def test_named_tuples_of_numpy_stand_for_tuples_and_lists(run, callback):
    matrix = np.array([[2, 1], [1, 3]], F32)
    wanted = np.linalg.eigh(matrix)
    for kind in (tuple, list):
        declared = kind([struct(2), struct(2, 2)])
        found = run(lambda x, d=declared: callback(np.linalg.eigh, d, x))(matrix)
        assert type(found) is kind
        for got, part in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got, part)


SEQUENCES = {
    "one in a list": (lambda s: s, [X]),
    "one alone": (lambda s: (s,), X),
    "nested": (lambda s: ((s, s), s), [X, X, X]),
    "flat": (lambda s: [s, s], ((X,), None, [X])),
}


@each_run
@each_kind
@pytest.mark.parametrize(("declare", "returned"), SEQUENCES.values(), ids=SEQUENCES)
def test_results_may_be_nested_sequences_of_another_form(run, callback, declare, returned):
    found = run(lambda: callback(lambda: returned, declare(struct(4))))()
    theirs = jax.pure_callback(lambda: returned, declare(jax.ShapeDtypeStruct((4,), F32)))
    assert str(fc.tree.structure(found)) == str(jax.tree.structure(theirs))
    assert all(np.array_equal(leaf, X) for leaf in fc.tree.leaves(found))


@each_run
@each_kind
def test_without_results_any_structure_without_leaves_will_do(run, callback):
    for declared in ((), None, {}):
        for returned in ((), None, [], [None]):
            found = run(lambda d=declared, r=returned: callback(lambda: r, d))()
            assert found == declared


# ---- results are checked ----

WRONG = {
    "shape": (
        lambda: np.zeros(3, F32),
        r"declared as f32\[4\], but the function returned f32\[3\]",
    ),
    "rank": (lambda: F32(1), r"declared as f32\[4\], but the function returned f32\[\]"),
    "dtype": (lambda: np.zeros(4), r"declared as f32\[4\], but the function returned f64\[4\]"),
    "structure": (lambda: {"a": X}, r"declared as .*\*.*, but the function returned .*'a': \*"),
    "number": (lambda: [X, X], r"declared as .*\*.*, but the function returned .*\[\*, \*\]"),
    "nothing": (lambda: None, r"declared as .*, but the function returned .*None"),
    "no array": (lambda: "text", r"result"),
}


@pytest.mark.usefixtures("x64")
@each_run
@each_kind
@pytest.mark.parametrize(("function", "message"), WRONG.values(), ids=WRONG)
def test_other_results_than_declared_are_errors_that_say_both(run, callback, function, message):
    f = run(lambda: callback(function, struct(4)))
    for _ in range(2):
        with pytest.raises((ValueError, TypeError), match=message):
            f()


@each_kind
def test_numbers_of_a_greater_kind_than_declared_are_refused(callback):
    for number, dtype in ((2.5, np.int32), (1j, F32), (2, np.bool_)):
        with pytest.raises(ValueError, match="was declared as"):
            callback(lambda number=number: number, struct(dtype=dtype))


@each_kind
def test_numbers_become_the_declared_dtype_without_loss(callback):
    assert float(callback(lambda: 0.1, struct(dtype=np.float64))) == 0.1
    assert int(callback(lambda: 2**53 + 1, struct(dtype=np.int64))) == 2**53 + 1
    for number, dtype in ((2**40, np.int32), (-1, np.uint8), (300, np.uint8)):
        with pytest.raises(OverflowError, match=f"{number} does not fit into"):
            callback(lambda number=number: number, struct(dtype=dtype))


@each_kind
def test_what_is_wrong_in_the_call_itself(callback):
    with pytest.raises(TypeError, match="callback must be callable, got 5 of type int"):
        callback(5, struct())
    with pytest.raises(TypeError, match="argument"):
        callback(lambda x: x, struct(), "text")
    with pytest.raises((TypeError, ValueError), match="result_shape_dtypes"):
        callback(lambda x: x, "f32", X)
    with pytest.raises(ValueError, match=r"vmap_method must be one of .*got \"all\""):
        callback(lambda x: x, struct(), X, vmap_method="all")


# ---- exceptions ----


class OwnError(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


def failing(x):
    try:
        {}["missing"]
    except KeyError as error:
        raise OwnError(7, "deep inside") from error


@each_run
@each_kind
def test_exceptions_keep_type_value_cause_and_traceback_on_every_call(run, callback):
    f = run(lambda x: callback(failing, struct(4), x))
    for _ in range(3):
        with pytest.raises(OwnError) as info:
            f(X)
        assert info.type is OwnError
        assert (info.value.code, info.value.args) == (7, (7, "deep inside"))
        assert isinstance(info.value.__cause__, KeyError)
        assert info.traceback[-1].name == "failing"
        text = "".join(traceback.format_exception(info.value))
        assert 'raise OwnError(7, "deep inside")' in text
        assert f"raised in {callback.__name__} failing, called at {__file__}" in text
        assert len(info.value.__notes__) == 1


def with_rule(f):
    f.defvjp(f, f) if isinstance(f, fc.custom_vjp) else f.defjvp(f)
    return f


PLACES = {
    "scan": lambda call: lambda x: fc.lax.scan(lambda c, a: (c, call(a)), 0, x)[1],
    "while": lambda call: lambda x: fc.lax.while_loop(lambda c: c[0] < 9, call, x),
    "cond": lambda call: lambda x: fc.lax.cond(x[0] > 0, call, lambda a: a, x),
    "vmap": lambda call: fc.vmap(call),
    "checkpoint": lambda call: fc.checkpoint(call),
    "custom_jvp": lambda call: with_rule(fc.custom_jvp(call)),
    "custom_vjp": lambda call: with_rule(fc.custom_vjp(call)),
}


@each_run
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exceptions_arrive_from_everywhere_and_leave_all_usable(run, place):
    is_failing = [True]

    def function(x):
        if is_failing[0]:
            raise OwnError(1, "now")
        return np.asarray(x) + 9

    def call(x):
        return fc.pure_callback(function, x, x, vmap_method="sequential")

    f = run(place(call))
    for fails in (True, True, False, True, False):
        is_failing[0] = fails
        if fails:
            with pytest.raises(OwnError, match="now"):
                f(X)
        else:
            np.testing.assert_array_equal(f(X), X + 9)


@each_run
def test_exceptions_of_inner_programs_pass_through_all_levels(run):
    def outer(x):
        return run(lambda a: fc.pure_callback(middle, struct(4), a))(x)

    def middle(x):
        return run(lambda a: fc.pure_callback(failing, struct(4), a))(x)

    with pytest.raises(OwnError) as info:
        run(lambda a: fc.pure_callback(outer, struct(4), a))(X)
    names = [entry.name for entry in info.traceback]
    assert [n for n in names if n in ("outer", "middle", "failing")] == [
        "outer",
        "middle",
        "failing",
    ]


@each_run
@pytest.mark.parametrize("error", [StopIteration, GeneratorExit, KeyboardInterrupt, SystemExit])
def test_exceptions_with_a_meaning_of_their_own_pass_unchanged(run, error):
    def function(x):
        raise error("value")

    with pytest.raises(error, match="value"):
        run(lambda x: fc.pure_callback(function, x, x))(X)


# ---- transformations, against JAX ----


def doubled(m, calls, method="sequential"):
    def function(x):
        calls(x)
        return np.asarray(x) * np.asarray(2, np.asarray(x).dtype)

    return lambda x: m.pure_callback(
        function, m.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=method
    )


PROGRAMS = {
    "jit": lambda m, f: m.jit(f)(X),
    "eager": lambda m, f: f(X),
    "twice": lambda m, f: m.jit(lambda x: f(f(x) + 1))(X),
    "vmap": lambda m, f: m.vmap(f)(X),
    "jit vmap": lambda m, f: m.jit(m.vmap(f))(X),
    "vmap of vmap": lambda m, f: m.vmap(m.vmap(f), in_axes=1)(X.reshape(2, 2)),
    "scan": lambda m, f: m.lax.scan(lambda c, a: (c + f(a), c), F32(0), X),
    "reverse scan": lambda m, f: m.lax.scan(lambda c, a: (f(c), a), F32(1), X, reverse=True),
    "map": lambda m, f: m.lax.map(f, X),
    "while": lambda m, f: m.lax.while_loop(lambda c: c < 30, f, F32(1)),
    "while in the test": lambda m, f: m.lax.while_loop(lambda c: f(c) < 9, lambda c: c + 1, F32(1)),
    "cond": lambda m, f: [
        m.jit(lambda p, x: m.lax.cond(p, f, lambda a: a, x))(p, X) for p in (True, False)
    ],
    "switch": lambda m, f: [m.lax.switch(i, [f, lambda a: f(a + 1)], X) for i in (0, 1)],
    "vmap of scan": lambda m, f: m.vmap(lambda x: m.lax.scan(lambda c, a: (f(c), a), x, X)[0])(X),
    "scan of vmap": lambda m, f: m.lax.scan(lambda c, a: (m.vmap(f)(c), a), X, X),
    "fori": lambda m, f: m.lax.fori_loop(0, 3, lambda i, x: f(x), X),
    "checkpoint": lambda m, f: m.checkpoint(f)(X),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_pure_callbacks_see_and_give_what_they_do_in_jax(program):
    same_calls(lambda m, calls: program(m, doubled(m, calls)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0)])
def test_calls_under_each_vmap_method_are_those_of_jax(method, in_axes):
    def program(m, calls):
        def function(x, y):
            calls(x, y)
            return np.asarray(x) + np.asarray(y)

        def f(x, y):
            return m.pure_callback(function, m.ShapeDtypeStruct((), F32), x, y, vmap_method=method)

        args = [X if axis == 0 else F32(7) for axis in in_axes]
        return m.jit(m.vmap(f, in_axes))(*args)

    same_calls(program)


@each_kind
@pytest.mark.parametrize("mode", ["jvp", "grad", "jit grad", "linearize"])
def test_derivatives_are_refused_with_the_way_out(callback, mode):
    def f(x):
        return callback(lambda a: a, struct(), x)

    use = {
        "jvp": lambda: fc.jvp(f, (F32(1),), (F32(1),)),
        "grad": lambda: fc.grad(f)(F32(1)),
        "jit grad": lambda: fc.jit(fc.grad(fc.jit(f)))(F32(1)),
        "linearize": lambda: fc.linearize(f, F32(1)),
    }
    with pytest.raises(
        ValueError, match=r"<lambda>: callbacks do not support .*custom_jvp or custom_v"
    ):
        use[mode]()


def test_custom_rules_around_callbacks_and_callbacks_in_rules():
    def program(m, calls):
        def sin(x):
            calls("sin", x)
            return np.sin(np.asarray(x))

        def cos(x):
            calls("cos", x)
            return np.cos(np.asarray(x))

        def call(f, x):
            return m.pure_callback(
                f, m.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims"
            )

        forward = m.custom_jvp(lambda x: call(sin, x))
        forward.defjvp(lambda p, t: (call(sin, p[0]), call(cos, p[0]) * t[0]))
        backward = m.custom_vjp(lambda x: call(sin, x))
        backward.defvjp(lambda x: (call(sin, x), x), lambda x, ct: (call(cos, x) * ct,))
        return [
            (
                m.grad(f)(X[0]),
                m.jit(m.vmap(m.grad(f)))(X),
                m.grad(lambda x, f=f: m.lax.scan(lambda c, a: (c + f(a), None), F32(0), x)[0])(X),
            )
            for f in (forward, backward)
        ] + [m.jvp(forward, (X,), (X,)), m.jacrev(forward)(X)]

    same_calls(program, unordered=True)


def test_pure_callbacks_that_nobody_reads_are_removed():
    assert same_calls(lambda m, calls: m.jit(lambda x: (doubled(m, calls)(x), x)[1])(X))[1] == []


def test_sharding_is_accepted():
    assert float(fc.pure_callback(lambda: 1.0, struct(), sharding=None)) == 1
    assert float(io_callback(lambda: 1.0, struct(), sharding=None)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_arrives_as_an_array_of_its_dtype(kind):
    seen = []

    def look(a):
        seen.append((a.dtype, a.weak_type))
        return a

    for run in RUNS.values():
        run(lambda x: KINDS[kind](look, fc.ShapeDtypeStruct((), F32), x))(2.0)
    assert seen == [(F32, False)] * len(RUNS)


@pytest.mark.skipif(not hasattr(BaseException, "add_note"), reason="exceptions have no notes")
def test_an_exception_that_is_raised_again_has_its_note_once():
    error = ValueError("the same each time")

    def fail(a):
        raise error

    f = fc.jit(lambda x: fc.pure_callback(fail, fc.ShapeDtypeStruct((), F32), x))
    for _ in range(2):
        with pytest.raises(ValueError, match="the same each time") as caught:
            f(F32(1))
    assert len(caught.value.__notes__) == 1
