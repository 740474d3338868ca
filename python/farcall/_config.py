"""Flags: ``farcall.config``, and the context managers that set one for a while.

One table, ``FLAGS``, says what there is. A new flag is a row of it; its value is read with
``config.<name>``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
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


def _whole_number(value: Any) -> int:
    try:
        return int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        raise ValueError("a whole number") from None


def _count(value: Any) -> int:
    number = _whole_number(value)
    if number < 1:
        raise ValueError("1 or more")
    return number


def _bytes(value: Any) -> int:
    number = _whole_number(value)
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


def _platforms(value: Any) -> str | None:
    names = _text(value)
    if names is None or all(name.strip().lower() == "cpu" for name in names.split(",")):
        return names
    raise ValueError("None or 'cpu', the one platform that there is")


def _only(kept: Any) -> Callable[[Any], Any]:
    """For a flag of JAX that has one value here."""

    def check(value: Any) -> Any:
        if value == kept or (isinstance(kept, bool) and _switch(value) is kept):
            return kept
        raise ValueError(f"{kept!r}, the only value that is implemented")

    return check


# ---- the flags -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Flag:
    """One flag: its name without ``jax_``, default, a function that returns a value as it is kept
    or raises ValueError with what is allowed, what it does, and who is told of a new value.
    """

    name: str
    default: Any
    check: Callable[[Any], Any]
    doc: str
    apply: Callable[[Any], None] | None = None


_PRECISIONS = (
    *("default", "high", "highest", "fastest"),
    *("bfloat16", "bfloat16_3x", "tensorfloat32", "float32"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"),
    *("ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
    *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32"),
    *("BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)
_GUARDS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")

# Flags that do something.
_ACTIVE = (
    Flag("enable_x64", False, _switch, "numpy's 64-bit data and default dtypes stay 64-bit"),
    Flag("debug_nans", False, _switch, "a result with a nan is a FloatingPointError"),
    Flag("debug_infs", False, _switch, "a result with an infinity is a FloatingPointError"),
    Flag(
        "check_foreign_calls", False, _switch, "foreign calls run between guards, and are checked"
    ),
    Flag("disable_jit", False, _switch, "jitted functions, loops and branches run in Python"),
    Flag("log_compiles", False, _switch, "programs that are compiled are logged as warnings"),
    Flag(
        "numpy_dtype_promotion",
        "standard",
        _choice("standard", "strict"),
        "strict: arrays of different dtypes do not meet",
    ),
    Flag(
        "numpy_rank_promotion",
        "allow",
        _choice("allow", "warn", "raise"),
        "what happens where broadcasting adds dimensions to an array",
    ),
    Flag(
        "cache_limit",
        _core.cache_limit(),
        _count,
        "how many programs each cache holds, such as the one of a jitted function; process-wide",
        _core.set_cache_limit,
    ),
    Flag(
        "memory_pool_limit",
        _core.memory_pool_limit(),
        _bytes,
        "how many bytes of freed arrays are kept for the next ones; process-wide",
        _core.set_memory_pool_limit,
    ),
    Flag(
        "jit_loops",
        _core.jit_loops(),
        _switch,
        "loops of a few numbers run as machine code; process-wide",
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
        "num_cpu_devices",
        1,
        _count,
        "how many devices the host is divided into; may grow, but not shrink; process-wide",
        _core.devices.set_num_cpu_devices,
    ),
    Flag("platforms", None, _platforms, "the platforms that programs may run on"),
    Flag("platform_name", None, _platforms, "the same, by its older name"),
)

# Flags of JAX that are accepted and change nothing here, with the reason.
_WITHOUT_EFFECT = (
    Flag(
        "default_matmul_precision",
        None,
        _choice(None, *_PRECISIONS),
        "products are computed in the dtype of their operands at least, whatever is asked for",
    ),
    Flag("check_tracer_leaks", False, _switch, "a leaked array is an error where it is used"),
    Flag("enable_checks", False, _switch, "internal checks are always on"),
    Flag("traceback_filtering", "auto", _text, "tracebacks show few lines of farcall anyway"),
    Flag("compilation_cache_dir", None, _text, "programs are compiled in less than a read takes"),
    Flag("enable_compilation_cache", True, _switch, "there is no cache on disk"),
    Flag("compilation_cache_max_size", -1, _whole_number, "there is no cache on disk"),
    Flag("persistent_cache_min_compile_time_secs", 1.0, float, "there is no cache on disk"),
    Flag("persistent_cache_min_entry_size_bytes", 0, _whole_number, "there is no cache on disk"),
    Flag("raise_persistent_cache_errors", False, _switch, "there is no cache on disk"),
    Flag("explain_cache_misses", False, _switch, "log_compiles names what is compiled"),
    Flag("disable_most_optimizations", False, _switch, "compiling takes microseconds"),
    Flag("cpu_enable_async_dispatch", True, _switch, "programs end before their call returns"),
    Flag("transfer_guard", None, _choice(*_GUARDS), "arrays live on the host"),
    Flag("transfer_guard_host_to_device", None, _choice(*_GUARDS), "arrays live on the host"),
    Flag("transfer_guard_device_to_host", None, _choice(*_GUARDS), "arrays live on the host"),
    Flag("transfer_guard_device_to_device", None, _choice(*_GUARDS), "transfers are asked for"),
    Flag("softmax_custom_jvp", False, _switch, "the derivative of softmax is exact either way"),
    Flag("use_direct_linearize", True, _switch, "linearize is direct"),
    Flag("use_shardy_partitioner", True, _switch, "programs are not partitioned by XLA"),
    Flag("pprint_use_color", True, _switch, "programs are printed without colours"),
    Flag("include_full_tracebacks_in_locations", True, _switch, "a location is one line"),
    Flag("logging_level", "NOTSET", _text, "set the level of the logger farcall instead"),
    Flag("debug_log_modules", None, _text, "set the level of the logger farcall instead"),
    Flag("tracer_error_num_traceback_frames", 5, _whole_number, "an error names one line"),
    Flag("dump_ir_to", None, _text, "print or save a program instead"),
    Flag("persistent_cache_enable_xla_caches", None, _text, "there is no cache on disk"),
    Flag("captured_constants_warn_bytes", -1, _whole_number, "constants are not copied"),
    Flag("compiler_enable_remat_pass", True, _switch, "values are computed once"),
    Flag("optimization_level", "UNKNOWN", _text, "compiling takes microseconds"),
    Flag("enable_pgle", False, _switch, "runs are not profiled for the compiler"),
    Flag("cpu_collectives_implementation", "gloo", _text, "there is one process"),
)

# Flags of JAX of which one value is implemented: another one would change what programs do.
_FIXED = (
    Flag("no_tracing", False, _only(False), "an error for each trace"),
    Flag("no_execution", False, _only(False), "an error for each run"),
    Flag("debug_key_reuse", False, _only(False), "an error for a random key that is used twice"),
    Flag("default_prng_impl", "threefry2x32", _only("threefry2x32"), "the random number generator"),
    Flag("threefry_partitionable", True, _only(True), "which bits threefry2x32 gives an element"),
    Flag("enable_custom_prng", False, _only(False), "PRNGKey makes keys of integers; key does not"),
    Flag("legacy_prng_key", "allow", _only("allow"), "what happens at keys of integers"),
    Flag("random_seed_offset", 0, _only(0), "what is added to seeds"),
    Flag("error_checking_behavior_nan", "ignore", _only("ignore"), "use debug_nans"),
    Flag("error_checking_behavior_divide", "ignore", _only("ignore"), "use debug_infs"),
    Flag("error_checking_behavior_oob", "ignore", _only("ignore"), "indices out of bounds"),
)

FLAGS: dict[str, Flag] = {flag.name: flag for flag in (*_ACTIVE, *_WITHOUT_EFFECT, *_FIXED)}

# The flags that the core keeps, with the names of their values in order.
_NATIVE: dict[str, list[str]] = _native.flags()


# ---- reading and setting -------------------------------------------------------------------------

_process: dict[str, Any] = {}
_thread = threading.local()


def _flag_named(name: Any) -> Flag:
    flag = FLAGS.get(name.removeprefix("jax_")) if isinstance(name, str) else None
    if flag is not None:
        return flag
    near = difflib.get_close_matches(str(name).removeprefix("jax_"), FLAGS, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise AttributeError(f"farcall.config has no flag {name!r}{hint}")


def _checked(flag: Flag, value: Any, source: str = "config") -> Any:
    try:
        return flag.check(value)
    except (TypeError, ValueError) as error:
        wanted = str(error)
    raise ValueError(f"{source}: flag {flag.name} must be {wanted}; got {value!r}") from None


def _number_of(name: str, value: Any) -> int:
    return int(value) if isinstance(value, bool) else _NATIVE[name].index(value)


def _read(flag: Flag) -> Any:
    if flag.name in _NATIVE:
        number = _native.get(flag.name)
        return bool(number) if isinstance(flag.default, bool) else _NATIVE[flag.name][number]
    overrides = getattr(_thread, "values", {})
    if flag.name in overrides:
        return overrides[flag.name]
    return _process.get(flag.name, flag.default)


def _set(flag: Flag, value: Any) -> None:
    if flag.name in _NATIVE:
        _native.set(flag.name, _number_of(flag.name, value))
    else:
        if flag.apply is not None:
            flag.apply(value)
        _process[flag.name] = value


@contextlib.contextmanager
def overridden(name: str, value: Any) -> Iterator[None]:
    """The flag has this value on this thread until the block ends."""
    flag = _flag_named(name)
    value = _checked(flag, value, name)
    if flag.name in _NATIVE:
        before = _native.set_on_thread(flag.name, _number_of(flag.name, value))
        try:
            yield
        finally:
            _native.set_on_thread(flag.name, before)
        return
    outer: dict[str, Any] = getattr(_thread, "values", {})
    _thread.values = {**outer, flag.name: value}
    try:
        yield
    finally:
        _thread.values = outer


class Config:
    """The flags of farcall. ``config.update(name, value)`` sets one for the process,
    ``config.<name>`` reads it; names may begin with ``jax_``.
    """

    def update(self, name: str, value: Any) -> None:
        """Sets a flag for the process.

        Raises:
          AttributeError: an unknown flag; the message names near ones.
          ValueError: a value that the flag does not have.
        """
        flag = _flag_named(name)
        _set(flag, _checked(flag, value))

    def read(self, name: str) -> Any:
        """The value of a flag on this thread. AttributeError for an unknown one."""
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
        text = os.environ.get(variable)
        if text is not None:
            _set(flag, _checked(flag, text, f"environment variable {variable}"))


_read_environment()


# ---- context managers ----------------------------------------------------------------------------


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block numpy's 64-bit data stays so, and default dtypes have 64 bits."""
    return overridden("enable_x64", new_val)


def disable_x64() -> contextlib.AbstractContextManager[None]:
    """Within the block numpy's 64-bit data and default dtypes have 32 bits."""
    return overridden("enable_x64", False)


def debug_nans(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block a result that holds a nan is a FloatingPointError."""
    return overridden("debug_nans", new_val)


def debug_infs(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block a result that holds an infinity is a FloatingPointError."""
    return overridden("debug_infs", new_val)


def check_foreign_calls(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block foreign calls and callbacks are checked as they run.

    Every operand and result is a copy between guard bytes, results hold NaN or random numbers
    before the call, and scratch holds NaN. A call that writes outside of its buffers
    (``oob-write``) or to an argument that no result aliases (``input-write``), or leaves a result
    or part of one unwritten (``unwritten-result``), raises :class:`farcall.FfiError`, which names
    the target, the operand, the byte offset, the types and your line; the program's own memory
    stays as it was. Programs that were compiled outside of the block are not checked, and those
    of jitted functions are compiled anew within it.
    """
    return overridden("check_foreign_calls", new_val)


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block jitted functions, loops and branches run in Python, step by step."""
    return overridden("disable_jit", disable)


def log_compiles(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block each program that is compiled is a warning of the logger ``farcall``."""
    return overridden("log_compiles", new_val)


def check_tracer_leaks(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Changes nothing: a leaked traced array is an error where it is used."""
    return overridden("check_tracer_leaks", new_val)


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """``check_tracer_leaks(True)``."""
    return check_tracer_leaks(True)


def numpy_dtype_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the block "strict" refuses operations on arrays of different dtypes."""
    return overridden("numpy_dtype_promotion", new_val)


def numpy_rank_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the block "warn" or "raise" reports broadcasting that adds dimensions to an array."""
    return overridden("numpy_rank_promotion", new_val)


def default_matmul_precision(new_val: str | None) -> contextlib.AbstractContextManager[None]:
    """Changes nothing: products are computed in their operands' dtype at least."""
    return overridden("default_matmul_precision", new_val)


def transfer_guard(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Changes nothing: arrays live on the host."""
    return overridden("transfer_guard", new_val)
