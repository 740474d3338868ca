"""benchmarks/compare: peers agree on its rows, and a run is compared with a saved one."""

import importlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "python" / "compare.py"


def compare(*arguments):
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_is_saved_drawn_and_compared_with_a_later_one(tmp_path):
    pytest.importorskip("jax")
    saved, picture = tmp_path / "then.json", tmp_path / "table.png"
    arguments = ["--peers", "farcall,jax,numpy", "layer norm, 64"]
    done = compare(*arguments, "--memory", "--save", saved, "--plot", picture)
    assert done.returncode == 0, done.stderr
    assert "| layer norm, 64 |" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    run = json.loads(saved.read_text())
    (figures,) = run["rows"].values()
    assert set(figures) == {"farcall", "jax", "numpy"}
    assert all(of_one["min"] <= of_one["median"] for of_one in figures.values())
    assert figures["farcall"]["peak"] > 0

    # As if farcall had been a thousand times faster then.
    figures["farcall"]["median"] /= 1000
    saved.write_text(json.dumps(run))
    later = compare(*arguments, "--against", saved)
    assert later.returncode == 1
    assert "layer norm, 64: " in later.stderr
    assert "before" in later.stderr


def test_a_turn_begins_when_the_threads_of_the_one_before_are_at_rest(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    wait_for_rest = importlib.import_module("compare").wait_for_rest
    spins = """
import threading, time
def spin():
    print("spins", flush=True)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    print("rests", flush=True)
    time.sleep(100)
threading.Thread(target=spin, daemon=True).start()
time.sleep(100)
"""
    with subprocess.Popen([sys.executable, "-c", spins], stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdout is not None
        assert peer.stdout.readline() == "spins\n"
        wait_for_rest(peer)
        os.set_blocking(peer.stdout.fileno(), False)
        assert os.read(peer.stdout.fileno(), 100) == b"rests\n"
        peer.kill()


def test_every_row_is_a_function_of_the_traced_peers(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    from peers.rows import all_rows
    from peers.traced import Traced

    rows = all_rows()
    assert len(rows) > 80
    assert {row.function for row in rows.values()} <= set(dir(Traced))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--peers", "farcall,matlab"], "no peer 'matlab'; there are farcall, jax"),
        (["no such row"], "--list names the rows"),
    ],
)
def test_what_there_is_not_is_said(arguments, message):
    done = compare(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "then.json: No such file or directory"),
        ("{", "then.json: this is no run that --save has written"),
        ("[]", "then.json: this is no run that --save has written"),
        ('{"rows": {"layer norm, 64": {"farcall": 1}}}', "no run that --save has written"),
        ("{}", "no row was compared"),
        ('{"rows": {"another": {}}}', "no row was compared"),
    ],
)
def test_a_file_that_cannot_be_compared_is_no_slower_row(tmp_path, text, message):
    saved = tmp_path / "then.json"
    if text is not None:
        saved.write_text(text)
    done = compare("--peers", "farcall", "layer norm, 64", "--against", saved)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_every_function_is_measured_in_both_libraries(monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.syspath_prepend(SCRIPT.parent)
    functions = importlib.import_module("functions")
    libraries = {name: functions.Library(name) for name in ("farcall", "jax")}
    arrays = functions.operands(65536)
    rows = functions.movements() | functions.batches()
    for name in ("kron", "take along", "vmap of dot, columns", "vmap of inverse"):
        function, taken = rows[name]
        found, wanted = (
            np.asarray(lib.module.jit(lambda *a, f=function, lib=lib: f(lib, *a))(*own))
            for lib in libraries.values()
            for own in [[lib.np.asarray(arrays[operand]) for operand in taken]]
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)


def test_functions_are_shown_with_the_slowest_beside_jax_first():
    pytest.importorskip("jax")
    script = str(SCRIPT.with_name("functions.py"))
    words = ["--size", "65536", "--json", "kron", "dot, columns"]
    done = subprocess.run(
        [sys.executable, script, *words], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert sorted(found) == ["kron", "vmap of dot, columns"]
    ratios = [row["ratio"]["min"] for row in found.values()]
    assert ratios == sorted(ratios, reverse=True)
    assert min(ratios) > 0


def test_functions_that_do_not_take_the_dtype_are_left_out_and_named():
    pytest.importorskip("jax")
    script = str(SCRIPT.with_name("functions.py"))
    words = ["--size", "65536", "--dtype", "bfloat16", "--json", "gradient of cholesky", "reversed"]
    done = subprocess.run(
        [sys.executable, script, *words], capture_output=True, text=True, check=True
    )
    assert list(json.loads(done.stdout)) == ["reversed"]
    assert done.stderr.startswith("gradient of cholesky: ")
