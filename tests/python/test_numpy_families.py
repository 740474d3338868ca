"""farcall.numpy's functions that are made of others, against jax.numpy, call by call."""

from __future__ import annotations

import farcall.numpy as fnp
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

R = np.random.default_rng(7)
X = (R.standard_normal((4, 3, 5)) * 3).astype(np.float32)
Y = (R.standard_normal((4, 3, 5)) * 3).astype(np.float32)
M = R.standard_normal((3, 4)).astype(np.float32)
V = np.array([0.5, -1.5, 2.5, -0.0, 0.0, 1e-3, 7.0], np.float32)
W = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.5, -1.0], np.float32)
N = np.where(R.random((4, 3, 5)) < 0.3, np.nan, X).astype(np.float32)
I = R.integers(-9, 9, (4, 3, 5)).astype(np.int32)  # noqa: E741
U = R.integers(0, 9, (6,)).astype(np.uint8)
B = X > 0
C = (X + 1j * Y).astype(np.complex64)
H = X.astype(np.float16)
E = np.zeros((0, 3), np.float32)
S = np.float32(1.75)

CALLS = {
    # reductions
    "sum dtype": lambda n: n.sum(I, axis=1, dtype="float32"),
    "sum initial where": lambda n: n.sum(X, axis=(0, 2), initial=2.0, where=B),
    "sum of nothing": lambda n: n.sum(E, axis=0),
    "sum narrow": lambda n: n.sum(U, promote_integers=False),
    "prod where": lambda n: n.prod(X, axis=0, where=B, keepdims=True),
    "max initial": lambda n: n.max(X, axis=-1, initial=1.0, where=B),
    "min initial": lambda n: n.min(E, axis=0, initial=1.0),
    "amax": lambda n: n.amax(X, 1),
    "any where": lambda n: n.any(I, axis=0, where=B),
    "all where": lambda n: n.all(I, axis=0, where=B),
    "mean dtype": lambda n: n.mean(I, axis=0, dtype="float16"),
    "mean where": lambda n: n.mean(X, axis=1, where=B, keepdims=True),
    "mean half": lambda n: n.mean(H, axis=1),
    "var where": lambda n: n.var(X, axis=0, where=B, ddof=1),
    "var complex": lambda n: n.var(C, axis=0),
    "var correction": lambda n: n.var(X, axis=0, correction=1, keepdims=True),
    "std dtype": lambda n: n.std(I, dtype="float32"),
    "average": lambda n: n.average(X, axis=1, weights=np.arange(1.0, 4.0, dtype=np.float32)),
    "average returned": lambda n: n.average(X, axis=1, returned=True),
    "ptp": lambda n: n.ptp(X, axis=(0, 1)),
    "count_nonzero": lambda n: n.count_nonzero(I, axis=0),
    "nansum": lambda n: n.nansum(N, axis=0),
    "nanprod": lambda n: n.nanprod(N, axis=0),
    "nanmax": lambda n: n.nanmax(N, axis=2),
    "nanmax of NaNs": lambda n: n.nanmax(np.full((2, 3), np.nan, np.float32), axis=1),
    "nanmin ints": lambda n: n.nanmin(I, axis=2),
    "nanmean": lambda n: n.nanmean(N, axis=0),
    "nanvar": lambda n: n.nanvar(N, axis=0, ddof=1),
    "nanstd": lambda n: n.nanstd(N, axis=1, keepdims=True),
    "nanargmax": lambda n: n.nanargmax(N, axis=1),
    "nanargmin": lambda n: n.nanargmin(np.where(B, N, np.nan), axis=1),
    # order
    "sort": lambda n: n.sort(X, axis=1),
    "sort flat": lambda n: n.sort(X, axis=None),
    "sort descending": lambda n: n.sort(I, axis=0, descending=True),
    "sort complex": lambda n: n.sort(C, axis=0),
    "sort NaN": lambda n: n.sort(W),
    "argsort": lambda n: n.argsort(I, axis=2),
    "argsort descending": lambda n: n.argsort(I, axis=2, descending=True),
    "argsort half": lambda n: n.argsort(H, axis=None),
    "lexsort": lambda n: n.lexsort((I, I[::-1], I % 3), axis=1),
    "searchsorted left": lambda n: n.searchsorted(np.sort(V), X),
    "searchsorted right": lambda n: n.searchsorted(np.sort(I.ravel()), I, side="right"),
    "searchsorted scalar": lambda n: n.searchsorted(np.sort(V), 0.25),
    "digitize": lambda n: n.digitize(X, np.array([-2.0, 0.0, 2.0], np.float32)),
    "digitize falling": lambda n: n.digitize(I, np.array([4, 0, -4], np.int32), right=True),
    "median": lambda n: n.median(X, axis=1),
    "median all": lambda n: n.median(X),
    "median NaN": lambda n: n.median(N, axis=1),
    "nanmedian": lambda n: n.nanmedian(N, axis=1),
    "quantile": lambda n: n.quantile(X, np.array([0.1, 0.5, 1.0], np.float32), axis=(0, 2)),
    "quantile keepdims": lambda n: n.quantile(X, 0.3, axis=1, keepdims=True),
    "percentile lower": lambda n: n.percentile(X, 30, axis=0, method="lower"),
    "percentile higher": lambda n: n.percentile(X, 30, axis=0, method="higher"),
    "percentile nearest": lambda n: n.percentile(X, 30, axis=0, method="nearest"),
    "nanquantile": lambda n: n.nanquantile(N, 0.75, axis=0),
    "cumsum": lambda n: n.cumsum(X, axis=1),
    "cumsum flat": lambda n: n.cumsum(B),
    "cumsum narrow": lambda n: n.cumsum(U, dtype="uint8"),
    "cumprod": lambda n: n.cumprod(X, axis=-1),
    "cumprod complex": lambda n: n.cumprod(C, axis=0),
    "nancumsum": lambda n: n.nancumsum(N, axis=1),
    "nancumprod": lambda n: n.nancumprod(N, axis=1),
    "cumulative_sum": lambda n: n.cumulative_sum(I, axis=1, include_initial=True),
    "cumulative_prod": lambda n: n.cumulative_prod(V),
    "diff": lambda n: n.diff(X, n=2, axis=1),
    "diff bool": lambda n: n.diff(B, axis=0),
    "diff prepend": lambda n: n.diff(X, axis=0, prepend=0.0, append=X[:1]),
    "ediff1d": lambda n: n.ediff1d(V, to_end=np.float32(1), to_begin=V[:2]),
    "trapezoid": lambda n: n.trapezoid(X, dx=0.5, axis=1),
    "trapezoid x": lambda n: n.trapezoid(X, x=V[:5]),
    # elementwise
    "round": lambda n: n.round(X, 1),
    "round tens": lambda n: n.round(X * 100, -1),
    "round complex": lambda n: n.round(C),
    "round ints": lambda n: n.round(I, 2),
    "trunc": lambda n: n.trunc(X),
    "modf": lambda n: n.modf(V),
    "divmod": lambda n: n.divmod(X, Y),
    "fmod": lambda n: n.fmod(X, Y),
    "fmod ints": lambda n: n.fmod(I, 4),
    "reciprocal": lambda n: n.reciprocal(X),
    "float_power": lambda n: n.float_power(np.abs(I), 1.5),
    "fabs": lambda n: n.fabs(I),
    "hypot": lambda n: n.hypot(X, Y[0]),
    "hypot large": lambda n: n.hypot(np.float32(3e30), np.array([4e30, 0, np.inf], np.float32)),
    "fmax": lambda n: n.fmax(W, 0.5),
    "fmin": lambda n: n.fmin(W, W[::-1]),
    "heaviside": lambda n: n.heaviside(W, 0.5),
    "polyval": lambda n: n.polyval(V, X),
    "log2": lambda n: n.log2(np.abs(X)),
    "log10": lambda n: n.log10(np.abs(X)),
    "logaddexp": lambda n: n.logaddexp(W, np.float32(0.5)),
    "logaddexp infinities": lambda n: n.logaddexp(W, W),
    "logaddexp2": lambda n: n.logaddexp2(X, Y),
    "ldexp": lambda n: n.ldexp(X, I),
    "sinc": lambda n: n.sinc(V),
    "degrees": lambda n: n.degrees(X),
    "radians": lambda n: n.radians(I),
    "angle": lambda n: n.angle(C),
    "angle degrees": lambda n: n.angle(C, deg=True),
    "signbit": lambda n: n.signbit(W),
    "copysign": lambda n: n.copysign(X, Y),
    "nextafter": lambda n: n.nextafter(X, Y),
    "bitwise_count": lambda n: n.bitwise_count(I),
    "isposinf": lambda n: n.isposinf(W),
    "isneginf": lambda n: n.isneginf(W),
    "isreal": lambda n: n.isreal(C),
    "iscomplex": lambda n: n.iscomplex(C),
    "isclose": lambda n: n.isclose(W, np.roll(W, 1), rtol=0.1, equal_nan=True),
    "isclose near": lambda n: n.isclose(X, X * np.float32(1.000001)),
    "allclose": lambda n: n.allclose(X, X + np.float32(1)),
    "array_equal": lambda n: n.array_equal(W, W, equal_nan=True),
    "array_equiv": lambda n: n.array_equiv(X[:1], np.broadcast_to(X[:1], X.shape)),
    "nan_to_num": lambda n: n.nan_to_num(W),
    "nan_to_num values": lambda n: n.nan_to_num(W, nan=1, posinf=2, neginf=3),
    "nan_to_num half": lambda n: n.nan_to_num(W.astype(np.float16)),
    "select": lambda n: n.select([X > 1, X > 0], [X, Y], 3.0),
    # shapes
    "reshape F": lambda n: n.reshape(X, (5, 12), order="F"),
    "ravel F": lambda n: n.ravel(X, order="F"),
    "moveaxis": lambda n: n.moveaxis(X, (0, 1), (-1, 0)),
    "rollaxis": lambda n: n.rollaxis(X, 2, 1),
    "rot90": lambda n: [n.rot90(M, k) for k in range(-1, 4)],
    "flips": lambda n: (n.flipud(M), n.fliplr(M)),
    "roll": lambda n: n.roll(X, (1, -7), (0, 2)),
    "roll flat": lambda n: n.roll(X, 4),
    "concatenate flat": lambda n: n.concatenate([X, M], axis=None),
    "concatenate dtype": lambda n: n.concatenate([I, I], axis=1, dtype="float32"),
    "stacks": lambda n: (n.vstack([V, V]), n.hstack([V, V]), n.dstack([M, M])),
    "hstack matrices": lambda n: n.hstack([M, M]),
    "column_stack": lambda n: n.column_stack([V[:3], M]),
    "unstack": lambda n: n.unstack(X, axis=1),
    "append": lambda n: n.append(M, M, axis=1),
    "atleast": lambda n: [f(S) for f in (n.atleast_1d, n.atleast_2d, n.atleast_3d)],
    "atleast matrix": lambda n: [f(M) for f in (n.atleast_1d, n.atleast_2d, n.atleast_3d)],
    "atleast vector": lambda n: [f(V) for f in (n.atleast_1d, n.atleast_2d, n.atleast_3d)],
    "broadcast_arrays": lambda n: n.broadcast_arrays(X, S, Y[0]),
    "split": lambda n: n.split(X, 2) + n.split(X, [1, 3], axis=2),
    "array_split": lambda n: n.array_split(X, 3, axis=2),
    "other splits": lambda n: n.vsplit(X, 2) + n.hsplit(X, 3) + n.dsplit(X, 5),
    "tile": lambda n: n.tile(X, (2, 1, 1, 3)),
    "repeat": lambda n: n.repeat(X, 3, axis=1),
    "repeat flat": lambda n: n.repeat(M, 2),
    # products
    "einsum": lambda n: n.einsum("ijk,lk->lij", X, M[:, :1] * np.ones((1, 5), np.float32)),
    "einsum numbers": lambda n: n.einsum(M, [0, 1], M, [2, 1], [0, 2]),
    "einsum trace": lambda n: n.einsum("ii", M[:, :3]),
    "einsum three": lambda n: n.einsum("ijk,jl,lm->km", X, M, M.T),
    "einsum left to right": lambda n: n.einsum("ijk,jl,lm->km", X, M, M.T, optimize=False),
    "einsum path": lambda n: n.einsum("ijk,jl,lm->km", X, M, M.T, optimize=[(1, 2), (0, 1)]),
    "tensordot": lambda n: n.tensordot(X, Y, axes=((0, 2), (0, 2))),
    "tensordot number": lambda n: n.tensordot(M, M.T, axes=1),
    "inner": lambda n: n.inner(X, Y),
    "vdot": lambda n: n.vdot(C, C),
    "vecdot": lambda n: n.vecdot(C, C[0], axis=-1),
    "matvec": lambda n: n.matvec(X, V[:5]),
    "vecmat": lambda n: n.vecmat(V[:3], X),
    "kron": lambda n: n.kron(M, V),
    "cross": lambda n: n.cross(X[..., :3], Y[0, :, :3]),
    "cross axes": lambda n: n.cross(X, Y, axisa=1, axisb=1, axisc=0),
    "cross plane": lambda n: n.cross(X[..., :2], Y[..., :2]),
    "cross mixed": lambda n: n.cross(X[..., :2], Y[..., :3]),
    "trace": lambda n: n.trace(X, offset=1, axis1=0, axis2=2),
    "trace dtype": lambda n: n.trace(I[0], dtype="int8"),
    # creation
    "linspace": lambda n: n.linspace(-1.0, 2.0, 7),
    "linspace open": lambda n: n.linspace(0, 10, 4, endpoint=False, retstep=True),
    "linspace ints": lambda n: n.linspace(0, 10, 4, dtype="int32"),
    "linspace arrays": lambda n: n.linspace(V[:2], S, 3, axis=1),
    "linspace one": lambda n: n.linspace(3.0, 9.0, 1),
    "logspace": lambda n: n.logspace(0.0, 3.0, 5, base=2.0),
    "geomspace": lambda n: n.geomspace(1.0, 256.0, 9),
    "eye": lambda n: n.eye(3, 4, k=1, dtype="int32"),
    "identity": lambda n: n.identity(3),
    "tri": lambda n: n.tri(3, 5, 1),
    "tril": lambda n: n.tril(X, -1),
    "triu": lambda n: n.triu(I, 1),
    "tril_indices": lambda n: n.tril_indices(4, 1, 3),
    "triu_indices": lambda n: n.triu_indices(4),
    "diag of vector": lambda n: [n.diag(V[:3], k) for k in (-2, 0, 1)],
    "diag of matrix": lambda n: [n.diag(M, k) for k in (-1, 0, 2)],
    "diag bool": lambda n: n.diag(V > 0),
    "diagonal": lambda n: n.diagonal(X, 1, 2, 0),
    "diagflat": lambda n: n.diagflat(M, 1),
    "vander": lambda n: n.vander(V, 4),
    "vander rising": lambda n: n.vander(V, increasing=True),
    "meshgrid": lambda n: n.meshgrid(V, V[:3], V[:2]),
    "meshgrid ij": lambda n: n.meshgrid(V, V[:3], indexing="ij", sparse=True),
    "indices": lambda n: n.indices((2, 3)),
    "full_like": lambda n: n.full_like(I, 3, dtype="float32", shape=(2,)),
}


def leaves(result) -> list:
    return list(result) if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("name", CALLS)
def test_gives_what_jax_gives(name):
    got = leaves(CALLS[name](fnp))
    want = jax.jit(lambda: leaves(CALLS[name](jnp)))()  # as one program
    assert len(got) == len(want)
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        tolerance = 2e-3 if theirs.dtype == np.float16 else 3e-6
        np.testing.assert_allclose(
            np.asarray(mine), np.asarray(theirs), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fnp.sum(X, out=X), NotImplementedError, "sum: arrays are immutable"),
        (lambda: fnp.max(X, where=B), ValueError, "max: where requires initial"),
        (lambda: fnp.var(X, ddof=1, correction=1), ValueError, "the same option; pass only one"),
        (lambda: fnp.average(X, weights=V), ValueError, "average: weights must have the shape"),
        (lambda: fnp.lexsort(()), TypeError, "lexsort: needs at least one key"),
        (lambda: fnp.partition(V, 9), ValueError, "partition: kth 9 is out of range"),
        (lambda: fnp.searchsorted(M, V), ValueError, "searchsorted: a must be a vector"),
        (lambda: fnp.searchsorted(V, V, side="up"), ValueError, "side must be 'left' or 'right'"),
        (lambda: fnp.quantile(X, 0.5, method="no"), ValueError, "quantile: method must be"),
        (lambda: fnp.quantile(C, 0.5), ValueError, "quantile: complex numbers have no order"),
        (lambda: fnp.cumsum(X, axis=3), ValueError, "cumsum: axis 3 is out of range"),
        (lambda: fnp.cumulative_sum(X), ValueError, "cumulative_sum: axis must be given"),
        (lambda: fnp.diff(S), ValueError, "diff: needs at least one dimension"),
        (
            lambda: fnp.round(I, -1),
            NotImplementedError,
            "round: decimals must not be negative for integers, got -1",
        ),
        (lambda: fnp.reshape(X, -1, order="A"), NotImplementedError, "order must be 'C' or 'F'"),
        (lambda: fnp.moveaxis(X, (0, 1), 0), ValueError, "moveaxis: source and destination differ"),
        (lambda: fnp.roll(X, (1, 2), (0, 1, 2)), ValueError, "roll: 2 shifts for 3 axes"),
        (lambda: fnp.split(X, 3), ValueError, "split: dimension 0 of .* 3 equal parts"),
        (lambda: fnp.repeat(V, -1), ValueError, "repeat: repeats must not be negative"),
        (lambda: fnp.tril(V), ValueError, "tril: needs at least two dimensions"),
        (lambda: fnp.einsum("ij,jk", M), ValueError, "names 2 operands, got 1"),
        (lambda: fnp.einsum("ij->k", M), ValueError, "no operand has the output's 'k'"),
        (lambda: fnp.einsum("ijk", M), ValueError, "names 3 dimensions, operand 0 is f32"),
        (lambda: fnp.einsum("ij,ik", M, M.T), ValueError, "one letter has two sizes, 3 and 4"),
        (lambda: fnp.einsum("ii->i", M[:1]), ValueError, "one letter has two sizes, 1 and"),
        (lambda: fnp.einsum("ii", M[:, :1]), ValueError, "one letter has two sizes, .* and 1"),
        (lambda: fnp.cross(V, V), ValueError, "cross: vectors have two or three elements"),
        (lambda: fnp.diag(X), ValueError, "diag: v must be a vector or a matrix"),
        (lambda: fnp.linspace(0, 1, -1), ValueError, "linspace: num must not be negative"),
        (lambda: fnp.meshgrid(M), ValueError, "meshgrid: xi.0. must be a vector"),
        (lambda: fnp.array(M).item(12), IndexError, "index 12 is out of range for 12 elements"),
    ],
)
def test_mistakes_name_the_function_and_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_methods_are_the_functions():
    x, m = fnp.array(X), fnp.array(M)
    assert x.sum(axis=1, dtype="float64").dtype == np.float64
    np.testing.assert_array_equal(x.sort(axis=1), np.sort(X, axis=1))
    np.testing.assert_array_equal(x.argsort(), np.argsort(X))
    np.testing.assert_array_equal(m.diagonal(1), M.diagonal(1))
    np.testing.assert_allclose(m.round(1), M.round(1), rtol=1e-6)
    np.testing.assert_array_equal(m.repeat(2, axis=0), M.repeat(2, axis=0))
    np.testing.assert_array_equal(m.flatten("F"), M.flatten("F"))
    np.testing.assert_array_equal(m.reshape(2, 6, order="F"), M.reshape(2, 6, order="F"))
    np.testing.assert_allclose(m.dot(m.T), M @ M.T, rtol=1e-6)
    np.testing.assert_allclose(m.cumsum(0), M.cumsum(0), rtol=1e-6)
    assert m.item(5) == M.item(5)
    assert m.item(-1) == M.item(-1)
    assert m.item(1, 2) == M.item(1, 2)
    assert m.trace().item() == pytest.approx(M.trace().item())


def test_the_module_offers_functions_and_no_helpers():
    public = {name for name in dir(fnp) if not name.startswith("_")}
    assert public.isdisjoint({"np", "Any", "builtins", "annotations", "as_array", "names"})
