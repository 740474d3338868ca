"""Every snippet of the README and the documentation runs, in order, page by page."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import with_torch

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"]
# Open MPI in a container, where everybody is root and cores are few.
MPIRUN = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
SNIPPET = re.compile(r"^```(cpp|python|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(page: Path) -> list[tuple[str, str]]:
    return SNIPPET.findall(page.read_text())


@pytest.mark.parametrize("page", [p for p in PAGES if snippets(p)], ids=lambda page: page.name)
def test_snippets_run(page: Path, tmp_path: Path) -> None:
    # `python` in a snippet is this interpreter, `farcall` the command that was installed with it.
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    command = Path(sysconfig.get_path("scripts")) / "farcall"
    for name, program in {"python": sys.executable, "farcall": command}.items():
        (bin_dir / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
        (bin_dir / name).chmod(0o755)
    environment = {**os.environ, **MPIRUN, "PATH": f"{bin_dir}:{os.environ['PATH']}"}
    if any("mpirun" in code for _, code in snippets(page)) and not shutil.which("mpirun"):
        assert os.environ.get("CI") != "true"
        pytest.skip("needs mpirun (Debian: openmpi-bin)")
    python = ""
    for language, code in snippets(page):
        name = re.match(r"(?://|#) file: (\S+)\n", code)
        if name:
            (tmp_path / name.group(1)).write_text(code)
        elif language == "cpp":
            pytest.fail(f"a C++ snippet of {page.name} does not name its file")
        elif language == "bash":
            subprocess.run(["bash", "-euc", code], cwd=tmp_path, env=environment, check=True)
        else:
            python += code + "\n"
    if python:
        (tmp_path / "snippets.py").write_text(python)
        if re.search("^import torch$", python, re.MULTILINE):
            done = with_torch.run(tmp_path / "snippets.py", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            return
        subprocess.run(
            [sys.executable, "-W", "error", "snippets.py"],
            cwd=tmp_path,
            env=environment,
            check=True,
        )


def test_no_snippet_escapes_the_test() -> None:
    fences = {"cpp", "python", "bash", ""}
    for page in PAGES:
        opened = re.findall(r"^```(\w*)$", page.read_text(), re.MULTILINE)[::2]
        assert set(opened) <= fences, f"{page.name} has a fence of another language: {opened}"
