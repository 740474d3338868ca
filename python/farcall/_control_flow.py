"""Loops, branches and collectives, for farcall.lax."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from farcall import _loops_in_python as _in_python
from farcall._collective_groups import Groups
from farcall._core import Array
from farcall._core import control_flow as _core
from farcall._core import numpy as _numpy

_MISSING: Any = object()

# The carry of a loop, a slice of its operands, the result of one step.
Carry = TypeVar("Carry")
X = TypeVar("X")
Y = TypeVar("Y")


class _Recorded:
    """The recorded bodies of a function, alone and in combination with other functions."""

    def __init__(self) -> None:
        self.cache = _core.BodyCache()
        self.with_others: weakref.WeakKeyDictionary[Any, _Recorded] = weakref.WeakKeyDictionary()


_recorded: weakref.WeakKeyDictionary[Any, _Recorded] = weakref.WeakKeyDictionary()


def _cache(*functions: Any) -> _core.BodyCache:
    """The cache of bodies recorded for these functions.

    It lives as long as the functions. Functions that are not hashable or weakly referable get a
    fresh cache each time.
    """
    table, found = _recorded, None
    try:
        for function in functions:
            found = table.get(function)
            if found is None:
                found = table[function] = _Recorded()
            table = found.with_others
    except TypeError:  # not hashable, or not weakly referable
        return _core.BodyCache()
    return found.cache if found else _core.BodyCache()


def scan(
    f: Callable[[Carry, X], tuple[Carry, Y]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Carry, Y]:
    """Calls ``f`` with a carry and each slice in turn, as one operation.

    Args:
      f: takes the carry and a slice of ``xs`` along the leading axes; returns a pair of the next
        carry, with the same structure and types, and the result of this step, or None.
      init: the initial carry.
      xs: a pytree of arrays with equal leading dimensions; None for no operands.
      length: the number of steps; required without ``xs``.
      reverse: start with the last slice. Results stay in the order of the slices.
      unroll: the number of steps to run per loop iteration; True for all.

    Returns:
      The last carry, and the results of all steps stacked along a new leading axis.

    Raises:
      TypeError: if ``f`` does not return a pair, or if the carry changes its structure or type.
      ValueError: if leading dimensions and ``length`` differ, or if both are missing.
    """
    if _in_python.wanted():
        results = _in_python.scan(f, init, xs, length, bool(reverse))
        if results is not None:
            return results
    return _core.scan(f, _cache(f), init, xs, length, bool(reverse), unroll)


def while_loop(
    cond_fun: Callable[[Carry], Any], body_fun: Callable[[Carry], Carry], init_val: Any
) -> Carry:
    """Repeats ``val = body_fun(val)``, starting at ``init_val``, while ``cond_fun(val)`` is true.

    Under vmap it runs until the condition is false for all elements. Only forward mode can
    differentiate it.

    Raises:
      TypeError: if ``cond_fun`` does not return a bool scalar, or if ``body_fun`` changes the
        structure or type of its argument.
    """
    if _in_python.wanted():
        value = _in_python.while_loop(cond_fun, body_fun, init_val)
        if value is not None:
            return value
    return _core.while_loop(cond_fun, body_fun, _cache(body_fun, cond_fun), init_val)


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Carry], Carry],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Carry:
    """Repeats ``val = body_fun(i, val)`` for i = lower, …, upper - 1, starting at ``init_val``.

    Reverse mode can differentiate it if the bounds are concrete.

    Raises:
      TypeError: if the bounds are not integers, or if the body changes the structure or type of its
        argument.
      ValueError: for ``unroll`` with traced bounds.
    """
    if _in_python.wanted():
        value = _in_python.fori_loop(lower, upper, body_fun, init_val)
        if value is not None:
            return value
    return _core.fori_loop(lower, upper, body_fun, _cache(body_fun), init_val, unroll)


def cond(pred: Any, *args: Any, operand: Any = _MISSING, **named: Any) -> Any:
    """``true_fun(*operands)`` if ``pred`` is true, else ``false_fun(*operands)``.

    Forms: ``cond(pred, true_fun, false_fun, *operands)``, ``cond(pred, true_fun, false_fun,
    operand=x)``, and ``cond(pred, true_operand, true_fun, false_operand, false_fun)``.

    Only the chosen function runs, except under vmap with a mapped ``pred``: then both run.

    Raises:
      TypeError: if ``pred`` is not a scalar, or the results of the functions differ in structure or
        type.
    """
    if len(args) == 4 and callable(args[1]) and callable(args[3]) and not named:
        true_operand, true_fun, false_operand, false_fun = args
        return cond(
            pred,
            lambda both: true_fun(both[0]),
            lambda both: false_fun(both[1]),
            (true_operand, false_operand),
        )
    true_fun, false_fun, operands = _cond_arguments(*args, **named)
    return _branches("cond", _core.run_cond, pred, [false_fun, true_fun], operands, operand)


def _cond_arguments(true_fun: Any, false_fun: Any, *operands: Any) -> tuple[Any, Any, Any]:
    return true_fun, false_fun, operands


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _MISSING
) -> Any:
    """``branches[index](*operands)``; an index out of range is clamped.

    Raises:
      TypeError: if ``index`` is not an integer scalar, or the results differ in structure or type.
      ValueError: if there are no branches.
    """
    if not isinstance(branches, Sequence):
        raise TypeError(f"switch: branches must be a sequence of functions, got {branches!r}")
    return _branches("switch", _core.run_switch, index, list(branches), operands, operand)


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Calls the function for the platform that the program is compiled for.

    While a program is recorded, all functions are recorded, but only the chosen one is compiled;
    foreign targets of the others need not be registered. Outside of recording, only the chosen one
    is called.

    Args:
      args: pytrees of arrays, the arguments of the functions.
      default: the function for all other platforms.
      per_platform: functions by platform: ``cpu``, ``cuda``, ``rocm``, ``gpu`` (both of these),
        ``tpu``.

    Raises:
      NotImplementedError: if there is no function for the platform.
      TypeError: if an argument is not callable, or the results differ in structure or type.
      ValueError: for an unknown platform, or if no function is given.
    """
    branches = [*per_platform.values(), *([] if default is None else [default])]
    for name, branch in zip([*per_platform, "default"], branches, strict=False):
        if not callable(branch):
            raise TypeError(f"platform_dependent: {name} must be a function, got {branch!r}")
    index = _core.platform_index(list(per_platform), default is not None)
    if not index.is_traced:
        return branches[int(index)](*args)
    return _core.run_platform_dependent(index, branches, _cache(*branches), args)


def _branches(
    name: str,
    run: Callable[..., Any],
    index: Any,
    branches: list[Any],
    operands: tuple[Any, ...],
    operand: Any,
) -> Any:
    if operand is not _MISSING:
        if operands:
            raise TypeError(f"{name}: give operands by position or as operand=, not both")
        operands = (operand,)
    if _in_python.wanted() and branches:
        result = _in_python.branch(index, branches, operands, run is _core.run_switch)
        if result is not None:
            return result[0]
    return run(index, branches, _cache(*branches), operands)


def map(f: Callable[[Any], Y], xs: Any, *, batch_size: int | None = None) -> Y:
    """Applies ``f`` to each slice of ``xs`` along the leading axes in turn; stacks the results.

    With ``batch_size`` it processes that many slices at a time with vmap.
    """
    if _in_python.wanted():
        results = _in_python.scan(lambda _, x: (None, f(x)), None, xs, None, False)
        if results is not None:
            return results[1]
    return _core.map_slices(f, _cache(f), xs, batch_size)


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Cumulative results of ``fn`` along ``axis``: elems[0], fn(elems[0], elems[1]), …

    Args:
      fn: associative; takes two values like ``elems``, of any length along ``axis``, and combines
        corresponding elements.
      elems: a pytree of arrays with equal size along ``axis``.
      reverse: start at the end.
      axis: the axis to scan.
    """
    return _core.associative_scan(fn, elems, bool(reverse), axis)


# ---- collectives ----


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum of ``x`` over the elements of a shard_map or vmap with this axis name, or names.

    Args:
      x: a pytree of arrays.
      axis_name: the name of an axis, or several.
      axis_index_groups: groups of indices of the axis, of one size, instead of all elements.

    Raises:
      NameError: if no enclosing shard_map or vmap has this ``axis_name``.
      ValueError: unless each index of the axis is in one group.
    """
    if axis_index_groups is not None:
        return Groups("psum", axis_name, axis_index_groups, may_differ=True).added(_numpy.sum, x)
    return _core.psum(x, axis_name)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean of ``x`` over the named axis; see psum."""
    if axis_index_groups is not None:
        return Groups("pmean", axis_name, axis_index_groups, may_differ=True).added(_numpy.mean, x)
    return _core.pmean(x, axis_name)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The greatest ``x`` over the named axis; see psum."""
    if axis_index_groups is not None:
        return Groups("pmax", axis_name, axis_index_groups, may_differ=True).reduced(_numpy.max, x)
    return _core.pmax(x, axis_name)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The least ``x`` over the named axis; see psum."""
    if axis_index_groups is not None:
        return Groups("pmin", axis_name, axis_index_groups, may_differ=True).reduced(_numpy.min, x)
    return _core.pmin(x, axis_name)


def all_gather(
    x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False
) -> Any:
    """Gathers ``x`` of all elements, stacked along a new ``axis``, or joined if ``tiled``."""
    if axis_index_groups is not None:
        return Groups("all_gather", axis_name, axis_index_groups).gathered(x, axis, tiled)
    return _core.all_gather(x, axis_name, axis, bool(tiled))


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Element i gets slice i of every ``x`` along ``split_axis``, joined along ``concat_axis``."""
    if axis_index_groups is not None:
        groups = Groups("all_to_all", axis_name, axis_index_groups)
        return groups.exchanged(x, split_axis, concat_axis, tiled)
    return _core.all_to_all(x, axis_name, split_axis, concat_axis, bool(tiled))


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Sums over the named axis; element i gets slice i along ``scatter_dimension``.

    Args:
      tiled: whether to split the dimension into one part per element; otherwise its size must be
        the number of elements, and it is removed.
    """
    if axis_index_groups is not None:
        groups = Groups("psum_scatter", axis_name, axis_index_groups)
        return groups.scattered(x, scatter_dimension, tiled)
    return _core.psum_scatter(x, axis_name, scatter_dimension, bool(tiled))


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Element i gets the ``x`` of element ``perm[i]``."""
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ValueError(f"pshuffle: {list(perm)} is not a permutation of axis {axis_name!r}")
    return ppermute(x, axis_name, [(source, at) for at, source in enumerate(perm)])


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """For each ``(source, destination)``, destination gets source's ``x``; others get zeros.

    Raises:
      TypeError: if ``perm`` is not a sequence of pairs of integers.
      ValueError: for numbers outside of the axis, and for an element that sends or receives twice.
    """
    try:
        pairs = [(operator.index(source), operator.index(to)) for source, to in perm]
    except (TypeError, ValueError):
        raise TypeError(
            f"ppermute: perm must be a sequence of pairs (source, destination), got {perm!r}; "
            "pshuffle takes the sources alone"
        ) from None
    return _core.ppermute(x, axis_name, pairs)


def axis_index(axis_name: Any) -> Array:
    """The index of the element along the named axis, int32."""
    return _core.axis_index(axis_name)


def axis_size(axis_name: Any) -> int:
    """The number of elements of the named axis."""
    return _core.axis_size(axis_name)
