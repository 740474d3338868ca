"""Profiles: what programs execute, and how long it takes."""

from __future__ import annotations

import os
from typing import Any

from farcall import _core

__all__ = ["Profile", "profile"]


class Profile:
    """The recorded events of a block; made by :func:`profile`. Prints as a table."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = "" if path is None else os.fspath(path)
        self._core: _core.Profile | None = None

    def __enter__(self) -> Profile:
        if self._core is not None:
            raise RuntimeError("profile: a profile is used once; make another one")
        self._core = _core.Profile(self._path)
        return self

    def __exit__(self, *_: Any) -> None:
        assert self._core is not None
        self._core.stop()

    @property
    def rows(self) -> list[_core.ProfileRow]:
        """One row for all events of a name, longest first: ``name``, ``category``
        (``foreign_call``, ``callback``, ``cluster``, ``product``, ``loop``, ``branch``, ``copy``,
        ``operation``, ``run``, ``compile`` or ``trace``), ``calls``, ``seconds``, ``self_seconds``
        (without nested events) and ``bytes`` (of operands and results, over all calls). Empty until
        the block has ended.
        """
        return [] if self._core is None else self._core.rows()

    def to_json(self) -> str:
        """The trace as JSON text, as written to the file."""
        return '{"traceEvents": []}\n' if self._core is None else self._core.to_json()

    def __str__(self) -> str:
        return "" if self._core is None else self._core.to_text()


def profile(path: str | os.PathLike[str] | None = None) -> Profile:
    """Records everything that runs within the block, on all threads.

    Args:
      path: the file for the trace, JSON for ``chrome://tracing`` and https://ui.perfetto.dev;
        ``None`` for the table only.

    The profile contains tracing and compilation of functions, runs of programs, and each equation
    of a run: clusters, foreign calls, callbacks, products, copies, and loops with their number of
    steps. The trace shows the first eight steps of a loop; the table counts all. An event has its
    bytes, types, device and your source line. For the engine ``pjrt``, only calls back into this
    process are events.

    Raises:
      farcall.errors.Error: if another profile is recording, or the file cannot be written.

    Example::

        with farcall.profile("trace.json") as profile:
            f(x)
        print(profile)
    """
    return Profile(path)
