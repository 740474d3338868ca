"""farcall: array programs that call foreign functions at the cost of a function call."""

from farcall import dtypes as dtypes
from farcall import ffi as ffi
from farcall import lax as lax
from farcall import numpy as numpy
from farcall import tree as tree
from farcall import tree_util as tree_util
from farcall._array import Array as Array
from farcall._array import ShapeDtypeStruct as ShapeDtypeStruct
from farcall._array import block_until_ready as block_until_ready
from farcall._core import ConcretizationTypeError as ConcretizationTypeError
from farcall._core import FfiError as FfiError
from farcall._core import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from farcall._core import Program as Program
from farcall._core import UnexpectedTracerError as UnexpectedTracerError
from farcall._core import __version__ as __version__
from farcall._core import parse_program as parse_program
from farcall._jit import clear_caches as clear_caches
from farcall._jit import eval_shape as eval_shape
from farcall._jit import jit as jit
from farcall._jit import make_jaxpr as make_jaxpr
from farcall._jit import make_program as make_program
