"""Distributions, one module each, and statistics of samples."""

from farcall._public import public_names as _public_names
from farcall.scipy.stats import bernoulli as bernoulli
from farcall.scipy.stats import beta as beta
from farcall.scipy.stats import betabinom as betabinom
from farcall.scipy.stats import binom as binom
from farcall.scipy.stats import cauchy as cauchy
from farcall.scipy.stats import chi2 as chi2
from farcall.scipy.stats import dirichlet as dirichlet
from farcall.scipy.stats import expon as expon
from farcall.scipy.stats import gamma as gamma
from farcall.scipy.stats import gennorm as gennorm
from farcall.scipy.stats import geom as geom
from farcall.scipy.stats import gumbel_l as gumbel_l
from farcall.scipy.stats import gumbel_r as gumbel_r
from farcall.scipy.stats import laplace as laplace
from farcall.scipy.stats import logistic as logistic
from farcall.scipy.stats import multinomial as multinomial
from farcall.scipy.stats import multivariate_normal as multivariate_normal
from farcall.scipy.stats import nbinom as nbinom
from farcall.scipy.stats import norm as norm
from farcall.scipy.stats import pareto as pareto
from farcall.scipy.stats import poisson as poisson
from farcall.scipy.stats import t as t
from farcall.scipy.stats import truncnorm as truncnorm
from farcall.scipy.stats import uniform as uniform
from farcall.scipy.stats import vonmises as vonmises
from farcall.scipy.stats import wrapcauchy as wrapcauchy
from farcall.scipy.stats._samples import mode as mode
from farcall.scipy.stats._samples import rankdata as rankdata
from farcall.scipy.stats._samples import sem as sem

__all__ = _public_names(globals())
