"""grad, value_and_grad, the Jacobians and the Hessian, against JAX; and what they refuse."""

from __future__ import annotations

import itertools

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from both import FARCALL, JAX, assert_same, same_as_jax

X = np.linspace(0.1, 1, 6, dtype=np.float32).reshape(2, 3)

# ---- values ----


@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (1, 0), [0, 1]])
def test_argnums_choose_arguments(argnums):
    def function(m):
        return m.root.value_and_grad(lambda x, y: (m.np.sin(x) * y).sum(), argnums)(X, X + 1)

    same_as_jax(function)


def test_gradients_have_the_structure_of_the_argument():
    tree = {"a": X, "b": [1.5, (X[0], None)]}
    same_as_jax(
        lambda m: m.root.grad(lambda t: (t["a"] * t["b"][0]).sum() + m.np.exp(t["b"][1][0]).sum())(
            tree
        )
    )


def test_other_arguments_stay_the_objects_that_they_are():
    seen = []

    def function(x, name, *, number):
        seen.append((name, number))
        return x * number

    assert float(fc.grad(function)(1.0, "name", number=3)) == 3.0
    assert seen == [("name", 3)]


def test_auxiliary_data_comes_without_derivatives():
    same_as_jax(
        lambda m: m.root.value_and_grad(
            lambda x: ((x * x).sum(), {"twice": x * 2, "text": "hi", "none": None}), has_aux=True
        )(X)
    )
    same_as_jax(lambda m: m.root.grad(lambda x: (x * x, [x + 1]), has_aux=True)(np.float32(3)))
    _, aux = fc.grad(lambda x: (x, x), has_aux=True)(fnp.array(2.0))
    assert not aux.is_traced


def test_control_flow_in_python_sees_values():
    def function(m):
        def f(x):
            for _ in range(int(x)):
                x = x * x if x > 1.5 else x + 1
            return x

        return [m.root.value_and_grad(f)(np.float32(v)) for v in (1, 2, 3)]

    same_as_jax(function)


@pytest.mark.parametrize("convert", [float, complex, np.asarray, np.sin])
def test_a_conversion_that_loses_the_derivative_is_refused(convert):
    with pytest.raises(fc.ConcretizationTypeError, match="would lose its derivative"):
        fc.grad(lambda x: x * convert(x))(1.0)


def test_values_without_derivatives_may_be_converted():
    assert float(fc.grad(lambda x: x * x.item())(3.0)) == 3.0
    assert float(fc.grad(lambda x: x * float(fc.lax.stop_gradient(x)))(3.0)) == 3.0


def test_ints_have_gradients_of_float0():
    def function(m):
        return m.root.grad(lambda x, n: x * n, argnums=(0, 1), allow_int=True)(np.float32(2), 3)

    gradient = same_as_jax(function)
    assert gradient[1].dtype == fc.dtypes.float0


def test_weakly_typed_arguments_have_weakly_typed_gradients():
    assert fc.grad(lambda x: x * 2)(1.0).weak_type
    assert fc.jit(fc.grad(lambda x: x * 2))(1.0).weak_type
    assert not fc.grad(lambda x: x * 2)(np.float32(1)).weak_type


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gradients_have_the_dtype_of_the_argument(dtype):
    gradient = fc.grad(lambda x: (x * x).sum())(fnp.ones(3, dtype))
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(gradient, [2, 2, 2])


def test_complex_numbers():
    z = np.complex64(1 + 2j)
    same_as_jax(lambda m: m.root.grad(lambda x: m.np.real(x * x))(z))
    same_as_jax(lambda m: m.root.grad(lambda x: x * x, holomorphic=True)(z))
    same_as_jax(lambda m: m.root.jacfwd(lambda x: x * x, holomorphic=True)(z))
    same_as_jax(lambda m: m.root.jacrev(lambda x: x * x, holomorphic=True)(z))


# ---- Jacobians ----

JACOBIANS = ["jacfwd", "jacrev", "jacobian"]


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians_of_trees(name):
    def function(m):
        def f(p, q):
            return {"o": (p["a"] * q).sum(0), "r": m.np.sin(q), "s": p["a"][0] * 2}

        jacobian = getattr(m.root, name)
        args = {"a": X[0]}, X
        return jacobian(f)(*args), jacobian(f, argnums=(1, 0))(*args)

    same_as_jax(function)


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians_with_auxiliary_data(name):
    same_as_jax(lambda m: getattr(m.root, name)(lambda x: (x * x, x + 1), has_aux=True)(X))


def test_hessians():
    same_as_jax(lambda m: m.root.hessian(lambda x: m.np.sin(x[0] * x[1]).sum())(X))
    same_as_jax(
        lambda m: m.root.hessian(lambda p: (p["a"] ** 2 * p["b"]).sum())({"a": X[0], "b": X[1]})
    )
    same_as_jax(lambda m: m.root.hessian(lambda x: ((x**3).sum(), x), has_aux=True)(X))


def test_jacobians_of_empty_arrays_are_empty():
    assert fc.jacfwd(lambda x: x)(fnp.ones((0,))).shape == (0, 0)
    assert fc.jacrev(lambda x: x)(fnp.ones((0,))).shape == (0, 0)


# ---- composition ----

TRANSFORMATIONS = {
    "grad": lambda m, f: m.root.grad(f),
    "vmap": lambda m, f: m.root.vmap(f),
    "jit": lambda m, f: m.root.jit(f),
    "jacfwd": lambda m, f: m.root.jacfwd(f),
    "jacrev": lambda m, f: m.root.jacrev(f),
    "checkpoint": lambda m, f: m.root.checkpoint(f),
}
# Each way to apply one to three of them that leaves a function of X.
CHAINS = [
    chain
    for n in (1, 2)
    for chain in itertools.product(TRANSFORMATIONS, repeat=n)
    if n == 1 or chain != ("jit", "jit")
] + [
    ("vmap", "grad", "jit"),
    ("jit", "vmap", "grad"),
    ("grad", "jit", "grad"),
    ("jacfwd", "checkpoint", "jacrev"),
    ("jacrev", "jit", "grad"),
    ("vmap", "jacfwd", "grad"),
    ("jit", "jacrev", "vmap"),
    ("vmap", "jit", "checkpoint"),
]


@pytest.mark.parametrize("chain", CHAINS, ids="-".join)
def test_transformations_compose(chain):
    def function(m):
        def f(x):
            return (m.np.sin(x) * m.np.exp(x)).sum() + m.np.tanh(x.sum()) ** 2

        for name in chain:
            f = TRANSFORMATIONS[name](m, f)
        if m is JAX:
            f = jax.jit(f)  # one compilation instead of one for each operation
        try:
            return f(X)
        except TypeError:
            return "TypeError"  # the gradient of what is no scalar, in both

    assert_same(function(FARCALL), function(JAX), rtol=1e-4, atol=1e-5)


def test_closures_over_what_is_differentiated():
    def function(m):
        def outer(x):
            return m.root.grad(lambda y: (m.np.sin(x * y)).sum())(x).sum()

        return m.root.grad(outer)(X), m.root.jit(m.root.grad(outer))(X)

    same_as_jax(function)


def test_two_levels_are_not_confused():
    same_as_jax(
        lambda m: m.root.grad(lambda x: x * m.root.grad(lambda y: x + y)(np.float32(1)))(
            np.float32(1)
        )
    )


def test_the_function_is_called_once():
    calls = []
    fc.value_and_grad(lambda x: (calls.append(1), (x * x).sum())[1])(X)
    fc.jacfwd(lambda x: (calls.append(1), x * x)[1])(X)
    fc.jacrev(lambda x: (calls.append(1), x * x)[1])(X)
    assert len(calls) == 3


def test_the_first_cotangent_is_a_number_and_no_equation():
    program = fc.make_jaxpr(fc.grad(lambda x: (x * x).sum()))(X)
    assert "convert_element_type" not in str(program)


def test_names_and_documentation_are_kept():
    def documented(a):
        """What it does."""
        return a

    for transform in (fc.grad, fc.value_and_grad, fc.jacfwd, fc.jacrev, fc.hessian, fc.checkpoint):
        made = transform(documented)
        assert (made.__name__, made.__doc__) == ("documented", "What it does.")


# ---- refusals ----


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fc.grad(3), "grad: expected a function, got 3 of type int"),
        (
            lambda: fc.grad(abs, argnums="x"),
            "argnums must be an int or a sequence of ints, got 'x'",
        ),
        (lambda: fc.grad(abs, argnums=()), "argnums names no argument"),
        (lambda: fc.grad(abs, argnums=1)(1.0), r"argnums \(1\) needs .* but 1 were given"),
        (lambda: fc.grad(abs)(1), r"argument 0 is i32\[\]; derivatives are with respect to floats"),
        (lambda: fc.grad(abs)({"a": True}), r"argument 0\['a'\] is bool\[\]"),
        (lambda: fc.grad(abs)("a"), "argument 0 is 'a' of type str, which is not an array"),
        (lambda: fc.grad(lambda x: x)(X), r"must return a scalar; its result has shape \[2,3\]"),
        (
            lambda: fc.grad(lambda x: (x, x))(1.0),
            r"its result has structure PyTreeDef\(\(\*, \*\)\)",
        ),
        (lambda: fc.grad(lambda x: None)(1.0), r"its result has structure PyTreeDef\(None\)"),
        (lambda: fc.grad(lambda x: "a")(1.0), "the function returned 'a' of type str"),
        (lambda: fc.grad(lambda x: 1)(1.0), r"result is i32\[\], but must be a float"),
        (
            lambda: fc.grad(lambda x: x * 1j)(1.0),
            r"result is c64\[\], but must be real.*holomorphic",
        ),
        (
            lambda: fc.grad(abs, holomorphic=True)(1.0),
            "with the option holomorphic it must be complex",
        ),
        (
            lambda: fc.grad(fnp.real, holomorphic=True)(1j),
            r"result is f32\[\]; with the option holomorphic it must be complex",
        ),
        (lambda: fc.grad(lambda x: x, has_aux=True)(1.0), "must return a pair"),
        (
            lambda: fc.jacfwd(abs)(1),
            r"argument 0 is i32\[\]; derivatives are with respect to floats",
        ),
        (lambda: fc.jacfwd(abs)(1j), r"argument 0 is c64\[\], but must be real"),
        (lambda: fc.jacrev(abs)(1), r"argument 0 is i32\[\]"),
        (lambda: fc.jacrev(lambda x: 1)(1.0), r"result is i32\[\], but must be a float"),
    ],
)
def test_what_derivatives_refuse(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_an_array_of_a_differentiation_that_has_ended_is_refused():
    leaked = []
    fc.grad(lambda x: (leaked.append(x), x)[1])(1.0)
    for use in (lambda: leaked[0] + 1, lambda: fc.jit(lambda a: a)(leaked[0])):
        with pytest.raises(fc.UnexpectedTracerError, match="leaked traced array"):
            use()


# ---- float0 ----


FLOAT0_CALLS = {
    "jit": lambda m, g, x, n: m.jit(g)(x, n),
    "jit of jit": lambda m, g, x, n: m.jit(m.jit(g))(x, n),
    "vmap": lambda m, g, x, n: m.vmap(g, in_axes=(0, None))(x, n),
    "vmap of jit": lambda m, g, x, n: m.vmap(m.jit(g), in_axes=(None, 0))(x, n),
    "jit of vmap": lambda m, g, x, n: m.jit(m.vmap(g))(x, n),
    "scan": lambda m, g, x, n: m.lax.scan(lambda c, part: (c, g(c, part)), x, n)[1],
    "map": lambda m, g, x, n: m.lax.map(lambda part: g(part, n), x),
    "cond": lambda m, g, x, n: m.lax.cond(True, g, lambda x, n: g(x * 2, n), x, n),
    "checkpoint": lambda m, g, x, n: m.checkpoint(g)(x, n),
    "argument of jit": lambda m, g, x, n: m.jit(lambda t: (t, t[0] * 2))(g(x, n)),
    "argument of vmap": lambda m, g, x, n: m.vmap(lambda t: t, in_axes=((None, 0),))(g(x, n)),
}


@pytest.mark.parametrize("call", FLOAT0_CALLS.values(), ids=FLOAT0_CALLS)
def test_gradients_of_integers_go_through_transformations(call):
    n = np.arange(6, dtype=np.int32).reshape(2, 3)

    def function(m):
        def f(x, counts):
            return (x * m.np.cos(x)).sum() + counts.sum() * 0.5

        return call(m.root, m.root.grad(f, (0, 1), allow_int=True), X, n)

    same_as_jax(function)


WEAK_DERIVATIVES = {
    "jacfwd": lambda m, f: m.root.jacfwd(f),
    "jit jacfwd": lambda m, f: m.root.jit(m.root.jacfwd(f)),
    "jacfwd jacfwd": lambda m, f: m.root.jacfwd(m.root.jacfwd(f)),
    "jacrev": lambda m, f: m.root.jacrev(f),
    "hessian": lambda m, f: m.root.hessian(f),
    "jvp": lambda m, f: lambda x: m.root.jvp(f, (x,), (x,)),
    "linearize": lambda m, f: lambda x: m.root.linearize(f, x)[1](1.0),
}


@pytest.mark.parametrize("name", WEAK_DERIVATIVES)
def test_derivatives_are_as_weakly_typed_as_in_jax(name):
    def types(m):
        functions = (
            lambda x: m.np.sin(x),
            lambda x: x * m.np.float32(2),
            lambda x: m.np.sum(x),
            lambda x: x * m.np.ones(3),
            lambda x: m.np.stack([x, 2 * x]),
        )
        results = [WEAK_DERIVATIVES[name](m, f)(1.0) for f in functions]
        return [(x.dtype, x.weak_type, x.shape) for x in m.root.tree.leaves(results)]

    assert types(FARCALL) == types(JAX)


def test_jacobians_of_strong_results_are_strong():
    def types(m):
        jacobians = m.root.jacfwd(lambda x, y: x * y, (0, 1))(1.0, np.float32(2))
        return [x.weak_type for x in jacobians]

    assert types(FARCALL) == types(JAX) == [False, False]
