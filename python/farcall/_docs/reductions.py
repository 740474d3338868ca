"""The docstrings of the reductions of farcall.numpy."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_DOCS = {
    "sum": """The sum along the axes. Bools and integers below 32 bits are added as 32-bit integers.

        Args:
          a: an array.
          axis: one axis or several; all of them if left out.
          dtype: of the sum and of the result.
          out: not supported.
          keepdims: keep the axes, with size one.
          initial: what is added to.
          where: bools, broadcast against ``a``: which elements count.
          promote_integers: False adds narrow integers in their own dtype.
        """,
    "prod": "The product along the axes; the arguments are those of ``sum``.",
    "max": "The largest element along the axes; NaN where there is one.",
    "min": "The smallest element along the axes; NaN where there is one.",
    "any": "Whether any element along the axes is true (not zero).",
    "all": "Whether all elements along the axes are true (not zero).",
    "ptp": "The difference of the largest and the smallest element along the axes.",
    "count_nonzero": "How many elements along the axes are not zero.",
    "mean": "The mean along the axes, a float; the arguments are those of ``sum``.",
    "var": """The mean square distance from the mean along the axes.

        Args:
          a, axis, dtype, out, keepdims, where: as for ``sum``.
          ddof: is subtracted from the number of elements that the sum of squares is divided by.
          mean: the mean along the axes, which were kept, where it is known already.
          correction: another name for ``ddof``.
        """,
    "std": "The square root of ``var``, with its arguments.",
    "average": """The mean along the axes, each element counting as often as its weight says.

        Args:
          a, axis, keepdims: as for ``sum``.
          weights: of the shape of ``a``, or of its size along the one axis.
          returned: also return the sum of the weights.
        """,
}
_NAN = {
    "nansum": "``sum`` of the elements that are not NaN.",
    "nanprod": "``prod`` of the elements that are not NaN.",
    "nanmax": "``max`` of the elements that are not NaN; NaN where all are.",
    "nanmin": "``min`` of the elements that are not NaN; NaN where all are.",
    "nanmean": "``mean`` of the elements that are not NaN.",
    "nanvar": "``var`` of the elements that are not NaN; NaN where no more than ``ddof`` are left.",
    "nanstd": "The square root of ``nanvar``.",
    "nanargmax": "``argmax`` of the elements that are not NaN; -1 where all are.",
    "nanargmin": "``argmin`` of the elements that are not NaN; -1 where all are.",
}

document(_core.numpy, "farcall.numpy", _DOCS | _NAN)
