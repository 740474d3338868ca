"""The project that ``farcall new`` makes: it builds, passes its tests, and its handler is sound."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

COMMAND = Path(sysconfig.get_path("scripts")) / "farcall"
HAS_NVCC = shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()


def run(*command: object, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_and_test(project: Path, *defines: str) -> Path:
    """Installs the project beside itself, and runs its tests; the folder of the package."""
    site = project.parent / "site"
    settings = [f"--config-settings=cmake.define.{define}" for define in defines]
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    flags = ("--no-build-isolation", "--no-deps", "--target", site)
    run(*pip, *flags, *settings, ".", cwd=project)
    pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert "passed" in run(*pytest_, cwd=project, PYTHONPATH=str(site))
    return site / project.name


def test_a_new_project_works(tmp_path: Path) -> None:
    """Its tests compare values and derivatives, in farcall and in JAX, and check the handler."""
    answer = run(COMMAND, "new", "soft_sign", cwd=tmp_path)
    assert "src/soft_sign.cpp" in answer
    project = tmp_path / "soft_sign"
    texts = {path: path.read_text() for path in project.rglob("*") if path.is_file()}
    assert not [path for path, text in texts.items() if "my_kernel" in text or "MyKernel" in text]
    package = build_and_test(project)
    library = package / "libsoft_sign.so"
    clean = json.loads(run(COMMAND, "check", library, "--attr", "gain=0.5", "--json", cwd=tmp_path))
    assert clean["verdict"] == "clean"
    inspect = (COMMAND, "inspect", "soft_sign", "--json")
    inspected = run(*inspect, cwd=package, PYTHONPATH=str(package.parent))
    assert [handler["symbol"] for handler in json.loads(inspected)["handlers"]] == ["soft_sign"]


def test_with_xla_s_header(tmp_path: Path) -> None:
    answer = json.loads(run(COMMAND, "new", "f", "--header", "xla", "--json", cwd=tmp_path))
    assert answer["folder"] == "f"
    assert "src/f.cpp" in answer["files"]
    assert "xla/ffi/api/ffi.h" in (tmp_path / "f" / "src" / "f.cpp").read_text()
    build_and_test(tmp_path / "f")


@pytest.mark.skipif(not HAS_NVCC, reason="no nvcc")
@pytest.mark.slow
@pytest.mark.parametrize("header", ["farcall", "xla"])
def test_with_cuda(tmp_path: Path, header: str) -> None:
    run(COMMAND, "new", "on_gpu", "--cuda", "--header", header, cwd=tmp_path)
    package = build_and_test(tmp_path / "on_gpu", "CMAKE_CUDA_ARCHITECTURES=80")
    library = package / "libon_gpu_cuda.so"
    inspected = json.loads(run(COMMAND, "inspect", library, "--json", cwd=tmp_path))
    assert [handler["symbol"] for handler in inspected["handlers"]] == ["on_gpu"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Scale"], '"Scale" is no name for a kernel: write small letters, digits and _'),
        (["../up"], '"../up" is no name for a kernel'),
        (["lambda"], '"lambda" means something else in C++ or Python'),
        (["taken"], "taken exists already, and is not empty"),
    ],
)
def test_wrong_names(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    done = subprocess.run(
        [COMMAND, "new", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]
