"""optax runs on farcall, under farcall.as_jax(), and agrees with its run on the real JAX.

Each host has a process of its own. By default a few functions of each kind are compared with JAX,
which takes its time to compile, and all of them have to run; ``--slow`` compares all.
"""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optax")

RUNS = Path(__file__).with_name("optax_runs.py")
SAMPLE = ("optimizer adamw", "optimizer lion", "transformation clip_by_global", "loss softmax_cr")

# Runs that depend on the last bits of what went before: how far they may be off.
LOOSE = {"lbfgs": 1e-2, "momo": 1e-3, "prodigy": 1e-3, "dadapt_adamw": 1e-3, "galore": 1e-2}


@functools.cache
def runs(host: str, parts: tuple[str, ...] = ()) -> dict[str, Any]:
    command = [sys.executable, str(RUNS), host, *parts]
    return pickle.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def compare(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert set(theirs) <= set(ours)
    wrong = {}
    for name, wanted in theirs.items():
        assert not isinstance(wanted, str), f"{name}: {wanted}"
        tolerance = next((t for part, t in LOOSE.items() if part in name), 2e-4)
        for a, b in zip(ours[name], wanted, strict=True):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                wrong[name] = f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
            elif not np.allclose(a, b, rtol=tolerance, atol=tolerance / 10, equal_nan=True):
                wrong[name] = f"{a} and {b}"
    assert wrong == {}


def test_all_of_optax_runs_on_farcall() -> None:
    failed = {name: found for name, found in runs("farcall").items() if isinstance(found, str)}
    assert failed == {}
    kinds = [name.split()[0] for name in runs("farcall")]
    assert kinds.count("optimizer") > 40
    assert min(kinds.count(k) for k in ("transformation", "loss", "gradient", "schedule")) > 10


def test_a_few_functions_of_optax_agree_with_jax() -> None:
    compare(runs("farcall"), runs("jax", SAMPLE))


@pytest.mark.slow
def test_all_of_optax_agrees_with_jax() -> None:
    compare(runs("farcall"), runs("jax"))
