"""The rows of elementwise_list.h as the core shows them, from which tables of the tests follow."""

from __future__ import annotations

from typing import NamedTuple

from farcall import _core


class Row(NamedTuple):
    """An operation of farcall.lax.

    Attributes:
      name: of the function.
      operands: their names.
      kinds: the letters of the kinds of numbers that it takes.
      result: "kSame" and so on.
      domain: where it is defined and smooth for real numbers; "" for two operands.
    """

    name: str
    operands: tuple[str, ...]
    kinds: frozenset[str]
    result: str
    domain: str


class Promoting(NamedTuple):
    """A function that promotes its operands and applies an operation."""

    name: str
    operands: tuple[str, ...]
    operation: str


LAX = [Row(n, o, frozenset(k.split(" | ")), r, d) for n, o, k, r, d, _ in _core.lax._elementwise]
NUMPY = [Promoting(*row[:3]) for row in _core.numpy._elementwise]
SPECIAL = [Promoting(*row[:3]) for row in _core.special._elementwise]
BY_NAME = {row.name: row for row in LAX}


def unary(kind: str) -> list[Row]:
    """The operations on one operand that take this kind of numbers."""
    return [row for row in LAX if len(row.operands) == 1 and kind in row.kinds]
