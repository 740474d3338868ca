"""Profiles: what programs do, and for how long."""

from __future__ import annotations

import os
from typing import Any

from farcall import _core

__all__ = ["Profile", "profile"]


class Profile:
    """What ran within a block; made by :func:`profile`. Printed, it is a table."""

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
        """One row for all events of a name, the longest first: ``name``, ``category``
        (``foreign_call``, ``callback``, ``cluster``, ``product``, ``loop``, ``branch``, ``copy``,
        ``operation``, ``run``, ``compile`` or ``trace``), ``calls``, ``seconds``,
        ``self_seconds`` (without what ran inside) and ``bytes`` (of operands and results, in all
        calls). Empty until the block has ended."""
        return [] if self._core is None else self._core.rows()

    def to_json(self) -> str:
        """The trace as text, as it stands in the file."""
        return '{"traceEvents": []}\n' if self._core is None else self._core.to_json()

    def __str__(self) -> str:
        return "" if self._core is None else self._core.to_text()


def profile(path: str | os.PathLike[str] | None = None) -> Profile:
    """Records what runs within the block, in every thread.

    Args:
      path: the file that the trace is written to, as JSON that ``chrome://tracing`` and
        https://ui.perfetto.dev show; ``None``: none, the table alone is wanted.

    Recorded are functions that are traced and compiled, programs that run, and each of their
    equations: clusters, foreign calls, callbacks, products, copies, and loops with their number
    of steps; of a loop the first eight steps are shown one by one, and the table counts all. An
    event has its bytes, its types, its device and your line. Programs of the engine ``pjrt`` are
    one event for each call that comes back to this process.

    Raises:
      farcall.errors.Error: where another profile records already, or the file cannot be written.

    Example::

        with farcall.profile("trace.json") as profile:
            f(x)
        print(profile)
    """
    return Profile(path)
