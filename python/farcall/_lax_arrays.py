"""The functions of farcall.lax that sort, convolve, transform, and reduce windows."""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from farcall import _core
from farcall.lax._precision import canonicalize_precision

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
    """Elements in rising order along ``dimension``.

    Args:
      operand: an array, or a sequence of arrays of one shape, which are all brought into the order
        of the first ``num_keys`` of them.
      dimension: what to sort along.
      is_stable: equal elements keep their order, as they do in any case.
      num_keys: how many operands decide, the first of them first.
    """
    if isinstance(operand, (list, tuple)):
        return tuple(_lax._sort_operands(operand, dimension, is_stable, num_keys))
    return _lax._sort_operands([operand], dimension, is_stable, 1)[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """``keys`` in rising order along ``dimension``, and ``values`` moved with them."""
    return sort((keys, values), dimension, is_stable, 1)


# ---- convolution ---------------------------------------------------------------------------------


class ConvDimensionNumbers(NamedTuple):
    """The order of dimensions: batch, features, spatial ones (of the weights: output, input)."""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """The numbers that stand for strings such as ``("NHWC", "HWIO", "NHWC")``.

    None stands for batch and features first, output and input features first.
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
    """What ``SAME``, ``SAME_LOWER`` and ``VALID`` stand for: zeros before and behind."""
    sizes = (_sizes(each, 0) for each in (in_shape, window_shape, window_strides))
    return _lax._padding_for(padding, *sizes)


def _sizes(values: Any, count: int, default: int = 1) -> list[int]:
    if values is None:
        return [default] * count
    return list(_core.to_sizes(values, "window, strides and dilations"))


def _dilated(sizes: Sequence[int], dilations: Sequence[int]) -> list[int]:
    return [(n - 1) * d + 1 if n > 0 else 0 for n, d in zip(sizes, dilations, strict=True)]


def _same_dtype(lhs: Any, rhs: Any, preferred: Any, function: str) -> tuple[Array, Array]:
    x = _core.numpy.as_array(lhs, f"{function}: argument lhs")
    y = _core.numpy.as_array(rhs, f"{function}: argument rhs")
    if preferred is not None:
        x, y = (_lax.convert_element_type(each, preferred) for each in (x, y))
    return x, y


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
    """The weights ``rhs`` moved over ``lhs``; at each place the sum of the products.

    Args:
      window_strides: the steps in each spatial dimension.
      padding: ``SAME``, ``SAME_LOWER``, ``VALID``, or a pair for each spatial dimension: zeros
        before and behind; negative numbers cut off.
      lhs_dilation, rhs_dilation: distances between the elements of the operands.
      dimension_numbers: see conv_dimension_numbers.
      feature_group_count, batch_group_count: features, or the batch, are split into so many groups
        that do not see one another.
      preferred_element_type: the dtype to compute in.
      precision: is checked; without effect on the CPU.
      out_sharding: for programs written for JAX; without effect.
    """
    canonicalize_precision(precision)
    x, y = _same_dtype(lhs, rhs, preferred_element_type, "conv_general_dilated")
    numbers = conv_dimension_numbers(x.shape, y.shape, dimension_numbers)
    count = x.ndim - 2
    return _lax._conv_general_dilated(
        x,
        y,
        _sizes(window_strides, count),
        padding,
        _sizes(lhs_dilation, count),
        _sizes(rhs_dilation, count),
        numbers,
        feature_group_count,
        batch_group_count,
    )


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """``conv_general_dilated`` without dilations, groups and another order of dimensions."""
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
    """``conv_general_dilated`` without groups and another order of dimensions."""
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
    """The transpose of a convolution in its left operand, up to padding: it makes ``lhs`` larger.

    Args:
      strides: of the convolution that is transposed; the distances between elements here.
      padding: ``SAME``, ``VALID`` or pairs, in terms of the dilated ``lhs``; with
        use_consistent_padding in terms of the convolution that is transposed.
      dimension_numbers: as for conv_general_dilated; batch and features last by default.
      transpose_kernel: turn the weights round and exchange their features.
      rhs_dilation, precision, preferred_element_type: as for conv_general_dilated.
    """
    canonicalize_precision(precision)
    x, y = _same_dtype(lhs, rhs, preferred_element_type, "conv_transpose")
    count = x.ndim - 2
    numbers = None
    if dimension_numbers is not None:
        numbers = conv_dimension_numbers(x.shape, y.shape, dimension_numbers)
    return _lax._conv_transpose(
        x,
        y,
        _sizes(strides, count),
        padding,
        _sizes(rhs_dilation, count),
        numbers,
        transpose_kernel,
        use_consistent_padding,
    )


# ---- windows -------------------------------------------------------------------------------------


def _monoid(computation: Any, init_value: Any, dtype: Any) -> str:
    """Which reduction adds up to what ``computation`` does."""
    known = {"add": "sum", "mul": "prod", "max": "max", "min": "min", "maximum": "max"}
    known |= {"minimum": "min", "multiply": "prod"}
    name = getattr(computation, "__name__", "")
    if name not in known:
        raise NotImplementedError(
            "reduce_window: the computation must be lax.add, lax.mul, lax.max or lax.min, got "
            f"{computation!r}"
        )
    return known[name]


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array:
    """The elements that a window covers, combined, for each place of the window.

    Args:
      operand: an array.
      init_value: what the elements of each window are combined with.
      computation: ``lax.add``, ``lax.mul``, ``lax.max`` or ``lax.min``.
      window_dimensions: the sizes of the window, one for each dimension.
      window_strides: the steps in which it moves; 1 if left out.
      padding: ``SAME``, ``SAME_LOWER``, ``VALID``, or a pair for each dimension.
      base_dilation, window_dilation: distances between elements of the operand and the window.
    """
    x = _core.numpy.as_array(operand, "reduce_window: argument operand")
    window = _sizes(window_dimensions, x.ndim)
    strides = _sizes(window_strides, x.ndim)
    base, dilation = _sizes(base_dilation, x.ndim), _sizes(window_dilation, x.ndim)
    if isinstance(padding, str):
        sizes, covered = _dilated(x.shape, base), _dilated(window, dilation)
        padding = padtype_to_pads(sizes, covered, strides, padding)
    kind = _monoid(computation, init_value, x.dtype)
    reduce = getattr(_lax, f"_reduce_window_{kind}")
    result = reduce(x, window, strides, [(int(a), int(b)) for a, b in padding], base, dilation)
    init = _lax.convert_element_type(init_value, x.dtype)
    if init.is_traced or not _is_identity(np.asarray(init), kind):
        combine = {"sum": "add", "prod": "mul"}.get(kind, kind)
        result = getattr(_lax, combine)(result, init)
    return result


def _is_identity(value: np.ndarray, kind: str) -> bool:
    if kind in ("sum", "prod"):
        return bool(value == (0 if kind == "sum" else 1))
    limits = np.iinfo(value.dtype) if value.dtype.kind in "iu" else None
    lowest, highest = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    return bool(value == (lowest if kind == "max" else highest))


# ---- Fourier transforms --------------------------------------------------------------------------


class FftType(enum.IntEnum):
    """What ``fft`` does."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The Fourier transform over the last dimensions.

    Args:
      x: an array; complex numbers, or floats for RFFT.
      fft_type: FFT, IFFT, RFFT or IRFFT, as a member of FftType or a string.
      fft_lengths: the sizes of the dimensions, of the result for IRFFT.
    """
    if isinstance(fft_type, str):
        name = fft_type.upper()
    else:
        name = getattr(fft_type, "name", None) or FftType(fft_type).name
    array = _core.numpy.as_array(x, "fft: argument x")
    if name in ("FFT", "IFFT", "IRFFT") and array.dtype.kind == "f":
        array = _lax.convert_element_type(
            array, "complex128" if array.dtype == np.float64 else "complex64"
        )
    return _lax._fft(array, name, [operator.index(n) for n in fft_lengths])
