"""Docstrings of products, linear algebra and signal functions, which follow numpy and scipy."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_OPTIONS = """
          precision: for devices that offer a choice; the native engine ignores it.
          preferred_element_type: the dtype of the result, and of the accumulation if it is wider.
"""
_PRODUCTS = {
    "matmul": f"""The product of matrices (stacked or not), or of a matrix and a vector: ``a @ b``.

        Args:
          a, b: the arrays.{_OPTIONS}
        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for scalars, shapes that do not match, and invalid precisions.
        """,
    "dot": """Contracts the last axis of ``a`` with the second to last of ``b``.

        For scalars this is the product. The options are those of ``matmul``.
        """,
    "inner": "Contracts the last axes of both; the options are those of ``matmul``.",
    "vdot": "The dot product of the flattened arrays, ``a`` conjugated; options as for ``matmul``.",
    "outer": "The outer product of the flattened arrays, a matrix.",
    "tensordot": f"""Contracts two arrays over ``axes``.

        Args:
          a, b: the arrays.
          axes: the axes of both, or a number: of last axes of ``a`` and first of ``b``.{_OPTIONS}
        Raises:
          TypeError: for an operand that is not an array, and ``axes`` of another type.
          ValueError: for axes and shapes that do not match.
        """,
    "vecdot": f"""The dot products of vectors along ``axis``, those of ``x1`` conjugated.

        Args:
          x1, x2: the vectors; the other dimensions are broadcast.
          axis: the axis of the vectors in both.{_OPTIONS}
        """,
    "matvec": "Matrices ``[…, m, n]`` times vectors ``[…, n]``.",
    "vecmat": "Vectors ``[…, m]``, conjugated, times matrices ``[…, m, n]``.",
    "kron": "The Kronecker product: for each element of ``a`` a copy of ``b`` times that element.",
    "cross": """The cross product of vectors of two or three elements.

        Args:
          a, b: the vectors; the other dimensions are broadcast.
          axisa, axisb: the axes of the vectors in ``a`` and ``b``.
          axisc: their axis in the result; unused if both have two elements.
          axis: overrides all three.

        Raises:
          ValueError: for vectors of other sizes, and axes out of range.
        """,
    "trace": """The sum along a diagonal.

        Args:
          a: an array of at least two dimensions.
          offset: the diagonal; 0 is the main one, positive ones are above it.
          axis1, axis2: the two dimensions that form the matrices.
          dtype: of the sum and of the result.
          out: not supported.
        """,
    "convolve": """The convolution of two vectors.

        Args:
          a, v: the vectors, exchanged if ``v`` is longer.
          mode: "full": all positions where they overlap; "same": the size of the longer one;
            "valid": positions where they overlap completely.
          precision: for devices that offer a choice; the native engine ignores it.
          preferred_element_type: the dtype of the products and sums.

        Raises:
          ValueError: for other ranks, empty vectors, and unknown modes.
        """,
    "correlate": """The cross-correlation of two vectors, ``v`` conjugated.

        The arguments are those of ``convolve``.
        """,
}
_LINALG = {
    "cholesky": """The lower triangular ``L`` with ``a = L @ L^H``, or its conjugate transpose.

        Args:
          a: Hermitian positive definite matrices; for others the result is NaN.
          upper: whether to return the conjugate transpose of ``L``.
          symmetrize_input: whether to average ``a`` with its conjugate transpose first.
        """,
    "svdvals": "The singular values, in descending order.",
    "eigvalsh": "The eigenvalues of Hermitian matrices, ascending; arguments as for ``eigh``.",
    "eigvals": "The complex eigenvalues of square matrices, in no particular order.",
    "solve": "Solves ``a @ x = b``; ``b`` is a vector if it has one dimension, else matrices.",
    "inv": "The inverse of square matrices.",
    "pinv": """The Moore-Penrose inverse.

        Args:
          a: the matrices.
          rtol: singular values below this fraction of the largest count as zero. Default:
            ``10 * max(rows, columns) * eps``.
          hermitian: assume that ``a`` is Hermitian, which is faster.
          rcond: numpy's older name for ``rtol``.
        """,
    "lstsq": """Least squares: the ``x`` of least norm that minimizes ``|a @ x - b|``.

        Args:
          a: one matrix.
          b: a vector or a matrix.
          rcond: singular values below this fraction of the largest count as zero.
          numpy_resid: whether to return empty residuals where numpy does; this needs a concrete
            rank.

        Returns:
          ``x``, the sums of squared residuals, the rank and the singular values of ``a``.
        """,
    "tensorinv": "The inverse of ``a`` as the linear map ``x -> tensordot(a, x, ind)``.",
    "tensorsolve": """Solves ``tensordot(a, x, x.ndim) = b``.

        The ``axes`` of ``a`` are moved to its end first.
        """,
    "det": "The determinant of square matrices.",
    "matrix_rank": """The number of singular values above ``rtol`` times the largest.

        Args:
          M: the matrices.
          rtol: the default is ``max(rows, columns) * eps``.
          hermitian: assume that ``M`` is Hermitian, which is faster.
          tol: numpy's older name for ``rtol``.
        """,
    "cond": """The condition number: the norm ``p`` of ``x`` times that of its inverse.

        Args:
          x: the matrices.
          p: the norm, as ``ord`` of ``matrix_norm``; 2 by default.
        """,
    "matrix_power": "The ``n``-th power of square matrices; ``n`` may be negative.",
    "multi_dot": """The product of matrices in the order that needs the fewest multiplications.

        Args:
          arrays: 2 to 1000 matrices; the first and the last may be vectors.
          precision: for devices that offer a choice; the native engine ignores it.
        """,
    "cross": "The cross product of vectors of three elements along ``axis``.",
    "matrix_transpose": "``x`` with its last two dimensions exchanged.",
    "diagonal": "A diagonal of each matrix, as the last dimension.",
    "trace": "The sum of a diagonal of each matrix; ``dtype`` is that of the sum.",
}
_NORMS = {
    "vector_norm": """The norm of vectors along ``axis``, all axes by default.

        Args:
          x: the array.
          axis: one axis or several.
          keepdims: whether the axes stay, with size 1.
          ord: p, for the p-th root of the sum of p-th powers; ±inf for the greatest and the least
            modulus; 0 for the number of nonzero elements.
        """,
    "matrix_norm": "The norm of the matrices in the last two dimensions; ``ord`` as for ``norm``.",
    "norm": """The norm of vectors (one axis) or matrices (two axes).

        Args:
          x: the array; without ``axis`` and ``ord`` it is flattened to one vector.
          ord: for vectors as for ``vector_norm``; for matrices "fro", "nuc" (sum of singular
            values), ±1 and ±inf (greatest or least column and row sum of moduli), ±2 (greatest or
            least singular value).
          axis: one axis for vectors, two for matrices.
          keepdims: whether the axes stay, with size 1.
        """,
}
_SPECIAL_MATRICES = {
    "toeplitz": """The matrix of first column ``c`` and first row ``r``, constant along diagonals.

        ``r`` defaults to the conjugate of ``c``; its first element is ignored. Vectors may be
        stacked along leading dimensions.
        """,
    "hankel": """The matrix of first column ``c`` and last row ``r``, constant along antidiagonals.

        ``r`` defaults to zeros; its first element is ignored. Vectors may be stacked along leading
        dimensions.
        """,
    "circulant": "The matrix whose columns are ``c`` rotated down by 0, 1, 2, … elements.",
    "companion": "The matrix with characteristic polynomial ``a``, highest power first.",
    "fiedler_companion": "The companion matrix of ``a`` in Fiedler's form, with five diagonals.",
    "leslie": "The matrix with first row ``f`` and subdiagonal ``s``, which has an element less.",
    "convolution_matrix": """The matrix whose product with a vector is its convolution with ``a``.

        Args:
          a: vectors, in the last dimension.
          n: the size of the vectors to convolve with.
          mode: "full", "same" or "valid", as of ``numpy.convolve``.

        Raises:
          ValueError: for an empty ``a``, ``n`` below 1, and another mode.
        """,
    "invhilbert": "The inverse of the Hilbert matrix of size ``n``.",
    "invpascal": "The inverse of Pascal's matrix of size ``n``; ``kind`` is that of ``pascal``.",
    "helmert": """The Helmert matrix of size ``n``, with orthonormal rows.

        Row k, from 1 on, is k ones and ``-k``, normalized. The row of equal elements before them is
        left out unless ``full``.
        """,
    "fiedler": "The matrix of ``abs(a[i] - a[j])``; of each vector in the last dimension.",
    "pascal": """Pascal's matrix of size ``n``: the binomials (i + j over i), as float32.

        ``kind`` "lower" gives its Cholesky factor, the binomials (i over j), and "upper" the
        transpose of that.
        """,
    "hilbert": "The Hilbert matrix, with elements ``1 / (i + j + 1)``.",
    "hadamard": "The Hadamard matrix of size ``n``, a power of two, by Sylvester's construction.",
    "dft": """The matrix of the discrete Fourier transform; ``scale`` is "sqrtn", "n" or None.""",
    "polar": """Polar decomposition: orthonormal ``u``, positive semidefinite ``p``, ``a = u @ p``.

        With ``side`` "left", ``a = p @ u``.


        Args:
          a: the matrices; "right" needs columns <= rows, "left" rows <= columns.
          side: the side of ``p``, "right" or "left".
          method, eps, max_iterations: accepted for compatibility with JAX; ignored.
        """,
}
_SCIPY_LINALG = {
    "cholesky": "The upper triangular ``U`` with ``a = U^H @ U``, or ``U^H`` with ``lower``.",
    "cho_factor": "The Cholesky factor and ``lower``, as ``cho_solve`` takes them.",
    "cho_solve": "Solves ``a @ x = b`` from the result of ``cho_factor(a)``.",
    "solve_triangular": """Solves ``op(a) @ x = b`` for triangular ``a``.

        Args:
          a: the matrices; the other triangle is not read.
          b: a vector or matrices.
          trans: 0 or "N" for ``a``, 1 or "T" for the transpose, 2 or "C" for its adjoint.
          lower: whether ``a`` is lower triangular.
          unit_diagonal: whether to take its diagonal as ones.
          overwrite_b: ignored.
          debug: ignored.
          check_finite: ignored.
        """,
    "lu_factor": "Both LU factors in one matrix, and the pivots, as ``lu_solve`` takes them.",
    "lu_solve": """Solves ``op(a) @ x = b`` from the result of ``lu_factor(a)``.

        Args:
          lu_and_piv: the factors and the pivots.
          b: a vector or matrices.
          trans: as for ``solve_triangular``.
          overwrite_b: ignored.
          check_finite: ignored.
        """,
    "lu": "``p, l, u`` with ``a = p @ l @ u``; with ``permute_l``, ``p @ l`` and ``u``.",
    "inv": "The inverse of square matrices.",
    "det": "The determinant of square matrices.",
    "solve": """Solves ``a @ x = b``.

        Args:
          a: the matrices.
          b: a vector or matrices.
          lower: whether to read the lower triangle if ``assume_a`` is "pos".
          overwrite_a: ignored.
          overwrite_b: ignored.
          debug: ignored.
          check_finite: ignored.
          assume_a: "gen", "sym", "her", or "pos": Hermitian positive definite matrices, which are
            faster to solve.
        """,
    "svd": "``U, s, Vh`` with ``a = U * s @ Vh``; only ``s`` without ``compute_uv``.",
    "qr": """QR factorization: ``q, r`` with ``a = q @ r``.

        Args:
          a: the matrices.
          overwrite_a: ignored.
          lwork: ignored.
          mode: "full" (square ``q``), "economic" or "r" (only ``r``).
          pivoting: permute the columns so that the diagonal of ``r`` decreases; the permutation is
            the last result.
          check_finite: ignored.
        """,
    "eigh": """The eigenvalues of Hermitian matrices, ascending, and their eigenvectors.

        Args:
          a: the matrices; each is averaged with its conjugate transpose.
          b: must be None.
          lower: ignored.
          eigvals_only: whether to return only the eigenvalues.
          overwrite_a: ignored.
          overwrite_b: ignored.
          turbo: ignored.
          eigvals: must be None.
          type: must be 1.
          check_finite: ignored.
        """,
    "schur": """Schur form: ``t, z`` with ``a = z @ t @ z^H`` and ``t`` (block) upper triangular.

        Args:
          a: the matrices.
          output: "real", or "complex" to convert real matrices to complex first.
        """,
    "expm": """The matrix exponential; NaN for matrices that need more than ``max_squarings``.

        Args:
          A: square matrices.
          upper_triangular: assume that they are upper triangular.
          max_squarings: the maximum number of squarings of the scaled exponential.
        """,
    "expm_frechet": """The exponential of ``A``, and its Fréchet derivative in direction ``E``.

        Without ``compute_expm`` only the derivative is returned. ``method`` is ignored.
        """,
}
_SCIPY_LINALG |= {
    "sqrtm": """The principal square root of square matrices, complex; it has no derivative.

        Args:
          A: the matrices.
          blocksize: must be 1.
        """,
    "hessenberg": """The form ``h`` of ``a = q @ h @ q^H``, zero below the first subdiagonal.

        Args:
          a: square matrices.
          calc_q: whether to return ``h, q`` with unitary ``q``; otherwise only ``h``.
          overwrite_a, check_finite: ignored.
        """,
    "rsf2csf": """The complex Schur form, ``T, Z``, from the real one.

        Args:
          T: (block) upper triangular matrices.
          Z: the matrices of their bases; the leading dimensions of both are broadcast.
          check_finite: ignored.
        """,
    "eigh_tridiagonal": """The eigenvalues, and eigenvectors, of a Hermitian tridiagonal matrix.

        Args:
          d: the diagonal.
          e: the superdiagonal, which has an element less.
          eigvals_only: whether to return only the eigenvalues, which ascend.
          select: "a" for all, "i" for those with the indices ``select_range``.
          select_range: the first and the last index.
          tol, key: accepted for compatibility with JAX; ignored.

        Raises:
          ValueError: for shapes that do not fit, and another ``select``.
          NotImplementedError: for ``select`` "v".
        """,
    "qr_multiply": """The product of ``c`` and the factor ``q`` of ``a = q @ r``, and ``r``.

        Args:
          a: the matrices.
          c: the other factor; a vector is one row, or one column.
          mode: "right" for ``c @ q``, "left" for ``q @ c``.
          pivoting: whether to permute the columns of ``a`` so that the diagonal of ``r`` decreases;
            the order is a third result.
          conjugate: whether to take the conjugate of ``q``.
          overwrite_a, overwrite_c: ignored.

        Raises:
          ValueError: for shapes that do not fit, and another mode.
        """,
    "solve_sylvester": """Solves ``A @ X + X @ B = C``; it has no derivative.

        Args:
          A: square matrices.
          B: square matrices.
          C: matrices with the rows of ``A`` and the columns of ``B``.
          method: "schur" or "eigen", which are the same.
          tol: the result is NaN if the sum of an eigenvalue of ``A`` and one of ``B`` is smaller.

        Raises:
          ValueError: for shapes that do not fit, and another method.
        """,
}
_SIGNAL = {
    "convolve": """The convolution of two arrays of one rank.

        Args:
          mode: "full", "same" (the size of ``in1``, centred), or "valid" (complete overlap).
          method: "direct", "fft", or "auto", which is "direct".
          precision: for devices that offer a choice; the native engine ignores it.

        Raises:
          ValueError: for arrays of different ranks, empty arrays, and unknown modes or methods.
        """,
    "correlate": "The cross-correlation, ``in2`` conjugated; arguments as for ``convolve``.",
    "convolve2d": "``convolve`` of matrices, padded with zeros.",
    "correlate2d": "``correlate`` of matrices, padded with zeros.",
    "fftconvolve": """``convolve`` by Fourier transforms, along the given axes.

        Raises:
          ValueError: if the sizes of the other axes do not broadcast.
        """,
    "detrend": """Subtracts the trend along an axis.

        Args:
          data: an array.
          axis: the axis.
          type: "linear" (a least-squares line) or "constant" (the mean).
          bp: breakpoints: indices where a new line begins.
          overwrite_data: must be None.

        Raises:
          ValueError: for an unknown type, and breakpoints out of range.
        """,
}

document(_core.numpy, "farcall.numpy", _PRODUCTS)
document(_core.numpy_linalg, "farcall.numpy.linalg", _LINALG | _NORMS)
document(_core.scipy_linalg, "farcall.scipy.linalg", _SCIPY_LINALG | _SPECIAL_MATRICES)
document(_core.signal, "farcall.scipy.signal", _SIGNAL)
