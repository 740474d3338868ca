"""Docstrings of functions that farcall.lax.linalg takes from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_MATRICES = "float32, float64, complex64 or complex128"

_DOCS = {
    "cholesky": f"""The lower triangular matrices ``l`` with ``x = l @ l.conj().T``.

        Args:
          x: positive definite matrices ``[…, n, n]``, of {_MATRICES}.
          symmetrize_input: whether to factor ``(x + x.conj().T) / 2``; otherwise only the lower
            triangle is read.

        Returns:
          Matrices of the shape and dtype of ``x``; NaN where a matrix is not positive definite.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for matrices that are not square, and other dtypes.
        """,
    "lu": f"""LU factorization with partial pivoting: ``x[permutation] = l @ u``.

        Args:
          x: matrices ``[…, m, n]``, of {_MATRICES}.

        Returns:
          A tuple: ``u`` on and above the diagonal and the unit lower triangular ``l`` below it, of
          the shape of ``x``; the pivots, the row exchanged at each step, int32 ``[…, min(m, n)]``;
          the permutation of the rows, int32 ``[…, m]``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for fewer than two dimensions, and other dtypes.
        """,
    "lu_pivots_to_permutation": """The permutation that a sequence of row exchanges produces.

        Args:
          pivots: int32 ``[…, k]``; step ``i`` exchanges the rows ``i`` and ``pivots[…, i]``.
          permutation_size: the number of rows.

        Returns:
          An int32 array ``[…, permutation_size]``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for more pivots than rows, and other dtypes.
        """,
    "householder_product": f"""The product of Householder reflections, given in LAPACK's form.

        Args:
          a: matrices ``[…, m, n]``, of {_MATRICES}, with the reflection vectors below the diagonal.
          taus: their scalar factors, ``[…, k]`` with ``k <= n``.

        Returns:
          Matrices ``[…, m, n]`` with orthonormal columns.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for shapes or dtypes that do not match.
        """,
    "triangular_solve": f"""Solves ``a @ x = b``, or ``x @ a = b``, for triangular ``a``.

        Args:
          a: matrices ``[…, n, n]``, of {_MATRICES}.
          b: ``[…, n, k]``, or ``[…, k, n]`` if ``left_side`` is False.
          left_side: whether to solve ``a @ x = b``; otherwise ``x @ a = b``.
          lower: whether to read the lower triangle of ``a``; otherwise the upper one.
          transpose_a, conjugate_a: whether to transpose, or conjugate, ``a`` first.
          unit_diagonal: whether to take the diagonal of ``a`` as ones.

        Returns:
          An array of the shape and dtype of ``b``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for shapes or dtypes that do not match.
        """,
}
_DOCS |= {
    "hessenberg": f"""Reduces square matrices to upper Hessenberg form; it has no derivative.

        Args:
          a: matrices ``[…, n, n]``, of {_MATRICES}.

        Returns:
          A tuple: the form on and above the first subdiagonal and the reflection vectors below it;
          the factors of the reflections, ``[…, n - 1]``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for matrices that are not square, and other dtypes.
        """,
    "tridiagonal": f"""Reduces Hermitian matrices to real tridiagonal form; it has no derivative.

        Args:
          a: matrices ``[…, n, n]``, of {_MATRICES}.
          lower: whether to read the lower triangle; otherwise the upper one.

        Returns:
          A tuple: the matrices with their triangle replaced by the form and the reflection vectors;
          the diagonal ``[…, n]`` and the diagonal beside it ``[…, n - 1]``, both real; the factors
          of the reflections, ``[…, n - 1]``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for matrices that are not square, and other dtypes.
        """,
    "ormqr": f"""Multiplies by the square matrix ``q`` that Householder reflections make.

        Args:
          a: matrices ``[…, m, n]``, of {_MATRICES}, with the reflection vectors below the diagonal.
          taus: their scalar factors, ``[…, k]`` with ``k <= n``.
          c: the other factor, with ``m`` rows, or ``m`` columns if ``left`` is False.
          left: whether to compute ``q @ c``; otherwise ``c @ q``.
          transpose: whether to take the conjugate transpose of ``q``.

        Returns:
          An array of the shape and dtype of ``c``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for shapes or dtypes that do not match.
        """,
    "symmetric_product": """``alpha * a_matrix @ a_matrix.T + beta * c_matrix`` of real matrices.

        Args:
          a_matrix: matrices ``[…, m, n]``, of float32 or float64.
          c_matrix: symmetric matrices ``[…, m, m]``.
          alpha, beta: numbers.
          symmetrize_output: whether to replace the upper triangle by the transposed lower one.

        Returns:
          Matrices ``[…, m, m]``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for shapes or dtypes that do not match.
        """,
    "cholesky_update": """The upper Cholesky factor of ``r.T @ r + outer(w, w)``.

        Args:
          r_matrix: upper triangular matrices ``r``, ``[…, n, n]``, of float32 or float64.
          w_vector: the vectors ``w``, ``[…, n]``.

        Returns:
          Upper triangular matrices ``[…, n, n]``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for shapes or dtypes that do not match.
        """,
    "qdwh": f"""The polar decomposition ``x = u @ h`` by Halley's iteration with dynamic weights.

        Args:
          x: one matrix ``[m, n]`` with ``m >= n``, of {_MATRICES}.
          is_hermitian: accepted for compatibility with JAX; ignored.
          max_iterations: the greatest number of iterations; 10 by default.
          eps: the iteration ends when a step is smaller than ``(4 * eps) ** (1/3)`` of ``u``; the
            precision of the dtype by default.
          dynamic_shape: must be None.

        Returns:
          A tuple: ``u`` with orthonormal columns; ``h``, positive semidefinite; the number of
          iterations; whether they have converged.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for other shapes and dtypes.
          NotImplementedError: for a ``dynamic_shape``.
        """,
    "tridiagonal_solve": f"""Solves ``a @ x = b`` for tridiagonal ``a``.

        Args:
          dl: the lower diagonals ``[…, n]``, of {_MATRICES}; the first element is ignored.
          d: the main diagonals ``[…, n]``.
          du: the upper diagonals ``[…, n]``; the last element is ignored.
          b: ``[…, n, k]``.
          perturb_singular: whether to enlarge tiny pivots, so that the solution is finite for
            singular matrices; otherwise it is not a number.

        Returns:
          An array of the shape and dtype of ``b``.

        Raises:
          TypeError: for an operand that is not an array.
          ValueError: for shapes or dtypes that do not match.
        """,
}

document(_core.linalg, "farcall.lax.linalg", _DOCS)
