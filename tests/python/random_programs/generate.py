"""The program of a seed."""

from __future__ import annotations

import numpy as np

from random_programs.operations import FAMILIES
from random_programs.program import Body, Program
from random_programs.writer import Writer


def _operation(w: Writer) -> None:
    """An operation of a family that is drawn first."""
    modules, weights = zip(*FAMILIES.values(), strict=True)
    family = modules[int(w.rng.choice(len(modules), p=np.array(weights) / sum(weights)))]
    w.choose(family.OPERATIONS)(w)


def generate(seed: int) -> Program:
    """Raises StepFailedError where an operation raises an error."""
    w = Writer(seed, [_operation])
    for name in w.dtypes[-1 - w.below(2) :]:
        w.fresh(w.shape(), name)
    w.write(1 + w.below(10))
    outputs = tuple(value.name for value in w.outputs(4))
    body = Body(
        "program",
        tuple(value.name for value in w.inputs),
        (None,) * len(w.inputs),
        tuple(w.scopes[0].steps),
        outputs,
        (None,) * len(outputs),
    )
    return Program(seed, body, tuple(np.asarray(value.array) for value in w.inputs))
