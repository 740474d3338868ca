"""Several processes under mpirun: tables of checks that run in all of them, and what goes wrong."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import farcall as fc
import numpy as np
import pytest
from farcall._plugins import find_plugin

FOLDER = Path(__file__).resolve().parent / "several_processes"
HAS_MPI = shutil.which("mpirun") is not None and os.path.exists(fc.distributed._LIBRARY)
pytestmark = pytest.mark.skipif(
    not HAS_MPI and os.environ.get("CI") != "true",
    reason="needs mpirun, and farcall built with MPI (Debian: libopenmpi-dev openmpi-bin)",
)
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]


def environment(devices: int = 1, **variables: str) -> dict[str, str]:
    path = [str(FOLDER), str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "FARCALL_NUM_CPU_DEVICES": str(devices),
        "OPENBLAS_NUM_THREADS": "1",
        **variables,
    }


def mpirun(
    count: int, *arguments: str | Path, devices: int = 1, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MPIRUN, "-n", str(count), sys.executable, *map(str, arguments)],
        env=environment(devices, **variables),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (3, 1)])
def test_operations(count: int, devices: int) -> None:
    assert "11 checks ran" in succeeded(
        mpirun(count, FOLDER / "run.py", "operations", devices=devices)
    )


@pytest.mark.parametrize(("count", "devices"), [(4, 1), (2, 2)])
def test_meshes(count: int, devices: int) -> None:
    out = succeeded(mpirun(count, FOLDER / "run.py", "meshes", devices=devices))
    assert "checks ran" in out


@pytest.mark.parametrize(("count", "devices"), [(4, 1), (2, 2)])
def test_programs_are_those_of_four_devices(count: int, devices: int) -> None:
    """The table of ``four_devices``, with the devices in several processes."""
    tests = FOLDER.parent / "four_devices" / "test_programs.py"
    out = succeeded(
        mpirun(
            count,
            *("-m", "pytest", "-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", tests),
            devices=devices,
            FARCALL_TEST_PROCESSES=str(count),
        )
    )
    assert out.count(" passed") == count


@pytest.mark.skipif(not find_plugin(), reason="no PJRT plugin is installed")
def test_each_process_has_devices_of_a_plugin() -> None:
    assert "3 checks ran" in succeeded(mpirun(2, FOLDER / "run.py", "plugin", devices=2))


@pytest.mark.skipif(not find_plugin(), reason="no PJRT plugin is installed")
@pytest.mark.parametrize("before", ["", "fc.devices('pjrt')"])
def test_devices_of_a_plugin_belong_to_their_process(before: str) -> None:
    code = (
        f"import farcall as fc, pytest; {before}\n"
        'with pytest.warns(RuntimeWarning, match=r"all processes are devices..native"):\n'
        "    fc.distributed.initialize()\n"
        "assert len(fc.devices('native')) == 4\n"
        "assert fc.local_devices() == fc.devices(), fc.devices()\n"
        "assert fc.local_device_count() == fc.device_count() == 2\n"
        "assert {d.process_index for d in fc.devices()} == {fc.process_index()}\n"
        "x = fc.jit(lambda x: x + 1, device=fc.local_devices()[1])(1.0)\n"
        "assert x.is_fully_addressable and x == 2\n"
    )
    succeeded(mpirun(2, "-c", code, devices=2, FARCALL_ENGINE="pjrt"))


def test_the_classifier_of_digits_has_the_same_losses() -> None:
    script = FOLDER.parents[2] / "examples" / "digits_over_processes.py"
    handlers = sorted(FOLDER.parents[2].glob("build/*/examples/handlers/libdigits_handlers.so"))
    if not handlers:
        pytest.skip("needs the examples' handlers, which run-tests builds")
    options = ("--handlers", str(handlers[-1]), "--epochs", "2")

    def losses(output: str) -> list[float]:
        return [float(each) for each in re.findall(r"^epoch \d: loss (\S+)$", output, re.MULTILINE)]

    alone = subprocess.run(
        [sys.executable, script, *options], capture_output=True, text=True, check=True
    )
    wanted = losses(alone.stdout)
    assert len(wanted) == 2
    assert wanted[1] < wanted[0] < 2.5
    found = losses(succeeded(mpirun(4, script, *options)))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_arrays_are_saved_by_some_and_loaded_by_others(tmp_path: Path) -> None:
    for count, devices, what in ((4, 1, "save"), (2, 2, "load"), (2, 1, "load"), (2, 1, "save")):
        succeeded(mpirun(count, FOLDER / "run.py", "checkpoints", tmp_path, what, devices=devices))
    # And by one process alone.
    like = {
        "w": np.zeros((12, 8), np.float32),
        "columns": [np.zeros((12, 8), np.float16)],
        "scale": np.float32(0),
        "steps": np.zeros(4, np.int32),
    }
    loaded = fc.distributed.load(tmp_path / "state", fc.tree.map(fc.numpy.asarray, like))
    np.testing.assert_array_equal(loaded["w"], np.arange(96).reshape(12, 8))
    fc.distributed.save(tmp_path / "own", loaded)
    again = fc.distributed.load(tmp_path / "own", loaded)
    assert all(fc.tree.leaves(fc.tree.map(lambda a, b: bool((a == b).all()), again, loaded)))


def test_mpi_is_initialized_by_another_library() -> None:
    succeeded(mpirun(2, FOLDER / "initialized.py"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", ["process 1 failed: LookupError: a file is missing here"]),
        ("ends", ["process 1 has ended, and process 0 waits for it"]),
        ("raises_in_a_callback", ["process 1 failed", "a file is missing here"]),
        ("is_late", ["process 0 has waited 4 s for process 1"]),
        ("branches_alone", ["RuntimeError"]),
        (
            "receives_other_sizes",
            ["process 0 has sent f32[4,3], and process 1 expects f32[1,3]", "process 1 failed"],
        ),
        (
            "receives_other_dtype",
            ["process 0 has sent f32[4,3], and process 1 expects i32[4,3]", "process 1 failed"],
        ),
        ("is_interrupted", ["KeyboardInterrupt", "process 1 failed"]),
        ("is_killed", ["process rank 1", "signal 9"]),
    ],
)
def test_a_fault_of_one_process_ends_the_others(name: str, words: list[str]) -> None:
    done = mpirun(2, FOLDER / "faults.py", name)
    output = done.stdout + done.stderr
    assert done.returncode != 0, output
    for word in words:
        assert word in output, output


def test_a_process_that_does_not_initialize() -> None:
    code = (
        "import os, time, farcall as fc\n"
        "if os.environ['OMPI_COMM_WORLD_RANK'] == '1': time.sleep(60)\n"
        "fc.distributed.initialize(timeout=2)\n"
    )
    done = mpirun(2, "-c", code)
    assert done.returncode != 0
    assert "not all processes of the job have called initialize() within 2 s" in done.stderr


def test_forked_children_are_not_in_the_job() -> None:
    code = (
        "import os, sys, farcall as fc\n"
        "fc.distributed.initialize(timeout=20)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try: fc.mpi.barrier()\n"
        "    except RuntimeError as error: print(error, flush=True)\n"
        "    sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert fc.mpi.allreduce(1.0) == 2\n"
    )
    for process in (0, 1):
        wanted = f"this is a forked child of process {process}, which is not in the job"
        assert wanted in succeeded(mpirun(2, "-c", code))


def test_control_c_ends_all() -> None:
    command = [*MPIRUN, "-n", "2", sys.executable, str(FOLDER / "faults.py"), "waits"]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "ready\n"
        job.send_signal(signal.SIGINT)
        assert job.wait(timeout=60) != 0


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import farcall as fc\n" + code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("fc.distributed.initialize()", "not started by mpirun. Start the program with it, as in"),
        ("fc.mpi.allreduce(1.0)", "call distributed.initialize() first"),
        ("fc.distributed.initialize(timeout=0)", "timeout must be a positive number of seconds"),
        (
            "fc.distributed._LIBRARY = '/nowhere/libfarcall_mpi.so'; fc.distributed.initialize()",
            "apt-get install libopenmpi-dev openmpi-bin",
        ),
    ],
)
def test_without_mpirun(code: str, words: str) -> None:
    done = run(code)
    assert done.returncode == 1
    assert words in done.stderr


def test_a_process_of_its_own() -> None:
    code = (
        "fc.distributed.shutdown()\n"
        "assert (fc.process_index(), fc.process_count()) == (0, 1)\n"
        "assert not fc.distributed.is_initialized()\n"
    )
    assert run(code).returncode == 0


def test_farcall_itself_links_no_mpi() -> None:
    libraries = Path(fc.__file__).parent.glob("*.so")
    for library in libraries:
        linked = subprocess.run(
            ["objdump", "-p", library], capture_output=True, text=True, check=True
        ).stdout
        assert ("libmpi" in linked) == (library.name == "libfarcall_mpi.so"), library
