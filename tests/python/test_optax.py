"""optax runs on farcall, under farcall.as_jax(), and agrees with its run on the real JAX.

By default a few functions of each kind are compared with JAX, which takes its time to compile, and
all of them have to run; ``--slow`` compares all.
"""

from __future__ import annotations

import pytest
from library_hosts import differences, failures, results

pytest.importorskip("optax")

SAMPLE = ("optimizer adamw", "optimizer lion", "transformation clip_by_global", "loss softmax_cr")

# Runs that depend on the last bits of what went before: how far they may be off.
LOOSE = {"lbfgs": 1e-2, "momo": 1e-3, "prodigy": 1e-3, "dadapt_adamw": 1e-3, "galore": 1e-2}


def test_all_of_optax_runs_on_farcall() -> None:
    assert failures("optax") == {}
    kinds = [name.split()[0] for name in results("optax", "farcall")]
    assert kinds.count("optimizer") > 40
    assert min(kinds.count(k) for k in ("transformation", "loss", "gradient", "schedule")) > 10


def test_a_few_functions_of_optax_agree_with_jax() -> None:
    assert differences("optax", SAMPLE, tolerance=2e-4, loose=LOOSE) == {}


@pytest.mark.slow
def test_all_of_optax_agrees_with_jax() -> None:
    assert differences("optax", tolerance=2e-4, loose=LOOSE) == {}
