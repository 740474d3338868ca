"""Functions under their names in ``jax.experimental``."""

from farcall._callbacks import io_callback as io_callback
from farcall._config import disable_x64 as disable_x64
from farcall._config import enable_x64 as enable_x64
from farcall._public import public_names as _public_names
from farcall.experimental import buffer_callback as buffer_callback

__all__ = _public_names(globals())
