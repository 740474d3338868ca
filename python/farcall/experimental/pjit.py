"""``pjit``, an older name of farcall.jit."""

from farcall._jit import jit as pjit
from farcall._public import show_names_of as _show_names_of

__all__ = ["pjit"]
_show_names_of(__name__)
