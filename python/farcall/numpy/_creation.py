"""Functions that make arrays."""

from __future__ import annotations

import array as array_module
import builtins
import ctypes
import operator
from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from farcall import _core
from farcall.numpy._common import Array, as_array, default_float, default_int
from farcall.numpy._types import issubdtype, result_type

__all__ = [
    "arange",
    "array",
    "asarray",
    "copy",
    "diag",
    "diagflat",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "fromfunction",
    "full_like",
    "geomspace",
    "identity",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "ones_like",
    "tri",
    "tril_indices",
    "triu_indices",
    "vander",
    "zeros_like",
]

_f = _core.numpy

_PYTHON_NUMBERS = (builtins.bool, int, float, complex)
# What numpy takes for an array of the numbers in its memory.
_MEMORY = (memoryview, array_module.array, ctypes.Array)


def array(object: Any, dtype: Any = None, copy: builtins.bool = True, ndmin: int = 0) -> Array:
    """An array of its own memory, from arrays, numbers and nested lists of them.

    Args:
      object: what ``numpy.asarray`` accepts, or an Array, traced ones included.
      dtype: left out, the dtype of the values; float32, int32 or complex64 for Python's numbers and
        for numpy's 64-bit data, which ``enable_x64`` keeps.
      copy: False shares memory with a numpy array where that can be done, as ``asarray`` does.
      ndmin: dimensions of size 1 are put before until there are so many.

    Raises:
      TypeError: for values that are no numbers, lists of unequal lengths, or complex numbers of
        Python in a real dtype.
      OverflowError: for a number of Python that an integer dtype does not have.
      ValueError: for a nan of Python in an integer dtype.
    """
    result = _make(object, dtype, not copy)
    if result.ndim < ndmin:
        result = _f.reshape(result, (1,) * (ndmin - result.ndim) + result.shape)
    return result


def asarray(a: Any, dtype: Any = None, copy: builtins.bool | None = None) -> Array:
    """An array of the values of ``a``.

    It shares the memory of a numpy array or a DLPack tensor where dtype, alignment (64 bytes) and
    layout allow, unless ``copy`` is True: that memory must not be written to afterwards. No other
    function shares memory that comes in. Args and errors are those of ``array``.
    """
    return _make(a, dtype, not copy)


def copy(a: Any) -> Array:
    """An array with memory of its own."""
    return array(a)


def _make(value: Any, dtype: Any, share: builtins.bool) -> Array:
    if isinstance(value, Array):
        made = value if dtype is None else _f.astype(value, dtype)
        return made if share or made.dtype != value.dtype else made.copy()
    if isinstance(value, (list, tuple, range)):
        return _from_sequence(list(value), dtype)
    if isinstance(value, _MEMORY):
        value = np.asarray(value)
    return _f.make_array(value, dtype, share)


def _from_sequence(value: list[Any], dtype: Any) -> Array:
    kinds: dict[Any, Any] = {}
    _collect_kinds(value, kinds)
    elements = kinds.values()
    has_python_numbers_alone = builtins.all(kind in _PYTHON_NUMBERS for kind in kinds)
    if dtype is None and len(kinds) > 1 and not has_python_numbers_alone:
        dtype = _common_dtype(elements)
    if builtins.any(isinstance(x, Array) for x in elements):
        result = _f.stack([_make(item, dtype, True) for item in value], 0)
        return _f.astype(result, result.dtype if dtype is None else dtype)
    try:
        made = np.asarray(value, dtype=None if dtype is None else _core._check_dtype(dtype))
        if dtype is not None and has_python_numbers_alone:
            _check_integers(value, made.dtype)
    except ValueError as error:
        if "NaN" in str(error):
            raise ValueError(f"array: {error}") from None
        raise TypeError(f"array: {error}") from None
    if dtype is None and has_python_numbers_alone:
        made = made.astype(_default_for(made))
    elif dtype is None:
        return _f.make_array(made, None, True)
    return _f.array_from_numpy(made, True)


def _check_integers(value: list[Any], dtype: np.dtype) -> None:
    """Raises where an integer dtype does not have the numbers of a list."""
    given = np.asarray(value)
    if not issubdtype(dtype, np.integer) or given.dtype.kind not in "iuf" or given.size == 0:
        return
    limits = ml_dtypes.iinfo(dtype)
    if np.isnan(given).any():
        raise ValueError(f"cannot convert float NaN to {dtype.name}")
    if np.trunc(given.min()) < float(limits.min) or np.trunc(given.max()) > float(limits.max):
        raise OverflowError(f"array: a number does not fit into {dtype.name}")


def _default_for(made: np.ndarray) -> Any:
    """The dtype for Python's numbers, of which numpy made ``made``; int64 where they need it."""
    if made.dtype == np.int64 and made.size > 0:
        limits = np.iinfo(np.int32)
        if made.min() < limits.min or made.max() > limits.max:
            return made.dtype
    is_default = made.dtype.name in ("float64", "int64", "complex128")
    return _core._incoming_dtype(made.dtype) if is_default else made.dtype


def _collect_kinds(value: Any, kinds: dict[Any, Any]) -> None:
    """One element of each kind of number that a list holds, by what tells the kinds apart."""
    if isinstance(value, (list, tuple)):
        for item in value:
            _collect_kinds(item, kinds)
    elif isinstance(value, Array):
        kinds.setdefault((value.dtype, value.weak_type), value)
    elif isinstance(value, (np.generic, np.ndarray)):
        kinds.setdefault(value.dtype, value)
    else:
        kinds.setdefault(type(value), value)


def _common_dtype(elements: Iterable[Any]) -> Any:
    """The dtype in which they meet; None where numpy has to tell what an element is."""
    known = (Array, np.generic, np.ndarray, *_PYTHON_NUMBERS)
    return result_type(*elements) if builtins.all(isinstance(x, known) for x in elements) else None


def _to_array(a: Any) -> Array:
    return a if isinstance(a, Array) else asarray(a)


def from_dlpack(x: Any, *, copy: builtins.bool | None = None) -> Array:
    """An array from anything with ``__dlpack__``, sharing memory where alignment allows."""
    return _core.from_dlpack(x, copy)


# ---- filled --------------------------------------------------------------------------------------


def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Array:
    """Zeros in the shape and dtype of ``a``, unless others are given."""
    return full_like(a, 0, dtype, shape)


def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Array:
    """Ones in the shape and dtype of ``a``, unless others are given."""
    return full_like(a, 1, dtype, shape)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Array:
    """``fill_value`` in the shape and dtype of ``a``, unless others are given."""
    if isinstance(a, (np.ndarray, np.generic)) or not (hasattr(a, "shape") and hasattr(a, "dtype")):
        a = asarray(a)
    return _f.full(
        a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype
    )


def empty(shape: Any, dtype: Any = None) -> Array:
    """Zeros: arrays are immutable, so there is nothing to fill."""
    return _f.zeros(shape, dtype)


def empty_like(a: Any, dtype: Any = None, shape: Any = None) -> Array:
    """Zeros in the shape and dtype of ``a``, unless others are given."""
    return full_like(a, 0, dtype, shape)


# ---- ranges --------------------------------------------------------------------------------------


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Array:
    """Values from ``start`` (0 if left out) to below ``stop`` in steps of ``step``."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    made = np.arange(start, stop, step)
    return _make(made, _default_for(made) if dtype is None else dtype, True)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: builtins.bool = True,
    retstep: builtins.bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """``num`` evenly spaced values from ``start`` to ``stop``.

    Args:
      start, stop: numbers or arrays, broadcast against each other.
      num: how many values.
      endpoint: whether ``stop`` is one of them.
      retstep: also return the distance of neighbours.
      dtype: of the result; a float if left out.
      axis: where the values lie.
    """
    num, axis = operator.index(num), operator.index(axis)
    start, stop = _listless(start), _listless(stop)
    values = _f._linspace(start, stop, num, endpoint, dtype, axis)
    return (values, _f._linspace_step(start, stop, num, endpoint, dtype)) if retstep else values


def _listless(value: Any) -> Any:
    return asarray(value) if isinstance(value, (list, tuple)) else value


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: builtins.bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """``base`` to the power of evenly spaced numbers from ``start`` to ``stop``."""
    num, axis = operator.index(num), operator.index(axis)
    start, stop, base = (_listless(each) for each in (start, stop, base))
    return _f._logspace(start, stop, num, endpoint, base, dtype, axis)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: builtins.bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """``num`` values from ``start`` to ``stop``, each by one factor larger than the one before."""
    num, axis = operator.index(num), operator.index(axis)
    return _f._geomspace(_listless(start), _listless(stop), num, endpoint, dtype, axis)


# ---- matrices and grids --------------------------------------------------------------------------


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Array:  # noqa: N803
    """Zeros, with ones on diagonal ``k``, in ``N`` rows and ``M`` columns (as many if left out)."""
    N = operator.index(N)  # noqa: N806
    columns = N if M is None else operator.index(M)
    if k == 0:
        return _f.eye(N, columns, dtype)
    return _f.astype(_f.equal(_column_minus_row(N, columns), k), dtype or default_float())


def _column_minus_row(rows: int, columns: int) -> Array:
    shape = (rows, columns)
    iota = _core.lax.broadcasted_iota
    return iota("int32", shape, 1) - iota("int32", shape, 0)


def identity(n: int, dtype: Any = None) -> Array:
    """The identity matrix."""
    return _f.eye(n, n, dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Array:  # noqa: N803
    """Ones on and below diagonal ``k``, zeros above."""
    below = _f.less_equal(_column_minus_row(N, N if M is None else M), k)
    return _f.astype(below, dtype or "float32")


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The rows and columns on and below diagonal ``k`` of a matrix of ``n`` rows."""
    rows, columns = np.tril_indices(n, k, m)
    return asarray(rows), asarray(columns)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The rows and columns on and above diagonal ``k`` of a matrix of ``n`` rows."""
    rows, columns = np.triu_indices(n, k, m)
    return asarray(rows), asarray(columns)


def diag(v: Any, k: int = 0) -> Array:
    """The diagonal ``k`` of a matrix; or the matrix that has a vector there, zeros elsewhere."""
    values = as_array(v, "diag", "v")
    if values.ndim == 2:
        return _f.diagonal(values, k)
    if values.ndim != 1:
        raise ValueError(f"diag: v must be a vector or a matrix, its shape is {values.shape}")
    size = values.shape[0] + builtins.abs(k)
    # Each row holds the whole vector, moved to where its diagonal is.
    before, behind = max(k, 0), max(-k, 0)
    row = _f.concatenate([_zeros_as(values, before), values, _zeros_as(values, behind)])
    on_diagonal = _f.equal(_column_minus_row(size, size), k)
    return _f.where(on_diagonal, row, _f.zeros((), values.dtype))


def _zeros_as(values: Array, count: int) -> Array:
    return _f.zeros((count,), values.dtype)


def diagflat(v: Any, k: int = 0) -> Array:
    """The matrix with the flattened elements on diagonal ``k``."""
    return diag(_f.ravel(v), k)


def vander(x: Any, N: int | None = None, increasing: builtins.bool = False) -> Array:  # noqa: N803
    """The powers of the elements, a row for each, the highest first."""
    values = as_array(x, "vander", "x")
    if values.ndim != 1:
        raise ValueError(f"vander: x must be a vector, its shape is {values.shape}")
    count = values.shape[0] if N is None else N
    if count < 0:
        raise ValueError(f"vander: N must not be negative, got {count}")
    powers = [_f.power(values, i) for i in range(count)]
    if not powers:
        return _f.zeros((values.shape[0], 0), values.dtype)
    return _f.stack(powers if increasing else powers[::-1], 1)


def meshgrid(
    *xi: Any,
    copy: builtins.bool = True,
    sparse: builtins.bool = False,
    indexing: str = "xy",
) -> list[Array]:
    """Vectors as the coordinates of a grid, an array for each.

    Args:
      xi: the vectors, one for each dimension.
      copy: without effect.
      sparse: leave dimensions in which nothing changes at size one.
      indexing: ``xy``: the first two dimensions of the grid are exchanged; ``ij``: they are not.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [as_array(x, "meshgrid", f"xi[{i}]") for i, x in enumerate(xi)]
    vectors = [_f.ravel(x) if x.ndim == 0 else x for x in vectors]
    for i, x in enumerate(vectors):
        if x.ndim != 1:
            raise ValueError(f"meshgrid: xi[{i}] must be a vector, its shape is {x.shape}")
    order = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        order[0], order[1] = 1, 0
    shape: list[int] = [0] * len(vectors)
    for x, axis in zip(vectors, order, strict=True):
        shape[axis] = x.shape[0]
    grid = []
    for x, axis in zip(vectors, order, strict=True):
        own = [1] * len(shape)
        own[axis] = shape[axis]
        line = _f.reshape(x, own)
        grid.append(line if sparse else _f.broadcast_to(line, shape))
    return grid


def indices(dimensions: Any, dtype: Any = None, sparse: builtins.bool = False) -> Any:
    """For each dimension the indices along it, in arrays of the shape ``dimensions``."""
    shape = tuple(dimensions)
    lines = []
    for axis, size in enumerate(shape):
        own = [1] * len(shape)
        own[axis] = size
        lines.append(_core.lax.broadcasted_iota(dtype or default_int(), own, axis))
    if sparse:
        return tuple(lines)
    if not lines:
        return _f.zeros((0,), dtype or default_int())
    return _f.stack([_f.broadcast_to(line, shape) for line in lines], 0)


def fromfunction(function: Any, shape: Any, *, dtype: Any = None, **kwargs: Any) -> Any:
    """What ``function`` makes of the index arrays of this shape."""
    sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return function(*indices(sizes, dtype or default_float()), **kwargs)
