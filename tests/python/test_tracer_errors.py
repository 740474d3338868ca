"""Values of traced arrays that Python or numpy ask for: JAX's exceptions, and what helps."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest

USES = {
    "if": (lambda x: x if x > 0 else -x, "TracerBoolConversionError", "lax.cond in place of if"),
    "and": (lambda x: x > 0 and x < 1, "TracerBoolConversionError", "&, | and ~"),
    "range": (lambda x: list(range(x)), "TracerIntegerConversionError", "lax.fori_loop"),
    "list index": (lambda x: [1, 2][x], "TracerIntegerConversionError", "index arrays, not lists"),
    "numpy": (lambda x: np.sin(x), "TracerArrayConversionError", "farcall.numpy in place of numpy"),
    "float": (lambda x: float(x), "ConcretizationTypeError", "static_argnums"),
    "slice": (lambda x: fnp.ones(4)[:x], "IndexError", "lax.dynamic_slice"),
}


@pytest.mark.parametrize("use", USES)
def test_each_use_of_a_value_not_known_has_the_exception_of_jax_and_says_what_helps(use):
    function, name, helps = USES[use]
    with pytest.raises((fc.ConcretizationTypeError, IndexError)) as raised:
        fc.jit(function)(1)
    assert raised.type.__name__ == name
    assert helps in str(raised.value)
    assert "i32[]" in str(raised.value) or "bool[]" in str(raised.value)

    jax = pytest.importorskip("jax")
    in_jax = {"numpy": lambda x: np.sin(x), "slice": lambda x: jax.numpy.ones(4)[:x]}
    with pytest.raises(getattr(jax.errors, name, IndexError)):
        jax.jit(in_jax.get(use, function))(1)


def test_the_exceptions_are_those_of_module_errors():
    assert issubclass(fc.errors.TracerBoolConversionError, fc.errors.ConcretizationTypeError)
    with pytest.raises(fc.errors.TracerArrayConversionError, match="would lose its derivative"):
        fc.grad(lambda x: np.sin(x))(1.0)
    with pytest.raises(
        fc.errors.TracerBoolConversionError, match=r"while vmap\(<lambda>\) is traced"
    ):
        fc.vmap(lambda x: x if x > 0 else -x)(fnp.ones(2))
