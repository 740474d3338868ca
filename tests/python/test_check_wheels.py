"""scripts/check_wheels tells of jaxlib's handlers what docs/check_report.md says."""

import subprocess
import sys

import pytest
from test_docs import ROOT

SCRIPT = ROOT / "scripts" / "check_wheels" / "check_wheels.py"
CLEAN, FINDINGS = "clean", "findings"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("handler", "verdicts", "words"),
    [
        ("lapack_dpotrf", [CLEAN], ""),
        ("lapack_zhetrd", [CLEAN], ""),
        ("lapack_dgeqrf", [FINDINGS, CLEAN], "an exception leaves the handler: std::bad_alloc"),
        ("lapack_sgesdd", [FINDINGS], "an exception leaves the handler: std::bad_alloc"),
        ("lapack_dormqr", [FINDINGS], "`input-write` argument 0"),
        ("lapack_dgtsv", [FINDINGS], "`oob-read` argument 3"),
    ],
)
def test_handlers_of_jaxlib(handler: str, verdicts: list[str], words: str) -> None:
    pytest.importorskip("jaxlib")
    command = [sys.executable, str(SCRIPT), "--filter", handler]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    _, _, *rows = done.stdout.splitlines()
    assert [row.split(" | ")[1] for row in rows] == verdicts
    assert words in done.stdout
