"""Promotion and kinds of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall.dtypes import issubdtype, result_type

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

generic, number, integer, inexact = np.generic, np.number, np.integer, np.inexact
signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger
floating, complexfloating = np.floating, np.complexfloating
flexible, character = np.flexible, np.character


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
