"""Docstrings of the core's functions. Importing this package installs them.

The core's functions have neither docstrings nor signatures that ``inspect`` understands. This
package replaces them, in the core's modules, by functions that have both. Import it before any
other module takes functions from the core.
"""

from farcall import _core
from farcall._docs import array_functions as array_functions
from farcall._docs import distributions as distributions
from farcall._docs import factorizations as factorizations
from farcall._docs import fourier as fourier
from farcall._docs import images as images
from farcall._docs import linear_algebra as linear_algebra
from farcall._docs import made_arrays as made_arrays
from farcall._docs import networks as networks
from farcall._docs import order_and_elements as order_and_elements
from farcall._docs import places as places
from farcall._docs import primitives as primitives
from farcall._docs import reductions as reductions
from farcall._docs import shapes as shapes
from farcall._docs import special_functions as special_functions
from farcall._docs import strict_arrays as strict_arrays
from farcall._docs.document import document

document(
    _core,
    "farcall",
    {
        "block_until_ready": """Waits until the values of all arrays in a pytree are computed.

        The native engine computes them before a call returns. Traced arrays are left out.

        Args:
          x: a pytree; leaves of other types are left out.

        Returns:
          ``x``.

        Raises:
          RuntimeError: for a deleted array.
          Exception: whatever the computation of the values raised.
        """,
        "parse_program": """Parses a program from its text, the form that ``str(program)`` gives.

        Args:
          text: the text of a program.

        Raises:
          ValueError: for a syntax error or an invalid program, with the line and the column.
          TypeError: if ``text`` is not a string.
        """,
    },
)
document(
    _core.transforms,
    "farcall.custom_derivatives",
    {
        "zero_from_primal": """The zero tangent of a value.

        Args:
          val: an array or a number.
          symbolic_zeros: whether to return a SymbolicZero.

        Returns:
          Zeros of the shape and dtype of ``val``. For integers and bools, a numpy array of dtype
          ``farcall.dtypes.float0``.

        Raises:
          TypeError: for an operand that is not an array.
        """,
    },
)
