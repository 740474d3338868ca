"""Helpers of the transformations: names and signatures of user functions."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from farcall import _core

# The parameters and the result of a transformed function.
P = ParamSpec("P")
R = TypeVar("R")
Wrapper = TypeVar("Wrapper", bound=Callable[..., Any])


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or the name of its class if it has none."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    name = name if isinstance(name, str) else type(function).__name__
    if name.isascii():
        return name
    return name.encode(errors="backslashreplace").decode()  # escapes lone surrogates


def wraps(wrapped: Callable[..., Any]) -> Callable[[Wrapper], Wrapper]:
    """Like ``functools.wraps``, but skips attributes that Python does not accept."""
    return functools.partial(_core.update_wrapper, wrapped=wrapped)


def check_callable(function: Any, where: str) -> None:
    """Raises TypeError unless ``function`` can be called."""
    if not callable(function):
        raise TypeError(
            f"{where}: expected a function, got {function!r} of type {type(function).__name__}"
        )


def are_strings(values: Any) -> bool:
    """Whether this is a list, or another sequence, of strings; one string by itself is not."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        return False
    return all(isinstance(value, str) for value in values)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A sequence as a tuple, a single value as a tuple of one, None as an empty tuple."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)


def argument_numbers(argnums: Any, where: str) -> tuple[list[int], bool]:
    """``argnums`` as a list, and whether it was a single number; else raises TypeError."""
    try:
        return [operator.index(argnums)], True
    except TypeError:
        pass
    try:
        numbers = [operator.index(number) for number in argnums]
    except TypeError:
        raise TypeError(
            f"{where}: argnums must be an int or a sequence of ints, got {argnums!r}"
        ) from None
    if not numbers:
        raise TypeError(f"{where}: argnums names no argument")
    return numbers, False


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function; empty if it has no signature."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def positional_names(parameters: list[inspect.Parameter]) -> list[str]:
    """The names of the parameters that can be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds]


def name_of_positional(function: Callable[..., Any], position: int) -> str | None:
    """The name of the argument at a position: ``x`` or ``args[2]``; None if unknown."""
    for number, parameter in enumerate(parameters_of(function)):
        if parameter.kind == parameter.VAR_POSITIONAL:
            return f"{parameter.name}[{position - number}]"
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            break
        if number == position:
            return parameter.name
    return None


def arguments_by_both(
    function: Callable[..., Any], where: str, kind: str, numbers: Any, names: Any
) -> tuple[list[int], list[str]]:
    """Completes lists of arguments given by position and by name from one another.

    Args:
      kind: "static" or "donate", for error messages.

    Raises:
      ValueError: for an argument that the function does not have.
    """
    if numbers is None and names is None:
        return [], []
    all_numbers = [int(n) for n in as_tuple(numbers)]
    all_names = [str(n) for n in as_tuple(names)]
    if not all_numbers and not all_names:
        return [], []
    parameters = parameters_of(function)
    by_position = positional_names(parameters)
    takes_any = any(p.kind == p.VAR_POSITIONAL for p in parameters) or not parameters
    for i, number in enumerate(all_numbers):
        if number < 0:
            number += len(by_position)
            all_numbers[i] = number
        if number < 0 or (number >= len(by_position) and not takes_any):
            raise ValueError(
                f"{where}: {kind}_argnums has {number}, but the function takes "
                f"{len(by_position)} positional arguments: {', '.join(by_position)}"
            )
    known = {p.name for p in parameters}
    takes_names = any(p.kind == p.VAR_KEYWORD for p in parameters) or not parameters
    for name in all_names:
        if name not in known and not takes_names:
            raise ValueError(
                f"{where}: {kind}_argnames has {name!r}, but the function's "
                f"arguments are {', '.join(by_position)}"
            )
    all_names += [by_position[n] for n in all_numbers if n < len(by_position)]
    all_numbers += [by_position.index(n) for n in all_names if n in by_position]
    return sorted(set(all_numbers)), sorted(set(all_names))


def share_copies(*classes: Any) -> None:
    """Makes ``copy`` and ``deepcopy`` share instances of these immutable classes."""
    for cls in classes:
        cls.__copy__ = lambda self: self
        cls.__deepcopy__ = lambda self, memo: self
