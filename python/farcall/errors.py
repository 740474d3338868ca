"""The exceptions that tell of traced arrays where values are needed, or outside their function."""

from farcall._core import ConcretizationTypeError as ConcretizationTypeError
from farcall._core import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from farcall._core import TracerArrayConversionError as TracerArrayConversionError
from farcall._core import TracerBoolConversionError as TracerBoolConversionError
from farcall._core import TracerIntegerConversionError as TracerIntegerConversionError
from farcall._core import UnexpectedTracerError as UnexpectedTracerError
