"""The array library is one: called from C++ and from Python it gives the same bits."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import farcall.scipy.linalg
import farcall.scipy.stats
import numpy as np
import pytest
from farcall import lax, nn, random
from farcall._environment import linker_flags
from handler_library import build

SOURCE = Path(__file__).resolve().parent.parent / "array_library" / "bits.cpp"

N = fnp.arange(24)
X = fnp.reshape(((N * 37 % 23) - 11).astype("float32") / 8.0, (4, 6))
Y = fnp.abs(X.T) + 0.5
V = X.ravel()
SQUARE = X @ Y
SYMMETRIC = X @ X.T + fnp.eye(4)
KEY = random.key(7)
IMAGE, WEIGHTS = V.reshape(1, 2, 3, 4), Y.reshape(3, 2, 2, 2)


def cube_root(y: fc.Array) -> Any:
    """The x with x³ = y for y > 0."""

    def newton(f: Callable[[Any], Any], x: Any) -> Any:
        for _ in range(5):
            x = x - f(x) / (3 * x * x)
        return x

    return lax.custom_root(
        lambda x: x * x * x - y,
        fnp.ones_like(y),
        newton,
        lambda g, y: y / g(fnp.ones_like(y)),
    )


CALLS: dict[str, Callable[[], Any]] = {
    "round": lambda: fnp.round(X, 1),
    "fmod": lambda: fnp.fmod(X, 0.3),
    "float_power": lambda: fnp.float_power(Y, 1.7),
    "heaviside": lambda: fnp.heaviside(X, 0.5),
    "nextafter": lambda: fnp.nextafter(X, 1),
    "logaddexp": lambda: fnp.logaddexp(X, 0.25),
    "sinc": lambda: fnp.sinc(X),
    "cbrt": lambda: fnp.cbrt(X),
    "frexp": lambda: fnp.frexp(X)[1],
    "isclose": lambda: fnp.isclose(X, fnp.round(X, 1)),
    "nan_to_num": lambda: fnp.nan_to_num(fnp.log(X)),
    "mean": lambda: fnp.mean(X, 0),
    "var": lambda: fnp.var(X, 1),
    "std": lambda: fnp.std(X),
    "average": lambda: fnp.average(X, 0, fnp.arange(4)),
    "nanmean": lambda: fnp.nanmean(fnp.sqrt(X), 1),
    "ptp": lambda: fnp.ptp(X, 1),
    "median": lambda: fnp.median(X, 1),
    "quantile": lambda: fnp.quantile(X, 0.3, 0),
    "cumsum": lambda: fnp.cumsum(X, 1),
    "vector_norm": lambda: fnp.linalg.vector_norm(X, axis=1, ord=3),
    "matrix_norm": lambda: fnp.linalg.matrix_norm(X),
    "sort": lambda: fnp.sort(X, 0),
    "argsort": lambda: fnp.argsort(X, 1),
    "lexsort": lambda: fnp.lexsort((V, fnp.round(V))),
    "partition": lambda: fnp.partition(X, 2),
    "searchsorted": lambda: fnp.searchsorted(fnp.sort(V), X),
    "digitize": lambda: fnp.digitize(X, fnp.arange(-1, 2)),
    "unique": lambda: fc.jit(lambda v: fnp.unique(fnp.round(v), size=5))(V),
    "top_k": lambda: lax.top_k(X, 3)[0],
    "approx_min_k": lambda: lax.approx_min_k(X, 2)[1],
    "rot90": lambda: fnp.rot90(X),
    "roll": lambda: fnp.roll(X, 2, 1),
    "tile": lambda: lax.tile(X, (1, 2)),
    "collapse": lambda: lax.collapse(IMAGE, 1, 3),
    "index_take": lambda: lax.index_take(X, (fnp.arange(3),), (1,)),
    "repeat": lambda: fnp.repeat(X, fnp.arange(4), 0),
    "insert": lambda: fnp.insert(X, 1, 9, 0),
    "delete": lambda: fnp.delete(X, 2, 1),
    "compress": lambda: fnp.compress(fnp.arange(4) > 1, X, 0),
    "tril": lambda: fnp.tril(X),
    "pad": lambda: fnp.pad(X, ((1, 2), (0, 3)), "reflect"),
    "diff": lambda: fnp.diff(X),
    "trapezoid": lambda: fnp.trapezoid(X),
    "interp": lambda: fnp.interp(X, fnp.arange(-2, 3), fnp.arange(5)),
    "view": lambda: X.view("uint16"),
    "byteswap": lambda: X.byteswap(),
    "reduce_xor": lambda: lax.reduce_xor(N.reshape(4, 6), (0,)),
    "einsum": lambda: fnp.einsum("ij,jk->ki", X, Y),
    "kron": lambda: fnp.kron(X, Y),
    "tensordot": lambda: fnp.tensordot(X, Y, 1),
    "convolve": lambda: fnp.convolve(V, fnp.arange(1, 4)),
    "batch_matmul": lambda: lax.batch_matmul(lax.broadcast(X, (2,)), lax.broadcast(Y, (2,))),
    "ragged_dot": lambda: lax.ragged_dot(Y, lax.broadcast(SQUARE, (2,)), np.int32([2, 3])),
    "conv": lambda: lax.conv(IMAGE, WEIGHTS, (1, 2), "SAME"),
    "reduce_window": lambda: lax.reduce_window(X, 0.0, lax.add, (2, 3)),
    "fft": lambda: fnp.fft.fft(X),
    "polyval": lambda: fnp.polyval(fnp.arange(1, 4), X),
    "polyint": lambda: fnp.polyint(V),
    "custom_root": lambda: cube_root(Y),
    "slope_of_custom_root": lambda: fc.grad(lambda y: fnp.sum(cube_root(y)))(Y),
    "segment_sum": lambda: fc.ops.segment_sum(V, N % 5, 5),
    "cholesky": lambda: lax.linalg.cholesky(SYMMETRIC),
    "solve": lambda: fnp.linalg.solve(SYMMETRIC, Y.T),
    "det": lambda: fnp.linalg.det(SYMMETRIC),
    "pinv": lambda: fnp.linalg.pinv(X),
    "singular_values": lambda: lax.linalg.svd(X, compute_uv=False, subset_by_index=(0, 2)),
    "expm": lambda: fc.scipy.linalg.expm(SQUARE / 8.0),
    "toeplitz": lambda: fc.scipy.linalg.toeplitz(V),
    "gelu": lambda: nn.gelu(X),
    "mish": lambda: nn.mish(X),
    "selu": lambda: nn.selu(X),
    "glu": lambda: nn.glu(X),
    "softmax": lambda: nn.softmax(X),
    "log_softmax": lambda: nn.log_softmax(X, 0),
    "logsumexp": lambda: nn.logsumexp(X, 1),
    "standardize": lambda: nn.standardize(X),
    "one_hot": lambda: nn.one_hot(N % 7, 7),
    "norm.logcdf": lambda: fc.scipy.stats.norm.logcdf(X),
    "gamma.logpdf": lambda: fc.scipy.stats.gamma.logpdf(Y, 2.5),
    "normal": lambda: random.normal(KEY, (5,)),
    "randint": lambda: random.randint(KEY, (5,), 0, 1000),
    "gamma": lambda: random.gamma(KEY, 1.5, (5,)),
    "permutation": lambda: random.permutation(KEY, 12),
    "categorical": lambda: random.categorical(KEY, X),
}


@pytest.fixture(scope="module")
def from_cpp() -> dict[str, tuple[str, str]]:
    """The type and the bytes of each result of the same calls from C++."""
    library = ctypes.CDLL(
        str(
            build(
                SOURCE,
                "-std=c++20",
                "-O0",
                *linker_flags(),
                "-lfmt",
                "-Wno-missing-field-initializers",
            )
        )
    )
    library.array_library_bits.restype = ctypes.c_char_p
    lines = library.array_library_bits().decode().splitlines()
    return {name: (type_, data) for name, type_, data in (line.split(" ") for line in lines)}


def test_both_make_the_same_calls(from_cpp: dict[str, tuple[str, str]]) -> None:
    assert list(from_cpp) == list(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_python_and_cpp_give_the_same_bits(name: str, from_cpp: dict[str, tuple[str, str]]) -> None:
    result = CALLS[name]()
    type_, data = from_cpp[name]
    assert f"{result.dtype.name}[{','.join(map(str, result.shape))}]" == type_
    assert np.asarray(result).tobytes().hex() == data
