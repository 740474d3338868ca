"""Functions with scipy's names and semantics."""

from farcall._public import public_names as _public_names
from farcall.scipy import fft as fft
from farcall.scipy import integrate as integrate
from farcall.scipy import linalg as linalg
from farcall.scipy import ndimage as ndimage
from farcall.scipy import signal as signal
from farcall.scipy import sparse as sparse
from farcall.scipy import special as special
from farcall.scipy import stats as stats

__all__ = _public_names(globals())
