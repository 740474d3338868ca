"""The wheel carries what it needs: it runs in a root that holds Python and the C library alone."""

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from test_docs import ROOT, snippets

# What the manylinux policy expects of every system, beside what Python itself links.
SYSTEM = (
    *("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"),
    *("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1"),
)
PYTHON = Path(sys.executable).resolve()
STANDARD = Path(sysconfig.get_path("stdlib"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".venv").exists() or not (ROOT / "build" / "release").exists():
        pytest.skip("there is no build tree to make a wheel of")
    folder = tmp_path_factory.mktemp("wheel")
    command = [ROOT / "scripts" / "build_wheel", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def linked(files: Iterable[Path]) -> set[Path]:
    """The shared libraries that these files load, found as the loader finds them."""
    done = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False)
    return {Path(path) for path in re.findall(r"(/\S+) \(0x", done.stdout)}


@pytest.fixture(scope="session")
def bare_root(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with Python, its libraries, numpy, ml_dtypes and the wheel; nothing else."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(
        STANDARD,
        root / STANDARD.relative_to("/"),
        ignore=shutil.ignore_patterns("test", "tests", "__pycache__", "*-packages", "config-*"),
    )
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    system = [Path(re.findall(rf"{re.escape(name)} .*=> (\S+)", known)[0]) for name in SYSTEM]
    extensions = (STANDARD / "lib-dynload").glob("*.so")
    for path in {PYTHON, *system, *linked([PYTHON, *system, *extensions])}:
        target = root / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path.resolve(), target)
    for package in (np, ml_dtypes):
        folder = Path(package.__path__[0])
        for part in (folder, folder.with_name(f"{folder.name}.libs")):
            if part.exists():
                shutil.copytree(part, root / "site" / part.name)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(root / "site")
    return root


def run_in(root: Path, code: str) -> str:
    (root / "program.py").write_text(code)
    command = ["unshare", "--map-root-user", f"--root={root}", str(PYTHON), "-B", "/program.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PYTHONPATH": "/site"}
    )
    if "unshare: " in done.stderr:
        pytest.skip(f"this system allows no root of one's own: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel_says_which_systems_it_fits(wheel: Path) -> None:
    assert re.search(r"-manylinux_2_\d+_(x86_64|aarch64)\.whl$", wheel.name)


def test_readme_runs_where_the_distributions_libraries_are_not(bare_root: Path) -> None:
    found = {path.name for path in bare_root.rglob("*.so*")}
    assert not any(
        name.startswith(
            ("libopenblas.so", "libtbb.so", "libhwy.so", "libhwy_contrib.so", "libfmt.so")
        )
        for name in found
    )
    page = snippets(ROOT / "README.md")
    kernel = next(code for language, code in page if language == "cpp")
    (bare_root / "rms_norm.cpp").write_text(kernel)
    headers = bare_root / "site" / "farcall" / "include"
    compiler = ["g++", "-std=c++17", "-O2", "-shared", "-fPIC", f"-I{headers}"]
    subprocess.run([*compiler, "rms_norm.cpp", "-o", "librms_norm.so"], cwd=bare_root, check=True)
    python = next(code for language, code in page if language == "python")
    printed = run_in(bare_root, python)
    assert "ffi_call[" in printed
    assert "rms_norm" in printed


def test_arrays_callbacks_and_lapack_run_in_the_bare_root(bare_root: Path) -> None:
    program = Path(__file__).with_name("wheel_program.py").read_text()
    assert run_in(bare_root, program).endswith("works\n")


def test_package_says_where_its_parts_are(bare_root: Path) -> None:
    code = """
import farcall, os
from farcall.__main__ import main
main(["--include-dir", "--cmake-dir"])
print(farcall.print_environment_info(return_string=True).splitlines()[0].split())
print(".".join(map(str, farcall.__version_info__)) == farcall.__version__)
"""
    include, cmake, version, equal = run_in(bare_root, code).splitlines()
    assert (bare_root / include.lstrip("/") / "farcall" / "ffi.h").exists()
    assert (bare_root / include.lstrip("/") / "xla" / "ffi" / "api" / "ffi.h").exists()
    assert (bare_root / cmake.lstrip("/") / "farcallConfig.cmake").exists()
    assert version.startswith("['farcall:', '")
    assert equal == "True"
