"""Writing a program over a mesh: source text, with the type of every value."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from random_programs.writer import CannotWriteError

MAX_ELEMENTS = 200
MAX_DEPTH = 4


@dataclasses.dataclass(frozen=True)
class Value:
    """``varying``: the axes along which devices may have different values."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    varying: frozenset[str] = frozenset()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("float")

    @property
    def type(self) -> tuple[tuple[int, ...], str]:
        return self.shape, self.dtype


@dataclasses.dataclass
class Block:
    """A function that is being written; ``is_closed``: it sees nothing of those around it."""

    values: list[Value]
    lines: list[str]
    is_closed: bool = False


class Writer:
    """Appends lines to the innermost function.

    ``axes``: the axes of the mesh that collectives can use here. ``checks``: whether shard_map
    tracks axes. ``differentiates``: what is written must have reverse-mode derivatives.
    ``diverges``: devices may take different ways, so they cannot communicate.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 5])
        grids: list[dict[str, int]] = [{"a": 4}, {"a": 2, "b": 2}, {"a": 2, "b": 2}, {"a": 2}]
        grids += [{"a": 1, "b": 4}, {"b": 2, "a": 2}]
        self.mesh: dict[str, int] = self.choose(grids)
        self.float: str = self.choose(["float64", "float64", "float64", "float32"])
        self.axes: dict[str, int] = {}
        self.checks = False
        self.differentiates = False
        self.diverges = False
        self.blocks = [Block([], [])]
        self.inputs: list[tuple[Value, np.ndarray]] = []
        self._count = 0

    # ---- chance ----

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def below(self, bound: int) -> int:
        return int(self.rng.integers(bound))

    def choose(self, options: Sequence[Any]) -> Any:
        if not options:
            raise CannotWriteError
        return options[self.below(len(options))]

    def some_axes(self, least: int = 1) -> tuple[str, ...]:
        """Some of the axes that collectives can use, in any order."""
        names = [str(name) for name in self.rng.permutation(list(self.axes))]
        if len(names) < least:
            raise CannotWriteError
        return tuple(names[: least + self.below(len(names) - least + 1)])

    def shape(self, min_rank: int = 0, max_rank: int = 3) -> tuple[int, ...]:
        rank = min_rank + self.below(max_rank - min_rank + 1)
        return tuple(int(self.rng.choice([1, 2, 3, 4, 4, 8])) for _ in range(rank))

    # ---- values ----

    def visible(self) -> list[Value]:
        closed = [i for i, block in enumerate(self.blocks) if block.is_closed]
        return [v for block in self.blocks[closed[-1] if closed else 0 :] for v in block.values]

    def any(self, test: Callable[[Value], bool] = lambda _: True, min_rank: int = 0) -> Value:
        """A value of this description; the newest are the likeliest."""
        found = [v for v in self.visible() if v.ndim >= min_rank and test(v)]
        if not found:
            raise CannotWriteError
        return found[max(0, len(found) - 1 - min(self.below(len(found)), self.below(8)))]

    def floating(self, min_rank: int = 0, test: Callable[[Value], bool] = lambda _: True) -> Value:
        return self.any(lambda v: v.is_float and test(v), min_rank)

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def input(self, shape: tuple[int, ...]) -> Value:
        """A new argument of the program."""
        value = Value(self.name(), shape, self.float)
        self.inputs.append((value, self.rng.uniform(-1.5, 1.5, shape).astype(self.float)))
        self.blocks[0].values.append(value)
        return value

    def constant(self, shape: tuple[int, ...]) -> Value:
        text = np.round(self.rng.uniform(-1.5, 1.5, shape), 3).tolist()
        return self.add(f"fnp.asarray(np.array({text}, {self.float!r}))", shape)

    # ---- lines ----

    def line(self, text: str) -> None:
        self.blocks[-1].lines.append(text)

    def add(
        self,
        text: str,
        shape: Sequence[int],
        *operands: Value,
        dtype: str | None = None,
        varying: frozenset[str] | None = None,
    ) -> Value:
        """``value = text`` of the operands; it varies as these do if ``varying`` is left out."""
        if np.prod(shape, dtype=np.int64) > MAX_ELEMENTS:
            raise CannotWriteError
        if varying is None:
            varying = frozenset().union(*(v.varying for v in operands))
        if dtype is None:
            dtype = operands[0].dtype if operands else self.float
        value = Value(self.name(), tuple(map(int, shape)), dtype, varying)
        self.line(f"{value.name} = {text.format(*(v.name for v in operands))}")
        self.blocks[-1].values.append(value)
        return value

    def unpack(self, text: str, results: Sequence[Value]) -> list[Value]:
        """``(values,) = text``, with new names for results of these types."""
        made = [dataclasses.replace(v, name=self.name()) for v in results]
        self.line(f"{', '.join(v.name for v in made)}, = {text}")
        self.blocks[-1].values += made
        return made

    def vary(self, value: Value) -> str:
        """Text of the value, varying over all axes."""
        return (
            f"vary({value.name}, {tuple(self.axes)})" if self.checks and self.axes else value.name
        )

    @property
    def everything(self) -> frozenset[str]:
        return frozenset(self.axes)

    def write(self, steps: Sequence[Callable[[Writer], Any]], count: int) -> None:
        for _ in range(count):
            for _ in range(20):
                before = len(self.blocks[-1].lines), len(self.blocks[-1].values)
                try:
                    self.choose(steps)(self)
                    break
                except CannotWriteError:
                    del self.blocks[-1].lines[before[0] :]
                    del self.blocks[-1].values[before[1] :]

    @contextlib.contextmanager
    def where(self, **settings: Any) -> Iterator[None]:
        """Writes with other settings."""
        before = {name: getattr(self, name) for name in settings}
        for name, value in settings.items():
            setattr(self, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def function(
        self,
        parameters: Sequence[Value],
        write: Callable[[list[Value]], str],
        closed: bool = False,
    ) -> str:
        """The name of a new function of values of these types; ``write`` returns its result."""
        if len(self.blocks) > MAX_DEPTH:
            raise CannotWriteError
        own = [dataclasses.replace(v, name=self.name()) for v in parameters]
        name = f"f{self.name()[1:]}"
        self.blocks.append(Block(list(own), [], closed))
        try:
            result = write(own)
        except CannotWriteError:
            self.blocks.pop()
            raise
        lines = self.blocks.pop().lines
        self.line(f"def {name}({', '.join(v.name for v in own)}):")
        for line in [*lines, f"return {result}"]:
            self.line(f"    {line}")
        return name
