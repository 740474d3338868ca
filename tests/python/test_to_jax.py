"""Functions of farcall inside programs of real JAX, with JAX's own as oracle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.lax as flax
import farcall.numpy as fnp
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy


def layer(np_like: Any, x: Any, w: Any, shift: Any) -> Any:
    """An RMS norm, a product and a nonlinear function."""
    norm = x / np_like.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-3)
    return np_like.tanh(norm @ w + shift)


@fc.to_jax
def theirs(x: Any, w: Any, shift: Any) -> Any:
    return layer(fnp, x, w, shift)


def own(x: Any, w: Any, shift: Any) -> Any:
    return layer(jnp, x, w, shift)


def arguments() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((2, 3)), rng.standard_normal((3, 3)), rng.standard_normal(3)


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    """A program of JAX around it: two layers, more work before and after."""

    def run(x: Any, w: Any, shift: Any) -> Any:
        y = f(jnp.sin(x), w, shift)
        return jnp.sum(f(y, w.T, shift * 2) ** 3)

    return run


def vmapped(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w, shift: jax.vmap(f, (None, 0, None))(x, jnp.stack([w, 2 * w, -w]), shift)


TRANSFORMATIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "call": lambda f: f,
    "jit": jax.jit,
    "grad": lambda f: jax.grad(f, (0, 1, 2)),
    "jit of grad": lambda f: jax.jit(jax.grad(f, (0, 1, 2))),
    "jacfwd": lambda f: jax.jacfwd(f, 1),
    "jacrev": lambda f: jax.jacrev(f, 1),
    "hessian": lambda f: jax.hessian(f, 2),
    "reverse over reverse": lambda f: jax.jacrev(jax.grad(f, 2), 1),
    "forward over reverse": lambda f: jax.jacfwd(jax.grad(f, 2), 0),
    "third derivative": lambda f: jax.jacfwd(jax.jacrev(jax.grad(f, 2), 2), 2),
    "vmap": vmapped,
    "vmap of grad": lambda f: vmapped(jax.grad(f, 1)),
    "grad of vmap": lambda f: jax.grad(lambda *args: vmapped(f)(*args).sum(), 1),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f), 1),
    "linearize": lambda f: lambda *args: jax.linearize(f, *args)[1](*args),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_all_of_jax_goes_through(name: str, x64: None) -> None:
    transform = TRANSFORMATIONS[name]
    found = transform(loss(theirs))(*arguments())
    expected = transform(loss(own))(*arguments())
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), found, expected
    )


def test_vmap_over_any_axes(x64: None) -> None:
    x, w, shift = arguments()
    xs = np.stack([x, -x, 2 * x, 3 * x], axis=2)
    axes = ((2, None, None), 1)
    found = jax.vmap(theirs, *axes)(xs, w, shift)
    np.testing.assert_allclose(found, jax.vmap(own, *axes)(xs, w, shift), rtol=1e-12)
    nested = jax.vmap(jax.vmap(theirs, (2, None, None)), (None, 0, None))
    expected = jax.vmap(jax.vmap(own, (2, None, None)), (None, 0, None))
    ws = np.stack([w, w.T])
    np.testing.assert_allclose(nested(xs, ws, shift), expected(xs, ws, shift), rtol=1e-12)


def test_loops_of_jax_around_it(x64: None) -> None:
    def last(f: Callable[..., Any]) -> Callable[..., Any]:
        def run(x: Any, w: Any, shift: Any) -> Any:
            return jax.lax.scan(lambda x, s: (f(x, w, s), None), x, jnp.stack([shift] * 4))[0].sum()

        return run

    found = jax.jit(jax.grad(last(theirs), 1))(*arguments())
    np.testing.assert_allclose(found, jax.grad(last(own), 1)(*arguments()), rtol=1e-9)


def test_trees_integers_and_keywords(x64: None) -> None:
    @fc.to_jax
    def f(params: dict[str, Any], *, index: Any, scale: Any = 1.0) -> Any:
        return {"row": params["w"][index] * scale, "index": index + 1}

    w = np.arange(6.0).reshape(3, 2)
    found = f({"w": w}, index=1, scale=2.0)
    np.testing.assert_array_equal(found["row"], 2 * w[1])
    assert int(found["index"]) == 2
    gradient = jax.grad(lambda p: f(p, index=1, scale=3.0)["row"].sum())({"w": w})
    np.testing.assert_array_equal(gradient["w"], [[0, 0], [3, 3], [0, 0]])


def test_rules_of_farcall_are_used(x64: None) -> None:
    @fc.custom_vjp
    def f(x: Any) -> Any:
        return fnp.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (100 * ct * x,))
    assert float(jax.grad(fc.to_jax(f))(2.0)) == 200


def test_a_foreign_call_with_a_definition(handler_library: Any) -> None:
    fc.ffi.register_ffi_target("to_jax_scale", fc.ffi.pycapsule(handler_library.scale))
    call = fc.ffi.define(
        "to_jax_scale", shape="[...] -> [...]", linear_in=0, vmap_method="sequential"
    )

    @fc.to_jax
    def f(x: Any) -> Any:
        return call(x, factor=np.float32(3)) * x

    def total(x: Any) -> Any:
        return jax.vmap(f)(x).sum()

    np.testing.assert_allclose(jax.grad(total)(np.ones((2, 3), np.float32)), np.full((2, 3), 6.0))


def test_while_loops_have_forward_mode(x64: None) -> None:
    @fc.to_jax
    def f(x: Any) -> Any:
        return flax.while_loop(lambda y: y < 10, lambda y: y * y, x)

    value, tangent = jax.jvp(f, (1.5,), (1.0,))
    assert float(value) == 1.5**8
    np.testing.assert_allclose(tangent, 8 * 1.5**7)
    with pytest.raises(
        ValueError, match="reverse-mode differentiation does not work for while_loop"
    ):
        jax.grad(f)(1.5)


def test_what_it_closes_over_is_passed_on(x64: None) -> None:
    table = fnp.asarray(np.arange(10000.0))
    f = fc.to_jax(lambda i: table[i])
    assert float(jax.jit(f)(7)) == 7
    assert "farcall" in str(jax.make_jaxpr(f)(7))


def test_what_jax_saves_holds_the_program(x64: None) -> None:
    allowed = jax.export.DisabledSafetyCheck.custom_call("farcall.program")
    exported = jax.export.export(jax.jit(theirs), disabled_checks=[allowed])(*arguments())
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_allclose(again.call(*arguments()), own(*arguments()), rtol=1e-12)


def test_callbacks_live_as_long_as_what_jax_compiled(x64: None) -> None:
    def make() -> Any:
        def double(x: Any) -> Any:
            return 2 * np.asarray(x)

        return jax.jit(
            fc.to_jax(lambda x: fc.pure_callback(double, fc.ShapeDtypeStruct(x.shape, x.dtype), x))
        )

    f = make()
    np.testing.assert_array_equal(f(np.ones(2)), [2, 2])
    np.testing.assert_array_equal(f(np.zeros(2)), [0, 0])


def test_another_flag_is_another_program() -> None:
    f = fc.to_jax(lambda x: x + fnp.zeros(1).astype("float32"))
    assert f(np.float32(1)).dtype == np.float32
    with fc.enable_x64(), jax.enable_x64(True):
        assert f(np.float64(1)).dtype == np.float64


@pytest.fixture
def noted() -> tuple[list[float], Callable[..., Any]]:
    """A function of JAX that squares a number and notes it down, and the list of its notes."""
    notes: list[float] = []

    def square(x: Any) -> Any:
        fc.debug.callback(lambda v: notes.append(float(v)), x)
        return x * x

    return notes, fc.to_jax(square)


EFFECTS = {
    "eager": (lambda f: f(np.float32(3)), 9, [3]),
    "jit": (lambda f: jax.jit(f)(np.float32(3)), 9, [3]),
    "unused": (lambda f: jax.jit(lambda x: (f(x), x)[1])(np.float32(3)), 3, [3]),
    "twice": (lambda f: jax.jit(lambda x: f(x) + f(x))(np.float32(3)), 18, [3, 3]),
    "vmap": (lambda f: jax.vmap(f)(np.float32([1, 2, 3])), [1, 4, 9], [1, 2, 3]),
    "grad": (lambda f: jax.jit(jax.grad(f))(np.float32(3)), 6, [3]),
    "hessian": (lambda f: jax.hessian(f)(np.float32(3)), 2, [3]),
    "vmap of grad": (lambda f: jax.vmap(jax.grad(f))(np.float32([1, 2])), [2, 4], [1, 2]),
    "scan": (
        lambda f: jax.lax.scan(lambda c, _: (f(c), c), np.float32(2), length=3)[0],
        256,
        [2, 4, 16],
    ),
    "the branch not taken": (
        lambda f: jax.jit(lambda x: jax.lax.cond(x > 5, f, lambda v: v, x))(np.float32(3)),
        3,
        [],
    ),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects_happen_once(name: str, noted: tuple[list[float], Callable[..., Any]]) -> None:
    notes, square = noted
    run, value, expected = EFFECTS[name]
    np.testing.assert_array_equal(jax.block_until_ready(run(square)), value)
    assert sorted(notes) == expected


@pytest.fixture
def ordered() -> tuple[list[float], Callable[..., Any]]:
    """The recorded values, in order."""
    notes: list[float] = []

    def square(x: Any) -> Any:
        fc.debug.callback(lambda v: notes.append(float(v)), x, ordered=True)
        return x * x

    return notes, fc.to_jax(square)


def test_ordered_effects_keep_their_order(ordered: tuple[list[float], Callable[..., Any]]) -> None:
    from jax.experimental import io_callback

    notes, square = ordered

    def theirs(x: Any) -> None:
        io_callback(lambda v: notes.append(-float(v)), None, x, ordered=True)

    @jax.jit
    def f(x: Any) -> Any:
        square(x)  # its result is not used
        theirs(x + 1)
        y = jax.lax.fori_loop(0, 3, lambda i, c: square(x + i) + 0 * c, x)
        theirs(x + 2)
        return jax.lax.cond(y > 0, square, lambda v: v, x + 9)

    for _ in range(3):
        notes.clear()
        assert float(jax.block_until_ready(f(np.float32(1)))) == 100
        jax.effects_barrier()
        assert notes == [1, -2, 1, 2, 3, -3, 10]


def test_ordered_effects_by_themselves_and_with_derivatives(
    ordered: tuple[list[float], Callable[..., Any]],
) -> None:
    notes, square = ordered
    for i in range(5):
        square(np.float32(i))
    assert float(jax.grad(square)(np.float32(7))) == 14
    jax.effects_barrier()
    assert notes == [0, 1, 2, 3, 4, 7]
    notes.clear()
    np.testing.assert_array_equal(jax.vmap(square)(np.array([3, 1, 2], np.float32)), [9, 1, 4])
    jax.effects_barrier()
    assert notes == [3, 1, 2]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="result 0 is float64, which JAX makes 32 bits wide"):
        fc.to_jax(lambda x: x.astype("float64"))(np.float32(1))
    with pytest.raises(TypeError, match="to_jax: expected a function"):
        fc.to_jax(3)  # type: ignore[arg-type]
    endless: dict[str, Any] = {}
    endless["itself"] = endless
    with pytest.raises(RecursionError):
        fc.to_jax(lambda x: x)(endless)


def test_an_error_of_a_handler_reaches_jax(handlers: Any) -> None:
    del handlers
    call = fc.ffi.ffi_call("fail", fc.ShapeDtypeStruct((), "float32"))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"farcall: .*fail"):
        jax.block_until_ready(fc.to_jax(lambda x: call(x, code=3, text="fails"))(np.float32(1)))


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match="to_jax: needs JAX"):
        fc.to_jax(lambda x: x)


def test_nothing_of_jax_is_imported_before() -> None:
    import subprocess

    code = "import farcall, sys; assert 'jax' not in sys.modules; farcall.to_jax"
    subprocess.run([sys.executable, "-c", code], check=True)
