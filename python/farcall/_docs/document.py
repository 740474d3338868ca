"""Gives functions of the core the names, signatures and docstrings that Python functions have."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from farcall import _core


class _Signature:
    """Computes the signature on first use."""

    def __get__(self, function: Any, owner: Any) -> inspect.Signature:
        if function is None:
            raise AttributeError("__signature__")
        made = signature_of_core(function._core_function)
        function.__dict__["__signature__"] = made
        return made


_core.Function.__signature__ = _Signature()


def signature_of_core(function: Any) -> inspect.Signature:
    """The signature of a function of the core, without the C++ types."""
    text, _, defaults = function.__nb_signature__[0]
    made = re.sub(r"^def \w+", "", text)
    made = made[: made.rindex(")") + 1]
    parameters = []
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for part in _split(made[1:-1]):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif part == "/":
            parameters = [p.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for p in parameters]
        elif part.startswith("*"):
            name = part.lstrip("*").split(":")[0].strip()
            many = part.startswith("**")
            variadic = inspect.Parameter.VAR_KEYWORD if many else inspect.Parameter.VAR_POSITIONAL
            parameters.append(inspect.Parameter(name, variadic))
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            name = re.split(r"[:=]", part)[0].strip()
            default = re.search(r"= *\\(\d+)$", part)
            value = defaults[int(default.group(1))] if default else inspect.Parameter.empty
            parameters.append(inspect.Parameter(name, kind, default=value))
    return inspect.Signature(parameters)


def _split(text: str) -> list[str]:
    """Splits at the commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    last = text[begin:].strip()
    return [*parts, last] if last else parts


def document(core: Any, module: str, docs: Mapping[str, str], prefix: str = "") -> None:
    """Replaces functions of a core module by functions with docstrings, signatures and names.

    Args:
      core: the core module, such as ``_core.numpy``.
      module: the public module that exports the functions.
      docs: docstrings by function name, with any indentation.
      prefix: the prefix of the names in the core, which the public names lack.
    """
    for name, doc in docs.items():
        target = getattr(core, prefix + name)
        function = _core.make_function(target)
        function.__name__ = function.__qualname__ = name
        function.__module__ = module
        function.__doc__ = textwrap.dedent(doc).strip()
        function._core_function = target
        setattr(core, prefix + name, function)
