"""The docstrings of numpy's functions of order and neighbours, and of single elements."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_ORDER = {
    "lexsort": "The positions that sort by the last of ``keys``, where it ties by earlier ones.",
    "partition": "``a`` with element ``kth`` where it is when sorted, the smaller ones before it.",
    "argpartition": "The positions that ``partition`` takes the elements from.",
    "searchsorted": """Where elements of ``v`` would have to be inserted into a sorted ``a``.

        Args:
          a: a vector, sorted.
          v: what to look for; the result, int32, has its shape.
          side: before (``left``) or after (``right``) the elements that are equal.
          sorter: positions that sort ``a``, if it is not.
          method: of JAX; one serves for all.
        """,
    "digitize": "The number of the bin, between rising or falling edges, of each element.",
    "interp": """The values at ``x`` of the line through the points (``xp``, ``fp``), ``xp`` rising.

        Args:
          left, right: what counts before the first and after the last point; that point's value
            if left out.
          period: of ``xp``, which then need not rise.
        """,
    "quantile": """The values below which the parts ``q`` (0 to 1) of the elements lie.

        Args:
          a: an array; a NaN makes the result NaN.
          q: a scalar or a vector, whose dimension then is the first of the result.
          axis: one axis or several; all of them if left out.
          out: not supported.
          overwrite_input: changes nothing.
          method: "linear", "lower", "higher", "midpoint" or "nearest": what is taken where the
            part ends between two elements.
          keepdims: keep the axes, with size one.
        """,
    "nanquantile": "``quantile`` of the elements that are not NaN.",
    "percentile": "``quantile`` with ``q`` from 0 to 100.",
    "nanpercentile": "``percentile`` of the elements that are not NaN.",
    "median": "The middle element along the axes, or the mean of the middle two.",
    "nanmedian": "``median`` of the elements that are not NaN.",
    "cumsum": "Sums of the elements up to each one along an axis, or of the flattened array.",
    "cumprod": "Products of the elements up to each one along an axis.",
    "nancumsum": "``cumsum`` with 0 for NaNs.",
    "nancumprod": "``cumprod`` with 1 for NaNs.",
    "cumulative_sum": "``cumsum``, with the empty sum before it if ``include_initial``.",
    "cumulative_prod": "``cumprod``, with the empty product before it if ``include_initial``.",
    "diff": """Differences of neighbours along an axis, ``n`` times over.

        Args:
          n: how often; more often than there are elements leaves none.
          prepend, append: a number or an array that is put before or behind first.

        Raises:
          ValueError: for a scalar, and for ``n`` below 0 or above the largest 32-bit integer.
        """,
    "ediff1d": "Differences of neighbours of the flattened array, with these before and behind.",
    "trapezoid": "The area under lines through ``y`` at ``x``, or at steps of ``dx``.",
    "sort_complex": "The elements as complex numbers, by real part and then by imaginary part.",
    "unwrap": """``p`` plus multiples of ``period``: neighbours differ by half of it at most.

        Args:
          p: values along ``axis``.
          discont: only larger jumps are changed; half a period if left out.
          axis: along which the neighbours lie.
          period: of the values.
        """,
}
_ELEMENTS = {
    "round": """``a`` rounded to so many decimals, halves to even.

        Raises:
          NotImplementedError: for integers with negative ``decimals``.
          ValueError: where ten to the power of ``decimals`` leaves the range of the dtype.
        """,
    "around": "``round``, by its other name.",
    "trunc": "The whole part, toward zero.",
    "fix": "The whole part, toward zero.",
    "modf": "The fractional and the whole part, both with the sign of ``x``.",
    "divmod": "The quotient rounded down and the remainder with the sign of the divisor.",
    "fmod": "The remainder with the sign of the dividend.",
    "reciprocal": "1 / x.",
    "float_power": "``x ** y`` in floats.",
    "fabs": "The absolute value, a float.",
    "hypot": "sqrt(x1 ** 2 + x2 ** 2), without overflow on the way; not of complex numbers.",
    "fmax": "The larger one; the other where one is NaN.",
    "fmin": "The smaller one; the other where one is NaN.",
    "heaviside": "0 below zero, 1 above, ``x2`` at zero.",
    "log2": "The logarithm to base 2.",
    "log10": "The logarithm to base 10.",
    "logaddexp": "log(exp(x1) + exp(x2)), without overflow on the way.",
    "logaddexp2": "log2(2 ** x1 + 2 ** x2), without overflow on the way.",
    "ldexp": "x1 * 2 ** x2.",
    "sinc": "sin(pi x) / (pi x), 1 at zero.",
    "degrees": "Radians in degrees.",
    "radians": "Degrees in radians.",
    "rad2deg": "``degrees``, by its other name.",
    "deg2rad": "``radians``, by its other name.",
    "angle": "The angle of a complex number in its plane.",
    "signbit": "Whether the sign bit is set: below zero, -0.0, and NaNs that have it.",
    "copysign": "``x1`` with the sign of ``x2``.",
    "nextafter": "The float next to ``x`` in the direction of ``y``.",
    "bitwise_count": "The number of ones in the binary form of the absolute value, uint8.",
    "isposinf": "Whether an element is infinity.",
    "isneginf": "Whether an element is minus infinity.",
    "isreal": "Whether an element's imaginary part is zero.",
    "iscomplex": "Whether an element's imaginary part is not zero.",
    "isclose": "Whether elements agree within ``atol + rtol * abs(b)``.",
    "allclose": "Whether all elements agree within ``atol + rtol * abs(b)``.",
    "array_equal": "Whether shapes and elements are equal.",
    "array_equiv": "Whether elements are equal once both arrays are broadcast to one shape.",
    "nan_to_num": "``x`` with numbers for NaN, infinity (the highest) and -infinity (the lowest).",
    "select": "From the first choice whose condition holds, else ``default``.",
    "packbits": """Eight elements in each byte: bits that say which are not zero.

        Args:
          a: integers or bools.
          axis: along which; None: of all elements, in one dimension.
          bitorder: "big" where the first bit is the highest, or "little".

        Raises:
          TypeError: for floats.
          ValueError: for another bitorder.
        """,
    "unpackbits": """The bits of each byte, as bytes of 0 and 1.

        Args:
          a: of dtype uint8.
          axis: along which they come; None: of all elements, in one dimension.
          count: how many bits are wanted, zeros where there are fewer; negative: so many less.
          bitorder: "big" where the first bit is the highest, or "little".

        Raises:
          TypeError: for another dtype.
          ValueError: for another bitorder.
        """,
    "spacing": "The distance to the next number of the dtype, away from zero.",
}

document(_core.numpy, "farcall.numpy", _ORDER | _ELEMENTS)
