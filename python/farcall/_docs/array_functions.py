"""The docstrings of the functions that farcall.numpy has from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_FLOATS = "a float or complex dtype stays; integers and bools become float32"
_SAME = "the dtype of ``x``"

# Summary, dtype of the result.
_UNARY = {
    "negative": ("-x.", _SAME),
    "positive": ("x itself.", _SAME),
    "abs": ("The absolute value.", "the dtype of ``x``, of its parts where it is complex"),
    "absolute": ("The absolute value.", "the dtype of ``x``, of its parts where it is complex"),
    "sign": ("-1, 0 or 1 by the sign; x / abs(x) of complex numbers.", _SAME),
    "square": ("x * x.", _SAME),
    "floor": ("The largest integer not greater than x.", _SAME),
    "ceil": ("The smallest integer not less than x.", _SAME),
    "rint": ("The nearest whole number, halves to even.", _FLOATS),
    "isfinite": ("Whether an element is neither infinite nor NaN.", "bool"),
    "isnan": ("Whether an element is NaN.", "bool"),
    "isinf": ("Whether an element is infinite, of either sign.", "bool"),
    "real": ("The real part.", "the dtype of the parts"),
    "imag": ("The imaginary part, 0 of real numbers.", "the dtype of the parts"),
    "conj": ("The complex conjugate.", _SAME),
    "conjugate": ("The complex conjugate.", _SAME),
    "logical_not": ("Whether an element is 0.", "bool"),
    "bitwise_not": ("The bits of an integer inverted; not x of a bool.", _SAME),
    "invert": ("The bits of an integer inverted; not x of a bool.", _SAME),
}

_PROMOTED = "the promoted dtype"
_BINARY = {
    "divide": ("x / y, in floats.", "the promoted dtype, float32 for integers"),
    "true_divide": ("x / y, in floats.", "the promoted dtype, float32 for integers"),
    "floor_divide": ("x / y rounded down.", _PROMOTED),
    "remainder": ("The remainder of x / y rounded down, with the sign of y.", _PROMOTED),
    "mod": ("The remainder of x / y rounded down, with the sign of y.", _PROMOTED),
    "power": ("x to the power of y.", _PROMOTED),
    "arctan2": (
        "The angle from -pi to pi of the point (y, x): of the first argument over the second.",
        "the promoted dtype, float32 for integers",
    ),
    "less": ("Whether x is below y.", "bool"),
    "less_equal": ("Whether x is not above y.", "bool"),
    "greater": ("Whether x is above y.", "bool"),
    "greater_equal": ("Whether x is not below y.", "bool"),
    "logical_and": ("Whether neither is 0.", "bool"),
    "logical_or": ("Whether one is not 0.", "bool"),
    "logical_xor": ("Whether exactly one is not 0.", "bool"),
    "left_shift": ("x * 2 ** y, of integers.", _PROMOTED),
    "right_shift": ("x / 2 ** y rounded down, of integers.", _PROMOTED),
}

_OTHERS = {
    "clip": """The elements moved between two bounds.

        Args:
          arr: an array or a number, real.
          min, max: the bounds, broadcast against ``arr``; None for none.

        Returns:
          An array of the promoted dtype. Where ``min`` is above ``max``, this is ``max``.

        Raises:
          TypeError: for what is no array.
          ValueError: for complex numbers, and shapes that do not broadcast.
        """,
    "argmax": """The position of the greatest element; the first of several, the first NaN.

        Args:
          a: an array, not complex.
          axis: the axis to look along; None for the flattened array.
          keepdims: whether the axis stays, with size 1.

        Returns:
          An int32 array.

        Raises:
          TypeError: for what is no array.
          ValueError: for an axis that there is not, or without elements.
        """,
    "argmin": """The position of the least element; the first of several, the first NaN.

        Args:
          a: an array, not complex.
          axis: the axis to look along; None for the flattened array.
          keepdims: whether the axis stays, with size 1.

        Returns:
          An int32 array.

        Raises:
          TypeError: for what is no array.
          ValueError: for an axis that there is not, or without elements.
        """,
    "transpose": """The dimensions in another order.

        Args:
          a: an array.
          axes: for each dimension of the result which one of ``a`` it is; None reverses them.

        Raises:
          TypeError: for what is no array.
          ValueError: for axes that are no permutation.
        """,
    "broadcast_to": """The array repeated along dimensions of size 1 and new leading ones.

        Args:
          array: an array or a number.
          shape: of the result.

        Raises:
          TypeError: for what is no array, or sizes that are no whole numbers.
          ValueError: for a shape that the array does not broadcast to.
        """,
    "expand_dims": """New dimensions of size 1.

        Args:
          a: an array.
          axis: where they lie in the result, one or several.

        Raises:
          TypeError: for what is no array.
          ValueError: for axes out of range, or named twice.
        """,
    "squeeze": """Without dimensions of size 1.

        Args:
          a: an array.
          axis: which of them, one or several; None for all.

        Raises:
          TypeError: for what is no array.
          ValueError: for a dimension of another size.
        """,
    "flip": """The elements in the opposite order.

        Args:
          m: an array.
          axis: along which axes; None for all.

        Raises:
          TypeError: for what is no array.
          ValueError: for axes out of range.
        """,
    "swapaxes": """Two dimensions in each other's place.

        Raises:
          TypeError: for what is no array.
          ValueError: for axes out of range.
        """,
    "astype": """The elements in another dtype.

        Floats lose their fraction in integers; complex numbers lose their imaginary part in reals.

        Args:
          x: an array or a number.
          dtype: what ``numpy.dtype`` accepts.

        Raises:
          TypeError: for what is no array, or a dtype that farcall does not have.
        """,
    "zeros": """An array of zeros.

        Args:
          shape: a whole number or a sequence of them, known when the function is recorded.
          dtype: float32 if left out.

        Raises:
          TypeError: for sizes that are no whole numbers, or a dtype that farcall does not have.
          ValueError: for negative sizes.
        """,
    "ones": """An array of ones.

        Args:
          shape: a whole number or a sequence of them, known when the function is recorded.
          dtype: float32 if left out.

        Raises:
          TypeError: for sizes that are no whole numbers, or a dtype that farcall does not have.
          ValueError: for negative sizes.
        """,
    "full": """An array of one value.

        Args:
          shape: a whole number or a sequence of them, known when the function is recorded.
          fill_value: an array or a number, broadcast to the shape.
          dtype: that of the value if left out.

        Raises:
          TypeError: for sizes that are no whole numbers, or a dtype that farcall does not have.
          ValueError: for negative sizes, and values that do not broadcast.
        """,
    "take": """The elements, or slices, at some places.

        Args:
          a: an array.
          indices: an array of integers, negative ones counted from the end.
          axis: the axis to index; None for the flattened array.
          out: None: arrays are immutable.
          mode: of indices outside: "fill" gives ``fill_value``, "clip" moves them inside, "wrap"
            takes them modulo the size.
          unique_indices, indices_are_sorted: promises about the indices.
          fill_value: NaN, or the greatest integer, if left out.

        Returns:
          An array with the dimensions of ``indices`` in place of the axis.

        Raises:
          TypeError: for what is no array, and indices that are no integers.
          ValueError: for an axis out of range, or another mode.
        """,
    "take_along_axis": """For each index, the element at that place along the axis.

        Args:
          arr: an array.
          indices: integers, of a shape that broadcasts against ``arr`` but along the axis.
          axis: the axis; None for the flattened array.
          mode: of indices outside; see take.
          fill_value: see take.
          wrap_negative_indices: whether negative indices count from the end.

        Raises:
          TypeError: for what is no array, and indices that are no integers.
          ValueError: for shapes that do not fit, or an axis out of range.
        """,
    "put_along_axis": """``arr`` with values put at each index along the axis.

        Args:
          arr: an array.
          indices: integers, of a shape that broadcasts against ``arr`` but along the axis.
          values: broadcast against the indices.
          axis: the axis; None for the flattened array.
          inplace: must be False: arrays are immutable.
          mode: of indices outside; None drops them.

        Raises:
          TypeError: for what is no array, and indices that are no integers.
          ValueError: for shapes that do not fit, an axis out of range, or ``inplace``.
        """,
    "nonzero": """For each dimension, where the elements are that are not 0, row by row.

        Args:
          a: an array.
          size: how many places to give; needed where ``a`` is traced. Left out: all.
          fill_value: what stands behind the last one where there are fewer than ``size``; 0 if left
            out.

        Returns:
          A tuple of int32 vectors.

        Raises:
          TypeError: for what is no array.
          ConcretizationTypeError: for a traced array without ``size``.
          ValueError: for a negative size.
        """,
    "roll": """The elements moved along axes; those that leave come back at the other end.

        Args:
          a: an array.
          shift: by how many places, for all axes or one for each.
          axis: the axes; None for the flattened array.

        Raises:
          TypeError: for what is no array, and shifts that are no integers.
          ValueError: for axes out of range, and shifts that do not fit them.
        """,
    "sort": """The elements in ascending order, NaNs last.

        Args:
          a: an array.
          axis: the axis to sort along; None for the flattened array.
          stable: the order of equal elements stays.
          descending: the other way.

        Raises:
          TypeError: for what is no array.
          ValueError: for an axis out of range.
        """,
    "argsort": """The positions that the elements would be taken from to be in order.

        Args:
          a: an array.
          axis: the axis to sort along; None for the flattened array.
          stable: the order of equal elements stays.
          descending: the other way.

        Returns:
          An int32 array.

        Raises:
          TypeError: for what is no array.
          ValueError: for an axis out of range.
        """,
    "tril": """Matrices with zeros above a diagonal.

        Args:
          m: an array ``[…, n, m]``.
          k: the diagonal: 0 the main one, above it where positive.

        Raises:
          TypeError: for what is no array.
          ValueError: for fewer than two dimensions.
        """,
    "triu": """Matrices with zeros below a diagonal.

        Args:
          m: an array ``[…, n, m]``.
          k: the diagonal: 0 the main one, above it where positive.

        Raises:
          TypeError: for what is no array.
          ValueError: for fewer than two dimensions.
        """,
    "diagonal": """The elements of a diagonal, along a new last dimension.

        Args:
          a: an array.
          offset: the diagonal: 0 the main one, above it where positive.
          axis1, axis2: the dimensions of the matrices.

        Raises:
          TypeError: for what is no array.
          ValueError: for axes out of range, or the same one twice.
        """,
    "split": """The array cut along an axis.

        Args:
          ary: an array.
          indices_or_sections: into how many equal parts, or where to cut.
          axis: the axis.

        Returns:
          A list of arrays.

        Raises:
          TypeError: for what is no array.
          ValueError: for parts that are not equal, or an axis out of range.
        """,
    "tile": """The array repeated side by side.

        Args:
          A: an array.
          reps: how often, along the last dimensions or along new leading ones.

        Raises:
          TypeError: for what is no array, or numbers that are not whole.
          ValueError: for negative numbers.
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
  TypeError: for what is no array.
  ValueError: for a dtype for which this is not defined.
"""
    for name, (summary, dtype) in binary.items():
        docs[name] = f"""{summary}

Args:
  x, y: arrays or numbers, promoted to one dtype and broadcast against each other.

Returns:
  An array of the broadcast shape; its dtype: {dtype}.

Raises:
  TypeError: for what is no array.
  ValueError: for shapes that do not broadcast, or dtypes for which this is not defined.
"""
    return docs


document(_core.numpy, "farcall.numpy", _docs())
