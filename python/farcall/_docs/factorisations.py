"""The docstrings of the functions that farcall.lax.linalg has from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_MATRICES = "float32, float64, complex64 or complex128"

_DOCS = {
    "cholesky": f"""The lower triangular matrices ``l`` with ``x = l @ l.conj().T``.

        Args:
          x: positive definite matrices ``[…, n, n]``, of {_MATRICES}.
          symmetrize_input: whether ``(x + x.conj().T) / 2`` is taken; else the lower triangle alone
            is read.

        Returns:
          Matrices of the shape and dtype of ``x``; NaN where one is not positive definite.

        Raises:
          TypeError: for what is no array.
          ValueError: for matrices that are not square, or another dtype.
        """,
    "lu": f"""``x`` with rows exchanged is ``l @ u``: unit lower and upper triangular matrices.

        Args:
          x: matrices ``[…, m, n]``, of {_MATRICES}.

        Returns:
          ``u`` on and above the diagonal and ``l`` below it, of the shape of ``x``; for each step
          the row that was exchanged, int32 ``[…, min(m, n)]``; the rows in their new order, int32
          ``[…, m]``.

        Raises:
          TypeError: for what is no array.
          ValueError: for fewer than two dimensions, or another dtype.
        """,
    "lu_pivots_to_permutation": """The order of rows that exchanges one after the other give.

        Args:
          pivots: int32 ``[…, k]``; step ``i`` exchanges the rows ``i`` and ``pivots[…, i]``.
          permutation_size: the number of rows.

        Returns:
          An int32 array ``[…, permutation_size]``.

        Raises:
          TypeError: for what is no array.
          ValueError: for more pivots than rows, or another dtype.
        """,
    "householder_product": f"""The product of elementary reflections, as factorisations give them.

        Args:
          a: matrices ``[…, m, n]``, of {_MATRICES}, the reflections below the diagonal.
          taus: their factors, ``[…, k]`` with ``k`` not above ``n``.

        Returns:
          Matrices ``[…, m, n]`` with orthonormal columns.

        Raises:
          TypeError: for what is no array.
          ValueError: for shapes or dtypes that do not fit.
        """,
    "triangular_solve": f"""The ``x`` with ``a @ x = b``, or ``x @ a = b``, of triangular ``a``.

        Args:
          a: matrices ``[…, n, n]``, of {_MATRICES}.
          b: ``[…, n, k]``, or ``[…, k, n]`` where ``left_side`` is False.
          left_side: whether ``a`` stands left of ``x``.
          lower: whether the lower triangle of ``a`` is read; else the upper one.
          transpose_a, conjugate_a: whether ``a`` is transposed, or conjugated, first.
          unit_diagonal: whether the diagonal of ``a`` is taken for ones.

        Returns:
          An array of the shape and dtype of ``b``.

        Raises:
          TypeError: for what is no array.
          ValueError: for shapes or dtypes that do not fit.
        """,
}

document(_core.linalg, "farcall.lax.linalg", _DOCS)
