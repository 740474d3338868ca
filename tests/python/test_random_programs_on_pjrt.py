"""What the random programs that compare the engines take for a difference, and what not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from farcall._plugins import find_plugin
from random_programs import documented, run
from random_programs.check import check_view
from random_programs.operations.elementwise import _broadcast
from random_programs.program import Body, Program, Step
from random_programs.run import failures_of, shrunk
from random_programs.views import VIEWS
from random_programs.writer import Value

pytestmark = pytest.mark.usefixtures("x64")
needs_plugin = pytest.mark.skipif(not find_plugin(), reason="no PJRT plugin is installed")


def program(x: np.ndarray, *steps: tuple[str, str]) -> Program:
    """Steps as text and names of operands; the first is x, the results are a, b, and so on."""
    made = [Step(text, tuple(names), ("abcd"[i],)) for i, (text, names) in enumerate(steps)]
    body = Body("program", ("x",), (None,), tuple(made), made[-1].results, (None,))
    return Program(0, body, (x,))


SPECIAL = np.array([1.5, 1e-300, np.inf])
SCATTER = "lax.scatter_min({0}, {1}, {2}, lax.ScatterDimensionNumbers((), (0,), (0,)))"
DOCUMENTED = {
    "the bits of NaN": program(
        SPECIAL,
        ("fnp.asarray(np.array([1, np.inf], np.float16))", ""),
        ("{0} - {0}", "a"),
        ("lax.bitcast_convert_type({0}, np.int16)", "b"),
    ),
    "numbers whose squares are zero": program(SPECIAL[:2], ("lax.atan2({0}, {0})", "x")),
    "NaN times a bool": program(
        SPECIAL[:1],
        ("fnp.zeros((1, 1), np.int32)", ""),
        ("fnp.full(1, np.nan)", ""),
        (SCATTER, "xab"),
        ("lax.log1p({0})", "c"),
    ),
}


def view_of(program: Program) -> str:
    is_integer = "bitcast" in program.body.steps[-1].text
    return "jit on pjrt" if is_integer else "vjp on pjrt"


@needs_plugin
@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_differences_are_no_failures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, view = DOCUMENTED[name], view_of(DOCUMENTED[name])
    assert check_view(program, view) is None
    got = f"[np.asarray(y) * 2 + 1 for y in {VIEWS[view].got}]"
    monkeypatch.setitem(VIEWS, view, dataclasses.replace(VIEWS[view], got=got))
    assert check_view(program, view) is not None
    monkeypatch.undo()
    monkeypatch.setattr(documented, "without", lambda program, _: program)
    assert check_view(program, view) is not None


@needs_plugin
def test_numbers_that_xla_takes_for_zero_are_no_failures() -> None:
    small = program(
        np.array([2, 8], np.uint32),
        ("lax.bitcast_convert_type({0}, np.float32)", "x"),
        ("lax.cummax({0}, 0)", "a"),
    )
    assert check_view(small, "jit on pjrt") is None


@needs_plugin
def test_integers_that_show_last_digits_are_not_compared() -> None:
    bits = "lax.bitcast_convert_type({0}, np.int64)"
    x = np.linspace(-3, 3, 1000)
    assert check_view(program(x, ("lax.exp({0})", "x"), (bits, "a")), "jit on pjrt") is None


def test_no_program_has_outer_products_of_large_arrays() -> None:
    row, column = (Value("x", np.zeros(shape, np.int8), True) for shape in ((70001,), (70001, 1)))
    assert _broadcast(row, row)
    assert not _broadcast(row, column)


def test_a_program_whose_test_raises_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs_out(*_: object) -> None:
        raise MemoryError("36 GB")

    for name in ("check", "generate"):
        with monkeypatch.context() as patch:
            patch.setattr(run, name, runs_out)
            (failure,) = failures_of(7)
        assert failure.program.seed == 7
        assert failure.what == "its test raised MemoryError: 36 GB"
        assert "# Seed 7, test: its test raised" in str(shrunk(failure))
