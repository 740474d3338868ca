"""Functions with derivative rules of their own, and what the rules are given."""

from collections.abc import Callable
from typing import Any

from farcall._closures import closure_convert as closure_convert
from farcall._closures import custom_gradient as custom_gradient
from farcall._core import control_flow as _core
from farcall._core.transforms import SymbolicZero as SymbolicZero
from farcall._core.transforms import zero_from_primal as zero_from_primal
from farcall._custom_rules import CustomVJPPrimal as CustomVJPPrimal
from farcall._custom_rules import custom_jvp as custom_jvp
from farcall._custom_rules import custom_vjp as custom_vjp
from farcall._custom_rules import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]


def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """``fun(residual_args, linear_args)``, which is linear in the second, with its transpose given.

    The transpose of the call is one of ``fun_transpose``, whose transpose is ``fun`` again. By
    ``residual_args`` it is differentiated through ``fun``, by ``linear_args`` it is its own
    derivative.

    Args:
      fun: takes the two pytrees of arrays; returns a pytree of arrays.
      fun_transpose: takes ``residual_args`` and what is like the result of ``fun``; returns what is
        like ``linear_args``. Called once, whether or not a transpose is asked for.
      residual_args: a pytree of arrays.
      linear_args: a pytree of arrays.

    Raises:
      TypeError: for what is no function, and when ``fun_transpose`` returns another structure than
        that of ``linear_args``.
      ValueError: when it returns other shapes or dtypes.
    """
    return _core.linear_call(fun, fun_transpose, residual_args, linear_args)
