"""For programs that look into programs."""

from farcall._public import public_names as _public_names
from farcall.extend import core as core

__all__ = _public_names(globals())
