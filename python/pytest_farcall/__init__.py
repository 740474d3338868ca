"""Handlers as tests of pytest, and guards around the foreign calls of all tests.

pytest loads this plugin where farcall is installed. It imports farcall only if it is used:

- a file ``NAME.check.toml``, which describes a handler for ``farcall check``, is a test;
- ``--farcall-handlers LIBRARY[:SYMBOL]`` and the setting ``farcall_handlers`` add a test for the
  handlers of a library or of a Python module;
- ``--farcall-check-calls`` runs foreign calls and callbacks of all tests between guard bytes, like
  the flag ``check_foreign_calls``.

A test fails with the findings of ``farcall check``. ``docs/check.md`` has an example.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_SUFFIX = ".check.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("farcall", "handlers of XLA's FFI")
    group.addoption(
        "--farcall-handlers",
        action="append",
        default=[],
        metavar="LIBRARY[:SYMBOL]",
        help="check these handlers too, as `farcall check` does; may be repeated",
    )
    group.addoption(
        "--farcall-check-calls",
        action="store_true",
        help="run foreign calls and callbacks of all tests between guard bytes",
    )
    parser.addini(
        "farcall_handlers",
        "handlers to check, as in --farcall-handlers, one in a line",
        type="linelist",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--farcall-check-calls"):
        import farcall

        farcall.config.update("check_foreign_calls", True)


class CheckItem(pytest.Item):
    """A test that checks one handler, or all handlers of a library."""

    def __init__(self, *, handler: str, **options: Any) -> None:
        super().__init__(**options)
        self.handler = handler

    def runtest(self) -> None:
        from farcall.testing import check_handler

        check_handler(self.handler)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (AssertionError, FileNotFoundError, ValueError)):
            return str(excinfo.value).removeprefix("check_handler: ")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"farcall check {self.handler}"


class CheckFile(pytest.File):
    """A description of a handler for ``farcall check``."""

    def collect(self) -> list[CheckItem]:
        name = self.path.name.removesuffix(_SUFFIX)
        return [CheckItem.from_parent(self, name=name, handler=str(self.path))]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CheckFile | None:
    is_description = file_path.name.endswith(_SUFFIX)
    return CheckFile.from_parent(parent, path=file_path) if is_description else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    handlers = [*config.getini("farcall_handlers"), *(config.getoption("--farcall-handlers") or [])]
    for handler in dict.fromkeys(handlers):
        items.append(CheckItem.from_parent(session, name=handler, handler=handler))
