"""closure_convert, custom_gradient, ensure_compile_time_eval and print_saved_residuals."""

from __future__ import annotations

import functools
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall.ad_checkpoint import print_saved_residuals, saved_residuals
from farcall.custom_derivatives import closure_convert

# ---- closure_convert -----------------------------------------------------------------------------


def with_rule(module: Any, numpy: Any) -> Any:
    """The gradient of a function with a rule over what a callback closes over."""

    @functools.partial(module.custom_vjp, nondiff_argnums=(0,))
    def applied(f: Any, x: Any, *consts: Any) -> Any:
        return f(x, *consts)

    applied.defvjp(
        lambda f, x, *consts: (f(x, *consts), (x, consts)),
        lambda f, res, ct: (ct * 100.0, *(2.0 * ct for _ in res[1])),
    )

    def outer(y: Any) -> Any:
        f, consts = module.closure_convert(lambda x: x * numpy.sin(y), 1.0)
        return applied(f, 3.0, *consts)

    return module.jit(module.grad(outer))(2.0), module.grad(outer)(2.0)


def test_what_a_function_closes_over_gets_the_cotangents_of_the_rule() -> None:
    assert float(with_rule(fc, fnp)[0]) == float(with_rule(jax, jnp)[0]) == 2.0
    assert float(with_rule(fc, fnp)[1]) == float(with_rule(jax, jnp)[1])


def test_integers_and_constants_stay_in_the_closure() -> None:
    def outer(y: Any, n: Any) -> Any:
        scale = fnp.array([1.0, 2.0])
        f, consts = closure_convert(lambda x: {"r": (x * y + n) * scale}, 1.0)
        assert len(consts) == 1
        return f(5.0, *consts)["r"]

    np.testing.assert_array_equal(fc.jit(outer)(2.0, 3), [13.0, 26.0])


def test_a_converted_function_checks_its_arguments() -> None:
    f, consts = closure_convert(lambda x: x + 1.0, 1.0)
    assert consts == []
    with pytest.raises(TypeError, match="recorded for arguments of structure"):
        f((1.0, 2.0))
    with pytest.raises(TypeError, match="expected a function, got 3"):
        closure_convert(3, 1.0)  # type: ignore[arg-type]


# ---- custom_gradient -----------------------------------------------------------------------------


def gradients(module: Any, numpy: Any) -> Any:
    @module.custom_gradient
    def f(x: Any) -> Any:
        y = numpy.cos(x)
        return x**2, lambda g: (g * y,)

    @module.custom_gradient
    def single(x: Any) -> Any:
        return x**2, lambda g: g * 10.0

    @module.custom_gradient
    def several(x: Any, y: Any) -> Any:
        return {"a": x * y, "b": x}, lambda g: (g["a"] * 3.0 + g["b"], g["a"] * x)

    x = np.float32(1.5)
    return (
        module.value_and_grad(f)(x),
        module.jit(module.grad(f))(x),
        module.grad(single)(x),
        module.vmap(module.grad(f))(np.float32([1, 2])),
        module.grad(lambda a, b: sum(several(a, b).values()), (0, 1))(x, np.float32(2)),
        f(x),
    )


def test_a_gradient_given_with_the_result_is_used() -> None:
    ours, theirs = gradients(fc, fnp), gradients(jax, jnp)
    for a, b in zip(fc.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_what_custom_gradient_refuses() -> None:
    with pytest.raises(TypeError, match="must return a pair"):
        fc.custom_gradient(lambda x: x)(1.0)
    wrong = fc.custom_gradient(lambda x, y: (x * y, lambda g: (g,)))
    with pytest.raises(TypeError, match="a cotangent for each of the 2 arrays"):
        fc.grad(wrong)(1.0, 2.0)


# ---- ensure_compile_time_eval --------------------------------------------------------------------


def test_known_values_are_computed_while_a_function_is_recorded() -> None:
    @fc.jit
    def f(x: Any) -> Any:
        with fc.ensure_compile_time_eval():
            size = fnp.arange(3).sum()
            assert not size.is_traced
            assert (x + 1).is_traced
            is_large = bool(size > 2)
        assert (fnp.ones(2) + 1).is_traced
        return x * int(size) if is_large else x

    assert f(2.0) == 6.0


def test_it_is_a_decorator_and_nests_and_passes_errors() -> None:
    @fc.ensure_compile_time_eval()
    def table() -> Any:
        with fc.ensure_compile_time_eval():
            pass
        return fc.vmap(lambda i: fc.jit(fnp.square)(i))(fnp.arange(4))

    program = fc.make_jaxpr(lambda x: x + table())(fnp.arange(4))
    assert program.num_equations == 1

    def fails(x: Any) -> Any:
        with fc.ensure_compile_time_eval():
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fc.jit(fails)(1.0)
    assert not (fnp.ones(2) + 1).is_traced
    assert fc.grad(lambda x: x * fc.ensure_compile_time_eval()(fnp.square)(x))(3.0) == 27.0


# ---- what reverse mode keeps ---------------------------------------------------------------------


def test_saved_residuals_name_their_places() -> None:
    def f(x: Any, params: Any) -> Any:
        return fnp.sin(fnp.sin(x) * params["w"])

    x = np.float32([1, 2, 3])
    found = saved_residuals(f, x, {"w": x})
    assert {str(aval) for aval, _ in found} == {"float32[3]"}
    texts = [text for _, text in found]
    assert any(text == "from argument 1['w']" for text in texts), texts
    assert any(text.startswith("output of ") and __file__ in text for text in texts), texts


def test_print_saved_residuals_follows_the_policy(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        return fnp.sin(fnp.sin(x))

    print_saved_residuals(fc.checkpoint(f), np.float32([1, 2]))
    assert capsys.readouterr().out == "f32[2] from argument 0\n"
    named = fc.checkpoint(
        lambda x: fnp.sin(fc.ad_checkpoint.checkpoint_name(fnp.sin(x), "inner")),
        policy=fc.checkpoint_policies.save_only_these_names("inner"),
    )
    print_saved_residuals(named, np.float32([1, 2]))
    assert len(capsys.readouterr().out.splitlines()) == 2
    with pytest.raises(TypeError, match="expected a function"):
        print_saved_residuals(1, 2.0)  # type: ignore[arg-type]
