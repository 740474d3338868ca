"""The ways to run a program, as pairs of expressions that are to give the same.

The expressions are evaluated over the attributes of a Setting, so that a failure can be printed as
it was run.
"""

from __future__ import annotations

import dataclasses
import functools
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np

from random_programs.program import NAMES, Program
from random_programs.values import KIND_OF, is_inexact, random_array, wide

Function = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class View:
    """``got`` and ``wanted``; with ``is_exact`` they agree to the last bit.

    ``without``: traits of programs that cannot be run so. ``recorded``: what is recorded on the
    way, to see which primitives occur.
    """

    got: str
    wanted: str
    is_exact: bool = False
    without: frozenset[str] = frozenset()
    is_derivative: bool = False
    recorded: str | None = None
    # What results may be off by, besides rounding, next to the largest of them or to ``scale``.
    tolerance: float = 0.0
    scale: str | None = None
    # Runs on this engine; what is wanted runs on the native one.
    engine: str | None = None


def _derivative(got: str, wanted: str, without: str = "", **options: Any) -> View:
    traits = frozenset(f"no {name}" for name in without.split())
    return View(got, wanted, without=traits, is_derivative=True, **options)


VIEWS = {
    "jit": View("fc.jit(program)(*inputs)", "program(*inputs)", is_exact=True),
    "text": View(
        "read_back(program, *inputs)",
        "program(*inputs)",
        is_exact=True,
        without=frozenset({"no text"}),
        recorded="fc.make_jaxpr(program)(*inputs)",
    ),
    "optimized text": View(
        "read_optimized(program, inputs)",
        "program(*inputs)",
        is_exact=True,
        without=frozenset({"no text"}),
    ),
    "jit again": View("run_again(program, inputs)", "program(*inputs)", is_exact=True),
    "donation": View("donated(program, inputs)", "program(*inputs)", is_exact=True),
    "vmap": View(
        "fc.vmap(program, axes)(*batch)",
        "lanes(program, axes, batch)",
        recorded="fc.make_jaxpr(fc.vmap(program, axes))(*batch)",
    ),
    "jit of vmap": View("fc.jit(fc.vmap(program, axes))(*batch)", "fc.vmap(program, axes)(*batch)"),
    "text of vmap": View(
        "read_back(fc.vmap(program, axes), *batch)",
        "fc.vmap(program, axes)(*batch)",
        without=frozenset({"no text"}),
    ),
    "vmap of vmap": View(
        "fc.vmap(fc.vmap(program, axes), outer_axes)(*batches)",
        "lanes(lambda *x: lanes(program, axes, x), outer_axes, batches)",
    ),
    "vmap of jit": View("fc.vmap(fc.jit(program), axes)(*batch)", "fc.vmap(program, axes)(*batch)"),
    "jit of jvp": _derivative(
        "fc.jit(along)(*chosen, *tangents)", "along(*chosen, *tangents)", "jvp"
    ),
    "text of jvp": _derivative(
        "read_back(along, *chosen, *tangents)",
        "along(*chosen, *tangents)",
        "jvp text",
        recorded="fc.make_jaxpr(along)(*chosen, *tangents)",
    ),
    "linearize": _derivative(
        "rules.linearized(part, chosen, tangents)", "fc.jvp(part, chosen, tangents)", "jvp vjp"
    ),
    "jvp of jit": _derivative(
        "fc.jvp(fc.jit(part), chosen, tangents)", "fc.jvp(part, chosen, tangents)", "jvp"
    ),
    "vmap of jvp": _derivative(
        "fc.vmap(along)(*stack(chosen), *stack(tangents))",
        "lanes(along, 0, [*stack(chosen), *stack(tangents)])",
        "jvp",
    ),
    "jvp of vmap": _derivative(
        "fc.jvp(fc.vmap(part), stack(chosen), stack(tangents))",
        "fc.vmap(lambda x, t: fc.jvp(part, x, t))(stack(chosen), stack(tangents))",
        "jvp",
    ),
    "jvp against differences": _derivative(
        "differences()", "along(*chosen, *tangents)[1]", "jvp numbers differences", tolerance=1e-4
    ),
    "vjp against jvp": _derivative(
        "product(back(*chosen, *cotangents), tangents)",
        "product(cotangents, along(*chosen, *tangents)[1])",
        "jvp vjp numbers",
        scale="magnitude(cotangents, along(*chosen, *tangents)[1])",
        tolerance=1e-5,
    ),
    "jit of vjp": _derivative(
        "fc.jit(back)(*chosen, *cotangents)", "back(*chosen, *cotangents)", "vjp"
    ),
    "text of vjp": _derivative(
        "read_back(back, *chosen, *cotangents)",
        "back(*chosen, *cotangents)",
        "vjp text",
        recorded="fc.make_jaxpr(back)(*chosen, *cotangents)",
    ),
    "vjp of jit": _derivative(
        "fc.vjp(fc.jit(part), *chosen)[1](tuple(cotangents))", "back(*chosen, *cotangents)", "vjp"
    ),
    "vmap of vjp": _derivative(
        "fc.vmap(back)(*stack(chosen), *stack(cotangents))",
        "lanes(back, 0, [*stack(chosen), *stack(cotangents)])",
        "vjp",
    ),
    "vjp of vmap": _derivative(
        "fc.vjp(fc.vmap(part), *stack(chosen))[1](tuple(stack(cotangents)))",
        "lanes(back, 0, [*stack(chosen), *stack(cotangents)])",
        "vjp",
    ),
    "vjp of checkpoint": _derivative(
        "fc.vjp(fc.checkpoint(part), *chosen)[1](tuple(cotangents))",
        "back(*chosen, *cotangents)",
        "vjp",
    ),
    "jvp of vjp": _derivative(
        "product(fc.jvp(lambda *x: back(*x, *cotangents), chosen, tangents)[1], tangents_2)",
        "product("
        "fc.vjp(lambda *x: back(*x, *cotangents), *chosen)[1](tuple(tangents_2)), tangents)",
        "jvp vjp numbers",
        scale="magnitude("
        "fc.jvp(lambda *x: back(*x, *cotangents), chosen, tangents)[1], tangents_2)",
        tolerance=1e-5,
    ),
    "jvp of jvp": _derivative(
        "fc.jit(lambda *x: fc.jvp(lambda *y: along(*y, *tangents_2), list(x), tangents))(*chosen)",
        "fc.jvp(lambda *x: along(*x, *tangents_2), chosen, tangents)",
        "jvp",
    ),
}
_PJRT = 'fc.devices("pjrt")[0]'
VIEWS |= {
    "jit on pjrt": View(
        f"fc.jit(program, device={_PJRT})(*inputs)", "program(*inputs)", engine="pjrt"
    ),
    "vmap on pjrt": View(
        f"fc.jit(fc.vmap(program, axes), device={_PJRT})(*batch)",
        "fc.vmap(program, axes)(*batch)",
        engine="pjrt",
    ),
    "jvp on pjrt": _derivative(
        f"fc.jit(along, device={_PJRT})(*chosen, *tangents)",
        "along(*chosen, *tangents)",
        "jvp",
        engine="pjrt",
    ),
    "vjp on pjrt": _derivative(
        f"fc.jit(back, device={_PJRT})(*chosen, *cotangents)",
        "back(*chosen, *cotangents)",
        "vjp",
        engine="pjrt",
    ),
}
# The programs whose arrays are large are run as they are, and to the last bit.
OF_LARGE = ("jit", "text", "optimized text", "donation", "jit on pjrt")
ALWAYS = ("jit", "text", "vmap", "jit of vmap", "jit on pjrt")
WITHOUT_INPUTS = ("jit", "text", "optimized text", "jit on pjrt")
# Those that can say something only of numbers that are wide and finite.
NUMERIC = ("vjp against jvp", "jvp of vjp")


def can_run(name: str, program: Program, missing: frozenset[str]) -> bool:
    """Whether a program with these traits can be run in this way."""
    view = VIEWS[name]
    if view.without & missing or (not program.inputs and name not in WITHOUT_INPUTS):
        return False
    return not view.is_derivative or any(is_inexact(x) for x in program.inputs)


class Setting:
    """What the expressions of views are evaluated over: a program with the data to run it."""

    def __init__(self, program: Function, inputs: Sequence[np.ndarray], seed: int) -> None:
        rng = np.random.default_rng([seed, 1])
        self.program = program
        self._num_lanes = int(rng.choice([1, 2, 3, 3]))
        self.inputs = [fnp.asarray(x) for x in inputs]
        axes = [
            None if rng.random() < 0.25 else int(rng.integers(-x.ndim - 1, x.ndim + 1))
            for x in inputs
        ]
        if axes and all(axis is None for axis in axes):
            axes[0] = 0
        self.axes = tuple(axes)
        self.batch = self._batch(inputs, self.axes)
        self.outer_axes = tuple(
            0 if i == 0 or rng.random() < 0.6 else None for i in range(len(axes))
        )
        self.batches = self._batch(self.batch, self.outer_axes)
        self._places = [i for i, x in enumerate(inputs) if is_inexact(x)]
        self.chosen = [self.inputs[i] for i in self._places]
        self.tangents = _random(rng, self.chosen)
        self.tangents_2 = _random(rng, self.chosen)
        self._rng = rng

    def stack(self, args: Sequence[Any]) -> list[fc.Array]:
        """A batch of each argument, the lanes being something like it."""
        lanes = range(self._num_lanes)
        return [fnp.asarray(np.stack([_lane(x, lane) for lane in lanes])) for x in args]

    def _batch(self, args: Sequence[Any], axes: Sequence[int | None]) -> list[fc.Array]:
        return [
            fnp.asarray(x) if axis is None else fnp.moveaxis(self.stack([x])[0], 0, axis)
            for x, axis in zip(args, axes, strict=True)
        ]

    @functools.cached_property
    def cotangents(self) -> list[fc.Array]:
        results = fc.eval_shape(self.part, *self.chosen)
        return _random(self._rng, results)

    @property
    def part(self) -> Function:
        """The program as a function of its inexact inputs, with its inexact results."""

        def part(*chosen: Any) -> Any:
            inputs = list(self.inputs)
            for place, value in zip(self._places, chosen, strict=True):
                inputs[place] = value
            results = self.program(*inputs)
            return tuple(x for x in results if is_inexact(x))

        return part

    def along(self, *args: Any) -> Any:
        """jvp of the part: primals, tangents."""
        count = len(self.chosen)
        return fc.jvp(self.part, list(args[:count]), list(args[count:]))

    def back(self, *args: Any) -> Any:
        """vjp of the part: primals, cotangents."""
        count = len(self.chosen)
        return fc.vjp(self.part, *args[:count])[1](tuple(args[count:]))

    def differences(self, step: float = 1e-6) -> list[np.ndarray]:
        """Along the tangents; where these depend on the step, the derivative itself."""

        def slopes(step: float) -> list[np.ndarray]:
            ends = []
            for distance in (step, -step):
                moved = [
                    wide(x) + distance * wide(t)
                    for x, t in zip(self.chosen, self.tangents, strict=True)
                ]
                values = [y.astype(x.dtype) for x, y in zip(self.chosen, moved, strict=True)]
                ends.append([wide(x) for x in self.part(*map(fnp.asarray, values))])
            return [(a - b) / (2 * step) for a, b in zip(*ends, strict=True)]

        results, own_slopes = [], self.along(*self.chosen, *self.tangents)[1]
        for near, far, own in zip(slopes(step), slopes(2 * step), own_slopes, strict=True):
            is_smooth = np.abs(near - far) <= 1e-3 * np.abs(near) + 1e-4
            results.append(np.where(is_smooth, near, wide(own)).astype(own.dtype))
        return results

    def evaluate(self, expression: str) -> Any:
        names = {**NAMES, "read_back": read_back, "lanes": lanes}
        names |= {"product": product, "magnitude": magnitude}
        names |= {"run_again": run_again, "donated": donated, "read_optimized": read_optimized}
        for name in dir(self):
            if not name.startswith("_") and f"{name}" in expression:
                names[name] = getattr(self, name)
        return eval(expression, names)


def _random(rng: np.random.Generator, likes: Sequence[Any]) -> list[fc.Array]:
    return [fnp.asarray(random_array(rng, x.shape, x.dtype.name)) for x in likes]


# ---- what the expressions call -------------------------------------------------------------------


def read_back(function: Function, *args: Any) -> Any:
    """The results by way of the recorded program's text."""
    program = fc.make_jaxpr(function)(*args)
    program.verify()
    text = program.to_text()
    read = fc.parse_program(text)
    assert read.to_text() == text, "the text of the program that was read back differs"
    # The functions that make custom rules do not come back.
    if not any(name.startswith("custom_") for name in primitives(program)):
        assert read == program, "the program that was read back differs"
        assert pickle.loads(pickle.dumps(program)) == program, "the program that was saved differs"
    results = fc.tree.leaves(fc.eval_shape(function, *args))
    outputs = read(*args)
    for output, result in zip(outputs, results, strict=True):
        assert output.aval == result, f"{output.aval} was said to be {result}"
    return outputs


def optimized_text(program: Function, inputs: Sequence[Any]) -> str:
    """What the engine runs, with its clusters."""
    return fc.jit(program).lower(*inputs).compile().optimized_program.to_text()


def read_optimized(program: Function, inputs: Sequence[Any]) -> Any:
    """The results of the program that the engine runs, by way of its text."""
    text = optimized_text(program, inputs)
    read = fc.parse_program(text)
    read.verify()
    assert read.to_text() == text, "the text of the optimized program differs"
    return fc.jit(read)(*inputs)


def run_again(program: Function, inputs: Sequence[Any]) -> Any:
    """The results of a second run, after those of the first one have been kept and other ones made.

    What an executable keeps between runs, and results that share memory with it, would show.
    """
    compiled = fc.jit(program)
    before = [np.asarray(x).tobytes() for x in inputs]
    first = compiled(*inputs)
    kept = [np.asarray(x).tobytes() for x in fc.tree.leaves(first)]
    compiled(*(fnp.asarray(_lane(x, 1)) for x in inputs))
    results = compiled(*inputs)
    assert [np.asarray(x).tobytes() for x in inputs] == before, "inputs have changed"
    assert [np.asarray(x).tobytes() for x in fc.tree.leaves(first)] == kept, "results have changed"
    return results


def donated(program: Function, inputs: Sequence[Any]) -> Any:
    """With memory of the arguments that results may take over."""
    copies = [fnp.array(np.array(x)) for x in inputs]
    return fc.jit(program, donate_argnums=tuple(range(len(copies))))(*copies)


def primitives(program: fc.Program) -> set[str]:
    return {equation.primitive.name for equation, _ in program.walk()}


def lanes(function: Function, axes: Any, args: Sequence[Any]) -> Any:
    """What vmap is to give, by a loop."""
    if not isinstance(axes, tuple):
        axes = (axes,) * len(args)
    results = []
    count = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
    for lane in range(count):
        own = [
            fnp.asarray(x if axis is None else np.take(np.asarray(x), lane, axis))
            for x, axis in zip(args, axes, strict=True)
        ]
        results.append(fc.tree.map(np.asarray, function(*own)))
    return fc.tree.map(lambda *leaves: np.stack(leaves), *results)


def _lane(x: np.ndarray, lane: int) -> np.ndarray:
    """``x`` for lane 0; for others something like it."""
    x = np.asarray(x)
    if x.size > 1:
        return np.roll(x.ravel(), lane).reshape(x.shape)
    if lane == 0 or x.size == 0:
        return x
    kind = KIND_OF[x.dtype.name]
    if kind == "B":
        return ~x if lane % 2 else x
    with np.errstate(all="ignore"):
        changed = wide(x) * (1 - lane / 8) if kind in "FC" else wide(x) + x.dtype.type(lane)
        return np.asarray(changed).astype(x.dtype)


def product(xs: Sequence[Any], ys: Sequence[Any]) -> np.ndarray:
    """The real part of the product of two lists of arrays, not conjugated."""
    total = sum(np.sum(wide(x) * wide(y)) for x, y in zip(xs, ys, strict=True))
    return np.asarray(np.real(total), np.float64)


def magnitude(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """The sum of the absolute values of which ``product`` is the sum."""
    return sum(float(np.sum(np.abs(wide(x) * wide(y)))) for x, y in zip(xs, ys, strict=True))
