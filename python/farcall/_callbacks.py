"""Python functions inside programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from farcall import _core
from farcall._functions import share_copies

_callbacks = _core.callbacks
share_copies(_callbacks.BufferCallback)


def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """Makes a callable that runs ``callback(ctx, out, *args, **kwargs)`` on the program's memory.

    The callback gets an ExecutionContext, the results as a pytree of writeable Buffers in the form
    of ``result_shape_dtypes``, and the arguments with each array replaced by a read-only Buffer. It
    writes the results in place (``np.asarray(out)[...] = …``) and returns None. Nothing is copied.
    Results are not initialized, except those that alias an argument. Buffers are valid until the
    callback returns.

    Args:
      callback: the function. Programs on several threads may call it at the same time.
      result_shape_dtypes: a pytree of objects with ``shape`` and ``dtype``.
      has_side_effect: the callback runs exactly once per execution, even if its results are unused.
      vmap_method: how the call behaves under vmap: ``sequential``, ``sequential_unrolled``,
        ``expand_dims``, ``broadcast_all`` or ``legacy_vectorized``; None raises an error.
      input_output_aliases: maps the index of an argument to the index of the result that shares its
        memory; both count flattened leaves. The caller's array is never changed.
      command_buffer_compatible: on CUDA, the callback is recorded once and replayed. No effect on
        the CPU.

    Returns:
      A callable on pytrees of arrays, which returns arrays in the form of ``result_shape_dtypes``.

    Raises:
      TypeError: if the callback is not callable; at the call, for an argument that is not an array.
      ValueError: for invalid options; at the call, if the callback returns a value, and if the call
        is differentiated (wrap it in custom_jvp or custom_vjp).
      RuntimeError: if a Buffer is used after its call has ended.
      Exception: an exception of the callback reaches the caller of the program unchanged.
    """
    return _callbacks.make_buffer_callback(
        callback,
        result_shape_dtypes,
        has_side_effect,
        vmap_method,
        input_output_aliases,
        command_buffer_compatible,
    )


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Calls ``callback(*args, **kwargs)``, a function without side effects, inside a program.

    The callback gets arrays and returns arrays (farcall's, numpy's or numbers) of the declared
    structure, shapes and dtypes. It may be called any number of times, or not at all.

    Args:
      callback: the function.
      result_shape_dtypes: a pytree of objects with ``shape`` and ``dtype``.
      *args: pytrees of arrays.
      sharding: accepted for compatibility with JAX; ignored.
      vmap_method: as for buffer_callback.
      **kwargs: pytrees of arrays, passed by name.

    Returns:
      Arrays in the form of ``result_shape_dtypes``.

    Raises:
      ValueError: if the result differs from the declaration (the text names both), and if the call
        is differentiated (wrap it in custom_jvp or custom_vjp).
      NotImplementedError: under vmap without a vmap_method.
      Exception: an exception of the callback reaches the caller of the program unchanged.
    """
    del sharding
    return _callbacks.pure_callback(callback, result_shape_dtypes, vmap_method, args, kwargs)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Calls ``callback(*args, **kwargs)``, a function with side effects, inside a program.

    It is called exactly once per execution, even if its results are unused. Under vmap it is called
    for each element in turn.

    Args:
      callback: the function.
      result_shape_dtypes: a pytree of objects with ``shape`` and ``dtype``; None for no result.
      *args: pytrees of arrays.
      sharding: accepted for compatibility with JAX; ignored.
      ordered: ordered calls run in program order. Under vmap an ordered call needs a
        ``vmap_method``.
      vmap_method: as for buffer_callback; None means ``sequential`` for unordered calls.
      **kwargs: pytrees of arrays, passed by name.

    Returns:
      Arrays in the form of ``result_shape_dtypes``.

    Raises:
      ValueError: as for pure_callback, and for an ordered call under vmap without ``vmap_method``.
      Exception: an exception of the callback reaches the caller of the program unchanged.
    """
    del sharding
    return _callbacks.io_callback(callback, result_shape_dtypes, ordered, vmap_method, args, kwargs)


def effects_barrier() -> None:
    """Waits for the effects of all programs that this thread has run.

    Callbacks run on the thread of their program and end before it returns, so that nothing is left
    to wait for. This function flushes the standard output.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
