"""First, second and third derivatives of random programs at special points are those of JAX.

``python -m random_programs --derivatives`` looks further.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from random_programs import derivatives
from random_programs.derivatives import compare, compare_program
from random_programs.program import Body, Program, Step

pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("block", range(4))
def test_derivatives_agree_with_jax(block: int) -> None:
    compared = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(8 * block, 8 * block + 8):
            found = compare(seed)
            assert found.what is None, str(found)
            compared += found.skipped is None
    assert compared > 0


def test_a_wrong_derivative_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Step("lax.sin({0})", ("x",), ("y",))
    body = Body("program", ("x",), (None,), (step,), ("y",), (None,))
    program = Program(0, body, (np.array([0.0, 1.0, -0.0]),))
    assert compare_program(program).what is None
    theirs = derivatives.jax_names()
    wrong = {**theirs, "lax": type("Lax", (), {"sin": staticmethod(theirs["lax"].tan)})}
    monkeypatch.setattr(derivatives, "jax_names", lambda: wrong)
    assert "in JAX" in str(compare_program(program).what)
