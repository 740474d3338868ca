"""Array functions with numpy's names and semantics.

Explicit dtypes are respected. A Python number takes the dtype of the array that it is combined
with. The default dtypes are float32 and int32; Python's types float and int, used as dtypes, stand
for these.
"""

import ml_dtypes as _ml_dtypes
import numpy as _numpy

from farcall import _core
from farcall._core.numpy import *  # noqa: F403
from farcall._public import public_names as _public_names
from farcall.numpy import _array_api as _array_api
from farcall.numpy import _methods as _methods
from farcall.numpy import fft as fft
from farcall.numpy import linalg as linalg
from farcall.numpy._apply import *  # noqa: F403
from farcall.numpy._creation import *  # noqa: F403
from farcall.numpy._differences import *  # noqa: F403
from farcall.numpy._einsum import *  # noqa: F403
from farcall.numpy._files import *  # noqa: F403
from farcall.numpy._index_tricks import *  # noqa: F403
from farcall.numpy._integers import *  # noqa: F403
from farcall.numpy._kinds import *  # noqa: F403
from farcall.numpy._places import *  # noqa: F403
from farcall.numpy._printing import *  # noqa: F403
from farcall.numpy._scalar_types import *  # noqa: F403
from farcall.numpy._selection import *  # noqa: F403
from farcall.numpy._sets import *  # noqa: F403
from farcall.numpy._shapes import *  # noqa: F403
from farcall.numpy._types import *  # noqa: F403

# Core functions that only the functions above use.
del array_from_numpy, as_array, as_arrays, make_array  # noqa: F821
for _name in ("add", "get", "max", "min", "multiply", "set", "subtract"):
    del globals()[f"index_{_name}"]

pi, e, inf, nan = _numpy.pi, _numpy.e, _numpy.inf, _numpy.nan
euler_gamma = _numpy.euler_gamma
newaxis = None
ndarray = _core.Array
dtype, finfo, iinfo = _numpy.dtype, _ml_dtypes.finfo, _ml_dtypes.iinfo
bool = bool_  # noqa: F405
# numpy's names for the types of Python numbers: the default dtypes.
int_, uint, float_, complex_ = int32, uint32, float32, complex64  # noqa: F405
single, double, csingle, cdouble = float32, float64, complex64, complex128  # noqa: F405
object_ = _numpy.object_
ComplexWarning = _numpy.exceptions.ComplexWarning

__array_api_version__ = _array_api.VERSION
__array_namespace_info__ = _array_api.namespace_info

# Aliases.
acos, acosh, asin, asinh = arccos, arccosh, arcsin, arcsinh  # noqa: F405
atan, atan2, atanh = arctan, arctan2, arctanh  # noqa: F405
bitwise_invert = bitwise_not  # noqa: F405
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift  # noqa: F405
pow = power  # noqa: F405
amax, amin = max, min

__all__ = _public_names(globals())
