"""The docstrings of what farcall.numpy makes of few numbers, of covariances and histograms."""

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
    "polymul": """The product of two polynomials.

        With ``trim_leading_zeros`` first without zeros in front: the values must be known.
        """,
    "polydiv": """Quotient and remainder of two polynomials.

        The remainder keeps zeros in front, unless ``trim_leading_zeros``, for which the values
        must be known.
        """,
    "roots": """The zeros of a polynomial, complex.

        Args:
          p: the coefficients.
          strip_zeros: first take away zeros at both ends, for which the values must be known.
            Without, the first coefficient must not be zero.
        """,
    "polyfit": """The polynomial that is nearest to points, in the sense of least squares.

        Args:
          x: where the points are.
          y: their values, or several columns of them.
          deg: the degree.
          rcond: singular values below this part of the largest one count as 0.
          full: also return what ``linalg.lstsq`` does, and ``rcond``.
          w: the weight of each point's distance.
          cov: also return the covariances of the coefficients; "unscaled": not scaled by the
            residuals.
        """,
}
_HISTOGRAMS = {
    "bincount": """How often each number from 0 on is among the elements of ``x``.

        Args:
          x: integers, in one dimension; negative ones count as 0.
          weights: what each element counts, 1 if left out.
          minlength: the least size of the result.
          length: the size of the result, larger numbers being left out. If it is not given, the
            values must be known: the size is one more than the largest.
        """,
    "histogram_bin_edges": """The edges between which ``histogram`` counts.

        Args:
          a: the values.
          bins: how many bins of equal width, or the edges.
          range: the first and the last edge; left out, the least and the largest value.
          weights: changes nothing.
        """,
    "histogram": """How many values lie in each bin, and the edges of the bins.

        Args:
          a, bins, range: as for ``histogram_bin_edges``.
          weights: what each value counts, 1 if left out.
          density: divide by the number of values and the width of the bins.
        """,
    "histogram2d": "``histogramdd`` of points in the plane: counts, and the edges along both axes.",
    "histogramdd": """How many points lie in each box, and the edges of the boxes along each axis.

        Args:
          sample: the points, one in each row.
          bins: one number, or one or the edges for each axis.
          range: the first and the last edge for each axis, or None.
          weights: what each point counts, 1 if left out.
          density: divide by the number of points and the size of the boxes.
        """,
}

document(
    _core.numpy, "farcall.numpy", _CREATION | _WINDOWS | _COVARIANCES | _POLYNOMIALS | _HISTOGRAMS
)
