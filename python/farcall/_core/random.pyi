"""The core of farcall.random."""

from collections.abc import Sequence

from farcall._core import Array, KeyDType
from farcall._core.lax import ArrayLike
from numpy.typing import DTypeLike

def key(seed: ArrayLike, impl: str) -> Array: ...
def PRNGKey(seed: ArrayLike, impl: str) -> Array: ...  # noqa: N802
def split(key: ArrayLike, num: int | Sequence[int]) -> Array: ...
def fold_in(key: ArrayLike, data: ArrayLike) -> Array: ...
def clone(key: ArrayLike) -> Array: ...
def key_data(keys: ArrayLike) -> Array: ...
def wrap_key_data(key_bits_array: ArrayLike, impl: str) -> Array: ...
def key_impl(keys: ArrayLike) -> str: ...
def key_dtype(impl: str) -> KeyDType: ...
def bits(key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None) -> Array: ...
def randint(
    key: ArrayLike,
    shape: int | Sequence[int] | None,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None,
) -> Array: ...
def rademacher(
    key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def bernoulli(
    key: ArrayLike, p: ArrayLike, shape: int | Sequence[int] | None, mode: str
) -> Array: ...
def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
    unroll: int,
) -> Array: ...
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int,
    shape: int | Sequence[int] | None,
    replace: bool,
    mode: str,
) -> Array: ...
def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: int | Sequence[int] | None,
    replace: bool,
    p: ArrayLike | None,
    axis: int,
    mode: str,
) -> Array: ...
def permutation(key: ArrayLike, x: ArrayLike, axis: int, independent: bool) -> Array: ...
def uniform(
    key: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
    minval: ArrayLike,
    maxval: ArrayLike,
) -> Array: ...
def gumbel(
    key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None, mode: str
) -> Array: ...
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
) -> Array: ...
def generalized_normal(
    key: ArrayLike, p: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
    method: str,
) -> Array: ...
def ball(
    key: ArrayLike, d: int, p: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
    m: int | None,
) -> Array: ...
def normal(key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None) -> Array: ...
def exponential(
    key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def laplace(
    key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def logistic(
    key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def cauchy(key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None) -> Array: ...
def maxwell(
    key: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def lognormal(
    key: ArrayLike, sigma: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def pareto(
    key: ArrayLike, b: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def rayleigh(
    key: ArrayLike, scale: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def wald(
    key: ArrayLike, mean: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def gamma(
    key: ArrayLike, a: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def loggamma(
    key: ArrayLike, a: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def dirichlet(
    key: ArrayLike, alpha: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def chisquare(
    key: ArrayLike, df: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def t(
    key: ArrayLike, df: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def geometric(
    key: ArrayLike, p: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def poisson(
    key: ArrayLike, lam: ArrayLike, shape: int | Sequence[int] | None, dtype: DTypeLike | None
) -> Array: ...
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
) -> Array: ...
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
) -> Array: ...
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
) -> Array: ...
def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
) -> Array: ...
def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
) -> Array: ...
def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
) -> Array: ...
