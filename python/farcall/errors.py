"""Exceptions about traced arrays: used where values are needed, or outside their function."""

from farcall._core import ConcretizationTypeError as ConcretizationTypeError
from farcall._core import ConcretizationTypeError as JAXTypeError  # noqa: F401
from farcall._core import FfiError as JaxRuntimeError  # noqa: F401
from farcall._core import NonConcreteBooleanIndexError as JAXIndexError  # noqa: F401
from farcall._core import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from farcall._core import TracerArrayConversionError as TracerArrayConversionError
from farcall._core import TracerBoolConversionError as TracerBoolConversionError
from farcall._core import TracerIntegerConversionError as TracerIntegerConversionError
from farcall._core import UnexpectedTracerError as UnexpectedTracerError

__all__ = [
    "ConcretizationTypeError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
]
