"""An alias of farcall.shard_map."""

from farcall._public import public_names as _public_names
from farcall._public import show_names_of as _show_names_of
from farcall._shard_map import shard_map as shard_map

__all__ = _public_names(globals())
_show_names_of(__name__)
