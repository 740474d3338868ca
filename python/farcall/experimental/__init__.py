"""Functions under the names that they have in JAX's experimental package."""

from farcall._callbacks import io_callback as io_callback
from farcall.experimental import buffer_callback as buffer_callback
