"""Flags: ``farcall.config``, and context managers that set a flag temporarily.

The table ``FLAGS`` lists all flags. A new flag is a new row; ``config.<name>`` reads its value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from farcall import _core

__all__ = ["Config", "Flag", "config"]

_native: Any = _core.config


# ---- what values flags have ----------------------------------------------------------------------


def _switch(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("1", "true", "t", "yes", "y", "on"):
            return True
        if word in ("0", "false", "f", "no", "n", "off", ""):
            return False
    raise ValueError("True or False")


def _choice(*values: str | None) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value is None or isinstance(value, str):
            given = None if value in ("", "None") and None in values else value
            if given in values:
                return given
        raise ValueError(f"one of {', '.join(map(repr, values))}")

    return check


def _integer(value: Any) -> int:
    try:
        return int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        raise ValueError("an integer") from None


def _count(value: Any) -> int:
    number = _integer(value)
    if number < 1:
        raise ValueError("1 or more")
    return number


def _bytes(value: Any) -> int:
    number = _integer(value)
    if not 0 <= number < 2**63:
        raise ValueError("a number of bytes, 0 or more")
    return number


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise ValueError("a string or None")


def _engine(value: Any) -> str | None:
    name, names = _text(value), _core.devices.engine_names()
    if name is None or name in names:
        return name
    raise ValueError(f"None or one of {', '.join(map(repr, names))}")


def _set_engine(name: str | None) -> None:
    device = _core.devices.find_devices(name or "native")[0]
    _core.devices.set_default_device(device)


def _device(value: Any) -> Any:
    from farcall._devices import as_device  # imported here because it imports this module

    try:
        return as_device(value, "default_device")
    except (TypeError, ValueError):
        raise ValueError("None, a Device, or the name of a platform or engine") from None


def _set_default_device(device: Any) -> None:
    if device is None:
        _set_engine(_read(FLAGS["engine"]))
    else:
        _core.devices.set_default_device(device)


# In the order of the core's; None is "allow".
_GUARDS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit", None)
_DIRECTIONS = ("host_to_device", "device_to_host", "device_to_device")


def _number_of_guard(guard: str | None) -> int:
    return _GUARDS.index(guard or "allow")


def _set_transfer_guards(guard: str | None) -> None:
    for direction in _DIRECTIONS:
        _set(FLAGS[f"transfer_guard_{direction}"], guard)


def _set_transfer_guard(direction: int, guard: str | None) -> None:
    _core.devices.set_transfer_guard(direction, _number_of_guard(guard))


def _set_transfer_guard_on_thread(direction: int, guard: str | None) -> Callable[[], Any]:
    set_guard = functools.partial(_core.devices.set_transfer_guard_on_thread, direction)
    return functools.partial(set_guard, set_guard(_number_of_guard(guard)))


def _platforms(value: Any) -> str | None:
    names = _text(value)
    if names is None or all(name.strip().lower() == "cpu" for name in names.split(",")):
        return names
    raise ValueError("None or 'cpu', the only platform")


def _only(kept: Any) -> Callable[[Any], Any]:
    """The check of a flag of JAX that supports only one value here."""

    def check(value: Any) -> Any:
        if value == kept or (isinstance(kept, bool) and _switch(value) is kept):
            return kept
        raise ValueError(f"{kept!r}, the only supported value")

    return check


# ---- the flags -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Flag:
    """A flag; ``name`` is without ``jax_``.

    ``check`` returns the value to store, or raises ValueError with the allowed values. ``doc`` is
    the meaning of the flag. ``apply`` is called with a new value, and ``on_thread`` with one for
    this thread; it returns a function that restores what was. A flag with ``core_value`` keeps its
    value here, and sets the core's flag to ``core_value(value)``.
    """

    name: str
    default: Any
    check: Callable[[Any], Any]
    doc: str
    apply: Callable[[Any], None] | None = None
    core_value: Callable[[Any], Any] | None = None
    on_thread: Callable[[Any], Callable[[], Any]] | None = None


# The names of precisions, and those of the core.
_CORE_PRECISIONS = {
    **dict.fromkeys(("default", "fastest", "bfloat16"), "default"),
    **dict.fromkeys(("high", "bfloat16_3x", "tensorfloat32"), "high"),
    **dict.fromkeys(("highest", "float32"), "highest"),
}
# Algorithms have no effect.
_PRECISIONS = (
    *_CORE_PRECISIONS,
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"),
    *("ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
    *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32"),
    *("BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)

# Flags with an effect.
_ACTIVE = (
    Flag(
        "enable_x64",
        False,
        _switch,
        "numpy's 64-bit data keeps its dtype; default dtypes have 64 bits",
    ),
    Flag("debug_nans", False, _switch, "a result with a nan raises FloatingPointError"),
    Flag("debug_infs", False, _switch, "a result with an infinity raises FloatingPointError"),
    Flag(
        "check_foreign_calls",
        False,
        _switch,
        "foreign calls run with guarded copies and are checked",
    ),
    Flag("disable_jit", False, _switch, "jitted functions, loops and branches run in Python"),
    Flag("log_compiles", False, _switch, "each compilation logs a warning"),
    Flag(
        "numpy_dtype_promotion",
        "standard",
        _choice("standard", "strict"),
        "strict: operations reject arrays of different dtypes",
    ),
    Flag(
        "numpy_rank_promotion",
        "allow",
        _choice("allow", "warn", "raise"),
        "what happens when broadcasting adds dimensions to an array",
    ),
    Flag(
        "default_matmul_precision",
        None,
        _choice(None, *_PRECISIONS),
        "the precision of products and convolutions that name none, on devices with a choice",
        core_value=lambda value: _CORE_PRECISIONS.get(value, "none"),
    ),
    Flag(
        "cache_limit",
        _core.cache_limit(),
        _count,
        "how many programs each cache holds, such as that of a jitted function; process-wide",
        _core.set_cache_limit,
    ),
    Flag(
        "memory_pool_limit",
        _core.memory_pool_limit(),
        _bytes,
        "how many bytes of freed arrays are kept for reuse; process-wide",
        _core.set_memory_pool_limit,
    ),
    Flag(
        "jit_loops",
        _core.jit_loops(),
        _switch,
        "loops of a few numbers and clusters of operations run as machine code; process-wide",
        _core.set_jit_loops,
    ),
    Flag(
        "engine",
        None,
        _engine,
        "the engine whose first device is the default; None: native",
        _set_engine,
    ),
    Flag(
        "default_device",
        None,
        _device,
        "the device of programs without committed arrays; None: the first one of the engine",
        _set_default_device,
    ),
    Flag(
        "num_cpu_devices",
        1,
        _count,
        "how many devices the host is divided into; may grow, but not shrink; process-wide",
        _core.devices.set_num_cpu_devices,
    ),
    Flag(
        "transfer_guard",
        None,
        _choice(*_GUARDS),
        "what happens at transfers between memories; sets the three flags below",
        _set_transfer_guards,
    ),
    *(
        Flag(
            f"transfer_guard_{direction}",
            None,
            _choice(*_GUARDS),
            f"what happens at {direction.replace('_', '-')} transfers",
            functools.partial(_set_transfer_guard, number),
            on_thread=functools.partial(_set_transfer_guard_on_thread, number),
        )
        for number, direction in enumerate(_DIRECTIONS)
    ),
    Flag("platforms", None, _platforms, "the platforms that programs may run on"),
    Flag("platform_name", None, _platforms, "older name of platforms"),
)

# Flags of JAX that are accepted without effect, with the reason.
_WITHOUT_EFFECT = (
    Flag("check_tracer_leaks", False, _switch, "using a leaked array raises an error"),
    Flag("enable_checks", False, _switch, "internal checks are always on"),
    Flag("traceback_filtering", "auto", _text, "tracebacks show few lines of farcall anyway"),
    Flag("compilation_cache_dir", None, _text, "compiling a program takes less time than a read"),
    Flag("enable_compilation_cache", True, _switch, "there is no cache on disk"),
    Flag("compilation_cache_max_size", -1, _integer, "there is no cache on disk"),
    Flag("persistent_cache_min_compile_time_secs", 1.0, float, "there is no cache on disk"),
    Flag("persistent_cache_min_entry_size_bytes", 0, _integer, "there is no cache on disk"),
    Flag("raise_persistent_cache_errors", False, _switch, "there is no cache on disk"),
    Flag("explain_cache_misses", False, _switch, "log_compiles names the compiled programs"),
    Flag("disable_most_optimizations", False, _switch, "compiling takes microseconds"),
    Flag("cpu_enable_async_dispatch", True, _switch, "programs end before their call returns"),
    Flag("softmax_custom_jvp", False, _switch, "the derivative of softmax is exact either way"),
    Flag("use_direct_linearize", True, _switch, "linearize is direct"),
    Flag("use_shardy_partitioner", True, _switch, "programs are not partitioned by XLA"),
    Flag("pprint_use_color", True, _switch, "programs are printed without colours"),
    Flag("include_full_tracebacks_in_locations", True, _switch, "a location is one line"),
    Flag("logging_level", "NOTSET", _text, "set the level of the logger farcall instead"),
    Flag("debug_log_modules", None, _text, "set the level of the logger farcall instead"),
    Flag("tracer_error_num_traceback_frames", 5, _integer, "an error names one line"),
    Flag("dump_ir_to", None, _text, "print or save a program instead"),
    Flag("persistent_cache_enable_xla_caches", None, _text, "there is no cache on disk"),
    Flag("captured_constants_warn_bytes", -1, _integer, "constants are not copied"),
    Flag("compiler_enable_remat_pass", True, _switch, "values are computed once"),
    Flag("optimization_level", "UNKNOWN", _text, "compiling takes microseconds"),
    Flag("enable_pgle", False, _switch, "runs are not profiled for the compiler"),
    Flag("cpu_collectives_implementation", "gloo", _text, "there is one process"),
)

# Flags of JAX that support only one value: another value would change results.
_FIXED = (
    Flag("no_tracing", False, _only(False), "an error for each trace"),
    Flag("no_execution", False, _only(False), "an error for each run"),
    Flag("debug_key_reuse", False, _only(False), "reusing a random key is an error"),
    Flag("default_prng_impl", "threefry2x32", _only("threefry2x32"), "the random number generator"),
    Flag("threefry_partitionable", True, _only(True), "which bits threefry2x32 gives an element"),
    Flag("enable_custom_prng", False, _only(False), "PRNGKey makes keys of integers; key does not"),
    Flag("legacy_prng_key", "allow", _only("allow"), "whether keys of integers are accepted"),
    Flag("random_seed_offset", 0, _only(0), "what is added to seeds"),
    Flag("error_checking_behavior_nan", "ignore", _only("ignore"), "use debug_nans"),
    Flag("error_checking_behavior_divide", "ignore", _only("ignore"), "use debug_infs"),
    Flag("error_checking_behavior_oob", "ignore", _only("ignore"), "indices out of bounds"),
)

FLAGS: dict[str, Flag] = {flag.name: flag for flag in (*_ACTIVE, *_WITHOUT_EFFECT, *_FIXED)}

# The flags stored in the core, with the names of their values in order.
_NATIVE: dict[str, list[str]] = _native.flags()


# ---- reading and setting -------------------------------------------------------------------------

_process: dict[str, Any] = {}
_thread = threading.local()


def _flag_named(name: Any) -> Flag:
    flag = FLAGS.get(name.removeprefix("jax_")) if isinstance(name, str) else None
    if flag is not None:
        return flag
    import difflib  # imported here because it is slow

    near = difflib.get_close_matches(str(name).removeprefix("jax_"), FLAGS, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise AttributeError(f"farcall.config has no flag {name!r}{hint}")


def _checked(flag: Flag, value: Any, source: str = "config") -> Any:
    try:
        return flag.check(value)
    except (TypeError, ValueError) as error:
        wanted = str(error)
    raise ValueError(f"{source}: flag {flag.name} must be {wanted}; got {value!r}") from None


def _number_of(flag: Flag, value: Any) -> int:
    if flag.core_value is not None:
        value = flag.core_value(value)
    return int(value) if isinstance(value, bool) else _NATIVE[flag.name].index(value)


def _is_in_core(flag: Flag) -> bool:
    return flag.name in _NATIVE and flag.core_value is None


def _read(flag: Flag) -> Any:
    if _is_in_core(flag):
        number = _native.get(flag.name)
        return bool(number) if isinstance(flag.default, bool) else _NATIVE[flag.name][number]
    overrides = getattr(_thread, "values", {})
    if flag.name in overrides:
        return overrides[flag.name]
    return _process.get(flag.name, flag.default)


def _set(flag: Flag, value: Any) -> None:
    if flag.name in _NATIVE:
        _native.set(flag.name, _number_of(flag, value))
    if flag.apply is not None:
        flag.apply(value)
    if not _is_in_core(flag):
        _process[flag.name] = value


@contextlib.contextmanager
def overridden(name: str, value: Any) -> Iterator[None]:
    """Sets a flag on this thread until the block ends."""
    flag = _flag_named(name)
    value = _checked(flag, value, name)
    before = None
    if flag.name in _NATIVE:
        before = _native.set_on_thread(flag.name, _number_of(flag, value))
    restore = flag.on_thread(value) if flag.on_thread is not None else None
    outer: dict[str, Any] = getattr(_thread, "values", {})
    if not _is_in_core(flag):
        _thread.values = {**outer, flag.name: value}
    try:
        yield
    finally:
        _thread.values = outer
        if flag.name in _NATIVE:
            _native.set_on_thread(flag.name, before)
        if restore is not None:
            restore()


class Config:
    """The flags of farcall.

    ``config.update(name, value)`` sets a flag for the process, ``config.<name>`` reads it. Names
    may begin with ``jax_``.
    """

    def update(self, name: str, value: Any) -> None:
        """Sets a flag for the process.

        Raises:
          AttributeError: for an unknown flag; the message suggests similar names.
          ValueError: for a value that the flag does not accept.
        """
        flag = _flag_named(name)
        _set(flag, _checked(flag, value))

    def read(self, name: str) -> Any:
        """The value of a flag on this thread. Raises AttributeError for an unknown flag."""
        return _read(_flag_named(name))

    @property
    def values(self) -> dict[str, Any]:
        """All flags by name, without ``jax_``, with their values on this thread."""
        return {name: _read(flag) for name, flag in FLAGS.items()}

    @property
    def x64_enabled(self) -> bool:
        """The flag enable_x64."""
        return self.read("enable_x64")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"config.{name} cannot be assigned to; call config.update({name!r}, {value!r})"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *FLAGS]

    def __repr__(self) -> str:
        changed = {n: v for n, v in self.values.items() if v != FLAGS[n].default}
        return f"<farcall.config {changed or 'of default values'}>"


config = Config()


def _read_environment() -> None:
    for flag in FLAGS.values():
        variable = f"FARCALL_{flag.name.upper()}"
        if text := os.environ.get(variable):
            _set(flag, _checked(flag, text, f"environment variable {variable}"))


_read_environment()


# ---- context managers ----------------------------------------------------------------------------


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block, numpy's 64-bit data keeps its dtype, and default dtypes have 64 bits."""
    return overridden("enable_x64", new_val)


def disable_x64() -> contextlib.AbstractContextManager[None]:
    """Within the block, numpy's 64-bit data is converted to 32 bits, as are default dtypes."""
    return overridden("enable_x64", False)


def debug_nans(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block, a result that contains a NaN raises FloatingPointError."""
    return overridden("debug_nans", new_val)


def debug_infs(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block, a result that contains an infinity raises FloatingPointError."""
    return overridden("debug_infs", new_val)


def check_foreign_calls(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block, foreign calls and callbacks are checked as they run.

    Every operand and result is a copy between guard bytes. Before the call, results hold NaN or
    random numbers, and scratch memory holds NaN. The call raises :class:`farcall.FfiError` if it
    writes outside its buffers (``oob-write``), writes to an argument that no result aliases
    (``input-write``), or leaves a result partly or wholly unwritten (``unwritten-result``). The
    error names the target, the operand, the byte offset, the types and your line; the program's own
    memory stays unchanged. Programs compiled outside the block are not checked; jitted functions
    are compiled again within it.
    """
    return overridden("check_foreign_calls", new_val)


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block, jitted functions, loops and branches run in Python, step by step."""
    return overridden("disable_jit", disable)


def log_compiles(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block, each compilation of a program logs a warning to the logger ``farcall``."""
    return overridden("log_compiles", new_val)


def check_tracer_leaks(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Has no effect: using a leaked traced array always raises an error."""
    return overridden("check_tracer_leaks", new_val)


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """``check_tracer_leaks(True)``."""
    return check_tracer_leaks(True)


def numpy_dtype_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the block, "strict" rejects operations on arrays of different dtypes."""
    return overridden("numpy_dtype_promotion", new_val)


def numpy_rank_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the block, "warn" or "raise" reports broadcasting that adds dimensions to an array."""
    return overridden("numpy_rank_promotion", new_val)


def default_matmul_precision(new_val: str | None) -> contextlib.AbstractContextManager[None]:
    """Within the block, the precision of products and convolutions that name none.

    It is part of their programs. Engines on the host always use the dtype of the operands.
    """
    return overridden("default_matmul_precision", new_val)


@contextlib.contextmanager
def transfer_guard(new_val: str) -> Iterator[None]:
    """Within the block, guards transfers between the host and devices, in all directions.

    Args:
      new_val: "allow"; "log": implicit transfers are logged to the logger ``farcall``; "disallow":
        they raise RuntimeError; "log_explicit" and "disallow_explicit": explicit ones too.
        device_put and device_get make explicit transfers. Implicit ones are made by calls with
        arguments in another memory, and by reading the values of an array on a device. The memory
        of the host, which is the native engine's first device, needs no transfers.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(overridden("transfer_guard", new_val))
        for direction in _DIRECTIONS:
            stack.enter_context(overridden(f"transfer_guard_{direction}", new_val))
        yield


def transfer_guard_host_to_device(new_val: str) -> contextlib.AbstractContextManager[None]:
    """``transfer_guard`` for transfers from the host to a device."""
    return overridden("transfer_guard_host_to_device", new_val)


def transfer_guard_device_to_host(new_val: str) -> contextlib.AbstractContextManager[None]:
    """``transfer_guard`` for transfers from a device to the host."""
    return overridden("transfer_guard_device_to_host", new_val)


def transfer_guard_device_to_device(new_val: str) -> contextlib.AbstractContextManager[None]:
    """``transfer_guard`` for transfers from one device to another."""
    return overridden("transfer_guard_device_to_device", new_val)
