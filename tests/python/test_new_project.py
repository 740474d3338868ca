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
# A compiler for CUDA, which needs no GPU.
NVCC_WHEELS = [
    "nvidia-cuda-cccl==13.3.5.0.6",
    "nvidia-cuda-crt==13.5.37",
    "nvidia-cuda-nvcc==13.5.37",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-nvvm==13.5.37",
]
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")


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


@pytest.fixture(scope="module")
def nvcc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The system's nvcc, or the one on PyPI."""
    system = Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    if system.exists():
        return system
    folder = tmp_path_factory.mktemp("nvcc")
    fetch = (*PIP, "--no-deps", "--target", folder, *NVCC_WHEELS)
    if subprocess.run(fetch, check=False).returncode != 0:
        assert os.environ.get("CI") != "true"
        pytest.skip("no nvcc here, and it could not be fetched from PyPI")
    return next(folder.rglob("bin/nvcc"))


def build_and_test(project: Path, *defines: str, **variables: str) -> Path:
    """Installs the project beside itself, and runs its tests; the folder of the package."""
    site = project.parent / "site"
    settings = [f"--config-settings=cmake.define.{define}" for define in defines]
    flags = ("--no-build-isolation", "--no-deps", "--target", site)
    run(*PIP, *flags, *settings, ".", cwd=project, **variables)
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


@pytest.mark.slow
@pytest.mark.parametrize("header", ["farcall", "xla"])
def test_with_cuda(tmp_path: Path, nvcc: Path, header: str) -> None:
    run(COMMAND, "new", "on_gpu", "--cuda", "--header", header, cwd=tmp_path)
    architecture = "CMAKE_CUDA_ARCHITECTURES=80"
    package = build_and_test(tmp_path / "on_gpu", architecture, CUDACXX=str(nvcc))
    library = package / "libon_gpu_cuda.so"
    inspected = json.loads(run(COMMAND, "inspect", library, "--json", cwd=tmp_path))
    assert [handler["symbol"] for handler in inspected["handlers"]] == ["on_gpu"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Scale"], 'invalid kernel name "Scale": use lower-case letters, digits and _'),
        (["../up"], 'invalid kernel name "../up"'),
        (["lambda"], '"lambda" is a keyword of C++ or Python'),
        (["nullptr"], '"nullptr" is a keyword of C++ or Python'),
        (["std"], '"std" is a name that the project\'s files use'),
        (["linux"], '"linux" is a macro of C++ compilers; choose another name, such as my_linux'),
        (["test"], '"test" is the name of a Python package'),
        (["pytest"], '"pytest" is the name of a Python package'),
        (["jax"], '"jax" is the name of a Python package'),
        (["exp"], '"exp" is a function of the C library; choose another name, such as my_exp'),
        (["statistics"], '"statistics" is a module of Python\'s standard library'),
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


def test_without_farcall_the_build_says_how_to_name_a_python(tmp_path: Path) -> None:
    run(COMMAND, "new", "soft_sign", cwd=tmp_path)
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    done = subprocess.run(
        ["cmake", "-S", "soft_sign", "-B", "build", f"-DPython_EXECUTABLE={bare}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    words = " ".join(done.stderr.split())
    assert f"{bare} has no package farcall" in words
    assert "cmake -DPython_EXECUTABLE=" in words
