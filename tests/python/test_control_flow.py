"""Loops and branches, against JAX: values, batches, derivatives, and how they nest."""

from __future__ import annotations

import collections
import functools
import gc
import weakref

import farcall as fc
import numpy as np
import pytest

jax = pytest.importorskip("jax")

F32 = np.float32


def leaves_of(value):
    return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(value)]


def agree(got, expected, tolerance=2e-5):
    got, expected = leaves_of(got), leaves_of(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def both(make, *args):
    """The same function on farcall and on JAX."""
    agree(make(fc)(*args), make(jax)(*args))


def vector(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.4, 1.4, shape).astype(F32)


# ---- programs: functions of a module that return a function of (x: f32[3], s: f32[]) ----


def rnn(m):
    def f(x, s):
        return m.lax.scan(lambda c, a: (m.numpy.sin(c * a) + s, c * s), s, x)

    return f


def reversed_scan(m):
    def f(x, s):
        return m.lax.scan(lambda c, a: (c * a + s, (c, a * a)), s * 2, x, reverse=True)

    return f


def counting_scan(m):
    def f(x, s):
        def step(carry, a):
            i, c = carry
            return (i + 1, c * a + i), {"c": c, "i": i}

        return m.lax.scan(step, (0, s), x)

    return f


def constant_carry(m):
    """A carry that never varies, one that begins to vary, and a result that is known."""

    def f(x, s):
        def step(carry, a):
            k, c, d = carry
            return (k * 2.0, d, a * s), (k, c)

        return m.lax.scan(step, (np.float32(1), np.float32(0), np.float32(0)), x)

    return f


def hoisted(m):
    def f(x, s):
        w = m.numpy.exp(s)
        return m.lax.scan(lambda c, _: (c * m.numpy.cos(w), m.numpy.sum(c * w)), x, None, length=3)

    return f


def scan_in_scan(m):
    def f(x, s):
        def outer(c, a):
            d, ys = m.lax.scan(lambda e, b: (e * b + a, e), c, x)
            return d * s, ys

        return m.lax.scan(outer, s, x)

    return f


def cond_in_scan(m):
    def f(x, s):
        def step(c, a):
            n = m.lax.cond(a > 0.8, lambda u: m.numpy.sin(u) * a, lambda u: u * u * s, c)
            return n, n * a

        return m.lax.scan(step, s, x)

    return f


def fori(m):
    def f(x, s):
        return m.lax.fori_loop(0, 4, lambda i, c: c * s + i * x, x)

    return f


def switched(m):
    def f(x, s):
        branches = [lambda u: u * s, lambda u: m.numpy.sin(u), lambda u: u * 0.0 + 1.0]
        return [m.lax.switch(i, branches, x) for i in (-1, 0, 1, 2, 5)]

    return f


def checked_cond(m):
    def f(x, s):
        return m.lax.cond(
            s > 0.9, lambda u, v: (u * v, v), lambda u, v: (u + 1.0, m.numpy.sin(v)), x, s
        )

    return f


def mapped(m):
    def f(x, s):
        return m.lax.map(lambda a: {"y": a * s, "z": m.numpy.exp(a)}, x)

    return f


def mapped_in_batches(m):
    def f(x, s):
        return m.lax.map(lambda a: m.numpy.exp(a) * s, x, batch_size=2)

    return f


def associative(m):
    def f(x, s):
        def compose(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        return m.lax.associative_scan(compose, (x * s, x), reverse=True)

    return f


DIFFERENTIABLE = [
    rnn,
    reversed_scan,
    counting_scan,
    constant_carry,
    hoisted,
    scan_in_scan,
    cond_in_scan,
    fori,
    switched,
    checked_cond,
    mapped,
    mapped_in_batches,
    associative,
]


def doubling(m):
    """Each element ends after another number of steps."""

    def f(x, s):
        return m.lax.while_loop(
            lambda c: m.numpy.sum(c[0]) < 20.0, lambda c: (c[0] * 2.0 + s, c[1] + 1), (x, 0)
        )

    return f


def while_with_own_constants(m):
    def f(x, s):
        limit = m.numpy.exp(s) * 5
        return m.lax.while_loop(lambda c: c < limit, lambda c: c * (1.5 + s), m.numpy.sum(x))

    return f


def while_in_cond(m):
    def f(x, s):
        def loop(u):
            return m.lax.while_loop(lambda c: m.numpy.sum(c) < 9.0, lambda c: c * 2.0, u)

        return m.lax.cond(s > 0.9, loop, lambda u: u * s, x)

    return f


def dynamic_fori(m):
    def f(x, s):
        n = m.numpy.where(s > 0.9, 3, 2)
        return m.lax.fori_loop(0, n, lambda i, c: c * 1.5 + i, x)

    return f


FORWARD = [doubling, while_with_own_constants, while_in_cond, dynamic_fori]
ALL = DIFFERENTIABLE + FORWARD


def scalar_of(m, f):
    """The sum of the results that have a derivative."""

    def g(*args):
        total = 0.0
        for leaf in (fc.tree if m is fc else jax.tree).leaves(f(*args)):
            if np.dtype(leaf.dtype).kind == "f":
                total = total + m.numpy.sum(leaf * leaf)
        return total

    return g


X, S = vector(3), F32(0.7)


@pytest.mark.parametrize("program", ALL)
class TestPrograms:
    def test_values(self, program):
        both(program, X, S)

    def test_jit(self, program):
        both(lambda m: m.jit(program(m)), X, S)

    @pytest.mark.parametrize(
        "in_axes", [(0, 0), (None, 0), (1, None), (1, 0)], ids=lambda axes: str(axes)
    )
    def test_vmap(self, program, in_axes):
        x = {0: vector(4, 3), 1: vector(3, 4), None: X}[in_axes[0]]
        s = vector(4, seed=1) if in_axes[1] == 0 else S
        both(lambda m: m.vmap(program(m), in_axes=in_axes), x, s)
        both(lambda m: m.jit(m.vmap(program(m), in_axes=in_axes)), x, s)

    def test_nested_vmap(self, program):
        x, s = vector(2, 4, 3), vector(4, seed=1)
        both(lambda m: m.vmap(m.vmap(program(m)), in_axes=(0, None)), x, s)

    def test_jvp(self, program):
        def make(m):
            f = program(m)

            def g(x, s, dx, ds):
                primals, tangents = m.jvp(f, (x, s), (dx, ds))
                return primals, [t for t in leaves_of(tangents) if t.dtype.kind == "f"]

            return g

        both(make, X, S, vector(3, seed=2), F32(0.3))

    def test_jvp_of_vmap(self, program):
        def make(m):
            f = m.vmap(scalar_of(m, program(m)))
            return lambda x, s: m.jvp(f, (x, s), (x * 0.5, s))

        both(make, vector(4, 3), vector(4, seed=1))


@pytest.mark.parametrize("program", DIFFERENTIABLE)
class TestReverseMode:
    def test_grad(self, program):
        both(lambda m: m.grad(scalar_of(m, program(m)), argnums=(0, 1)), X, S)

    def test_grad_of_one_argument(self, program):
        both(lambda m: m.grad(scalar_of(m, program(m))), X, S)
        both(lambda m: m.grad(scalar_of(m, program(m)), argnums=1), X, S)

    def test_jit_of_grad(self, program):
        both(lambda m: m.jit(m.grad(scalar_of(m, program(m)), argnums=(0, 1))), X, S)

    def test_grad_of_jit(self, program):
        both(lambda m: m.grad(m.jit(scalar_of(m, program(m))), argnums=(0, 1)), X, S)

    def test_grad_of_vmap(self, program):
        def make(m):
            f = m.vmap(scalar_of(m, program(m)), in_axes=(0, None))
            return m.grad(lambda x, s: m.numpy.sum(f(x, s)), argnums=(0, 1))

        both(make, vector(4, 3), S)

    def test_vmap_of_grad(self, program):
        both(
            lambda m: m.vmap(m.grad(scalar_of(m, program(m)), argnums=(0, 1)), in_axes=(0, 0)),
            vector(4, 3),
            vector(4, seed=1),
        )

    def test_grad_of_grad(self, program):
        def make(m):
            first = m.grad(scalar_of(m, program(m)), argnums=1)
            return m.grad(lambda x, s: first(x, s) ** 2, argnums=(0, 1))

        agree(make(fc)(X, S), make(jax)(X, S), 3e-4)


# ---- lengths, options, containers ----


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 7, True, False])
def test_scan_lengths(length, reverse, unroll):
    x = vector(length, 2)

    def make(m):
        def f(x):
            step = lambda c, a: (c * a, c + a)  # noqa: E731
            return m.lax.scan(step, m.numpy.ones(2, "float32"), x, reverse=reverse, unroll=unroll)

        return f

    both(make, x)
    both(lambda m: m.grad(scalar_of(m, make(m))), x)


def test_pytrees_go_through():
    Point = collections.namedtuple("Point", "a b")

    def make(m):
        def f(x):
            def step(carry, point):
                return {"p": Point(carry["p"].b, point.a), "none": None}, (point.b, [carry["p"].a])

            init = {"p": Point(x[0], x[1] * 2), "none": None}
            return m.lax.scan(step, init, Point(x, x * 3))

        return f

    both(make, X)
    assert isinstance(make(fc)(X)[0]["p"], Point)


def test_scan_without_arrays():
    assert fc.lax.scan(lambda c, x: (c, x), (), None, length=3) == ((), None)


def test_weak_carries_are_promoted():
    for init in (0, 0.0, 1):
        both(lambda m, init=init: lambda x: m.lax.scan(lambda c, a: (c * a, c), init, x), X)
    both(lambda m: lambda x: m.lax.while_loop(lambda c: c < 3, lambda c: c + x, 0), F32(0.5))
    both(lambda m: lambda x: m.lax.fori_loop(0, 3, lambda i, c: c + x, 0), F32(0.5))


@pytest.mark.parametrize("bounds", [(0, 3), (2, 2), (5, 1), (-2, 2)])
def test_fori_bounds(bounds):
    both(lambda m: lambda x: m.lax.fori_loop(*bounds, lambda i, c: c * 2 + i, x), X)
    both(lambda m: m.jit(lambda a, b: m.lax.fori_loop(a, b, lambda i, c: c * 2 + i, 1)), *bounds)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_fori_counts_in_the_dtype_of_its_bounds(dtype):
    seen = []

    def body(i, c):
        seen.append(str(np.dtype(i.dtype)))
        return c + 1

    assert int(fc.lax.fori_loop(np.dtype(dtype).type(1), 4, body, 0)) == 3
    assert seen[0] == dtype


@pytest.mark.parametrize("pred", [True, False, 1, 0, 2.5, np.bool_(True), np.float32(0)])
def test_cond_predicates(pred):
    both(lambda m: lambda x: m.lax.cond(pred, lambda u: u + 1, lambda u: u - 1, x), X)


def test_cond_forms():
    for form in [
        lambda lax, x: lax.cond(True, lambda u: u + 1, lambda u: u - 1, operand=x),
        lambda lax, x: lax.cond(False, lambda u: 1, lambda u: 2, operand=None),
        lambda lax, x: lax.cond(False, x, lambda u: u + 1, x * 2, lambda u: u - 1),
        lambda lax, x: lax.cond(x[0] > 5, true_fun=lambda: x, false_fun=lambda: x * 2),
        lambda lax, x: lax.cond(True, lambda *a: a, lambda *a: a[::1], x, {"k": x}),
    ]:
        agree(form(fc.lax, fc.numpy.asarray(X)), form(jax.lax, jax.numpy.asarray(X)))


def test_cond_runs_one_branch(handlers):
    count = fc.ffi.ffi_call("count_calls", fc.ShapeDtypeStruct((), np.int64), has_side_effect=True)
    before = handlers.library.num_calls()
    fc.lax.cond(True, lambda: count(), lambda: np.int64(0))
    fc.lax.cond(False, lambda: count(), lambda: np.int64(0))
    assert handlers.library.num_calls() == before + 1


def test_effects_happen_in_every_step(handlers):
    count = fc.ffi.ffi_call("count_calls", fc.ShapeDtypeStruct((), np.int64), has_side_effect=True)

    def step(c, _):
        count()
        return c, None

    for f in (fc.lax.scan, fc.jit(fc.lax.scan, static_argnums=0, static_argnames="length")):
        before = handlers.library.num_calls()
        f(step, np.float32(1), None, length=5)
        assert handlers.library.num_calls() == before + 5
    before = handlers.library.num_calls()
    fc.grad(lambda s: fc.lax.scan(lambda c, x: (count(), (c * s, None))[1], s, None, length=4)[0])(
        np.float32(2)
    )
    assert handlers.library.num_calls() == before + 4


# ---- recording ----


def test_bodies_are_recorded_once():
    calls = []

    def step(c, x):
        calls.append(1)
        return c + x, c

    for _ in range(3):
        fc.lax.scan(step, np.float32(0), X)
    assert len(calls) == 1
    fc.lax.scan(step, np.float32(0), vector(4))
    assert len(calls) == 1  # slices of the same type
    fc.lax.scan(step, np.float64(0), vector(4).astype("float64"))
    assert len(calls) == 2
    fc.jit(lambda x: fc.lax.scan(step, np.float32(0), x))(X)
    assert len(calls) == 2


def test_bodies_that_close_over_arrays_see_the_new_ones():
    box = [fc.numpy.ones(3, "float32")]

    def step(c, _):
        return c + box[0], None

    first = fc.lax.scan(step, X, None, length=2)[0]
    box[0] = box[0] * 10
    second = fc.lax.scan(step, X, None, length=2)[0]
    agree(first, X + 2)
    agree(second, X + 20)


def test_recordings_die_with_their_function():
    def step(c, x):
        return c + x, c

    fc.lax.scan(step, np.float32(0), X)
    fc.lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0)
    gone = weakref.ref(step)
    del step
    gc.collect()
    assert gone() is None


def test_callables_that_cannot_be_kept_work_too():
    class Unhashable:
        __hash__ = None

        def __call__(self, c, x):
            return c + x, c

    agree(fc.lax.scan(Unhashable(), np.float32(0), X)[0], X.sum())
    agree(
        fc.lax.scan(functools.partial(lambda k, c, x: (c + k * x, c), 2), F32(0), X)[0], 2 * X.sum()
    )


def test_long_loops():
    step = lambda c, _: (c * 0.999 + 1.0, None)  # noqa: E731
    both(lambda m: lambda s: m.lax.scan(step, s, None, length=3000)[0], S)


# ---- errors ----


def message(f, error):
    with pytest.raises(error) as info:
        f()
    return str(info.value)


def same(c, x):
    return c, x


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (
            lambda lax: lax.scan(3, 0.0, X),
            TypeError,
            "scan: f must be a function, got 3 of type int",
        ),
        (lambda lax: lax.scan(lambda c, x: c, 0.0, X), TypeError, "scan: f must return a pair"),
        (lambda lax: lax.scan(same, "a", X), TypeError, "scan: init must be an array or a number"),
        (
            lambda lax: lax.scan(lambda c, x: (c, "a"), 0.0, X),
            TypeError,
            "scan: the y that f returns",
        ),
        (lambda lax: lax.scan(same, 0.0), ValueError, "scan: how often to run?"),
        (
            lambda lax: lax.scan(same, 0.0, 1.0),
            ValueError,
            "scan: xs has no dimension to scan over",
        ),
        (
            lambda lax: lax.scan(same, 0.0, {"a": X, "b": X[:2]}),
            ValueError,
            "one leading dimension:\n  xs['a'] is f32[3]\n  xs['b'] is f32[2]",
        ),
        (lambda lax: lax.scan(same, 0.0, X, length=2), ValueError, "length is 2, but the leading"),
        (
            lambda lax: lax.scan(lambda c, x: ((c["a"],), x), {"a": 1.0}, X),
            TypeError,
            "in goes\n  PyTreeDef({'a': *})\nout comes\n  PyTreeDef((*,))",
        ),
        (
            lambda lax: lax.scan(
                lambda c, x: ({"a": x, "b": c["b"][:2]}, x), {"a": F32(1), "b": X}, X
            ),
            TypeError,
            "\n  carry['b'] is f32[3] going in, f32[2] coming out\n",
        ),
        (
            lambda lax: lax.while_loop(3, same, 0),
            TypeError,
            "while_loop: cond_fun must be a function",
        ),
        (
            lambda lax: lax.while_loop(lambda c: c, lambda c: c, 0),
            TypeError,
            "scalar of dtype bool",
        ),
        (
            lambda lax: lax.while_loop(lambda c: (c < 1,), lambda c: c, 0),
            TypeError,
            "PyTreeDef((*,))",
        ),
        (lambda lax: lax.while_loop(lambda c: c < X, lambda c: c, 0), TypeError, "(bool[3])"),
        (
            lambda lax: lax.while_loop(lambda c: c[0] < 1, lambda c: [c[0]], (0, 1)),
            TypeError,
            "while_loop: the body must return a carry of the structure that it gets",
        ),
        (
            lambda lax: lax.fori_loop(0.0, 3, same, 0),
            TypeError,
            "lower must be a scalar of an integer",
        ),
        (
            lambda lax: lax.fori_loop(0, X, same, 0),
            TypeError,
            "upper must be a scalar of an integer",
        ),
        (
            lambda lax: lax.fori_loop(np.int8(0), np.int16(3), same, 0),
            TypeError,
            "lower and upper must be of one type, got i8[] and i16[]",
        ),
        (
            lambda lax: lax.cond(X, lambda: 1, lambda: 2),
            TypeError,
            "the predicate must be a scalar",
        ),
        (
            lambda lax: lax.cond(None, lambda: 1, lambda: 2),
            TypeError,
            "cond: pred must be an array",
        ),
        (lambda lax: lax.cond(1j, lambda: 1, lambda: 2), TypeError, "must be a bool or a number"),
        (lambda lax: lax.cond(True, 3, lambda: 2), TypeError, "cond: true_fun must be a function"),
        (
            lambda lax: lax.cond(True, lambda: (1,), lambda: 2),
            TypeError,
            "false_fun returns\n  PyTreeDef(*)\ntrue_fun returns\n  PyTreeDef((*,))",
        ),
        (
            lambda lax: lax.cond(True, lambda: {"a": X}, lambda: {"a": X[:2]}),
            TypeError,
            "result['a'] is f32[2] from false_fun, f32[3] from true_fun",
        ),
        (lambda lax: lax.switch(0, []), ValueError, "switch: expected at least one branch"),
        (lambda lax: lax.switch(0, 3), TypeError, "switch: branches must be a sequence"),
        (
            lambda lax: lax.switch(0.5, [lambda: 1]),
            TypeError,
            "index must be a scalar of an integer",
        ),
        (lambda lax: lax.switch(X, [lambda: 1]), TypeError, "switch: the index must be a scalar"),
        (
            lambda lax: lax.associative_scan(3, X),
            TypeError,
            "associative_scan: fn must be a function",
        ),
        (lambda lax: lax.associative_scan(lambda a, b: a, (X, X[:2])), ValueError, "along axis 0"),
        (lambda lax: lax.associative_scan(lambda a, b: a, X, axis=3), ValueError, "axis 3"),
    ],
)
def test_errors(f, error, text):
    assert text in message(lambda: f(fc.lax), error)
    with pytest.raises(error):
        f(jax.lax)


def test_length_is_a_whole_number():
    text = message(lambda: fc.lax.scan(same, 0.0, X, length=2.5), TypeError)
    assert text == "scan: length must be a whole number, got 2.5 of type float"


def test_unroll_needs_known_bounds():
    f = fc.jit(lambda n: fc.lax.fori_loop(0, n, lambda i, c: c, 0, unroll=2))
    assert "unroll needs bounds that are known" in message(lambda: f(3), ValueError)


def test_reverse_mode_of_while_is_refused():
    for f in (
        lambda x: fc.lax.while_loop(lambda c: c < 3, lambda c: c * 2, x),
        fc.jit(lambda x: fc.lax.fori_loop(0, (x * 2).astype("int32"), lambda i, c: c * 2, x)),
    ):
        text = message(lambda f=f: fc.grad(f)(1.0), ValueError)
        assert "reverse-mode differentiation does not work for while_loop" in text


def test_an_error_in_a_body_reaches_the_caller():
    def step(c, x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fc.lax.scan(step, 0.0, X)
