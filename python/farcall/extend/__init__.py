"""Types for programs that inspect programs."""

from farcall._public import public_names as _public_names
from farcall._public import show_names_of as _show_names_of
from farcall.extend import core as core

__all__ = _public_names(globals())
_show_names_of(__name__)
