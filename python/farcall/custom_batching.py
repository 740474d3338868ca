"""Functions with custom batching rules."""

from farcall._custom_rules import custom_vmap as custom_vmap
from farcall._custom_rules import sequential_vmap as sequential_vmap

__all__ = [
    "custom_vmap",
    "sequential_vmap",
]
