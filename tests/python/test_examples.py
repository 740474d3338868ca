"""The examples of callbacks run, each alone, without a warning."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "callbacks"
# What an example needs that the tests do not, and how to make it brief.
NEEDS = {"torch_layer": "torch", "numba_kernel": "numba"}
OPTIONS = {"progress_bar": ["--steps", "2000"], "live_plot": ["--steps", "400"]}


def run(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    command = [sys.executable, "-W", "error::RuntimeWarning", str(EXAMPLES / f"{name}.py")]
    return subprocess.run(
        [*command, *OPTIONS.get(name, [])], cwd=folder, capture_output=True, text=True, check=False
    )


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
