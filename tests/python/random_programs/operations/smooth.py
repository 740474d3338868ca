"""Functions of whole modules that are made of primitives with choices among them.

Left out are those whose derivatives JAX has not at the special points (derivative_rows.py notes
them): hypot, sinc, boxcox.
"""

from __future__ import annotations

from elementwise_rows import BY_NAME, NUMPY

from random_programs.operations.elementwise import POSITIVE
from random_programs.writer import CannotWriteError, Writer

_UNARY = """fnp.abs fnp.square fnp.sign fnp.fabs fnp.trunc fnp.deg2rad fnp.nan_to_num
nn.relu nn.relu6 nn.softplus nn.silu nn.elu nn.celu nn.selu nn.gelu nn.leaky_relu nn.log_sigmoid
nn.hard_tanh nn.hard_sigmoid nn.mish nn.squareplus nn.sparse_plus nn.sparse_sigmoid special.expit
special.ndtr special.log_ndtr fnp.exp fnp.expm1 fnp.tanh fnp.arctan fnp.arcsinh"""
_BINARY = """fnp.maximum fnp.minimum fnp.logaddexp fnp.logaddexp2 fnp.fmax fnp.fmin fnp.remainder
fnp.fmod fnp.copysign fnp.heaviside fnp.multiply fnp.add fnp.subtract"""
_OTHERS = "special.entr special.gammaln special.digamma fnp.log2 fnp.log10 fnp.reciprocal"
_POSITIVE = _OTHERS.split() + [
    f"fnp.{r.name}" for r in NUMPY if BY_NAME[r.operation].domain == "kPositive"
]
_ALONG = """fnp.max fnp.min fnp.ptp fnp.sum fnp.mean fnp.var fnp.prod fnp.sort fnp.cumsum
fnp.cumprod fnp.median nn.logsumexp nn.softmax nn.log_softmax fnp.nansum fnp.nanmean fnp.nanmax
fnp.flip"""


def unary(w: Writer) -> None:
    w.add(f"{w.choose(_UNARY.split())}({{0}})", w.any("F"), exact=False)


def positive(w: Writer) -> None:
    x = w.any("F")
    for text in POSITIVE:
        x = w.add(text, x)
    w.add(f"{w.choose(_POSITIVE)}({{0}})", x, exact=False)


def binary(w: Writer) -> None:
    name = w.choose(_BINARY.split())
    jumps = name in ("fnp.remainder", "fnp.fmod", "fnp.heaviside")
    x = w.any("F", exact=jumps)
    y = w.of_type(x.shape, x.dtype, jumps)
    w.add(f"{name}({{0}}, {{1}})", x, y, exact=name in ("fnp.maximum", "fnp.minimum"))


def power(w: Writer) -> None:
    """A base above zero with any exponent, or any base with a whole number."""
    x = w.any("F")
    if w.chance(0.5):
        w.add(f"fnp.power({{0}}, {w.choose([0, 1, 2, 3])})", x)
        return
    y = w.of_type(x.shape, x.dtype)
    for text in POSITIVE:
        x = w.add(text, x)
    w.add("fnp.power({0}, {1})", x, y, exact=False)


def product_with_logarithm(w: Writer) -> None:
    name = w.choose(["special.xlogy", "special.xlog1py", "special.rel_entr"])
    x, y = w.any("F"), w.any("F")
    if x.shape != y.shape:
        raise CannotWriteError
    for text in POSITIVE:
        y = w.add(text, y)
        x = w.add(text, x) if name == "special.rel_entr" else x
    w.add(f"{name}({{0}}, {{1}})", x, y, exact=False)


def along(w: Writer) -> None:
    x = w.any("F", min_rank=1, test=lambda v: v.size > 0)
    w.add(f"{w.choose(_ALONG.split())}({{0}}, axis={w.below(x.ndim)})", x, exact=False)


def clip(w: Writer) -> None:
    w.add("fnp.clip({0}, -1, 1)", w.any("F"))


def norm(w: Writer) -> None:
    """Of vectors without a zero, where norms have kinks that no two systems treat alike."""
    x = w.any("F", min_rank=1, test=lambda v: v.size > 0)
    for text in POSITIVE:
        x = w.add(text, x)
    order = w.choose(["1", "2", "3", "fnp.inf", "-fnp.inf"])
    w.add(f"fnp.linalg.norm({{0}}, {order}, axis={w.below(x.ndim)})", x, exact=False)


def where(w: Writer) -> None:
    """A choice by the value itself, at its kinks."""
    x = w.any("F", exact=True)
    y = w.of_type(x.shape, x.dtype)
    name = w.choose(["greater", "greater_equal", "less", "equal"])
    w.add(f"fnp.where(fnp.{name}({{0}}, {w.choose([0, 1])}), {{0}}, {{1}})", x, y)


OPERATIONS = [*[unary] * 4, *[positive] * 2, *[binary] * 4, *[power] * 2, product_with_logarithm]
OPERATIONS += [*[along] * 4, clip, norm, where]
