"""Arrays from and to files, bytes and iterators: numpy's functions for farcall's arrays."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from farcall.numpy._common import Array
from farcall.numpy._creation import asarray

__all__ = ["frombuffer", "fromfile", "fromiter", "fromstring", "load", "save", "savez"]


@contextlib.contextmanager
def _pickling(function: str) -> Iterator[None]:
    """numpy pickles objects that are not arrays; reports objects that cannot be pickled."""
    try:
        yield
    except (pickle.PicklingError, AttributeError) as error:
        raise TypeError(f"{function}: an object cannot be pickled: {error}") from error


def save(file: Any, arr: Any, allow_pickle: bool = True, fix_imports: bool = True) -> None:
    """Writes an array to a file in the format ``.npy``; see ``numpy.save``."""
    del fix_imports
    with _pickling("save"):
        np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes several arrays to a file in the format ``.npz``; see ``numpy.savez``.

    ``allow_pickle`` is ignored: arrays hold no Python objects.
    """
    del allow_pickle
    positional = [np.asarray(array) for array in args]
    named: dict[str, Any] = {name: np.asarray(array) for name, array in kwds.items()}
    with _pickling("savez"):
        np.savez(file, *positional, **named)


class _Loaded(Mapping[str, Array]):
    """The arrays of an ``.npz`` file by name; each is read on access."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getitem__(self, name: str) -> Array:
        return _named(self._file[name])

    def __iter__(self) -> Any:
        return iter(self._file.files)

    def __len__(self) -> int:
        return len(self._file.files)

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return self._file.files

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> _Loaded:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _named(value: np.ndarray) -> Array:
    return asarray(value, dtype=value.dtype)


def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Any = "ASCII",
    *,
    max_header_size: int = 10000,
) -> Any:
    """The array of a ``.npy`` file, or the mapping of names to arrays of an ``.npz`` file.

    Arguments and errors are those of ``numpy.load``; dtypes stay as they were saved.
    """
    loaded = np.load(
        file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size
    )
    return _named(loaded) if isinstance(loaded, np.ndarray) else _Loaded(loaded)


def fromfile(
    file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0
) -> Array:
    """The numbers of a file, as ``numpy.fromfile`` reads them."""
    return _python_default(np.fromfile(file, dtype, count, sep, offset), dtype)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """The numbers in the memory of an object, as ``numpy.frombuffer`` reads them, copied."""
    return _python_default(np.frombuffer(buffer, dtype, count, offset), dtype)


def fromiter(iter: Any, dtype: Any, count: int = -1) -> Array:
    """The numbers of an iterator, as ``numpy.fromiter`` takes them."""
    return _python_default(np.fromiter(iter, dtype, count), dtype)


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """The numbers in a text, as ``numpy.fromstring`` reads them."""
    return _python_default(np.fromstring(string, dtype, count, sep=sep), dtype)


def _python_default(made: np.ndarray, dtype: Any) -> Array:
    # float and int stand for the default dtypes; explicit dtypes are kept.
    return asarray(made.copy(), dtype=dtype if dtype in (bool, int, float, complex) else made.dtype)
