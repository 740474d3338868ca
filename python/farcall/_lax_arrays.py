"""Functions of farcall.lax: sorting, convolutions, Fourier transforms, window reductions."""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from farcall import _core
from farcall.lax._reductions import operands_and_computation

__all__ = [
    "ConvDimensionNumbers",
    "FftType",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_transpose",
    "conv_with_general_padding",
    "fft",
    "padtype_to_pads",
    "reduce_window",
    "sort",
    "sort_key_val",
]

Array = _core.Array
_lax: Any = _core.lax


# ---- sorting -------------------------------------------------------------------------------------


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorts the elements along ``dimension`` in ascending order.

    Args:
      operand: an array, or a sequence of arrays of one shape, which are all sorted by the first
        ``num_keys`` of them.
      dimension: the dimension to sort along.
      is_stable: has no effect: the sort is always stable.
      num_keys: the number of operands that are keys, the most significant first.
    """
    if isinstance(operand, (list, tuple)):
        return tuple(_lax._sort_operands(operand, dimension, is_stable, num_keys))
    return _lax._sort_operands([operand], dimension, is_stable, 1)[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """Sorts ``keys`` along ``dimension`` in ascending order, and ``values`` along with them."""
    return sort((keys, values), dimension, is_stable, 1)


# ---- convolution ---------------------------------------------------------------------------------


class ConvDimensionNumbers(NamedTuple):
    """Positions of the dimensions: batch, feature, spatial (weights: output, input, spatial)."""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Converts strings such as ``("NHWC", "HWIO", "NHWC")`` to dimension numbers.

    None means ``("NCHW", "OIHW", "NCHW")`` for two spatial dimensions.
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if len(rhs_shape) != rank:
        raise ValueError(
            f"conv_general_dilated: the operands differ in rank: {tuple(lhs_shape)} and "
            f"{tuple(rhs_shape)}"
        )
    if dimension_numbers is None:
        order = tuple(range(rank))
        return ConvDimensionNumbers(order, order, order)
    if len(dimension_numbers) != 3:
        raise ValueError(
            "conv_general_dilated: dimension_numbers must have three parts, got "
            f"{dimension_numbers!r}"
        )
    if all(isinstance(part, str) for part in dimension_numbers):
        specs = _lax._conv_specs(*dimension_numbers)
        if len(specs[0]) != rank:
            raise ValueError(
                f"conv_general_dilated: dimension_numbers {dimension_numbers!r} must have a letter "
                f"for each of {rank} dimensions"
            )
        dimension_numbers = specs
    return ConvDimensionNumbers(*dimension_numbers)


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """Converts ``SAME``, ``SAME_LOWER`` or ``VALID`` to pairs of padding before and after."""
    return _lax._padding_for(in_shape, window_shape, window_strides, padding)


def _numbers(lhs: Any, rhs: Any, dimension_numbers: Any, function: str) -> ConvDimensionNumbers:
    x = _core.numpy.as_array(lhs, f"{function}: argument lhs")
    y = _core.numpy.as_array(rhs, f"{function}: argument rhs")
    return conv_dimension_numbers(x.shape, y.shape, dimension_numbers)


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The convolution of ``lhs`` with the weights ``rhs``, without flipping the weights.

    Args:
      window_strides: the step in each spatial dimension.
      padding: ``SAME``, ``SAME_LOWER``, ``VALID``, or a pair for each spatial dimension: the
        zeros before and after; negative numbers crop.
      lhs_dilation, rhs_dilation: the distances between the elements of the operands.
      dimension_numbers: see conv_dimension_numbers.
      feature_group_count, batch_group_count: the number of independent groups that the features, or
        the batch, are split into.
      preferred_element_type: the dtype of the computation.
      precision: for devices that offer a choice; the native engine ignores it.
      out_sharding: accepted for compatibility with JAX; ignored.
    """
    return _lax._conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        _numbers(lhs, rhs, dimension_numbers, "conv_general_dilated"),
        feature_group_count,
        batch_group_count,
        precision,
        preferred_element_type,
    )


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """``conv_general_dilated`` without dilations and groups, with the default dimension order."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """``conv_general_dilated`` without groups, with the default dimension order."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Array:
    """The transpose of a convolution in its left operand, up to padding; it upsamples ``lhs``.

    Args:
      strides: the strides of the transposed convolution, which are dilations of ``lhs`` here.
      padding: ``SAME``, ``VALID`` or pairs, relative to the dilated ``lhs``; with
        use_consistent_padding, relative to the forward convolution.
      dimension_numbers: as for conv_general_dilated; the default has batch first and features last.
      transpose_kernel: flip the weights and exchange their input and output features.
      rhs_dilation, precision, preferred_element_type: as for conv_general_dilated.
    """
    numbers = None
    if dimension_numbers is not None:
        numbers = _numbers(lhs, rhs, dimension_numbers, "conv_transpose")
    return _lax._conv_transpose(
        lhs,
        rhs,
        strides,
        padding,
        rhs_dilation,
        numbers,
        transpose_kernel,
        precision,
        preferred_element_type,
        use_consistent_padding,
    )


# ---- windows -------------------------------------------------------------------------------------


@functools.cache
def _known_computations() -> dict[int, str]:
    """Names of reductions by the ``id`` of the lax function that computes them."""
    functions = {
        "sum": (_lax.add, _core.numpy.add, operator.add, np.add),
        "prod": (_lax.mul, _core.numpy.multiply, operator.mul, np.multiply),
        "max": (_lax.max, _core.numpy.maximum, np.maximum),
        "min": (_lax.min, _core.numpy.minimum, np.minimum),
    }
    return {id(function): name for name, all in functions.items() for function in all}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduces the elements under a window, for each position of the window.

    Args:
      operand: an array, or a pytree of arrays of one shape.
      init_value: the start value of each window, a scalar for each array. It must be the identity
        of the computation, unless that is ``lax.add``, ``lax.mul``, ``lax.max`` or ``lax.min``.
      computation: combines two scalars, or two pytrees of them; must be associative, since the
        order is unspecified. Computations other than these four need memory for all elements of all
        windows.
      window_dimensions: the sizes of the window, one for each dimension.
      window_strides: the steps of the window; 1 by default.
      padding: ``SAME``, ``SAME_LOWER``, ``VALID``, or a pair for each dimension.
      base_dilation, window_dilation: distances between elements of the operand and of the window.

    Raises:
      TypeError: for initial values of another structure, and results of another type.
      ValueError: for windows that do not match the operand.
    """
    window = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    leaves, inits, combined, structure = operands_and_computation(
        "reduce_window", operand, init_value, computation
    )
    known = _known_computations().get(id(computation))
    if known is not None and len(leaves) == 1:
        return structure.unflatten([_lax._reduce_window(leaves[0], inits[0], known, *window)])
    return structure.unflatten(_lax._reduce_window_by(leaves, inits, combined, *window))


# ---- Fourier transforms --------------------------------------------------------------------------


class FftType(enum.IntEnum):
    """The transforms of ``fft``."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The Fourier transform over the last dimensions.

    Args:
      x: an array; complex numbers, or floats for RFFT.
      fft_type: FFT, IFFT, RFFT or IRFFT, as a member of FftType or a string.
      fft_lengths: the sizes of these dimensions; for IRFFT, those of the result.
    """
    if isinstance(fft_type, str):
        name = fft_type.upper()
    else:
        name = getattr(fft_type, "name", None) or FftType(fft_type).name
    return _lax._fft(x, name, fft_lengths)
