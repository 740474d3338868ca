"""Computing with known values while a function is recorded."""

from __future__ import annotations

import contextlib

from farcall import _core


class ensure_compile_time_eval(contextlib.ContextDecorator):  # noqa: N801
    """A with statement, or a decorator, in which operations on known values run at once.

    Inside a function that is recorded they would otherwise become operations of its program, and
    their results could not be used in ``if``. Operations on traced arrays are recorded as before.
    """

    def __enter__(self) -> None:
        _core.transforms.enter_compile_time_eval()

    def __exit__(self, *_: object) -> None:
        _core.transforms.leave_compile_time_eval()
