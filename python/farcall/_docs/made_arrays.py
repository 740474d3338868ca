"""The docstrings of what farcall.numpy makes of few numbers, and of covariances and norms."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_CREATION = {
    "linspace": """``num`` evenly spaced values from ``start`` to ``stop``.

        Args:
          start, stop: numbers or arrays, broadcast against each other.
          num: how many values.
          endpoint: whether ``stop`` is one of them.
          retstep: also return the distance of neighbours.
          dtype: of the result; a float if left out.
          axis: where the values lie.
        """,
    "logspace": "``base`` to the power of evenly spaced numbers from ``start`` to ``stop``.",
    "geomspace": """``num`` values from ``start`` to ``stop``.

        Each is the one before times one factor.
        """,
    "eye": """Zeros, with ones on diagonal ``k``.

        There are ``N`` rows and ``M`` columns, as many if left out.
        """,
    "identity": "The identity matrix.",
    "tri": "Ones on and below diagonal ``k``, zeros above.",
    "tril_indices": "The rows and columns on and below diagonal ``k`` of a matrix of ``n`` rows.",
    "triu_indices": "The rows and columns on and above diagonal ``k`` of a matrix of ``n`` rows.",
    "diag": """The diagonal ``k`` of a matrix, or a matrix of a vector.

        That has the vector on diagonal ``k`` and zeros elsewhere.
        """,
    "diagflat": "The matrix with the flattened elements on diagonal ``k``.",
    "vander": "The powers of the elements, a row for each, the highest first.",
    "indices": "For each dimension the indices along it, in arrays of the shape ``dimensions``.",
}
_WINDOWS = {
    "bartlett": "A triangle of ``M`` points that ends in zeros.",
    "blackman": "The window of Blackman with ``M`` points, a sum of three cosines.",
    "hamming": "The window of Hamming with ``M`` points, a raised cosine that ends above zero.",
    "hanning": "The window of von Hann with ``M`` points, a raised cosine that ends in zeros.",
    "kaiser": "The window of Kaiser with ``M`` points; the larger ``beta``, the narrower.",
}
_COVARIANCES = {
    "cov": """The covariances of variables, of which each row of ``m`` holds the observations.

        Args:
          m: observations, in at most two dimensions.
          y: those of more variables.
          rowvar: False: each column holds the observations of a variable.
          bias: divide by the number of observations, in place of one less.
          ddof: what is subtracted from that number; overrides ``bias``.
          fweights: how often each observation counts, whole numbers.
          aweights: how important each observation is.
          dtype: of the result.
        """,
    "corrcoef": "Covariances divided by the standard deviations; the arguments are as for ``cov``.",
}
_NORMS = {
    "vector_norm": """The norm of vectors along ``axis``, all axes if left out.

        Args:
          x: the array.
          axis: a number or several.
          keepdims: whether the axes stay, with size 1.
          ord: a number p for the pth root of the sum of pth powers; ±inf for the extreme modulus; 0
            for the number of elements that are not zero.
        """,
    "matrix_norm": "The norm of the matrices in the last two dimensions; ``ord`` as for ``norm``.",
    "norm": """The norm of vectors (one axis) or matrices (two axes).

        Args:
          x: the array; without ``axis`` and ``ord`` it counts as one vector.
          ord: for vectors as for ``vector_norm``; for matrices "fro", "nuc" (sum of singular
            values), ±1 and ±inf (extreme column and row sum), ±2 (extreme singular value).
          axis: a number, or two.
          keepdims: whether the axes stay, with size 1.
        """,
}

document(_core.numpy, "farcall.numpy", _CREATION | _WINDOWS | _COVARIANCES)
document(_core.linalg, "farcall.numpy.linalg", _NORMS)
