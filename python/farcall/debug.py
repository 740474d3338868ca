"""Looking into programs while they run."""

from __future__ import annotations

import builtins
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from farcall import _core


def _check_first_of_two(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if args or kwargs:
        given = [repr(arg) for arg in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
        raise TypeError(
            f"debug.{name}: the first of two calls takes options alone, got {', '.join(given)}"
        )


def callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Calls ``callback(*args, **kwargs)`` for its side effects when the program gets there.

    ``callback(ordered=True)(function, *args, **kwargs)`` is the same in two calls, where the names
    of options are free for ``kwargs``.

    Transformations leave the call in place: under differentiation it sees the values, under vmap it
    is called for one element after the other. Its result is not looked at.

    Args:
      callback: the function. It gets arrays where array or numbers are given; arguments that are no
        arrays (strings, functions) reach it as they are.
      *args: pytrees.
      ordered: calls keep the order of the program among themselves.
      partitioned: for engines with several devices; there is one here.
      **kwargs: pytrees, passed by name.

    Raises:
      Exception: whatever the callback raises reaches the caller of the program as it is.
    """
    del partitioned

    def call(callback: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        _core.callbacks.debug_callback(callback, ordered, args, kwargs)

    if callback is not None:
        return call(callback, *args, **kwargs)
    _check_first_of_two("callback", args, kwargs)
    return call


class _Checker(string.Formatter):
    """Finds fields without a value, and values without a field, before anything runs."""

    def format_field(self, value: Any, format_spec: str) -> str:
        del value, format_spec
        return ""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion not in (None, "r", "s", "a"):
            raise ValueError(f"debug.print: unknown conversion !{conversion}")
        return value

    def check_unused_args(
        self,
        used_args: set[int | str],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        unused = [str(arg) for i, arg in enumerate(args) if i not in used_args]
        unused += [f"{name}={value}" for name, value in kwargs.items() if name not in used_args]
        if unused:
            raise ValueError(
                f"debug.print: no field of the format shows {', '.join(unused)}; write {{}} or "
                "{name} where the value belongs"
            )


class _Printer:
    __name__ = "print"

    def __init__(self, fmt: str) -> None:
        self._format = fmt

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        builtins.print(self._format.format(*args, **kwargs))


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Prints ``fmt.format(*args, **kwargs)`` when the program gets there.

    ``print(ordered=True)(fmt, *args, **kwargs)`` is the same in two calls, where the names of
    options are free for ``kwargs``.

    Args:
      fmt: a format string of ``str.format``: positional and named fields, format specifications
        (``{loss:.3f}`` for scalars), ``{{`` and ``}}`` for braces.
      *args: values of the fields.
      ordered: prints keep the order of the program among themselves.
      partitioned: for engines with several devices; there is one here.
      skip_format_check: whether mistakes in ``fmt`` are errors of the run alone, and values without
        a field are none.
      **kwargs: values of the named fields.

    Raises:
      TypeError: when ``fmt`` is no string.
      IndexError, KeyError: for a field without a value.
      ValueError: for a value without a field.
    """
    del partitioned

    def call(fmt: str, /, *args: Any, **kwargs: Any) -> None:
        if not isinstance(fmt, str):
            raise TypeError(f"debug.print: fmt must be a string, got {fmt!r}")
        if not skip_format_check:
            _Checker().vformat(fmt, args, kwargs)
        _core.callbacks.debug_callback(_Printer(fmt), ordered, args, kwargs)

    if fmt is not None:
        return call(fmt, *args, **kwargs)
    _check_first_of_two("print", args, kwargs)
    return call
