"""farcall.scipy.signal, fft, ndimage and integrate against scipy; wrong arguments."""

from __future__ import annotations

from typing import Any

import farcall as fc
import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.ndimage
import scipy.signal
from farcall.scipy import fft, integrate, ndimage, signal

RANDOM = np.random.default_rng(0)
PAIRS = {
    "vectors": (RANDOM.normal(size=7), RANDOM.normal(size=4)),
    "short first": (RANDOM.normal(size=3), RANDOM.normal(size=6)),
    "matrices": (RANDOM.normal(size=(6, 5)), RANDOM.normal(size=(3, 2))),
    "complex": (RANDOM.normal(size=5) + 1j, 1j * RANDOM.normal(size=4)),
}


def narrow(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)


def same(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", PAIRS)
def test_convolutions_are_those_of_scipy(name: str, mode: Any) -> None:
    x, y = PAIRS[name]
    a, b = narrow(x), narrow(y)
    same(signal.convolve(a, b, mode), scipy.signal.convolve(x, y, mode))
    same(signal.convolve(a, b, mode, "fft"), scipy.signal.convolve(x, y, mode))
    same(signal.correlate(a, b, mode), scipy.signal.correlate(x, y, mode))
    same(signal.fftconvolve(a, b, mode), scipy.signal.fftconvolve(x, y, mode))
    if x.ndim == 2:
        same(signal.convolve2d(a, b, mode), scipy.signal.convolve2d(x, y, mode))
        same(signal.correlate2d(a, b, mode), scipy.signal.correlate2d(x, y, mode))
        same(
            signal.fftconvolve(a, b[:1], mode, axes=1) if mode != "valid" else 0,
            scipy.signal.fftconvolve(x, y[:1], mode, axes=1) if mode != "valid" else 0,
        )


def test_trends_are_taken_away_as_in_scipy() -> None:
    x = RANDOM.normal(size=(3, 8)) + np.arange(8)
    for options in ({}, {"type": "constant"}, {"bp": [3]}, {"axis": 0}, {"bp": 7}):
        same(signal.detrend(narrow(x), **options), scipy.signal.detrend(x, **options))


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_images_are_sampled_as_in_scipy(order: int, mode: str) -> None:
    image = RANDOM.normal(size=(4, 5))
    places = RANDOM.uniform(-3, 7, size=(2, 40))
    if mode == "constant":  # scipy blends with the number outside only where this is linear
        places = np.clip(places, 0, [[3], [4]])
    ours = ndimage.map_coordinates(narrow(image), narrow(places), order, mode, 0.5)
    same(ours, scipy.ndimage.map_coordinates(image, places, order=order, mode=mode, cval=0.5))


def test_images_wrap_and_are_constant_outside() -> None:
    x = np.float32([1, 2, 3])
    wrapped = ndimage.map_coordinates(x, [np.float32([-1, 3, 4])], 1, "wrap")
    assert wrapped.tolist() == [3, 1, 2]
    assert ndimage.map_coordinates(x, [np.float32([-2, 5])], 1, cval=9.0).tolist() == [9, 9]
    whole = ndimage.map_coordinates(np.int32([1, 4]), [np.float32([0.5, 0.9])], 1)
    assert whole.dtype == np.int32
    gradient = fc.grad(lambda i: ndimage.map_coordinates(i, [np.float32([0.25])], 1).sum())(x)
    same(gradient, [0.75, 0.25, 0])


def test_integrals_of_samples() -> None:
    y = RANDOM.normal(size=(3, 5))
    same(integrate.trapezoid(narrow(y), dx=0.5), scipy.integrate.trapezoid(y, dx=0.5))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: signal.convolve([1.0], 2.0), (TypeError, ValueError), "convolve"),
        (lambda: signal.convolve(np.ones(2), np.ones((2, 2))), ValueError, "one rank"),
        (lambda: signal.convolve(np.ones(2), np.ones(2), "x"), ValueError, "mode must be"),
        (lambda: signal.convolve(np.ones(2), np.ones(2), method="x"), ValueError, "method must"),
        (lambda: signal.convolve(np.ones(0), np.ones(2)), ValueError, "must not be empty"),
        (
            lambda: signal.convolve(np.ones((2, 5)), np.ones((5, 2)), "valid"),
            ValueError,
            "at least as large",
        ),
        (lambda: signal.convolve2d(np.ones(2), np.ones(2)), ValueError, "two dimensions"),
        (
            lambda: signal.convolve2d(np.ones((2, 2)), np.ones((2, 2)), boundary="wrap"),
            NotImplementedError,
            "boundary",
        ),
        (lambda: signal.detrend(np.ones(3), type="x"), ValueError, "type must be"),
        (lambda: signal.detrend(np.ones(3), bp=9), ValueError, "breakpoints must lie"),
        (lambda: ndimage.map_coordinates(np.ones(3), [], 1), ValueError, "one for each dimension"),
        (lambda: ndimage.map_coordinates(np.ones(3), [[1.0]], 3), TypeError, "coordinates"),
        (
            lambda: ndimage.map_coordinates(np.ones(3), [np.ones(1)], 3),
            NotImplementedError,
            "order must be 0 or 1",
        ),
    ],
)
def test_wrong_arguments(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


# ---- cosine transforms ---------------------------------------------------------------------------

BLOCK = RANDOM.normal(size=(4, 5, 6))
COSINES: dict[str, Any] = {
    "dct": lambda m, x, norm: m.dct(x, norm=norm),
    "idct": lambda m, x, norm: m.idct(x, norm=norm),
    "dct along": lambda m, x, norm: m.dct(x, 2, 7, 0, norm),
    "idct along": lambda m, x, norm: m.idct(x, 2, 3, 1, norm),
    "of one": lambda m, x, norm: m.dct(x, n=1, norm=norm),
    "inverse of one": lambda m, x, norm: m.idct(x, n=1, norm=norm),
    "dctn": lambda m, x, norm: m.dctn(x, norm=norm),
    "idctn": lambda m, x, norm: m.idctn(x, axes=(0, 2), norm=norm),
    "dctn of sizes": lambda m, x, norm: m.dctn(x, s=(3, 8), axes=(1, 0), norm=norm),
    "last": lambda m, x, norm: m.dctn(x, s=(3, 8), axes=(-2, -1), norm=norm),
}


@pytest.mark.parametrize("norm", [None, "ortho", "backward"])
@pytest.mark.parametrize("name", COSINES)
def test_cosine_transforms(name: str, norm: str | None) -> None:
    ours = COSINES[name](fft, BLOCK.astype(np.float32), norm)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, COSINES[name](scipy.fft, BLOCK, norm), rtol=1e-4, atol=2e-5)
    with fc.enable_x64():
        ours = COSINES[name](fft, BLOCK, norm)
    np.testing.assert_allclose(ours, COSINES[name](scipy.fft, BLOCK, norm), rtol=1e-11, atol=1e-12)


def test_cosine_transforms_are_inverse_to_each_other_and_linear() -> None:
    x = BLOCK.astype(np.float32)
    for norm in (None, "ortho"):
        np.testing.assert_allclose(fft.idctn(fft.dctn(x, norm=norm), norm=norm), x, atol=1e-5)
    z = (x + 1j * x[::-1]).astype(np.complex64)
    exact = scipy.fft.dct(z.real) + 1j * scipy.fft.dct(z.imag)
    np.testing.assert_allclose(fft.dct(z), exact, rtol=1e-4, atol=1e-5)
    basis = scipy.fft.dct(np.eye(6), axis=0)
    np.testing.assert_allclose(fc.jacrev(fft.dct)(x[0, 0]), basis, atol=1e-5)
    np.testing.assert_allclose(
        fc.jit(fc.vmap(fft.dct))(x[0]), scipy.fft.dct(x[0]), rtol=1e-4, atol=1e-5
    )
    for dtype in (np.int8, np.float16):
        assert fft.dct(np.ones(4, dtype)).dtype == np.float32


def test_what_cosine_transforms_refuse() -> None:
    for function in (fft.dct, fft.idct, fft.dctn, fft.idctn):
        with pytest.raises(NotImplementedError, match="type must be 2, got 3"):
            function(BLOCK, 3)
        with pytest.raises(ValueError, match="norm"):
            function(BLOCK, norm="forward")
    with pytest.raises(ValueError, match="dct: n must be at least 1, got 0"):
        fft.dct(BLOCK, n=0)
    with pytest.raises(ValueError, match="idct: axis 3 is out of range"):
        fft.idct(BLOCK, axis=3)
    with pytest.raises(ValueError, match="dctn: s must have a size for each axis, got 2 for 1"):
        fft.dctn(BLOCK, s=(2, 3), axes=(0,))
