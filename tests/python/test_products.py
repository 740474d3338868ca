"""Products of arrays with a preferred dtype, against JAX."""

from __future__ import annotations

import farcall as fc
import numpy as np
import pytest

jax = pytest.importorskip("jax")

BYTES = np.array([[100, 90, 80], [127, -128, 70]], "int8")
PRODUCTS = {
    "matmul": lambda m, x, y, to: m.numpy.matmul(x, y.T, preferred_element_type=to),
    "linalg.matmul": lambda m, x, y, to: m.numpy.linalg.matmul(x, y.T, preferred_element_type=to),
    "dot": lambda m, x, y, to: m.numpy.dot(x, y.T, preferred_element_type=to),
    "vdot": lambda m, x, y, to: m.numpy.vdot(x, y, preferred_element_type=to),
    "vecdot": lambda m, x, y, to: m.numpy.vecdot(x, y, preferred_element_type=to),
    "inner": lambda m, x, y, to: m.numpy.inner(x, y, preferred_element_type=to),
    "tensordot": lambda m, x, y, to: m.numpy.tensordot(x, y, 2, preferred_element_type=to),
    "einsum": lambda m, x, y, to: m.numpy.einsum("ij,kj->ik", x, y, preferred_element_type=to),
    "lax.dot": lambda m, x, y, to: m.lax.dot(x, y.T, preferred_element_type=to),
    "lax.dot_general": lambda m, x, y, to: m.lax.dot_general(
        x, y, [([1], [1]), ([], [])], None, to
    ),
}


@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [("int8", "int32"), ("uint8", "uint32"), ("bfloat16", "float32"), ("float32", "bfloat16")],
)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_have_the_preferred_dtype_and_its_range(name, dtype, preferred):
    def product(m):
        x = m.numpy.asarray(BYTES).astype(dtype)
        return PRODUCTS[name](m, x, x[::-1], preferred)

    got, wanted = product(fc), product(jax)
    assert got.dtype == wanted.dtype == fc.numpy.dtype(wanted.dtype)
    exact = preferred != "bfloat16"
    got, wanted = np.asarray(got).astype("float64"), np.asarray(wanted).astype("float64")
    np.testing.assert_allclose(got, wanted, rtol=0 if exact else 2**-7)


def test_products_with_a_preferred_dtype_are_differentiated_and_mapped_as_in_jax():
    def loss(m, x, y):
        product = m.numpy.dot(x, y, preferred_element_type=m.numpy.float32)
        return m.numpy.sum(m.numpy.sin(product))

    def results(m):
        x = m.numpy.asarray(BYTES / np.float32(64)).astype("bfloat16")
        gradients = m.grad(lambda x, y: loss(m, x, y), (0, 1))(x, x.T)
        mapped = m.vmap(lambda row: m.lax.dot_general(row, x, (((0,), (1,)), ((), ())), None, int))
        return [*gradients, mapped(x)]

    for got, wanted in zip(results(fc), results(jax), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(
            np.asarray(got, "float32"), np.asarray(wanted, "float32"), rtol=2**-6, atol=2**-6
        )
