"""What Python may pass to farcall, at random: package ``hostile``, of which this is a sample."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import farcall as fc
import pytest
from hostile import work
from hostile.__main__ import TARGETS, main
from hostile.functions import public_functions
from hostile.judge import complaint
from hostile.values import HOSTILE, HostileError, make
from hostile.work import Finding, Job, findings

COUNTS = {"arguments": 2000, "trees": 2500, "memory": 2500}


def no_findings(job: Job) -> None:
    found = [f"{f.index}: {f.call}\n  {f.what}" for f in findings(job)]
    assert not found, f"{job}\n" + "\n".join(found[:20])


@pytest.mark.parametrize("target", TARGETS)
def test_every_call_ends_in_a_value_or_a_documented_exception(target: str) -> None:
    no_findings(Job(target, 0, 0, COUNTS[target]))


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_many_calls_end_in_a_value_or_a_documented_exception(target: str) -> None:
    no_findings(Job(target, 1, 0, 20 * COUNTS[target]))


def test_all_of_the_public_api_is_called() -> None:
    names = {function.name for function in public_functions()}
    assert len(names) > 700
    for name in ("numpy.roll", "lax.scan", "jit", "tree.map", "ffi.ffi_call", "scipy.special.erf"):
        assert any(found.startswith(("farcall.",)) and found.endswith(name) for found in names)
    assert {"Array.sum", "Array.at[0].set", "Array.__getitem__", "Program.serialize"} <= names


@pytest.mark.parametrize("name", HOSTILE)
def test_values_can_be_made(name: str) -> None:
    make(name)


@pytest.mark.parametrize("target", TARGETS)
def test_a_seed_gives_one_call(target: str) -> None:
    plan = importlib.import_module(f"hostile.{target}").plan
    assert [str(plan(5, i)) for i in range(30)] == [str(plan(5, i)) for i in range(30)]


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (None, False),
        (ValueError("roll: 2 shifts for 3 axes"), False),
        (HostileError("x"), False),
        (fc.FfiError("x"), False),
        (RuntimeError("std::bad_cast"), True),
        (RuntimeError("anything"), True),
        (SystemError("x"), True),
        (AttributeError("'int' object has no attribute 'dtype'"), True),
        (IndexError("vector::_M_range_check"), True),
        (TypeError("f(): incompatible function arguments"), True),
    ],
)
def test_what_is_a_finding(error: Any, is_one: bool) -> None:
    assert (complaint(error) is not None) == is_one


def test_a_crash_is_a_finding_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os, sys\n"
        "for i in range(int(sys.argv[1]), 6):\n"
        "    print('begin', i, f'call {i}', sep='\\t', flush=True)\n"
        "    if i in (2, 5): os.abort()\n"
        "    print('end', i, 'wrong' if i == 4 else '', sep='\\t', flush=True)\n"
    )
    monkeypatch.setattr(work, "command", lambda job: [sys.executable, "-c", code, str(job.begin)])
    found = list(findings(Job("any", 0, 0, 6)))
    crash = "the process ended with -6: "
    assert found == [
        Finding(2, "call 2", crash),
        Finding(4, "call 4", "wrong"),
        Finding(5, "call 5", crash),
    ]


def test_a_call_that_hangs_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import time; print('begin\\t0\\tcall 0', flush=True); time.sleep(100)"
    monkeypatch.setattr(work, "command", lambda _: [sys.executable, "-c", code])
    monkeypatch.setattr(work, "SECONDS_UNTIL_KILLED", 0.5)
    assert list(findings(Job("any", 0, 0, 1))) == [
        Finding(0, "call 0", "hangs: killed after 0.5 s")
    ]


def test_the_command_line_counts_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["hostile", "trees", "--calls", "20", "--seed", "3"])
    assert main() == 0
    assert capsys.readouterr().out == "0 findings in 20 calls of trees, seed 3\n"
