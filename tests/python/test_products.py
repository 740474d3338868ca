"""Products of arrays with a preferred dtype, against JAX."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

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


X, V = np.ones((2, 2), "float32"), np.ones(2, "float32")
IMAGE, FILTER = np.ones((1, 1, 3, 3), "float32"), np.ones((1, 1, 2, 2), "float32")
NCHW = ("NCHW", "OIHW", "NCHW")
WITH_PRECISION = {
    "numpy.matmul": lambda m, **k: m.numpy.matmul(X, X, **k),
    "numpy.dot": lambda m, **k: m.numpy.dot(X, X, **k),
    "numpy.inner": lambda m, **k: m.numpy.inner(X, X, **k),
    "numpy.vdot": lambda m, **k: m.numpy.vdot(X, X, **k),
    "numpy.vecdot": lambda m, **k: m.numpy.vecdot(X, X, **k),
    "numpy.tensordot": lambda m, **k: m.numpy.tensordot(X, X, **k),
    "numpy.einsum": lambda m, **k: m.numpy.einsum("ij,jk", X, X, **k),
    "numpy.convolve": lambda m, **k: m.numpy.convolve(V, V, **k),
    "numpy.correlate": lambda m, **k: m.numpy.correlate(V, V, **k),
    "numpy.linalg.matmul": lambda m, **k: m.numpy.linalg.matmul(X, X, **k),
    "numpy.linalg.multi_dot": lambda m, **k: m.numpy.linalg.multi_dot([X, X], **k),
    "numpy.linalg.tensordot": lambda m, **k: m.numpy.linalg.tensordot(X, X, **k),
    "numpy.linalg.vecdot": lambda m, **k: m.numpy.linalg.vecdot(X, X, **k),
    "lax.dot": lambda m, **k: m.lax.dot(X, X, **k),
    "lax.dot_general": lambda m, **k: m.lax.dot_general(X, X, (([1], [0]), ([], [])), **k),
    "lax.batch_matmul": lambda m, **k: m.lax.batch_matmul(X, X, **k),
    "lax.ragged_dot": lambda m, **k: m.lax.ragged_dot(X, X[None], np.array([2], "int32"), **k),
    "lax.conv": lambda m, **k: m.lax.conv(IMAGE, FILTER, (1, 1), "SAME", **k),
    "lax.conv_general_dilated": lambda m, **k: m.lax.conv_general_dilated(
        IMAGE, FILTER, (1, 1), "SAME", **k
    ),
    "lax.conv_with_general_padding": lambda m, **k: m.lax.conv_with_general_padding(
        IMAGE, FILTER, (1, 1), "SAME", (1, 1), (1, 1), **k
    ),
    "lax.conv_transpose": lambda m, **k: m.lax.conv_transpose(
        IMAGE, FILTER, (1, 1), "SAME", dimension_numbers=NCHW, **k
    ),
    "lax.conv_general_dilated_patches": lambda m, **k: m.lax.conv_general_dilated_patches(
        IMAGE, (2, 2), (1, 1), "SAME", **k
    ),
    "lax.conv_general_dilated_local": lambda m, **k: m.lax.conv_general_dilated_local(
        IMAGE, np.ones((1, 4, 3, 3), "float32"), (1, 1), "SAME", (2, 2), **k
    ),
    "scipy.signal.convolve": lambda m, **k: _signal(m).convolve(V, V, **k),
    "scipy.signal.correlate": lambda m, **k: _signal(m).correlate(V, V, **k),
    "scipy.signal.convolve2d": lambda m, **k: _signal(m).convolve2d(X, X, **k),
    "scipy.signal.correlate2d": lambda m, **k: _signal(m).correlate2d(X, X, **k),
    "image.resize": lambda m, **k: m.image.resize(X, (3, 3), "linear", **k),
}


def _signal(module):
    return importlib.import_module(module.__name__ + ".scipy.signal")


@pytest.mark.parametrize("name", WITH_PRECISION)
def test_precision_is_checked_and_changes_nothing(name):
    call = WITH_PRECISION[name]
    plain = np.asarray(call(fc))
    for precision in ("highest", fc.lax.Precision.HIGH, ("float32", "default")):
        np.testing.assert_array_equal(call(fc, precision=precision), plain)
    np.testing.assert_allclose(call(jax, precision=jax.lax.Precision.HIGHEST), plain)
    with pytest.raises(ValueError, match=r"precision must be None, a Precision.*got 'exact'"):
        call(fc, precision="exact")
    with pytest.raises(ValueError, match=r"(?i)precision"):
        call(jax, precision="exact")


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "bool"])
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_integers_of_any_size_wrap(
    dtype: str, batch: tuple[int, ...], transposed: tuple[bool, bool], x64: None
) -> None:
    """Sizes around those of the blocks that the kernel works in."""
    random = np.random.default_rng(0)
    limits = (0, 2) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)

    @fc.jit
    def product(a: fc.Array, b: fc.Array) -> fc.Array:
        return (a.mT if transposed[0] else a) @ (b.mT if transposed[1] else b)

    for rows, inner, columns in ((1, 70, 3), (33, 64, 513), (70, 131, 40), (5, 3, 1030)):
        a = random.integers(*limits, (*batch, rows, inner), np.int64).astype(dtype)
        b = random.integers(*limits, (*batch, inner, columns), np.int64).astype(dtype)
        stored = [x.mT.copy() if t else x for x, t in zip((a, b), transposed, strict=True)]
        np.testing.assert_array_equal(product(*stored), np.matmul(a, b), strict=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("depth", [1, 2, 3, 5, 16, 17, 63, 64, 65, 129, 1000])
def test_vectors_beside_each_other_have_the_bits_of_dense_ones(depth: int, dtype: str) -> None:
    random = np.random.default_rng(depth)
    with fc.enable_x64():
        for count in (1, 2, 7, 16, 17, 64, 65, 300):
            a, b = random.normal(size=(2, depth, count)).astype(dtype)
            b[random.integers(0, depth), random.integers(0, count)] = np.nan
            beside = np.asarray(fc.jit(lambda a, b: fnp.einsum("kn,kn->n", a, b))(a, b))
            columns = np.asarray(fc.jit(fc.vmap(fnp.dot, in_axes=(1, 1)))(a, b))
            dense = np.asarray(
                fc.jit(lambda a, b: fnp.einsum("nk,nk->n", a, b))(a.T.copy(), b.T.copy())
            )
            np.testing.assert_array_equal(beside, dense)
            np.testing.assert_array_equal(columns, dense)
            wanted = (a.astype("float64") * b).sum(0)
            within = 1e-4 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(beside, wanted, rtol=within, atol=within)
        # Several batch dimensions, a strided one among them, and half types.
        x = random.normal(size=(depth, 3, 40)).astype(dtype)
        found = np.asarray(fnp.einsum("kij,kij->ij", x, x))
        np.testing.assert_allclose(found, (x.astype("float64") ** 2).sum(0), rtol=1e-4)
        found = np.asarray(fnp.einsum("kij,kij->ji", x, x))
        np.testing.assert_allclose(found, (x.astype("float64") ** 2).sum(0).T, rtol=1e-4)
        half = x.astype("float16")
        found = np.asarray(fnp.einsum("kij,kij->ij", half, half)).astype("float64")
        np.testing.assert_allclose(found, (half.astype("float64") ** 2).sum(0), rtol=1e-2)


def test_products_that_sum_nothing_keep_the_sign_of_zero() -> None:
    a, b = np.float32([[-1.0], [2.0]]), np.float32([[0.0, -0.0, np.nan, np.inf, 3.0]])
    found, wanted = np.asarray(fnp.asarray(a) @ fnp.asarray(b)), a * b
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found[:, :2]), np.signbit(wanted[:, :2]))

    def step(x):  # a loop that is compiled to machine code
        return fnp.einsum("i,ij->j", x[:1] * 0 - 1, b[:, :2])

    row = np.asarray(fc.jit(lambda x: fc.lax.fori_loop(0, 3, lambda _, y: step(x), x))(a[:, 0]))
    np.testing.assert_array_equal(np.signbit(row), [True, False])


@pytest.mark.parametrize(
    "sizes", [(4, 1, 1), (5, 3, 7), (17, 64, 33), (64, 513, 40), (300, 1030, 70)]
)
@pytest.mark.parametrize("results", ["int8", "uint8", "int16", "int32", "uint32", None])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_products_of_short_integers_wrap(
    dtype: str, results: str | None, sizes: tuple[int, int, int]
) -> None:
    m, k, n = sizes
    random = np.random.default_rng(k)
    info = np.iinfo(dtype)
    a, b = (
        random.integers(info.min, info.max + 1, (2, *shape)).astype(dtype)
        for shape in ((m, k), (k, n))
    )
    a[0, 0] = info.min
    b[0, :, 0] = info.min
    exact = a.astype("int64") @ b.astype("int64")
    wanted = exact.astype(results or dtype)

    def product(a: Any, b: Any) -> Any:
        dims = (((2,), (1,)), ((0,), (0,)))
        return lax.dot_general(a, b, dims, preferred_element_type=results)

    for function in (
        product,
        lambda a, b: product(a.transpose(0, 2, 1).copy().transpose(0, 2, 1), b),
        lambda a, b: product(a, b.transpose(0, 2, 1).copy().transpose(0, 2, 1)),
    ):
        found = np.asarray(fc.jit(function)(a, b))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_converted_operands_are_read_before_they_are_converted() -> None:
    a = np.arange(-60, 60, dtype=np.int8).reshape(12, 10)

    def f(a: Any, b: Any) -> Any:
        return a.astype("int32") @ b.astype("int32"), a.astype("int16").astype("int32") @ b

    b = np.arange(-50, 50, dtype=np.int32).reshape(10, 10) * 1000
    for found, wanted in zip(fc.jit(f)(a, a.T.copy()), f(a, a.T.copy()), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found, wanted in zip(fc.jit(f)(a, b), f(a, b), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("results", ["int32", "int16", None])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize(
    "options",
    [
        {"window_strides": (1, 1), "padding": "SAME"},
        {"window_strides": (2, 1), "padding": [(1, 2), (0, 3)], "rhs_dilation": (2, 1)},
        {"window_strides": (1, 1), "padding": "VALID", "feature_group_count": 2},
        {"window_strides": (1, 2), "padding": "SAME", "lhs_dilation": (2, 2)},
    ],
)
def test_convolutions_of_short_integers_wrap(
    options: dict[str, Any], dtype: str, results: str | None
) -> None:
    random = np.random.default_rng(0)
    info = np.iinfo(dtype)
    groups = options.get("feature_group_count", 1)
    for channels, features in ((1, 1), (4, 6), (2, 34)):
        if channels % groups or features % groups:
            continue
        x = random.integers(info.min, info.max + 1, (2, 20, 21, channels)).astype(dtype)
        w = random.integers(info.min, info.max + 1, (3, 2, channels // groups, features))
        w = w.astype(dtype)

        def convolved(x: Any, w: Any, preferred: str | None) -> Any:
            return lax.conv_general_dilated(
                x,
                w,
                **options,
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
                preferred_element_type=preferred,
            )

        with fc.enable_x64():
            wanted = np.asarray(convolved(x.astype("float64"), w.astype("float64"), None))
        found = np.asarray(fc.jit(lambda x, w: convolved(x, w, results))(x, w))
        assert found.dtype == (results or dtype)
        np.testing.assert_array_equal(found, wanted.astype("int64").astype(found.dtype))


@pytest.mark.parametrize("batch", [(), (3,), (300,)])
@pytest.mark.parametrize(
    "sizes", [(2, 1, 2), (1, 1, 5), (2, 2, 2), (5, 3, 7), (33, 65, 20), (40, 300, 2), (3, 7, 1)]
)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_products_are_exact_and_have_the_bits_of_their_transpose(
    dtype: str, sizes: tuple[int, int, int], batch: tuple[int, ...]
) -> None:
    m, k, n = sizes
    random = np.random.default_rng(m * k * n)
    a, b = (
        (random.normal(size=(*batch, *s)) + 1j * random.normal(size=(*batch, *s))).astype(dtype)
        for s in ((m, k), (k, n))
    )
    with fc.enable_x64():
        product = np.asarray(fnp.matmul(a, b))
        wanted = np.matmul(a.astype("complex256"), b.astype("complex256"))
        size = np.matmul(abs(a).astype("float64"), abs(b).astype("float64"))
        error = np.abs(product - wanted) / size
        assert product.dtype == dtype
        assert error.max() < 2 * np.finfo(dtype).eps * np.sqrt(k + 1)
        if m == 1 or n == 1:
            return  # vectors may be summed in another order
        left, right = np.swapaxes(a, -1, -2).copy(), np.swapaxes(b, -1, -2).copy()
        swap = partial(fnp.swapaxes, axis1=-1, axis2=-2)
        for function in (
            lambda a, b, left, right: fnp.matmul(swap(left), b),
            lambda a, b, left, right: fnp.matmul(a, swap(right)),
            lambda a, b, left, right: fnp.matmul(swap(left), swap(right)),
            lambda a, b, left, right: swap(fnp.matmul(right, left)),
        ):
            for run in (function, fc.jit(function)):
                np.testing.assert_array_equal(np.asarray(run(a, b, left, right)), product)


def test_complex_products_of_infinite_elements_follow_the_plain_formula() -> None:
    a = np.array([[complex(np.inf, 1), 2], [1j, 3]], "complex64")
    with np.errstate(invalid="ignore"):
        rr, ri, ir, ii = (x @ y for x in (a.real, a.imag) for y in (a.real, a.imag))
        real, imaginary = rr - ii, ri + ir
    found = np.asarray(fnp.matmul(a, a))
    np.testing.assert_array_equal(found.real, real)
    np.testing.assert_array_equal(found.imag, imaginary)
