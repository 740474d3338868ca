"""Making a failing program small while it still fails in the same way."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import farcall as fc
import numpy as np

from random_programs.check import Failure, check_view
from random_programs.program import Body, Program, Step, all_steps, function, is_used
from random_programs.values import random_array

# Shape and dtype by name.
Samples = dict[str, tuple[tuple[int, ...], str]]
Check = Callable[[Program, str], Failure | None]


def shrink(failure: Failure, check: Check = check_view) -> Failure:
    """A failure of the same view, with as few and as small steps as could be found.

    ``check`` runs a program in the way that a name tells.
    """

    def still(program: Program) -> Failure | None:
        found = check(program, failure.view)
        same = found is not None and found.error == failure.error
        return found if same else None

    best = failure
    progress = True
    while progress:
        progress = False
        for candidate in _candidates(best.program):
            found = still(candidate)
            if found is not None:
                best, progress = found, True
                break
    return best


def size(program: Program) -> tuple[int, ...]:
    """What every candidate has less of."""
    steps = list(all_steps(program.body))
    outputs = len(program.body.outputs) + sum(len(b.outputs) for s in steps for b in s.bodies)
    numbers = [int(n) for s in steps for n in re.findall(r"\d+", s.text)]
    elements = sum(x.size + sum(x.shape) for x in program.inputs)
    return len(steps), outputs, len(program.inputs), elements, sum(numbers)


def _candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, those that leave out most first."""
    before = size(program)
    for candidate in _all_candidates(program):
        # Steps that nobody reads may be what fails.
        for smaller in (_live(candidate), _without_unused_inputs(candidate)):
            if size(smaller) < before:
                yield smaller


def _all_candidates(program: Program) -> Iterator[Program]:
    yield program
    yield from _fewer_outputs(program)
    samples = _samples(program)
    yield from _replaced(program, samples)
    yield from _inlined(program)
    yield from _taken_out(program, samples)
    yield from _smaller(program)


# ---- bodies --------------------------------------------------------------------------------------


def _changed_bodies(
    body: Body, is_closed: bool = False
) -> Iterator[tuple[Body, bool, Callable[[Body], Body]]]:
    """The function and those within, whether it is closed, and what puts a changed one there."""
    is_closed |= body.is_closed
    yield body, is_closed, lambda new: new
    for i, step in enumerate(body.steps):
        for k, inner in enumerate(step.bodies):
            for found, is_closed_inside, put in _changed_bodies(inner, is_closed):

                def place(new: Body, i: int = i, k: int = k, put: Any = put) -> Body:
                    bodies = list(body.steps[i].bodies)
                    bodies[k] = put(new)
                    changed = dataclasses.replace(body.steps[i], bodies=tuple(bodies))
                    steps = (*body.steps[:i], changed, *body.steps[i + 1 :])
                    return dataclasses.replace(body, steps=steps)

                yield found, is_closed_inside, place


def _renamed(body: Body, names: dict[str, str]) -> Body:
    def new(old: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in old)

    steps = []
    for step in body.steps:
        bodies = tuple(_renamed(inner, names) for inner in step.bodies)
        steps.append(dataclasses.replace(step, operands=new(step.operands), bodies=bodies))
    return dataclasses.replace(body, steps=tuple(steps), outputs=new(body.outputs))


def _live(program: Program) -> Program:
    """Without steps that nobody reads."""
    return _without_unused_inputs(dataclasses.replace(program, body=_live_body(program.body)))


def _without_unused_inputs(program: Program) -> Program:
    body = program.body
    kept = [i for i, name in enumerate(body.parameters) if is_used(name, body)]
    body = dataclasses.replace(
        body, parameters=tuple(body.parameters[i] for i in kept), takes=(None,) * len(kept)
    )
    return dataclasses.replace(program, body=body, inputs=tuple(program.inputs[i] for i in kept))


def _live_body(body: Body) -> Body:
    kept: list[Step] = []
    for step in reversed(body.steps):
        rest = dataclasses.replace(body, steps=tuple(kept))
        if any(is_used(name, rest) for name in step.results):
            bodies = tuple(_live_body(inner) for inner in step.bodies)
            kept.insert(0, dataclasses.replace(step, bodies=bodies))
    return dataclasses.replace(body, steps=tuple(kept))


# ---- candidates ----------------------------------------------------------------------------------


def _fewer_outputs(program: Program) -> Iterator[Program]:
    body = program.body
    if len(body.outputs) > 1 and body.gives is not None:
        for name in body.outputs:
            less = dataclasses.replace(body, outputs=(name,), gives=(None,))
            yield dataclasses.replace(program, body=less)


def _samples(program: Program) -> Samples:
    """Shape and dtype of every value that is computed, as far as the program runs."""
    found: Samples = {}

    def note(name: str, value: Any) -> Any:
        found[name] = (value.shape, value.dtype.name)
        return value

    try:
        fc.eval_shape(function(program, note), *program.inputs)
    except Exception:
        return found
    return found


def _replaced(program: Program, samples: Samples) -> Iterator[Program]:
    """A step left out; operands, or inputs, take the place of its results."""
    rng = np.random.default_rng(program.seed)
    types = dict(samples)
    for name, value in zip(program.body.parameters, program.inputs, strict=True):
        types[name] = (value.shape, value.dtype.name)
    for body, is_closed, put in _changed_bodies(program.body):
        for i, step in reversed(list(enumerate(body.steps))):
            steps = (*body.steps[:i], *body.steps[i + 1 :])
            names, parameters, inputs = {}, [], []
            rest = dataclasses.replace(body, steps=steps)
            for result in step.results:
                if not is_used(result, rest):
                    continue
                if result not in types:
                    break
                same = [name for name in step.operands if types.get(name) == types[result]]
                if same:
                    names[result] = same[0]
                elif is_closed:
                    break
                else:
                    parameters.append(result)
                    inputs.append(random_array(rng, *types[result]))
            else:
                outer = put(_renamed(rest, names))
                taken = (*outer.parameters, *parameters)
                outer = dataclasses.replace(outer, parameters=taken, takes=(None,) * len(taken))
                yield dataclasses.replace(program, body=outer, inputs=(*program.inputs, *inputs))


def _inlined(program: Program) -> Iterator[Program]:
    """The steps of a function that is only called, in place of the call."""
    for body, _, put in _changed_bodies(program.body):
        for i, step in enumerate(body.steps):
            if not step.is_call:
                continue
            for inner in step.bodies:
                arguments = step.operands[len(step.operands) - len(inner.parameters) :]
                names = dict(zip(inner.parameters, arguments, strict=True))
                inside = _renamed(inner, names)
                results = dict(zip(step.results, inside.outputs, strict=True))
                rest = dataclasses.replace(body, steps=body.steps[i + 1 :])
                rest = _renamed(rest, results)
                steps = (*body.steps[:i], *inside.steps, *rest.steps)
                yield dataclasses.replace(program, body=put(dataclasses.replace(rest, steps=steps)))


def _taken_out(program: Program, samples: Samples) -> Iterator[Program]:
    """The steps of a loop's function in place of the loop, with inputs for what it is given."""
    rng = np.random.default_rng(program.seed)
    body = program.body
    for i, step in enumerate(body.steps):
        for inner in step.bodies:
            names = [*inner.parameters, *step.results]
            if step.is_call or not all(name in samples for name in names):
                continue
            parameters = (*body.parameters, *names)
            outputs = (*inner.outputs, *body.outputs)
            outer = dataclasses.replace(
                body,
                parameters=parameters,
                takes=(None,) * len(parameters),
                steps=(*body.steps[:i], *inner.steps, *body.steps[i + 1 :]),
                outputs=outputs,
                gives=(None,) * len(outputs),
            )
            inputs = [random_array(rng, *samples[name]) for name in names]
            yield dataclasses.replace(program, body=outer, inputs=(*program.inputs, *inputs))


def _smaller(program: Program) -> Iterator[Program]:
    """A size replaced by a smaller one wherever it occurs, in shapes and in parameters."""
    sizes = sorted({n for x in program.inputs for n in x.shape if n > 1}, reverse=True)
    for old in sizes:
        for new in (1, 2):
            if new >= old:
                continue
            yield from (_resized(program, old, new, texts) for texts in (True, False))
    for i, x in enumerate(program.inputs):
        for axis, old in enumerate(x.shape):
            for new in (0, 1, 2):
                if new < old:
                    inputs = list(program.inputs)
                    inputs[i] = np.take(x, range(new), axis)
                    yield dataclasses.replace(program, inputs=tuple(inputs))


def _resized(program: Program, old: int, new: int, texts: bool) -> Program:
    inputs = []
    for x in program.inputs:
        for axis, n in enumerate(x.shape):
            if n == old:
                x = np.take(x, range(new), axis)
        inputs.append(x)

    def in_text(text: str) -> str:
        return re.sub(rf"(?<![\w.{{-]){old}(?![\w.}}])", str(new), text)

    def change(body: Body) -> Body:
        steps = [
            dataclasses.replace(
                step,
                text=in_text(step.text) if texts else step.text,
                bodies=tuple(change(inner) for inner in step.bodies),
            )
            for step in body.steps
        ]
        return dataclasses.replace(body, steps=tuple(steps))

    return dataclasses.replace(program, body=change(program.body), inputs=tuple(inputs))
