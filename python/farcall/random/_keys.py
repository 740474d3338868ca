"""Keys: making them, and making new ones of them."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._core import Array

_f = _core.random

DEFAULT_IMPL = "threefry2x32"


def _impl_name(function: str, impl: Any, dtype: Any = None) -> str:
    """The name of the generator that ``impl`` or ``dtype`` asks for."""
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
    """The key of a seed.

    Args:
      seed: an integer scalar. Its high and low 32 bits are the words of the key; of a Python int
        the low 32 bits count, or 64 with ``enable_x64``.
      impl: the name of the generator, ``"threefry2x32"``.
      dtype: the dtype of keys of the generator, in place of ``impl``.

    Returns:
      A scalar of dtype ``key<fry>``.

    Raises:
      TypeError: for a seed that is no integer scalar.
      OverflowError: for a Python int that does not fit into 64 bits.
      ValueError: for a generator that there is not.
    """
    return _f.key(seed, _impl_name("key", impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Array:  # noqa: N802
    """The words of the key of a seed, uint32 of shape (2,), which serve as a key; see ``key``."""
    return _f.PRNGKey(seed, _impl_name("PRNGKey", impl))


def split(key: Any, num: int | tuple[int, ...] = 2) -> Array:
    """New keys that are independent of each other and of the given one.

    Args:
      key: a key, which is not to be used again.
      num: how many, or the shape of the array of keys.

    Returns:
      Keys of the kind of ``key``, of shape ``(num,)`` or ``num``.
    """
    return _f.split(key, num)


def fold_in(key: Any, data: Any) -> Array:
    """The key that belongs to a key and a number.

    Args:
      key: a key.
      data: an integer scalar, of which the low 32 bits count.

    Returns:
      A key of the kind of ``key``.

    Raises:
      OverflowError: for a Python int outside of 0 to 2^32 - 1.
    """
    return _f.fold_in(key, data)


def clone(key: Any) -> Array:
    """The key itself, for programs that say where they use a key again."""
    return _f.clone(key)


def key_data(keys: Any) -> Array:
    """The words of keys, uint32 of shape ``keys.shape + (2,)``."""
    return _f.key_data(keys)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """Keys of words.

    Args:
      key_bits_array: uint32 of shape ``(..., 2)``.
      impl: the name of the generator, ``"threefry2x32"``.
      dtype: the dtype of keys of the generator, in place of ``impl``.

    Returns:
      Keys of shape ``key_bits_array.shape[:-1]``.

    Raises:
      TypeError: for an array of another dtype or shape.
    """
    return _f.wrap_key_data(key_bits_array, _impl_name("wrap_key_data", impl, dtype))


def key_impl(keys: Any) -> str:
    """The name of the generator of keys: ``"threefry2x32"``."""
    return _f.key_impl(keys)


def key_dtype(impl: Any = None) -> Any:
    """The dtype of keys of a generator."""
    return _f.key_dtype(_impl_name("key_dtype", impl))
