"""The docstrings of the functions that farcall.lax has from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_UNARY = """{summary}

Args:
  x: an array or a number.

Returns:
  An array of the shape of ``x``.

Raises:
  TypeError: for what is no array.
  ValueError: for a dtype for which this is not defined.
"""

_BINARY = """{summary}

Args:
  x, y: arrays of one dtype and shape; a scalar or a number is broadcast.

Returns:
  An array of that shape.

Raises:
  TypeError: for what is no array.
  ValueError: for types that differ, or a dtype for which this is not defined.
"""

_REDUCTIONS = {
    "reduce_sum": "The sum of the elements; 0 of none.",
    "reduce_prod": "The product of the elements; 1 of none.",
    "reduce_max": "The greatest element; the lowest number of the dtype of none.",
    "reduce_min": "The least element; the highest number of the dtype of none.",
    "reduce_and": "The bits that all elements have; integers and bools.",
    "reduce_or": "The bits that one element has; integers and bools.",
}

_CUMULATIVE = {
    "cumsum": "Running sums.",
    "cumprod": "Running products.",
    "cummax": "The greatest element so far.",
    "cummin": "The least element so far.",
    "cumlogsumexp": "log of running sums of exp, without overflow on the way; floats.",
}

_SCATTER = {
    "scatter": "replaced by those of ``updates``; the last of several stays",
    "scatter_add": "increased by those of ``updates``",
    "scatter_mul": "multiplied by those of ``updates``",
    "scatter_min": "replaced where those of ``updates`` are smaller",
    "scatter_max": "replaced where those of ``updates`` are greater",
}

_OTHERS = {
    "argmax": """The position of the greatest element along an axis; the first of several.

        Args:
          operand: an array, not complex.
          axis: the axis.
          index_dtype: an integer dtype of the result.

        Raises:
          TypeError: for what is no array.
          ValueError: for an axis out of range or without elements, or another dtype.
        """,
    "argmin": """The position of the least element along an axis; the first of several.

        Args:
          operand: an array, not complex.
          axis: the axis.
          index_dtype: an integer dtype of the result.

        Raises:
          TypeError: for what is no array.
          ValueError: for an axis out of range or without elements, or another dtype.
        """,
    "broadcast_in_dim": """The array repeated along new dimensions and those of size 1.

        Args:
          operand: an array or a number.
          shape: of the result.
          broadcast_dimensions: for each dimension of the operand, which one of the result it is.

        Raises:
          TypeError: for what is no array, or sizes that are no whole numbers.
          ValueError: for dimensions that do not fit.
        """,
    "reshape": """The elements in another shape, row by row.

        Args:
          operand: an array or a number.
          new_sizes: of the result.

        Raises:
          TypeError: for what is no array, or sizes that are no whole numbers.
          ValueError: for a shape of another number of elements.
        """,
    "transpose": """The dimensions in another order.

        Args:
          operand: an array.
          permutation: for each dimension of the result which one of the operand it is.

        Raises:
          TypeError: for what is no array.
          ValueError: for what is no permutation.
        """,
    "expand_dims": """New dimensions of size 1.

        Args:
          array: an array.
          dimensions: where they lie in the result.

        Raises:
          TypeError: for what is no array.
          ValueError: for dimensions out of range or named twice.
        """,
    "squeeze": """Without some dimensions of size 1.

        Args:
          array: an array.
          dimensions: which.

        Raises:
          TypeError: for what is no array.
          ValueError: for a dimension of another size.
        """,
    "slice": """The elements from some places to others, in steps.

        Args:
          operand: an array.
          start_indices, limit_indices: for each dimension the first place and the one behind the
            last, within the dimension.
          strides: for each dimension the step; None for 1.

        Raises:
          TypeError: for what is no array, and indices that are no whole numbers.
          ValueError: for indices out of range, or steps that are not positive.
        """,
    "concatenate": """Arrays one behind the other along a dimension.

        Args:
          operands: arrays of one dtype and of equal sizes but along the dimension.
          dimension: the dimension.

        Raises:
          TypeError: for what is no sequence of arrays.
          ValueError: for no arrays, dtypes and shapes that do not fit.
        """,
    "rev": """The elements in the opposite order along dimensions.

        Raises:
          TypeError: for what is no array.
          ValueError: for dimensions out of range or named twice.
        """,
    "broadcasted_iota": """The positions along one dimension, as an array of a shape.

        Args:
          dtype: an integer or a float dtype.
          shape: of the result.
          dimension: the one that is counted.

        Raises:
          TypeError: for sizes that are no whole numbers.
          ValueError: for a dimension out of range, or another dtype.
        """,
    "integer_pow": """x to the power of a known whole number.

        Args:
          x: numbers.
          y: a Python int; for integers not negative.

        Raises:
          TypeError: for what is no array.
          ValueError: for a negative power of integers.
        """,
    "round": """The nearest whole number.

        Args:
          x: floats.
          rounding_method: RoundingMethod.AWAY_FROM_ZERO or TO_NEAREST_EVEN, for halves.

        Raises:
          TypeError: for what is no array.
          ValueError: for another dtype or method.
        """,
    "convert_element_type": """The elements in another dtype; fractions are cut off in integers.

        Args:
          operand: an array or a number.
          new_dtype: what ``numpy.dtype`` accepts.

        Raises:
          TypeError: for what is no array, or a dtype that farcall does not have.
        """,
    "bitcast_convert_type": """The same bits as elements of another dtype.

        Args:
          operand: an array.
          new_dtype: of the same width.

        Raises:
          TypeError: for what is no array, or a dtype that farcall does not have.
          ValueError: for a dtype of another width.
        """,
    "reduce_precision": """Floats rounded as if they had fewer bits; the dtype stays.

        Args:
          operand: floats.
          exponent_bits, mantissa_bits: how many are kept.

        Raises:
          TypeError: for what is no array.
          ValueError: for another dtype, no exponent bits or negative numbers.
        """,
    "select_n": """For each element the case that ``which`` numbers.

        Args:
          which: bools, for two cases, or int32 numbers of the cases; a scalar, or of their shape.
          cases: arrays of one type. The first one is that of False.

        Raises:
          TypeError: for what is no array.
          ValueError: for types that differ, or no cases.
        """,
    "betainc": """The regularised incomplete beta function I_x(a, b); floats.

        Args:
          a, b, x: arrays of one float dtype and shape, or scalars.

        Raises:
          TypeError: for what is no array.
          ValueError: for types that do not fit.
        """,
    "clamp": """``x`` moved between ``min`` and ``max``.

        Args:
          min, x, max: arrays of one dtype, not complex; the bounds are scalars or of the shape of
            ``x``.

        Raises:
          TypeError: for what is no array.
          ValueError: for types that do not fit.
        """,
    "dot_general": """Sums of products over dimensions, for each element of batch dimensions.

        Args:
          lhs, rhs: arrays.
          dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``,
            sequences of dimensions that belong together in order.
          precision: is checked; without effect on the CPU.
          preferred_element_type: the dtype of the result; None for the promoted one.

        Returns:
          An array of the batch dimensions, then those left of ``lhs``, then those left of ``rhs``.

        Raises:
          TypeError: for what is no array.
          ValueError: for dimensions or sizes that do not fit.
        """,
    "dynamic_slice": """The part of some sizes that begins at computed places.

        Args:
          operand: an array.
          start_indices: for each dimension an integer scalar; they are moved so that the part lies
            inside.
          slice_sizes: of the result, known when the function is recorded.
          allow_negative_indices: whether negative ones count from the end.

        Raises:
          TypeError: for what is no array, and indices that are no integers.
          ValueError: for numbers of indices, or sizes, that do not fit.
        """,
    "dynamic_update_slice": """``operand`` with a part replaced that begins at computed places.

        Args:
          operand: an array.
          update: the part, of the same dtype and rank, not larger.
          start_indices: for each dimension an integer scalar; they are moved so that the part lies
            inside.
          allow_negative_indices: whether negative ones count from the end.

        Raises:
          TypeError: for what is no array, and indices that are no integers.
          ValueError: for types that do not fit.
        """,
    "pad": """Elements added before, after and between those of an array.

        Args:
          operand: an array.
          padding_value: a scalar of the same dtype.
          padding_config: for each dimension ``(before, after, between)``; negative numbers before
            and after take elements away.

        Raises:
          TypeError: for what is no array.
          ValueError: for numbers that do not fit.
        """,
    "gather": """Windows of an array at computed places.

        Args:
          operand: an array.
          start_indices: integers; along the last dimension the components of one index.
          dimension_numbers: GatherDimensionNumbers.
          slice_sizes: for each dimension of the operand the size of a window.
          unique_indices, indices_are_sorted: promises about the indices.
          mode: of windows that do not lie inside, GatherScatterMode or its name: "fill" gives
            ``fill_value``, "clip" moves them inside, "promise_in_bounds" says that there are none.
          fill_value: NaN, or the greatest integer, if left out.

        Raises:
          TypeError: for what is no array, and indices that are no integers.
          ValueError: for dimension numbers that do not fit, or another mode.
        """,
    "create_token": """A token, by which foreign calls are kept in order.""",
    "top_k": """The greatest elements along an axis, in descending order, and where they are.

        Among equal ones the first comes first. NaN is above all numbers, and 0.0 above -0.0.

        Args:
          operand: an array, not complex.
          k: how many.
          axis: the axis.

        Returns:
          A list of two arrays of size ``k`` along the axis: the elements, and their places, int32.

        Raises:
          TypeError: for what is no array.
          ValueError: for an axis out of range, or more than there are.
        """,
}


def _docs() -> dict[str, str]:
    docs = dict(_OTHERS)
    rows = [
        (name, len(operands), summary) for name, operands, *_, summary in _core.lax._elementwise
    ]
    for name, arity, summary in [*rows, ("stop_gradient", 1, "x, a constant to differentiation.")]:
        docs[name] = (_UNARY if arity == 1 else _BINARY).format(summary=summary)
    for name, summary in _REDUCTIONS.items():
        docs[name] = f"""{summary}

Args:
  operand: an array.
  axes: the axes to reduce over; the result is without them.

Raises:
  TypeError: for what is no array.
  ValueError: for axes out of range or named twice, or a dtype for which this is not defined.
"""
    for name, summary in _CUMULATIVE.items():
        docs[name] = f"""{summary}

Args:
  operand: an array.
  axis: the axis to run along.
  reverse: whether to begin at the end.

Returns:
  An array of the shape and dtype of the operand.

Raises:
  TypeError: for what is no array.
  ValueError: for an axis out of range, or a dtype for which this is not defined.
"""
    for name, effect in _SCATTER.items():
        docs[name] = f"""The operand with elements at computed places {effect}.

Args:
  operand: an array.
  scatter_indices: integers; along the last dimension the components of one index.
  updates: windows, of the operand's dtype.
  dimension_numbers: ScatterDimensionNumbers.
  indices_are_sorted, unique_indices: promises about the indices.
  mode: of windows that do not lie inside, GatherScatterMode or its name: "drop" leaves them out,
    "clip" moves them inside, "promise_in_bounds" says that there are none.

Raises:
  TypeError: for what is no array, and indices that are no integers.
  ValueError: for dimension numbers that do not fit, or another mode.
"""
    return docs


document(_core.lax, "farcall.lax", _docs())
