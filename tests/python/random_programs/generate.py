"""The program of a seed."""

from __future__ import annotations

import numpy as np

from random_programs.operations import FAMILIES, elementwise, shapes
from random_programs.program import Body, Program
from random_programs.writer import Writer


def _operation(w: Writer) -> None:
    """An operation of a family that is drawn first."""
    modules, weights = zip(*FAMILIES.values(), strict=True)
    family = modules[int(w.rng.choice(len(modules), p=np.array(weights) / sum(weights)))]
    w.choose(family.OPERATIONS)(w)


def is_large(seed: int) -> bool:
    """Whether the program has arrays of several tiles: it is made of what clusters are made of."""
    return seed % 6 == 5


def _cluster_operation(w: Writer) -> None:
    w.choose(LARGE_OPERATIONS)(w)


# Not the functions that take microseconds for an element.
_SLOW = (elementwise.special, shapes.sort, shapes.argsort, shapes.top_k, shapes.reduce_window)
LARGE_OPERATIONS = [
    operation
    for operation in [*elementwise.OPERATIONS, *shapes.OPERATIONS]
    if operation not in _SLOW
]


def generate(seed: int) -> Program:
    """Raises StepFailedError where an operation raises an error."""
    w = Writer(seed, [_cluster_operation if is_large(seed) else _operation], is_large(seed))
    for name in w.dtypes[-1 - w.below(2) :]:
        w.fresh(w.shape(), name)
    w.write(1 + w.below(10) if not is_large(seed) else 4 + w.below(12))
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
