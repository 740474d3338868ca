"""Functions with batching rules of their own."""

from farcall._custom_rules import custom_vmap as custom_vmap
from farcall._custom_rules import sequential_vmap as sequential_vmap

__all__ = [
    "custom_vmap",
    "sequential_vmap",
]
