"""Special functions, under scipy's names."""

from farcall._core.nn import logsumexp as logsumexp
from farcall._core.special import *  # noqa: F403
from farcall._public import public_names as _public_names

__all__ = _public_names(globals())
