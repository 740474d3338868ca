"""Functions with custom rules for their division among devices."""

from farcall._custom_partitioning import BATCHING as BATCHING
from farcall._custom_partitioning import ArrayMapping as ArrayMapping
from farcall._custom_partitioning import CompoundFactor as CompoundFactor
from farcall._custom_partitioning import SdyShardingRule as SdyShardingRule
from farcall._custom_partitioning import custom_partitioning as custom_partitioning
from farcall._public import public_names as _public_names
from farcall._public import show_names_of as _show_names_of

__all__ = _public_names(globals())
_show_names_of(__name__)
