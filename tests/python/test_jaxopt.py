"""jaxopt's solvers run on farcall, under farcall.as_jax(), and agree with JAX.

By default all of them run on farcall, and a few on JAX, which takes its time to compile; ``--slow``
compares all.
"""

from __future__ import annotations

import pytest
from library_hosts import differences, failures, results

pytest.importorskip("jaxopt")

SAMPLE = ("root bisection", "root custom root", "projection box", "prox elastic", "system lu")


def test_all_runs_of_jaxopt_end_without_an_error_on_farcall() -> None:
    assert failures("jaxopt") == {}
    kinds = [name.split()[0] for name in results("jaxopt", "farcall")]
    assert min(kinds.count(k) for k in ("minimizer", "constrained", "root", "function")) > 7


def test_a_few_runs_of_jaxopt_agree_with_jax() -> None:
    assert differences("jaxopt", SAMPLE, tolerance=2e-3) == {}


@pytest.mark.slow
def test_all_runs_of_jaxopt_agree_with_jax() -> None:
    assert differences("jaxopt", tolerance=2e-3) == {}
