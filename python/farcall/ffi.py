"""Foreign functions: registration of handlers and calls from programs."""

from __future__ import annotations

import ctypes
import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, overload

from farcall import _core
from farcall._array import Array, ShapeDtypeStruct
from farcall._core import FfiError as FfiError
from farcall._define import Definition as Definition
from farcall._define import define as define
from farcall._environment import include_dir as include_dir
from farcall._export_handler import export_handler as export_handler
from farcall._lazy import lazy_names

__all__ = [
    "CompileError",
    "Definition",
    "FfiCall",
    "FfiError",
    "HandlerLibrary",
    "abstract_token",
    "define",
    "export_handler",
    "ffi_call",
    "include_dir",
    "is_batch_partitionable",
    "load_inline",
    "load_library",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "registered_targets",
]

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from farcall._inline import CompileError as CompileError
    from farcall._inline import HandlerLibrary as HandlerLibrary
    from farcall._inline import load_inline as load_inline
    from farcall._inline import load_library as load_library

__getattr__ = lazy_names(
    globals(),
    dict.fromkeys(
        ("CompileError", "HandlerLibrary", "load_inline", "load_library"), "farcall._inline"
    ),
)

_functions = _core.ffi
_CtypesFunction: Any = ctypes.CFUNCTYPE(None).__mro__[1]  # the base of every ctypes function
FfiCall = _functions.FfiCall

# Stands for a token among the results of ffi_call.
abstract_token: ShapeDtypeStruct = ShapeDtypeStruct((), "token")

_OPTIONS = ("target_name", "result_shape_dtypes", *_functions.option_names)


class _HasType(Protocol):
    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


class _Options(TypedDict, total=False):
    has_side_effect: bool
    vmap_method: str | None
    input_layouts: Sequence[Any] | None
    output_layouts: Any
    input_output_aliases: Mapping[int, int] | None
    custom_call_api_version: int
    legacy_backend_config: str | None
    vectorized: Any


@overload
def ffi_call(
    target_name: str, result_shape_dtypes: _HasType, **options: Unpack[_Options]
) -> FfiCall[Array]: ...
@overload
def ffi_call(
    target_name: str, result_shape_dtypes: list[Any], **options: Unpack[_Options]
) -> FfiCall[list[Array]]: ...
@overload
def ffi_call(
    target_name: str, result_shape_dtypes: tuple[Any, ...], **options: Unpack[_Options]
) -> FfiCall[tuple[Array, ...]]: ...
@overload
def ffi_call(
    target_name: str, result_shape_dtypes: Any, **options: Unpack[_Options]
) -> FfiCall[Any]: ...
def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
    **deprecated: Any,
) -> Any:
    """Makes a callable that calls the registered target ``target_name``.

    ``call(*arrays, **attributes)`` runs the target immediately, or records the call while a
    function is traced. The callable can be stored and inspected: ``target_name``,
    ``result_shape_dtypes`` and each option are its attributes, and ``replace(**options)`` makes a
    changed copy.

    Args:
      target_name: the name given to register_ffi_target.
      result_shape_dtypes: an object with ``shape`` and ``dtype``, or a list or tuple of them; the
        call returns one array, a list or a tuple accordingly. ``abstract_token`` is a token.
      has_side_effect: the target is called exactly once per execution, even if its results are
        unused.
      vmap_method: how the call behaves under vmap: ``sequential``, ``sequential_unrolled``,
        ``expand_dims``, ``broadcast_all`` or ``legacy_vectorized``; None raises an error.
      input_layouts: the layout of each operand: None (row-major), a sequence of dimensions from
        major to minor, or an object with ``major_to_minor``.
      output_layouts: the same for the results; a single layout for a single result.
      input_output_aliases: maps the index of an operand to the index of the result that shares its
        memory. The caller's array is never changed: it is copied if it may still be read.
      custom_call_api_version: 4 for handlers; 0 to 3 for untyped functions.
      legacy_backend_config: the opaque string of untyped functions.

    Raises:
      ValueError: for contradictory options; at the call, for operands that do not match the
        options.
      TypeError: at the call, for an attribute that cannot be passed, and for an operand that is not
        an array.
      FfiError: at the call, if the target is not registered or fails.
    """
    if "vectorized" in deprecated:
        vectorized = deprecated.pop("vectorized")
        warnings.warn(
            "ffi_call: vectorized is deprecated; use vmap_method='legacy_vectorized' for True and "
            "'sequential' for False",
            DeprecationWarning,
            stacklevel=2,
        )
        if vmap_method is not None:
            raise ValueError(
                f'ffi_call("{target_name}"): vectorized and vmap_method cannot both be given'
            )
        if vectorized is not None:
            vmap_method = "legacy_vectorized" if vectorized else "sequential"
    if deprecated:
        name = next(iter(deprecated))
        raise TypeError(
            f"ffi_call() got an unexpected keyword argument {name!r}; attributes of the target are "
            "passed to the callable that ffi_call returns"
        )
    return _functions.make_ffi_call(
        target_name,
        result_shape_dtypes,
        # In the order of option_names.
        has_side_effect,
        vmap_method,
        input_layouts,
        output_layouts,
        input_output_aliases,
        custom_call_api_version,
        legacy_backend_config,
    )


def _replace(self: Any, **options: Any) -> Any:
    """A copy with other options, or another ``target_name`` or ``result_shape_dtypes``."""
    return ffi_call(**{**{name: getattr(self, name) for name in _OPTIONS}, **options})


FfiCall.replace = _replace


def _with_options(options: dict[str, Any]) -> Any:
    return ffi_call(**options)


# For pickle and copy.
FfiCall.__reduce__ = lambda self: (
    _with_options,
    ({name: getattr(self, name) for name in _OPTIONS},),
)


def register_ffi_target(
    name: str,
    fn: Any,
    platform: str = "cpu",
    api_version: int = 1,
    *,
    isolate: bool = False,
    timeout: float | None = None,
    **kwargs: Any,
) -> None:
    """Registers a handler under ``name``.

    Args:
      fn: a PyCapsule of the handler (see ``pycapsule``), or a dict of capsules by stage:
        ``instantiate``, ``prepare``, ``initialize``, ``execute``, ``record``.
      platform: ``cpu``, ``cuda``, ``rocm``, ``gpu`` (both cuda and rocm), ``tpu``;
        case-insensitive.
      api_version: 1 for handlers; 0 for untyped functions.
      isolate: run the handler in a separate process, with shared memory. A crash then raises
        :class:`farcall.FfiError` with the code ``ABORTED``, the signal and the stack, and the next
        call starts a new process. Only for handlers in shared libraries, on the CPU.
      timeout: the time limit of an isolated call, in seconds; after it the process is killed and
        the call fails with ``DEADLINE_EXCEEDED``. None for no limit.
      traits: bit 0 marks a handler that may be recorded into a command buffer.

    Raises:
      RuntimeError: if another handler has this name on the platform. Registering the same handler
        again is allowed.
      ValueError: for an unknown platform or stage, or a bundle without ``execute``.
      TypeError: if ``fn`` contains anything other than capsules.
    """
    traits = kwargs.pop("traits", 0)
    if kwargs:
        raise TypeError(
            f"register_ffi_target() got an unexpected keyword argument {next(iter(kwargs))!r}"
        )
    _functions.register_target(name, fn, platform, api_version, traits, isolate, timeout)


def register_ffi_type(
    name: str, type_registration: Mapping[str, Any], platform: str = "cpu"
) -> None:
    """Registers a type of handler state or user data.

    Args:
      name: the name of the type.
      type_registration: a dict with a capsule ``type_id`` and, for a state type, a capsule
        ``type_info``.
      platform: ignored; types are process-wide.
    """
    del platform
    is_dict = isinstance(type_registration, Mapping)
    keys = set(type_registration) if is_dict else set()
    if "type_id" not in keys or keys - {"type_id", "type_info"}:
        raise ValueError(
            f'register_ffi_type("{name}"): expected a dict with keys type_id and type_info, got '
            f"{sorted(keys) if is_dict else type_registration!r}"
        )
    _functions.register_type(name, type_registration["type_id"], type_registration.get("type_info"))


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Declares that the target may be called on parts of a batch.

    A call on a slice of the leading dimension of all operands must return that slice of the
    results. May be called before or after the target's registration; applies to all platforms.
    """
    _functions.register_batch_partitionable(name)


def is_batch_partitionable(name: str) -> bool:
    """Whether register_ffi_target_as_batch_partitionable was called for ``name``."""
    return _functions.is_batch_partitionable(name)


def registered_targets(platform: str = "cpu") -> list[str]:
    """The sorted names of the targets registered on a platform."""
    return _functions.registered_targets(platform)


def pycapsule(funcptr: Any) -> Any:
    """Wraps a native function in a PyCapsule for register_ffi_target.

    Args:
      funcptr: a ctypes function, such as ``ctypes.CDLL(path).my_handler``, a ctypes pointer, or the
        function's address as an int, as cffi and numba provide it.

    Raises:
      TypeError: for anything else.
      ValueError: for a null address, or an int that is not an address.
    """
    if isinstance(funcptr, (_CtypesFunction, ctypes.c_void_p)):
        address = ctypes.cast(funcptr, ctypes.c_void_p).value
    elif isinstance(funcptr, bool) or not hasattr(funcptr, "__index__"):
        raise TypeError(
            "pycapsule: expected a ctypes function, such as ctypes.CDLL(path).my_handler, a ctypes "
            f"pointer or an address as an int, got {funcptr!r}"
        )
    else:
        address = operator.index(funcptr)
    if not address:
        raise ValueError("pycapsule: the function's address is null")
    if not 0 < address < 1 << (8 * ctypes.sizeof(ctypes.c_void_p)):
        raise ValueError(f"pycapsule: {address} is not a valid address")
    return _functions.pycapsule(address)
