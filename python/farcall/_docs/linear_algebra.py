"""The docstrings of products, linear algebra and signals, with numpy's and scipy's meaning."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_OPTIONS = """
          precision: is checked; without effect on the CPU.
          preferred_element_type: the dtype of the result, and of the sums where it is wider.
"""
_PRODUCTS = {
    "matmul": f"""The products of stacked matrices, or of a matrix and a vector, as operator ``@``.

        Args:
          a, b: the arrays.{_OPTIONS}
        Raises:
          TypeError: for what is no array.
          ValueError: for scalars, shapes that do not fit, and what is no precision.
        """,
    "dot": """The sum over the last axis of ``a`` and the last but one of ``b``.

        Of scalars the product; the options are those of ``matmul``.
        """,
    "inner": "The product summed over the last axis of both; the options are those of ``matmul``.",
    "vdot": "The sum of all products, ``a`` conjugated; the options are those of ``matmul``.",
    "outer": "The products of all elements of ``a`` with all of ``b``, as a matrix.",
    "tensordot": f"""The product summed over ``axes``.

        Args:
          a, b: the arrays.
          axes: how many, last ones of ``a`` and first ones of ``b``; or those of both.{_OPTIONS}
        Raises:
          TypeError: for what is no array, and axes that are neither.
          ValueError: for axes and shapes that do not fit.
        """,
    "vecdot": f"""The products of vectors along ``axis``, those of ``x1`` conjugated.

        Args:
          x1, x2: the vectors; the other dimensions are broadcast.
          axis: where they lie in both.{_OPTIONS}
        """,
    "matvec": "Matrices ``[…, m, n]`` times vectors ``[…, n]``.",
    "vecmat": "Vectors ``[…, m]``, conjugated, times matrices ``[…, m, n]``.",
    "kron": "A copy of ``b`` for each element of ``a``, times that element.",
    "cross": """The cross product of vectors of two or three elements.

        Args:
          a, b: the vectors; the other dimensions are broadcast.
          axisa, axisb: where the vectors lie in ``a`` and ``b``.
          axisc: where they lie in the result, unless both have two elements.
          axis: all three of these.

        Raises:
          ValueError: for vectors of other sizes, and axes out of range.
        """,
    "trace": """The sum along the diagonals.

        Args:
          a: an array of two dimensions at least.
          offset: the diagonal, from the main one upward.
          axis1, axis2: of which dimensions.
          dtype: of the sum and of the result.
          out: not supported.
        """,
    "convolve": """The convolution of two vectors.

        Args:
          a, v: the vectors; the longer one is the first.
          mode: "full": wherever they overlap; "same": the size of the longer one; "valid": where
            the shorter one lies within the longer one.
          precision: is checked; without effect on the CPU.
          preferred_element_type: the dtype to multiply in.

        Raises:
          ValueError: for other ranks, vectors without elements, and another mode.
        """,
    "correlate": """The sums of products of ``a`` and the conjugate of ``v``, which moves along it.

        The arguments are those of ``convolve``.
        """,
}
_LINALG = {
    "cholesky": """The lower triangular ``L`` with ``a = L @ L^H``, or its adjoint.

        Args:
          a: Hermitian positive definite matrices; others give NaN.
          upper: whether the adjoint is returned.
          symmetrize_input: whether the mean of ``a`` and its adjoint is taken first.
        """,
    "svdvals": "Singular values, descending.",
    "eigvalsh": "Ascending eigenvalues of Hermitian matrices; arguments as for ``eigh``.",
    "eigvals": "Complex eigenvalues of square matrices, in no order.",
    "solve": "``x`` with ``a @ x = b``; ``b`` is a vector if it has one dimension, else matrices.",
    "inv": "The inverse.",
    "pinv": """The Moore-Penrose inverse.

        Args:
          a: the matrices.
          rtol: singular values below this part of the largest count as zero. Left out,
            ``10 * max(rows, columns) * eps``.
          hermitian: whether ``a`` is known to be Hermitian, which is faster.
          rcond: numpy's older name of ``rtol``.
        """,
    "lstsq": """The shortest ``x`` for which ``a @ x`` is nearest to ``b``.

        Args:
          a: one matrix.
          b: a vector or a matrix.
          rcond: singular values below this part of the largest count as zero.
          numpy_resid: whether residuals are left out where numpy leaves them out, for which the
            rank must be known.

        Returns:
          ``x``, the squared lengths of the residuals, the rank and the singular values of ``a``.
        """,
    "tensorinv": "The inverse of the linear map that ``tensordot(a, x, ind)`` is.",
    "tensorsolve": """``x`` with ``tensordot(a, x, x.ndim) = b``.

        ``axes`` of ``a`` are moved to its end first.
        """,
    "det": "The determinant.",
    "matrix_rank": """How many singular values are larger than ``rtol`` times the largest.

        Args:
          M: the matrices.
          rtol: left out, ``max(rows, columns) * eps``.
          hermitian: whether ``M`` is known to be Hermitian, which is faster.
          tol: numpy's older name of ``rtol``.
        """,
    "cond": """The condition number: the norm ``p`` of ``x`` times that of its inverse.

        Args:
          x: the matrices.
          p: as for ``matrix_norm``; left out, 2.
        """,
    "matrix_power": "``a`` multiplied with itself ``n`` times, or its inverse ``-n`` times.",
    "multi_dot": """The product of matrices in the order that needs the fewest multiplications.

        Args:
          arrays: from two to a thousand; the first and the last may be vectors.
          precision: is checked; without effect on the CPU.
        """,
    "cross": "The cross product of vectors of three elements along ``axis``.",
    "matrix_transpose": "``x`` with its last two dimensions exchanged.",
    "diagonal": "A diagonal of each matrix, as the last dimension.",
    "trace": "The sum of a diagonal of each matrix, of elements of ``dtype`` if it is given.",
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
_SCIPY_LINALG = {
    "cholesky": "The upper triangular ``U`` with ``a = U^H @ U``, or with ``lower`` its adjoint.",
    "cho_factor": "The Cholesky factor, and ``lower``, for ``cho_solve``.",
    "cho_solve": "``x`` with ``a @ x = b``, from what ``cho_factor`` gave for ``a``.",
    "solve_triangular": """``x`` with ``op(a) @ x = b`` for triangular ``a``.

        Args:
          a: the matrices; the other triangle is not read.
          b: a vector or matrices.
          trans: 0 or "N" for ``a`` itself, 1 or "T" for its transpose, 2 or "C" for its adjoint.
          lower: whether ``a`` is lower triangular.
          unit_diagonal: whether its diagonal counts as ones.
          overwrite_b: changes nothing.
          debug: changes nothing.
          check_finite: changes nothing.
        """,
    "lu_factor": "Both LU factors in one matrix, and the pivots, for ``lu_solve``.",
    "lu_solve": """``x`` with ``op(a) @ x = b``, from what ``lu_factor`` gave for ``a``.

        Args:
          lu_and_piv: factors and pivots.
          b: a vector or matrices.
          trans: as for ``solve_triangular``.
          overwrite_b: changes nothing.
          check_finite: changes nothing.
        """,
    "lu": "``p, l, u`` with ``a = p @ l @ u``; with ``permute_l``, ``p @ l`` and ``u``.",
    "inv": "The inverse.",
    "det": "The determinant.",
    "solve": """``x`` with ``a @ x = b``.

        Args:
          a: the matrices.
          b: a vector or matrices.
          lower: which triangle is read where ``assume_a`` is "pos".
          overwrite_a: changes nothing.
          overwrite_b: changes nothing.
          debug: changes nothing.
          check_finite: changes nothing.
          assume_a: "pos" for Hermitian positive definite matrices, which is faster; else "gen",
            "sym" or "her".
        """,
    "svd": "``U, s, Vh`` with ``a = U * s @ Vh``; ``s`` alone without ``compute_uv``.",
    "qr": """``q, r`` with ``a = q @ r``.

        Args:
          a: the matrices.
          overwrite_a: changes nothing.
          lwork: changes nothing.
          mode: "full" (square ``q``), "economic" or "r" (``r`` alone).
          pivoting: exchange columns so that the diagonal of ``r`` falls; the last result is their
            order.
          check_finite: changes nothing.
        """,
    "eigh": """Ascending eigenvalues of Hermitian matrices; eigenvectors unless ``eigvals_only``.

        Args:
          a: the matrices; the mean of each and its adjoint is taken.
          b: must be None.
          lower: changes nothing.
          eigvals_only: whether eigenvectors are left out.
          overwrite_a: changes nothing.
          overwrite_b: changes nothing.
          turbo: changes nothing.
          eigvals: must be None.
          type: must be 1.
          check_finite: changes nothing.
        """,
    "schur": """``t, z`` with ``a = z @ t @ z^H`` and ``t`` (block) upper triangular.

        Args:
          a: the matrices.
          output: "real" or "complex": whether real matrices are taken for complex ones first.
        """,
    "expm": """The sum of ``A^k / k!``, NaN for matrices so large that they take more squarings.

        Args:
          A: square matrices.
          upper_triangular: whether they are known to be upper triangular.
          max_squarings: how often a matrix is halved and its exponential squared at most.
        """,
    "expm_frechet": """The exponential of ``A``, and its derivative in the direction ``E``.

        The latter alone unless ``compute_expm``. ``method`` changes nothing.
        """,
}
_SIGNAL = {
    "convolve": """The convolution of two arrays of one rank.

        Args:
          mode: "full", "same" (the size of in1, from the middle), or "valid" (where both overlap).
          method: "direct", "fft", or "auto": direct.
          precision: is checked; without effect on the CPU.

        Raises:
          ValueError: for arrays of different ranks or without elements, another mode or method.
        """,
    "correlate": "The convolution with the conjugate of in2, reversed; see convolve.",
    "convolve2d": "``convolve`` of matrices, zeros outside.",
    "correlate2d": "``correlate`` of matrices, zeros outside.",
    "fftconvolve": """``convolve`` by Fourier transforms, over some of the axes.

        Raises:
          ValueError: for sizes in other axes that do not broadcast.
        """,
    "detrend": """The data less its trend along an axis.

        Args:
          data: an array.
          axis: along which.
          type: "linear" (the line of least squares) or "constant" (the mean).
          bp: where pieces with lines of their own begin.
          overwrite_data: must be None.

        Raises:
          ValueError: for another type, and breakpoints outside.
        """,
}

document(_core.numpy, "farcall.numpy", _PRODUCTS)
document(_core.numpy_linalg, "farcall.numpy.linalg", _LINALG | _NORMS)
document(_core.scipy_linalg, "farcall.scipy.linalg", _SCIPY_LINALG | _SPECIAL_MATRICES)
document(_core.signal, "farcall.scipy.signal", _SIGNAL)
