"""Random programs give the same in every way to run them.

``python -m random_programs`` looks further; a failure prints its seed and its source.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import farcall as fc
import numpy as np
import pytest
from farcall import _core
from random_programs import views
from random_programs.check import Failure, check_view, views_of
from random_programs.environments import differences
from random_programs.generate import generate, is_large
from random_programs.program import Body, Program, Step, all_steps, source
from random_programs.run import covered, failures_of, run, shrunk
from random_programs.shrink import shrink
from random_programs.values import KIND_OF, literal, random_array
from random_programs.views import VIEWS

pytestmark = pytest.mark.usefixtures("x64")

BLOCK = 45
BLOCKS = 8

# Primitives that no program has when it is recorded.
NEVER_RECORDED = {
    "cluster": "made by the native engine",
    "copy": "lax::copy is C++ only",
    "create_token": "numpy, in which inputs and results are kept here, has no tokens",
    "custom_lin": "stands for tangents until they are transposed",
    "psum_invariant": "marks values in bodies of shard_map; four_devices/test_inner_derivatives.py",
    "pvary": "marks values in bodies of shard_map; four_devices/test_inner_derivatives.py",
    "sharding_constraint": "names devices, which change no value; four_devices/test_devices.py",
    "platform_index": "lax.platform_dependent is C++ only",
    **dict.fromkeys(
        (
            *("random_bits", "random_split", "random_fold_in", "random_wrap", "random_unwrap"),
            *("threefry2x32", "random_gamma_grad"),
        ),
        "numpy has no keys; test_random_*.py",
    ),
}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_programs_agree_in_every_way_to_run_them(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        for failure in failures_of(seed):
            pytest.fail(str(shrunk(failure)))


def test_programs_have_the_same_bits_in_every_environment() -> None:
    assert list(differences(range(12))) == []


def test_the_programs_have_every_primitive_dtype_rank_and_view() -> None:
    missing = set(_core._primitive_names()) - set(NEVER_RECORDED)
    inputs, views = [], set()
    for seed in range(4 * BLOCK * BLOCKS):  # rare primitives may come late
        if seed >= BLOCK * BLOCKS and not missing:
            break
        program = generate(seed)
        inputs += program.inputs
        views |= set(views_of(program))
        if missing:
            missing -= covered(program)
    assert not missing
    assert views == {name for name, view in VIEWS.items() if view.engine is None}
    assert {x.dtype.name for x in inputs} == set(KIND_OF)
    assert {x.ndim for x in inputs} == set(range(6))
    assert {0, 1, 2, 3, 4, 5} <= {n for x in inputs for n in x.shape}


def test_a_seed_gives_one_program() -> None:
    for seed in range(20):
        first, again = generate(seed), generate(seed)
        assert source(first) == source(again)


@pytest.mark.parametrize("name", KIND_OF)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 0, 2)])
def test_literals_are_the_arrays(name: str, shape: tuple[int, ...]) -> None:
    value = random_array(np.random.default_rng(0), shape, name, special=0.3)
    again = eval(literal(value), {"np": np, "fc": fc})
    assert (again.shape, again.dtype) == (value.shape, value.dtype)
    assert again.tobytes() == value.tobytes()


# ---- wrong fusion ----

Replacement = str | Callable[[re.Match[str]], str]


def in_clusters(text: str, pattern: str, replacement: Replacement) -> str:
    """The text with every match in the body of a cluster replaced."""
    first, *parts = re.split(r"(?<=cluster\[)(\s*jaxpr=\{)", text)
    for i in range(1, len(parts), 2):
        depth, end = 1, 0
        while depth > 0:
            depth += {"{": 1, "}": -1}.get(parts[i][end], 0)
            end += 1
        parts[i] = re.sub(pattern, replacement, parts[i][:end]) + parts[i][end:]
    return "".join([first, *parts])


def plant(monkeypatch: pytest.MonkeyPatch, pattern: str, replacement: Replacement) -> list[bool]:
    """Makes every cluster wrong from now on; the list tells for each program whether one was."""
    right, planted = views.optimized_text, []

    def wrong(program: views.Function, inputs: Any) -> str:
        text = right(program, inputs)
        changed = in_clusters(text, pattern, replacement)
        planted.append(changed != text)
        return changed

    monkeypatch.setattr(views, "optimized_text", wrong)
    return planted


def chain(shape: tuple[int, ...], *texts: str) -> Program:
    """Steps that each take the first value, v0, and the one before."""
    steps = [Step(text, ("v0", f"v{i}"), (f"v{i + 1}",)) for i, text in enumerate(texts)]
    body = Body("program", ("v0",), (None,), tuple(steps), (steps[-1].results[0],), (None,))
    return Program(0, body, (random_array(np.random.default_rng(0), shape, "float32"),))


def another_operation(name: re.Match[str]) -> str:
    return f"= {OTHERS[name[1]]} "


# Operations that take and give the same types.
OTHERS = {"add": "sub", "sub": "add", "mul": "add", "max": "min", "min": "max", "lt": "gt"}
OTHERS |= {"gt": "lt", "le": "ge", "ge": "le", "and": "or", "or": "and", "sin": "cos", "cos": "sin"}
OTHERS |= {"abs": "neg", "floor": "ceil", "ceil": "floor", "tanh": "sin", "eq": "ne", "ne": "eq"}
PLANTS = {
    "operands": (
        chain((2049,), "lax.tanh({0})", "{1} - {0}", "{1} * {0}"),
        r"= sub (\w+) (\w+)",
        r"= sub \2 \1",
    ),
    "axis": (
        chain((80, 80), "lax.tanh({0})", "{1} * {0}", "lax.reduce_sum({1}, (0,))"),
        r"reduce_sum\[axes=\(0,\)\]",
        "reduce_sum[axes=(1,)]",
    ),
    "reversal": (
        chain((2049,), "lax.rev({0}, (0,))", "{1} * {0}", "lax.tanh({1})"),
        r"rev\[dimensions=\(0,\)\]",
        "rev[dimensions=()]",
    ),
    "extents": (
        chain((8193,), "lax.slice({0}, (1,), (8193,))", "lax.tanh({1})", "{1} * {1}"),
        r"start_indices=\(1,\) limit_indices=\(8193,\)",
        "start_indices=(0,) limit_indices=(8192,)",
    ),
    "comparison": (
        chain((4097,), "{1} < 0.25", "fnp.where({1}, {0} * {0}, {0})"),
        r"= lt ",
        "= gt ",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_wrong_fusion_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, pattern, replacement = PLANTS[name]
    assert check_view(program, "optimized text") is None
    planted = plant(monkeypatch, pattern, replacement)
    failure = check_view(program, "optimized text")
    assert planted == [True]
    assert failure is not None
    assert failure.error is None
    assert " instead of " in failure.what


def test_a_planted_wrong_fusion_of_random_programs_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted = plant(monkeypatch, rf"= ({'|'.join(OTHERS)}) ", another_operation)
    noticed: list[bool] = []
    for seed in filter(is_large, range(BLOCK * BLOCKS)):
        if len(noticed) == 6:
            break
        failure = check_view(generate(seed), "optimized text")
        if planted and planted.pop():
            noticed.append(failure is not None)
    # Of values that nothing depends on, or that are equal, none shows.
    assert sum(noticed) >= 4


# ---- failures ----


def program_with(operation: str) -> Program:
    """A program of several steps, some in inner functions, that uses the operation."""
    for seed in range(1000):
        program = generate(seed)
        if check_view(program, "program") is not None:
            continue
        steps = list(all_steps(program.body))
        if len(steps) > 6 and any(f"lax.{operation}(" in step.text for step in steps):
            return program
    raise AssertionError(f"no program has {operation}")


@pytest.mark.parametrize("operation", ["cumsum", "sort", "dot_general", "sin", "scan"])
def test_a_failure_shrinks_to_the_step_that_fails(operation: str) -> None:
    def check(program: Program, view: str) -> Failure | None:
        """As if the operation were broken; other programs must still run."""
        failure = check_view(program, "program")
        if failure is not None:
            return failure
        steps = all_steps(program.body)
        is_planted = any(f"lax.{operation}(" in step.text for step in steps)
        return Failure(program, view, "planted") if is_planted else None

    program = program_with(operation)
    small = shrink(Failure(program, "jit", "planted"), check).program
    (step,) = (step for step in small.body.steps if "fnp.asarray(" not in step.text)
    assert f"lax.{operation}(" in step.text
    assert sum(len(body.steps) for body in step.bodies) == 0
    assert sum(x.size for x in small.inputs) <= sum(x.size for x in program.inputs)


def test_a_failure_prints_as_python_that_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    program = generate(3)
    text = str(Failure(program, "vmap", "planted\non two lines"))
    assert text.startswith("# Seed 3, vmap: planted\n# on two lines\n")
    exec(text, {})
    assert capsys.readouterr().out.startswith("got ")


def test_values_that_differ_and_errors_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    program = generate(6)
    off = dataclasses.replace(VIEWS["jit"], got="[x + 1 for x in program(*inputs)]")
    monkeypatch.setitem(VIEWS, "jit", off)
    failure = check_view(program, "jit")
    assert failure is not None
    assert " instead of " in failure.what
    monkeypatch.setitem(VIEWS, "jit", dataclasses.replace(off, got="1 / 0"))
    failure = check_view(program, "jit")
    assert failure is not None
    assert (failure.error, failure.what) == (
        "ZeroDivisionError",
        "ZeroDivisionError: division by zero",
    )


@pytest.mark.parametrize(
    ("values", "got", "fails"),
    [
        ([1e8, 0.25, -1e8, 0.75], "program(inputs[0][::-1])", False),
        ([1e8, 0.25, -1e8, 0.75], "program(inputs[0] + 1e4)", True),
        ([1.0, 0.25, -1.0, 0.75], "program(inputs[0] + 1e-4)", True),
        ([1.0, np.inf, 1.0, 1.0], "program(inputs[0] + 1)", False),
        ([1.0, 0.25, -1.0, 0.75], "program(inputs[0] * np.nan)", True),
    ],
)
def test_rounding_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, values: list[float], got: str, fails: bool
) -> None:
    total = Step("lax.reduce_sum({0}, (0,))", ("x",), ("y",))
    body = Body("program", ("x",), (None,), (total,), ("y",), (None,))
    program = Program(0, body, (np.array(values, np.float32),))
    view = dataclasses.replace(VIEWS["vmap"], got=got, wanted="program(*inputs)")
    monkeypatch.setitem(VIEWS, "vmap", view)
    assert (check_view(program, "vmap") is not None) == fails


def test_the_command_line_counts_failures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(range(5), jobs=1, show=1) == 0
    assert capsys.readouterr().out.endswith("0 of 5 programs failed\n")
    monkeypatch.setitem(VIEWS, "jit", dataclasses.replace(VIEWS["jit"], got="1 / 0"))
    assert run(range(5), jobs=1, show=1) == 5
    out = capsys.readouterr().out
    assert out.count("# Seed ") == 1
    assert out.endswith("jit: 5\n5 of 5 programs failed\n")
