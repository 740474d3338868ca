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
    """A callable that runs ``callback(ctx, out, *args, **kwargs)`` on the program's own memory.

    The callback gets an ExecutionContext, the results as a pytree of writeable Buffers in the form
    of ``result_shape_dtypes``, and the arguments with each array replaced by a read-only Buffer. It
    writes the results in place (``np.asarray(out)[...] = …``) and returns None. Nothing is copied.
    Results are not initialised, except those that take over an argument's memory. Buffers serve
    until the callback returns.

    Args:
      callback: the function. Programs on several threads may call it at the same time.
      result_shape_dtypes: a pytree of objects with ``shape`` and ``dtype``.
      has_side_effect: it is called exactly once per execution, also when nobody reads its results.
      vmap_method: how the call behaves under vmap: ``sequential``, ``sequential_unrolled``,
        ``expand_dims``, ``broadcast_all`` or ``legacy_vectorized``; None refuses.
      input_output_aliases: from the index of an argument to that of the result that takes over its
        memory, both among the flattened leaves. The caller's array is never changed.
      command_buffer_compatible: on CUDA, the callback is recorded once and replayed. No effect on
        the CPU.

    Returns:
      A callable on pytrees of arrays, which returns arrays in the form of ``result_shape_dtypes``.

    Raises:
      TypeError: for a callback that is not callable, or at the call for an argument that is no
        array.
      ValueError: for options that do not fit; at the call, when the callback returns a value, and
        when the call is differentiated (wrap it in custom_jvp or custom_vjp).
      RuntimeError: in the callback, when a Buffer is used after the call that it belongs to.
      Exception: whatever the callback raises reaches the caller of the program as it is.
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
    structure, shapes and dtypes. It may be called never, once or more often.

    Args:
      callback: the function.
      result_shape_dtypes: a pytree of objects with ``shape`` and ``dtype``.
      *args: pytrees of arrays.
      sharding: for engines with several devices; there is one here.
      vmap_method: as of buffer_callback.
      **kwargs: pytrees of arrays, passed by name.

    Returns:
      Arrays in the form of ``result_shape_dtypes``.

    Raises:
      ValueError: when the callback returns something else than declared, naming both, and when the
        call is differentiated (wrap it in custom_jvp or custom_vjp).
      NotImplementedError: under vmap without a vmap_method.
      Exception: whatever the callback raises reaches the caller of the program as it is.
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

    It is called exactly once per execution, also when nobody reads its results. Under vmap it is
    called for one element after the other.

    Args:
      callback: the function.
      result_shape_dtypes: a pytree of objects with ``shape`` and ``dtype``; None for no result.
      *args: pytrees of arrays.
      sharding: for engines with several devices; there is one here.
      ordered: calls keep the order of the program among themselves. Under vmap such a call is
        refused unless ``vmap_method`` says what is meant.
      vmap_method: as of buffer_callback; None is ``sequential`` for calls that are not ordered.
      **kwargs: pytrees of arrays, passed by name.

    Returns:
      Arrays in the form of ``result_shape_dtypes``.

    Raises:
      ValueError: as pure_callback, and for an ordered call under vmap.
      Exception: whatever the callback raises reaches the caller of the program as it is.
    """
    del sharding
    return _callbacks.io_callback(callback, result_shape_dtypes, ordered, vmap_method, args, kwargs)


def effects_barrier() -> None:
    """Returns when the effects of all programs that this thread has run are there.

    Callbacks run on the thread that runs their program, before its results are there, so that there
    is nothing to wait for; what they printed is flushed.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
