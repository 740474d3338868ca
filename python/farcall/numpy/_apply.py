"""Application of functions to slices and elements of arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from farcall import _core
from farcall._functions import check_callable, name_of, wraps
from farcall._vmap import vmap
from farcall.numpy._common import Array, as_array, normalize_axis
from farcall.numpy._shapes import broadcast_shapes

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "vectorize"]

_f: Any = _core.numpy


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """Applies ``func1d(slice, *args, **kwargs)`` to the slices along ``axis``.

    The dimensions of its results replace ``axis``.
    """
    check_callable(func1d, "apply_along_axis")
    array = as_array(arr, "apply_along_axis", "arr")
    axis = normalize_axis(axis, array.ndim, "apply_along_axis")

    def function(part: Array) -> Any:
        return func1d(part, *args, **kwargs)

    for i in range(1, array.ndim - axis):
        function = vmap(function, in_axes=i, out_axes=-1)
    for _ in range(axis):
        function = vmap(function)
    return function(array)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Array:
    """Applies ``func(a, axis)`` for each axis in turn; reduced axes stay with size 1."""
    array = as_array(a, "apply_over_axes")
    for axis in axes:
        axis = normalize_axis(axis, array.ndim, "apply_over_axes")
        result = as_array(func(array, axis), "apply_over_axes", "func")
        if result.ndim == array.ndim - 1:
            result = _f.expand_dims(result, axis)
        if result.ndim != array.ndim:
            raise ValueError("apply_over_axes: func must keep the dimensions or reduce one")
        array = result
    return array


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Evaluates for each element the function, or number, of the last condition that is true.

    Args:
      x: the elements.
      condlist: arrays of bools with the shape of ``x``.
      funclist: a function or a number for each condition, optionally followed by one for all other
        elements.
      args, kw: further arguments of the functions.
    """
    x = as_array(x, "piecewise", "x")
    is_list = isinstance(condlist, (list, tuple))
    if is_list and (x.ndim == 0 or any(getattr(c, "ndim", 0) > 0 for c in condlist)):
        conditions = [as_array(c, "piecewise", "condlist") for c in condlist]
    else:
        array = as_array(condlist, "piecewise", "condlist")
        conditions = [array] if array.ndim == x.ndim else list(array)
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            f"piecewise: {len(conditions)} conditions need {len(conditions)} functions, or one "
            f"more, got {len(funclist)}"
        )

    def value(function: Any) -> Any:
        return _f.astype(function(x, *args, **kw) if callable(function) else function, x.dtype)

    result = _f.broadcast_to(value(functions[-1]), x.shape)
    for condition, function in zip(conditions, functions, strict=False):
        result = _f.where(_f.astype(condition, "bool"), value(function), result)
    return result


# ---- vectorize -----------------------------------------------------------------------------------

_NAMES = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*,?)?\s*\)"
_SIGNATURE = re.compile(rf"\s*{_NAMES}\s*(?:,\s*{_NAMES}\s*)*->\s*{_NAMES}\s*(?:,\s*{_NAMES}\s*)*")

_Core = list[tuple[str, ...]]


def _parse(signature: str) -> tuple[_Core, _Core]:
    if not _SIGNATURE.fullmatch(signature):
        raise ValueError(f'vectorize: signature must be like "(m,n),(n)->(m)", got {signature!r}')
    inputs, outputs = (
        [tuple(re.findall(r"\w+", part)) for part in re.findall(_NAMES, side)]
        for side in signature.split("->")
    )
    return inputs, outputs


def vectorize(
    pyfunc: Callable[..., Any] | None = None,
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Any:
    """Makes a function that broadcasts arrays and applies ``pyfunc`` to their elements.

    Args:
      pyfunc: takes arrays with the dimensions of ``signature``, or scalars without a signature.
        Without ``pyfunc``, returns a decorator.
      excluded: positions and names of arguments that are passed unchanged.
      signature: the trailing dimensions of arguments and results that ``pyfunc`` works on:
        "(m,n),(n)->(m)".

    Raises:
      ValueError: at a call, for dimensions that do not match the signature.
    """
    if pyfunc is None:
        return functools.partial(vectorize, excluded=excluded, signature=signature)
    check_callable(pyfunc, "vectorize")
    where = f"vectorize({name_of(pyfunc)})"
    parsed = None if signature is None else _parse(signature)

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        kept = {i: args[i] for i in excluded if isinstance(i, int) and i < len(args)}
        constants = {name: value for name, value in kwargs.items() if name in excluded}
        names = [name for name in kwargs if name not in excluded]
        given = [a for i, a in enumerate(args) if i not in kept] + [kwargs[n] for n in names]
        arrays = [as_array(a, where, f"{i}") for i, a in enumerate(given)]
        cores = [()] * len(arrays) if parsed is None else parsed[0]
        if len(cores) != len(arrays):
            raise TypeError(f"{where}: the signature has {len(cores)} inputs, got {len(arrays)}")

        def call(*parts: Any) -> Any:
            rest = iter(parts)
            positional = [kept[i] if i in kept else next(rest) for i in range(len(args))]
            return pyfunc(*positional, **constants, **dict(zip(names, rest, strict=True)))

        return _over_batch(_checked(call, where, cores, parsed), arrays, cores, where)

    return vectorized


def _checked(function: Any, where: str, cores: _Core, parsed: Any) -> Any:
    """Wraps ``function`` to check its arguments and results against the signature."""
    if parsed is None:
        return function

    def check(arrays: Sequence[Any], names: _Core, sizes: dict[str, int], what: str) -> None:
        for array, dimensions in zip(arrays, names, strict=True):
            shape = array.shape
            fits = len(shape) == len(dimensions)
            if not fits or any(
                sizes.setdefault(d, s) != s for d, s in zip(dimensions, shape, strict=True)
            ):
                raise ValueError(
                    f"{where}: {what} of shape {shape} does not fit ({', '.join(dimensions)})"
                    + (f" with {sizes}" if sizes else "")
                )

    def checked(*parts: Any) -> Any:
        sizes: dict[str, int] = {}
        check(parts, cores, sizes, "an argument")
        result = function(*parts)
        several = result if isinstance(result, (tuple, list)) else [result]
        if len(several) != len(parsed[1]):
            raise TypeError(f"{where}: expected {len(parsed[1])} results, got {len(several)}")
        check([as_array(r, where, "result") for r in several], parsed[1], sizes, "a result")
        return result

    return checked


def _over_batch(function: Any, arrays: list[Array], cores: _Core, where: str) -> Any:
    """Maps over the dimensions in front of those of the signature, after broadcasting them."""
    batches = []
    for array, core in zip(arrays, cores, strict=True):
        if array.ndim < len(core):
            raise ValueError(
                f"{where}: an argument of shape {array.shape} does not have the dimensions "
                f"({', '.join(core)})"
            )
        batches.append(array.shape[: array.ndim - len(core)])
    shape = broadcast_shapes(*batches)
    # A dimension of size 1 that is broadcast is squeezed out and not mapped over.
    squeezed, present = [], []
    for array, batch in zip(arrays, batches, strict=True):
        offset = len(shape) - len(batch)
        kept = [i + offset for i, size in enumerate(batch) if size == shape[i + offset]]
        core_shape = array.shape[len(batch) :]
        squeezed.append(_f.reshape(array, tuple(shape[i] for i in kept) + core_shape))
        present.append(kept)
    for i in reversed(range(len(shape))):
        axes = tuple(0 if i in kept else None for kept in present)
        function = vmap(function, in_axes=axes, axis_size=shape[i])
    return function(*squeezed)
