"""Looking into programs while they run."""

from __future__ import annotations

import builtins
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from farcall import _core


def callback(
    callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any
) -> None:
    """Calls ``callback(*args, **kwargs)`` for its side effects when the program gets there.

    Transformations leave the call in place: under differentiation it sees the values, under vmap it
    is called for one element after the other. Its result is not looked at.

    Args:
      callback: the function. It gets arrays where array or numbers are given; arguments that are no
        arrays (strings, functions) reach it as they are.
      *args: pytrees.
      ordered: calls keep the order of the program among themselves.
      **kwargs: pytrees, passed by name.

    Raises:
      Exception: whatever the callback raises reaches the caller of the program as it is.
    """
    _core.callbacks.debug_callback(callback, ordered, args, kwargs)


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


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Prints ``fmt.format(*args, **kwargs)`` when the program gets there.

    Args:
      fmt: a format string of ``str.format``: positional and named fields, format specifications
        (``{loss:.3f}`` for scalars), ``{{`` and ``}}`` for braces.
      *args: values of the fields.
      ordered: prints keep the order of the program among themselves.
      **kwargs: values of the named fields.

    Raises:
      TypeError: when ``fmt`` is no string.
      IndexError, KeyError: for a field without a value.
      ValueError: for a value without a field.
    """
    if not isinstance(fmt, str):
        raise TypeError(f"debug.print: fmt must be a string, got {fmt!r}")
    _Checker().vformat(fmt, args, kwargs)
    callback(_Printer(fmt), *args, ordered=ordered, **kwargs)
