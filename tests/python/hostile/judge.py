"""How a call may end."""

from __future__ import annotations

import re

import farcall as fc

from hostile.values import BadTextError, HostileError

# The classes that docs/errors.md names, besides those of farcall.errors.
ALLOWED = (
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    OverflowError,
    ZeroDivisionError,
    FloatingPointError,
    NameError,
    NotImplementedError,
    MemoryError,
    OSError,
    RecursionError,
    BufferError,
    StopIteration,
    fc.FfiError,
    fc.UnexpectedTracerError,
    HostileError,
    BadTextError,
)
# Text from the insides.
INNER_TEXT = re.compile(
    r"std::|incompatible function arguments|bad_cast|bad_alloc|string pointer|basic_string|"
    r"vector::|nanobind::|nullptr|unordered_map|fmt::|internal error",
    re.IGNORECASE,
)
# An object that lacks what a protocol asks for, or, while it is traced, memory.
ATTRIBUTE_ERRORS = re.compile(
    "no attribute '(tree_|flush)|it has no rule; define one|has no memory that is being computed"
)
# What farcall.testing has found.
CHECKS = re.compile("check_(batching|derivatives)")
# What is no argument's fault: docs/errors.md.
RUNTIME_ERRORS = re.compile(
    "was donated to a jitted function|used after the callback had returned|"
    "unknown platform or engine|(changed size|changed|mutated) during iteration|"
    "has no (shape rule|definition)|changed while they were read|needs the processes of a job|"
    "not started by mpirun|"
    "RESOURCE_EXHAUSTED: Out of memory allocating"  # JAX, in a function of to_jax
)


class TooLongError(BaseException):
    """The time of a call is over."""


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # what the user's objects say of themselves, in an error of Python's
        return ""


def complaint(error: BaseException | None) -> str | None:
    """What is wrong with this end of a call."""
    if error is None:
        return None
    if isinstance(error, (HostileError, BadTextError)):
        return None
    if isinstance(error, TooLongError):
        return "takes too long"
    text = f"{type(error).__name__}: {_text_of(error)[:300]}"
    if isinstance(error, RuntimeError) and RUNTIME_ERRORS.search(_text_of(error)):
        return None
    if isinstance(error, AssertionError) and CHECKS.match(_text_of(error)):
        return None
    if isinstance(error, AttributeError) and ATTRIBUTE_ERRORS.search(text):
        return None
    if not isinstance(error, ALLOWED):
        return text
    found = INNER_TEXT.search(_text_of(error)[:2000])
    return f"{text} [{found.group()}]" if found else None
