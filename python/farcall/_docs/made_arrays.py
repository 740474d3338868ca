"""Docstrings of creation, windows, covariances, polynomials and histograms of farcall.numpy."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_CREATION = {
    "linspace": """``num`` evenly spaced values from ``start`` to ``stop``.

        Args:
          start, stop: numbers or arrays, broadcast against each other.
          num: how many values.
          endpoint: whether ``stop`` is the last value.
          retstep: whether to return the step too.
          dtype: of the result; a float by default.
          axis: the axis of the values in the result.
          device: where the array is put, as in ``device_put``.
        """,
    "logspace": "``base`` to the power of evenly spaced numbers from ``start`` to ``stop``.",
    "geomspace": """``num`` values from ``start`` to ``stop`` in geometric progression.""",
    "eye": """Zeros, with ones on diagonal ``k``.

        There are ``N`` rows and ``M`` columns; ``M`` defaults to ``N``. ``device`` is as in
        ``device_put``.
        """,
    "identity": "The identity matrix.",
    "tri": "Ones on and below diagonal ``k``, zeros above.",
    "tril_indices": "The rows and columns on and below diagonal ``k`` of a matrix of ``n`` rows.",
    "triu_indices": "The rows and columns on and above diagonal ``k`` of a matrix of ``n`` rows.",
    "diag": """The diagonal ``k`` of a matrix, or the matrix with a vector on diagonal ``k``.""",
    "diagflat": "The matrix with the flattened elements on diagonal ``k``.",
    "vander": "The matrix of powers of the elements: a row for each element, highest power first.",
    "indices": "For each dimension an array of shape ``dimensions`` with the index along it.",
}
_WINDOWS = {
    "bartlett": "The triangular window of ``M`` points, with zeros at both ends.",
    "blackman": "The Blackman window of ``M`` points: a constant plus two cosines.",
    "hamming": "The Hamming window of ``M`` points: a raised cosine, nonzero at both ends.",
    "hanning": "The Hann window of ``M`` points: a raised cosine, zero at both ends.",
    "kaiser": "The Kaiser window of ``M`` points; a larger ``beta`` makes it narrower.",
}
_COVARIANCES = {
    "cov": """The covariance matrix of variables; each row of ``m`` observes one variable.

        Args:
          m: observations, in at most two dimensions.
          y: observations of further variables.
          rowvar: False: each column holds the observations of a variable.
          bias: divide by the number of observations n; otherwise by n - 1.
          ddof: divide by n - ddof; overrides ``bias``.
          fweights: integers, how often each observation counts.
          aweights: the weight of each observation.
          dtype: of the result.
        """,
    "corrcoef": "The correlation coefficients; arguments as for ``cov``.",
}
_POLYNOMIALS = {
    "polyval": """Evaluates the polynomial at ``x``; ``p`` may stack several of them.

        Args:
          p: the coefficients along the first dimension, highest power first.
          x: the points.
          unroll: accepted for compatibility with JAX; ignored.
        """,
    "polyadd": "The sum of two polynomials.",
    "polysub": "The difference of two polynomials.",
    "polyder": "The derivative of order ``m`` of a polynomial.",
    "polyint": "The antiderivative of order ``m``, with integration constants ``k``, 0 by default.",
    "poly": """The coefficients of the polynomial with the given roots.

        For a square matrix, those of its characteristic polynomial.
        """,
    "polymul": """The product of two polynomials.

        With ``trim_leading_zeros``, leading zeros are removed first; this needs concrete values.
        """,
    "polydiv": """Quotient and remainder of two polynomials.

        The remainder keeps leading zeros unless ``trim_leading_zeros``, which needs concrete
        values.
        """,
    "roots": """The complex roots of a polynomial.

        Args:
          p: the coefficients.
          strip_zeros: whether to remove zeros at both ends first, which needs concrete values.
            Otherwise the first coefficient must not be zero.
        """,
    "polyfit": """Fits a polynomial to points by least squares.

        Args:
          x: the positions of the points.
          y: their values, or several columns of values.
          deg: the degree.
          rcond: singular values below this fraction of the largest count as 0.
          full: also return the results of ``linalg.lstsq``, and ``rcond``.
          w: the weight of each point's distance.
          cov: also return the covariances of the coefficients; "unscaled": not scaled by the
            residuals.
        """,
}
_HISTOGRAMS = {
    "bincount": """The number of occurrences of each integer from 0 in ``x``.

        Args:
          x: integers, in one dimension; negative ones count as 0.
          weights: the weight of each element, 1 by default.
          minlength: the minimum size of the result.
          length: the size of the result; larger numbers are ignored. By default the size is the
            greatest element + 1, which needs concrete values.
        """,
    "histogram_bin_edges": """The edges of the bins of ``histogram``.

        Args:
          a: the values.
          bins: how many bins of equal width, or the edges.
          range: the first and the last edge; by default the least and the greatest value.
          weights: ignored.
        """,
    "histogram": """The number of values in each bin, and the edges of the bins.

        Args:
          a, bins, range: as for ``histogram_bin_edges``.
          weights: the weight of each value, 1 by default.
          density: divide by the number of values and by the width of the bins.
        """,
    "histogram2d": "``histogramdd`` of points in the plane: counts, and the edges along both axes.",
    "histogramdd": """The number of points in each box, and the edges of the boxes along each axis.

        The numbers are integers, without weights and density.

        Args:
          sample: the points, one in each row.
          bins: the number of bins, or for each axis their number or their edges.
          range: the first and the last edge for each axis, or None.
          weights: the weight of each point, 1 by default.
          density: divide by the number of points and by the volume of the boxes.
        """,
}

document(
    _core.numpy, "farcall.numpy", _CREATION | _WINDOWS | _COVARIANCES | _POLYNOMIALS | _HISTOGRAMS
)
