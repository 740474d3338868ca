"""The element types, as numpy dtypes: ``float32``, ``bfloat16``, ``int4`` and so on.

``bool_`` is the dtype of bools. Types below eight bits use a byte for each element. ``float0``, the
dtype of derivatives of ints and bools, has no values; farcall arrays cannot have it. ``prng_key``
is the kind of the dtypes of random keys, and ``extended`` the kind of all dtypes that numpy lacks:
``issubdtype(key.dtype, prng_key)``.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from farcall import _core

float0 = _core.transforms.float0

names: tuple[str, ...] = tuple(_core._dtype_names())

__all__ = (
    *("bool_" if name == "bool" else name for name in names),
    "TypePromotionError",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
)

for _name in names:
    globals()["bool_" if _name == "bool" else _name] = _core._numpy_dtype(_name)


finfo, iinfo = ml_dtypes.finfo, ml_dtypes.iinfo


class TypePromotionError(ValueError):
    """These dtypes have no common promoted dtype."""


class extended(np.generic):  # noqa: N801
    """The kind of dtypes that numpy lacks."""


class prng_key(extended):  # noqa: N801
    """The kind of the dtypes of random keys."""


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype of an array requested with ``dtype``: ``float`` stands for float32.

    Args:
      dtype: anything that specifies a dtype.
      allow_extended_dtype: whether to return non-numeric dtypes unchanged.

    Raises:
      TypeError: if ``dtype`` does not specify a dtype.
    """
    if allow_extended_dtype and issubdtype(dtype, extended):
        return dtype
    return _core._check_dtype(dtype)


def scalar_type_of(x: Any) -> type:
    """The Python type for an array, number or dtype: bool, int, float or complex."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        dtype = np.dtype(type(x)) if isinstance(x, (bool, int, float, complex)) else np.dtype(x)
    for kind, python in (
        (np.bool_, bool),
        (np.integer, int),
        (np.floating, float),
        (np.complexfloating, complex),
    ):
        if issubdtype(dtype, kind):
            return python
    raise TypeError(f"scalar_type_of: {x!r} is not a number")


def itemsize_bits(dtype: Any) -> int:
    """The number of bits of an element; types below eight bits still use a byte in memory."""
    checked = np.dtype(dtype)
    digits = "".join(c if c.isdigit() else " " for c in checked.name).split()
    is_narrow = checked.itemsize == 1 and checked.name not in ("bool",) and digits
    return int(digits[0]) if is_narrow else 8 * checked.itemsize


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype or kind is a subtype of a kind; narrow floats are floats.

    Args:
      arg1: a dtype, or a kind such as ``numpy.floating``.
      arg2: a kind, or a dtype, of which only that dtype is a subtype.

    Raises:
      TypeError: if an argument is neither.
    """
    if isinstance(arg2, _core.KeyDType):
        return arg1 == arg2
    if isinstance(arg1, _core.KeyDType):
        arg1 = arg1.type
    if not isinstance(arg1, type) or not issubclass(arg1, np.generic):
        arg1 = np.dtype(arg1)
    if isinstance(arg1, np.dtype) and isinstance(arg2, type) and arg1.kind not in "iufcb":
        kind = _kind_of_narrow(arg1.name)
        if kind is not None:
            return issubclass(kind, arg2)
    return np.issubdtype(arg1, arg2)


def _kind_of_narrow(name: str) -> type | None:
    """The kind of a narrow dtype that numpy lacks."""
    if "float" in name:
        return np.floating
    if name.startswith("uint"):
        return np.unsignedinteger
    return np.signedinteger if name.startswith("int") else None


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The promoted dtype of these arrays, numbers and dtypes.

    With ``return_weak_type_flag``, a pair of it and whether it is weak: that of Python numbers
    alone.
    """
    if not args:
        raise ValueError("result_type: needs at least one array or dtype")
    types = [_scalar_of(value) for value in args]
    dtype = _core.promoted_dtype(types)
    if not return_weak_type_flag:
        return dtype
    return dtype, all(type.weak_type for type in types)


def _scalar_of(value: Any) -> _core.ShapeDtypeStruct:
    """The type of a scalar that promotes like ``value``."""
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return _core.numpy.as_array(value, "result_type").aval
    if isinstance(value, (np.ndarray, np.generic)):
        return _core.ShapeDtypeStruct((), _core._incoming_dtype(value.dtype))
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    if is_array and not isinstance(value, type):
        weak_type = bool(getattr(value, "weak_type", False))
        return _core.ShapeDtypeStruct((), value.dtype, weak_type=weak_type)
    if value in (int, float, complex):
        return _scalar_of(value(0))
    return _core.ShapeDtypeStruct((), value)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"farcall.dtypes has no {name!r}; it has {', '.join(names)}")
