"""jvp, vjp, linearize and linear_transpose, against JAX; and what they refuse."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import jax.dtypes
import numpy as np
import pytest
from both import same_as_jax

X = np.linspace(0.1, 1, 6, dtype=np.float32).reshape(2, 3)
FLOAT0 = np.zeros((), fc.dtypes.float0)


def tree_function(m):
    def f(p, y):
        return {"a": m.np.sin(p["x"]) * y, "b": (p["x"].sum(), None)}

    return f


# ---- values ----


def test_jvp_gives_results_and_their_derivative():
    args = ({"x": X}, X[0])
    same_as_jax(lambda m: m.root.jvp(tree_function(m), args, ({"x": X + 1}, X[1])))
    same_as_jax(lambda m: m.root.jvp(lambda x: (x * x, {"a": x}), [X], [X], has_aux=True))


def test_vjp_may_be_called_again():
    def function(m):
        result, pullback = m.root.vjp(tree_function(m), {"x": X}, X[0])
        return result, [pullback({"a": X * k, "b": (np.float32(k), None)}) for k in (1, 2)]

    same_as_jax(function)
    same_as_jax(lambda m: m.root.vjp(lambda x: (x * x, [x, "s"]), X, has_aux=True)[2])


def test_linearize_runs_the_function_once():
    def function(m):
        calls = []

        def f(x, y):
            calls.append(1)
            return m.np.sin(x) * y, x

        result, linear = m.root.linearize(f, X, X)
        return result, [linear(X, X * k) for k in (1, 2)], len(calls)

    same_as_jax(function)


def test_linear_transpose():
    same_as_jax(lambda m: m.root.linear_transpose(lambda x: 2 * x.T, X)(X.T))

    def of_trees(m):
        f = m.root.linear_transpose(lambda x, y: {"a": 2 * x + y.sum(), "b": [y]}, X, X)
        return f({"a": X, "b": [X]})

    same_as_jax(of_trees)

    def of_types(m):
        weights = m.np.array(X)
        spec = m.root.ShapeDtypeStruct((3,), "float32")
        return m.root.linear_transpose(lambda v: weights @ v, spec)(X[:, 0])

    same_as_jax(of_types)


def test_ints_have_tangents_of_float0():
    same_as_jax(lambda m: m.root.jvp(lambda x, k: (x * k, k), (X, np.int32(2)), (X, FLOAT0)))
    same_as_jax(lambda m: m.root.vjp(lambda x, k: x * k, X, np.int32(2))[1](X))
    same_as_jax(lambda m: m.root.vjp(lambda x: (x, m.np.argmax(x)), X)[1]((X, FLOAT0)))


def test_results_that_do_not_depend_on_the_arguments_have_zero_derivatives():
    same_as_jax(lambda m: m.root.jvp(lambda x: (x, m.np.ones(2)), (X,), (X,)))
    same_as_jax(lambda m: m.root.vjp(lambda x: m.np.ones(2), X)[1](np.ones(2, np.float32)))
    same_as_jax(lambda m: m.root.linearize(lambda x, y: y, X, X)[1](X, X))


def test_they_compose():
    def forward_over_reverse(m):
        gradient = m.root.grad(lambda x: m.np.sin(x).sum())
        return m.root.jvp(gradient, (X,), (X,))

    def reverse_over_forward(m):
        derivative = lambda x: m.root.jvp(m.np.tanh, (x,), (x,))[1]  # noqa: E731
        return m.root.vjp(derivative, X)[1](X)

    def mapped_pullback(m):
        _, pullback = m.root.vjp(lambda x: m.np.sin(x).sum(0), X)
        return m.root.vmap(pullback)(np.eye(3, dtype=np.float32))

    def pullback_under_jit(m):
        return m.root.jit(lambda x: m.root.vjp(m.np.sin, x)[1](x))(X)

    def jitted_pullback(m):
        _, pullback = m.root.vjp(m.root.jit(m.np.sin), X)
        return m.root.jit(lambda ct: pullback(ct))(X)

    for function in (
        forward_over_reverse,
        reverse_over_forward,
        mapped_pullback,
        pullback_under_jit,
        jitted_pullback,
    ):
        same_as_jax(function)


# ---- refusals ----


def identity(x):
    return x


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fc.jvp(3, (1.0,), (1.0,)), TypeError, "jvp: expected a function"),
        (
            lambda: fc.jvp(identity, 1.0, 1.0),
            TypeError,
            "primals and tangents must be tuples or lists.*got float and float",
        ),
        (
            lambda: fc.jvp(identity, (1.0,), (1.0, 2.0)),
            TypeError,
            r"structure; primals have PyTreeDef\(\(\*,\)\), tangents have PyTreeDef\(\(\*, \*\)",
        ),
        (lambda: fc.jvp(identity, [1.0], (1.0,)), TypeError, "must have one structure"),
        (
            lambda: fc.jvp(identity, ({"a": X},), ({"a": np.ones((2, 3), np.int32)},)),
            TypeError,
            r"jvp\(identity\): tangents\[0\]\['a'\] must have dtype float32.*got i32\[2,3\]",
        ),
        (
            lambda: fc.jvp(identity, (X,), (X[0],)),
            ValueError,
            r"tangents\[0\] must have the shape \[2,3\] of its value; got f32\[3\]",
        ),
        (
            lambda: fc.jvp(identity, (1,), (1,)),
            TypeError,
            r"tangents\[0\] must be float0\[\], because its value is i32\[\]; got 1.*float0\)",
        ),
        (
            lambda: fc.jvp(identity, (1.0,), (FLOAT0,)),
            TypeError,
            r"tangents\[0\] must be f32\[\], because its value is f32\[\]; got float0",
        ),
        (lambda: fc.jvp(identity, ("a",), ("a",)), TypeError, "argument 0 is 'a' of type str"),
        (lambda: fc.vjp(identity, "a"), TypeError, "argument 0 is 'a' of type str"),
        (lambda: fc.vjp(lambda x: "a", 1.0), TypeError, "the function returned 'a' of type str"),
        (lambda: fc.vjp(identity, 1.0, has_aux=True), TypeError, "must return a pair"),
        (
            lambda: fc.vjp(lambda x: (x, {"a": x}), 1.0)[1]((1.0, 2.0)),
            ValueError,
            r"vjp\(<lambda>\): cotangent should have structure PyTreeDef\(\(\*, \{'a': \*\}\)\)",
        ),
        (
            lambda: fc.vjp(lambda x: {"a": x}, X)[1]({"a": X.astype(np.int32)}),
            ValueError,
            r"cotangent\['a'\] must have dtype float32, the dtype of its value; got i32\[2,3\]",
        ),
        (
            lambda: fc.vjp(identity, X)[1](X[0]),
            ValueError,
            r"cotangent must have the shape \[2,3\] of its value; got f32\[3\]",
        ),
        (
            lambda: fc.linearize(identity, 1.0)[1](1.0, 2.0),
            TypeError,
            "tangents should have struct",
        ),
        (
            lambda: fc.linearize(identity, X)[1](X[0]),
            ValueError,
            r"tangents\[0\] must have the sh",
        ),
        (
            lambda: fc.linear_transpose(identity, 1),
            TypeError,
            r"argument 0 is i32\[\]\*; only functions from floats",
        ),
        (
            lambda: fc.linear_transpose(identity, X)(X[0]),
            TypeError,
            "cotangent must have the shape",
        ),
        (lambda: fc.linear_transpose(identity, X)((X,)), TypeError, "cotangent should have struct"),
        (
            lambda: fc.linear_transpose(fnp.sin, X)(X),
            NotImplementedError,
            r"sin: has no transpose rule; it is not linear .*\n  at .*test_jvp_vjp.py:\d+",
        ),
    ],
)
def test_what_they_refuse(call, error, text):
    with pytest.raises(error, match=text):
        call()


# ---- derivatives as pytrees ----


def test_a_jitted_function_returns_and_takes_a_pullback():
    def function(m):
        forward = m.root.jit(lambda x: m.root.vjp(lambda a: m.np.sin(a) * a, x))
        backward = m.root.jit(lambda pullback, cotangent: pullback(cotangent))
        x = np.array([0.5, 2.0], np.float32)
        y, pullback = forward(x)
        return y, backward(pullback, y), pullback(y)

    same_as_jax(function)


def test_a_pullback_can_be_batched():
    def function(m):
        xs = np.arange(6, dtype=np.float32).reshape(3, 2)
        ys, pullbacks = m.root.vmap(lambda x: m.root.vjp(lambda a: m.np.sin(a) * 3, x))(xs)
        return m.root.vmap(lambda pullback, y: pullback(y))(pullbacks, ys)

    same_as_jax(function)


def test_the_leaves_of_a_linear_function_are_the_values_that_it_needs():
    x = fnp.array([1.0, 2.0])
    _, derivative = fc.linearize(lambda a: a * a * 2, x)
    doubled = fc.tree.map(lambda value: value * 2, derivative)
    np.testing.assert_array_equal(doubled(x), derivative(x) * 2)
    _, structure = fc.tree.flatten(derivative)
    again = fc.tree.structure(fc.linearize(lambda a: a * a * 2, x + 1)[1])
    assert structure == again
    assert hash(structure) == hash(again)
    assert structure != fc.tree.structure(fc.linearize(lambda a: a * 3, x)[1])
    broken = structure.unflatten(["?"] * structure.num_leaves)
    with pytest.raises(TypeError, match=r"linearize.*: a value of the derivative must be an array"):
        broken(x)


def test_float0_under_vmap():
    def function(m):
        float0 = jax.dtypes.float0
        ints, xs = np.arange(3, dtype=np.int32), np.arange(3, dtype=np.float32)

        def f(n, x):
            return x * n, n + 1

        def along(n, x):
            return m.root.jvp(f, (n, x), (np.zeros((), float0), x))[1]

        def back(n, x):
            return m.root.vjp(f, n, x)[1]((x, np.zeros((), float0)))

        tangents = m.root.vmap(along)(ints, xs)
        return tangents[0], m.root.vmap(back)(ints, xs)[1]

    same_as_jax(function)
