"""Linear systems of which only products are known."""

from farcall.scipy.sparse import linalg as linalg

__all__ = ["linalg"]
