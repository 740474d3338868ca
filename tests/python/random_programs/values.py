"""Dtypes by kind, random arrays, and arrays as source."""

from __future__ import annotations

from typing import Any

import farcall as fc
import ml_dtypes
import numpy as np

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64", "int1", "int2", "int4")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64", "uint1", "uint2", "uint4")
COMPLEX = ("complex64", "complex128")
WIDE_FLOATS = ("float16", "bfloat16", "float32", "float64")
FLOATS = tuple(name for name in fc.dtypes.names if "float" in name)
KINDS = {"B": BOOL, "S": SIGNED, "U": UNSIGNED, "F": FLOATS, "C": COMPLEX}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names}

# Mostly the dtypes that programs are made of.
LIKELY = ("float64", "float64", "float32", "float32", "float16", "bfloat16", "complex128")
LIKELY += ("complex64", "int32", "int64", "int32", "uint8", "bool", "bool")

# Programs stay below it, but for the wild ones.
LARGE = 1e4


def dtype(name: str) -> np.dtype[Any]:
    return getattr(fc.dtypes, "bool_" if name == "bool" else name)


def is_inexact(value: Any) -> bool:
    return KIND_OF.get(value.dtype.name, "") in ("F", "C")


def epsilon(name: str) -> float:
    """The distance from one to the next number of the dtype."""
    if KIND_OF[name] == "C":
        name = "float64" if name == "complex128" else "float32"
    dtype = (
        np.dtype(name) if name.startswith("float") and len(name) == 7 else getattr(fc.dtypes, name)
    )
    return float(ml_dtypes.finfo(dtype).eps)


def smallest_normal(name: str) -> float:
    """Below it, numbers have fewer digits; zero for dtypes with short exponents."""
    if name in ("float64", "complex128"):
        return float(np.finfo(np.float64).tiny)
    is_like_float32 = name in ("float32", "complex64", "bfloat16")
    return float(np.finfo(np.float32).tiny) if is_like_float32 else 0.0


def wide(value: Any) -> np.ndarray:
    """Inexact numbers in double precision, others as they are."""
    array = np.asarray(value)
    kind = KIND_OF[array.dtype.name]
    if kind in "FC":
        return array.astype(np.float64 if kind == "F" else np.complex128)
    return array.astype(np.int64) if array.dtype.name[-1] in "124" else array


def narrow(array: np.ndarray, name: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(dtype(name))


def random_array(
    rng: np.random.Generator, shape: tuple[int, ...], name: str, special: float = 0.0
) -> np.ndarray:
    """Small numbers, and with the probability ``special`` for each one NaN, infinity and so on."""
    kind = KIND_OF[name]
    if kind == "B":
        return np.asarray(rng.random(shape) < 0.5)
    if kind in "SU":
        bits = int(name.lstrip("uint"))
        low = 0 if kind == "U" else max(-6, -(1 << (bits - 1)))
        high = min(9, (1 << (bits - (kind == "S"))) - 1)
        array = np.asarray(rng.integers(low, high + 1, shape))
        if special and bits >= 8:
            info = np.iinfo(name)
            chosen = rng.choice(np.array([info.min, info.max], name), shape)
            return np.where(rng.random(shape) < special, chosen, array.astype(name))
        return array.astype(dtype(name))
    if kind == "C":
        parts = [random_array(rng, shape, "float64", special) for _ in range(2)]
        array = np.empty(shape, np.complex128)
        array.real, array.imag = parts
        return narrow(array, name)
    array = np.asarray(rng.integers(-24, 25, shape) / 8 + rng.random(shape) / 16)
    if special:
        chosen = rng.choice([np.nan, np.inf, -np.inf, -0.0, 1e300, 1e-300], shape)
        array = np.where(rng.random(shape) < special, chosen, array)
    return narrow(array, name)


def literal(value: np.ndarray) -> str:
    """The array as an expression over ``np`` and ``fc``."""
    values = wide(value)
    numbers = np.array2string(values.ravel(), threshold=2**62, separator=", ", floatmode="unique")
    numbers = numbers.replace("\n", "").replace("nan", "np.nan").replace("inf", "np.inf")
    name = value.dtype.name
    if values.dtype.kind == "c":
        numbers = f"[{', '.join(_complex(x) for x in values.ravel())}]"
    text = f"np.array({numbers}, {values.dtype.name!r})"
    if value.shape != (value.size,):
        text += f".reshape({value.shape})"
    return text if values.dtype == value.dtype else f"{text}.astype(fc.dtypes.{name})"


def _complex(x: complex) -> str:
    parts = [
        repr(float(p)).replace("nan", "np.nan").replace("inf", "np.inf") for p in (x.real, x.imag)
    ]
    return f"complex({', '.join(parts)})"
