"""Making a failing program small while it still fails in the same way."""

from __future__ import annotations

import ast
import copy
import dataclasses
import re
from collections.abc import Iterator

from random_programs.meshes.check import check
from random_programs.meshes.program import Program


def shrink(program: Program, engine: str) -> Program:
    """A program that fails too, and of whose lines none can be left out."""
    wanted = _kind(program, engine)
    progress = wanted is not None
    while progress:
        progress = False
        for candidate in _candidates(program):
            if _kind(candidate, engine) == wanted:
                program, progress = candidate, True
                break
    return program


def _kind(program: Program, engine: str) -> str | None:
    """The class of the error, or what differs, without numbers."""
    what = check(program, (engine,)).failures.get(engine)
    return what and re.sub(r"result \d+", "result", what)[:14]


def _candidates(program: Program) -> Iterator[Program]:
    """Programs with one result or one statement less."""
    if len(program.out_specs) > 1:
        for number in range(len(program.out_specs)):
            yield _with_result(program, number)
    tree = ast.parse(program.source)
    for place, body in enumerate(_bodies(tree)):
        for number in reversed(range(len(body) - 1)):
            changed = copy.deepcopy(tree)
            del _bodies(changed)[place][number]
            yield dataclasses.replace(program, source=ast.unparse(changed) + "\n")
    for name in ("placed", "in_specs", "out_specs"):
        specs = getattr(program, name)
        for i, spec in enumerate(specs):
            if spec is not None:
                less = (*specs[:i], None, *specs[i + 1 :])
                yield dataclasses.replace(program, **{name: less})
    # A name instead of an expression of it.
    for place, body in enumerate(_bodies(tree)):
        for number, statement in enumerate(body[:-1]):
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                for name in _names(statement.value):
                    changed = copy.deepcopy(tree)
                    assignment = _bodies(changed)[place][number]
                    assert isinstance(assignment, ast.Assign)
                    if isinstance(statement.value, ast.Name):
                        continue
                    assignment.value = ast.Name(name, ast.Load())
                    yield dataclasses.replace(program, source=ast.unparse(changed) + "\n")


def _names(expression: ast.expr) -> list[str]:
    found = [node.id for node in ast.walk(expression) if isinstance(node, ast.Name)]
    return [name for name in found if re.fullmatch(r"v\d+", name)]


def _with_result(program: Program, number: int) -> Program:
    tree = ast.parse(program.source)
    returned = _bodies(tree)[0][-1]
    assert isinstance(returned, ast.Return)
    assert isinstance(returned.value, ast.Tuple)
    returned.value.elts = [returned.value.elts[number]]
    return dataclasses.replace(
        program, source=ast.unparse(tree) + "\n", out_specs=(program.out_specs[number],)
    )


def _bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    return [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
