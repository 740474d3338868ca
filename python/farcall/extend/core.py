"""The parts of programs."""

from farcall._core import Primitive as Primitive
from farcall._public import public_names as _public_names
from farcall._public import show_names_of as _show_names_of
from farcall.core import ClosedJaxpr as ClosedJaxpr
from farcall.core import Jaxpr as Jaxpr
from farcall.core import JaxprEqn as JaxprEqn
from farcall.core import Literal as Literal
from farcall.core import Var as Var
from farcall.core import get_aval as get_aval

__all__ = _public_names(globals())
_show_names_of(__name__)
