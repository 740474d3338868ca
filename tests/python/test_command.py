"""The command ``farcall`` as the wheel installs it, and handlers that Python modules give away."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import farcall as fc
import pytest
from farcall.testing import check_handler
from handler_library import build

COMMAND = Path(sysconfig.get_path("scripts")) / "farcall"

SOURCE = r"""
#include <farcall/ffi.h>
namespace ffi = farcall::ffi;

static void twice(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float add) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = 2 * x.typed_data()[i] + add;
}
FARCALL_DEFINE_HANDLER(twice, twice, "add");

static void misses_last(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 1; i < x.element_count(); ++i) y->typed_data()[i - 1] = x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(misses_last, misses_last);
"""
REFERENCE = "def twice(x, add):\n    return 2 * x + add\n\ndef thrice(x, add):\n    return 3 * x\n"


@pytest.fixture(scope="module")
def library() -> str:
    return str(build(SOURCE))


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=100, **options
    )


def test_the_wheel_installs_the_command() -> None:
    assert run("--version").stdout.strip() == fc.__version__
    facts = json.loads(run("env", "--json").stdout)
    assert facts["python"].startswith(f"CPython {sys.version.split()[0]}")
    assert Path(facts["headers"]).samefile(fc.ffi.include_dir())
    assert "\033" not in run("doctor").stdout


def test_check_handler_passes_and_fails(library: str) -> None:
    report = check_handler(f"{library}:twice", attrs=["add=1"])
    assert report["verdict"] == "clean"
    with pytest.raises(AssertionError, match="unwritten-result: 1 of 3 elements of result 0"):
        check_handler(f"{library}:misses_last")
    with pytest.raises(ValueError, match='"f33" is no element type'):
        check_handler(f"{library}:twice", args=["f33[N]"])
    with pytest.raises(ValueError, match="refuses every call"):
        check_handler(f"{library}:twice", args=["f64[N]"], rets=["f64[N]"])


def test_check_handler_tests_all_handlers_of_a_library(library: str) -> None:
    with pytest.raises(AssertionError, match="misses_last\nunwritten-result"):
        check_handler(library, attrs=["add=1"])
    sound = str(build(SOURCE.replace("size_t i = 1;", "size_t i = 0;").replace("[i - 1]", "[i]")))
    reports = check_handler(sound, attrs=["add=1"])
    assert [report["verdict"] for report in reports] == ["clean", "clean"]


def test_the_python_test_of_a_finding_fails(library: str) -> None:
    report = json.loads(run("check", f"{library}:misses_last", "--json").stdout)
    names: dict[str, Any] = {"fc": fc}
    exec(report["findings"][0]["python_test"], names)
    with pytest.raises(AssertionError, match="unwritten-result"):
        names["test_misses_last_unwritten_result"]()


CAPSULES = """
import ctypes
from farcall.ffi import pycapsule

LIBRARY = ctypes.CDLL({library!r})
TARGETS = {{"in_a_dict": pycapsule(LIBRARY.twice)}}

def made(name):
    return pycapsule(LIBRARY[name])

def twice():
    return made("twice")

def handlers() -> dict:
    return {{"staged": {{"execute": made("misses_last")}}}}

def without_annotation_or_hint(name="twice"):
    return globals()["made"](name)

def fails() -> object:
    raise RuntimeError("no such device")

def main():
    made("twice")
    raise SystemExit("main was called")

def needs_a_name(name):
    return made(name)
"""


def test_capsules_of_functions_and_dicts_are_found(library: str, tmp_path: Path) -> None:
    (tmp_path / "gives_capsules.py").write_text(CAPSULES.format(library=library))

    def inspect(target: str) -> tuple[set[str], dict[str, str]]:
        report = json.loads(run("inspect", target, "--json", cwd=tmp_path).stdout)
        skipped = {s["symbol"]: s["why"] for s in report["skipped"]}
        return {h["symbol"] for h in report["handlers"]}, skipped

    assert inspect("gives_capsules") == (
        {"in_a_dict", "twice", "staged"},
        {"fails": "calling it raised RuntimeError: no such device"},
    )
    # Other functions are called only by name.
    hidden = "without_annotation_or_hint"
    assert inspect(f"gives_capsules:{hidden}") == ({hidden}, {})
    assert inspect("gives_capsules:needs_a_name")[1] == {
        "needs_a_name": "the function takes arguments"
    }
    assert inspect("json") == (set(), {})

    checked = run("check", "gives_capsules:staged", "--json", cwd=tmp_path)
    assert json.loads(checked.stdout)["findings"][0]["kind"] == "unwritten-result"
    assert run("check", "gives_capsules:twice", "--attr", "add=1", cwd=tmp_path).returncode == 0
    unknown = run("check", "gives_capsules:thrice", "--arg", "f32[N]", cwd=tmp_path)
    assert unknown.returncode == 3
    assert 'gives no handler "thrice". It gives in_a_dict, staged, twice.' in unknown.stdout


def test_a_module_that_cannot_be_imported_tells_why(tmp_path: Path) -> None:
    (tmp_path / "broken_module.py").write_text("import no_such_module_at_all\n")
    told = run("inspect", "broken_module", cwd=tmp_path)
    assert told.returncode == 3
    assert "ModuleNotFoundError: No module named 'no_such_module_at_all'" in told.stderr


def test_values_are_compared_with_a_python_function(library: str, tmp_path: Path) -> None:
    (tmp_path / "reference_of_twice.py").write_text(REFERENCE)
    check = ["check", f"{library}:twice", "--attr", "add=1", "--json", "--reference"]
    right = run(*check, "reference_of_twice:twice", cwd=tmp_path)
    assert json.loads(right.stdout)["verdict"] == "clean"
    wrong = run(*check, "reference_of_twice:thrice", cwd=tmp_path)
    assert [f["kind"] for f in json.loads(wrong.stdout)["findings"]] == ["wrong-result"]


# Operands, results, attributes and aliases, as JAX gives them; matrices lie column by column. JAX
# calls none of these with an empty matrix, of which some would make std::bad_alloc.
SIZES = {"N": "1,2,3,8,17", "M": "1,5,2,7,16"}
LAPACK = {
    "sgetrf": "f32[N,N] -> f32[N,N] s32[N] s32[] | | 0:0",
    "dpotrf": "f64[N,N] -> f64[N,N] s32[] | uplo:u8=76 | 0:0",
    "ctrsm": "c64[N,N] c64[N,M] -> c64[N,M] | side:u8=76 uplo:u8=76 trans_x:u8=78 diag:u8=85 | 1:0",
    "dgeqrf": "f64[N,N] -> f64[N,N] f64[N] | | 0:0",
    "sorgqr": "f32[N,N] f32[N] -> f32[N,N] | | 0:0",
    "ssyevd": "f32[N,N] -> f32[N,N] f32[N] s32[] | mode:u8=86 uplo:u8=76 | 0:0",
    "dgtsv": "f64[N] f64[N] f64[N] f64[N,M] -> f64[N] f64[N] f64[N] f64[N,M] s32[]"
    " | | 0:0 1:1 2:2 3:3",
}


@pytest.mark.parametrize("name", LAPACK)
def test_jaxlib_s_handlers_are_clean(name: str) -> None:
    pytest.importorskip("jaxlib")
    operands, attributes, aliases = (part.strip() for part in LAPACK[name].split("|"))
    options = [word for text in attributes.split() for word in ("--attr", text)]
    options += [word for text in aliases.split() for word in ("--alias", text)]
    for kind, texts in zip(("arg", "ret"), operands.split("->"), strict=True):
        for i, text in enumerate(texts.split()):
            options += [f"--{kind}", text]
            options += ["--layout", f"{kind}{i}=1,0"] if "," in text else []
    for letter, sizes in SIZES.items():
        options += ["--size", f"{letter}={sizes}"] if letter in operands else []
    result = run("check", f"jaxlib.lapack:lapack_{name}_ffi", "--json", *options)
    assert json.loads(result.stdout)["verdict"] == "clean", result.stdout + result.stderr


def test_a_python_module_is_inspected() -> None:
    pytest.importorskip("jaxlib")
    found = json.loads(run("inspect", "jaxlib.lapack", "--filter", "getrf", "--json").stdout)
    assert [h["symbol"] for h in found["handlers"]] == [f"lapack_{t}getrf_ffi" for t in "cdsz"]
    missing = run("inspect", "no_such_module")
    assert missing.returncode == 3
    assert 'the Python module "no_such_module" cannot be imported' in missing.stderr


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_times_are_drawn(library: str, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / f"times.{suffix}"
    bench = ["bench", f"{library}:twice", "--size", "N=16,256", "--seconds", "0.01"]
    result = run(*bench, "--attr", "add=1", "--no-limits", "--plot", str(picture))
    assert result.returncode == 0, result.stderr
    assert "N=256" in result.stdout
    start = {"svg": b"<?xml", "png": b"\x89PNG"}[suffix]
    assert picture.read_bytes().startswith(start)


@pytest.mark.parametrize("subcommand", ["inspect", "check", "bench", "run", "trace"])
def test_with_json_a_failure_is_json_too(subcommand: str) -> None:
    done = run(subcommand, "none.so", "--json")
    assert done.returncode == 3
    answer = json.loads(done.stdout)
    assert answer["verdict"] == "could-not-run"
    assert done.stderr == f"farcall: {answer['error']}\n"


def test_bench_ends_with_124_at_its_time_limit(library: str) -> None:
    limited = ("--timeout", "0.00001", "--no-limits", "--json")
    done = run("bench", f"{library}:twice", *limited)
    assert done.returncode == 124
    assert json.loads(done.stdout)["handlers"][0]["reason"] == "the time limit was reached"
