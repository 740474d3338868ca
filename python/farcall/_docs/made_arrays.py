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
_SPECIAL_MATRICES = {
    "toeplitz": """The matrix of first column ``c`` and first row ``r``, constant along diagonals.

        ``r`` is the conjugate of ``c`` if left out; its first element is not used.
        """,
    "hankel": """The matrix of first column ``c`` and last row ``r``, constant along antidiagonals.

        ``r`` is zeros if left out; its first element is not used.
        """,
    "circulant": "The matrix of first column ``c``; each other is the last one moved down.",
    "companion": "The matrix whose characteristic polynomial is ``a``, highest power first.",
    "hilbert": "The matrix of ``1 / (i + j + 1)``.",
    "hadamard": "The matrix of Hadamard by Sylvester; ``n`` is a power of two.",
    "dft": """The matrix of the discrete Fourier transform; ``scale`` is "sqrtn", "n" or None.""",
    "polar": """``u, p``, orthonormal and positive semidefinite, with ``a = u @ p`` or ``p @ u``.

        Args:
          a: the matrices; for "right" with no more columns than rows, for "left" with no more rows.
          side: of ``p``, "right" or "left".
          method, eps, max_iterations: for programs written for JAX; without effect.
        """,
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
document(_core.linalg, "farcall.numpy.linalg", _NORMS)
document(_core.linalg, "farcall.scipy.linalg", _SPECIAL_MATRICES)
