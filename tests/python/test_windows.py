"""Convolution, reductions over windows and Fourier transforms, against JAX and numpy."""

from __future__ import annotations

import itertools

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

jax = pytest.importorskip("jax")
jnp, jlax = jax.numpy, jax.lax

R = np.random.default_rng(3)


def normal(*shape, dtype=np.float32):
    if np.dtype(dtype).kind == "c":
        return (R.standard_normal(shape) + 1j * R.standard_normal(shape)).astype(dtype)
    return (3 * R.standard_normal(shape)).astype(dtype)


def check(mine, theirs, tolerance=1e-5):
    assert mine.dtype == theirs.dtype
    assert mine.shape == theirs.shape
    scale = float(np.max(np.abs(np.asarray(theirs, np.complex128)), initial=1))
    np.testing.assert_allclose(
        np.asarray(mine), np.asarray(theirs), rtol=tolerance, atol=tolerance * scale
    )


# (left operand, weights, arguments)
CONVOLUTIONS = {
    "plain": ((2, 3, 9, 8), (5, 3, 3, 2), {"window_strides": (1, 1), "padding": "VALID"}),
    "same": ((2, 3, 9, 8), (5, 3, 3, 2), {"window_strides": (2, 3), "padding": "SAME"}),
    "same lower": ((2, 3, 9, 8), (5, 3, 3, 2), {"window_strides": (2, 3), "padding": "SAME_LOWER"}),
    "padding": (
        (2, 3, 9, 8),
        (5, 3, 3, 2),
        {"window_strides": (2, 1), "padding": [(3, 0), (-2, 4)]},
    ),
    "dilations": (
        (2, 3, 9, 8),
        (5, 3, 3, 2),
        {
            "window_strides": (2, 1),
            "padding": [(1, 2), (0, 3)],
            "lhs_dilation": (2, 3),
            "rhs_dilation": (1, 2),
        },
    ),
    "last": (
        (2, 9, 8, 3),
        (3, 2, 3, 5),
        {
            "window_strides": (1, 2),
            "padding": "SAME",
            "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        },
    ),
    "mixed order": (
        (9, 2, 3, 8),
        (3, 5, 2, 3),
        {
            "window_strides": (1, 2),
            "padding": "SAME",
            "dimension_numbers": ("HNCW", "IOWH", "WCNH"),
        },
    ),
    "feature groups": (
        (2, 6, 7),
        (4, 3, 3),
        {"window_strides": (2,), "padding": [(1, 1)], "feature_group_count": 2},
    ),
    "depthwise": (
        (2, 7, 6),
        (3, 1, 12),
        {
            "window_strides": (1,),
            "padding": "SAME",
            "feature_group_count": 6,
            "dimension_numbers": ("NWC", "WIO", "NWC"),
        },
    ),
    "batch groups": (
        (4, 3, 7),
        (6, 3, 3),
        {"window_strides": (1,), "padding": [(0, 2)], "batch_group_count": 2},
    ),
    "no spatial dimensions": ((2, 3), (5, 3), {"window_strides": (), "padding": []}),
    "three dimensions": (
        (1, 2, 4, 5, 6),
        (3, 2, 2, 3, 1),
        {"window_strides": (1, 2, 1), "padding": "SAME"},
    ),
    "no window fits": ((2, 3, 2), (5, 3, 3), {"window_strides": (1,), "padding": "VALID"}),
    "empty batch": ((0, 3, 9), (5, 3, 3), {"window_strides": (1,), "padding": "SAME"}),
    "no features": ((2, 0, 9), (5, 0, 3), {"window_strides": (1,), "padding": "SAME"}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "complex64", "float64"])
def test_convolution(name, dtype):
    lhs_shape, rhs_shape, arguments = CONVOLUTIONS[name]
    lhs, rhs = normal(*lhs_shape, dtype=dtype), normal(*rhs_shape, dtype=dtype)
    with fc.enable_x64(dtype == "float64"), jax.enable_x64(dtype == "float64"):
        want = jlax.conv_general_dilated(lhs, rhs, **arguments)
        check(
            lax.conv_general_dilated(lhs, rhs, **arguments),
            want,
            1e-2 if dtype == "float16" else 2e-6,
        )


def test_convolution_in_chunks_of_positions():
    lhs, rhs = normal(1, 70, 70, 40), normal(5, 5, 40, 8)
    arguments = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    check(
        lax.conv_general_dilated(lhs, rhs, (1, 1), "SAME", **arguments),
        jlax.conv_general_dilated(lhs, rhs, (1, 1), "SAME", **arguments),
    )


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"window_strides": (1, 1), "padding": "SAME"},
        {"window_strides": (2, 2), "padding": [(3, 0), (-2, 7)]},
        {"window_strides": (1, 2), "padding": "SAME", "rhs_dilation": (2, 5)},
        {"window_strides": (1, 3), "padding": [(2, 3), (9, 1)], "lhs_dilation": (2, 3)},
    ],
    ids=["same", "strides", "window dilation", "dilation"],
)
def test_convolutions_of_long_rows_of_one_channel(groups, dtype, arguments):
    lhs, rhs = normal(2, groups, 6, 700, dtype=dtype), normal(groups, 1, 3, 5, dtype=dtype)
    arguments = arguments | {"feature_group_count": groups}
    check(
        lax.conv_general_dilated(lhs, rhs, **arguments),
        jlax.conv_general_dilated(lhs, rhs, **arguments),
        2e-6,
    )


def test_a_convolution_of_many_wide_windows():
    x = R.integers(0, 8, 1_000_000).astype(np.float32)
    sums = np.concatenate([np.zeros(270), np.cumsum(x, dtype=np.float64)])
    got = fnp.convolve(x, fnp.ones(270), "valid")
    np.testing.assert_array_equal(np.asarray(got), sums[-len(got) :] - sums[270 - 1 : -270])


def test_other_convolutions():
    lhs, rhs = normal(2, 3, 9, 8), normal(5, 3, 3, 2)
    check(lax.conv(lhs, rhs, (1, 2), "SAME"), jlax.conv(lhs, rhs, (1, 2), "SAME"))
    general = ((1, 2), [(1, 0), (0, 1)], (1, 2), (2, 1))
    check(
        lax.conv_with_general_padding(lhs, rhs, *general),
        jlax.conv_with_general_padding(lhs, rhs, *general),
    )
    x, k = normal(2, 5, 6, 3), normal(3, 2, 4, 3)
    for padding, turned in itertools.product(["SAME", "VALID", [(1, 2), (0, 1)]], [True, False]):
        weights = k if turned else np.swapaxes(k, 2, 3)
        options = {"transpose_kernel": turned}
        check(
            lax.conv_transpose(x, weights, (2, 3), padding, **options),
            jlax.conv_transpose(x, weights, (2, 3), padding, **options),
        )


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(7, 3), (3, 7), (6, 4), (4, 6), (1, 1)])
def test_convolve_and_correlate(mode, sizes):
    for dtype in ("float32", "complex64", "int32"):
        a, v = normal(sizes[0], dtype=dtype), normal(sizes[1], dtype=dtype)
        check(fnp.convolve(a, v, mode), jnp.convolve(a, v, mode))
        check(fnp.correlate(a, v, mode), jnp.correlate(a, v, mode))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dimension_numbers": ("NCH", "OIHW", "NCHW")}, "must have each of 'NCHW' once"),
        ({"padding": "FULL"}, "padding must be 'SAME', 'SAME_LOWER' or 'VALID'"),
        ({"padding": [(0, 0)]}, "padding has 1 pairs for 2 spatial dimensions"),
        ({"window_strides": (0, 1)}, r"window_strides \[0,1\] must be 2 positive numbers"),
        ({"feature_group_count": 2}, "the 3 features of .* are not 2 times the 3"),
        ({"batch_group_count": 2}, "5 output features and a batch of 2 do not divide"),
    ],
)
def test_convolutions_that_do_not_fit(arguments, message):
    call = {"window_strides": (1, 1), "padding": "VALID"} | arguments
    with pytest.raises(ValueError, match=message):
        lax.conv_general_dilated(normal(2, 3, 9, 8), normal(5, 3, 3, 2), **call)


WINDOWS = {
    "pooling": {"window_dimensions": (1, 2, 2), "window_strides": (1, 2, 2)},
    "overlapping": {"window_dimensions": (1, 3, 2), "window_strides": (1, 2, 1), "padding": "SAME"},
    "padded": {"window_dimensions": (2, 3, 1), "padding": [(1, 0), (2, 1), (0, 0)]},
    "cut off": {"window_dimensions": (2, 2, 2), "padding": [(0, 0), (-1, 1), (0, -2)]},
    "dilated": {
        "window_dimensions": (2, 2, 3),
        "base_dilation": (1, 2, 3),
        "window_dilation": (2, 1, 2),
        "window_strides": (1, 1, 2),
        "padding": [(1, 1), (0, 1), (2, 0)],
    },
}
MONOIDS = [("add", 0), ("mul", 1), ("max", -np.inf), ("min", np.inf)]


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize(("computation", "init"), MONOIDS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_reduce_window(name, computation, init, dtype):
    x = fnp.array(normal(4, 6, 7)).astype(dtype)
    theirs = jnp.asarray(np.asarray(x))
    if dtype == "int32" and not np.isfinite(init):
        init = np.iinfo(np.int32).min if init < 0 else np.iinfo(np.int32).max
    arguments = {"padding": "VALID"} | WINDOWS[name]
    got = lax.reduce_window(x, init, getattr(lax, computation), **arguments)
    init = np.asarray(init, theirs.dtype)
    want = jlax.reduce_window(theirs, init, getattr(jlax, computation), **arguments)
    check(got, want, 2e-2 if dtype == "bfloat16" else 1e-6)


@pytest.mark.parametrize("computation", ["max", "add"])
@pytest.mark.parametrize(
    ("shape", "window", "arguments"),
    [
        ((3, 9000), (1, 5), {"window_strides": (1, 1), "padding": "SAME"}),
        ((3, 9000), (1, 5), {"window_strides": (1, 3), "padding": [(0, 0), (7, 20)]}),
        ((9000, 3), (4, 1), {"window_dilation": (3, 1), "padding": [(2, 9), (0, 0)]}),
        ((5000, 2), (6, 2), {"base_dilation": (4, 3), "padding": [(2, 9), (1, 3)]}),
        ((2, 40), (1, 90), {"base_dilation": (1, 3), "padding": [(0, 0), (3, 4)]}),
        ((7, 5000), (7, 4990), {"padding": "VALID"}),
        ((3, 0), (2, 2), {"padding": [(1, 1), (1, 2)]}),
    ],
    ids=["long", "strides", "rows", "dilations", "wide", "nearly all", "empty"],
)
def test_reduce_window_of_long_dimensions(computation, shape, window, arguments):
    x = R.integers(-9, 9, shape).astype(np.float32)
    init = np.float32(-np.inf if computation == "max" else 0)
    got = lax.reduce_window(x, init, getattr(lax, computation), window, **arguments)
    want = jlax.reduce_window(x, init, getattr(jlax, computation), window, **arguments)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_reduce_window_of_very_many_windows():
    x = np.zeros(10_000_000, np.float32)
    x[::40] = 1
    got = np.asarray(lax.reduce_window(x, -np.inf, lax.max, (31,), (1,), "SAME"))
    np.testing.assert_array_equal(got[:80], ((np.arange(80) + 15) % 40 <= 30).astype(np.float32))
    assert got.sum() == 31 * 250_000 - 15


def test_derivatives_of_reduce_window_choose_the_first_of_equal_elements():
    x = R.integers(0, 3, (2, 9, 11)).astype(np.float32)

    def pooled(m, init):
        return lambda x: (m.reduce_window(x, init, m.max, (1, 3, 4), (1, 2, 3), "SAME") ** 2).sum()

    got = fc.grad(pooled(lax, -np.inf))(x)
    check(got, jax.grad(pooled(jlax, -np.inf))(x))


def test_reduce_window_with_another_start():
    x = normal(5, 6)
    got = lax.reduce_window(x, np.float32(1.5), lax.max, (2, 2), (1, 1), "VALID")
    check(got, jlax.reduce_window(x, np.float32(1.5), jlax.max, (2, 2), (1, 1), "VALID"))


def add(x, y):
    """Its name says another thing than it does."""
    return x * y


COMPUTATIONS = {
    "a function": (lambda m: lambda x, y: m.numpy.hypot(x, y), 0.0),
    "another sum": (lambda m: lambda x, y: x + y, 0.0),
    "misnamed": (lambda m: add, 1.0),
    "of a ufunc": (lambda m: m.numpy.maximum, -np.inf),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("computation", COMPUTATIONS)
def test_reduce_window_by_any_function(name, computation):
    make, init = COMPUTATIONS[computation]
    x = normal(4, 6, 7)
    arguments = {"padding": "VALID"} | WINDOWS[name]
    got = lax.reduce_window(x, init, make(fc), **arguments)
    want = jlax.reduce_window(x, np.float32(init), make(jax), **arguments)
    check(got, want, 1e-5)
    jitted = fc.jit(lambda x: lax.reduce_window(x, init, make(fc), **arguments))
    np.testing.assert_array_equal(np.asarray(jitted(x)), np.asarray(got))


def test_reduce_window_of_several_arrays():
    """The greatest element of each window, and where it lies."""
    x = R.permutation(42).reshape(6, 7).astype(np.float32)
    places = np.arange(42, dtype=np.int32).reshape(6, 7)

    def run(m):
        def greater(a, b):
            is_first = a[0] >= b[0]
            return m.numpy.where(is_first, a[0], b[0]), m.numpy.where(is_first, a[1], b[1])

        start = (np.float32(-np.inf), np.int32(-1))
        return m.lax.reduce_window((x, places), start, greater, (2, 3), (2, 2), "SAME")

    for got, want in zip(run(fc), run(jax), strict=True):
        check(got, want)


def test_reduce_window_by_any_function_has_derivatives():
    x = normal(3, 5) ** 2

    def total(m, computation):
        windows = m.lax.reduce_window(x, 0.0, computation, (2, 2), (1, 2), "SAME")
        return m.numpy.sum(windows * windows)

    mine = fc.grad(lambda x: fnp.sum(lax.reduce_window(x, 0.0, lambda a, b: a + b, (2, 2)) ** 2))
    theirs = jax.grad(
        lambda x: jnp.sum(jlax.reduce_window(x, 0.0, jlax.add, (2, 2), (1, 1), "VALID") ** 2)
    )
    check(mine(x), theirs(x))
    check(total(fc, lambda a, b: a + b), total(jax, jlax.add))


def test_reduce_window_that_does_not_fit():
    x = normal(3)
    with pytest.raises(ValueError, match=r"window_dimensions .* a positive number for each"):
        lax.reduce_window(x, 0.0, lax.add, (0,), (1,), [(0, 0)])
    with pytest.raises(ValueError, match=r"window_strides \[\] must be 1 positive numbers"):
        lax.reduce_window(x, 0.0, lax.add, (1,), ())
    with pytest.raises(ValueError, match="init_value must be a scalar"):
        lax.reduce_window(x, x, lax.add, (1,))
    with pytest.raises(TypeError, match="reduce_window: operands and init_values must have one"):
        lax.reduce_window((x, x), 0.0, lax.add, (1,))
    with pytest.raises(ValueError, match="reduce_window: the shapes of operands differ"):
        lax.reduce_window((x, x[:2]), (0.0, 0.0), lambda a, b: a, (1,))


SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 17, 30, 31, 64, 77, 97, 143, 210, 221, 1000, 1009]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("size", SIZES)
def test_fft_of_every_kind_of_size(size):
    x = normal(3, size, dtype=np.complex64)
    check(fnp.fft.fft(x), np.fft.fft(x).astype(np.complex64), 1e-6)
    check(fnp.fft.ifft(x), np.fft.ifft(x).astype(np.complex64), 1e-6)
    real = normal(3, size)
    check(fnp.fft.rfft(real), np.fft.rfft(real).astype(np.complex64), 1e-6)
    half = np.fft.rfft(real)
    check(fnp.fft.irfft(half, size), np.fft.irfft(half, size), 1e-6)
    wide = normal(2, size, dtype=np.complex128)
    check(fnp.fft.fft(wide), np.fft.fft(wide), 1e-13)


NAMES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(("n", "axis"), [(None, -1), (None, 0), (5, 1), (9, 0)])
def test_fft_arguments(name, norm, n, axis):
    x = normal(4, 6, 3)
    if name in ("fft", "ifft", "irfft", "hfft"):
        x = normal(4, 6, 3, dtype=np.complex64)
    got = getattr(fnp.fft, name)(x, n, axis, norm)
    check(got, getattr(jnp.fft, name)(x, n, axis, norm), 2e-6)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn"])
@pytest.mark.parametrize(("s", "axes"), [(None, (-2, -1)), ((3, 8), (0, 1)), (None, (2, 0))])
def test_fft_of_several_dimensions(name, s, axes):
    x = normal(4, 6, 5)
    if not name.startswith("r"):
        x = normal(4, 6, 5, dtype=np.complex64)
    check(getattr(fnp.fft, name)(x, s, axes), getattr(jnp.fft, name)(x, s, axes), 2e-6)


def test_irfftn_inverts_rfftn():
    x = normal(3, 4, 5)
    check(fnp.fft.irfftn(fnp.fft.rfftn(x), x.shape), fnp.array(x), 2e-6)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_and_shifts(n):
    check(fnp.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5).astype(np.float32))
    check(fnp.fft.rfftfreq(n), np.fft.rfftfreq(n).astype(np.float32))
    x = normal(n, 3)
    check(fnp.fft.fftshift(x), np.fft.fftshift(x))
    check(fnp.fft.ifftshift(x, axes=0), np.fft.ifftshift(x, axes=0))


def test_lax_fft():
    x = normal(2, 6, dtype=np.complex64)
    check(lax.fft(x, lax.FftType.FFT, (6,)), jlax.fft(x, "FFT", (6,)), 2e-6)
    check(lax.fft(x, "irfft", (10,)), jlax.fft(x, "IRFFT", (10,)), 2e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lax.fft(normal(3), "DCT", (3,)), "fft: fft_type must be FFT, IFFT, RFFT or IRFFT"),
        (lambda: lax.fft(normal(3), "FFT", (4,)), r"takes last dimensions of \[4\]; got c64\[3\]"),
        (lambda: lax.fft(normal(3, dtype="int32"), "RFFT", (3,)), "fft: RFFT takes f32 or f64"),
        (lambda: fnp.fft.rfft(1j * normal(3)), "rfft: takes real numbers"),
        (lambda: fnp.fft.fft(normal(3), norm="no"), "fft: norm must be 'backward'"),
        (lambda: fnp.fft.fft(normal(3), axis=1), "fft: axis 1 is out of range"),
        (lambda: fnp.fft.fft2(normal(3, 3), s=(3,)), "fft2: s .* must have a size for each"),
        (lambda: fnp.fft.fft(normal(3), 0), "fft: sizes must be at least 1"),
        (lambda: fnp.fft.fftn(normal(3, 3), axes=(0, 0)), "fftn: an axis is named twice"),
        (
            lambda: fnp.fft.fftn(normal(3), s=(1, 2)),
            r"fftn: s \[1,2\] has more sizes than f32\[3\]",
        ),
        (lambda: fnp.fft.hfft(normal(3), norm=3), "hfft: norm must be 'backward'.* got 3"),
        (lambda: fnp.fft.fftfreq(-1), "fftfreq: n must not be negative, got -1"),
    ],
)
def test_transforms_that_do_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_programs_say_what_they_convolve():
    def pooled(x, k):
        y = lax.conv(x, k, (1,), "SAME")
        return lax.fft(lax.reduce_window(y, 0.0, lax.add, (1, 1, 2)), "RFFT", (6,))

    program = fc.make_jaxpr(pooled)(normal(2, 3, 7), normal(4, 3, 3))
    text = str(program)
    for name in (
        "conv_general_dilated[",
        "reduce_window_sum[",
        "fft[fft_lengths=(6,) fft_type=RFFT]",
    ):
        assert name in text
    assert str(fc.parse_program(text)) == text
