"""The examples of callbacks run, each alone, without a warning."""

import subprocess
import sys
from pathlib import Path

import pytest
import with_torch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "callbacks"
# How to make an example brief.
OPTIONS = {"progress_bar": ["--steps", "2000"], "live_plot": ["--steps", "400"]}


def run(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script, options = EXAMPLES / f"{name}.py", OPTIONS.get(name, [])
    if name == "torch_layer":
        return with_torch.run(script, *options, cwd=folder)
    if name == "numba_kernel":
        pytest.importorskip("numba")
    command = [sys.executable, "-W", "error::RuntimeWarning", str(script), *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example_runs(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_progress_bar_reaches_the_end(tmp_path: Path) -> None:
    assert "2000/2000" in run("progress_bar", tmp_path).stderr


def test_live_plot_draws_a_picture_for_each_part_of_the_loop(tmp_path: Path) -> None:
    done = run("live_plot", tmp_path)
    assert "drawn 9 times" in done.stdout
    assert (tmp_path / "live_plot.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["live_plot.png"]
