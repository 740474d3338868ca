"""Random numbers from explicit keys, with the same bits as ``jax.random``.

The key determines the samples: the same key, shape and dtype give the same numbers, in eager code,
under ``jit`` and ``vmap``, and in loops. Use a key once, and make new keys with ``split`` or
``fold_in``::

    key = farcall.random.key(0)
    key, subkey = farcall.random.split(key)
    x = farcall.random.normal(subkey, (3,))

The generator is threefry2x32 (J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel random numbers:
as easy as 1, 2, 3", 2011). Keys are arrays of dtype ``key<fry>``, or vectors of two uint32, as
``PRNGKey`` makes them; every function accepts both.

All functions raise TypeError if ``key`` is not a key, and ValueError for an array of several keys
(map over them with ``vmap``), for shapes that do not match, and for unsupported dtypes. ``dtype``
defaults to float32, int32 or uint32, or to the 64-bit type with ``enable_x64``. ``out_sharding`` is
accepted for compatibility with JAX and ignored.
"""

from farcall.random._continuous import cauchy as cauchy
from farcall.random._continuous import double_sided_maxwell as double_sided_maxwell
from farcall.random._continuous import exponential as exponential
from farcall.random._continuous import gumbel as gumbel
from farcall.random._continuous import laplace as laplace
from farcall.random._continuous import logistic as logistic
from farcall.random._continuous import lognormal as lognormal
from farcall.random._continuous import maxwell as maxwell
from farcall.random._continuous import normal as normal
from farcall.random._continuous import pareto as pareto
from farcall.random._continuous import rayleigh as rayleigh
from farcall.random._continuous import triangular as triangular
from farcall.random._continuous import truncated_normal as truncated_normal
from farcall.random._continuous import uniform as uniform
from farcall.random._continuous import wald as wald
from farcall.random._continuous import weibull_min as weibull_min
from farcall.random._discrete import bernoulli as bernoulli
from farcall.random._discrete import binomial as binomial
from farcall.random._discrete import bits as bits
from farcall.random._discrete import categorical as categorical
from farcall.random._discrete import choice as choice
from farcall.random._discrete import geometric as geometric
from farcall.random._discrete import multinomial as multinomial
from farcall.random._discrete import permutation as permutation
from farcall.random._discrete import poisson as poisson
from farcall.random._discrete import rademacher as rademacher
from farcall.random._discrete import randint as randint
from farcall.random._gamma import beta as beta
from farcall.random._gamma import chisquare as chisquare
from farcall.random._gamma import dirichlet as dirichlet
from farcall.random._gamma import f as f
from farcall.random._gamma import gamma as gamma
from farcall.random._gamma import generalized_normal as generalized_normal
from farcall.random._gamma import loggamma as loggamma
from farcall.random._gamma import t as t
from farcall.random._keys import PRNGKey as PRNGKey
from farcall.random._keys import clone as clone
from farcall.random._keys import fold_in as fold_in
from farcall.random._keys import key as key
from farcall.random._keys import key_data as key_data
from farcall.random._keys import key_dtype as key_dtype
from farcall.random._keys import key_impl as key_impl
from farcall.random._keys import split as split
from farcall.random._keys import wrap_key_data as wrap_key_data
from farcall.random._vectors import ball as ball
from farcall.random._vectors import multivariate_normal as multivariate_normal
from farcall.random._vectors import orthogonal as orthogonal

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
