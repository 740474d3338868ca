"""custom_jvp, custom_vjp and custom_vmap: where rules apply, what they get and may give."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.custom_batching
import numpy as np
import pytest
from both import FARCALL, same_as_jax
from farcall import custom_batching, custom_derivatives

X = np.linspace(0.1, 1, 6, dtype=np.float32).reshape(2, 3)
FLOAT0 = np.zeros((), fc.dtypes.float0)
BATCHING = {fc: custom_batching, jax: jax.custom_batching}


def scaled_sin_jvp(m):
    """sin, whose derivative is said to be three times what it is."""

    @m.root.custom_jvp
    def f(x, y):
        return {"r": m.np.sin(x) * y}

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), {"r": 3 * m.np.cos(x) * y * dx + m.np.sin(x) * dy}

    return f


def scaled_sin_vjp(m):
    @m.root.custom_vjp
    def f(x, y):
        return {"r": m.np.sin(x) * y}

    def fwd(x, y):
        return f(x, y), (m.np.cos(x), {"y": y, "sin": m.np.sin(x)})

    def bwd(residuals, ct):
        cos, rest = residuals
        return 3 * cos * rest["y"] * ct["r"], rest["sin"] * ct["r"]

    f.defvjp(fwd, bwd)
    return f


RULES = {"custom_jvp": scaled_sin_jvp, "custom_vjp": scaled_sin_vjp}

# ---- where rules apply ----


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_rules_apply_in_reverse_mode_under_every_transformation(rules):
    def loss(m):
        f = rules(m)
        return lambda x, y=2.0: f(x, m.np.full(x.shape, y))["r"].sum()

    chains = {
        "grad": lambda m: m.root.grad(loss(m))(X),
        "grad both": lambda m: m.root.grad(loss(m), (0, 1))(X, np.float32(3)),
        "jit grad": lambda m: m.root.jit(m.root.grad(loss(m)))(X),
        "grad jit": lambda m: m.root.grad(m.root.jit(loss(m)))(X),
        "vmap grad": lambda m: m.root.vmap(m.root.grad(loss(m)))(X),
        "grad vmap": lambda m: m.root.grad(lambda x: m.root.vmap(loss(m))(x).sum())(X),
        "vmap axes": lambda m: m.root.vmap(m.root.grad(loss(m), (0, 1)), (1, None))(
            X, np.float32(2)
        ),
        "jit vmap grad": lambda m: m.root.jit(m.root.vmap(m.root.grad(loss(m))))(X),
        "vmap vmap grad": lambda m: m.root.vmap(m.root.vmap(m.root.grad(loss(m))))(X),
        "grad checkpoint": lambda m: m.root.grad(m.root.checkpoint(loss(m)))(X),
        "grad grad": lambda m: m.root.grad(lambda x: m.root.grad(loss(m))(x).sum())(X),
        "jacrev": lambda m: m.root.jacrev(rules(m))(X, X),
    }
    for run in chains.values():
        same_as_jax(run)


def test_a_jvp_rule_applies_in_forward_mode():
    same_as_jax(lambda m: m.root.jvp(scaled_sin_jvp(m), (X, X), (X, X)))
    same_as_jax(lambda m: m.root.jacfwd(scaled_sin_jvp(m))(X, np.float32(2)))
    same_as_jax(lambda m: m.root.jit(m.root.jacfwd(scaled_sin_jvp(m)))(X, np.float32(2)))
    same_as_jax(lambda m: m.root.vmap(lambda x: m.root.jvp(scaled_sin_jvp(m), (x, x), (x, x)))(X))


def test_without_differentiation_the_function_is_itself():
    for rules in RULES.values():
        same_as_jax(lambda m, rules=rules: rules(m)(X, X))
        same_as_jax(lambda m, rules=rules: m.root.vmap(rules(m), (0, None))(X, np.float32(1)))
        same_as_jax(lambda m, rules=rules: m.root.jit(rules(m))(X, X))


def test_a_vjp_rule_has_no_forward_mode():
    f = scaled_sin_vjp(FARCALL)
    with pytest.raises(TypeError, match="can't apply forward-mode differentiation"):
        fc.jvp(f, (X, X), (X, X))


def test_rules_may_look_at_values_and_close_over_others():
    def function(m):
        def outer(scale, x):
            @m.root.custom_jvp
            def f(v):
                return v * 2

            f.defjvp(lambda p, t: (f(*p), t[0] * (5 if float(m.np.sum(p[0])) > 0 else 7)))
            return (f(x) * scale).sum()

        return m.root.grad(outer, (0, 1))(np.float32(2), X)

    same_as_jax(function)


# ---- arguments ----


@pytest.mark.parametrize("option", [{"nondiff_argnums": (0, 2)}, {"nondiff_argnames": ["g", "n"]}])
def test_arguments_that_are_not_differentiated(option):
    def of_jvp(m):
        def f(g, x, n):
            return g(x) ** n

        f = m.root.custom_jvp(f, **option)
        f.defjvp(lambda g, n, p, t: (f(g, p[0], n), n * 10 * t[0]))
        return m.root.grad(lambda x: f(m.np.sin, x, 2).sum())(X)

    def of_vjp(m):
        def f(g, x, n):
            return g(x) ** n

        f = m.root.custom_vjp(f, **option)
        f.defvjp(lambda g, x, n: (f(g, x, n), x), lambda g, n, x, ct: (n * g(x) * ct,))
        return m.root.grad(lambda x: f(m.np.sin, x, 2).sum())(X)

    same_as_jax(of_jvp)
    same_as_jax(of_vjp)


def test_defaults_and_keywords_become_positions():
    def function(m):
        @m.root.custom_jvp
        def f(x, y=2.0):
            return x * y

        f.defjvp(lambda p, t: (f(*p), p[1] * 10 * t[0]))
        return m.root.grad(f)(np.float32(1)), m.root.grad(lambda x: f(y=3.0, x=x))(np.float32(1))

    same_as_jax(function)


def test_defjvps_adds_up_the_arguments():
    def function(m):
        @m.root.custom_jvp
        def f(x, y, z):
            return m.np.sin(x) * y + z

        f.defjvps(lambda t, r, x, y, z: m.np.cos(x) * y * t, None, lambda t, r, x, y, z: 2 * t)
        return m.root.grad(lambda *a: f(*a).sum(), (0, 1, 2))(X, X, X)

    same_as_jax(function)


@pytest.mark.parametrize("count", [1, 3])
def test_defjvps_needs_a_rule_for_each_argument(count):
    f = fc.custom_jvp(lambda x, y: x * y)
    f.defjvps(*[lambda t, r, x, y: t * y] * count)
    with pytest.raises(ValueError, match="defjvps got") as caught:
        fc.grad(f, argnums=(0, 1))(2.0, 3.0)
    assert str(caught.value) == (
        f"custom_jvp(<lambda>): defjvps got {count} functions for 2 arguments; give one for each, "
        "None for a zero derivative"
    )


def test_ints_have_float0_tangents_in_rules():
    def function(m):
        @m.root.custom_jvp
        def f(x, k):
            return x * k, k

        @f.defjvp
        def rule(p, t):
            assert t[1].dtype == FLOAT0.dtype
            return f(*p), (t[0] * p[1], t[1])

        return m.root.jvp(f, (m.np.array(X), m.np.array(2)), (X, FLOAT0))

    same_as_jax(function)


def test_a_cotangent_may_be_none():
    def function(m):
        @m.root.custom_vjp
        def f(x, t, k):
            return x * t["a"] * k

        f.defvjp(
            lambda x, t, k: (f(x, t, k), (x, t, k)),
            lambda r, ct: (None, {"a": ct * 7, "b": None}, None),
        )
        gradient = m.root.grad(lambda x, t: f(x, t, 2).sum(), (0, 1))
        return gradient(X, {"a": X, "b": X})

    same_as_jax(function)


def test_symbolic_zeros_of_jvp():
    seen = []

    def f(x, y):
        return x * y

    f = fc.custom_jvp(f)

    def rule(primals, tangents):
        seen.append([type(t).__name__ for t in tangents])
        assert (tangents[1].shape, tangents[1].dtype) == ((3,), np.float32)
        assert repr(tangents[1]) == "SymbolicZero(f32[3])"
        return f(*primals), tangents[0] * primals[1]

    f.defjvp(rule, symbolic_zeros=True)
    result = fc.grad(lambda x: f(x, fnp.ones(3)).sum())(X[0])
    np.testing.assert_array_equal(result, [1, 1, 1])
    assert seen == [["Array", "SymbolicZero"]]


def test_symbolic_zeros_of_vjp():
    def function(m):
        seen = []

        @m.root.custom_vjp
        def f(x, y):
            return x * 2, y * 3

        def fwd(x, y):
            seen.append((x.perturbed, y.perturbed))
            return f(x.value, y.value), None

        def bwd(_, ct):
            seen.append([type(c).__name__ == "SymbolicZero" for c in ct])
            return ct[0] * 2, None

        f.defvjp(fwd, bwd, symbolic_zeros=True)
        return m.root.grad(lambda x: f(x, X)[0].sum())(X), seen

    same_as_jax(function)


def test_residuals_may_differ_between_uses():
    """What the forward half keeps depends on what is differentiated; both are alive at once."""

    @fc.custom_vjp
    def f(x, y):
        return x * y

    def fwd(x, y):
        keep = {"y": y.value} if x.perturbed and not y.perturbed else (x.value, y.value)
        return f(x.value, y.value), keep

    def bwd(kept, ct):
        if isinstance(kept, dict):
            return kept["y"] * ct, None
        return kept[1] * ct, kept[0] * ct

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    g = fc.jit(lambda x, y: f(x, fc.lax.stop_gradient(y)) + f(x, y))
    dx, dy = fc.grad(lambda x, y: g(x, y).sum(), (0, 1))(X, X + 1)
    np.testing.assert_allclose(dx, 2 * (X + 1))
    np.testing.assert_allclose(dy, X)


# ---- custom_vmap ----


def test_a_batching_rule_is_used_by_vmap():
    def function(m):
        seen = []

        @BATCHING[m.root].custom_vmap
        def f(x, t):
            return m.np.sin(x) + t["a"]

        @f.def_vmap
        def rule(axis_size, in_batched, x, t):
            seen.append((axis_size, in_batched, x.shape))
            return m.np.cos(x) + t["a"], True

        results = [
            f(X, {"a": np.float32(1)}),
            m.root.vmap(f, in_axes=(1, None))(X, {"a": np.float32(1)}),
            m.root.jit(m.root.vmap(f))(X, {"a": X}),
            m.root.vmap(m.root.jit(f))(X, {"a": X}),
        ]
        return results, seen

    same_as_jax(function)


def test_a_batching_rule_is_differentiated():
    def function(m):
        @BATCHING[m.root].custom_vmap
        def f(x):
            return m.np.sin(x)

        f.def_vmap(lambda n, batched, x: (m.np.cos(x), batched[0]))
        return m.root.vmap(lambda x: m.root.jvp(f, (x,), (x,)))(X)

    same_as_jax(function)


def test_the_derivative_of_a_batching_rule_knows_what_its_function_closed_over():
    """Values closed over come before the arguments in a program; the rule does not get them."""
    factor = fnp.linspace(1.0, 2.0, 3)
    seen = []

    @custom_batching.custom_vmap
    def f(x):
        return fnp.sin(x) * factor

    @f.def_vmap
    def rule(axis_size, in_batched, x):
        seen.append((axis_size, in_batched, x.shape))
        return fnp.sin(x) * factor, True

    def tangent(x):
        return fc.jvp(fc.jit(f), (x,), (x,))[1]

    np.testing.assert_allclose(fc.vmap(tangent)(X), np.cos(X) * X * factor, rtol=1e-6)
    assert seen == [(2, [True], (2, 3))]


def test_a_vjp_rule_meets_zeros_that_another_rule_wrote_out():
    """Such a tangent is known, but the rule tells no tangents for it."""
    double = fc.custom_vjp(lambda y: y * 2)
    double.defvjp(lambda y: (y * 2, None), lambda _, ct: (ct * 2,))
    constant = custom_batching.custom_vmap(lambda x: fnp.ones(3))
    constant.def_vmap(lambda n, batched, x: (fnp.ones(3), False))

    def f(x):
        return (double(constant(x)) * x).sum()

    for gradient in (fc.grad(f), fc.jit(fc.grad(f)), fc.grad(fc.jit(f))):
        np.testing.assert_array_equal(gradient(X[0]), [2, 2, 2])
        np.testing.assert_array_equal(fc.vmap(gradient)(X), np.full((2, 3), 2))


# ---- refusals ----


def jvp_of(rule, body=lambda x: x):
    f = fc.custom_jvp(body)
    f.defjvp(rule)
    return fc.jvp(f, (1.0,), (1.0,))


def vjp_of(fwd, bwd, x=1.0):
    f = fc.custom_vjp(lambda x: x)
    f.defvjp(fwd, bwd)
    return fc.vjp(f, x)[1](x)


def vmap_of(rule):
    f = custom_batching.custom_vmap(lambda x: x)
    f.def_vmap(rule)
    return fc.vmap(f)(X)


def named_rule(primals, tangents):
    return primals[0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fc.custom_jvp(3), TypeError, "custom_jvp: expected a function"),
        (lambda: fc.custom_jvp(abs)(1.0), AttributeError, r"custom_jvp\(abs\): it has no rule"),
        (lambda: fc.custom_vjp(abs)(1.0), AttributeError, r"custom_vjp\(abs\): it has no rule"),
        (
            lambda: custom_batching.custom_vmap(abs)(1.0),
            AttributeError,
            r"custom_vmap\(abs\): it has no rule",
        ),
        (
            lambda: fc.custom_jvp(lambda x: x, nondiff_argnames=["z"]),
            ValueError,
            "nondiff_argnames has 'z', but the function's arguments are x",
        ),
        (
            lambda: fc.custom_jvp(lambda x: x, nondiff_argnums=(0,)).defjvps(None),
            TypeError,
            "defjvps cannot be used with nondiff_argnums",
        ),
        (
            lambda: jvp_of(named_rule),
            TypeError,
            r"the jvp rule named_rule of custom_jvp function <lambda> must return a pair",
        ),
        (
            lambda: jvp_of(lambda p, t: (p[0], (t[0],))),
            TypeError,
            r"of the same structure; primal results have PyTreeDef\(\*\), tangent results have",
        ),
        (
            lambda: jvp_of(lambda p, t: (p[0], np.int32(1))),
            TypeError,
            r"tangent result must have dtype float32, the dtype of its value; got i32\[\]",
        ),
        (
            lambda: jvp_of(lambda p, t: (p[0], fnp.ones(3))),
            TypeError,
            r"tangent result must have the shape \[\] of its value; got f32\[3\]",
        ),
        (
            lambda: jvp_of(lambda p, t: ((p[0], 1), (t[0], 1)), lambda x: (x, 1)),
            TypeError,
            r"tangent result\[1\] must be float0\[\]",
        ),
        (
            lambda: vjp_of(lambda x: x, lambda r, ct: (ct,)),
            TypeError,
            r"the fwd rule <lambda> .* must return a pair \(results, residuals\)",
        ),
        (
            lambda: vjp_of(lambda x: (x, "a"), lambda r, ct: (ct,)),
            TypeError,
            "residuals: the function returned 'a' of type str",
        ),
        (
            lambda: vjp_of(lambda x: (x, x), lambda r, ct: ct),
            TypeError,
            "the bwd rule <lambda> .* must return a tuple .* each of the 1 differentiable",
        ),
        (
            lambda: vjp_of(lambda x: (x, x), lambda r, ct: (ct, ct)),
            TypeError,
            "each of the 1 differentiable arguments",
        ),
        (
            lambda: vjp_of(lambda x: (x, None), lambda r, ct: ((ct,),), {"a": 1.0}),
            TypeError,
            r"cotangent 0 must have the structure of its argument, PyTreeDef\(\{'a': \*\}\)",
        ),
        (
            lambda: vjp_of(lambda x: (x, x), lambda r, ct: (np.int32(1),)),
            ValueError,
            r"cotangent\[0\] must have dtype float32, the dtype of its value; got i32\[\]",
        ),
        (
            lambda: vjp_of(lambda x: (x, x), lambda r, ct: (fnp.ones(2),)),
            ValueError,
            r"cotangent\[0\] must have the shape \[\] of its value; got f32\[2\]",
        ),
        (
            lambda: vmap_of(lambda n, b, x: x),
            TypeError,
            "must return a pair .results, which of them",
        ),
        (
            lambda: vmap_of(lambda n, b, x: (x, (True,))),
            ValueError,
            "must say for each result whether it is batched",
        ),
        (
            lambda: vmap_of(lambda n, b, x: (x.T, True)),
            ValueError,
            r"should have the batch of 2 along its axis 0, got f32\[3,2\]",
        ),
    ],
)
def test_what_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_rule_must_return_what_the_function_returns():
    f = fc.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: ((p[0],), (t[0],)))
    with pytest.raises(
        TypeError, match=r"of the structure that the function returns: expected .*\*,\)"
    ):
        fc.jvp(fc.jit(f), (1.0,), (1.0,))
    g = fc.custom_vjp(lambda x: x)
    g.defvjp(lambda x: (fnp.ones(3), None), lambda r, ct: (ct,))
    with pytest.raises(TypeError, match=r"of the types .*: expected \(f32\[\]\), got \(f32\[3\]\)"):
        fc.grad(fc.jit(lambda x: g(x).sum()))(1.0)


def test_arguments_that_are_not_arrays_must_be_named():
    f = fc.custom_jvp(lambda x, s: x)
    f.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(
        TypeError, match=r"argument 1 is 'a' of type str.*Add it to nondiff_argnums"
    ):
        fc.grad(f)(1.0, "a")


def test_traced_arrays_cannot_be_non_differentiable_arguments_of_custom_vjp():
    f = fc.custom_vjp(lambda x, y: x, nondiff_argnums=(1,))
    f.defvjp(lambda x, y: (x, None), lambda y, r, ct: (ct,))
    with pytest.raises(fc.UnexpectedTracerError, match="argument 1 is a traced array"):
        fc.grad(lambda x: f(x, x))(1.0)


def test_values_closed_over_cannot_be_differentiated_through_a_rule():
    def outer(scale):
        f = fc.custom_jvp(lambda x: x * scale)
        f.defjvp(lambda p, t: (f(*p), t[0]))
        return fc.jit(f)(1.0)

    with pytest.raises(fc.UnexpectedTracerError, match="a value that the function closes over"):
        fc.grad(outer)(2.0)


def test_the_helpers_of_custom_derivatives():
    zero = custom_derivatives.zero_from_primal(fnp.ones(3))
    np.testing.assert_array_equal(zero, np.zeros(3))
    symbolic = custom_derivatives.zero_from_primal(fnp.ones(3), symbolic_zeros=True)
    assert isinstance(symbolic, custom_derivatives.SymbolicZero)
    assert (symbolic.ndim, symbolic.size, symbolic.aval.shape) == (1, 3, (3,))
    assert custom_derivatives.zero_from_primal(1).dtype == fc.dtypes.float0
    record = custom_derivatives.CustomVJPPrimal(2, True)
    assert custom_derivatives.custom_vjp_primal_tree_values({"a": record}) == {"a": 2}
    with pytest.raises(TypeError, match="expected CustomVJPPrimal leaves, got 3"):
        custom_derivatives.custom_vjp_primal_tree_values([3])


# ---- sequential_vmap ----


def test_sequential_vmap_loops_over_the_batch():
    def function(m):
        @m.root.custom_batching.sequential_vmap
        def f(x, p):
            return {"s": m.np.sin(x) * p["k"], "t": p["k"] + 1}

        xs = np.arange(6, dtype=np.float32).reshape(2, 3)
        nested = m.root.vmap(m.root.vmap(f, (0, None)), (0, None))
        return (
            m.root.vmap(f, (1, None))(xs, {"k": np.float32(2)}),
            m.root.vmap(f)(xs, {"k": np.arange(2, dtype=np.float32)}),
            nested(xs, {"k": np.float32(2)}),
        )

    same_as_jax(function)


def test_sequential_vmap_is_a_loop_in_the_program():
    f = fc.custom_batching.sequential_vmap(lambda x: x * 2)
    program = fc.make_jaxpr(fc.vmap(f))(np.zeros(5, np.float32))
    assert "scan" in str(program)


def test_tangents_of_a_custom_vmap_may_be_mapped_over_another_axis():
    @custom_batching.custom_vmap
    def f(x, y):
        return x * y

    @f.def_vmap
    def rule(size, in_batched, x, y):
        return x * y, True

    def tangents(a, b, t):
        return fc.jvp(lambda u: f(u, b), (a,), (t,))

    t = np.arange(6, dtype=np.float32).reshape(3, 2)
    out, tangent = fc.vmap(tangents, in_axes=(0, None, 1))(X, np.ones(3, np.float32), t)
    np.testing.assert_array_equal(out, X)
    np.testing.assert_array_equal(tangent, t.T)


def test_the_cotangent_of_an_argument_that_is_not_mapped_is_a_sum():
    def f(m):
        @m.root.custom_vjp
        def product(x, y):
            return x * y

        product.defvjp(lambda x, y: (x * y, (x, y)), lambda r, c: (c * r[1] * 3, c * r[0] * 5))
        mapped = m.root.vmap(product, in_axes=(None, 0))
        return m.root.grad(lambda x, y: m.np.sum(mapped(x, y) ** 2), (0, 1))

    same_as_jax(lambda m: f(m)(np.float32(2), X[0]))
    same_as_jax(lambda m: f(m)(X[1], X))


def test_keyword_only_arguments_of_a_function_with_rules_are_refused():
    @fc.custom_jvp
    def f(x, *, scale):
        return x * scale

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    with pytest.raises(TypeError, match="keyword arguments scale cannot be given by position"):
        f(np.float32(1), scale=2.0)


def test_a_tangent_that_nothing_needs_may_be_of_reverse_mode_alone():
    def function(m):
        g = m.root.custom_vjp(lambda x: m.np.sin(x))
        g.defvjp(lambda x: (m.np.sin(x), m.np.cos(x)), lambda c, ct: (c * ct,))

        def derivative(inner):
            f = m.root.custom_vjp(lambda x: inner(x) * 2)
            f.defvjp(lambda x: (inner(x) * 2, x), lambda x, ct: (2 * m.np.cos(x) * ct,))
            return m.root.linearize(m.root.grad(f), 0.3)[1](1.0)

        return [derivative(inner) for inner in (g, m.root.jit(g), m.root.jit(lambda x: x * g(x)))]

    same_as_jax(function)


def test_a_jit_whose_other_result_needs_its_tangent_is_linearized():
    def function(m):
        g = m.root.custom_vjp(lambda x: m.np.sin(x))
        g.defvjp(lambda x: (m.np.sin(x), m.np.cos(x)), lambda c, ct: (c * ct,))
        both = m.root.jit(lambda x: (g(x), m.np.cos(x)))
        f = m.root.custom_vjp(lambda x: both(x)[0])
        f.defvjp(lambda x: both(x), lambda c, ct: (c * ct,))
        return m.root.linearize(m.root.grad(f), 0.3)[1](1.0)

    same_as_jax(function)
