"""Functions with scipy's names and meaning."""

from farcall.scipy import linalg as linalg
