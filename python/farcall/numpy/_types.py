"""Promotion and kinds of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import _core
from farcall._array import ShapeDtypeStruct
from farcall.dtypes import issubdtype

__all__ = [
    "can_cast",
    "character",
    "complexfloating",
    "flexible",
    "floating",
    "generic",
    "inexact",
    "integer",
    "isdtype",
    "issubdtype",
    "iterable",
    "number",
    "promote_types",
    "result_type",
    "signedinteger",
    "unsignedinteger",
]

_f: Any = _core.numpy

generic, number, integer, inexact = np.generic, np.number, np.integer, np.inexact
signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger
floating, complexfloating = np.floating, np.complexfloating
flexible, character = np.flexible, np.character


def result_type(*args: Any) -> np.dtype[Any]:
    """The promoted dtype of these arrays, numbers and dtypes."""
    if not args:
        raise ValueError("result_type: needs at least one array or dtype")
    return _core.promoted_dtype([_scalar_of(value) for value in args])


def _scalar_of(value: Any) -> ShapeDtypeStruct:
    """The type of a scalar that promotes like ``value``."""
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return _f.as_array(value, "result_type").aval
    if isinstance(value, (np.ndarray, np.generic)):
        return ShapeDtypeStruct((), _core._incoming_dtype(value.dtype))
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    if is_array and not isinstance(value, type):
        weak_type = bool(getattr(value, "weak_type", False))
        return ShapeDtypeStruct((), value.dtype, weak_type=weak_type)
    if value in (int, float, complex):
        return _scalar_of(value(0))
    return ShapeDtypeStruct((), value)


def promote_types(a: Any, b: Any) -> np.dtype[Any]:
    """The promoted dtype of these dtypes."""
    return result_type(a, b)


_KINDS = {
    "bool": (np.bool_,),
    "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,),
    "real floating": (np.floating,),
    "complex floating": (np.complexfloating,),
    "numeric": (np.number,),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype has a kind: a name ("integral", "real floating"), a dtype, or several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for each in kinds:
        if isinstance(each, str) and each in _KINDS:
            if any(issubdtype(np.dtype(dtype), parent) for parent in _KINDS[each]):
                return True
        elif isinstance(each, str) and each not in np.sctypeDict:
            raise ValueError(
                f"isdtype: kind must be a dtype or one of {list(_KINDS)}, got {each!r}"
            )
        elif np.dtype(each) == np.dtype(dtype):
            return True
    return False


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a dtype can be converted to another, by numpy's rules."""
    return np.can_cast(from_, to, casting)


def iterable(y: Any) -> bool:
    """Whether ``y`` is iterable."""
    return np.iterable(y)
