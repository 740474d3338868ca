"""Functions with custom derivative rules, and the types that the rules receive."""

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
    """Calls ``fun(residual_args, linear_args)``, linear in the latter, with a custom transpose.

    The transpose of the call is a call of ``fun_transpose``, and the transpose of that is ``fun``
    again. Derivatives with respect to ``residual_args`` go through ``fun``; with respect to
    ``linear_args`` the call is its own derivative.

    Args:
      fun: takes the two pytrees of arrays; returns a pytree of arrays.
      fun_transpose: takes ``residual_args`` and a pytree like the result of ``fun``; returns a
        pytree like ``linear_args``. It is always called once, even if no transpose is needed.
      residual_args: a pytree of arrays.
      linear_args: a pytree of arrays.

    Raises:
      TypeError: if a function is not callable, and if ``fun_transpose`` does not return the
        structure of ``linear_args``.
      ValueError: if it returns other shapes or dtypes.
    """
    return _core.linear_call(fun, fun_transpose, residual_args, linear_args)
