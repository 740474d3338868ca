"""The precision of products: part of programs, for devices that offer a choice.

The native engine always uses the dtype's full precision.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, NamedTuple, TypeAlias

from farcall import dtypes
from farcall._config import config

__all__ = [
    "AccuracyMode",
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "RandomAlgorithm",
    "Tolerance",
    "canonicalize_precision",
]


class Precision(enum.Enum):
    """The precision of a product, on hardware that offers a choice."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


class DotAlgorithm(NamedTuple):
    """An algorithm for products: the dtypes of operands and sums, and the splitting of operands.

    Attributes:
      lhs_precision_type, rhs_precision_type: the dtypes to which operands are rounded.
      accumulation_type: the dtype of the accumulation. lhs_component_count, rhs_component_count:
      the number of parts into which operands are split. num_primitive_operations: the number of
      products of parts. allow_imprecise_accumulation: whether sums may be less precise than their
      dtype.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Names of algorithms: dtypes of the operands and of the sums, and the number of products."""

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def supported_lhs_types(self) -> tuple[Any, ...] | None:
        """The dtypes that a left operand may have; None for any dtype."""
        return _operand_types(self.name)

    @property
    def supported_rhs_types(self) -> tuple[Any, ...] | None:
        """The dtypes that a right operand may have; None for any dtype."""
        return _operand_types(self.name)

    @property
    def accumulation_type(self) -> Any:
        """The dtype of the accumulation; None if the operands determine it."""
        if self is DotAlgorithmPreset.DEFAULT or "_ANY" in self.name.removeprefix("ANY_F8_ANY_F8"):
            return None
        return _TYPES[self.name.removesuffix("_FAST_ACCUM").split("_X")[0].split("_")[-1]]


_TYPES = {
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "TF32": dtypes.float32,
    "F32": dtypes.float32,
    "F64": dtypes.float64,
}


def _operand_types(name: str) -> tuple[Any, ...] | None:
    if name == "DEFAULT":
        return None
    if name.startswith("ANY_F8"):
        return tuple(getattr(dtypes, each) for each in dtypes.names if each.startswith("float8"))
    return (_TYPES[name.split("_")[0]],)


class RandomAlgorithm(enum.IntEnum):
    """The algorithm of rng_bit_generator."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


class AccuracyMode(enum.Enum):
    """The accuracy of an elementwise function, on hardware that offers a choice."""

    HIGHEST = 1
    DEFAULT = 2


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The error tolerance of an elementwise function."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if self.atol < 0 or self.rtol < 0 or self.ulps < 0:
            raise ValueError(f"Tolerance: numbers must not be negative, got {self!r}")


PrecisionLike: TypeAlias = (
    Precision
    | str
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)
DotDimensionNumbers: TypeAlias = tuple[
    tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]
]

# Aliases of the precisions.
_NAMES = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


def canonicalize_precision(precision: Any) -> Any:
    """Converts a precision argument to None, an algorithm, or a pair of Precisions.

    None becomes the precision of ``default_matmul_precision``.

    Raises:
      ValueError: for an invalid precision.
    """
    if precision is None:
        precision = config.default_matmul_precision
    if precision is None or isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, (tuple, list)) and len(precision) == 2:
        first, second = (_precision(each) for each in precision)
        return first, second
    found = _precision(precision)
    return found if isinstance(found, DotAlgorithmPreset) else (found, found)


def precision_pair(precision: Any) -> tuple[int, int] | None:
    """The precisions of both operands as numbers. None for algorithms, which have no effect.

    Raises:
      ValueError: for an invalid precision.
    """
    found = canonicalize_precision(precision)
    return tuple(each.value for each in found) if type(found) is tuple else None


def _precision(value: Any) -> Any:
    if isinstance(value, Precision):
        return value
    if isinstance(value, str):
        if value in _NAMES:
            return _NAMES[value]
        if value in DotAlgorithmPreset.__members__:
            return DotAlgorithmPreset[value]
    raise ValueError(
        f"precision must be None, a Precision, one of {', '.join(_NAMES)}, the name of a "
        f"DotAlgorithmPreset, or a pair; got {value!r}"
    )
