"""jit inside other functions, programs made inside them, devices."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from both import same_as_jax

X = np.linspace(0.1, 1, 6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def x() -> fc.Array:
    return fnp.array(X)


def counting(function):
    def counted(*args, **kwargs):
        counted.runs += 1
        return function(*args, **kwargs)

    counted.runs = 0
    return counted


# ---- one operation ----


def test_jit_inside_jit_is_one_operation(x):
    inner = fc.jit(lambda a: a * 2)
    outer = fc.jit(lambda a: inner(a) + inner(a))
    np.testing.assert_array_equal(outer(x), x * 4)
    program = fc.make_jaxpr(lambda a: inner(a) + inner(a))(x)
    assert program.primitives == ["jit", "jit", "add"]
    np.testing.assert_array_equal(fc.jit(fc.jit(inner))(x), x * 2)


def test_an_inline_function_adds_its_operations(x):
    inner = fc.jit(lambda a: a * 2 + 1, inline=True)
    assert fc.make_jaxpr(lambda a: inner(a))(x).primitives == ["mul", "add"]
    np.testing.assert_array_equal(fc.jit(inner)(x), x * 2 + 1)


def test_a_function_is_recorded_once_for_all_places(x):
    function = counting(lambda a, k=1: fnp.sin(a) * k)
    f = fc.jit(function)
    f(x)
    fc.grad(lambda a: f(a).sum())(x)
    fc.grad(lambda a: (f(a) + f(a)).sum())(x)
    fc.jit(lambda a: f(f(a)))(x)
    fc.make_jaxpr(f)(x)
    assert function.runs == 1
    fc.vmap(f)(x)
    assert function.runs == 2
    fc.jit(lambda a: f(a[0]))(x)
    f(x[1])
    assert function.runs == 2


def test_a_program_first_recorded_inside_runs_outside(x):
    constant = fnp.array(X) + 1
    function = counting(lambda a: a * constant)
    f = fc.jit(function)
    np.testing.assert_array_equal(fc.jit(lambda a: f(a) + 1)(x), x * constant + 1)
    np.testing.assert_array_equal(f(x), x * constant)
    assert function.runs == 1


def test_a_function_that_closes_over_traced_arrays_is_recorded_anew():
    def function(m):
        def outer(w, x):
            inner = m.root.jit(lambda a: a * w)
            return (inner(x) + inner(x * w)).sum()

        return (
            m.root.grad(outer, (0, 1))(np.float32(2), X),
            m.root.vmap(outer)(X[:, 0], X),
            m.root.jit(m.root.grad(outer))(np.float32(2), X),
        )

    same_as_jax(function)


def test_static_arguments_and_keywords_work_inside():
    def function(m):
        f = m.root.jit(lambda x, n, *, scale, add: x**n * scale + add, static_argnames="add")
        f = m.root.jit(f, static_argnums=1, static_argnames="add")
        return m.root.grad(lambda x: f(x, 3, scale=x, add=2).sum())(X)

    same_as_jax(function)


def test_trees_go_in_and_out():
    def function(m):
        f = m.root.jit(lambda t: {"s": t["a"] + t["b"][0], "n": (None, t["a"])})
        return m.root.vmap(lambda a: f({"a": a, "b": [a * 2]}))(X)

    same_as_jax(function)


def test_a_compiled_function_runs_its_derivative_compiled(x):
    f = fc.jit(lambda a: (fnp.sin(a) * a).sum())
    results = [fc.grad(f)(x) for _ in range(3)]
    np.testing.assert_allclose(results[0], np.cos(X) * X + np.sin(X), rtol=1e-5)
    np.testing.assert_array_equal(results[0], results[2])


def test_values_are_not_known_inside():
    with pytest.raises(fc.ConcretizationTypeError, match="call this part outside jit"):
        fc.grad(fc.jit(lambda a: a if a > 0 else -a))(1.0)


# ---- programs of functions made inside others ----


def test_eval_shape_inside_a_transformation():
    def function(m):
        def outer(x):
            shape = m.root.eval_shape(lambda a: {"r": a @ x.T}, x)["r"]
            return x.sum() * shape.shape[0]

        return m.root.grad(outer)(X), m.root.vmap(m.root.jit(lambda x: outer(x[None])))(X)

    same_as_jax(function)


def test_make_jaxpr_of_a_transformed_function(x):
    program = fc.make_jaxpr(fc.grad(lambda a: (a * a).sum()))(x)
    np.testing.assert_array_equal(program(x)[0], 2 * x)
    batched = fc.make_jaxpr(fc.vmap(lambda a: a * 2))(x)
    assert batched.out_avals == [x.aval]


# ---- donation ----


def test_donated_arguments_give_the_same_results(x):
    f = fc.jit(lambda a, b: (a + 1, b["c"] * 2), donate_argnums=0, donate_argnames="b")
    keep = np.array(x)
    first, second = f(x, b={"c": fnp.array(X)})
    np.testing.assert_array_equal(first, keep + 1)
    np.testing.assert_array_equal(second, keep * 2)
    with pytest.raises(
        ValueError, match=r"jit\(<lambda>\): donate_argnums has 2, but the function"
    ):
        fc.jit(lambda a, b: a, donate_argnums=2)


# ---- devices ----


def test_there_is_one_device(x):
    (device,) = fc.devices()
    assert (device.platform, device.id, fc.default_backend()) == ("cpu", 0, "cpu")
    assert fc.local_devices() == fc.devices("cpu")
    assert fc.device_count() == 1
    with pytest.raises(
        RuntimeError, match='unknown platform or engine "tpu"; known ones: native, cpu'
    ):
        fc.devices("tpu")


def test_arrays_are_put_and_got(x):
    tree = fc.device_put({"a": X, "b": (1, None)}, fc.devices()[0])
    assert isinstance(tree["a"], fc.Array)
    assert isinstance(tree["b"][0], fc.Array)
    back = fc.device_get(tree)
    assert isinstance(back["a"], np.ndarray)
    np.testing.assert_array_equal(back["a"], X)
    with pytest.raises(TypeError, match=r"device_put: expected a Device, .* got 'gpu'"):
        fc.device_put(X, "gpu")
    with pytest.raises(TypeError, match="must be an array or a number, got 'a'"):
        fc.device_put("a")


def test_one_function_in_batches_of_several_sizes():
    double = fc.jit(lambda x: fnp.stack([x, x * 2]))
    for size in (2, 3, 2):
        x = np.arange(size, dtype=np.float32)
        wanted = np.stack([x, x * 2], 1)
        np.testing.assert_array_equal(fc.vmap(double)(x), wanted)
        np.testing.assert_array_equal(fc.jit(fc.vmap(double))(x), wanted)
