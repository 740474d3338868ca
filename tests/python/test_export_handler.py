"""Functions of farcall as handlers in real JAX."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall.ffi import export_handler

jax = pytest.importorskip("jax")
jnp = jax.numpy

NUMBERS = itertools.count()


def registered(capsule: Any) -> str:
    name = f"exported_{next(NUMBERS)}"
    jax.ffi.register_ffi_target(name, capsule, platform="cpu")
    return name


def call(capsule: Any, *results: tuple[tuple[int, ...], Any], **options: Any) -> Callable[..., Any]:
    types = [jax.ShapeDtypeStruct(*result) for result in results]
    return jax.ffi.ffi_call(registered(capsule), types, **options)


def softmax(x: Any) -> Any:
    weights = fnp.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_one_handler_for_all_types() -> None:
    handler = export_handler(softmax)
    for shape in [(3,), (4, 5), (2, 3, 4)]:
        x = normal(*shape)
        (y,) = call(handler, (shape, "float32"))(x)
        np.testing.assert_allclose(y, jax.nn.softmax(x), rtol=1e-6)
    with jax.enable_x64(True):
        x = normal(3).astype(np.float64)
        (y,) = call(handler, ((3,), "float64"))(x)
        np.testing.assert_allclose(y, jax.nn.softmax(x), rtol=1e-14)


SPEC = fc.ShapeDtypeStruct((3,), "float32")


@pytest.mark.parametrize(
    "made",
    [
        lambda: export_handler(softmax, SPEC),
        lambda: export_handler(fc.jit(softmax), SPEC),
        lambda: export_handler(fc.jit(softmax, donate_argnums=0)),
        lambda: export_handler(fc.jit(softmax).lower(SPEC)),
        lambda: export_handler(fc.jit(softmax).lower(SPEC).compile()),
        lambda: export_handler(fc.export(softmax)(SPEC)),
        lambda: export_handler(fc.make_program(softmax)(SPEC)),
    ],
)
def test_whatever_holds_a_program(made: Callable[[], Any]) -> None:
    x = normal(3)
    (y,) = call(made(), ((3,), "float32"))(x)
    np.testing.assert_allclose(y, jax.nn.softmax(x), rtol=1e-6)


def powers(x: Any, exponent: int = 2, *, offset: Any = 0.0, signs: tuple[int, ...] = (1,)) -> Any:
    assert isinstance(exponent, int)
    return x**exponent + offset + sum(signs)


@pytest.mark.parametrize("types", [(), (fc.ShapeDtypeStruct((2,), "float32"),)])
def test_attributes_choose_the_program(types: tuple[Any, ...]) -> None:
    names = ("exponent", "offset", "signs")
    called = call(
        export_handler(powers, *types, static_argnames=names),
        ((2,), "float32"),
        vmap_method="broadcast_all" if types else "sequential",
    )
    x = np.array([2, 3], np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(called(x)[0], [5, 10])
        np.testing.assert_array_equal(called(x, exponent=3)[0], [9, 28])
        (y,) = jax.jit(lambda x: called(x, offset=np.float32(0.5), signs=np.array([1, -1])))(x)
        np.testing.assert_array_equal(y, [4.5, 9.5])
    y = jax.vmap(lambda x: called(x, exponent=1)[0])(np.stack([x, x + 1]))
    np.testing.assert_array_equal(y, [[3, 4], [4, 5]])


def test_attributes_of_a_jitted_function() -> None:
    jitted = fc.jit(powers, static_argnames=("exponent", "offset"))
    x = np.array([2, 3], np.float32)
    np.testing.assert_array_equal(
        call(export_handler(jitted), ((2,), "float32"))(x, exponent=1, offset=1.0)[0], [4, 5]
    )
    fixed = export_handler(jitted, x, exponent=1)
    np.testing.assert_array_equal(call(fixed, ((2,), "float32"))(x, offset=2.0)[0], [5, 6])
    text = failure(fixed, x, results=[((2,), "float32")], exponent=3)
    assert 'powers: the function takes the attributes offset, the call has "exponent"' in text
    with pytest.raises(ValueError, match="static_argnames"):
        export_handler(softmax, static_argnames="axis")


def test_trees_are_their_leaves() -> None:
    def f(point: dict[str, Any], *, scale: Any) -> Any:
        return {"sum": (point["x"] + point["y"]) * scale, "first": point["x"]}

    spec = fc.ShapeDtypeStruct((), "float32")
    handler = export_handler(f, {"y": spec, "x": spec}, scale=spec)
    first, total = call(handler, ((), "float32"), ((), "float32"))(
        np.float32(1), np.float32(2), np.float32(10)
    )
    assert (float(first), float(total)) == (1, 30)


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled"])
def test_vmap_of_a_function_of_any_types(method: str) -> None:
    x = normal(4, 3)
    called = call(export_handler(softmax), ((3,), "float32"), vmap_method=method)
    (y,) = jax.vmap(called)(x)
    np.testing.assert_allclose(y, jax.nn.softmax(x), rtol=1e-6)


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap_of_fixed_types_runs_a_batched_program(method: str) -> None:
    def f(matrix: Any, vector: Any) -> Any:  # no function of batches as it stands
        return (matrix @ vector).sum() + vector[0]

    handler = export_handler(
        f, fc.ShapeDtypeStruct((2, 3), "float32"), fc.ShapeDtypeStruct((3,), "float32")
    )
    called = call(handler, ((), "float32"), vmap_method=method)
    matrices, vectors = normal(5, 2, 3), normal(4, 3)
    (y,) = jax.jit(jax.vmap(called, in_axes=(0, None)))(matrices, vectors[0])
    expected = (matrices @ vectors[0]).sum(-1) + vectors[0, 0]
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    (z,) = jax.vmap(jax.vmap(called, in_axes=(None, 0)), in_axes=(0, None))(matrices, vectors)
    expected = np.einsum("bij,vj->bv", matrices, vectors) + vectors[:, 0]
    np.testing.assert_allclose(z, expected, rtol=1e-5, atol=1e-5)


def test_jit_of_a_caller_with_several() -> None:
    double = call(export_handler(lambda x: x + x), ((3,), "float32"))
    both = call(export_handler(lambda x, y: (x * y, x - y)), ((3,), "float32"), ((3,), "float32"))

    @jax.jit
    def f(x: Any) -> Any:
        (twice,) = double(jnp.sin(x))
        product, difference = both(twice, x)
        return jnp.cos(product) + difference

    x = normal(3)
    expected = jnp.cos(2 * jnp.sin(x) * x) + 2 * jnp.sin(x) - x
    np.testing.assert_allclose(f(x), expected, rtol=1e-5, atol=1e-6)


def test_loops_of_jax() -> None:
    step = call(export_handler(lambda x: 0.5 * x + 1), ((2,), "float32"))
    y, _ = jax.lax.scan(lambda x, _: (step(x)[0], None), np.zeros(2, np.float32), length=30)
    np.testing.assert_allclose(y, [2, 2], rtol=1e-6)


def test_an_operand_whose_memory_becomes_the_result() -> None:
    handler = export_handler(lambda x: x[::-1] + x)
    called = call(handler, ((4,), "float32"), input_output_aliases={0: 0})
    (y,) = jax.jit(lambda x: called(x + 0))(np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(y, [3, 3, 3, 3])


def test_many_threads_compile_and_call() -> None:
    handler = export_handler(lambda x: (x * x).sum())
    calls = {n: jax.jit(call(handler, ((), "float32"))) for n in (3, 5, 7)}

    def work(i: int) -> float:
        n = (3, 5, 7)[i % 3]
        return float(calls[n](np.full(n, 2, np.float32))[0]) - 4 * n

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(200))) == {0}


def test_callbacks_of_python_run_on_the_threads_of_xla() -> None:
    seen: list[float] = []

    def host(x: Any) -> Any:
        seen.append(float(x.sum()))
        return np.asarray(x) * 2

    def f(x: Any) -> Any:
        return fc.pure_callback(host, fc.ShapeDtypeStruct(x.shape, x.dtype), x) + 1

    (y,) = jax.jit(call(export_handler(f), ((2,), "float32")))(np.array([1, 2], np.float32))
    np.testing.assert_array_equal(y, [3, 5])
    assert seen == [3]


def test_a_foreign_call_inside(handlers: Any) -> None:
    del handlers
    inner = fc.ffi.ffi_call("scale", fc.ShapeDtypeStruct((3,), "float32"))
    handler = export_handler(lambda x: inner(x, factor=np.float32(3)) + 1)
    (y,) = call(handler, ((3,), "float32"))(np.ones(3, np.float32))
    np.testing.assert_array_equal(y, [4, 4, 4])


def test_the_same_handler_serves_farcall() -> None:
    name = f"exported_{next(NUMBERS)}"
    fc.ffi.register_ffi_target(name, export_handler(softmax))
    x = normal(2, 3)
    y = fc.ffi.ffi_call(name, fc.ShapeDtypeStruct((2, 3), "float32"))(x)
    np.testing.assert_allclose(y, jax.nn.softmax(x), rtol=1e-6)


def failure(
    capsule: Any, *args: Any, results: Any = (((3,), "float32"),), **attributes: Any
) -> str:
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.block_until_ready(call(capsule, *results)(*args, **attributes))
    return str(caught.value)


def test_what_is_wrong_with_a_call() -> None:
    fixed = export_handler(softmax, SPEC)
    assert "INVALID_ARGUMENT: farcall: softmax: operand 0 should be f32[3]" in failure(
        fixed, np.ones(4, np.float32)
    )
    assert "the function takes 1 operand, the call has 2" in failure(fixed, normal(3), normal(3))
    assert "the function returns 1 result, the call expects 2" in failure(
        fixed, normal(3), results=[((3,), "float32")] * 2
    )
    assert "result 0 is f32[3], the call expects f32[4]" in failure(
        fixed, normal(3), results=[((4,), "float32")]
    )
    assert 'the function takes no attributes, the call has "eps"' in failure(
        fixed, normal(3), eps=1.0
    )
    named = export_handler(lambda x: x.reshape(2), name="shaped")
    assert "farcall: shaped: " in failure(named, normal(3))


def test_what_the_function_raises() -> None:
    def refuses(x: Any) -> Any:
        raise ValueError(f"shapes like {x.shape} are refused")

    text = failure(export_handler(refuses), normal(3))
    assert "INVALID_ARGUMENT: farcall: refuses: ValueError: shapes like (3,) are refused" in text

    def unfinished(x: Any) -> Any:
        raise NotImplementedError("later")

    assert "UNIMPLEMENTED: farcall: unfinished" in failure(export_handler(unfinished), normal(3))

    def host(x: Any) -> Any:
        raise KeyError("lost")

    def calls(x: Any) -> Any:
        return fc.pure_callback(host, fc.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert "KeyError" in failure(export_handler(calls), normal(3))


def test_what_cannot_be_exported() -> None:
    with pytest.raises(TypeError, match="export_handler: expected a function"):
        export_handler(3)
    with pytest.raises(TypeError, match="a program has its types already"):
        export_handler(fc.make_program(softmax)(SPEC), SPEC)
    keys = fc.make_program(lambda key: key)(fc.random.key(0))
    with pytest.raises(ValueError, match="operand 0 is key<fry>"):
        export_handler(keys)
