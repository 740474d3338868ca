"""Writing a program step by step: each step runs at once, so that the next one knows its values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import farcall.numpy as fnp
import numpy as np

from random_programs.program import (
    NAMES,
    Body,
    Groups,
    Program,
    Step,
    is_used,
    precision_traits,
    statements,
)
from random_programs.values import (
    KIND_OF,
    LARGE,
    LIKELY,
    is_inexact,
    literal,
    random_array,
    wide,
)

MAX_INPUTS = 5
MAX_ELEMENTS = 240
# Around the tiles of clusters, so that there are whole tiles and what is left, and several threads.
LARGE_SIZES = (1023, 1024, 1025, 2047, 2048, 2049, 2049, 4097, 8191, 8193, 70001)
MAX_LARGE_ELEMENTS = 2 * max(LARGE_SIZES)


@dataclasses.dataclass(frozen=True)
class Value:
    """A name with what it stands for while the program is written.

    ``is_exact``: it comes out the same to the last bit, in whatever order sums are taken. Functions
    with jumps get exact values only, so that results that differ show errors, not rounding.
    """

    name: str
    array: Any
    is_exact: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def size(self) -> int:
        return self.array.size

    @property
    def dtype(self) -> str:
        return self.array.dtype.name

    @property
    def kind(self) -> str:
        return KIND_OF[self.dtype]

    @property
    def is_inexact(self) -> bool:
        return self.kind in "FC"

    @property
    def type(self) -> tuple[tuple[int, ...], str]:
        return self.shape, self.dtype


class CannotWriteError(Exception):
    """The operation at hand finds nothing to work on; another one is tried."""


class StepFailedError(Exception):
    """A step raised an error; ``program`` does nothing else."""

    def __init__(self, program: Program, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.program = program
        self.kind = type(error).__name__


@dataclasses.dataclass
class Scope:
    values: list[Value]
    steps: list[Step]
    # Whether it sees nothing of the functions around it.
    is_closed: bool = False


class Writer:
    """Appends steps to the innermost function that is being written."""

    def __init__(
        self, seed: int, operations: Sequence[Callable[[Writer], Any]], is_large: bool = False
    ) -> None:
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.operations = operations
        self.inputs: list[Value] = []
        self.scopes = [Scope([], [])]
        self._count = 0
        # Some programs meet NaN, infinity and overflow. The others keep to numbers of which
        # derivatives mean something.
        self.is_wild = self.chance(0.15)
        self.dtypes = [self.choose(LIKELY) for _ in range(int(self.rng.integers(1, 4)))]
        if self.chance(0.4):
            self.dtypes = ["float64"]
        elif self.chance(0.6):
            self.dtypes.append(list(KIND_OF)[seed % len(KIND_OF)])
        self.sizes = [int(n) for n in self.rng.choice([0, 1, 2, 3, 4, 5], 3, p=WEIGHTS)]
        if self.chance(0.1):
            self.sizes.append(self.choose([16, 17, 33, 130]))  # whole vectors and what is left
        self.max_elements = MAX_ELEMENTS
        if is_large:
            large = self.choose(LARGE_SIZES)
            self.max_elements = 2 * large
            self.sizes = [1, 2, large, large]

    # ---- chance ----

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def below(self, bound: int) -> int:
        return int(self.rng.integers(bound))

    def choose(self, options: Sequence[Any]) -> Any:
        if not options:
            raise CannotWriteError
        return options[self.below(len(options))]

    def some(self, options: Iterable[Any]) -> list[Any]:
        return [option for option in options if self.chance(0.5)]

    def permutation(self, count: int) -> tuple[int, ...]:
        return tuple(int(i) for i in self.rng.permutation(count))

    def shape(self, min_rank: int = 0, max_rank: int = 5) -> tuple[int, ...]:
        rank = min_rank + min(self.below(max_rank - min_rank + 1), self.below(6))
        sizes = tuple(self.choose(self.sizes) for _ in range(rank))
        if math.prod(sizes) > self.max_elements:
            sizes = sizes[: max(2, min_rank)]
        while math.prod(sizes) > self.max_elements:
            largest = sizes.index(max(sizes))
            sizes = (*sizes[:largest], 1, *sizes[largest + 1 :])
        return sizes

    # ---- values ----

    def visible(self) -> list[Value]:
        closed = [i for i, scope in enumerate(self.scopes) if scope.is_closed]
        seen = self.scopes[closed[-1] if closed else 0 :]
        return [value for scope in seen for value in scope.values]

    def any(
        self,
        kinds: str = "BSUFC",
        min_rank: int = 0,
        max_rank: int = 16,
        exact: bool = False,
        dtypes: Sequence[str] | None = None,
        test: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """A value of this description; the newest are the likeliest, so that chains grow."""

        def fits(value: Value) -> bool:
            return (
                value.kind in kinds
                and min_rank <= value.ndim <= max_rank
                and (value.is_exact or not exact)
                and (dtypes is None or value.dtype in dtypes)
                and test(value)
            )

        found = [value for value in self.visible() if fits(value)]
        if found and not self.chance(0.05):
            return found[max(0, len(found) - 1 - min(self.below(len(found)), self.below(8)))]
        names = [n for n in self.dtypes if KIND_OF[n] in kinds and (not dtypes or n in dtypes)]
        if not names:
            names = [n for n in dtypes or LIKELY if KIND_OF[n] in kinds]
        for _ in range(8):
            value = self.fresh(self.shape(min_rank, min(5, max_rank)), self.choose(names))
            if test(value):
                return value
        raise CannotWriteError

    def of_type(self, shape: tuple[int, ...], dtype: str, exact: bool = False) -> Value:
        """A value of this type, old or new."""
        found = [
            v for v in self.visible() if v.type == (shape, dtype) and (v.is_exact or not exact)
        ]
        if found and not self.chance(0.15):
            return self.choose(found[-6:])
        return self.fresh(shape, dtype)

    def fresh(self, shape: tuple[int, ...], dtype: str, array: Any = None) -> Value:
        """An input or a constant."""
        if array is None:
            array = random_array(self.rng, shape, dtype, 0.2 if self.is_wild else 0.0)
        is_closed = any(scope.is_closed for scope in self.scopes)
        is_small = array.size <= MAX_ELEMENTS
        may_be_input = len(self.inputs) < MAX_INPUTS and not is_closed
        if may_be_input and not (is_small and self.chance(0.15)):
            value = Value(self.name(), fnp.asarray(array), True)
            self.inputs.append(value)
            self.scopes[0].values.append(value)
            return value
        if not is_small:
            raise CannotWriteError  # its text would be long
        text = literal(array).replace("{", "{{").replace("}", "}}")
        return self.add(f"fnp.asarray({text})", check=False)

    def scalar(self, dtype: str) -> Value:
        return self.of_type((), dtype)

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    # ---- steps ----

    def add(self, text: str, *operands: Value, **options: Any) -> Value:
        """A step with one result."""
        (value,) = self.add_all(text, *operands, **options)
        return value

    def add_all(
        self,
        text: str,
        *operands: Value,
        groups: Groups = None,
        bodies: tuple[Body, ...] = (),
        exact: bool = True,
        traits: Iterable[str] = (),
        is_call: bool = False,
        check: bool = True,
    ) -> list[Value]:
        """Appends a step and runs it.

        ``exact``: exact operands give exact results. Raises CannotWriteError where results are too
        large to go on with.
        """
        count = 1 if groups is None else sum(1 if n is None else n for n in groups)
        step = Step(
            text,
            tuple(value.name for value in operands),
            tuple(self.name() for _ in range(count)),
            groups,
            bodies,
            frozenset(traits),
            is_call,
        )
        results = self._run(step)
        found = step.traits.union(*map(precision_traits, results))
        step = dataclasses.replace(step, traits=found)
        exact = exact and all(value.is_exact for value in operands)
        values = [
            Value(name, array, exact or not is_inexact(array))
            for name, array in zip(step.results, results, strict=True)
        ]
        if check and not self.is_wild and not all(is_tame(value) for value in values):
            raise CannotWriteError
        self.scopes[-1].steps.append(step)
        self.scopes[-1].values += values
        return values

    def _run(self, step: Step) -> list[Any]:
        known = {value.name: value for scope in self.scopes for value in scope.values}
        namespace = {**NAMES, **{name: value.array for name, value in known.items()}}
        try:
            exec("\n".join(statements(step)), namespace)
        except Exception as error:
            body = Body("program", (), (), (step,), step.results, step.groups)
            needed = [value for name, value in known.items() if is_used(name, body)]
            body = dataclasses.replace(
                body,
                parameters=tuple(value.name for value in needed),
                takes=(None,) * len(needed),
            )
            inputs = tuple(np.asarray(value.array) for value in needed)
            raise StepFailedError(Program(self.seed, body, inputs), error) from error
        return [namespace[name] for name in step.results]

    def write(self, count: int) -> None:
        """So many steps or more, drawn from all operations."""
        for _ in range(count):
            for _ in range(20):
                before = len(self.scopes[-1].values)
                try:
                    self.choose(self.operations)(self)
                    break
                except CannotWriteError:
                    assert before <= len(self.scopes[-1].values)

    # ---- functions ----

    def body(
        self,
        parameters: Sequence[Value],
        takes: tuple[int | None, ...] | None = None,
        *,
        loops: bool = False,
        closed: bool = False,
        steps: int | None = None,
        outputs: Callable[[], Sequence[Value]] | None = None,
        gives: Callable[[Sequence[Value]], Groups] | None = None,
    ) -> tuple[Body, list[Value]]:
        """An inner function, with what it gives for ``parameters``.

        Args:
          parameters: sample arguments.
          takes: how they are nested.
          loops: it gets its own results again, which are as inexact as its steps are.
          closed: it may use nothing but its arguments.
          outputs: the values that it is to return, asked when its steps are written.
          gives: how these are nested; a flat tuple if left out.
        """
        if len(self.scopes) > 3:
            raise CannotWriteError
        own = [
            Value(self.name(), value.array, not value.is_inexact or (value.is_exact and not loops))
            for value in parameters
        ]
        self.scopes.append(Scope(list(own), [], closed))
        name = f"f{self.name()[1:]}"
        try:
            self.write(1 + self.below(3) if steps is None else steps)
            results = list(outputs() if outputs else self.outputs())
            scope = self.scopes[-1]
        finally:
            self.scopes.pop()
        names = tuple(value.name for value in results)
        made = Body(
            name,
            tuple(value.name for value in own),
            takes if takes is not None else (None,) * len(own),
            tuple(scope.steps),
            names,
            gives(results) if gives else (None,) * len(results),
            closed,
        )
        return made, results

    def own(self) -> list[Value]:
        """The values of the innermost function."""
        return self.scopes[-1].values

    def outputs(self, most: int = 2) -> list[Value]:
        """Some of its values, the newest among them."""
        own = self.own()
        if not own:
            return [self.any()]
        return [own[-1], *(self.choose(own) for _ in range(self.below(most)))]


WEIGHTS = np.array([0.06, 0.14, 0.25, 0.25, 0.2, 0.1])


def is_tame(value: Value) -> bool:
    if not value.is_inexact:
        return True
    numbers = wide(value.array)
    return bool(np.all(np.isfinite(numbers)) and np.all(np.abs(numbers) < LARGE))
