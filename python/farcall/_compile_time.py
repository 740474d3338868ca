"""Evaluation of concrete values while a function is recorded."""

from __future__ import annotations

import contextlib

from farcall import _core


class ensure_compile_time_eval(contextlib.ContextDecorator):  # noqa: N801
    """A context manager or decorator that evaluates operations on concrete values immediately.

    While a function is recorded, such operations would otherwise become part of its program, and
    their results could not be used in ``if``. Operations on traced arrays are still recorded.
    """

    def __enter__(self) -> None:
        _core.transforms.enter_compile_time_eval()

    def __exit__(self, *_: object) -> None:
        _core.transforms.leave_compile_time_eval()
