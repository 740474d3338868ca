"""The docstrings of what farcall.numpy makes of few numbers, and of covariances."""

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
_POLYNOMIALS = {
    "polyval": """The polynomial at ``x``; ``p`` may be stacked along further dimensions.

        Args:
          p: the coefficients along the first dimension.
          x: where.
          unroll: for programs written for JAX; without effect.
        """,
    "polyadd": "The sum of two polynomials.",
    "polysub": "The difference of two polynomials.",
    "polyder": "The derivative of order ``m``.",
    "polyint": "The antiderivative of order ``m``, with the constants ``k``, 0 if left out.",
    "poly": """The coefficients of the polynomial with these zeros.

        Of a square matrix it is the characteristic polynomial.
        """,
}

document(_core.numpy, "farcall.numpy", _CREATION | _WINDOWS | _COVARIANCES | _POLYNOMIALS)
