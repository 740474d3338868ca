"""Docstrings of the reductions of farcall.numpy."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_DOCS = {
    "sum": """The sum along the axes. Bools and narrow integers are summed in 32 bits.

        Args:
          a: an array.
          axis: one axis or a tuple of axes; all by default.
          dtype: the dtype of the sum and of the result.
          out: not supported.
          keepdims: whether the axes stay, with size 1.
          initial: the start value.
          where: bools, broadcast against ``a``: the elements to include.
          promote_integers: False sums narrow integers in their own dtype.
        """,
    "prod": "The product along the axes; the arguments are those of ``sum``.",
    "max": "The largest element along the axes; NaN if any element is NaN.",
    "min": "The smallest element along the axes; NaN if any element is NaN.",
    "any": "Whether any element along the axes is nonzero.",
    "all": "Whether all elements along the axes are nonzero.",
    "ptp": "The largest minus the smallest element along the axes.",
    "count_nonzero": "The number of nonzero elements along the axes.",
    "mean": "The mean along the axes, a float; the arguments are those of ``sum``.",
    "var": """The variance along the axes: the mean squared distance from the mean.

        Args:
          a, axis, dtype, out, keepdims, where: as for ``sum``.
          ddof: the sum of squares is divided by the number of elements minus ``ddof``.
          mean: the mean, if already known, computed with ``keepdims=True``.
          correction: another name for ``ddof``.
        """,
    "std": "The square root of ``var``, with its arguments.",
    "average": """The weighted mean along the axes.

        Args:
          a, axis, keepdims: as for ``sum``.
          weights: of the shape of ``a``, or of its size along the one axis.
          returned: also return the sum of the weights.
        """,
}
_NAN = {
    "nansum": "``sum`` of the elements that are not NaN.",
    "nanprod": "``prod`` of the elements that are not NaN.",
    "nanmax": "``max`` of the elements that are not NaN; NaN if all are.",
    "nanmin": "``min`` of the elements that are not NaN; NaN if all are.",
    "nanmean": "``mean`` of the elements that are not NaN.",
    "nanvar": "``var`` of the elements that are not NaN; NaN if at most ``ddof`` remain.",
    "nanstd": "The square root of ``nanvar``.",
    "nanargmax": "``argmax`` of the elements that are not NaN; -1 if all are.",
    "nanargmin": "``argmin`` of the elements that are not NaN; -1 if all are.",
}

document(_core.numpy, "farcall.numpy", _DOCS | _NAN)
