"""Torch and farcall in one process: they share the memory of arrays and of callbacks' buffers."""

from __future__ import annotations

from pathlib import Path

import pytest
import with_torch

SCRIPTS = Path(__file__).parent / "torch_scripts"


@pytest.mark.parametrize("name", sorted(path.stem for path in SCRIPTS.glob("*.py")))
def test_script(name: str, tmp_path: Path) -> None:
    """The first line of each script says what it proves."""
    done = with_torch.run(SCRIPTS / f"{name}.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
