"""Whether two runs agree: to the last bit, or as far as rounding lets them."""

from __future__ import annotations

from typing import Any

import farcall as fc
import numpy as np

from random_programs.values import is_inexact, wide

# Steps of the narrowest type that results may differ by, without looking closer.
ULPS = 64


def leaves(tree: Any) -> list[Any]:
    return fc.tree.leaves(tree)


def difference(got: Any, wanted: Any, is_exact: bool, tolerances: list[float] | None) -> str | None:
    """What differs, in words; None where nothing does.

    ``tolerances``: how far each result may be off, where they need not be the same to the last bit.
    Integers must be the same unless it is infinite.
    """
    ours, theirs = leaves(got), leaves(wanted)
    if len(ours) != len(theirs):
        return f"{len(ours)} results instead of {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"result {i} is {a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
        weak = [getattr(x, "weak_type", None) for x in (a, b)]
        if is_exact and None not in weak and weak[0] != weak[1]:
            return f"result {i} is {'weakly' if weak[0] else 'strongly'} typed"
        found = _first_difference(
            np.asarray(a), np.asarray(b), is_exact, tolerances and tolerances[i]
        )
        if found is not None:
            place, x, y = found
            return f"result {i}{list(place)} is {x!r} instead of {y!r}"
    return None


def _first_difference(
    a: np.ndarray, b: np.ndarray, is_exact: bool, tolerance: float | None
) -> tuple[tuple[int, ...], Any, Any] | None:
    if a.dtype.names is not None or a.size == 0 or a.dtype == fc.dtypes.float0:
        return None
    x, y = wide(a), wide(b)
    if not is_inexact(b) and tolerance == np.inf:
        return None
    if is_exact or not is_inexact(b):
        same = (x == y) | ((x != x) & (y != y))
        if is_exact and x.dtype.kind == "f":
            same &= (np.signbit(x) == np.signbit(y)) | (x != x)
    else:
        assert tolerance is not None
        same = _parts_agree(x, y, tolerance)
    if bool(np.all(same)):
        return None
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    return place, x[place], y[place]


def _parts_agree(x: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
    if x.dtype.kind == "c":
        # Which part of a product is NaN, and which infinite, depends on the order of factors.
        if not np.all(np.isfinite(x) | np.isfinite(y)):
            both = ~np.isfinite(x) & ~np.isfinite(y)
            return both | _parts_agree(np.where(both, 0, x), np.where(both, 0, y), tolerance)
        return _parts_agree(x.real, y.real, tolerance) & _parts_agree(x.imag, y.imag, tolerance)
    with np.errstate(all="ignore"):
        return (x == y) | ((x != x) & (y != y)) | (np.abs(x - y) <= tolerance)


def scale(value: Any) -> float:
    """The largest finite number of an array."""
    numbers = np.abs(wide(value)) if is_inexact(value) else np.zeros(0)
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.max()) if numbers.size else 0.0
