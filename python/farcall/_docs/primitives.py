"""Docstrings of functions that farcall.lax takes from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_UNARY = """{summary}

Args:
  x: an array or a number.

Returns:
  An array of the shape of ``x``.

Raises:
  TypeError: for an operand that is not an array.
  ValueError: for unsupported dtypes.
"""

_BINARY = """{summary}

Args:
  x, y: arrays of equal dtype and shape; scalars and numbers are broadcast.

Returns:
  An array of that shape.

Raises:
  TypeError: for an operand that is not an array.
  ValueError: for different dtypes or shapes, and unsupported dtypes.
"""

_REDUCTIONS = {
    "reduce_sum": "The sum of the elements; 0 for empty input.",
    "reduce_prod": "The product of the elements; 1 for empty input.",
    "reduce_max": "The greatest element; for empty input, the lowest number of the dtype.",
    "reduce_min": "The least element; for empty input, the highest number of the dtype.",
    "reduce_and": "The bitwise AND of the elements; integers and bools.",
    "reduce_or": "The bitwise OR of the elements; integers and bools.",
    "reduce_xor": "The bitwise XOR of the elements; integers and bools.",
}

_CUMULATIVE = {
    "cumsum": "Cumulative sums.",
    "cumprod": "Cumulative products.",
    "cummax": "Cumulative maxima.",
    "cummin": "Cumulative minima.",
    "cumlogsumexp": "The log of cumulative sums of exp, computed without overflow; floats.",
}

_SCATTER = {
    "scatter": "replaced by those of ``updates``; the last one wins",
    "scatter_add": "increased by those of ``updates``",
    "scatter_mul": "multiplied by those of ``updates``",
    "scatter_min": "replaced by those of ``updates`` that are smaller",
    "scatter_max": "replaced by those of ``updates`` that are greater",
}

_OTHERS = {
    "argmax": """The index of the greatest element along an axis; the first of equal ones.

        Args:
          operand: an array, not complex.
          axis: the axis.
          index_dtype: an integer dtype of the result.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an axis that is out of range or has no elements, and other index dtypes.
        """,
    "argmin": """The index of the least element along an axis; the first of equal ones.

        Args:
          operand: an array, not complex.
          axis: the axis.
          index_dtype: an integer dtype of the result.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an axis that is out of range or has no elements, and other index dtypes.
        """,
    "broadcast_in_dim": """Repeats the array along new dimensions and those of size 1.

        Args:
          operand: an array or a number.
          shape: the shape of the result.
          broadcast_dimensions: for each dimension of the operand, its position in the result.

        Raises:
          TypeError: for an operand that is not an array, and sizes that are not integers.
          ValueError: for dimensions that do not match.
        """,
    "reshape": """Changes the shape; the elements stay in row-major order.

        Args:
          operand: an array or a number.
          new_sizes: the shape of the result.
          dimensions: the order of the dimensions in which the elements are read.

        Raises:
          TypeError: for an operand that is not an array, and sizes that are not integers.
          ValueError: for a shape with a different number of elements.
        """,
    "transpose": """Permutes the dimensions.

        Args:
          operand: an array.
          permutation: for each dimension of the result, the dimension of the operand.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: if ``permutation`` is not a permutation.
        """,
    "expand_dims": """Adds dimensions of size 1.

        Args:
          array: an array.
          dimensions: their positions in the result.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for dimensions out of range or named twice.
        """,
    "squeeze": """Removes dimensions of size 1.

        Args:
          array: an array.
          dimensions: the dimensions to remove.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for a dimension of another size.
        """,
    "slice": """The elements in a range of indices in each dimension, with steps.

        Args:
          operand: an array.
          start_indices, limit_indices: for each dimension the first index and the index after the
            last one, within the dimension.
          strides: the step in each dimension; None for 1.

        Raises:
          TypeError: for an operand that is not an array, and indices that are not integers.
          ValueError: for indices out of range, or steps that are not positive.
        """,
    "concatenate": """Joins arrays along a dimension.

        Args:
          operands: arrays of one dtype, equal in all other dimensions.
          dimension: the dimension.

        Raises:
          TypeError: if ``operands`` is not a sequence of arrays.
          ValueError: for an empty sequence, and dtypes or shapes that do not match.
        """,
    "rev": """Reverses the order of the elements along dimensions.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for dimensions out of range or named twice.
        """,
    "broadcasted_iota": """An array whose elements are their index along one dimension.

        Args:
          dtype: an integer or a float dtype.
          shape: the shape of the result.
          dimension: the dimension of the indices.

        Raises:
          TypeError: for sizes that are not integers.
          ValueError: for a dimension out of range, and other dtypes.
        """,
    "integer_pow": """x to the power of a Python int.

        Args:
          x: numbers.
          y: a Python int; not negative if ``x`` holds integers.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for a negative power of integers.
        """,
    "round": """Rounds to the nearest integer.

        Args:
          x: floats.
          rounding_method: for halves: RoundingMethod.AWAY_FROM_ZERO or TO_NEAREST_EVEN.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for other dtypes or methods.
        """,
    "convert_element_type": """Converts the elements to another dtype; float to int truncates.

        Args:
          operand: an array or a number.
          new_dtype: anything that ``numpy.dtype`` accepts.

        Raises:
          TypeError: for an operand that is not an array, and unsupported dtypes.
        """,
    "bitcast_convert_type": """Reinterprets the bits as elements of another dtype.

        A narrower dtype adds a last dimension for the parts of each element, the lowest bits first;
        a wider one takes such a dimension away.

        Args:
          operand: an array.
          new_dtype: a dtype of numbers.

        Raises:
          TypeError: for an operand that is not an array, and unsupported dtypes.
          ValueError: if the last dimension does not hold one element of a wider dtype, and between
            complex numbers or bools and a dtype of another width.
        """,
    "reduce_precision": """Rounds floats to a format with fewer bits; the dtype stays.

        Args:
          operand: floats.
          exponent_bits, mantissa_bits: the bits of that format.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for other dtypes, zero exponent bits, and negative numbers.
        """,
    "select_n": """Selects each element from one of several arrays.

        Args:
          which: the index of the case: bools for two cases, otherwise int32; a scalar, or of the
            shape of the cases.
          cases: arrays of equal dtype and shape. False selects the first one.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for different dtypes or shapes, and without cases.
        """,
    "betainc": """The regularized incomplete beta function I_x(a, b); floats.

        Args:
          a, b, x: arrays of one float dtype and shape; scalars are broadcast.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for dtypes or shapes that do not match.
        """,
    "clamp": """Limits ``x`` to the range from ``min`` to ``max``.

        Args:
          min, x, max: arrays of one dtype, not complex; the bounds are scalars or have the shape of
            ``x``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for dtypes or shapes that do not match.
        """,
    "dot_general": """Contracts two arrays over dimensions, for each index of the batch dimensions.

        Args:
          lhs, rhs: arrays.
          dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``,
            sequences of dimensions paired in order.
          precision: for devices that offer a choice; the native engine ignores it.
          preferred_element_type: the dtype of the result; None for the promoted dtype.

        Returns:
          An array with the batch dimensions, then the free dimensions of ``lhs`` and of ``rhs``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for dimensions or sizes that do not match.
        """,
    "dynamic_slice": """A slice of fixed size that starts at computed indices.

        Args:
          operand: an array.
          start_indices: an integer scalar for each dimension, clamped so that the slice lies
            inside.
          slice_sizes: the shape of the result, known when the function is recorded.
          allow_negative_indices: whether negative ones count from the end.

        Raises:
          TypeError: for an operand that is not an array, and indices that are not integers.
          ValueError: for a wrong number of indices, and sizes larger than the operand.
        """,
    "dynamic_update_slice": """``operand`` with a slice replaced that starts at computed indices.

        Args:
          operand: an array.
          update: the new slice, of the same dtype and rank, not larger than the operand.
          start_indices: an integer scalar for each dimension, clamped so that the slice lies
            inside.
          allow_negative_indices: whether negative ones count from the end.

        Raises:
          TypeError: for an operand that is not an array, and indices that are not integers.
          ValueError: for dtypes or shapes that do not match.
        """,
    "pad": """Adds elements before, after and between those of an array.

        Args:
          operand: an array.
          padding_value: a scalar of the same dtype.
          padding_config: for each dimension ``(before, after, between)``; negative numbers before
            and after remove elements.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an invalid configuration.
        """,
    "gather": """Windows of an array at computed indices.

        Args:
          operand: an array.
          start_indices: integers; the last dimension holds the components of an index.
          dimension_numbers: GatherDimensionNumbers.
          slice_sizes: the size of a window in each dimension of the operand.
          unique_indices, indices_are_sorted: promises about the indices.
          mode: for windows out of bounds, a GatherScatterMode or its name: "fill" returns
            ``fill_value``, "clip" moves them inside, "promise_in_bounds" promises that there are
            none. Default: "promise_in_bounds".
          fill_value: default: NaN, or the greatest integer of the dtype.

        Raises:
          TypeError: for an operand that is not an array, and indices that are not integers.
          ValueError: for invalid dimension numbers, and unknown modes.
        """,
    "create_token": """A token, a value that orders foreign calls.""",
    "top_k": """The greatest elements along an axis, in descending order, and their indices.

        Equal elements keep their order. NaN is above all numbers, and 0.0 above -0.0.

        Args:
          operand: an array, not complex.
          k: the number of elements.
          axis: the axis.

        Returns:
          A list of two arrays of size ``k`` along the axis: the elements, and their int32 indices.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an axis out of range, and ``k`` above its size.
        """,
}


def _docs() -> dict[str, str]:
    docs = dict(_OTHERS)
    rows = [
        (name, len(operands), summary) for name, operands, *_, summary in _core.lax._elementwise
    ]
    for name, arity, summary in [*rows, ("stop_gradient", 1, "x, a constant in derivatives.")]:
        docs[name] = (_UNARY if arity == 1 else _BINARY).format(summary=summary)
    for name, summary in _REDUCTIONS.items():
        docs[name] = f"""{summary}

Args:
  operand: an array.
  axes: the axes to reduce; the result lacks them.

Raises:
  TypeError: for an operand that is not an array.
  ValueError: for axes out of range or named twice, and unsupported dtypes.
"""
    for name, summary in _CUMULATIVE.items():
        docs[name] = f"""{summary}

Args:
  operand: an array.
  axis: the axis.
  reverse: whether to start at the end.

Returns:
  An array of the shape and dtype of the operand.

Raises:
  TypeError: for an operand that is not an array.
  ValueError: for an axis out of range, and unsupported dtypes.
"""
    for name, effect in _SCATTER.items():
        docs[name] = f"""The operand with elements at computed indices {effect}.

Args:
  operand: an array.
  scatter_indices: integers; the last dimension holds the components of an index.
  updates: the windows, of the operand's dtype.
  dimension_numbers: ScatterDimensionNumbers.
  indices_are_sorted, unique_indices: promises about the indices.
  mode: for windows out of bounds, a GatherScatterMode or its name: "drop" ignores them, "clip"
    moves them inside, "promise_in_bounds" promises that there are none.

Raises:
  TypeError: for an operand that is not an array, and indices that are not integers.
  ValueError: for invalid dimension numbers, and unknown modes.
"""
    return docs


document(_core.lax, "farcall.lax", _docs())
