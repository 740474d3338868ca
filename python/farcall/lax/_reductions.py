"""Reductions by functions of two values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core, tree
from farcall._vmap import vmap

__all__ = ["reduce", "reduce_xor"]

_f: Any = _core.numpy


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: None = None,
) -> Any:
    """All elements along some dimensions, combined two by two.

    Args:
      operands: arrays of one shape, in any containers.
      init_values: for each array the scalar that changes nothing.
      computation: combines two scalars, or two containers of them; associative, since the order is
        not said.
      dimensions: along which to combine.
      out_sharding: for programs written for JAX; must be None.

    Raises:
      TypeError: for initial values of another structure, results of another type.
      ValueError: for arrays of different shapes.
    """
    if out_sharding is not None:
        raise NotImplementedError("reduce: out_sharding must be None")
    leaves, structure = tree.flatten(operands)
    starts, start_structure = tree.flatten(init_values)
    if structure != start_structure or not leaves:
        raise TypeError(
            f"reduce: operands and init_values must have one structure, got {structure} and "
            f"{start_structure}"
        )
    arrays = [_f.as_array(leaf, f"reduce: operand {i}") for i, leaf in enumerate(leaves)]
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        raise ValueError(f"reduce: the shapes differ: {', '.join(str(a.shape) for a in arrays)}")
    axes = sorted(_core.to_sizes(dimensions, "reduce: dimensions"))
    if len(set(axes)) != len(axes) or any(not 0 <= a < len(shape) for a in axes):
        raise ValueError(f"reduce: {tuple(dimensions)} are no dimensions of shape {shape}")
    if not axes:
        return structure.unflatten(arrays)
    rest = [i for i in range(len(shape)) if i not in axes]
    count, others = math.prod(shape[a] for a in axes), tuple(shape[i] for i in rest)
    size = math.prod(others)
    rows = [_f.reshape(_f.transpose(a, (*axes, *rest)), (count, size)) for a in arrays]
    firsts = [_f.astype(s, a.dtype) for s, a in zip(starts, arrays, strict=True)]
    combine = vmap(lambda a, b: _combined(computation, structure, a, b))
    while count > 1:
        half = count // 2
        results = combine(
            [_f.reshape(r[:half], (-1,)) for r in rows],
            [_f.reshape(r[half : 2 * half], (-1,)) for r in rows],
        )
        ends = [r[2 * half :] for r in rows]
        rows = [
            _f.concatenate([_f.reshape(result, (half, size)), end], 0)
            for result, end in zip(results, ends, strict=True)
        ]
        count -= half
    firsts = [_f.broadcast_to(first, (size,)) for first in firsts]
    if count == 1:
        firsts = combine(firsts, [_f.reshape(r, (-1,)) for r in rows])
    return structure.unflatten([_f.reshape(first, others) for first in firsts])


def _combined(computation: Any, structure: Any, a: list[Any], b: list[Any]) -> list[Any]:
    results = structure.flatten_up_to(computation(structure.unflatten(a), structure.unflatten(b)))
    for result, array in zip(results, a, strict=True):
        result = _f.as_array(result, "reduce: result of the computation")
        if (result.shape, result.dtype) != ((), array.dtype):
            raise TypeError(
                f"reduce: the computation must give {array.aval} as it takes, got {result.aval}"
            )
    return results


def reduce_xor(operand: Any, axes: Sequence[int]) -> _core.Array:
    """The exclusive or of bools, or of the bits of integers, along the axes."""
    operand = _f.as_array(operand, "reduce_xor: argument operand")
    return reduce(operand, _f.zeros((), operand.dtype), _core.lax.bitwise_xor, axes)
