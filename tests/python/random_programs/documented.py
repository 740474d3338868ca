"""Differences between the engines that docs/engines.md describes.

A program that differs is run again with operands on which they have no effect. If it agrees then,
nothing else is wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from random_programs.program import Body, Program, Step
from random_programs.values import is_inexact, narrow, wide

CHANGES = {
    # The bits of NaN.
    "lax.bitcast_convert_type({0}": "lax.bitcast_convert_type(rules.without_nan({0})",
    # NaN in large reductions.
    "lax.reduce_max({0}": "lax.reduce_max(rules.without_nan({0}, 4096)",
    "lax.reduce_min({0}": "lax.reduce_min(rules.without_nan({0}, 4096)",
    # Complex powers of infinities, and huge angles.
    "lax.exp2({0}": "lax.exp2(rules.small_complex({0})",
    # Logarithms of powers of negative numbers.
    "lax.pow({0}": "lax.pow(rules.positive({0})",
    # The sides of branch cuts.
    **{
        f"lax.{name}({{0}}": f"lax.{name}(rules.without_negative_zeros({{0}})"
        for name in ("sqrt", "acos", "asin", "acosh", "asinh")
    },
    # Infinities and NaN in Fourier transforms.
    "lax.fft({0}": "lax.fft(rules.finite({0})",
}
# NaN times a converted bool.
IN_DERIVATIVES = {
    f"lax.scatter_{name}({{0}}, {{1}}, {{2}}": f"lax.scatter_{name}("
    "rules.without_nan({0}), {1}, rules.without_nan({2})"
    for name in ("min", "max")
} | {
    f"lax.reduce_{name}({{0}}": f"lax.reduce_{name}(rules.without_nan({{0}})"
    for name in ("min", "max")
}


def without(program: Program, is_derivative: bool) -> Program:
    """The program without what is known to differ.

    XLA computes quotients of quotients as quotients of products. In derivatives these overflow for
    numbers whose squares do, which are replaced in the inputs of ``is_derivative``.
    """
    if not is_derivative:
        return dataclasses.replace(program, body=_changed(program.body, CHANGES))
    inputs = tuple(_moderate(x) if is_inexact(x) else x for x in program.inputs)
    body = _changed(program.body, CHANGES | IN_DERIVATIVES)
    return dataclasses.replace(program, body=body, inputs=inputs)


def is_same(a: Program, b: Program) -> bool:
    pairs = zip(a.inputs, b.inputs, strict=True)
    return a.body == b.body and all(x is y for x, y in pairs)


def _changed(body: Body, changes: Mapping[str, str]) -> Body:
    def step(old: Step) -> Step:
        text = old.text
        for before, after in changes.items():
            text = text.replace(before, after)
        bodies = tuple(_changed(inner, changes) for inner in old.bodies)
        return dataclasses.replace(old, text=text, bodies=bodies)

    return dataclasses.replace(body, steps=tuple(map(step, body.steps)))


def _moderate(x: np.ndarray) -> np.ndarray:
    """With other numbers for those that random_array makes huge or tiny."""
    parts = wide(x).view(np.float64) if x.ndim else wide(x)[None].view(np.float64)
    size = np.abs(parts)
    is_extreme = (size > 1e100) & np.isfinite(parts) | (size < 1e-100) & (parts != 0)
    if not is_extreme.any():
        return x
    changed = np.where(is_extreme, np.where(size > 1, 8.0, 0.125), parts)
    return narrow(changed.view(wide(x).dtype).reshape(x.shape), x.dtype.name)
