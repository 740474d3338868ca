"""Histograms and counts."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import Array, as_array, default_int, known_values, to_inexact
from farcall.numpy._creation import asarray
from farcall.numpy._order import diff, searchsorted

__all__ = [
    "bincount",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]

_f: Any = _core.numpy


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None
) -> Array:
    """How often each number from 0 on is among the elements of ``x``.

    Args:
      x: integers, in one dimension; negative ones count as 0.
      weights: what each element counts, 1 if left out.
      minlength: the least size of the result.
      length: the size of the result, larger numbers being left out. If it is not given, the values
        must be known: the size is one more than the largest.
    """
    x = as_array(x, "bincount", "x")
    if x.dtype.kind == "b":
        x = _f.astype(x, "int32")
    if x.ndim != 1 or x.dtype.kind not in "iu":
        raise TypeError(f"bincount: x must be integers in one dimension, got {x.aval}")
    if length is None:
        values = known_values(x, "bincount", "the largest element", "give length=")
        length = builtins.max(int(values.max()) + 1 if values.size else 0, minlength)
    length = operator.index(length)
    if weights is None:
        weights = _f.astype(1, default_int())
    weights = as_array(weights, "bincount", "weights")
    places = _f.maximum(x, 0)
    return _f.zeros((length,), weights.dtype).at[places].add(weights, mode="drop")


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges between which ``histogram`` counts.

    Args:
      a: the values.
      bins: how many bins of equal width, or the edges.
      range: the first and the last edge; left out, the least and the largest value.
      weights: changes nothing.
    """
    del weights
    if isinstance(bins, str):
        raise NotImplementedError(f"histogram: bins must be a number or edges, got {bins!r}")
    array = to_inexact(as_array(a, "histogram_bin_edges"))
    if np.ndim(bins) == 1:
        return _f.astype(asarray(bins), array.dtype)
    if range is None:
        empty = array.size == 0
        first, last = (0.0, 1.0) if empty else (_f.min(array), _f.max(array))
    else:
        first, last = (as_array(end, "histogram", "range") for end in range)
    is_point = _f.equal(first, last)
    half = _f.where(is_point, 0.5, 0.0)
    edges = _f.linspace(_f.subtract(first, half), _f.add(last, half), operator.index(bins) + 1)
    return _f.astype(edges, array.dtype)


def _bin_of(values: Array, edges: Array) -> Array:
    """The number of each value's bin, from 1; the last bin includes its upper edge."""
    place = searchsorted(edges, values, side="right")
    return _f.where(_f.equal(values, edges[-1]), edges.shape[0] - 1, place)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Array, Array]:
    """How many values lie in each bin, and the edges of the bins.

    Args:
      a, bins, range: as for ``histogram_bin_edges``.
      weights: what each value counts, 1 if left out.
      density: divide by the number of values and the width of the bins.
    """
    counts, edges = histogramdd(
        _f.reshape(to_inexact(as_array(a, "histogram")), (-1, 1)),
        [bins],
        None if range is None else [range],
        None if weights is None else _f.ravel(as_array(weights, "histogram", "weights")),
        density,
    )
    return counts, edges[0]


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """``histogramdd`` of points in the plane: the counts, and the edges along both axes."""
    points = _f.stack([as_array(x, "histogram2d", "x"), as_array(y, "histogram2d", "y")], 1)
    if np.ndim(bins) == 1 and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd(points, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """How many points lie in each box, and the edges of the boxes along each axis.

    Args:
      sample: the points, one in each row.
      bins: one number, or one or the edges for each axis.
      range: the first and the last edge for each axis, or None.
      weights: what each point counts, 1 if left out.
      density: divide by the number of points and the size of the boxes.
    """
    points = to_inexact(as_array(sample, "histogramdd", "sample"))
    rank = points.shape[1]
    each = [bins] * rank if np.ndim(bins) == 0 else list(bins)
    if len(each) != rank:
        raise ValueError(f"histogramdd: bins has {len(each)} entries for points of {rank} numbers")
    ranges = [None] * rank if range is None else list(range)
    columns = [points[:, i] for i in builtins.range(rank)]
    edges = [
        histogram_bin_edges(column, b, r)
        for column, b, r in zip(columns, each, ranges, strict=True)
    ]
    places = tuple(_bin_of(c, e) for c, e in zip(columns, edges, strict=True))
    dtype = points.dtype if weights is None else as_array(weights, "histogramdd").dtype
    counts = _f.zeros(tuple(e.shape[0] for e in edges), dtype)
    # Bin 0 takes what lies below; what lies above is dropped.
    counts = counts.at[places].add(1 if weights is None else weights, mode="drop")
    counts = counts[(slice(1, None),) * rank]
    if density:
        counts = to_inexact(counts) / _f.sum(counts)
        for axis, e in enumerate(edges):
            shape = [1] * rank
            shape[axis] = -1
            counts = counts / _f.reshape(diff(e), shape)
    return counts, edges
