"""The type of the argument ``shape``."""

from collections.abc import Sequence

Shape = int | Sequence[int]
