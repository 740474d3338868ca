"""Reductions with a function of two values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core, tree

__all__ = ["reduce"]


def operands_and_computation(
    function: str, operands: Any, init_values: Any, computation: Callable[[Any, Any], Any]
) -> tuple[list[Any], list[Any], Callable[[list[Any], list[Any]], list[Any]], Any]:
    """The leaves of the operands, their init values, and the computation as a function of lists."""
    leaves, structure = tree.flatten(operands)
    starts, start_structure = tree.flatten(init_values)
    if structure != start_structure or not leaves:
        raise TypeError(
            f"{function}: operands and init_values must have one structure, got {structure} and "
            f"{start_structure}"
        )

    def combined(a: list[Any], b: list[Any]) -> list[Any]:
        result = computation(structure.unflatten(a), structure.unflatten(b))
        return structure.flatten_up_to(result)

    return leaves, starts, combined, structure


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: None = None,
) -> Any:
    """Reduces elements along dimensions with a function of two values.

    Args:
      operands: a pytree of arrays of one shape.
      init_values: for each array the identity of the computation, a scalar.
      computation: combines two scalars, or two pytrees of scalars; must be associative, since the
        order is unspecified.
      dimensions: the dimensions to reduce.
      out_sharding: accepted for compatibility with JAX; must be None.

    Raises:
      TypeError: for initial values of another structure, and results of another type.
      ValueError: for arrays of different shapes.
    """
    if out_sharding is not None:
        raise NotImplementedError("reduce: out_sharding must be None")
    leaves, starts, combined, structure = operands_and_computation(
        "reduce", operands, init_values, computation
    )
    return structure.unflatten(_core.lax._reduce(leaves, starts, combined, dimensions))
