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

document(_core.linalg, "farcall.lax.linalg", _DOCS)
