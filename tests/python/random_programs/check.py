"""Checking one program."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import farcall.numpy as fnp
import numpy as np

from random_programs import documented
from random_programs.compare import ULPS, difference, leaves, scale
from random_programs.generate import is_large
from random_programs.program import Program, all_steps, function, source, traits
from random_programs.values import epsilon, is_inexact, smallest_normal, wide
from random_programs.views import ALWAYS, NUMERIC, OF_LARGE, VIEWS, Setting, View, can_run

JIGGLES = 4
# What is off by more than so many times what an unlucky rounding of every step makes is wrong.
MARGIN = 100


@dataclasses.dataclass(frozen=True)
class Failure:
    """``error`` is the class of an exception, or None where values differ."""

    program: Program
    view: str
    what: str
    error: str | None = None

    def __str__(self) -> str:
        """Python that runs the program, to be executed in tests/python."""
        lines = [
            f"# Seed {self.program.seed}, {self.view}: " + self.what.replace("\n", "\n# "),
            "import farcall as fc",
            "import farcall.numpy as fnp",
            "import numpy as np",
            "from farcall import lax",
            "from random_programs import rules",
            "from random_programs.views import Setting",
            "",
            "",
            source(self.program),
            f"setting = Setting(program, inputs, {self.program.seed})",
        ]
        view = VIEWS.get(self.view)
        if view is None:
            return "\n".join([*lines, "print(program(*inputs))", ""])
        lines += [
            f'print("got", setting.evaluate({view.got!r}))',
            f'print("wanted", setting.evaluate({view.wanted!r}))',
        ]
        return "\n".join([*lines, ""])


def views_of(program: Program, count: int = 3, engine: str | None = None) -> list[str]:
    """Those that every program is run in, and some others: of the native engine alone, or those
    that compare another engine with it."""
    rng = np.random.default_rng([program.seed, 2])
    missing = traits(program)
    possible = [
        name
        for name, view in VIEWS.items()
        if view.engine == engine and can_run(name, program, missing)
    ]
    if is_large(program.seed):
        return [name for name in possible if name in OF_LARGE]
    others = [name for name in possible if name not in ALWAYS]
    chosen = rng.permutation(len(others))[:count]
    return [*(name for name in possible if name in ALWAYS), *(others[i] for i in sorted(chosen))]


def check(program: Program, engine: str | None = None) -> Iterator[Failure]:
    """The ways in which the program fails."""
    for name in views_of(program, 1 if engine else 3, engine):
        failure = check_view(program, name)
        if failure is not None:
            yield failure


def check_view(program: Program, name: str) -> Failure | None:
    """Runs the program one way."""
    view = VIEWS.get(name)
    try:
        setting = Setting(function(program), program.inputs, program.seed)
        wanted = setting.evaluate(view.wanted if view else "program(*inputs)")
        got = setting.evaluate(view.got) if view else wanted
    except Exception as error:
        if view is not None and view.engine == "pjrt" and "StableHLO has no dtype" in str(error):
            return None  # of one bit
        kind = type(error).__name__
        return Failure(program, name, f"{kind}: {error}", kind)
    if view is None or _differs_by_design(program, view, wanted):
        return None
    if name in NUMERIC and not np.isfinite([got, wanted]).all():
        return None
    tolerances = _tolerances(wanted, view)
    if view.scale is not None:
        tolerances = [view.tolerance * setting.evaluate(view.scale)]
    what = difference(got, wanted, view.is_exact, tolerances)
    if what is None or view.is_exact:
        return what and Failure(program, name, what)
    tolerances = _wider_tolerances(program, view, wanted, tolerances)
    what = difference(got, wanted, False, tolerances)
    if what is None or (view.engine is not None and _is_documented(program, view, name)):
        return None
    return Failure(program, name, what)


def _is_documented(program: Program, view: View, name: str) -> bool:
    other = documented.without(program, view.is_derivative)
    return not documented.is_same(program, other) and check_view(other, name) is None


def _differs_by_design(program: Program, view: View, wanted: Any) -> bool:
    """XLA leaves the padding of a convolution out, where 0 times infinity would be NaN."""
    is_convolution = any("conv_general_dilated(" in step.text for step in all_steps(program.body))
    if view.engine is None or not is_convolution:
        return False
    return not all(np.isfinite(wide(x)).all() for x in leaves(wanted) if is_inexact(x))


def _tolerances(wanted: Any, view: View) -> list[float]:
    def of(x: Any) -> float:
        if not is_inexact(x):
            return 0.0
        least = smallest_normal(x.dtype.name) if view.engine is not None else 0.0  # zero in XLA
        return max(max(ULPS * epsilon(x.dtype.name), view.tolerance) * scale(x), least)

    return [of(x) for x in leaves(wanted)]


def _wider_tolerances(
    program: Program, view: View, wanted: Any, tolerances: list[float]
) -> list[float]:
    """What changes when each step is off by a rounding error."""
    rng = np.random.default_rng(program.seed)

    def jiggle(_: str, x: Any) -> Any:
        if not is_inexact(x):
            return x
        step = epsilon(x.dtype.name)
        factor = fnp.asarray(1 + step * rng.uniform(-1, 1, x.shape)).astype(x.dtype)
        return x * factor

    wider = list(tolerances)
    jiggled = function(program, jiggle)
    for _ in range(JIGGLES):
        inputs = program.inputs
        # Another engine's order of operations differs within derivatives too, where no step shows.
        if view.engine is not None and view.is_derivative:
            inputs = [np.asarray(jiggle("", fnp.asarray(x))) for x in inputs]
        setting = Setting(jiggled, inputs, program.seed)
        others = leaves(setting.evaluate(view.wanted))
        for i, (x, y) in enumerate(zip(others, leaves(wanted), strict=True)):
            # On one engine, what integers are made of has the same bits.
            if is_inexact(y) or view.engine is not None:
                wider[i] = max(wider[i], MARGIN * _distance(x, y))
    return wider


def _distance(x: Any, y: Any) -> float:
    """How far apart the arrays are; infinite where only one is finite and where integers differ."""
    a, b = wide(x), wide(y)
    if not is_inexact(x):
        return 0.0 if np.array_equal(a, b) else np.inf
    is_finite = np.isfinite(a)
    if not np.array_equal(is_finite, np.isfinite(b)):
        return np.inf
    return float(np.max(np.abs(a - b), where=is_finite, initial=0.0))
