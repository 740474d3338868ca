"""The precision of products: in programs, derivatives and batches, and in StableHLO, as in JAX."""

from __future__ import annotations

import re
from typing import Any

import farcall as fc
import jax
import numpy as np
import pytest

X = np.arange(6, dtype="float32").reshape(2, 3)
IMAGE = np.ones((1, 2, 8, 8), "float32")
KERNEL = np.ones((3, 2, 3, 3), "float32")

# Products with a precision `p`.
PRODUCTS: dict[str, Any] = {
    "matmul": lambda m, p: (lambda x: m.numpy.matmul(x, x.T, precision=p), X),
    "dot": lambda m, p: (lambda x: m.numpy.dot(x, x.T, precision=p), X),
    "vdot": lambda m, p: (lambda x: m.numpy.vdot(x, x, precision=p), X),
    "vecdot": lambda m, p: (lambda x: m.numpy.vecdot(x, x, precision=p), X),
    "inner": lambda m, p: (lambda x: m.numpy.inner(x, x, precision=p), X),
    "tensordot": lambda m, p: (lambda x: m.numpy.tensordot(x, x, 2, precision=p), X),
    "einsum": lambda m, p: (lambda x: m.numpy.einsum("ij,kj->ik", x, x, precision=p), X),
    "convolve": lambda m, p: (lambda x: m.numpy.convolve(x[0], x[1], precision=p), X),
    "multi_dot": lambda m, p: (lambda x: m.numpy.linalg.multi_dot([x, x.T, x], precision=p), X),
    "lax.dot": lambda m, p: (lambda x: m.lax.dot(x, x.T, precision=p), X),
    "lax.batch_matmul": lambda m, p: (lambda x: m.lax.batch_matmul(x, x.T, precision=p), X),
    "lax.dot_general": lambda m, p: (
        lambda x: m.lax.dot_general(x, x, (((1,), (1,)), ((), ())), precision=p),
        X,
    ),
    "lax.conv": lambda m, p: (lambda x: m.lax.conv(x, KERNEL, (1, 1), "SAME", precision=p), IMAGE),
    "lax.conv_transpose": lambda m, p: (
        lambda x: m.lax.conv_transpose(
            x, np.ones((3, 2, 3, 3), "float32"), (2, 2), "SAME", precision=p,
            dimension_numbers=("NCHW", "OIHW", "NCHW"),
        ),
        IMAGE,
    ),
    "signal.convolve": lambda m, p: (
        lambda x: m.scipy.signal.convolve(x[0], x[1], method="direct", precision=p),
        X,
    ),
}  # fmt: skip
PRECISIONS = [
    *("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("HIGH of lax", "HIGHEST of lax", ("high", "default")),
]


def named(module: Any, precision: Any) -> Any:
    is_member = isinstance(precision, str) and precision.endswith("of lax")
    return module.lax.Precision[precision.split()[0]] if is_member else precision


def emitted(lowered: Any) -> list[tuple[str, ...]]:
    """The precisions of each product in StableHLO; JAX prints DEFAULT where none is given."""
    text = lowered.as_text(dialect="stablehlo")
    ours = r"precision_config = \[#stablehlo<precision (\w+)>, #stablehlo<precision (\w+)>\]"
    return re.findall(ours, text) or re.findall(r"precision = \[(\w+), (\w+)\]", text)


def lowered(module: Any, name: str, precision: Any) -> list[tuple[str, ...]]:
    function, x = PRODUCTS[name](module, named(module, precision))
    return emitted(module.jit(function).lower(x))


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_emit_the_precisions_that_jax_emits(name: str) -> None:
    for precision in PRECISIONS:
        found = lowered(fc, name, precision)
        assert found, (name, precision)
        assert found == lowered(jax, name, precision), precision
    assert not lowered(fc, name, None)
    with (
        fc.default_matmul_precision("tensorfloat32"),
        jax.default_matmul_precision("tensorfloat32"),
    ):
        assert lowered(fc, name, None) == lowered(jax, name, None)
        assert lowered(fc, name, "highest") == lowered(jax, name, "highest")


TRANSFORMS: dict[str, Any] = {
    "grad": lambda m, f: m.grad(lambda x: f(x).sum()),
    "forward mode": lambda m, f: m.jacfwd(f),
    "vmap": lambda m, f: lambda x: m.vmap(f)(m.numpy.stack([x, x])),
    "vmap of grad": lambda m, f: (
        lambda x: m.vmap(m.grad(lambda x: f(x).sum()))(m.numpy.stack([x, x]))
    ),
    "checkpoint in scan": lambda m, f: m.grad(
        lambda x: m.lax.scan(lambda c, _: (c + m.checkpoint(f)(x).sum(), None), 0.0, None, 2)[0]
    ),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", ["matmul", "einsum", "lax.conv"])
def test_derivatives_and_batches_keep_the_precision(name: str, transform: str) -> None:
    def all_of(module: Any) -> set[tuple[str, ...]]:
        function, x = PRODUCTS[name](module, ("high", "highest"))
        return set(emitted(module.jit(TRANSFORMS[transform](module, function)).lower(x)))

    assert all_of(fc) == all_of(jax) == {("HIGH", "HIGHEST")}


def test_the_precision_is_part_of_programs_and_of_their_text() -> None:
    plain = fc.make_program(lambda x: x @ x.T)(X)
    assert "precision" not in str(plain)
    with fc.default_matmul_precision("float32"):
        precise = fc.make_program(lambda x: x @ x.T)(X)
    assert "precision=(highest, highest)" in str(precise)
    read = fc.parse_program(precise.to_text())
    assert read == precise != plain


def test_jitted_functions_are_traced_again_under_another_default() -> None:
    traces = []

    @fc.jit
    def product(x: Any) -> Any:
        traces.append(fc.config.default_matmul_precision)
        return x @ x.T

    wanted = product(X)
    for name in ("high", None, "high", "tensorfloat32"):
        with fc.default_matmul_precision(name):
            np.testing.assert_array_equal(product(X), wanted)  # the native engine ignores it
    assert traces == [None, "high"]  # "tensorfloat32" is another name of "high"
    fc.config.update("default_matmul_precision", "highest")
    try:
        assert emitted(product.lower(X)) == [("HIGHEST", "HIGHEST")]
        assert fc.lax.canonicalize_precision(None) == (fc.lax.Precision.HIGHEST,) * 2
    finally:
        fc.config.update("default_matmul_precision", None)


@pytest.mark.parametrize("wrong", ["huge", 3, ("high",), ("high", "low")])
def test_an_unknown_precision_is_an_error_that_names_the_known_ones(wrong: Any) -> None:
    for name in PRODUCTS:
        function, x = PRODUCTS[name](fc, wrong)
        with pytest.raises(
            ValueError, match=r"precision must be None, a Precision, one of default"
        ):
            function(fc.numpy.asarray(x))
    text = fc.make_program(PRODUCTS["matmul"](fc, "high")[0])(X).to_text()
    with pytest.raises(ValueError, match='precision must be default, high or highest, got "low"'):
        fc.parse_program(text.replace("high", "low"))


def test_functions_of_jax_keep_their_precision() -> None:
    function = fc.from_jax(lambda x: jax.numpy.dot(x, x.T, precision=("high", "default")))
    assert emitted(fc.jit(function).lower(X)) == [("HIGH", "DEFAULT")]
