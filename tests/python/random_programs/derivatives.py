"""First, second and third derivatives of random programs at special points, against JAX.

Inputs are zeros of both signs, ones, small integers and halves, many of which are equal. Where JAX
has a number, farcall has the same; where JAX has none, nothing is said.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import multiprocessing
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import farcall as fc
import numpy as np
from tqdm import tqdm

from random_programs.operations import control, elementwise, indexing, linear, shapes, smooth
from random_programs.program import (
    NAMES,
    Body,
    Program,
    Step,
    all_steps,
    function,
    source,
    traits,
)
from random_programs.values import KIND_OF, epsilon, random_array
from random_programs.writer import CannotWriteError, StepFailedError, Writer

POINTS = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0)
CHUNK = 20
TOLERANCE = 1e-7  # of the largest number, in float64

FAMILIES = ((elementwise, 3), (smooth, 5), (shapes, 2), (indexing, 1), (linear, 1), (control, 1))
# What JAX lacks, or has under another form; and what has no third derivative of numbers.
LEFT_OUT = {
    elementwise.name,
    elementwise.bitcast,
    elementwise.special,
    elementwise.convert,
    elementwise.copy,
    elementwise.reduce_precision,
    linear.factorization,
    linear.fft,
}


@functools.cache
def jax_names() -> dict[str, Any]:
    """The modules of JAX under the names of farcall's."""
    import jax
    import jax.nn
    import jax.scipy.special
    import ml_dtypes

    def dtype(name: str) -> Any:
        return getattr(ml_dtypes, name, None) or getattr(np, name)

    exact = SimpleNamespace(beta=_beta, betaln=_betaln, log_ndtr=_log_ndtr)
    root = SimpleNamespace(
        dtypes=SimpleNamespace(**{name: dtype(name) for name in KIND_OF if dtype_exists(name)}),
        jvp=jax.jvp,
        grad=jax.grad,
        jit=jax.jit,
        vmap=jax.vmap,
        checkpoint=jax.checkpoint,
    )
    return {
        "fc": root,
        "fnp": jax.numpy,
        "np": np,
        "lax": _Names(exact, jax.lax, jax.numpy, jax.scipy.special),
        "nn": _Names(SimpleNamespace(celu=_celu), jax.nn),
        "special": _Names(exact, jax.scipy.special),
    }


def _celu(x: Any, alpha: float = 1.0) -> Any:
    """For JAX, whose own is made of a maximum and a minimum: at 0 they tie, and its second
    derivative there is a quarter of the one from the left.
    """
    import jax.numpy as jnp

    below = alpha * jnp.expm1(jnp.where(x > 0, 0, x) / alpha)
    return jnp.where(x > 0, x, below)


def _betaln(a: Any, b: Any) -> Any:
    """For JAX, whose own sorts its arguments: where they tie, its second derivative is wrong."""
    import jax.lax

    return jax.lax.lgamma(a) + jax.lax.lgamma(b) - jax.lax.lgamma(a + b)


def _log_ndtr(x: Any) -> Any:
    """For JAX, whose own has three terms of its series, and few digits in its third derivative."""
    import jax.scipy.special

    return jax.scipy.special.log_ndtr(x, series_order=20)


def _beta(a: Any, b: Any) -> Any:
    import jax.numpy as jnp

    return jnp.exp(_betaln(a, b))


class _Names:
    """The names of several modules, of which the first that has a name gives it."""

    def __init__(self, *modules: Any) -> None:
        self._modules = modules

    def __getattr__(self, name: str) -> Any:
        for module in self._modules:
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(name)


@contextlib.contextmanager
def in_jax() -> Iterator[None]:
    """JAX keeps 64 bits and runs one operation after the other, compiled for other programs."""
    import jax

    with jax.enable_x64(True), jax.disable_jit():
        yield


def dtype_exists(name: str) -> bool:
    import ml_dtypes

    return hasattr(ml_dtypes, name) or hasattr(np, name)


class _SpecialWriter(Writer):
    """Writes programs of float64 on small shapes with special numbers."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, [_operation])
        self.is_wild = False
        self.dtypes = ["float64"]
        self.sizes = [3]  # JAX compiles each operation for each shape

    def shape(self, min_rank: int = 0, max_rank: int = 5) -> tuple[int, ...]:
        return super().shape(min_rank, max(min_rank, min(max_rank, 2)))

    def fresh(self, shape: tuple[int, ...], dtype: str, array: Any = None) -> Any:
        if array is None and dtype == "float64":
            array = np.asarray(self.rng.choice(POINTS, shape))
        return super().fresh(shape, dtype, array)


def _operation(w: Writer) -> None:
    modules, weights = zip(*FAMILIES, strict=True)
    family = modules[int(w.rng.choice(len(modules), p=np.array(weights) / sum(weights)))]
    operation = w.choose(family.OPERATIONS)
    if operation in LEFT_OUT:
        raise CannotWriteError
    operation(w)


def generate(seed: int) -> Program:
    """The program of a seed; at least one input and one result are float64."""
    w = _SpecialWriter(seed)
    for _ in range(1 + w.below(2)):
        w.fresh(w.shape(), "float64")
    w.write(1 + w.below(4))
    outputs = tuple(value.name for value in w.outputs(2))
    body = Body(
        "program",
        tuple(value.name for value in w.inputs),
        (None,) * len(w.inputs),
        tuple(w.scopes[0].steps),
        outputs,
        (None,) * len(outputs),
    )
    return Program(seed, body, tuple(np.asarray(value.array) for value in w.inputs))


# ---- derivatives ---------------------------------------------------------------------------------


@dataclasses.dataclass
class Point:
    """Where a program is differentiated: the place, a direction, and weights of the results."""

    program: Program
    places: list[int]
    direction: list[np.ndarray]
    rng_seed: int

    @classmethod
    def of(cls, program: Program) -> Point:
        rng = np.random.default_rng([program.seed, 3])
        places = [i for i, x in enumerate(program.inputs) if x.dtype == np.float64]
        direction = [random_array(rng, program.inputs[i].shape, "float64") for i in places]
        return cls(program, places, direction, program.seed)

    def evaluate(self, names: dict[str, Any], reverse: bool) -> list[np.ndarray]:
        """Derivatives of every order up to the third, forward and, if asked for, reverse."""
        root, array = names["fc"], names["fnp"].asarray
        called = function(self.program, names=names)
        inputs = [array(x, dtype=x.dtype) for x in self.program.inputs]
        chosen = [inputs[i] for i in self.places]
        direction = [array(x, dtype="float64") for x in self.direction]

        def part(*values: Any) -> Any:
            every = list(inputs)
            for place, value in zip(self.places, values, strict=True):
                every[place] = value
            return tuple(y for y in called(*every) if y.dtype == np.float64)

        def along(f: Any) -> Any:
            """With the function's own results, so that all orders come from one evaluation."""
            return lambda *xs: root.jvp(f, xs, tuple(direction))

        found = [along(along(along(part)))(*chosen)]
        if reverse:
            back = root.grad(self._weighted(part), tuple(range(len(chosen))))
            found.append(along(along(back))(*chosen))

            def slope(*xs: Any) -> Any:
                pairs = zip(back(*xs), direction, strict=True)
                return sum((g * t).sum() for g, t in pairs)

            twice = root.grad(slope, tuple(range(len(chosen))))
            found.append(along(twice)(*chosen))
        return [np.asarray(x) for x in fc.tree.leaves(found)]

    def _weighted(self, part: Any) -> Any:
        def weighted(*xs: Any) -> Any:
            rng = np.random.default_rng([self.rng_seed, 4])
            return sum((y * random_array(rng, y.shape, "float64")).sum() for y in part(*xs))

        return weighted


@dataclasses.dataclass
class Comparison:
    """``what`` differs, in words; None where nothing does. ``skipped``: why JAX cannot tell."""

    program: Program | None
    what: str | None = None
    skipped: str | None = None

    def __str__(self) -> str:
        assert self.program is not None
        return f"# Seed {self.program.seed}: {self.what}\n{source(self.program)}"


def compare(seed: int) -> Comparison:
    """Runs one program in both systems."""
    try:
        program = generate(seed)
    except StepFailedError as error:
        return Comparison(error.program, f"does not run: {error}")
    return compare_program(program)


def _compare_chunk(seeds: Sequence[int]) -> list[Comparison]:
    with fc.enable_x64(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [compare(seed) for seed in seeds]


def run(seeds: range, jobs: int, show: int) -> int:
    """Compares the programs of these seeds; prints those that differ. Returns their number."""
    chunks = [seeds[i : i + CHUNK] for i in range(0, len(seeds), CHUNK)]
    reasons: collections.Counter[str] = collections.Counter()
    wrong = 0
    context = multiprocessing.get_context("spawn")
    with (
        tqdm(total=len(seeds), unit="program", disable=None) as progress,
        concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as pool,
    ):
        for found in pool.map(_compare_chunk, chunks):
            for one in found:
                if one.skipped:
                    reasons[one.skipped.partition("\n")[0][:60]] += 1
                if one.what and (wrong := wrong + 1) <= show:
                    progress.write(f"{one}\n", file=sys.stdout)
            progress.update(len(found))
    for reason, count in reasons.most_common(5):
        print(f"not compared: {count}: {reason}")
    print(f"{wrong} of {len(seeds) - reasons.total()} programs have other derivatives than in JAX")
    return wrong


def compare_program(program: Program) -> Comparison:
    missing = traits(program)
    if any(_may_be_out_of_range(step) for step in all_steps(program.body)):
        return Comparison(program, skipped="chosen by a number that may be out of range")
    if any(_CLIPPED_EXTREME.match(step.text) for step in all_steps(program.body)):
        return Comparison(program, skipped="extremes of clipped windows")
    if any(_EMPTY_INDEX.match(step.text) for step in all_steps(program.body)):
        return Comparison(program, skipped="empty index vectors")
    point = Point.of(program)
    if "no jvp" in missing or not point.places:
        return Comparison(program, skipped="no derivatives")
    reverse = "no vjp" not in missing
    try:
        with in_jax():
            theirs = point.evaluate(jax_names(), reverse)
    except Exception as error:
        return Comparison(program, skipped=f"JAX: {type(error).__name__}: {error}")
    try:
        ours = point.evaluate(NAMES, reverse)
    except Exception as error:
        return Comparison(program, f"{type(error).__name__}: {error}")
    return Comparison(program, _difference(ours, theirs))


# JAX's derivative reads the windows back without clipping their places.
_CLIPPED_EXTREME = re.compile(r"lax\.scatter_(?:min|max)\(.*mode='clip'")
# JAX scatters one of the windows then, and not all; so does its transpose of a gather.
_EMPTY_INDEX = re.compile(
    r"lax\..*(?:Gather|Scatter)DimensionNumbers\(\*\(\([^()]*\), \([^()]*\), \(\)"
)


def _may_be_out_of_range(step: Step) -> bool:
    """select_n among another number of cases than two: JAX's derivatives are zero out of range."""
    return step.text.startswith("lax.select_n(") and len(step.operands) != 3


def _difference(ours: list[np.ndarray], theirs: list[np.ndarray]) -> str | None:
    if [x.shape for x in ours] != [x.shape for x in theirs]:
        return f"shapes {[x.shape for x in ours]} instead of {[x.shape for x in theirs]}"
    sizes = [np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in theirs]
    tolerance = max(TOLERANCE, epsilon("float64")) * max([1.0, *sizes])
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        is_wrong = np.isfinite(b) & ~(np.abs(a - b) <= tolerance)
        if is_wrong.any():
            place = tuple(int(n) for n in np.argwhere(is_wrong)[0])
            return f"result {i}{list(place)} is {a[place]!r}, and {b[place]!r} in JAX"
    return None
