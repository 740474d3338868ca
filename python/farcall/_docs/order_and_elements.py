"""Docstrings of numpy's sorting, cumulative and elementwise functions."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_ORDER = {
    "lexsort": "The indices that sort by the last of ``keys``; earlier keys break ties.",
    "partition": "``a`` reordered: element ``kth`` as in sorted order, smaller ones before it.",
    "argpartition": "The indices that partition the elements as ``partition`` does.",
    "searchsorted": """The indices at which to insert ``v`` into the sorted ``a``.

        Args:
          a: a vector, sorted.
          v: the values to insert; the result, int32, has its shape.
          side: before (``left``) or after (``right``) equal elements.
          sorter: indices that sort ``a``, if it is not sorted.
          method: accepted for compatibility with JAX; ignored.
        """,
    "digitize": """The index of each element's bin; the edges ascend or descend.

        ``right`` tells which edge belongs to a bin. ``method`` is one of those of ``searchsorted``
        and has no effect.
        """,
    "interp": """Linear interpolation at ``x`` between the points (``xp``, ``fp``); ``xp`` ascends.

        Args:
          left, right: the values before the first and after the last point; by default that
            point's value.
          period: the period of ``xp``, which then need not be sorted.
        """,
    "quantile": """The ``q``-th quantiles (0 to 1) of the elements.

        Args:
          a: an array; a NaN makes the result NaN.
          q: a scalar, or a vector, which becomes the first dimension of the result.
          axis: one axis or a tuple of axes; all by default.
          out: not supported.
          overwrite_input: ignored.
          method: "linear", "lower", "higher", "midpoint" or "nearest": the value of a quantile
            between two elements; or "inverted_cdf": the smallest element at which the sorted
            weights sum up to ``q`` of their total.
          keepdims: whether the axes stay, with size 1.
          weights: for "inverted_cdf": of the shape of ``a``, or of the size of the one axis;
            default: ones.
        """,
    "nanquantile": "``quantile`` of the elements that are not NaN.",
    "percentile": "``quantile`` with ``q`` from 0 to 100.",
    "nanpercentile": "``percentile`` of the elements that are not NaN.",
    "median": "The middle element along the axes, or the mean of the two middle ones.",
    "nanmedian": "``median`` of the elements that are not NaN.",
    "cumsum": "Cumulative sums along an axis, or of the flattened array.",
    "cumprod": "Cumulative products along an axis, or of the flattened array.",
    "nancumsum": "``cumsum`` with 0 for NaNs.",
    "nancumprod": "``cumprod`` with 1 for NaNs.",
    "cumulative_sum": "``cumsum``; with ``include_initial`` the result begins with 0.",
    "cumulative_prod": "``cumprod``; with ``include_initial`` the result begins with 1.",
    "diff": """Differences of neighbours along an axis, taken ``n`` times.

        Args:
          n: the order; an order of at least the size gives an empty result.
          prepend, append: a number or an array to add at the front or the end first.

        Raises:
          ValueError: for a scalar, and for ``n`` below 0 or above the largest 32-bit integer.
        """,
    "ediff1d": "Differences of neighbours of the flattened array, with values added at both ends.",
    "trapezoid": "The integral of ``y`` over ``x``, or steps of ``dx``, by the trapezoidal rule.",
    "sort_complex": "The elements as complex numbers, by real part and then by imaginary part.",
    "unwrap": """Adds multiples of ``period`` so that neighbours differ by at most half of it.

        Args:
          p: values along ``axis``.
          discont: only larger jumps are changed; half a period by default.
          axis: the axis.
          period: the period of the values.
        """,
}
_ELEMENTS = {
    "round": """Rounds to the given number of decimals, halves to even.

        Raises:
          NotImplementedError: for integers with negative ``decimals``.
          ValueError: if ``10 ** decimals`` is out of the range of the dtype.
        """,
    "around": "Another name for ``round``.",
    "trunc": "The integer part: rounds toward zero.",
    "fix": "The integer part: rounds toward zero.",
    "modf": "The fractional and the integer part, both with the sign of ``x``.",
    "divmod": "The quotient rounded down and the remainder with the sign of the divisor.",
    "fmod": "The remainder with the sign of the dividend.",
    "reciprocal": "1 / x.",
    "float_power": "``x ** y`` in floats.",
    "fabs": "The absolute value, a float.",
    "hypot": "sqrt(x1 ** 2 + x2 ** 2), computed without overflow; not for complex numbers.",
    "fmax": "The larger of two elements; if one is NaN, the other.",
    "fmin": "The smaller of two elements; if one is NaN, the other.",
    "heaviside": "0 for x1 < 0, 1 for x1 > 0, ``x2`` at zero.",
    "log2": "The logarithm to base 2.",
    "log10": "The logarithm to base 10.",
    "logaddexp": "log(exp(x1) + exp(x2)), computed without overflow.",
    "logaddexp2": "log2(2 ** x1 + 2 ** x2), computed without overflow.",
    "ldexp": "x1 * 2 ** x2.",
    "sinc": "sin(pi x) / (pi x); 1 at zero.",
    "degrees": "Converts radians to degrees.",
    "radians": "Converts degrees to radians.",
    "rad2deg": "Another name for ``degrees``.",
    "deg2rad": "Another name for ``radians``.",
    "angle": "The argument (phase angle) of a complex number.",
    "signbit": "Whether the sign bit is set: for negative numbers, -0.0 and NaNs with a sign.",
    "copysign": "``x1`` with the sign of ``x2``.",
    "nextafter": "The float next to ``x`` in the direction of ``y``.",
    "bitwise_count": "The number of 1 bits of the absolute value, as uint8.",
    "isposinf": "Whether an element is +infinity.",
    "isneginf": "Whether an element is -infinity.",
    "isreal": "Whether an element's imaginary part is zero.",
    "iscomplex": "Whether an element's imaginary part is not zero.",
    "isclose": "Whether elements agree within ``atol + rtol * abs(b)``.",
    "allclose": "Whether all elements agree within ``atol + rtol * abs(b)``.",
    "array_equal": "Whether shapes and elements are equal.",
    "array_equiv": "Whether elements are equal once both arrays are broadcast to one shape.",
    "nan_to_num": "Replaces NaN (by 0), infinity (the highest number) and -infinity (the lowest).",
    "select": "The element of the first choice whose condition holds, else ``default``.",
    "packbits": """Packs eight elements into each byte: a bit is set if its element is nonzero.

        Args:
          a: integers or bools.
          axis: the axis; None for the flattened array.
          bitorder: "big", where the first bit is the highest, or "little".

        Raises:
          TypeError: for floats.
          ValueError: for an unknown bitorder.
        """,
    "unpackbits": """Unpacks the bits of each byte into bytes of 0 and 1.

        Args:
          a: an array of dtype uint8.
          axis: the axis of the bits; None for the flattened array.
          count: the number of bits; missing ones are 0. A negative count drops bits at the end.
          bitorder: "big", where the first bit is the highest, or "little".

        Raises:
          TypeError: for other dtypes.
          ValueError: for an unknown bitorder.
        """,
    "spacing": "The distance to the next number of the dtype away from zero.",
}

document(_core.numpy, "farcall.numpy", _ORDER | _ELEMENTS)
