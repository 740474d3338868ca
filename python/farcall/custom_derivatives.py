"""Functions with derivative rules of their own, and what the rules are given."""

from farcall._closures import closure_convert as closure_convert
from farcall._closures import custom_gradient as custom_gradient
from farcall._core.transforms import SymbolicZero as SymbolicZero
from farcall._core.transforms import zero_from_primal as zero_from_primal
from farcall._custom_rules import CustomVJPPrimal as CustomVJPPrimal
from farcall._custom_rules import custom_jvp as custom_jvp
from farcall._custom_rules import custom_vjp as custom_vjp
from farcall._custom_rules import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]
