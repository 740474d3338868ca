"""Keys: creation and derivation of new keys."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._core import Array

_f = _core.random

DEFAULT_IMPL = "threefry2x32"


def _impl_name(function: str, impl: Any, dtype: Any = None) -> str:
    """The name of the generator given by ``impl`` or ``dtype``."""
    if impl is not None and dtype is not None:
        raise ValueError(f"{function}: give impl or dtype, not both")
    wanted = DEFAULT_IMPL if impl is None and dtype is None else impl if dtype is None else dtype
    if isinstance(wanted, _core.KeyDType):
        return DEFAULT_IMPL
    if not isinstance(wanted, str):
        raise TypeError(
            f"{function}: a generator is named by a string or by the dtype of its keys, got "
            f"{wanted!r}"
        )
    return wanted


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """Makes a key from a seed.

    Args:
      seed: an integer scalar. Its high and low 32 bits are the words of the key; only the low 32
        bits of a Python int are used, or 64 with ``enable_x64``.
      impl: the name of the generator, ``"threefry2x32"``.
      dtype: the dtype of keys of the generator, in place of ``impl``.

    Returns:
      A scalar of dtype ``key<fry>``.

    Raises:
      TypeError: if the seed is not an integer scalar.
      OverflowError: for a Python int out of range of 64 bits.
      ValueError: for an unknown generator.
    """
    return _f.key(seed, _impl_name("key", impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Array:  # noqa: N802
    """Makes a key from a seed, as a uint32 array of shape (2,); see ``key``."""
    return _f.PRNGKey(seed, _impl_name("PRNGKey", impl))


def split(key: Any, num: int | tuple[int, ...] = 2) -> Array:
    """Derives new keys that are independent of each other and of the given key.

    Args:
      key: a key, which must not be used again.
      num: the number of keys, or the shape of the array of keys.

    Returns:
      Keys of the kind of ``key``, of shape ``(num,)`` or ``num``.
    """
    return _f.split(key, num)


def fold_in(key: Any, data: Any) -> Array:
    """Derives a new key from a key and a number.

    Args:
      key: a key.
      data: an integer scalar; its low 32 bits are used.

    Returns:
      A key of the kind of ``key``.

    Raises:
      OverflowError: for a Python int outside of 0 to 2^32 - 1.
    """
    return _f.fold_in(key, data)


def clone(key: Any) -> Array:
    """Returns the key itself; marks a deliberate reuse of a key."""
    return _f.clone(key)


def key_data(keys: Any) -> Array:
    """The words of keys, uint32 of shape ``keys.shape + (2,)``."""
    return _f.key_data(keys)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """Makes keys from their words.

    Args:
      key_bits_array: uint32 of shape ``(..., 2)``.
      impl: the name of the generator, ``"threefry2x32"``.
      dtype: the dtype of keys of the generator, in place of ``impl``.

    Returns:
      Keys of shape ``key_bits_array.shape[:-1]``.

    Raises:
      TypeError: for an array with a wrong dtype or shape.
    """
    return _f.wrap_key_data(key_bits_array, _impl_name("wrap_key_data", impl, dtype))


def key_impl(keys: Any) -> str:
    """The name of the generator of keys: ``"threefry2x32"``."""
    return _f.key_impl(keys)


def key_dtype(impl: Any = None) -> Any:
    """The dtype of keys of a generator."""
    return _f.key_dtype(_impl_name("key_dtype", impl))
