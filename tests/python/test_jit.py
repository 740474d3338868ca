"""jit: what it caches by, what it takes and returns, and that errors leave everything usable."""

from __future__ import annotations

import copy
import functools
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import farcall as fc
import farcall.numpy as fnp
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture
def x() -> fc.Array:
    return fnp.array([1.0, 2.0, 3.0])


def counted(function):
    """The function, counting how often Python runs it."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.runs += 1
        return function(*args, **kwargs)

    wrapper.runs = 0
    return wrapper


# ---- the cache ----


def test_a_signature_is_recorded_once(x):
    function = counted(lambda a, b: a + b)
    jitted = fc.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(x, x), x + x)
    assert (function.runs, jitted._cache_size()) == (1, 1)
    jitted(x, x[:1])
    jitted(x, fnp.ones(3, "float64"))
    jitted(x, 1.0)
    jitted(x, 2.0)  # another number of the same kind
    jitted(x, np.float32(2))  # not weakly typed
    jitted(x, 1)
    jitted(x, True)
    assert (function.runs, jitted._cache_size()) == (7, 7)
    jitted.clear_cache()
    assert jitted._cache_size() == 0
    jitted(x, x)
    assert function.runs == 8


def test_equal_numpy_and_farcall_arguments_share_a_program(x):
    function = counted(lambda a: a * 2)
    jitted = fc.jit(function)
    for argument in (x, np.asarray(x), jnp.asarray(np.asarray(x))):
        np.testing.assert_array_equal(jitted(argument), [2, 4, 6])
    assert function.runs == 1


def test_structures_have_programs_of_their_own(x):
    function = counted(lambda t: t)
    jitted = fc.jit(function)
    for argument in ((x,), [x], {"a": x}, {"b": x}, ((x,),), (x, None)):
        jitted(argument)
        jitted(argument)
    assert function.runs == 6


def test_many_signatures_stay_fast_paths_of_their_own():
    function = counted(lambda a: a + 1)
    jitted = fc.jit(function)
    for _ in range(2):
        for size in range(40):
            np.testing.assert_array_equal(jitted(fnp.zeros(size)), np.ones(size))
    assert function.runs == 40


# ---- arguments and results ----


def test_keyword_arguments(x):
    jitted = fc.jit(lambda a, *, scale, offset=0.0: a * scale + offset)
    np.testing.assert_array_equal(jitted(x, scale=2), [2, 4, 6])
    np.testing.assert_array_equal(jitted(x, offset=1.0, scale=2), [3, 5, 7])
    np.testing.assert_array_equal(jitted(a=x, scale=x), [1, 4, 9])
    with pytest.raises(TypeError, match="unexpected keyword argument 'scael'"):
        jitted(x, scael=1)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument"):
        jitted(x)


def test_pytrees_in_and_out(x):
    @fc.jit
    def function(t, *rest):
        return {"sum": t["a"] + t["b"][0], "rest": rest, "none": None, "number": 2.0, "empty": ()}

    result = function({"a": x, "b": [1.0, None]}, x, (x,))
    np.testing.assert_array_equal(result["sum"], [2, 3, 4])
    np.testing.assert_array_equal(result["rest"][1][0], x)
    assert (result["none"], float(result["number"]), result["empty"]) == (None, 2.0, ())


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 40])
@pytest.mark.parametrize("form", [tuple, list])
def test_any_number_of_arguments_and_results(count, form):
    arrays = [fnp.full((2,), float(i)) for i in range(count)]
    jitted = fc.jit(lambda *args: form(a + 1 for a in args))
    for _ in range(3):
        results = jitted(*arrays)
        assert type(results) is form
        assert [float(r[0]) for r in results] == [i + 1.0 for i in range(count)]


def test_an_argument_that_is_returned_is_the_same_memory_or_a_copy(x):
    a, b = fc.jit(lambda v: (v, v))(x)
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, x)


@pytest.mark.parametrize(
    ("argument", "dtype", "weak"),
    [
        (True, "bool", False),
        (2, "int32", True),
        (2.0, "float32", True),
        (2j, "complex64", True),
        (2**40, "int64", True),
        (np.float64(2), "float32", False),
        (np.int8(2), "int8", False),
        (np.bool_(True), "bool", False),
    ],
)
def test_numbers_are_arguments(argument, dtype, weak):
    result = fc.jit(lambda v: v)(argument)
    assert (result.dtype, result.weak_type, result.item()) == (np.dtype(dtype), weak, argument)


def test_closures_over_arrays_and_numbers(x):
    offset = np.arange(3)
    factor = 2
    jitted = fc.jit(lambda a: a * factor + offset + x)
    np.testing.assert_array_equal(jitted(x), np.asarray(x) * 3 + offset)


def test_methods(x):
    class Model:
        def __init__(self, factor):
            self.factor = factor
            self.runs = 0

        @functools.partial(fc.jit, static_argnums=0)
        def scale(self, a):
            self.runs += 1
            return a * self.factor

        @staticmethod
        @fc.jit
        def double(a):
            return a * 2

    two, three = Model(2), Model(3)
    for _ in range(2):
        np.testing.assert_array_equal(two.scale(x), x * 2)
        np.testing.assert_array_equal(three.scale(x), x * 3)
        np.testing.assert_array_equal(Model.double(x), x * 2)
    assert (two.runs, three.runs) == (1, 1)
    assert "scale" in repr(Model.scale)


def test_jit_keeps_the_functions_name_and_text():
    def function(a):
        """What it does."""
        return a

    jitted = fc.jit(function)
    assert (jitted.__name__, jitted.__doc__, jitted.__wrapped__) == (
        "function",
        function.__doc__,
        function,
    )
    assert repr(jitted) == "<jitted function>"
    assert fc.jit(functools.partial(function))(1) == 1


def test_a_jitted_function_may_call_itself(x):
    @functools.partial(fc.jit, static_argnums=1)
    def power(a, n):
        return a if n == 1 else a * power(a, n - 1)

    np.testing.assert_array_equal(power(x, 5), x**5)


# ---- static arguments ----


def test_static_arguments_are_constants_by_value_and_type(x):
    function = counted(lambda a, n: a * n)
    jitted = fc.jit(function, static_argnums=1)
    for n in (2, 2.0, True, 2, (2, 1), (2.0, 1), 0.0, -0.0):
        if isinstance(n, tuple):
            fc.jit(lambda a, t: a * t[0], static_argnums=1)(x, n)
        else:
            assert jitted(x, n).dtype == np.float32
    assert function.runs == 5
    assert (
        fc.jit(lambda a, t: t[0] + 0 * fnp.array([1], "int32"), static_argnums=1)(x, (2,)).dtype
        == np.int32
    )


def test_static_tuples_are_told_apart_by_the_types_inside():
    jitted = fc.jit(lambda t: fnp.ones(1, "int32") * t[0], static_argnums=0)
    assert jitted((2,)).dtype == np.int32
    assert jitted((2.0,)).dtype == np.float32
    assert jitted((True,)).dtype == np.int32
    assert jitted._cache_size() == 3


def test_static_arguments_by_name_and_position_are_the_same(x):
    function = counted(lambda a, mode: a * 2 if mode == "double" else a)
    for options in ({"static_argnames": "mode"}, {"static_argnums": 1}, {"static_argnums": (-1,)}):
        jitted = fc.jit(function, **options)
        np.testing.assert_array_equal(jitted(x, mode="double"), x * 2)
        np.testing.assert_array_equal(jitted(x, "double"), x * 2)
        np.testing.assert_array_equal(jitted(x, mode="none"), x)


def test_static_arguments_that_do_not_exist_are_refused():
    def function(a, b):
        return a

    with pytest.raises(
        ValueError,
        match=r"jit\(function\): static_argnums has 3, but the function takes 2 positional "
        "arguments: a, b",
    ):
        fc.jit(function, static_argnums=3)
    with pytest.raises(ValueError, match=r"jit\(function\): static_argnames has 'c'"):
        fc.jit(function, static_argnames="c")


def test_static_arguments_must_be_hashable(x):
    jitted = fc.jit(lambda a, n: a, static_argnums=1)
    with pytest.raises(
        ValueError, match=r"static argument 1 must be hashable.* got \[3\] of type list"
    ):
        jitted(x, [3])
    np.testing.assert_array_equal(jitted(x, (3,)), x)


def test_errors_while_comparing_static_arguments_come_through(x):
    class Odd:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise KeyError("no comparison")

    jitted = fc.jit(lambda a, n: a, static_argnums=1)
    jitted(x, Odd())
    with pytest.raises(KeyError, match="no comparison"):
        jitted(x, Odd())
    np.testing.assert_array_equal(jitted(x, 1), x)


# ---- errors ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("a",),
            r"jit\(function\): argument 0 is 'a' of type str, which is not an array. Name it",
        ),
        (({"k": [1, object()]},), r"jit\(function\): argument 0\['k'\]\[1\] is <object object"),
        ((1, {"b": "x"}), r"jit\(function\): argument 1\['b'\] is 'x'"),
        ((np.array([None]),), "dtype object has no counterpart"),
    ],
)
def test_arguments_that_are_no_arrays_are_named(arguments, message):
    def function(*args, **kwargs):
        return args

    with pytest.raises(TypeError, match=message):
        fc.jit(function)(*arguments)
    with pytest.raises(TypeError, match=r"keyword argument \['key'\] is 'v'"):
        fc.jit(function)(key="v")


def test_results_that_are_no_arrays_are_named(x):
    def function(a):
        return {"ok": a, "bad": ["text"]}

    with pytest.raises(
        TypeError,
        match=r"jit\(function\): the function returned 'text' of type str at result\['bad'\]\[0\]",
    ):
        fc.jit(function)(x)


def test_exceptions_inside_come_through_and_leave_everything_usable(x):
    class MineError(Exception):
        pass

    def inner(a):
        raise MineError("boom")

    jitted = fc.jit(lambda a, fail: fc.jit(inner)(a) if fail else a + 1, static_argnums=1)
    for _ in range(2):
        with pytest.raises(MineError, match="boom") as raised:
            jitted(x, True)
        assert raised.traceback[-1].name == "inner"
        np.testing.assert_array_equal(x + 1, [2, 3, 4])  # operations are eager again
        np.testing.assert_array_equal(jitted(x, False), [2, 3, 4])


def test_values_are_not_known_while_recording(x):
    uses = {
        "if": lambda a: 1 if a.sum() > 0 else 2,
        "float": lambda a: float(a[0]),
        "int": lambda a: int(a[0]),
        "item": lambda a: a[0].item(),
        "numpy": lambda a: np.asarray(a),
        "tolist": lambda a: a.tolist(),
        "index": lambda a: [1, 2][a[0].astype("int32")],
        "range": lambda a: list(range(a[0].astype("int32"))),
    }
    for name, use in uses.items():
        with pytest.raises(fc.ConcretizationTypeError, match="not known while jit"):
            fc.jit(use)(x)
        assert issubclass(fc.ConcretizationTypeError, TypeError), name
    with pytest.raises(BufferError):
        fc.jit(memoryview)(x)


def test_traced_arrays_print_their_types(x):
    seen = []
    fc.jit(lambda a: seen.append((repr(a), str(a), a.is_traced, a.shape, len(a))))(x)
    assert seen == [("Traced<f32[3]>", "Traced<f32[3]>", True, (3,), 3)]


def test_leaked_tracers_are_refused_everywhere(x):
    leaked = []
    fc.jit(leaked.append)(x)
    tracer = leaked[0]
    for use in (
        lambda: tracer + 1,
        lambda: fc.jit(lambda a: a)(tracer),
        lambda: fc.jit(lambda a: a + tracer)(x),
        lambda: fc.jit(lambda a: tracer)(x),
    ):
        with pytest.raises(fc.UnexpectedTracerError, match="leaked traced array"):
            use()
    assert repr(tracer) == "Traced<f32[3]>"
    np.testing.assert_array_equal(fc.jit(lambda a: a + 1)(x), [2, 3, 4])


def test_an_outer_functions_tracer_is_an_input_of_a_program_made_inside(x):
    def outer(a):
        first = a[:1]
        program, shape = fc.make_jaxpr(lambda b: first + b, return_shape=True)(x)
        assert program.in_avals == [fc.ShapeDtypeStruct((1,), "float32"), x.aval]
        assert shape == fc.eval_shape(lambda b: a + b, x) == x.aval
        return program(first, x)[0]

    np.testing.assert_array_equal(fc.jit(outer)(x), x[:1] + x)


def test_an_outer_functions_tracer_is_refused_by_a_lowered_function(x):
    def outer(a):
        return fc.jit(lambda b: a + b).lower(x)

    with pytest.raises(fc.UnexpectedTracerError, match="it belongs to another function"):
        fc.jit(outer)(x)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="jit: expected a function, got 3 of type int"):
        fc.jit(3)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        fc.jit(lambda a: a)(1, 2)


# ---- lifetimes ----


def test_a_jitted_function_and_what_it_holds_die(x):
    class Held:
        pass

    def make():
        held = Held()

        def function(a):
            held.touched = True
            return a

        jitted = fc.jit(function)
        jitted(x)
        jitted.myself = jitted  # a cycle
        return weakref.ref(held), weakref.ref(jitted)

    dies, function_dies = make()
    gc.collect()
    assert function_dies() is None
    assert dies() is None


def test_arguments_and_results_are_not_kept():
    jitted = fc.jit(lambda a: a + 1)
    argument = fnp.ones(1000)
    result = jitted(argument)
    refs = [weakref.ref(argument), weakref.ref(result)]
    del argument, result
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


# ---- threads ----


def test_eight_threads_share_one_function():
    jitted = fc.jit(lambda a, b: (a * b).sum())
    barrier = threading.Barrier(8)

    def work(seed):
        barrier.wait()
        for i in range(200):
            size = (seed + i) % 20 + 1
            a = fnp.full((size,), float(seed))
            assert float(jitted(a, 2.0)) == 2.0 * seed * size
            assert float(fnp.sum(a + 1)) == (seed + 1.0) * size

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, seed) for seed in range(8)]:
            done.result()
    assert jitted._cache_size() == 20


def test_clearing_the_cache_while_others_call_is_safe(handlers):
    from farcall import ffi

    call = ffi.ffi_call("sleep_for", fc.ShapeDtypeStruct((2,), "float32"))
    jitted = fc.jit(lambda a: call(a, milliseconds=2) + 1)
    stop = threading.Event()

    def clear():
        while not stop.is_set():
            jitted.clear_cache()

    def work():
        for _ in range(15):
            np.testing.assert_array_equal(jitted(fnp.zeros(2)), [1, 1])

    clearing = threading.Thread(target=clear)
    clearing.start()
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(work) for _ in range(4)]
        try:
            for done in results:
                done.result()
        finally:
            stop.set()
    clearing.join()


def test_threads_record_functions_of_their_own(x):
    """Recording on one thread does not make operations of another one symbolic."""
    inside, leave = threading.Event(), threading.Event()

    def slow(a):
        inside.set()
        assert leave.wait(10)
        return a + 1

    with ThreadPoolExecutor(1) as pool:
        recording = pool.submit(fc.jit(slow), x)
        assert inside.wait(10)
        here = x + 1
        assert not here.is_traced
        leave.set()
        np.testing.assert_array_equal(recording.result(), here)


def test_a_static_value_by_position_is_not_the_name_of_another():
    f = fc.jit(lambda x, a="z", b=1: x * {"z": 10, "b": 100}[a] + b, static_argnames=("a", "b"))
    x = np.float32(1)
    assert [float(y) for y in (f(x, "b", 3), f(x, b=3), f(x, "b", 3))] == [103, 13, 103]


def test_an_error_counts_static_arguments_too():
    one = np.float32(1)
    with pytest.raises(TypeError, match="argument 2 is 'text'"):
        fc.jit(lambda a, b, c: c, static_argnums=0)(1, one, "text")
    with pytest.raises(TypeError, match=r"argument 2\['k'\] is 'text'"):
        fc.jit(lambda a, b, c: c, static_argnums=(0, 1))(1, 2, {"k": "text"})


def test_an_argument_is_static_or_donated():
    with pytest.raises(ValueError, match=r"\['a'\] are static and donated"):
        fc.jit(lambda a, b: b, static_argnums=0, donate_argnames="a")


def test_eval_shape_of_a_jitted_function_runs_nothing(x):
    jitted = fc.jit(lambda d, n: {"y": d["x"].astype("bfloat16")[:n]}, static_argnums=1)
    shape = jitted.eval_shape({"x": x}, 2)["y"]
    assert (shape.shape, shape.dtype) == ((2,), fnp.bfloat16)


def test_copies_of_objects_that_keep_programs_keep_the_same_ones():
    class Model:
        def __init__(self):
            self.step = fc.jit(lambda x: x + 1)
            self.compiled = self.step.lower(1.0).compile()
            self.call = fc.buffer_callback(lambda ctx, out, x: None, fc.ShapeDtypeStruct((), "f4"))
            self.state = [fnp.ones(2)]

    model = Model()
    for copied in (copy.copy(model), copy.deepcopy(model)):
        for name in ("step", "compiled", "call"):
            assert getattr(copied, name) is getattr(model, name)
        assert copied.step(1.0) == 2
    assert copied.state is not model.state
