"""Functions that create arrays."""

from __future__ import annotations

import array as array_module
import builtins
import ctypes
from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from farcall import _core
from farcall._placement import device_put, sharding_of
from farcall.numpy._common import Array, default_float
from farcall.numpy._types import issubdtype, result_type

__all__ = [
    "arange",
    "array",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "from_dlpack",
    "fromfunction",
    "full_like",
    "meshgrid",
    "ones_like",
    "zeros_like",
]

_f = _core.numpy

_PYTHON_NUMBERS = (builtins.bool, int, float, complex)
# Types that numpy treats as arrays over their memory.
_MEMORY = (memoryview, bytearray, array_module.array, ctypes.Array)


def array(
    object: Any,
    dtype: Any = None,
    copy: builtins.bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
) -> Array:
    """Creates an array with its own memory from arrays, numbers and nested lists of them.

    Args:
      object: anything that ``numpy.asarray`` accepts, or an Array, concrete or traced.
      dtype: by default the dtype of the values; float32, int32 or complex64 for Python numbers and
        for numpy's 64-bit data, which ``enable_x64`` keeps.
      copy: False shares memory with a numpy array if possible, as ``asarray`` does.
      order: K, C, A or None; all arrays are row-major, so F is refused.
      ndmin: the minimum number of dimensions; leading dimensions of size 1 are added.
      device: where the array is put: a Device or a Sharding, as in ``device_put``; by default the
        default device.

    Raises:
      TypeError: for values that are not numbers, and for Python complex numbers with a real dtype.
      OverflowError: for a Python number out of range of an integer dtype.
      ValueError: for lists of unequal lengths, for a Python NaN with an integer dtype, and for
        another ``order``.
    """
    _check_order(order, "array")
    result = _make(object, dtype, not copy)
    if result.ndim < ndmin:
        result = _f.reshape(result, (1,) * (ndmin - result.ndim) + result.shape)
    return result if device is None else device_put(result, device)


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: builtins.bool | None = None,
    device: Any = None,
) -> Array:
    """Converts ``a`` to an array.

    It shares the memory of a numpy array or a DLPack tensor if dtype, alignment (64 bytes) and
    layout allow, unless ``copy`` is True. Shared memory must not be written afterwards. Arguments
    and errors are those of ``array``.
    """
    _check_order(order, "asarray")
    made = _make(a, dtype, not copy)
    return made if device is None else device_put(made, device)


def copy(a: Any, order: str | None = None) -> Array:
    """A copy with its own memory; ``order`` is as for ``array``."""
    _check_order(order, "copy")
    return array(a)


def _check_order(order: Any, where: str) -> None:
    if order not in (None, "K", "C", "A"):
        raise ValueError(
            f"{where}: order must be 'K', 'C', 'A' or None, since all arrays are row-major; got "
            f"{order!r}"
        )


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
    if builtins.any(hasattr(x, "__jax_array__") for x in kinds.values()):
        return _from_sequence(_with_arrays(value), dtype)
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
        raise ValueError(f"array: {error}") from None
    if dtype is None and has_python_numbers_alone:
        made = made.astype(_default_for(made))
    elif dtype is None:
        return _f.make_array(made, None, True)
    return _f.array_from_numpy(made, True)


def _check_integers(value: list[Any], dtype: np.dtype) -> None:
    """Raises an error if a number of a list is out of range of an integer dtype."""
    given = np.asarray(value)
    if not issubdtype(dtype, np.integer) or given.dtype.kind not in "iuf" or given.size == 0:
        return
    limits = ml_dtypes.iinfo(dtype)
    if np.isnan(given).any():
        raise ValueError(f"cannot convert float NaN to {dtype.name}")
    if np.trunc(given.min()) < float(limits.min) or np.trunc(given.max()) > float(limits.max):
        raise OverflowError(f"array: a number does not fit into {dtype.name}")


def _default_for(made: np.ndarray) -> Any:
    """The default dtype of Python numbers, given numpy's conversion ``made``; int64 if needed."""
    if made.dtype == np.int64 and made.size > 0:
        limits = np.iinfo(np.int32)
        if made.min() < limits.min or made.max() > limits.max:
            return made.dtype
    is_default = made.dtype.name in ("float64", "int64", "complex128")
    return _core._incoming_dtype(made.dtype) if is_default else made.dtype


def _collect_kinds(value: Any, kinds: dict[Any, Any]) -> None:
    """Collects one element for each kind of number in a nested list."""
    if isinstance(value, (list, tuple)):
        for item in value:
            _collect_kinds(item, kinds)
    elif isinstance(value, Array):
        kinds.setdefault((value.dtype, value.weak_type), value)
    elif isinstance(value, (np.generic, np.ndarray)):
        kinds.setdefault(value.dtype, value)
    else:
        kinds.setdefault(type(value), value)


def _with_arrays(value: Any) -> Any:
    """A nested list with arrays in place of the objects that have ``__jax_array__``."""
    if isinstance(value, (list, tuple)):
        return [_with_arrays(item) for item in value]
    return _f.as_array(value, "array") if hasattr(value, "__jax_array__") else value


def _common_dtype(elements: Iterable[Any]) -> Any:
    """The promoted dtype of the elements; None if only numpy can convert an element."""
    known = (Array, np.generic, np.ndarray, *_PYTHON_NUMBERS)
    return result_type(*elements) if builtins.all(isinstance(x, known) for x in elements) else None


def _to_array(a: Any) -> Array:
    return a if isinstance(a, Array) else asarray(a)


def from_dlpack(x: Any, *, device: Any = None, copy: builtins.bool | None = None) -> Array:
    """Converts anything with ``__dlpack__`` to an array; shares memory if the alignment allows.

    ``device`` is as for ``array``.
    """
    made = _core.from_dlpack(x, copy)
    return made if device is None else device_put(made, device)


# ---- filled --------------------------------------------------------------------------------------


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Array:
    """Zeros with the shape, dtype and sharding of ``a``, unless others are given."""
    return full_like(a, 0, dtype, shape, device=device)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Array:
    """Ones with the shape, dtype and sharding of ``a``, unless others are given."""
    return full_like(a, 1, dtype, shape, device=device)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Array:
    """``fill_value`` with the shape, dtype and sharding of ``a``, unless others are given."""
    if isinstance(a, (np.ndarray, np.generic)) or not (hasattr(a, "shape") and hasattr(a, "dtype")):
        a = asarray(a)
    is_known = isinstance(a, Array) and not a.is_traced
    if device is None and shape is None and is_known and a.committed:
        device = sharding_of(a)
    return _f.full(
        a.shape if shape is None else shape,
        fill_value,
        a.dtype if dtype is None else dtype,
        device=device,
    )


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Zeros: arrays are immutable, so there is no uninitialized memory to fill later."""
    return _f.zeros(shape, dtype, device=device)


def empty_like(
    prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Array:
    """Zeros with the shape, dtype and sharding of ``prototype``, unless others are given."""
    return full_like(prototype, 0, dtype, shape, device=device)


# ---- ranges --------------------------------------------------------------------------------------


def arange(
    start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None
) -> Array:
    """Values from ``start`` (0 by default) up to, excluding, ``stop``, in steps of ``step``.

    Raises:
      ConcretizationTypeError: for a traced argument, since the size of the result depends on it.
      TypeError: without a number for the end.
    """
    if stop is None:
        start, stop = 0, start
    if stop is None:
        raise TypeError("arange: argument stop must be a number, got None")
    for name, value in (("start", start), ("stop", stop), ("step", step)):
        _core._check_known_integer(value, f"arange: argument {name}")
    step = 1 if step is None else step
    if dtype is None and (many := _many_integers(start, stop, step)) is not None:
        return many if device is None else device_put(many, device)
    made = np.arange(start, stop, step)
    values = _make(made, _default_for(made) if dtype is None else dtype, True)
    return values if device is None else device_put(values, device)


def _many_integers(start: Any, stop: Any, step: Any) -> Array | None:
    """``arange`` by the engine, on several threads; None for few numbers and other ones."""
    many = 1 << 22
    if not (type(start) is type(stop) is type(step) is int) or step == 0:
        return None
    numbers = range(start, stop, step)
    limits = np.iinfo(np.int32)
    if len(numbers) < many or min(start, stop) < limits.min or max(start, stop) > limits.max:
        return None
    dtype = _core._incoming_dtype(np.dtype(np.int64))
    counts = _core.lax.broadcasted_iota(dtype, (len(numbers),), 0)
    return counts if (start, step) == (0, 1) else counts * step + start


# ---- grids ---------------------------------------------------------------------------------------


def meshgrid(
    *xi: Any,
    copy: builtins.bool = True,
    sparse: builtins.bool = False,
    indexing: str = "xy",
) -> list[Array]:
    """The coordinate arrays of a grid given by vectors.

    Args:
      xi: the vectors, one for each dimension.
      copy: ignored.
      sparse: whether dimensions along which the coordinates are constant have size 1.
      indexing: ``xy`` exchanges the first two dimensions of the grid, ``ij`` does not.
    """
    return _f._meshgrid(xi, sparse, indexing)


def fromfunction(function: Any, shape: Any, *, dtype: Any = None, **kwargs: Any) -> Any:
    """Calls ``function`` with the index arrays of this shape."""
    sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return function(*_f.indices(sizes, dtype or default_float()), **kwargs)
