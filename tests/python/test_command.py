"""The command ``farcall`` as the wheel installs it, and handlers that Python modules give away."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import sysconfig
import time
import venv
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
REFERENCE = """
def twice(x, add):
    return 2 * x + add

def thrice(x, add):
    return 3 * x

def raises(x, add):
    raise KeyError("in the reference")

def one_row(x, add):
    return x[None]

def aborts(x, add):
    import os
    os.abort()
"""


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
    with pytest.raises(ValueError, match='"f33" is not an element type'):
        check_handler(f"{library}:twice", args=["f33[N]"])
    with pytest.raises(ValueError, match="refuses every call"):
        check_handler(f"{library}:twice", args=["f64[N]"], rets=["f64[N]"])


def test_check_handler_tests_all_handlers_of_a_library(library: str) -> None:
    with pytest.raises(AssertionError, match="misses_last\nunwritten-result"):
        check_handler(library, attrs=["add=1"])
    sound = str(build(SOURCE.replace("size_t i = 1;", "size_t i = 0;").replace("[i - 1]", "[i]")))
    reports = check_handler(sound, attrs=["add=1"])
    assert [report["verdict"] for report in reports] == ["clean", "clean"]


def test_the_progress_line_only_moves_forward(library: str) -> None:
    terminal, inner = pty.openpty()
    command = (COMMAND, "check", f"{library}:twice", "--attr", "add=1")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=inner) as process:
        os.close(inner)
        text = b""
        with contextlib.suppress(OSError):  # EIO at the end
            while part := os.read(terminal, 1 << 16):
                text += part
    os.close(terminal)
    assert process.returncode == 0
    shown = [int(share) for share in re.findall(rb"(\d+)%", text)]
    assert len(shown) > 2, text
    assert shown == sorted(shown)


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
    needs_a_name = run("inspect", "gives_capsules:needs_a_name", cwd=tmp_path)
    assert needs_a_name.returncode == 3
    assert "needs_a_name of gives_capsules is not a handler: the function takes arguments" in (
        needs_a_name.stderr
    )
    assert inspect("json") == (set(), {})

    checked = run("check", "gives_capsules:staged", "--json", cwd=tmp_path)
    assert json.loads(checked.stdout)["findings"][0]["kind"] == "unwritten-result"
    assert run("check", "gives_capsules:twice", "--attr", "add=1", cwd=tmp_path).returncode == 0
    unknown = run("check", "gives_capsules:thrice", "--arg", "f32[N]", cwd=tmp_path)
    assert unknown.returncode == 3
    told = "gives_capsules has no handler thrice; it has in_a_dict, staged, twice."
    assert told in unknown.stderr
    assert told in run("inspect", "gives_capsules:thrice", cwd=tmp_path).stderr


def test_only_compiled_modules_are_initialized(tmp_path: Path) -> None:
    (tmp_path / "uses_distributed.py").write_text("import starts_when_told\n")
    (tmp_path / "starts_when_told.py").write_text(
        "import pathlib\ndef initialize():\n    pathlib.Path('was_started').touch()\n"
    )
    done = run("inspect", "uses_distributed", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "was_started").exists()


def test_a_module_that_sleeps_ends_with_124(tmp_path: Path) -> None:
    (tmp_path / "sleeps.py").write_text("import time\ntime.sleep(1000)\n")
    done = run("inspect", "sleeps", "--timeout", "1", cwd=tmp_path)
    assert done.returncode == 124
    assert "took longer than the time limit" in done.stderr


def test_an_active_environment_is_used_alone(tmp_path: Path) -> None:
    (tmp_path / "which_python.py").write_text(
        "import json, sys\nopen('which', 'w').write(json.dumps([sys.prefix, sys.path]))\n"
    )
    environment = tmp_path / "venv"
    venv.create(environment)
    path = f"{environment}/bin:{os.environ['PATH']}"
    for active in (True, False):
        variables = {**os.environ, "PATH": path, "VIRTUAL_ENV": str(environment)}
        if not active:
            del variables["VIRTUAL_ENV"]
        assert run("inspect", "which_python", cwd=tmp_path, env=variables).returncode == 0
        prefix, folders = json.loads((tmp_path / "which").read_text())
        assert Path(prefix) == (environment if active else Path(sys.prefix))
        packages = [folder for folder in folders if "site-packages" in folder]
        assert packages
        assert all(Path(p).is_relative_to(prefix) for p in packages if "venv" in p)


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


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("reference_of_twice:raises", "it raises KeyError: 'in the reference'"),
        ("reference_of_twice:one_row", "for result 0, wanted ("),
        ("reference_of_twice:aborts", ":aborts fails for f32[3] -> f32[3]: abort"),
        ("reference_of_twice:missing", "module reference_of_twice has no function missing"),
        ("no_such_module:f", "there is no module no_such_module"),
    ],
)
def test_a_reference_that_fails_tells_why(
    library: str, tmp_path: Path, reference: str, told: str
) -> None:
    (tmp_path / "reference_of_twice.py").write_text(REFERENCE)
    check = ["check", f"{library}:twice", "--attr", "add=1", "--json", "--reference", reference]
    done = run(*check, cwd=tmp_path)
    assert done.returncode == 3
    assert told in json.loads(done.stdout)["reason"]


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


FOREVER = r"""
#include <farcall/ffi.h>
#include <fcntl.h>
#include <unistd.h>
#include <cstdlib>
namespace ffi = farcall::ffi;

static void forever(ffi::Buffer<ffi::F32>, ffi::ResultBuffer<ffi::F32>) {
  close(open(std::getenv("STARTED"), O_CREAT, 0600));
  while (true) pause();
}
FARCALL_DEFINE_HANDLER(forever, forever);
"""


@pytest.mark.parametrize("subcommand", ["check", "bench", "run", "trace"])
def test_with_json_an_interrupt_is_json_too(subcommand: str, tmp_path: Path) -> None:
    handler = f"{build(FOREVER)}:forever"
    started = tmp_path / "started"
    arguments = [COMMAND, subcommand, handler, "--arg", "f32[4]", "--ret", "f32[4]", "--json"]
    with subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "STARTED": str(started)},
        cwd=tmp_path,
    ) as process:
        while not started.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    assert json.loads(output) == {"error": "interrupted by SIGINT"}
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize("subcommand", ["run", "trace"])
def test_with_json_the_time_limit_is_json_too(subcommand: str, tmp_path: Path) -> None:
    handler = f"{build(FOREVER)}:forever"
    options = ["--arg", "f32[4]", "--ret", "f32[4]", "--json", "--timeout", "0.2"]
    done = run(subcommand, handler, *options, cwd=tmp_path, env={**os.environ, "STARTED": "x"})
    assert done.returncode == 124
    assert json.loads(done.stdout) == {"error": "the time limit has passed"}


# The first process that calls it with this variable is slow.
SLOW_ONCE = r"""
#include <farcall/ffi.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
namespace ffi = farcall::ffi;

static bool begins_slow() {
  const char* marker = std::getenv("SLOW_ONCE");
  if (!marker || access(marker, F_OK) == 0) return false;
  std::fclose(std::fopen(marker, "w"));
  return true;
}
static void slow_once(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  static const bool is_slow = begins_slow();
  if (is_slow) usleep(3000);
  usleep(100);
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(slow_once, slow_once);
"""


def test_bench_measures_again_what_seems_slower(tmp_path: Path) -> None:
    marker, before = tmp_path / "marker", str(tmp_path / "before.json")
    bench = ["bench", f"{build(SLOW_ONCE)}:slow_once", "--size", "N=8", "--no-limits"]
    bench += ["--seconds", "0.05", "--tolerance", "400"]
    assert run(*bench, "--output", before).returncode == 0
    slow = {**os.environ, "SLOW_ONCE": str(marker)}
    after = run(*bench, "--compare", before, "--json", env=slow)
    assert marker.exists()
    assert after.returncode == 0, after.stdout
    assert json.loads(after.stdout)["slower"] == []


def test_bench_ends_with_124_at_its_time_limit(library: str) -> None:
    limited = ("--timeout", "0.00001", "--no-limits", "--json")
    done = run("bench", f"{library}:twice", *limited)
    assert done.returncode == 124
    assert json.loads(done.stdout)["handlers"][0]["reason"] == "the time limit was reached"
