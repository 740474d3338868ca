"""Functions with scipy's names and meaning."""

from farcall.scipy import linalg as linalg
from farcall.scipy import special as special
