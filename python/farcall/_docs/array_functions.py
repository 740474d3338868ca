"""Docstrings of functions that farcall.numpy takes from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_FLOATS = "that of ``x`` if float or complex, float32 for integers and bools"
_SAME = "the dtype of ``x``"

# Summary, dtype of the result.
_UNARY = {
    "negative": ("-x.", _SAME),
    "positive": ("x itself.", _SAME),
    "abs": ("The absolute value.", "the dtype of ``x``, or of its real part if complex"),
    "absolute": ("The absolute value.", "the dtype of ``x``, or of its real part if complex"),
    "sign": ("-1, 0 or 1, the sign of x; x / abs(x) for complex numbers.", _SAME),
    "square": ("x * x.", _SAME),
    "floor": ("The greatest integer that is not above x.", _SAME),
    "ceil": ("The least integer that is not below x.", _SAME),
    "rint": ("The nearest integer, halves to even.", _FLOATS),
    "isfinite": ("Whether an element is neither infinite nor NaN.", "bool"),
    "isnan": ("Whether an element is NaN.", "bool"),
    "isinf": ("Whether an element is infinite, of either sign.", "bool"),
    "real": ("The real part.", "the dtype of the real part"),
    "imag": ("The imaginary part, 0 for real numbers.", "the dtype of the real part"),
    "conj": ("The complex conjugate.", _SAME),
    "conjugate": ("The complex conjugate.", _SAME),
    "logical_not": ("Whether an element is 0.", "bool"),
    "bitwise_not": ("The inverted bits of an integer; the negation of a bool.", _SAME),
    "invert": ("The inverted bits of an integer; the negation of a bool.", _SAME),
}

_PROMOTED = "the promoted dtype"
_BINARY = {
    "divide": ("x / y, in floats.", "the promoted dtype, float32 for integers"),
    "true_divide": ("x / y, in floats.", "the promoted dtype, float32 for integers"),
    "floor_divide": ("x / y rounded down.", _PROMOTED),
    "remainder": ("The remainder of floor division; it has the sign of y.", _PROMOTED),
    "mod": ("The remainder of floor division; it has the sign of y.", _PROMOTED),
    "power": ("x to the power of y.", _PROMOTED),
    "arctan2": (
        "arctan(x / y), an angle in [-pi, pi] in the quadrant of the signs of x and y.",
        "the promoted dtype, float32 for integers",
    ),
    "less": ("Whether x < y.", "bool"),
    "less_equal": ("Whether x <= y.", "bool"),
    "greater": ("Whether x > y.", "bool"),
    "greater_equal": ("Whether x >= y.", "bool"),
    "logical_and": ("Whether both are nonzero.", "bool"),
    "logical_or": ("Whether at least one is nonzero.", "bool"),
    "logical_xor": ("Whether exactly one is nonzero.", "bool"),
    "left_shift": ("x * 2 ** y, for integers.", _PROMOTED),
    "right_shift": ("x / 2 ** y rounded down, for integers.", _PROMOTED),
}

_OTHERS = {
    "clip": """Limits the elements to the range from ``min`` to ``max``.

        Args:
          arr: an array or a number, real.
          min, max: the bounds, broadcast against ``arr``; None for no bound.

        Returns:
          An array of the promoted dtype. Where ``min`` is above ``max``, the result is ``max``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for complex numbers, and shapes that do not broadcast.
        """,
    "argmax": """The index of the greatest element; the first of equal ones, or the first NaN.

        Args:
          a: an array, not complex.
          axis: the axis to search; None for the flattened array.
          out: must be None.
          keepdims: whether the axis stays, with size 1.

        Returns:
          An int32 array.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an axis that is out of range or has no elements.
        """,
    "argmin": """The index of the least element; the first of equal ones, or the first NaN.

        Args:
          a: an array, not complex.
          axis: the axis to search; None for the flattened array.
          keepdims: whether the axis stays, with size 1.

        Returns:
          An int32 array.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an axis that is out of range or has no elements.
        """,
    "transpose": """Permutes the dimensions.

        Args:
          a: an array.
          axes: for each dimension of the result, the dimension of ``a``; None reverses them.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for axes that are not a permutation.
        """,
    "broadcast_to": """Repeats the array along dimensions of size 1 and new leading dimensions.

        Args:
          array: an array or a number.
          shape: the shape of the result.

        Raises:
          TypeError: for an operand that is not an array, and sizes that are not integers.
          ValueError: for a shape that the array does not broadcast to.
        """,
    "expand_dims": """Adds dimensions of size 1.

        Args:
          a: an array.
          axis: their positions in the result, one or several.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for axes out of range, or named twice.
        """,
    "squeeze": """Removes dimensions of size 1.

        Args:
          a: an array.
          axis: the dimensions to remove, one or several; None for all of size 1.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for a dimension of another size.
        """,
    "flip": """Reverses the order of the elements.

        Args:
          m: an array.
          axis: the axes to reverse; None for all.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for axes out of range.
        """,
    "swapaxes": """Exchanges two dimensions.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for axes out of range.
        """,
    "astype": """Converts the elements to another dtype.

        Floats become integers by truncation toward zero; complex numbers become real numbers by
        dropping the imaginary part.

        Args:
          x: an array or a number.
          dtype: anything that ``numpy.dtype`` accepts.
          copy: ignored; arrays are immutable.
          device: where the array is put, as in ``device_put``.

        Raises:
          TypeError: for an operand that is not an array, and unsupported dtypes.
        """,
    "zeros": """An array of zeros.

        Args:
          shape: an integer or a sequence of integers, known when the function is recorded.
          dtype: float32 by default.
          device: where the array is put, as in ``device_put``.

        Raises:
          TypeError: for sizes that are not integers, and unsupported dtypes.
          ValueError: for negative sizes.
        """,
    "ones": """An array of ones.

        Args:
          shape: an integer or a sequence of integers, known when the function is recorded.
          dtype: float32 by default.
          device: where the array is put, as in ``device_put``.

        Raises:
          TypeError: for sizes that are not integers, and unsupported dtypes.
          ValueError: for negative sizes.
        """,
    "full": """An array filled with one value.

        Args:
          shape: an integer or a sequence of integers, known when the function is recorded.
          fill_value: an array or a number, broadcast to the shape.
          dtype: that of the value by default.

        Raises:
          TypeError: for sizes that are not integers, and unsupported dtypes.
          ValueError: for negative sizes, and values that do not broadcast.
        """,
    "take": """The elements, or slices, at the given indices.

        Args:
          a: an array.
          indices: an array of integers; negative ones count from the end.
          axis: the axis to index; None for the flattened array.
          out: must be None: arrays are immutable.
          mode: for indices out of range: "fill" returns ``fill_value``, "clip" uses the nearest
            valid index, "wrap" takes them modulo the size.
          unique_indices, indices_are_sorted: promises about the indices.
          fill_value: default: NaN, or the greatest integer of the dtype.

        Returns:
          An array in which the dimensions of ``indices`` replace the axis.

        Raises:
          TypeError: for an operand that is not an array, and indices that are not integers.
          ValueError: for an axis out of range, and unknown modes.
        """,
    "take_along_axis": """The elements at the given indices along the axis.

        Args:
          arr: an array.
          indices: integers, of a shape that broadcasts against ``arr`` in the other dimensions.
          axis: the axis; None for the flattened array.
          mode: for indices out of range; see take.
          fill_value: see take.
          wrap_negative_indices: whether negative indices count from the end.

        Raises:
          TypeError: for an operand that is not an array, and indices that are not integers.
          ValueError: for shapes that do not match, or an axis out of range.
        """,
    "put_along_axis": """``arr`` with values written at the given indices along the axis.

        Args:
          arr: an array.
          indices: integers, of a shape that broadcasts against ``arr`` in the other dimensions.
          values: broadcast against the indices.
          axis: the axis; None for the flattened array.
          inplace: must be False: arrays are immutable.
          mode: for indices out of range; None drops them.

        Raises:
          TypeError: for an operand that is not an array, and indices that are not integers.
          ValueError: for shapes that do not match, an axis out of range, or ``inplace``.
        """,
    "nonzero": """The indices of the nonzero elements along each dimension, in row-major order.

        Args:
          a: an array.
          size: the size of the result; required if ``a`` is traced. Default: the number found.
          fill_value: pads the result if fewer than ``size`` are found; 0 by default.

        Returns:
          A tuple of int32 vectors.

        Raises:
          TypeError: for an operand that is not an array.
          ConcretizationTypeError: for a traced array without ``size``.
          ValueError: for a negative size.
        """,
    "roll": """Shifts the elements along axes; those shifted out reappear at the other end.

        Args:
          a: an array.
          shift: the number of positions, one for all axes or one for each.
          axis: the axes; None for the flattened array.

        Raises:
          TypeError: for an operand that is not an array, and shifts that are not integers.
          ValueError: for axes out of range, and a wrong number of shifts.
        """,
    "sort": """The elements in ascending order, NaNs last.

        Args:
          a: an array.
          axis: the axis to sort along; None for the flattened array.
          kind: must be None; all sorts are stable.
          order: must be None; arrays have no fields.
          stable: whether equal elements keep their order.
          descending: whether to sort in descending order.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an axis out of range.
        """,
    "argsort": """The indices that would sort the elements in ascending order, NaNs last.

        Args:
          a: an array.
          axis: the axis to sort along; None for the flattened array.
          kind: must be None; all sorts are stable.
          order: must be None; arrays have no fields.
          stable: whether equal elements keep their order.
          descending: whether to sort in descending order.

        Returns:
          An int32 array.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for an axis out of range.
        """,
    "tril": """Sets the elements above a diagonal to zero.

        Args:
          m: an array ``[…, n, m]``.
          k: the diagonal; 0 is the main one, positive ones are above it.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for fewer than two dimensions.
        """,
    "triu": """Sets the elements below a diagonal to zero.

        Args:
          m: an array ``[…, n, m]``.
          k: the diagonal; 0 is the main one, positive ones are above it.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for fewer than two dimensions.
        """,
    "diagonal": """The elements of a diagonal, in a new last dimension.

        Args:
          a: an array.
          offset: the diagonal; 0 is the main one, positive ones are above it.
          axis1, axis2: the two dimensions that form the matrices.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for axes out of range, or the same one twice.
        """,
    "split": """Splits the array along an axis.

        Args:
          ary: an array.
          indices_or_sections: the number of equal parts, or the indices to split at.
          axis: the axis.

        Returns:
          A list of arrays.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: if the axis is out of range, or its size is not divisible into the parts.
        """,
    "tile": """Repeats the array along its dimensions.

        Args:
          A: an array.
          reps: the number of copies, for the last dimensions or for new leading ones.

        Raises:
          TypeError: for an operand that is not an array, and counts that are not integers.
          ValueError: for negative counts.
        """,
}


def _docs() -> dict[str, str]:
    docs = dict(_OTHERS)
    unary, binary = dict(_UNARY), dict(_BINARY)
    results = {name: result for name, _, _, result, *_ in _core.lax._elementwise}
    for name, operands, function, summary in _core.numpy._elementwise:
        if len(operands) == 1:
            unary[name] = (summary, _FLOATS)
        else:
            binary[name] = (summary, "bool" if results[function] == "kBool" else _PROMOTED)
    for name, (summary, dtype) in unary.items():
        docs[name] = f"""{summary}

Args:
  x: an array or a number.

Returns:
  An array of the shape of ``x``; its dtype: {dtype}.

Raises:
  TypeError: for an operand that is not an array.
  ValueError: for unsupported dtypes.
"""
    for name, (summary, dtype) in binary.items():
        docs[name] = f"""{summary}

Args:
  x, y: arrays or numbers, promoted to one dtype and broadcast against each other.

Returns:
  An array of the broadcast shape; its dtype: {dtype}.

Raises:
  TypeError: for an operand that is not an array.
  ValueError: for shapes that do not broadcast, and unsupported dtypes.
"""
    return docs


document(_core.numpy, "farcall.numpy", _docs())
