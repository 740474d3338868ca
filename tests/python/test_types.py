"""Type checkers see wrong keywords of wrapped functions, and a type for every public name."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import farcall
import pytest

pytest.importorskip("pyright")
HERE = pathlib.Path(__file__).parent


def pyright(*arguments: str, folder: pathlib.Path) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
        env={**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_wrong_calls_are_seen_and_right_ones_are_not(tmp_path):
    source = (HERE / "typed_calls.py").read_text()
    (tmp_path / "typed_calls.py").write_text(source)
    (tmp_path / "pyrightconfig.json").write_text("{}")
    report = pyright("--pythonpath", sys.executable, "typed_calls.py", folder=tmp_path)
    found = {
        item["range"]["start"]["line"]
        for item in report["generalDiagnostics"]
        if item["severity"] == "error"
    }
    wanted = {i for i, line in enumerate(source.splitlines()) if line.endswith("# wrong")}
    assert len(wanted) > 15
    assert found == wanted


def test_public_names_have_types(tmp_path):
    report = pyright("--verifytypes", "farcall", "--ignoreexternal", folder=tmp_path)
    symbols = report["typeCompleteness"]["symbols"]
    assert sum(symbol["isExported"] for symbol in symbols) > 500
    lacking = [
        symbol["name"]
        for symbol in symbols
        if symbol["isExported"] and not symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"]
    ]
    assert lacking == []
    assert pathlib.Path(farcall.__file__).with_name("py.typed").exists()
