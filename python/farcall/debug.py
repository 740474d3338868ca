"""Callbacks and prints from running programs; drawings of shardings."""

from __future__ import annotations

import builtins
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from farcall import _core
from farcall._visualize import inspect_array_sharding as inspect_array_sharding
from farcall._visualize import visualize_array_sharding as visualize_array_sharding
from farcall._visualize import visualize_sharding as visualize_sharding

__all__ = [
    "callback",
    "inspect_array_sharding",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]

# numpy's default print options, independent of what is set when this module is loaded.
_DEFAULT_OPTIONS = {
    **np.get_printoptions(),
    "edgeitems": 3,
    "floatmode": "maxprec",
    "formatter": None,
    "infstr": "inf",
    "legacy": False,
    "linewidth": 75,
    "nanstr": "nan",
    "precision": 8,
    "sign": "-",
    "suppress": False,
    "threshold": 1000,
}


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
    """Calls ``callback(*args, **kwargs)`` for its side effects when the program reaches it.

    ``callback(ordered=True)(function, *args, **kwargs)`` is a second form, in which ``kwargs`` may
    use the names of options.

    Transformations keep the call: under differentiation it gets the primal values, under vmap it is
    called for each element in turn. Its result is ignored.

    Args:
      callback: the function. Arrays and numbers are passed as arrays; other arguments (strings,
        functions) are passed unchanged.
      *args: pytrees.
      ordered: ordered calls run in program order.
      partitioned: accepted for compatibility with JAX; ignored.
      **kwargs: pytrees, passed by name.

    Raises:
      Exception: an exception of the callback reaches the caller of the program unchanged.
    """
    del partitioned

    def call(callback: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        _core.callbacks.debug_callback(callback, ordered, args, kwargs)

    if callback is not None:
        return call(callback, *args, **kwargs)
    _check_first_of_two("callback", args, kwargs)
    return call


class _Checker(string.Formatter):
    """Finds fields without a value and values without a field, before the program runs."""

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


# The ``str`` of a traced array.
_TRACED_TEXT = re.compile(r"Traced<[a-z0-9]+\[[0-9,]*\]>")


def _check_format(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Rejects formats that str.format rejects, and formats with the text of traced arrays."""
    found = _TRACED_TEXT.search(fmt)
    if found:
        raise ValueError(
            f"debug.print: the format holds the text of a traced array, {found.group()}: an "
            "f-string or str() has formatted it before there was a value. Write "
            'debug.print("{x}", x=x) without the f, so that it is formatted when the program runs'
        )
    try:
        _Checker().vformat(fmt, args, kwargs)
    except (KeyError, IndexError) as error:
        raise type(error)(
            f"debug.print: the format {fmt!r} has a field without a value ({error}). Give the "
            'value as an argument; text with braces is printed by debug.print("{}", text)'
        ) from None


class _Printer:
    """Prints a format with numpy's print options; falls back to those of the recording.

    An option that differs from numpy's default at print time takes precedence over the option at
    recording time.
    """

    __name__ = "print"

    def __init__(self, fmt: str) -> None:
        self._format = fmt
        options = np.get_printoptions()
        self._options = None if options == _DEFAULT_OPTIONS else options

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self._options is None:
            builtins.print(self._format.format(*args, **kwargs))
            return
        now = np.get_printoptions()
        set_now = {name: now[name] for name in now if now[name] != _DEFAULT_OPTIONS[name]}
        with np.printoptions(**{**self._options, **set_now}):
            text = self._format.format(*args, **kwargs)
        builtins.print(text)


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Prints ``fmt.format(*args, **kwargs)`` when the program reaches it.

    ``print(ordered=True)(fmt, *args, **kwargs)`` is a second form, in which ``kwargs`` may use the
    names of options.

    Arrays are printed with numpy's print options (``numpy.printoptions``): those set when the
    program prints, else those set when the function was recorded.

    Args:
      fmt: a format string of ``str.format``: positional and named fields, format specifications
        (``{loss:.3f}`` for scalars), ``{{`` and ``}}`` for braces. Not an f-string: that would be
        formatted before the values exist.
      *args: values of the positional fields.
      ordered: ordered prints run in program order.
      partitioned: accepted for compatibility with JAX; ignored.
      skip_format_check: whether to skip the check of ``fmt``: mistakes then raise errors only when
        the program prints, and values without a field are ignored.
      **kwargs: values of the named fields.

    Raises:
      TypeError: if ``fmt`` is not a string.
      IndexError, KeyError: for a field without a value.
      ValueError: for a value without a field, or a format that contains the text of a traced array
        (from an f-string).
    """
    del partitioned

    def call(fmt: str, /, *args: Any, **kwargs: Any) -> None:
        if not isinstance(fmt, str):
            raise TypeError(f"debug.print: fmt must be a string, got {fmt!r}")
        if not skip_format_check:
            _check_format(fmt, args, kwargs)
        _core.callbacks.debug_callback(_Printer(fmt), ordered, args, kwargs)

    if fmt is not None:
        return call(fmt, *args, **kwargs)
    _check_first_of_two("print", args, kwargs)
    return call
