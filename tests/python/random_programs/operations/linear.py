"""Products, convolutions, Fourier transforms and factorizations."""

from __future__ import annotations

from random_programs.values import LIKELY
from random_programs.writer import CannotWriteError, Value, Writer

LAPACK_TYPES = ("float32", "float64", "complex64", "complex128")


def dot_general(w: Writer) -> None:
    x = w.any(max_rank=4, test=lambda v: v.size <= 120)
    left = list(w.permutation(x.ndim))
    contracted = [left.pop() for _ in range(w.below(min(2, len(left)) + 1))]
    batched = [left.pop() for _ in range(w.below(min(2, len(left)) + 1))] if w.chance(0.5) else []
    shape = [(d, x.shape[d], "c") for d in contracted] + [(d, x.shape[d], "b") for d in batched]
    shape += [(-1, w.choose(w.sizes), "f") for _ in range(w.below(2))]
    shape = [shape[i] for i in w.permutation(len(shape))]
    y = w.of_type(tuple(size for _, size, _ in shape), x.dtype)
    places = {d: i for i, (d, _, _) in enumerate(shape) if d >= 0}
    numbers = (
        (tuple(contracted), tuple(places[d] for d in contracted)),
        (tuple(batched), tuple(places[d] for d in batched)),
    )
    w.add(f"lax.dot_general({{0}}, {{1}}, {numbers})", x, y, exact=False)


def matmul(w: Writer) -> None:
    x = w.any("SUFC", min_rank=1, max_rank=3)
    y = w.any(
        dtypes=(x.dtype,),
        min_rank=1,
        max_rank=3,
        test=lambda v: v.shape[max(0, v.ndim - 2)] == x.shape[-1],
    )
    if x.ndim == 3 and y.ndim == 3 and x.shape[0] != y.shape[0]:
        raise CannotWriteError
    w.add("{0} @ {1}", x, y, exact=False)


def einsum(w: Writer) -> None:
    x = w.any("SUFC", min_rank=2, max_rank=2, test=lambda v: v.size <= 60)
    y = w.any(dtypes=(x.dtype,), min_rank=2, max_rank=2, test=lambda v: v.shape[0] == x.shape[1])
    text = w.choose(["ij,jk->ik", "ij,jk->ki", "ij,jk->", "ij,jk->ijk", "ij,jk->j"])
    w.add(f"fnp.einsum({text!r}, {{0}}, {{1}})", x, y, exact=False)


def convolution(w: Writer) -> None:
    spatial = 1 + w.below(2)
    groups = 1 + w.below(2)
    batch_groups = 2 if groups == 1 and w.chance(0.2) else 1
    batch, features, out = batch_groups * (1 + w.below(2)), groups * (1 + w.below(2)), 2
    name = w.choose([n for n in LIKELY if n != "bool"])
    sizes = [1 + w.below(5) for _ in range(spatial)]
    kernel = [1 + w.below(3) for _ in range(spatial)]
    x = w.of_type((batch, features, *sizes), name)
    y = w.of_type((out, features // groups, *kernel), name)
    padding = w.choose(["'SAME'", "'VALID'", str([(w.below(3), w.below(3) - 1)] * spatial)])
    options = [f"feature_group_count={groups}", f"batch_group_count={batch_groups}"]
    for option in w.some(["lhs_dilation", "rhs_dilation"]):
        options.append(f"{option}={tuple(1 + w.below(2) for _ in range(spatial))}")
    strides = tuple(1 + w.below(2) for _ in range(spatial))
    if w.chance(0.4):  # another order of dimensions
        order = w.permutation(x.ndim)
        x = w.add(f"lax.transpose({{0}}, {order})", x)
        spec = tuple(order.index(i) for i in range(x.ndim))
        plain = tuple(range(x.ndim))
        options.append(f"dimension_numbers=lax.ConvDimensionNumbers({spec}, {plain}, {spec})")
    call = f"lax.conv_general_dilated({{0}}, {{1}}, {strides}, {padding}, {', '.join(options)})"
    w.add(call, x, y, exact=False)


def fft(w: Writer) -> None:
    kind = w.choose(["FFT", "IFFT", "RFFT", "IRFFT"])
    dtypes = ("float32", "float64") if kind == "RFFT" else ("complex64", "complex128")
    x = w.any(dtypes=dtypes, min_rank=1, max_rank=4, test=lambda v: 0 not in v.shape)
    lengths = list(x.shape[-(1 + w.below(min(x.ndim, 3))) :])
    if kind == "IRFFT":
        half = lengths[-1]
        lengths[-1] = max(1, 2 * (half - 1) + w.below(2))
        if half == 1:
            lengths[-1] = 1
    w.add(f"lax.fft({{0}}, '{kind}', {tuple(lengths)})", x, exact=False)


# ---- factorizations ----


def _square(w: Writer) -> Value:
    """A matrix, or a stack of them, that is far from singular and has distinct eigenvalues."""
    x = w.any(
        dtypes=LAPACK_TYPES,
        min_rank=2,
        max_rank=3,
        test=lambda v: v.shape[-1] == v.shape[-2] and v.size <= 80,
    )
    n = x.shape[-1]
    diagonal = f"np.diag(np.linspace(2, 5, {n})).astype(np.{x.dtype})"
    return w.add(f"fnp.tanh({{0}}) * 0.25 + {diagonal}", x)


def _positive(w: Writer) -> Value:
    x = _square(w)
    return w.add("({0} + {0}.mT.conj()) / 2", x)


def cholesky(w: Writer) -> None:
    w.add("lax.linalg.cholesky({0})", _positive(w), exact=False)


def solve(w: Writer) -> None:
    a = _square(w)
    b = w.of_type((*a.shape[:-1], 1 + w.below(3)), a.dtype)
    options = [f"{name}={w.chance(0.5)}" for name in ("lower", "transpose_a", "unit_diagonal")]
    side = f"left_side=True, {', '.join(options)}, conjugate_a={w.chance(0.2)}"
    call = w.choose([f"lax.linalg.triangular_solve({{0}}, {{1}}, {side})"] * 2 + [_SOLVE])
    w.add(call, a, b, exact=False)


_SOLVE = "fnp.linalg.solve({0}, {1})"


def inverse(w: Writer) -> None:
    function = w.choose(["inv", "det"])
    w.add(f"fnp.linalg.{function}({{0}})", _square(w), exact=False)


def lu(w: Writer) -> None:
    w.add_all("lax.linalg.lu({0})", _square(w), groups=(None,) * 3, exact=False)


def slogdet(w: Writer) -> None:
    w.add_all("fnp.linalg.slogdet({0})", _square(w), groups=(None, None), exact=False)


def qr(w: Writer) -> None:
    x = _square(w)
    if w.chance(0.5):
        x = w.add("{0}[..., :2]", x)
    full = w.chance(0.3)
    traits = ["no jvp", "no vjp"] if full and x.shape[-1] != x.shape[-2] else []
    text = f"lax.linalg.qr({{0}}, full_matrices={full})"
    w.add_all(text, x, groups=(None, None), exact=False, traits=traits)


def eigh(w: Writer) -> None:
    w.add_all("lax.linalg.eigh({0})", _positive(w), groups=(None, None), exact=False)


def svd(w: Writer) -> None:
    x = _square(w)
    w.add_all("lax.linalg.svd({0}, full_matrices=False)", x, groups=(None,) * 3, exact=False)


def eig(w: Writer) -> None:
    options = "compute_left_eigenvectors=False, enable_eigvec_derivs=True"
    w.add_all(f"lax.linalg.eig({{0}}, {options})", _square(w), groups=(None, None), exact=False)


def schur(w: Writer) -> None:
    traits = ["no jvp", "no vjp"]
    x = _square(w)
    w.add_all("lax.linalg.schur({0})", x, groups=(None, None), exact=False, traits=traits)


FACTORISATIONS = [cholesky, cholesky, solve, solve, inverse, lu, slogdet, qr, eigh, svd, eig, schur]


def factorization(w: Writer) -> None:
    w.choose(FACTORISATIONS)(w)


OPERATIONS = [dot_general, dot_general, matmul, einsum, convolution, convolution, fft, fft]
OPERATIONS += [factorization, factorization]
