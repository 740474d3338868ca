"""Programs as data: a list of steps, each a line of Python over earlier values.

What is printed is what runs: a program becomes the source of a function, and that is executed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
from farcall import lax
from farcall.scipy import special

from random_programs import rules
from random_programs.values import LARGE, epsilon, is_inexact, literal, wide

# How values are nested: a number for each tuple of so many, None for a value by itself. None in
# place of all: it is one value.
Groups = tuple[int | None, ...] | None


@dataclasses.dataclass(frozen=True)
class Step:
    """``results = text``, with {0}, {1}, … for operands and {f0}, {f1}, … for bodies."""

    text: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    groups: Groups = None
    bodies: tuple[Body, ...] = ()
    # What cannot be done with it: "no jvp", "no vjp", "no text"; "no differences" where its
    # derivative is not that of its values, "no numbers" where it is too coarse for derivatives to
    # say much.
    traits: frozenset[str] = frozenset()
    # Whether it does nothing but call the last of its bodies with its last operands.
    is_call: bool = False


@dataclasses.dataclass(frozen=True)
class Body:
    """A function that a step is given."""

    name: str
    parameters: tuple[str, ...]
    takes: tuple[int | None, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    gives: Groups
    # Whether it may use its parameters only.
    is_closed: bool = False


@dataclasses.dataclass(frozen=True)
class Program:
    """A function of arrays with values for its parameters, made from ``seed``."""

    seed: int
    body: Body
    inputs: tuple[np.ndarray, ...]


def all_steps(body: Body) -> Iterator[Step]:
    """The steps, those of inner functions too."""
    for step in body.steps:
        yield step
        for inner in step.bodies:
            yield from all_steps(inner)


def traits(program: Program) -> frozenset[str]:
    return body_traits(program.body).union(*map(precision_traits, program.inputs))


def body_traits(body: Body) -> frozenset[str]:
    return frozenset().union(*(step.traits for step in all_steps(body)))


def precision_traits(value: Any) -> frozenset[str]:
    """What cannot be done with numbers that are as short as those of this array."""
    found = frozenset()
    if is_inexact(value):
        is_far = not np.all(np.abs(wide(value)) < LARGE)
        found |= {"no differences"} if is_far else set()
        found |= {"no differences"} if epsilon(value.dtype.name) > 1e-12 else set()
        found |= {"no numbers"} if epsilon(value.dtype.name) > 1e-6 else set()
    return found


def is_used(name: str, body: Body) -> bool:
    return name in body.outputs or any(
        name in step.operands or any(is_used(name, inner) for inner in step.bodies)
        for step in body.steps
    )


# ---- source --------------------------------------------------------------------------------------


def nested(names: tuple[str, ...], groups: Groups) -> str:
    if groups is None:
        (name,) = names
        return name
    parts, left = [], list(names)
    for size in groups:
        taken = [left.pop(0) for _ in range(1 if size is None else size)]
        parts.append(taken[0] if size is None else _tuple(taken))
    return _tuple(parts)


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def _function(body: Body, noted: bool) -> list[str]:
    arguments, unpacked, left = [], [], list(body.parameters)
    for number, size in enumerate(body.takes):
        if size is None:
            arguments.append(left.pop(0))
            continue
        arguments.append(f"{body.name}_{number}")
        unpacked.append(f"{_tuple([left.pop(0) for _ in range(size)])} = {arguments[-1]}")
    lines = unpacked
    if noted and body.name != "program":
        lines += [_noted(name) for name in body.parameters]
    for step in body.steps:
        lines += statements(step, noted)
    lines.append(f"return {nested(body.outputs, body.gives)}")
    return [f"def {body.name}({', '.join(arguments)}):", *(f"    {line}" for line in lines)]


def statements(step: Step, noted: bool = False) -> list[str]:
    lines = [line for body in step.bodies for line in _function(body, noted)]
    names = {f"f{i}": body.name for i, body in enumerate(step.bodies)}
    call = step.text.format(*step.operands, **names)
    lines.append(f"{nested(step.results, step.groups)} = {call}")
    if noted:
        lines += [_noted(name) for name in step.results]
    return lines


def _noted(name: str) -> str:
    return f"{name} = note({name!r}, {name})"


def source(program: Program, noted: bool = False) -> str:
    """``program`` and ``inputs`` as Python."""
    values = [f"    {literal(value)}," for value in program.inputs]
    lines = _function(dataclasses.replace(program.body, name="program"), noted)
    return "\n".join([*lines, "", "inputs = [", *values, "]", ""])


# ---- running -------------------------------------------------------------------------------------

NAMES: dict[str, Any] = {
    "fc": fc,
    "fnp": fnp,
    "np": np,
    "lax": lax,
    "nn": fc.nn,
    "special": special,
    "rules": rules,
}


def function(
    program: Program,
    note: Callable[[str, fc.Array], fc.Array] | None = None,
    names: Mapping[str, Any] = NAMES,
) -> Callable[..., Any]:
    """The program as a function over the modules ``names``.

    ``note`` is called with each value that is computed.
    """
    lines = _function(dataclasses.replace(program.body, name="program"), note is not None)
    namespace = {**names, "note": note}
    exec(compile("\n".join(lines), f"<program {program.seed}>", "exec"), namespace)
    return namespace["program"]
