"""Functions with custom rules for their division among devices."""

from farcall._custom_partitioning import custom_partitioning as custom_partitioning
from farcall._public import public_names as _public_names
from farcall._public import show_names_of as _show_names_of
from farcall._sharding_rule import BATCHING as BATCHING
from farcall._sharding_rule import ArrayMapping as ArrayMapping
from farcall._sharding_rule import CompoundFactor as CompoundFactor
from farcall._sharding_rule import SdyShardingRule as SdyShardingRule

__all__ = _public_names(globals())
_show_names_of(__name__)
