"""Errors name the user's line, the function that is traced and the argument behind a value."""

from __future__ import annotations

import inspect

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi, lax

pytestmark = pytest.mark.usefixtures("handlers")
V = fc.ShapeDtypeStruct((3,), "float32")
X = fnp.array([1.0, 2.0, 3.0])


def here(offset: int = 0) -> str:
    """The line that calls this, as errors name it."""
    frame = inspect.currentframe().f_back
    return f"{__file__}:{frame.f_lineno + offset} ({frame.f_code.co_name})"


def failing(x):
    failing.line = here(1)
    return ffi.ffi_call("fail", V, vmap_method="sequential")(x, code=3, text="told to")


def scanned(x):
    return lax.scan(lambda c, _: (failing(c), None), x, length=4)[0]


def looped(x):
    return lax.while_loop(lambda c: c[0] < 5, failing, x)


def chosen(x):
    return lax.cond(x[0] > 0, failing, lambda a: a, x)


inner = fc.jit(failing)

PROGRAMS = {
    "jit": failing,
    "nested jit": lambda x: fc.jit(inner)(x * 2) + 1,
    "scan": scanned,
    "while_loop": looped,
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: failing(c), x),
    "cond": chosen,
    "scan in scan": lambda x: lax.scan(lambda c, _: (scanned(c), None), x, length=2)[0],
    "vmap": lambda x: fc.vmap(failing)(fnp.stack([x, x])),
    "checkpoint": lambda x: fc.checkpoint(failing)(x),
    "map": lambda x: lax.map(failing, fnp.stack([x, x])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_failing_handler_names_the_line_of_its_call_on_every_run(name):
    jitted = fc.jit(PROGRAMS[name])
    for _ in range(3):
        with pytest.raises(fc.FfiError) as raised:
            jitted(X)
        error = raised.value
        assert str(error) == (f'INVALID_ARGUMENT: told to (ffi target "fail")\n  at {failing.line}')
        assert (error.message, error.code) == ("told to", "INVALID_ARGUMENT")


def test_an_eager_call_has_its_line_in_the_traceback_alone():
    for _ in range(2):
        with pytest.raises(fc.FfiError) as raised:
            failing(X)
        assert "\n  at" not in str(raised.value)


def test_equal_programs_of_different_lines_keep_their_lines():
    def first(c, _):
        first.line = here(1)
        return ffi.ffi_call("fail", V)(c, code=3, text="told to"), None

    def second(c, _):
        second.line = here(1)
        return ffi.ffi_call("fail", V)(c, code=3, text="told to"), None

    for step in (first, second, first):
        with pytest.raises(fc.FfiError) as raised:
            lax.scan(step, X, length=2)
        assert str(raised.value).endswith(f"\n  at {step.line}")


def places_of(function):
    """The places of the failing calls of the functions that this one returns, in one trace each."""
    places = []
    for call in function():
        with pytest.raises(fc.FfiError) as raised:
            fc.jit(call)(X)
        places.append(str(raised.value).split("\n  at ")[1])
    return places


def test_code_that_replaces_freed_code_has_its_own_lines():
    source = """
def function():
    call = ffi.ffi_call("fail", V)
    return [lambda x: call(x, code=3, text="told to")]
"""
    for number in range(20):  # later code objects often have the addresses of earlier ones
        scope = {"ffi": ffi, "V": V}
        exec(compile("\n" * number + source, f"made_{number}", "exec"), scope)
        assert places_of(scope["function"]) == [f"made_{number}:{number + 4} (<lambda>)"]


def test_one_code_object_has_a_place_for_each_of_its_lines_and_scopes():
    def call(x, is_first):
        if is_first:
            return ffi.ffi_call("fail", V)(x, code=3, text="told to")
        with fc.named_scope("scope"):
            return ffi.ffi_call("fail", V)(x, code=3, text="told to")

    line = call.__code__.co_firstlineno
    first, second = f"{__file__}:{line + 2} (call)", f"{__file__}:{line + 4} (scope/call)"
    for _ in range(2):
        assert places_of(lambda: [lambda x: call(x, True), lambda x: call(x, False)]) == [
            first,
            second,
        ]
    with fc.named_scope("outer"):
        assert places_of(lambda: [lambda x: call(x, True)]) == [
            first.replace("(call", "(outer/call")
        ]
    assert places_of(lambda: [lambda x: call(x, True)]) == [first]


def test_a_handler_that_throws_and_one_that_fails_in_its_first_stage_name_the_line():
    def throws(x):
        throws.line = here(1)
        return ffi.ffi_call("throws", V)(x)

    def counts():
        counts.line = here(1)
        return ffi.ffi_call("counter", fc.ShapeDtypeStruct((), "int64"))(start=-1)

    for function, args in ((throws, (X,)), (counts, ())):
        with pytest.raises(fc.FfiError) as raised:
            fc.jit(function)(*args)
        assert str(raised.value).count("\n  at ") == 1
        assert str(raised.value).endswith(f"\n  at {function.line}")


# ---- traced values ----


def compare(weights, scale=1.0):
    compare.line = here(1)
    positive = weights["w"] * scale > 0
    return 1 if positive else 2


def test_a_traced_condition_names_function_argument_and_line():
    with pytest.raises(fc.errors.TracerBoolConversionError) as raised:
        fc.jit(compare)({"w": 1.0, "b": 2.0})
    text = str(raised.value)
    assert "not known while jit(compare) is traced" in text
    assert f"made by gt at {compare.line}, from argument weights['w']" in text
    assert "make argument weights['w'] static (static_argnums)" in text
    assert "argument weights['b']" not in text


def test_several_arguments_and_keywords_are_named():
    with pytest.raises(fc.ConcretizationTypeError, match=r"argument a and argument b") as raised:
        fc.jit(lambda a, b, c: int(a + b))(1, 2, 3)
    assert "argument c" not in str(raised.value)
    with pytest.raises(fc.ConcretizationTypeError, match=r"keyword argument \['scale'\]"):
        fc.jit(lambda *, scale: float(scale))(scale=1.0)
    with pytest.raises(fc.ConcretizationTypeError, match=r"it is argument rest\[1\]"):
        fc.jit(lambda first, *rest: float(rest[1]))(1.0, 2.0, 3.0)


def test_static_arguments_do_not_shift_names():
    with pytest.raises(fc.ConcretizationTypeError, match="it is argument y"):
        fc.jit(lambda n, y: float(y), static_argnums=0)(3, 1.0)


def test_vectors_are_not_to_be_made_static():
    with pytest.raises(fc.ConcretizationTypeError) as raised:
        fc.jit(lambda x: bool((x > 0).any()))(X)
    assert "argument x" in str(raised.value)
    assert "static_argnums" not in str(raised.value)


NESTED = {
    "vmap": (lambda f: fc.vmap(f), "vmap(branches)", X),
    "scan": (
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2),
        "scan(<lambda>)",
        1.0,
    ),
    "while_loop": (lambda f: lambda x: lax.while_loop(f, f, x), "while_loop(branches)", 1.0),
    "cond": (lambda f: fc.jit(lambda x: lax.cond(True, f, f, x)), "cond(branches)", 1.0),
    "checkpoint": (lambda f: fc.jit(fc.checkpoint(f)), "checkpoint(branches)", 1.0),
    "jit of grad": (lambda f: fc.jit(fc.grad(f)), "jit(branches)", 1.0),
    "make_jaxpr": (lambda f: fc.make_jaxpr(f), "make_jaxpr(branches)", 1.0),
}


@pytest.mark.parametrize("name", NESTED)
def test_each_transformation_names_itself(name):
    def branches(value):
        return value if value else -value

    transform, where, argument = NESTED[name]
    with pytest.raises(fc.errors.TracerBoolConversionError) as raised:
        transform(branches)(argument)
    assert f"while {where} is traced" in str(raised.value)
    assert "static_argnums" not in str(raised.value) or where[:4] in ("jit(", "chec", "make")


def test_a_value_of_the_function_around_names_that_ones_argument():
    def outer(n):
        return fc.jit(lambda x: x if n > 0 else -x)(1.0)

    with pytest.raises(fc.errors.TracerBoolConversionError, match="from argument n"):
        fc.jit(outer)(3)


# ---- leaks ----


def test_a_leaked_value_names_the_line_that_made_it():
    kept = []

    def leaks(x):
        leaks.line = here(1)
        kept.append(fnp.sin(x) * 1)
        return x

    fc.jit(leaks)(X)
    uses = [
        lambda: kept[0] + 1,
        lambda: fc.jit(lambda y: y + kept[0])(X),
        lambda: fc.jit(lambda y: y)(kept[0]),
        lambda: np.asarray(kept[0]),
    ]
    for use in uses[:3]:
        with pytest.raises(fc.UnexpectedTracerError) as raised:
            use()
        assert f"made at {leaks.line}, while jit(leaks) was traced" in str(raised.value)


def test_a_leaked_argument_names_its_function_and_where_it_was_called():
    kept = []
    fc.jit(lambda x: kept.append(x) or x)(X)
    line = here(-1)
    with pytest.raises(fc.UnexpectedTracerError) as raised:
        kept[0] + 1
    assert f"it is of jit(<lambda>), called at {line}" in str(raised.value)
    fc.vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(fc.UnexpectedTracerError, match=r"it is of vmap\(<lambda>\)"):
        kept[1] + 1


# ---- sizes ----

SIZES = {
    "zeros": (lambda n: fnp.zeros(n), ["shape", "static_argnums"]),
    "zeros tuple": (lambda n: fnp.zeros((2, n)), ["shape", "static_argnums"]),
    "ones": (lambda n: fnp.ones(n), ["static_argnums"]),
    "full": (lambda n: fnp.full(n, 1.0), ["static_argnums"]),
    "arange": (lambda n: fnp.arange(n), ["arange: argument stop", "static_argnums"]),
    "arange step": (lambda n: fnp.arange(0, 9, n), ["arange: argument step", "static_argnums"]),
    "linspace": (lambda n: fnp.linspace(0, 1, n), ["linspace: argument num", "static_argnums"]),
    "eye": (lambda n: fnp.eye(n), ["eye: argument N", "static_argnums"]),
    "one_hot": (lambda n: fc.nn.one_hot(0, n), ["one_hot: argument num_classes", "static_argnums"]),
    "top_k": (lambda n: lax.top_k(fnp.ones(3), n), ["top_k: argument k", "static_argnums"]),
    "reshape": (lambda n: fnp.ones(6).reshape(n, -1), ["reshape", "static_argnums"]),
    "broadcast_to": (lambda n: fnp.broadcast_to(1.0, (n,)), ["static_argnums"]),
    "repeat": (lambda n: fnp.repeat(fnp.ones(3), n), ["total_repeat_length"]),
    "tile": (lambda n: fnp.tile(fnp.ones(3), n), ["static_argnums"]),
    "range": (lambda n: list(range(n)), ["static_argnums", "fori_loop"]),
    "iota": (lambda n: lax.iota("int32", n), ["static_argnums"]),
    "scan": (lambda n: lax.scan(lambda c, _: (c, None), 0, length=n), ["static_argnums"]),
}
OF_VALUES = {
    "unique": (lambda x: fnp.unique(x), ["size="]),
    "unique of axis": (lambda x: fnp.unique(x, axis=0), ["size="]),
    "nonzero": (lambda x: fnp.nonzero(x), ["size="]),
    "where": (lambda x: fnp.where(x > 1), ["size="]),
    "flatnonzero": (lambda x: fnp.flatnonzero(x), ["size="]),
    "argwhere": (lambda x: fnp.argwhere(x), ["size="]),
    "mask": (lambda x: x[x > 1], ["size=", "where(mask"]),
    "bincount": (lambda x: fnp.bincount(x.astype(int)), ["bincount", "length="]),
    "intersect1d": (lambda x: fnp.intersect1d(x, x), ["intersect1d", "argument x"]),
    "if": (lambda x: 1 if x[0] > 0 else 2, ["cond", "where"]),
}


@pytest.mark.parametrize("name", [*SIZES, *OF_VALUES])
def test_a_size_that_is_not_known_names_the_argument_and_what_helps(name):
    function, words = {**SIZES, **OF_VALUES}[name]
    kinds = (fc.ConcretizationTypeError, fc.errors.NonConcreteBooleanIndexError)
    with pytest.raises(kinds) as raised:
        fc.jit(function)(3 if name in SIZES else X)
    text = str(raised.value)
    for word in [*words, f"argument {'n' if name in SIZES else 'x'}"]:
        assert word in text


@pytest.mark.parametrize("values", [[3, 1, 3, 2, 1], [1.5], [np.nan, 1, np.nan, 2], []])
@pytest.mark.parametrize("size", [0, 2, 3, 6])
@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique_with_a_size_works_on_traced_arrays_as_on_known_ones(values, size, equal_nan):
    x = np.array(values, np.float32)
    options = {"size": size, "equal_nan": equal_nan}
    every = {"return_index": True, "return_inverse": True, "return_counts": True}

    def unique(a):
        return fnp.unique(a, **every, **options)

    for got, expected in zip(fc.jit(unique)(x), unique(x), strict=True):
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(got, expected)


def test_union1d_with_a_size_works_on_traced_arrays():
    a, b = np.array([3, 1, 2], np.int32), np.array([2, 5], np.int32)
    for size in (2, 4, 6):
        np.testing.assert_array_equal(
            fc.jit(lambda x, y, size=size: fnp.union1d(x, y, size=size))(a, b),
            fnp.union1d(a, b, size=size),
        )
