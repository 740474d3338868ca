"""Functions of JAX run by farcall, with JAX as oracle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
lax = jax.lax


def data(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape)


def network(params: dict[str, Any], x: Any) -> Any:
    h = jax.nn.gelu(x @ params["w"] + params["b"])
    h = jax.nn.log_softmax(h * jax.nn.sigmoid(h))
    return (h * jnp.where(h > -1, h, 0.5)).mean()


def rnn(x: Any) -> Any:
    def step(carry: Any, t: Any) -> Any:
        carry = jnp.tanh(carry * t + x)
        return carry, carry.sum()

    return lax.scan(step, x, jnp.arange(3.0), reverse=True)


def pool(computation: Any, init: float, x: Any) -> Any:
    return lax.reduce_window(x, init, computation, (2, 2), (1, 2), "SAME")


def doubled(x: Any, limit: Any) -> Any:
    """One element of a loop; under vmap, the elements end at different times."""
    return lax.while_loop(
        lambda state: state[0].sum() < limit,
        lambda state: (state[0] * 2, state[1] + 1),
        (x, 0),
    )


KEY = jax.random.key(5)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "network": (network, ({"w": data(3, 4), "b": data(4)}, data(2, 3))),
    "scan": (rnn, (data(3),)),
    "while": (
        lambda x: lax.while_loop(lambda y: y.sum() < 9, lambda y: y * y + x, x),
        (np.ones(2),),
    ),
    "fori": (lambda x: lax.fori_loop(0, 4, lambda i, y: y * 2 + i, x), (data(3),)),
    "cond": (lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), (True, data(3))),
    "switch": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x), (2, data(3))),
    "indexing": (
        lambda x, i: (x[i], x[::2], x[1:, None], x.at[i].add(1.0), x[-1]),
        (data(4), [0, 2]),
    ),
    "updates": (lambda x: x.at[0].set(1.0).at[1].multiply(3.0).at[:2].max(0.5), (data(4),)),
    "order": (lambda x: (jnp.sort(x, axis=0), jnp.argsort(x), x.argmax(axis=1)), (data(3, 4),)),
    "reductions": (
        lambda x: (x.sum(0), x.max(), x.min(1), x.prod(), (x > 0).any(0), (x > 0).all(), x.var()),
        (data(3, 4),),
    ),
    "cumulative": (lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x), lax.cummax(x)), (data(3, 4),)),
    "shapes": (
        lambda x: (
            x.T,
            x.reshape(4, 3),
            jnp.stack([x, x]),
            jnp.pad(x, 1),
            x[:, ::-1],
            jnp.tile(x, 2),
        ),
        (data(3, 4),),
    ),
    "products": (
        lambda x: (jnp.einsum("ij,kj->ik", x, x), x @ x.T, jnp.dot(x[0], x[1])),
        (data(3, 4),),
    ),
    "special": (
        lambda x: (
            jax.scipy.special.erf(x),
            lax.lgamma(x),
            lax.rsqrt(x),
            x**3,
            x**0.5,
            jnp.expm1(x),
        ),
        (np.abs(data(3)) + 1,),
    ),
    "integers": (
        lambda n: (n // 2, n % 3, n & 6, n << 1, ~n, jnp.bitwise_count(n)),
        (np.arange(9),),
    ),
    "dtypes": (
        lambda x: (x.astype("float32"), x.astype(int), x > 0, lax.bitcast_convert_type(x, "int64")),
        (data(3),),
    ),
    "complex": (lambda x: (jnp.abs(x + 2j), jnp.conj(x * 1j).imag, jnp.exp(1j * x)), (data(3),)),
    "checkpoint": (lambda x: jax.checkpoint(lambda x: jnp.sin(x) ** 2)(x), (data(3),)),
    "norm": (lambda x: jnp.linalg.norm(x, axis=0), (data(3, 4),)),
    "dynamic": (
        lambda x, i: (
            lax.dynamic_slice(x, (i, 0), (2, 2)),
            lax.dynamic_update_slice(x, x[:1], (i, 0)),
        ),
        (data(3, 4), 1),
    ),
    "convolution": (
        lambda x, k: lax.conv_general_dilated(x, k, (1, 2), "SAME", feature_group_count=2),
        (data(2, 4, 5, 6), data(6, 2, 3, 3)),
    ),
    "linear algebra": (
        lambda x: (
            jnp.linalg.solve(x @ x.T + 2 * jnp.eye(3), x[0]),
            jnp.linalg.cholesky(x @ x.T + 2 * jnp.eye(3)),
            jnp.linalg.det(x),
            jnp.linalg.eigvalsh(x + x.T),
            jnp.linalg.svd(x)[1],
            jnp.abs(jnp.linalg.qr(x)[1]),
        ),
        (data(3, 3),),
    ),
    "determinant": (jnp.linalg.det, (data(4, 4),)),
    "fourier": (lambda x: (jnp.fft.fft(x), jnp.fft.rfft(x), jnp.fft.irfft(x + 0j)), (data(8),)),
    "windows": (
        lambda x: (
            lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 1), "VALID"),
            lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 2), "SAME"),
        ),
        (data(4, 5),),
    ),
    "search": (
        lambda x: (jnp.interp(x, jnp.arange(4.0), jnp.arange(4.0) ** 2), lax.top_k(x, 2)),
        (data(5),),
    ),
    "random": (
        lambda key: (
            jax.random.normal(jax.random.wrap_key_data(key), (5,)),
            jax.random.uniform(jax.random.split(jax.random.fold_in(jax.random.key(3), 7))[1], (3,)),
        ),
        (np.array([1, 2], np.uint32),),
    ),
    "reshape of reordered dimensions": (lambda x: lax.reshape(x, (12,), (1, 0)), (data(3, 4),)),
    "vmapped convolution": (
        jax.vmap(
            lambda x, k: lax.conv_general_dilated(
                x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
        ),
        (data(3, 2, 4, 4, 2), data(3, 2, 2, 2, 3)),
    ),
    "applied functions": (
        lambda x, i: (
            x.at[i].apply(lambda v: v * 2 + 1),
            x.at[1, 2].apply(jnp.exp),
            x.at[0].apply(lambda v: v),
        ),
        (data(4, 3), [0, 2, 0, 9]),
    ),
    "subtracted updates": (lambda x, i: x.at[i].subtract(2.0), (data(4), [1, 1])),
    "pooling": (
        lambda x: (pool(lax.max, -jnp.inf, x), pool(lax.min, jnp.inf, x), pool(lax.mul, 1.0, x)),
        (data(4, 5),),
    ),
    "derivatives of pooling": (
        lambda x: (
            jax.grad(lambda x: (pool(lax.max, -jnp.inf, x) ** 2).sum())(x),
            jax.grad(lambda x: (pool(lax.min, jnp.inf, x) ** 2).sum())(x),
            jax.jvp(lambda x: pool(lax.max, -jnp.inf, x), (x,), (x * x,)),
        ),
        (data(4, 5),),
    ),
    "reductions by functions": (
        lambda x: (
            lax.reduce(x, np.float64(0), jnp.hypot, (0,)),
            lax.reduce_window(
                (x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (2, 2), (1, 1), "SAME"
            ),
        ),
        (data(4, 5),),
    ),
    "collectives of vmap": (
        jax.vmap(
            lambda x: (lax.psum(x, "i"), lax.pmax(x, "i"), lax.pmin(x, "i"), lax.pmean(x, "i")),
            axis_name="i",
        ),
        (data(3, 4),),
    ),
    "collectives over two axes": (
        jax.vmap(jax.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="i"), axis_name="j"),
        (data(3, 4),),
    ),
    "vmapped while": (jax.vmap(doubled), (np.arange(1.0, 7.0).reshape(3, 2), [3.0, 90.0, 1.0])),
    "twice vmapped while": (
        jax.vmap(jax.vmap(doubled), in_axes=(0, None)),
        (np.arange(1.0, 13.0).reshape(2, 3, 2), [3.0, 90.0, 1.0]),
    ),
    "a key closed over": (lambda x: x + jax.random.normal(KEY, (3,)), (data(3),)),
    "arrays of keys": (
        lambda i: jax.vmap(
            lambda i: jax.random.uniform(jax.random.split(jax.random.fold_in(KEY, i))[1], (2,))
        )(i),
        ([1, 5, 2],),
    ),
    "literals of bools": (lambda x: jax.random.poisson(KEY, 2.0, (3,)) + x, ([1, 2, 3],)),
    "iterative solver": (
        lambda x: jax.scipy.sparse.linalg.cg(lambda v: x @ (x.T @ v) + 4 * v, x[0])[0],
        (data(3, 3),),
    ),
    "eigenvalues": (
        lambda x: (jnp.sort(jnp.linalg.eig(x)[0]), jnp.trace(jax.scipy.linalg.schur(x)[0])),
        (data(4, 4),),
    ),
    "gamma": (
        lambda a: (
            jax.random.gamma(KEY, a),
            jax.vmap(lambda key, a: jax.random.loggamma(key, a))(jax.random.split(KEY, 3), a),
            jax.random.uniform(jax.random.clone(KEY), (2,)),
        ),
        (np.array([0.3, 1.0, 4.0]),),
    ),
    "functions with tables": (
        lambda x: (jax.scipy.special.dawsn(x), jax.scipy.special.erfcx(x)),
        (data(5),),
    ),
    "broadcast along dimensions of size one": (
        lambda x: (
            lax.pow(x[:, :1], x[:1] ** 2),
            lax.bitwise_and(x > 0, x[:, :1] > 0),
            lax.betainc(x[:1] ** 2, x[:, :1] ** 2, jnp.full((3, 4), 0.5)),
        ),
        (np.abs(data(3, 4)),),
    ),
    "tridiagonal": (
        lambda x: (
            lax.linalg.tridiagonal_solve(x[0], 4 + x[1], x[2], x.T),
            lax.linalg.tridiagonal(x[:3, :3])[1],
        ),
        (data(3, 4),),
    ),
    "less common": (
        lambda x: (
            jnp.unstack(x, axis=1),
            x + 0 * lax.empty((3, 4), np.float64),
            lax.approx_max_k(x, 2),
            lax.composite(jnp.sin, "my.sin")(x),
            lax.conj(x),
            lax.pow(x, np.full((3, 4), 2)),
            lax.ragged_dot(x, jnp.ones((2, 4, 2)), jnp.array([1, 2])),
            lax.rev(x, (1, 0)),
            lax.bitcast_convert_type(x, "int16"),
        ),
        (data(3, 4),),
    ),
    "rounding": (lambda x: (jnp.round(x * 3), jnp.clip(x, -1, 0.5), jnp.floor(x)), (data(6),)),
    "total order": (
        lambda x: jnp.searchsorted(x, jnp.array([-0.0, 0.0, jnp.nan, 2.0]), side="right"),
        (np.array([-1.0, -0.0, 0.0, 1.0, np.nan]),),
    ),
    "closure": (lambda x: x + jnp.asarray(data(3)), (data(3),)),
    "keywords": (lambda x: {"a": [x, (x + 1,)], "b": x.sum()}, (data(3),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_jax(name: str, x64: None) -> None:
    function, args = FUNCTIONS[name]
    args = jax.tree.map(np.asarray, args, is_leaf=lambda x: isinstance(x, list))
    expected = function(*jax.tree.map(jnp.asarray, args))
    for run in (fc.from_jax(function), fc.jit(fc.from_jax(function))):
        found = run(*args)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


DIFFERENTIABLE = [
    *("network", "scan", "fori", "indexing", "updates", "cumulative", "shapes", "products"),
    *("linear algebra", "fourier", "windows", "search"),
    *("special", "checkpoint", "norm", "convolution", "reductions", "subtracted updates"),
    *("reshape of reordered dimensions", "vmapped convolution"),
    *("collectives over two axes", "functions with tables"),
]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_are_those_of_jax(name: str, x64: None) -> None:
    function, args = FUNCTIONS[name]
    first, rest = args[0], [np.asarray(arg) for arg in args[1:]]

    def total(np_like: Any, f: Callable[..., Any]) -> Callable[..., Any]:
        def run(first: Any) -> Any:
            leaves = [x for x in jax.tree.leaves(f(first, *rest)) if x.dtype == np.float64]
            return sum((np_like.sin(x).sum() for x in leaves), np_like.zeros(()))

        return run

    found = fc.grad(total(fnp, fc.from_jax(function)))(jax.tree.map(fnp.asarray, first))
    expected = jax.grad(total(jnp, function))(jax.tree.map(jnp.asarray, first))
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_vmap_of_it(x64: None) -> None:
    params, x = FUNCTIONS["network"][1]
    batch = np.stack([x, -x, 2 * x])
    found = fc.vmap(fc.from_jax(network), in_axes=(None, 0))(params, batch)
    np.testing.assert_allclose(found, jax.vmap(network, (None, 0))(params, batch), rtol=1e-12)


def test_applied_functions_have_derivatives() -> None:
    x, index = np.array([0.5, 1.0, 2.0], np.float32), np.array([0, 2, 0])
    found = fc.grad(fc.from_jax(lambda x: x.at[index].apply(jnp.sin).sum()))(x)
    expected = jax.grad(lambda x: jnp.sin(jnp.sin(x[0])) + x[1] + jnp.sin(x[2]))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_keys_go_in_and_out() -> None:
    drawn = fc.from_jax(lambda key: jax.random.normal(key, (2,)))
    for key in (KEY, fc.random.key(5)):
        np.testing.assert_allclose(drawn(key), jax.random.normal(KEY, (2,)), rtol=1e-6)
    parts = fc.from_jax(jax.random.split)(KEY)
    np.testing.assert_array_equal(
        fc.random.key_data(parts), jax.random.key_data(jax.random.split(KEY))
    )


def test_pooling_of_narrow_floats_and_bools() -> None:
    x = np.random.default_rng(0).standard_normal((4, 5)).astype("float32")
    for f in (
        lambda x: pool(lax.max, -jnp.inf, x.astype("bfloat16")).astype("float32"),
        lambda x: pool(lax.max, False, x > 0),
    ):
        np.testing.assert_array_equal(fc.from_jax(f)(x), f(x))


def test_a_rule_of_custom_jvp_is_kept(x64: None) -> None:
    @jax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return f(*primals), 100 * tangents[0] * primals[0]

    np.testing.assert_array_equal(fc.grad(fc.from_jax(f), (0, 1))(2.0, 3.0), [200, 0])


def test_a_program_of_make_jaxpr(x64: None) -> None:
    program = jax.make_jaxpr(lambda x, y: (x + y, jnp.sin(x)))(1.0, 2.0)
    total, sine = fc.from_jax(program)(1.0, 2.0)
    assert float(total) == 3
    assert float(sine) == np.sin(1.0)
    with pytest.raises(TypeError, match="the program takes 2 arrays, got 1"):
        fc.from_jax(program)(1.0)


def test_there_and_back(x64: None) -> None:
    params, x = FUNCTIONS["network"][1]
    f = fc.to_jax(fc.from_jax(network))
    found, expected = (jax.grad(g)(params, x) for g in (f, network))
    np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-9)


def test_what_has_no_counterpart() -> None:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return x

    f.defvjp(lambda x: (x, None), lambda _, ct: (2 * ct,))
    with pytest.raises(NotImplementedError, match="no counterpart of JAX's operation \"custom_vjp"):
        fc.from_jax(f)(1.0)
    with pytest.raises(NotImplementedError, match='"pure_callback"'):
        fc.from_jax(lambda x: jax.pure_callback(np.sin, x, x))(np.float32(1))
    with pytest.raises(TypeError, match="from_jax: expected a function"):
        fc.from_jax(3)


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match="from_jax: needs JAX"):
        fc.from_jax(lambda x: x)
